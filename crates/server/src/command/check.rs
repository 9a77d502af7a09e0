//! `evergraph check`: every byte read back, every promise of the format and the graph verified.

use crate::context::Context;
use crate::open::open;
use crate::terminal::failure::Failure;
use crate::terminal::number::{counted, time};
use crate::terminal::table::visible;
use clap::Args;
use evergraph_algorithms::control::{Control, Progress};
use evergraph_graph::budget::Unlimited;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::view::GraphView;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const AFTER_HELP: &str = "\
Examples:
  evergraph check social.eg
  evergraph check social.eg --json
  evergraph check social.eg --quiet && cp -r social.eg backup/

Verified are the checksums of all files; that lists are sorted; that every edge is in the lists of both
its ends, and both are there; that unique indexes have what a scan finds. With findings the exit code
is 5.";

/// What `evergraph check` is told.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct CheckArguments {
    /// The database.
    pub database: PathBuf,
}

/// Checks the database. The exit code is that of `corrupt` if there are findings.
///
/// # Errors
/// Those of opening; `cancelled`.
pub fn execute(arguments: &CheckArguments, context: &Context) -> Result<ExitCode, Failure> {
    let meter = context.console.meter();
    let began = Instant::now();
    meter.tell("open", None, String::new);
    let database = open(&arguments.database)?;
    let tell = |progress: Progress| meter.tell(progress.phase, Some(progress.fraction), String::new);
    let cancel = &context.cancel;
    let control = Control::new(&Unlimited).with_cancel(cancel).with_progress(&tell);
    let found = database.check(&control)?;
    let counts = database.snapshot().statistics()?;
    database.close()?;
    drop(meter);
    let report = CheckReport {
        database: arguments.database.display().to_string(),
        healthy: found.findings.is_empty(),
        findings: found.findings.iter().map(ToString::to_string).collect(),
        vertices_count: counts.vertices.iter().map(|(_, count)| count).sum(),
        edges_count: counts.edges.iter().map(|(_, count)| count).sum(),
        seconds: began.elapsed().as_secs_f64(),
    };
    if report.healthy {
        context.console.summary(&report)?;
        return Ok(ExitCode::SUCCESS);
    }
    context.console.result(&report)?;
    Ok(ExitCode::from(ErrorKind::Corrupt.exit_code()))
}

/// What a check found.
#[derive(Debug, Serialize)]
struct CheckReport {
    database: String,
    healthy: bool,
    findings: Vec<String>,
    vertices_count: u64,
    edges_count: u64,
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
            return writeln!(f, "{database} is healthy: {vertices} and {edges} verified in {took}");
        }
        let findings = counted(self.findings.len() as u64, "finding", "findings");
        writeln!(f, "{database} is damaged: {findings} among {vertices} and {edges}, in {took}")
    }
}
