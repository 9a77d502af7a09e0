//! `evergraph checkpoint`: the log's content goes into the database's files, and the log is cut.

use crate::context::Context;
use crate::download::result_of;
use crate::remote_job::tell;
use crate::server_access::ServerAccessArguments;
use crate::target::{Target, UncheckedUrl};
use clap::Args;
use evergraph::FileWork;
use evergraph_client::admin::jobs::JobRequest;
use evergraph_report::disk_size::disk_bytes;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::{count, size, time};
use evergraph_terminal::table::visible;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

const AFTER_HELP: &str = "\
Examples:
  evergraph checkpoint social.eg
  evergraph checkpoint social.eg --quiet && du -sh social.eg
  evergraph checkpoint wss://ann@graph.example/social

An open database makes checkpoints by itself as its log grows. This command
makes the next opening as fast, and the folder as small, as possible. By the URL
of a server it is a job there, beside readers and writers, which needs the role
admin.";

/// Arguments of `evergraph checkpoint`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct CheckpointArguments {
    /// The database: a folder, or the URL of a server.
    #[arg(value_name = "DATABASE")]
    pub database: Target,
    /// How to connect to a server.
    #[command(flatten)]
    pub access: ServerAccessArguments,
}

/// Writes a checkpoint.
///
/// # Errors
/// Those of opening and of writing; the older checkpoint stays valid then.
pub fn execute(arguments: &CheckpointArguments, context: &Context) -> Result<(), Failure> {
    let path = match &arguments.database {
        Target::Server(url) => return of_server(arguments, url, context),
        Target::Folder(path) => path,
    };
    arguments.access.refuse()?;
    let meter = context.console.meter();
    meter.tell("open", None, String::new);
    let began = Instant::now();
    let database = context.open_for(path, FileWork::Checkpoint)?;
    let made = database.checkpoint_with(&mut |now| {
        let share = now.groups_done as f64 / now.groups_count.max(1) as f64;
        meter.tell("checkpoint", Some(share), || size(now.bytes_written));
        if context.cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    database.close()?;
    drop(meter);
    context.console.summary(&CheckpointReport {
        database: path.display().to_string(),
        covered_through: made.covered_through.0,
        bodies_written: made.bodies_written,
        bytes_written: made.bytes_written,
        log_bytes_freed: made.log_bytes_freed,
        left_over: made.left_over.map(|error| error.to_string()),
        disk_bytes: Some(disk_bytes(path)?),
        seconds: began.elapsed().as_secs_f64(),
    })
}

fn of_server(arguments: &CheckpointArguments, url: &UncheckedUrl, context: &Context) -> Result<(), Failure> {
    let meter = context.console.meter();
    let began = Instant::now();
    let admin = arguments.access.admin(url, context)?;
    let job = admin.start_job(&JobRequest::new("checkpoint"))?;
    let job = admin.follow_job(&job.id, &mut |progress| tell(&meter, progress))?;
    drop(meter);
    let made: RemoteCheckpoint = result_of(&job)?;
    context.console.summary(&CheckpointReport {
        database: admin.client().url().to_string(),
        covered_through: made.covered_through,
        bodies_written: made.bodies_written,
        bytes_written: made.bytes_written,
        log_bytes_freed: made.log_bytes_freed,
        left_over: made.left_over,
        disk_bytes: None,
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// What a job of a server wrote.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RemoteCheckpoint {
    covered_through: u64,
    bodies_written: u64,
    bytes_written: u64,
    log_bytes_freed: u64,
    left_over: Option<String>,
}

/// What a checkpoint changed.
#[derive(Debug, Serialize)]
struct CheckpointReport {
    database: String,
    covered_through: u64,
    bodies_written: u64,
    bytes_written: u64,
    log_bytes_freed: u64,
    left_over: Option<String>,
    /// `null` of a server.
    disk_bytes: Option<u64>,
    seconds: f64,
}

impl fmt::Display for CheckpointReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: checkpoint through commit {} in {}; {} written, {} of log freed{}",
            visible(&self.database),
            count(self.covered_through),
            time(Duration::from_secs_f64(self.seconds)),
            size(self.bytes_written),
            size(self.log_bytes_freed),
            self.disk_bytes.map_or_else(String::new, |bytes| format!(", {} on disk", size(bytes)))
        )?;
        match &self.left_over {
            Some(why) => writeln!(f, "an unneeded file could not be removed: {}", visible(why)),
            None => Ok(()),
        }
    }
}
