//! `evergraph replica status`: how a replica is, from the file that its process renews.

use crate::command::replica::status_text::StatusText;
use crate::context::Context;
use crate::target::FolderParser;
use clap::Args;
use evergraph::Database;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_replica::follow::detach::ReplicaCopy;
use evergraph_replica::resync::new_folder;
use evergraph_replica::status::{ReplicaState, ReplicaStatus};
use evergraph_replica::status_file::{FoundStatus, ReplicaLife, is_there, read};
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::time;
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

/// What its help says behind the options.
pub const AFTER_HELP: &str = "\
Examples:
  evergraph replica status shop.eg
  evergraph replica status shop.eg --json
  evergraph replica status shop.eg --quiet || echo 'shop.eg does not follow'

What it shows:
  What the process that follows wrote to replica.json in the database's folder,
  once a second: the position in the source's log, how far behind it is, rows a
  second, edges that wait for an end, values that were left out, and the log
  that the source keeps for it. The database itself is not opened, unless it may
  be a copy of a replica, such as a backup, in whose folder none has run: it
  says slot and position.

Exit codes:
  0 it follows, copies, or connects again; 1 it has paused, was stopped, its
  process is gone, or has not renewed the status for ten seconds, as on a full
  disk, or it is a copy; 3 the folder is no replica. Others: evergraph help.";

/// The exit code if the database does not follow now.
const NOT_FOLLOWING: u8 = 1;
/// What somebody has to know of a copy that a resync began.
pub const KEEPS_LOG: &str = "a resync began it, and the source keeps log for it: `evergraph replica resync` goes on, `evergraph replica detach` gives it up";
/// Age of a status that its process would have renewed several times.
const STATUS_SECONDS_MAX: f64 = 10.0;

/// Arguments of `evergraph replica status`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct StatusArguments {
    /// The database of the replica.
    #[arg(value_name = "DB", value_parser = FolderParser)]
    pub database: PathBuf,
}

/// Prints how a replica is.
///
/// # Errors
/// `not_found` if the folder is no replica's; those of reading the file; of a copy those of opening.
pub fn execute(arguments: &StatusArguments, context: &Context) -> std::result::Result<ExitCode, Failure> {
    if let Some(report) = copy_at(&arguments.database, context)? {
        context.console.summary(&report)?;
        return Ok(ExitCode::from(NOT_FOLLOWING));
    }
    let FoundStatus { status, pid, written_at, life } = found(&arguments.database)?;
    let running = life == ReplicaLife::Running;
    let age = SystemTime::now().duration_since(written_at).unwrap_or_default();
    let database = arguments.database.display().to_string();
    let seconds_since_written = age.as_secs_f64();
    let copy = left_copy(&arguments.database)?;
    let report = StatusReport { database, running, pid, seconds_since_written, copy, status };
    context.console.summary(&report)?;
    Ok(if report.is_following() { ExitCode::SUCCESS } else { ExitCode::from(NOT_FOLLOWING) })
}

/// What the database at `path` says, if it is a copy of a replica, in whose folder none has run.
fn copy_at(path: &Path, context: &Context) -> Result<Option<CopyReport>> {
    let may_be_one = !is_there(path)
        && match Database::may_have_notes_at(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            answer => answer?,
        };
    if !may_be_one {
        return Ok(None);
    }
    let database = context.open(path)?;
    let found = ReplicaCopy::of(&database);
    database.close()?;
    Ok(found?.map(|copy| CopyReport {
        database: path.display().to_string(),
        running: false,
        state: "copy",
        source: copy.source,
        slot: copy.slot,
        publication: copy.publication,
        position: copy.position.to_string(),
    }))
}

/// The folder of the copy that a resync of the replica at `path` began, which may be complete.
///
/// # Errors
/// `invalid` if the path has no name.
pub fn left_copy(path: &Path) -> Result<Option<String>> {
    let copy = new_folder(path)?;
    Ok(copy.exists().then(|| copy.display().to_string()))
}

/// What is known of the replica in the folder at `path`.
///
/// # Errors
/// `not_found` if it is none; those of reading.
pub fn found(path: &Path) -> Result<FoundStatus> {
    read(path)?.ok_or_else(|| {
        let path = path.display();
        let text =
            format!("{path} is no replica: `evergraph replica run` makes one, and keeps its status there");
        Error::new(ErrorKind::NotFound, text)
    })
}

/// What a copy of a replica is.
#[derive(Debug, Serialize)]
struct CopyReport {
    database: String,
    running: bool,
    state: &'static str,
    /// What the original follows.
    source: String,
    slot: String,
    publication: String,
    position: String,
}

