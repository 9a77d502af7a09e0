//! `evergraph bench`: the quick look that users take on their own machine. See [`crate::bench`].

use crate::bench::plan::{Plan, run};
use crate::context::Context;
use crate::terminal::failure::Failure;
use clap::Args;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  evergraph bench
  evergraph bench --quick
  evergraph bench --scale 20 --dir /data
  evergraph bench --json > figures.json

What is measured:
  Commits in every durability mode, scans and PageRank on live data beside a
  static graph, memory for an edge, look-ups by value, import and restart. Every
  figure is the median of several runs with the lowest and the highest of them;
  below each table stands what would make it lie. Close other programs first.";

/// What `evergraph bench` is told.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct BenchArguments {
    /// Some ten seconds instead of three minutes; figures vary more.
    #[arg(long)]
    pub quick: bool,
    /// The graph has 2^N vertices and 16 edges each.
    #[arg(long, value_name = "N", default_value_t = 17, value_parser = clap::value_parser!(u32).range(10..=26))]
    pub scale: u32,
    /// Folder to work in [default: target if it is there, else the system's temporary folder].
    #[arg(long, value_name = "FOLDER")]
    pub dir: Option<PathBuf>,
}

/// Measures this machine. Tables are printed as they are done; JSON is one document in the end.
///
/// # Errors
/// `cancelled`; what making and opening databases meets.
pub fn execute(arguments: &BenchArguments, context: &Context) -> Result<(), Failure> {
    let plan = if arguments.quick { Plan::quick(arguments.scale) } else { Plan::full(arguments.scale) };
    let report = run(&plan, arguments.dir.as_deref(), context)?;
    if context.console.is_json() { context.console.result(&report) } else { Ok(()) }
}
