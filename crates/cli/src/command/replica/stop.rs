//! `evergraph replica stop`: asks the process that follows to stop, and waits until it has.

use crate::amount;
use crate::command::replica::status::found;
use crate::context::Context;
use crate::target::FolderParser;
use clap::Args;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_replica::status_file::{ReplicaLife, read, stop};
use evergraph_terminal::failure::Failure;
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What its help says behind the options.
pub const AFTER_HELP: &str = "\
Examples:
  evergraph replica stop shop.eg
  evergraph replica stop shop.eg --timeout 5min

What it does:
  The process that follows ends the transaction that it applies, tells the
  source what is safe here, and closes the database; evergraph serve and Python
  go on with what it has, and keep it open. The slot stays, and the source KEEPS
  ITS LOG for it until the replica runs again, or is detached: `evergraph
  replica detach`.";

/// Arguments of `evergraph replica stop`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct StopArguments {
    /// The database of the replica.
    #[arg(value_name = "DB", value_parser = FolderParser)]
    pub database: PathBuf,
    /// Time that stopping may take.
    #[arg(long, value_name = "TIME", value_parser = amount::time, default_value = "1min")]
    pub timeout: Duration,
}

/// Stops a replica.
///
/// # Errors
/// `not_found` if none runs there; `limit` after the timeout.
pub fn execute(arguments: &StopArguments, context: &Context) -> Result<(), Failure> {
    let folder = &arguments.database;
    let pid = found(folder)?.pid;
    stop(folder, arguments.timeout)?;
    let position = found(folder)?.status.position.to_string();
    context.console.summary(&StopReport { database: folder.display().to_string(), pid, position })
}

/// `error` of opening the database at `path`, with the way to end the replica that has it open, if one does.
pub fn stop_first(path: &Path, error: Error) -> Error {
    let is_running = || matches!(read(path), Ok(Some(found)) if found.life == ReplicaLife::Running);
    if error.kind() != ErrorKind::Busy || !is_running() {
        return error;
    }
    let path = path.display();
    error.context(format!("a replica runs there, and is stopped first by `evergraph replica stop {path}`"))
}

/// What was stopped.
#[derive(Debug, Serialize)]
struct StopReport {
    database: String,
    pid: u32,
    position: String,
}

impl fmt::Display for StopReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { database, pid, position } = self;
        writeln!(f, "{}: process {pid} has stopped following, at {position}", visible(database))
    }
}