impl fmt::Display for CopyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, text: &str| writeln!(f, "{name:<13} {}", visible(text));
        row("database", &self.database)?;
        row("state", "a copy of a replica, such as a backup: no replica has run in this folder")?;
        row("source", &self.source)?;
        row("slot", &format!("{}, which is that of the original", self.slot))?;
        row("publication", &self.publication)?;
        row("position", &self.position)?;
        row("to follow", "in place of the original, which must not run any more: `evergraph replica run`")?;
        let name = &self.database;
        row(
            "to write",
            &format!("`evergraph replica detach {name} --forget-source`, which leaves the source alone"),
        )
    }
}

/// How a replica is.
#[derive(Debug, Serialize)]
struct StatusReport {
    database: String,
    /// Whether a process follows now.
    running: bool,
    /// That process, or the last one.
    pid: u32,
    seconds_since_written: f64,
    /// The folder of a copy that `evergraph replica resync` began; `null` if there is none.
    copy: Option<String>,
    #[serde(flatten)]
    status: ReplicaStatus,
}

impl StatusReport {
    /// Whether it follows now, copies or connects again, so far as anybody knows.
    fn is_following(&self) -> bool {
        let is_over = matches!(self.status.state, ReplicaState::Paused { .. } | ReplicaState::Stopped);
        self.running && !is_over && !self.is_outdated()
    }

    /// Whether its process should have renewed the status since; a copy writes it once.
    fn is_outdated(&self) -> bool {
        self.seconds_since_written > STATUS_SECONDS_MAX && self.status.state != ReplicaState::Copying
    }

    /// What is known of the process that follows.
    fn process(&self) -> String {
        let (pid, since) = (self.pid, time(Duration::from_secs_f64(self.seconds_since_written)));
        match self.running {
            false => match &self.status.state {
                ReplicaState::Stopped => {
                    format!(
                        "{pid} stopped following {since} ago; `evergraph replica run` goes on, or SIGHUP to a server that has \
                         it open"
                    )
                }
                ReplicaState::Paused { .. } => format!("{pid} has ended, {since} ago"),
                _ => format!("{pid} is gone; what follows is {since} old; `evergraph replica run` goes on"),
            },
            true if self.is_outdated() => format!(
                "{pid}; what follows has not been renewed for {since}: the disk is full, or the source does not answer"
            ),
            true => pid.to_string(),
        }
    }
}

impl fmt::Display for StatusReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<13} {}", "database", visible(&self.database))?;
        writeln!(f, "{:<13} {}", "process", self.process())?;
        if let Some(copy) = &self.copy {
            writeln!(f, "{:<13} {}; {KEEPS_LOG}", "copy", visible(copy))?;
        }
        write!(f, "{}", StatusText(&self.status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_that_its_process_no_longer_renews_is_told_as_old() {
        let status = r#"{"state": "following", "source": "", "slot": "", "publication": "", "position": "0/0",
            "committed_at": null, "source_position": "0/0", "confirmed": "0/0", "lag_bytes": 0, "lag_ms": 0, "rows_per_second": 0.0,
            "rows": 0, "transactions": 0, "waiting_rows": 0, "losses": [], "restarts": 0, "retained_bytes": null,
            "is_retained_alarm": false, "last_error": null}"#;
        let status: ReplicaStatus = serde_json::from_str(status).unwrap();
        let report = |running, seconds_since_written, state: ReplicaState| {
            let report = StatusReport {
                database: "shop.eg".into(),
                running,
                pid: 7,
                seconds_since_written,
                copy: None,
                status: ReplicaStatus { state, ..status.clone() },
            };
            (report.is_following(), report.to_string())
        };
        let (is_following, text) = report(true, 1.0, ReplicaState::Following);
        assert!(is_following && text.contains("process       7\n"), "{text}");
        let (is_following, text) = report(true, 60.0, ReplicaState::Following);
        assert!(!is_following, "nobody knows");
        assert!(text.contains("process       7; what follows has not been renewed for"), "{text}");
        let (is_following, text) = report(true, 60.0, ReplicaState::Copying);
        assert!(is_following && text.contains("process       7\n"), "{text}");
        let (is_following, text) = report(false, 60.0, ReplicaState::Following);
        assert!(!is_following && text.contains("process       7 is gone; what follows is"), "{text}");
        let (is_following, text) = report(false, 60.0, ReplicaState::Stopped);
        assert!(!is_following && text.contains("process       7 stopped following "), "{text}");
        let paused = ReplicaState::Paused { cause: "the slot is gone".into(), remedy: "resync".into() };
        let (_, text) = report(false, 60.0, paused);
        assert!(text.contains("7 has ended, ") && !text.contains("goes on"), "{text}");
    }
}
