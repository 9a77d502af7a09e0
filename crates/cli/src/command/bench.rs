//! `evergraph bench`: the quick look that users take on their own machine. See [`evergraph_show::bench`].

use crate::context::Context;
use clap::{Args, Subcommand};
use evergraph_show::bench::plan::Plan;
use evergraph_show::bench::run::run;
use evergraph_show::bench::transactions;
use evergraph_show::bench::transactions::plan::Part;
use evergraph_terminal::failure::Failure;
use std::path::PathBuf;
use std::time::Duration;

const AFTER_HELP: &str = "\
Examples:
  evergraph bench
  evergraph bench --quick
  evergraph bench --scale 20 --dir /data
  evergraph bench --json > figures.json
  evergraph bench transactions

What is measured:
  Commits in every durability mode, scans and PageRank on live data compared
  with a static graph, memory per edge, look-ups by value, import and restart.
  Every figure is the median of several runs, with the lowest and the highest.
  Notes below each table say what would distort it. Close other programs first.";

const TRANSACTIONS_HELP: &str = "\
Examples:
  evergraph bench transactions
  evergraph bench transactions --quick
  evergraph bench transactions --only social,half-writes --linkbench linkbench/config
  evergraph bench transactions --only held-snapshot --minutes 10
  evergraph bench transactions --json > figures.json

What is measured:
  Serialisable transactions compared with snapshot isolation, and the share of
  refused attempts, at low and high contention on 1, 2 and 8 threads; look-ups
  and appends on a hub; updates while a snapshot stays open; recovery by the
  length of the log. Tables are Markdown. Runs that are compared with each other
  alternate. Close other programs first.";

/// Arguments of `evergraph bench`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub struct BenchArguments {
    /// Run for about ten seconds instead of three minutes; figures vary more.
    #[arg(long)]
    pub quick: bool,
    /// Use a graph of 2^N vertices with 16 edges each.
    #[arg(long, value_name = "N", default_value_t = 17, value_parser = clap::value_parser!(u32).range(10..=26))]
    pub scale: u32,
    /// Working folder [default: target if it exists, else the system's temporary folder].
    #[arg(long, value_name = "FOLDER")]
    pub dir: Option<PathBuf>,
    /// A separate benchmark.
    #[command(subcommand)]
    pub subject: Option<Subject>,
}

/// Separate benchmarks.
#[derive(Subcommand, Debug)]
pub enum Subject {
    /// Measure transactions: isolation, contention, hubs, old snapshots, recovery.
    #[command(after_help = TRANSACTIONS_HELP)]
    Transactions(TransactionsArguments),
}

/// Arguments of `evergraph bench transactions`.
#[derive(Args, Debug)]
pub struct TransactionsArguments {
    /// Run for some seconds instead of four minutes; figures vary a lot.
    #[arg(long)]
    pub quick: bool,
    /// Measure only these parts.
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    pub only: Vec<Part>,
    /// Number of vertices of the graph at low contention.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1000..=10_000_000))]
    pub vertices: Option<u32>,
    /// Number of runs of each measurement.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: Option<u32>,
    /// How long updates run with a held snapshot, and again without one [default: 20 s].
    #[arg(long, value_name = "MINUTES", value_parser = clap::value_parser!(u64).range(1..=600))]
    pub minutes: Option<u64>,
    /// Folder of LinkBench's Distribution.dat.gz [default: a power law instead].
    #[arg(long, value_name = "FOLDER")]
    pub linkbench: Option<PathBuf>,
    /// Working folder [default: target if it exists, else the system's temporary folder].
    #[arg(long, value_name = "FOLDER")]
    pub dir: Option<PathBuf>,
}

/// Measures this machine. Tables are printed as they are done; JSON is one document in the end.
///
/// # Errors
/// `cancelled`; what making and opening databases meets.
pub fn execute(arguments: &BenchArguments, context: &Context) -> Result<(), Failure> {
    if let Some(Subject::Transactions(arguments)) = &arguments.subject {
        return measure_transactions(arguments, context);
    }
    let plan = if arguments.quick { Plan::quick(arguments.scale) } else { Plan::full(arguments.scale) };
    let report = run(&plan, arguments.dir.as_deref(), &context.console, &context.cancel)?;
    if context.console.is_json() { context.console.result(&report) } else { Ok(()) }
}

fn measure_transactions(arguments: &TransactionsArguments, context: &Context) -> Result<(), Failure> {
    use transactions::plan::Plan;
    use transactions::run::run;
    let mut plan = if arguments.quick { Plan::quick() } else { Plan::full() };
    plan.nodes = arguments.vertices.unwrap_or(plan.nodes);
    plan.rounds = arguments.rounds.map_or(plan.rounds, |rounds| rounds as usize);
    if let Some(minutes) = arguments.minutes {
        plan.held_time = Duration::from_secs(60 * minutes);
    }
    plan.distributions = arguments.linkbench.as_ref().map(|folder| folder.join("Distribution.dat.gz"));
    if !arguments.only.is_empty() {
        plan.parts.retain(|part| arguments.only.contains(part));
    }
    let report = run(plan, arguments.dir.as_deref(), &context.console, &context.cancel)?;
    if context.console.is_json() { context.console.result(&report) } else { Ok(()) }
}
