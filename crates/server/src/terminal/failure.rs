//! Failure: what a command ends with when it doesn't succeed, as text or as JSON.
//!
//! ```text
//! error: open social.eg: database social.eg is open in process 4711; close it there, ...
//! caused by: ...
//! hint: ...
//!
//! {"error":{"kind":"busy","message":"...","caused_by":["..."],"hint":"...","exit_code":8}}
//! ```

use crate::terminal::table::visible;
use evergraph_graph::error::{Error, ErrorKind};
use serde::Serialize;
use std::error::Error as StdError;
use std::io::{self, Write};

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

    /// Tells the user on standard error: as one JSON document if `json`, in colour if `color`.
    pub fn tell(&self, json: bool, color: bool) {
        let Self::Error(error) = self else { return };
        if json { tell(&to_json(error)) } else { tell(to_text(error, color).trim_end()) }
    }
}

/// A line on standard error. Where nobody takes it, there is nobody to tell.
pub fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// The error as lines for people.
fn to_text(error: &Error, color: bool) -> String {
    let paint = |text: &str, code: &str| {
        if color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    };
    let mut text = format!("{} {}\n", paint("error:", "1;31"), visible(&error.to_string()));
    for cause in causes(error) {
        text += &format!("{} {}\n", paint("caused by:", "1"), visible(&cause));
    }
    if let Some(hint) = hint(error.kind()) {
        text += &format!("{} {hint}\n", paint("hint:", "1;36"));
    }
    text
}

/// The error as one JSON document.
fn to_json(error: &Error) -> String {
    #[derive(Serialize)]
    struct Document<'a> {
        error: Body<'a>,
    }
    #[derive(Serialize)]
    struct Body<'a> {
        kind: &'a str,
        message: String,
        caused_by: Vec<String>,
        hint: Option<&'a str>,
        exit_code: u8,
    }
    let kind = error.kind();
    let body = Body {
        kind: kind.name(),
        message: error.to_string(),
        caused_by: causes(error),
        hint: hint(kind),
        exit_code: kind.exit_code(),
    };
    serde_json::to_string(&Document { error: body }).expect("texts and numbers always have a JSON form")
}

/// What lies beneath the error. A cause whose words the text above it already has is left out.
fn causes(error: &Error) -> Vec<String> {
    let mut above = error.to_string();
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !above.contains(&text) {
            causes.push(text.clone());
            above = text;
        }
        next = cause.source();
    }
    causes
}

/// What to do, where the kind alone tells and the text may not.
fn hint(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::Corrupt => {
            Some("`evergraph check DB` lists all that is damaged; restore a copy of the folder")
        }
        ErrorKind::Conflict => Some("nothing was changed; run it again"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let system = io::Error::new(io::ErrorKind::PermissionDenied, "permission denied");
        let repeated = Error::new(ErrorKind::Io, "open a.csv: permission denied").because(system);
        assert_eq!(to_text(&repeated, false), "error: open a.csv: permission denied\n");
        let system = io::Error::other("disk on fire");
        let hidden = Error::new(ErrorKind::Corrupt, "bodies-7 is damaged").because(system);
        let lines = to_text(&hidden, false);
        assert!(lines.starts_with("error: bodies-7 is damaged\ncaused by: disk on fire\nhint: "), "{lines}");
    }

    #[test]
    fn json_has_the_kind_and_its_exit_code() {
        let error = Error::new(ErrorKind::Busy, "open in process 1");
        let document: serde_json::Value = serde_json::from_str(&to_json(&error)).unwrap();
        assert_eq!(document["error"]["kind"], "busy");
        assert_eq!(document["error"]["message"], "open in process 1");
        assert_eq!(document["error"]["exit_code"], 8);
    }

    #[test]
    fn color_and_control_characters_come_only_from_us() {
        let error = Error::invalid("a\u{1b}[2Jb");
        assert!(to_text(&error, true).starts_with("\u{1b}[1;31merror:\u{1b}[0m a\\u{1b}[2Jb"));
        assert!(!to_text(&error, false).contains('\u{1b}'));
    }

    #[test]
    fn a_closed_pipe_is_quiet_success_and_other_failures_of_output_are_not() {
        let closed = Failure::of_output(io::ErrorKind::BrokenPipe.into());
        assert_eq!((closed.exit_code(), matches!(closed, Failure::ClosedPipe)), (0, true));
        assert_eq!(Failure::of_output(io::ErrorKind::StorageFull.into()).exit_code(), 7);
    }
}
