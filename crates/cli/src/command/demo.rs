//! `evergraph demo`: what Evergraph does, shown and proved in a minute. See [`evergraph_show::demo`].

use crate::command::replica::source_url::SourceUrl;
use crate::context::Context;
use crate::engine::EngineArgument;
use crate::open::open;
use clap::{Args, Subcommand};
use evergraph_show::demo::load::load;
use evergraph_show::demo::network::{Network, NetworkSize};
use evergraph_show::demo::replica::following;
use evergraph_show::demo::replica::shop::ShopSize;
use evergraph_show::demo::replica::story::{self as replica_story, ReplicaPlayOptions};
use evergraph_show::demo::story::{PlayOptions, play};
use evergraph_show::demo::stream::{StreamOptions, run};
use evergraph_show::demo::verify::{VerifySummary, verify};
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::count;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

const AFTER_HELP: &str = "\
Examples:
  evergraph demo
  evergraph demo --keep --dir /data
  evergraph demo --transfers 100000 --seconds 5 --writers 4
  evergraph demo --engine disk
  evergraph demo replica
  evergraph demo --json

What happens:
  It generates a network of payments, loads it, and starts itself again to add
  transfers as durable transactions while it runs PageRank and a search for
  rings of fraud on live snapshots. Then it kills that process with SIGKILL,
  reopens the database, and verifies that it has every acknowledged commit and
  no partial transaction. Otherwise the exit code is 5 and the database is kept
  for inspection.";

const REPLICA_HELP: &str = "\
Examples:
  evergraph demo replica
  evergraph demo replica --customers 20000 --rate 1000 --seconds 60
  evergraph demo replica --json

What happens:
  It starts a PostgreSQL of its own in a temporary folder, on a free port of
  this machine, fills a shop, proposes a mapping from its keys, and starts
  itself again to follow the shop while customers buy. Gremlin and PageRank run
  on the live graph. Then it kills that process with SIGKILL, starts it again,
  and compares every vertex, edge and property with SQL. The last line has
  counts, freshness, and \"equal\"; otherwise the exit code is 5. It needs
  PostgreSQL's programs, version 14 or newer (apt install postgresql), and, as
  root, their user postgres.";

/// Arguments of `evergraph demo`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub struct DemoArguments {
    /// The network's size.
    #[command(flatten)]
    pub size: NetworkSize,
    /// How long to write and analyse before the kill.
    #[arg(long, default_value_t = 30, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub seconds: u64,
    /// Number of writing threads.
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub writers: u32,
    /// The database's engine.
    #[arg(long, value_enum, value_name = "ENGINE", default_value = "memory")]
    pub engine: EngineArgument,
    /// Working folder [default: target if it exists, else the system's temporary folder].
    #[arg(long, value_name = "FOLDER")]
    pub dir: Option<PathBuf>,
    /// Keep the database.
    #[arg(long)]
    pub keep: bool,
    /// Damage the database before it is verified: the demo must fail.
    #[arg(long, hide = true)]
    pub sabotage: bool,
    /// A single step of the demo.
    #[command(subcommand)]
    pub step: Option<Step>,
}

/// One of the demo's steps, for tests and for the demo itself.
#[derive(Subcommand, Debug)]
pub enum Step {
    /// Follow a PostgreSQL database as a live graph: a shop, its customers, a kill, and the comparison with SQL.
    Replica(ReplicaDemoArguments),
    /// Follow the demo's shop until killed; report figures on standard output.
    #[command(hide = true)]
    ReplicaFollow(ReplicaFollowArguments),
    /// Generate a network of payments and load it into a new database.
    #[command(hide = true)]
    Load(LoadArguments),
    /// Add transfers and analyse until killed; report each commit on standard output.
    #[command(hide = true)]
    Stream(StreamArguments),
    /// Verify that every acknowledged commit is there, and none in part.
    #[command(hide = true)]
    Verify(VerifyArguments),
}

/// Arguments of `evergraph demo replica`.
#[derive(Args, Debug)]
#[command(after_help = REPLICA_HELP)]
pub struct ReplicaDemoArguments {
    /// Number of customers; ten times as many purchases.
    #[arg(long, default_value_t = 2000, value_name = "N", value_parser = clap::value_parser!(u64).range(10..=1_000_000))]
    pub customers: u64,
    /// How long customers write, the kill in the middle.
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=3600))]
    pub seconds: u64,
    /// Transactions that customers commit a second, at most.
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rate: u32,
    /// Working folder [default: target if it exists, else the system's temporary folder].
    #[arg(long, value_name = "FOLDER")]
    pub dir: Option<PathBuf>,
    /// Keep the graph.
    #[arg(long)]
    pub keep: bool,
    /// Change a row behind the replica's back before the comparison: the demo must fail.
    #[arg(long, hide = true)]
    pub sabotage: bool,
}

