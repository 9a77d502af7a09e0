//! Failure: what a command ends with when it doesn't succeed, as text or as JSON.
//!
//! ```text
//! error: open social.eg: database social.eg is open in process 4711; close it there, ...
//! caused by: ...
//! hint: ...
//!
//! {"error":{"kind":"busy","message":"...","caused_by":["..."],"hint":"...","exit_code":8}}
//! ```

use crate::table::visible;
use evergraph_graph::budget::OverBudget;
use evergraph_graph::error::{DamagedSharedState, Error, ErrorKind};
use evergraph_query::error::TextError;
use evergraph_storage::io::error::{IoError, Operation};
use serde::Serialize;
use std::error::Error as StdError;
use std::io::{self, Write};
use std::path::Path;

/// Why a command stopped.
#[derive(Debug)]
pub enum Failure {
    /// Something to tell the user.
    Error(Error),
    /// Nobody reads standard output any longer (`evergraph run ... | head`): nothing to tell.
    ClosedPipe,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl Failure {
    /// What came of a write to standard output.
    pub fn of_output(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::ClosedPipe;
        }
        Self::Error(Error::new(ErrorKind::Io, format!("write to standard output: {error}")).because(error))
    }

    /// The exit code of the program. A closed pipe is success: who reads had enough.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Error(error) => error.kind().exit_code(),
            Self::ClosedPipe => 0,
        }
    }

    /// Tells the user on standard error: as one JSON document if `json`, in colour if `color`; and `hint`, or what the error
    /// itself suggests.
    pub fn tell(&self, json: bool, color: bool, hint: Option<&str>) {
        let Self::Error(error) = self else { return };
        let hint = hint.map(ToOwned::to_owned).or_else(|| own_hint(error));
        if json { tell(&to_json(error, hint)) } else { tell(to_text(error, hint, color).trim_end()) }
    }
}

/// A line on standard error. Where nobody takes it, there is nobody to tell.
pub fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// The error as lines for people.
fn to_text(error: &Error, hint: Option<String>, color: bool) -> String {
    let paint = |text: &str, code: &str| {
        if color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    };
    let mut text = format!("{} {}\n", paint("error:", "1;31"), message(error));
    for cause in causes(error) {
        text += &format!("{} {}\n", paint("caused by:", "1"), visible(&cause));
    }
    if let Some(hint) = hint {
        text += &format!("{} {}\n", paint("hint:", "1;36"), visible(&hint));
    }
    text
}

/// What the error says. One of a query shows its place below it; whatever else has lines has them from data.
fn message(error: &Error) -> String {
    let is_of_query = error.source().is_some_and(|source| source.is::<TextError>());
    let text = error.to_string();
    match is_of_query {
        true => text.lines().map(visible).collect::<Vec<_>>().join("\n"),
        false => visible(&text),
    }
}

/// The error as one JSON document.
fn to_json(error: &Error, hint: Option<String>) -> String {
    #[derive(Serialize)]
    struct Document<'a> {
        error: Body<'a>,
    }
    #[derive(Serialize)]
    struct Body<'a> {
        kind: &'a str,
        message: String,
        caused_by: Vec<String>,
        hint: Option<String>,
        exit_code: u8,
    }
    let kind = error.kind();
    let body = Body {
        kind: kind.name(),
        message: error.to_string(),
        caused_by: causes(error),
        hint,
        exit_code: kind.exit_code(),
    };
    serde_json::to_string(&Document { error: body }).expect("texts and numbers always have a JSON form")
}

/// What lies beneath the error. A cause whose words the text above it already has is left out.
fn causes(error: &Error) -> Vec<String> {
    let mut above = error.to_string();
    let mut causes = Vec::new();
    for text in error.causes().map(ToString::to_string) {
        if !above.contains(&text) {
            causes.push(text.clone());
            above = text;
        }
    }
    causes
}

/// What to do, where the kind or the cause tells and the text, which isn't about this program, doesn't.
fn own_hint(error: &Error) -> Option<String> {
    match error.kind() {
        ErrorKind::Corrupt if error.cause::<DamagedSharedState>().is_some() => {
            let text = "only the file `live` is damaged, which has nothing that is stored: it is made anew when the database is \
                        opened to write";
            return Some(text.to_owned());
        }
        ErrorKind::Corrupt => {
            return Some(
                "`evergraph check DB` lists all damage; restore a backup, or save what verifies with \
                 `evergraph salvage DB NEW`"
                    .to_owned(),
            );
        }
        ErrorKind::Conflict => return Some("nothing was changed; run it again".to_owned()),
        ErrorKind::Unknown => {
            return Some(
                "it may have been written: before you run it again, ask by its name with `evergraph cluster settle`, or look \
                 whether it is there"
                    .to_owned(),
            );
        }
        _ => {}
    }
    for cause in error.causes() {
        if let Some(over) = cause.downcast_ref::<OverBudget>() {
            return Some(format!("at least --memory-limit {} is needed", limit_for(over.needed_bytes())));
        }
        if let Some(IoError::Failed { operation, path, source, .. }) = cause.downcast_ref()
            && let Some(text) = hint_of_files(*operation, path, source.kind())
        {
            return Some(text.to_owned());
        }
    }
    None
}

