//! `evergraph replica verify`: whether a replica's graph is what the rows of its source make of it.
//!
//! ```text
//! temporary slot ──> a snapshot of the source at C
//! replica ──follows up to C, and no further──> a snapshot of the graph at C ──> compared, vertex by vertex, edge by edge
//! ```

use crate::command::replica::copy_meter::WaitNews;
use crate::command::replica::run::{FollowingArguments, open_existing, stop, wait};
use crate::command::replica::stop::stop_first;
use crate::context::Context;
use crate::target::FolderParser;
use clap::Args;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::lsn::Lsn;
use evergraph_replica::mapping::check::{MissingRight, missing_rights};
use evergraph_replica::source::contract::Source;
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::postgres::slot::{SlotLifetime, create};
use evergraph_replica::source::replica_source::ReplicaSource as _;
use evergraph_replica::source::slot_wait::SlotWait;
use evergraph_replica::verify::difference::{DifferenceKind, VerifyReport};
use evergraph_replica::verify::run::{VerifyOptions, VerifyProgress, verify};
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::{count, counted, time};
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What its help says behind the options.
pub const AFTER_HELP: &str = "\
Examples:
  evergraph replica verify shop.eg --source postgres://graph@db/shop --mapping shop.toml
  evergraph replica verify shop.eg --source postgres:///shop --mapping shop.toml --json

What it does:
  It takes a snapshot of the source by a temporary slot, follows up to that
  position and no further, and compares every vertex, edge and property of the
  graph with what SQL's rows make of it. The source is read once, and again
  where sides differ; its writers are not held up. The replica must not run
  (`evergraph replica stop`), and goes on afterwards. What differs is listed;
  `evergraph replica resync` copies anew.

Exit codes:
  0 the graph is equal; 5 it differs. Others: evergraph help.";

/// Arguments of `evergraph replica verify`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct VerifyArguments {
    /// The database of the replica.
    #[arg(value_name = "DB", value_parser = FolderParser)]
    pub database: PathBuf,
    /// What it follows.
    #[command(flatten)]
    pub following: FollowingArguments,
    /// Number of differences to list.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub differences: usize,
}

/// Compares. The exit code is that of `corrupt` if the graph differs.
///
/// # Errors
/// `busy` if the replica runs; `invalid` if it has paused; those of the source and of reading.
pub fn execute(arguments: &VerifyArguments, context: &Context) -> Result<ExitCode, Failure> {
    let path = &arguments.database;
    let mut options = arguments.following.options(path)?;
    let mut source = arguments.following.source.source(&context.cancel)?;
    let opened = open_existing(path, &arguments.following, context);
    let database = opened.map_err(|error| stop_first(path, error))?;
    // What follows nothing would begin to, and get a copy of the tables.
    if !Replica::follows(&database)? {
        database.close()?;
        let text = format!(
            "{} is not a replica, so that there is nothing to compare: it was never one, or was detached, or its first copy did \
             not come to its end",
            path.display()
        );
        return Err(Error::invalid(text).into());
    }
    let meter = context.console.meter();
    let began = Instant::now();
    meter.tell("snapshot of the source", None, String::new);
    let waits = WaitNews::default();
    let waiting = |wait: &SlotWait| waits.tell(wait, &context.console);
    let slot_name = format!("evergraph_verify_{}", std::process::id());
    let slot = create(source.settings(), &slot_name, SlotLifetime::Temporary, &waiting, &context.cancel)
        .map_err(Error::from)?;
    let position = slot.consistent_point;
    options.end = Some(position);
    let replica =
        Replica::start(database.clone(), Box::new(source.clone()), options, &|_| (), &context.cancel)?;
    let replica = Arc::new(replica);
    let compared = check_rights(&replica, &mut source).and_then(|()| {
        wait(&replica, position, context, &meter)?;
        let plan = replica.plan(&source.catalogue()?)?;
        let snapshot = database.snapshot();
        let options = VerifyOptions { differences_max: arguments.differences, ..VerifyOptions::default() };
        let progress = |progress: &VerifyProgress<'_>| {
            meter.tell("compare", None, || format!("{}: {} rows", progress.subject, count(progress.rows)));
        };
        let at: (&mut dyn Source, _) = (&mut source, Some(slot.snapshot.as_str()));
        verify(&snapshot, at, &plan, &options, &progress, &context.cancel)
    });
    drop(meter);
    stop(replica)?;
    database.close()?;
    let found = compared?;
    let report =
        ComparisonReport::new(arguments.database.display().to_string(), position, &found, began.elapsed());
    if report.equal {
        context.console.summary(&report)?;
        return Ok(ExitCode::SUCCESS);
    }
    context.console.result(&report)?;
    Ok(ExitCode::from(ErrorKind::Corrupt.exit_code()))
}

/// Refuses to compare with rows that this role does not see.
fn check_rights(replica: &Replica, source: &mut PostgresSource) -> evergraph_graph::error::Result<()> {
    let (catalogue, role) = (source.catalogue()?, source.server_state()?.role);
    let plan = replica.plan(&catalogue)?;
    match missing_rights(&plan, &catalogue, &role).next() {
        None => Ok(()),
        Some(MissingRight { cause, remedy }) => {
            Err(Error::invalid(format!("the source cannot be compared: {cause}: {remedy}")))
        }
    }
}

/// What a comparison found.
#[derive(Debug, Serialize)]
struct ComparisonReport {
    database: String,
    /// The position at which both were compared.
    position: String,
    equal: bool,
    /// Vertices and edges that were compared.
    compared_count: u64,
    differences_count: u64,
    /// The first ones.
    differences: Vec<DifferenceReport>,
    /// Vertices and edges that no rule makes.
    unmapped: Vec<String>,
    seconds: f64,
    #[serde(skip)]
    text: String,
}

/// A vertex or an edge that differs.
#[derive(Debug, Serialize)]
struct DifferenceReport {
    subject: String,
    table: String,
    /// `missing`, `extra` or `changed`, in the graph.
    kind: &'static str,
    key: String,
    details: Vec<String>,
}

impl ComparisonReport {
    fn new(database: String, position: Lsn, found: &VerifyReport, took: Duration) -> Self {
        let differences = found.differences.iter().map(|difference| DifferenceReport {
            subject: difference.subject.clone(),
            table: difference.table.clone(),
            kind: match difference.kind {
                DifferenceKind::Missing => "missing",
                DifferenceKind::Extra => "extra",
                DifferenceKind::Changed => "changed",
            },
            key: difference.key.clone(),
            details: difference.details.clone(),
        });
        Self {
            database,
            position: position.to_string(),
            equal: found.is_equal(),
            compared_count: found.subjects.iter().map(|subject| subject.in_source).sum(),
            differences_count: found.differences_count(),
            differences: differences.collect(),
            unmapped: found.unmapped.clone(),
            seconds: took.as_secs_f64(),
            text: found.to_string(),
        }
    }
}

impl fmt::Display for ComparisonReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.text.lines() {
            writeln!(f, "{}", visible(line))?;
        }
        let (database, position) = (visible(&self.database), &self.position);
        let took = time(Duration::from_secs_f64(self.seconds));
        match self.equal {
            true => {
                let compared = counted(self.compared_count, "vertex or edge", "vertices and edges");
                writeln!(f, "{database} is equal to its source at {position}: {compared} in {took}")
            }
            false => writeln!(f, "{database} is NOT equal to its source at {position}; compared in {took}"),
        }
    }
}
