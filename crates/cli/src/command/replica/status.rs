//! `evergraph replica status`: how a replica is, from the file that its process renews.

use crate::command::replica::status_text::StatusText;
use crate::context::Context;
use crate::target::FolderParser;
use clap::Args;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_replica::status::{ReplicaState, ReplicaStatus};
use evergraph_replica::status_file::{FoundStatus, ReplicaLife, read};
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
  What the process that follows wrote to replica.json in the database's folder, once
  a second: the position in the source's log, how far behind it is, rows a second,
  edges that wait for an end, values that were left out, and the log that the source
  keeps for it. The database itself is not opened.

Exit codes:
  0 it follows, copies, or connects again; 1 it has paused, was stopped, or its
  process is gone; 3 the folder is no replica. Others: evergraph help.";

/// The exit code if the database does not follow now.
const NOT_FOLLOWING: u8 = 1;
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
/// `not_found` if the folder is no replica's; those of reading the file.
pub fn execute(arguments: &StatusArguments, context: &Context) -> std::result::Result<ExitCode, Failure> {
    let FoundStatus { status, pid, written_at, life } = found(&arguments.database)?;
    let running = life == ReplicaLife::Running;
    let age = SystemTime::now().duration_since(written_at).unwrap_or_default();
    let is_following =
        running && !matches!(status.state, ReplicaState::Paused { .. } | ReplicaState::Stopped);
    let database = arguments.database.display().to_string();
    let seconds_since_written = age.as_secs_f64();
    context.console.summary(&StatusReport { database, running, pid, seconds_since_written, status })?;
    Ok(if is_following { ExitCode::SUCCESS } else { ExitCode::from(NOT_FOLLOWING) })
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

/// How a replica is.
#[derive(Debug, Serialize)]
struct StatusReport {
    database: String,
    /// Whether a process follows now.
    running: bool,
    /// That process, or the last one.
    pid: u32,
    seconds_since_written: f64,
    #[serde(flatten)]
    status: ReplicaStatus,
}

impl StatusReport {
    /// What is known of the process that follows.
    fn process(&self) -> String {
        let (pid, since) = (self.pid, time(Duration::from_secs_f64(self.seconds_since_written)));
        match self.running {
            false => format!("{pid} is gone; what follows is {since} old; `evergraph replica run` goes on"),
            true if self.seconds_since_written > STATUS_SECONDS_MAX => format!(
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
        let report = |running, seconds_since_written| {
            StatusReport {
                database: "shop.eg".into(),
                running,
                pid: 7,
                seconds_since_written,
                status: status.clone(),
            }
            .to_string()
        };
        assert!(report(true, 1.0).contains("process       7\n"));
        let old = report(true, 60.0);
        assert!(old.contains("process       7; what follows has not been renewed for"), "{old}");
        assert!(report(false, 60.0).contains("process       7 is gone; what follows is"));
    }
}