/// What to do about an operation on a file of a database that failed.
fn hint_of_files(operation: Operation, path: &Path, kind: io::ErrorKind) -> Option<&'static str> {
    match (operation, kind) {
        (Operation::Lock, io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => Some(
            "this command needs write access to the folder, even to read: copy it, or run as its owner. With the mapped engine, \
             query, shell, run, stats, export and index list need it only for the files `live` and `reader-N`",
        ),
        (Operation::Allocate, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            if path.ends_with("live") =>
        {
            Some(
                "free some space; query, shell, run, stats, export and index list read the database meanwhile with --read-only",
            )
        }
        _ => None,
    }
}

/// A limit of at least `bytes` as `--memory-limit` reads it, in the largest unit that is not much more.
fn limit_for(bytes: u64) -> String {
    let (unit, factor) = [("GiB", 1 << 30), ("MiB", 1 << 20)]
        .into_iter()
        .find(|(_, factor)| bytes >= 4 * factor)
        .unwrap_or(("KiB", 1 << 10));
    format!("{}{unit}", bytes.div_ceil(factor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::timestamp::Timestamp;
    use evergraph_graph::unknown_commit::UnknownCommit;
    use evergraph_query::error::Span;

    #[test]
    fn a_cause_is_told_once() {
        let system = io::Error::new(io::ErrorKind::PermissionDenied, "permission denied");
        let repeated = Error::new(ErrorKind::Io, "open a.csv: permission denied").because(system);
        assert_eq!(to_text(&repeated, None, false), "error: open a.csv: permission denied\n");
        let system = io::Error::other("disk on fire");
        let hidden = Error::new(ErrorKind::Corrupt, "bodies-7 is damaged").because(system);
        let lines = to_text(&hidden, own_hint(&hidden), false);
        assert!(lines.starts_with("error: bodies-7 is damaged\ncaused by: disk on fire\nhint: "), "{lines}");
    }

    #[test]
    fn json_has_the_kind_and_its_exit_code() {
        let error = Error::new(ErrorKind::Busy, "open in process 1");
        let document: serde_json::Value =
            serde_json::from_str(&to_json(&error, Some("close it".into()))).unwrap();
        assert_eq!(document["error"]["kind"], "busy");
        assert_eq!(document["error"]["message"], "open in process 1");
        assert_eq!(document["error"]["exit_code"], 8);
        assert_eq!(document["error"]["hint"], "close it");
    }

    #[test]
    fn a_commit_that_may_have_happened_is_not_run_again() {
        let commit = UnknownCommit { node: 2, incarnation: 0, number: 9, since: Timestamp(4), proof: 7 };
        let error = Error::from(commit);
        let lines = to_text(&error, own_hint(&error), false);
        assert!(lines.contains("2.0.9@4") && lines.contains("\nhint: it may have been written"), "{lines}");
        assert!(!lines.contains("caused by"), "it is told once: {lines}");
        assert_eq!(Failure::from(error).exit_code(), 10);
    }

    #[test]
    fn color_and_control_characters_come_only_from_us() {
        let error = Error::invalid("a\u{1b}[2Jb");
        assert!(to_text(&error, None, true).starts_with("\u{1b}[1;31merror:\u{1b}[0m a\\u{1b}[2Jb"));
        assert!(!to_text(&error, Some("\u{1b}".into()), false).contains('\u{1b}'));
    }

    #[test]
    fn the_place_in_a_query_stands_below_its_error() {
        let query = "g.V('\u{1b}').otu()";
        let wrong = TextError::invalid(Span { start: 9, end: 12 }, "no \u{1b}").within(query);
        let error = Error::invalid(wrong.shown_in(query)).because(wrong);
        let lines = "error: line 1, column 10: no \\u{1b}\n  g.V(' ').otu()\n           ^^^\n";
        assert_eq!(to_text(&error, None, false), lines);
        assert_eq!(to_text(&Error::invalid("a\nb"), None, false), "error: a\\nb\n");
    }

    #[test]
    fn what_a_refused_reservation_needs_is_said_as_the_option_reads_it() {
        let over = |wanted_bytes| OverBudget {
            purpose: "scores".to_owned(),
            wanted_bytes,
            used_bytes: 1,
            limit_bytes: 100,
        };
        let hint = |bytes| own_hint(&over(bytes).into()).unwrap();
        assert_eq!(hint(16_000), "at least --memory-limit 16KiB is needed");
        assert_eq!(hint(4 << 20), "at least --memory-limit 5MiB is needed");
        assert_eq!(hint(9 << 30), "at least --memory-limit 10GiB is needed");
    }

    #[test]
    fn who_may_not_write_to_a_database_hears_that_it_is_written_to() {
        let refused = IoError::new(Operation::Lock, "a.eg/lock", io::ErrorKind::PermissionDenied.into());
        assert!(own_hint(&refused.into()).unwrap().starts_with("this command needs write access"));
        let other = IoError::new(Operation::Read, "a.eg/log-1", io::ErrorKind::PermissionDenied.into());
        assert_eq!(own_hint(&other.into()), None);
    }

    #[test]
    fn who_finds_the_disk_full_may_read_and_a_damaged_live_is_no_case_for_check_or_salvage() {
        let full = |name: &str| IoError::new(Operation::Allocate, name, io::ErrorKind::StorageFull.into());
        assert!(own_hint(&full("a.eg/live").into()).unwrap().contains("--read-only"));
        assert_eq!(own_hint(&full("a.eg/log-1").into()), None);
        let shared = Error::new(ErrorKind::Corrupt, format!("a.eg/live is damaged; {DamagedSharedState}"));
        let shared = shared.because(DamagedSharedState);
        let hint = own_hint(&shared).unwrap();
        assert!(hint.contains("made anew") && !hint.contains("evergraph"), "{hint}");
        assert_eq!(causes(&shared), [""; 0]);
    }

    #[test]
    fn a_closed_pipe_is_quiet_success_and_other_failures_of_output_are_not() {
        let closed = Failure::of_output(io::ErrorKind::BrokenPipe.into());
        assert_eq!((closed.exit_code(), matches!(closed, Failure::ClosedPipe)), (0, true));
        assert_eq!(Failure::of_output(io::ErrorKind::StorageFull.into()).exit_code(), 7);
    }
}