/// Arguments of `evergraph demo replica-follow`.
#[derive(Args, Debug)]
pub struct ReplicaFollowArguments {
    /// The database.
    pub database: PathBuf,
    /// The shop.
    #[arg(long, value_name = "URL")]
    pub source: SourceUrl,
    /// The mapping.
    #[arg(long, value_name = "FILE")]
    pub mapping: PathBuf,
}

/// Arguments of `evergraph demo load`.
#[derive(Args, Debug)]
pub struct LoadArguments {
    /// The database to create.
    pub database: PathBuf,
    /// Its engine.
    #[arg(long, value_enum, value_name = "ENGINE", default_value = "memory")]
    pub engine: EngineArgument,
    /// The network's size.
    #[command(flatten)]
    pub size: NetworkSize,
}

/// Arguments of `evergraph demo stream`.
#[derive(Args, Debug)]
pub struct StreamArguments {
    /// A database made by `demo load` with the same size.
    pub database: PathBuf,
    /// The network's size.
    #[command(flatten)]
    pub size: NetworkSize,
    /// Number of transfers that each writer's lane has already; one writer for each number.
    #[arg(long, value_delimiter = ',', required = true, value_name = "N,N")]
    pub booked: Vec<u64>,
    /// Only write.
    #[arg(long)]
    pub no_analysis: bool,
    /// Make a checkpoint whenever the log has grown by so many bytes.
    #[arg(long, value_name = "BYTES")]
    pub checkpoint_after_bytes: Option<u64>,
}

/// Arguments of `evergraph demo verify`.
#[derive(Args, Debug)]
pub struct VerifyArguments {
    /// A database made by `demo load` with the same size.
    pub database: PathBuf,
    /// The network's size.
    #[command(flatten)]
    pub size: NetworkSize,
    /// Number of transfers of each writer's lane that were acknowledged, or found before.
    #[arg(long, value_delimiter = ',', required = true, value_name = "N,N")]
    pub acknowledged: Vec<u64>,
}

/// Plays the demo, or one of its steps.
///
/// # Errors
/// `corrupt` if the database broke a promise; `cancelled`; what making and opening databases meets.
pub fn execute(arguments: &DemoArguments, context: &Context) -> Result<(), Failure> {
    match &arguments.step {
        None => {
            let options = PlayOptions {
                size: arguments.size,
                time: Duration::from_secs(arguments.seconds),
                writers: arguments.writers,
                parent: arguments.dir.clone(),
                keep: arguments.keep,
                engine: arguments.engine.kind(),
                threads: context.threads,
                sabotage: arguments.sabotage,
            };
            let report = play(&options, &context.console, &context.cancel)?;
            context.console.result(&report)
        }
        Some(Step::Replica(step)) => {
            let options = ReplicaPlayOptions {
                size: ShopSize { customers: step.customers },
                time: Duration::from_secs(step.seconds),
                rate: step.rate,
                parent: step.dir.clone(),
                keep: step.keep,
                sabotage: step.sabotage,
            };
            let report = replica_story::play(&options, &context.console, &context.cancel)?;
            context.console.result(&report)
        }
        Some(Step::ReplicaFollow(step)) => {
            let source = step.source.source(&context.cancel)?;
            Ok(following::run(&step.database, source, &step.mapping, &context.cancel)?)
        }
        Some(Step::Load(step)) => {
            load(&Network::generate(step.size)?, &step.database, step.engine.kind(), &context.cancel)?;
            Ok(())
        }
        Some(Step::Stream(step)) => {
            let options = StreamOptions {
                database: &step.database,
                size: step.size,
                booked: &step.booked,
                analyse: !step.no_analysis,
                checkpoint_after_bytes: step.checkpoint_after_bytes,
            };
            Ok(run(&options, &context.cancel)?)
        }
        Some(Step::Verify(step)) => {
            let database = open(&step.database)?;
            let (network, snapshot) = (Network::generate(step.size)?, database.snapshot());
            let accounts = network.account_vertices(&snapshot)?;
            let verified = verify(&snapshot, &network, &accounts, &step.acknowledged)?.into_result()?;
            context.console.result(&VerifyReport(verified))
        }
    }
}

/// The report of `demo verify`.
#[derive(Serialize)]
struct VerifyReport(VerifySummary);

impl fmt::Display for VerifyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let VerifySummary { acknowledged, acknowledged_found, unacknowledged_found, .. } = &self.0;
        writeln!(
            f,
            "{} of {} acknowledged transfers are there, and {} more in whole",
            count(*acknowledged_found),
            count(*acknowledged),
            count(*unacknowledged_found)
        )
    }
}
