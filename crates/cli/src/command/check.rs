//! `evergraph check`: the files read back, every promise of the format and the graph verified.

use crate::context::Context;
use crate::download::result_of;
use crate::open::refuse_file;
use crate::remote_job::tell;
use crate::server_access::ServerAccessArguments;
use crate::target::{Target, UncheckedUrl};
use clap::Args;
use evergraph::path::DatabasePath;
use evergraph::{Database, FileWork};
use evergraph_client::admin::jobs::JobRequest;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::checkpoint::report::Finding;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::meter::Meter;
use evergraph_terminal::number::{counted, size, time};
use evergraph_terminal::table::visible;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const AFTER_HELP: &str = "\
Examples:
  evergraph check social.eg
  evergraph check social.eg --json
  evergraph check social.eg --quiet && evergraph backup social.eg monday.eg
  evergraph check wss://ann@graph.example/social

What is verified:
  The checksums of all files; the order of all lists; that every edge is in the
  lists of both its ends, and both exist; that indexes contain what a scan
  finds. If anything is damaged, the exit code is 5. Nothing is repaired:
  restore a backup, or save what verifies to a new database with
  `evergraph salvage`.

Beside a writer:
  While another process has the database open to write, whatever its engine, the
  check is refused (exit code 8). That process can check the graph that it has
  open: db.check() in Python, Database::check in Rust, a server by its URL.

A URL:
  The server checks the graph of a snapshot that it has open, beside readers and
  writers, and not the files: for these, check a backup. Ctrl-C cancels the
  check there. It needs the role admin on the database.";

/// Arguments of `evergraph check`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct CheckArguments {
    /// The database: a folder, or the URL of a server.
    #[arg(value_name = "DATABASE")]
    pub database: Target,
    /// How to connect to a server.
    #[command(flatten)]
    pub access: ServerAccessArguments,
}

/// Checks the database. The exit code is that of `corrupt` if there are findings.
///
/// # Errors
/// Those of opening; `cancelled`.
pub fn execute(arguments: &CheckArguments, context: &Context) -> std::result::Result<ExitCode, Failure> {
    let database = match &arguments.database {
        Target::Server(url) => return check_server(arguments, url, context),
        Target::Folder(path) => path,
    };
    arguments.access.refuse()?;
    refuse_file(database)?;
    DatabasePath::of(database)?.check_work(FileWork::Check)?;
    let meter = context.console.meter();
    let began = Instant::now();
    let options = &context.options;
    let found = Database::check_files_with(database, options, &mut meter_of_check(&meter, context))?;
    drop(meter);
    let finding = |finding: &Finding| format!("{}: {}", finding.place, finding.problem);
    let report = CheckReport {
        database: database.display().to_string(),
        healthy: found.is_healthy(),
        findings: found.findings.iter().map(finding).collect(),
        findings_count: found.findings_count,
        bytes_count: Some(found.bytes_count),
        commits_count: Some(found.commits_count),
        vertices_count: found.vertices_count,
        edges_count: found.edges_count,
        index_entries_count: found.index_entries_count,
        stale_entries_count: found.stale_entries_count,
        seconds: began.elapsed().as_secs_f64(),
    };
    ended(&report, context)
}

fn ended(report: &CheckReport, context: &Context) -> std::result::Result<ExitCode, Failure> {
    if report.healthy {
        context.console.summary(report)?;
        return Ok(ExitCode::SUCCESS);
    }
    context.console.result(report)?;
    Ok(ExitCode::from(ErrorKind::Corrupt.exit_code()))
}

fn check_server(
    arguments: &CheckArguments,
    url: &UncheckedUrl,
    context: &Context,
) -> std::result::Result<ExitCode, Failure> {
    let meter = context.console.meter();
    let began = Instant::now();
    let admin = arguments.access.admin(url, context)?;
    let job = admin.start_job(&JobRequest::new("check"))?;
    let job = admin.follow_job(&job.id, &mut |progress| tell(&meter, progress))?;
    drop(meter);
    let found: RemoteCheck = result_of(&job)?;
    let finding = |finding: &RemoteFinding| format!("{}: {}", finding.place, finding.problem);
    let report = CheckReport {
        database: admin.client().url().to_string(),
        healthy: found.healthy,
        findings: found.findings.iter().map(finding).collect(),
        findings_count: found.findings_count,
        bytes_count: None,
        commits_count: None,
        vertices_count: found.vertices,
        edges_count: found.edges,
        index_entries_count: found.index_entries,
        stale_entries_count: found.stale_index_entries,
        seconds: began.elapsed().as_secs_f64(),
    };
    ended(&report, context)
}

/// What a job of a server found.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RemoteCheck {
    healthy: bool,
    findings: Vec<RemoteFinding>,
    findings_count: u64,
    vertices: u64,
    edges: u64,
    index_entries: u64,
    stale_index_entries: u64,
}

#[derive(Deserialize)]
struct RemoteFinding {
    place: String,
    problem: String,
}

/// What shows how far a check is, and stops it at Ctrl-C.
pub fn meter_of_check(meter: &Meter, context: &Context) -> impl FnMut(&str, u64, u64) -> ControlFlow<()> {
    |part, done, total| {
        meter.tell(part, (total > 0).then(|| done as f64 / total as f64), String::new);
        match context.cancel.is_cancelled() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Reads back a database that was just written.
///
/// # Errors
/// `corrupt` if there are findings; those of opening, and `cancelled`, which say that it is complete.
pub fn check_written(database: &Path, meter: &Meter, context: &Context) -> Result<()> {
    let name = database.display();
    let progress = &mut meter_of_check(meter, context);
    let found = Database::check_copy(database, &context.options, progress).map_err(|error| {
        let text = match error.kind() {
            ErrorKind::Cancelled => format!("{name} is complete, but was not checked"),
            _ => format!("check {name}, which is complete"),
        };
        error.context(text)
    })?;
    match found.findings.first() {
        None => Ok(()),
        Some(first) => {
            let text =
                format!("{name} was written, but reads back damaged: {}: {}", first.place, first.problem);
            Err(Error::new(ErrorKind::Corrupt, text))
        }
    }
}

/// What a check found.
#[derive(Debug, Serialize)]
struct CheckReport {
    database: String,
    healthy: bool,
    findings: Vec<String>,
    findings_count: u64,
    /// `null` of a server, which checks the graph that it has open.
    bytes_count: Option<u64>,
    /// `null` of a server.
    commits_count: Option<u64>,
    vertices_count: u64,
    edges_count: u64,
    index_entries_count: u64,
    stale_entries_count: u64,
    seconds: f64,
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.findings.iter().try_for_each(|finding| writeln!(f, "{}", visible(finding)))?;
        let database = visible(&self.database);
        let vertices = counted(self.vertices_count, "vertex", "vertices");
        let edges = counted(self.edges_count, "edge", "edges");
        let took = time(Duration::from_secs_f64(self.seconds));
        if self.healthy {
            let size = self.bytes_count.map_or_else(String::new, |bytes| format!("{}, ", size(bytes)));
            return writeln!(f, "{database} is healthy: {size}{vertices} and {edges} verified in {took}");
        }
        let findings = counted(self.findings_count, "finding", "findings");
        writeln!(f, "{database} is damaged: {findings}, in {took}")
    }
}
