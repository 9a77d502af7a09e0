//! `evergraph generate`: a seeded graph, as a database or as files.

use crate::context::Context;
use crate::engine::EngineArgument;
use crate::loading::Destination;
use crate::target::FolderParser;
use clap::{Args, Subcommand, ValueEnum};
use evergraph::generate::payments::PaymentsOptions;
use evergraph::generate::rmat::{RmatOptions, VertexIds};
use evergraph_show::generate::graph::GraphKind;
use evergraph_show::generate::graph_files::GraphFiles;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::{counted, time};
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const AFTER_HELP: &str = "\
Examples:
  evergraph generate payments bank.eg
  evergraph generate payments --out payments/ --transfers 5000000 --rings 200
  evergraph generate rmat web.eg --scale 20 --edge-factor 16
  evergraph generate rmat large.eg --scale 22 --engine disk
  evergraph generate rmat --out rmat/ --scale 17 --seed 7

The same options generate the same graph on every machine and with any number of
threads. --out writes files that `evergraph import` reads:
  rmat      rmat.v, rmat.e; with --ids texts Vertex.csv, EDGE.csv
  payments  Account.csv, TRANSFER.csv, and the planted rings in rings.json";

const AFTER_RMAT: &str = "\
Examples:
  evergraph generate rmat web.eg
  evergraph generate rmat web.eg --scale 20 --edge-factor 8 --seed 7
  evergraph generate rmat --out rmat/ --scale 10
  evergraph generate rmat --out csv/ --scale 24 --edge-factor 30 --ids texts    # 10 GB";

const AFTER_PAYMENTS: &str = "\
Examples:
  evergraph generate payments bank.eg
  evergraph generate payments bank.eg --accounts 1000 --transfers 20000 --rings 5
  evergraph generate payments --out payments/ --transfers 5000";

/// Arguments of `evergraph generate`.
#[derive(Args, Debug)]
#[command(
    after_help = AFTER_HELP,
    subcommand_value_name = "GRAPH",
    subcommand_help_heading = "Graphs",
    disable_help_subcommand = true
)]
pub struct GenerateArguments {
    /// The kind of graph.
    #[command(subcommand)]
    pub network: Network,
}

/// A kind of graph.
#[derive(Subcommand, Debug)]
pub enum Network {
    /// A skewed graph, like social networks and the web (R-MAT).
    Rmat(RmatArguments),
    /// Accounts and transfers over time, with planted rings of fraud.
    Payments(PaymentsArguments),
}

/// Where the graph goes.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub struct GenerateTarget {
    /// The database to create: a new folder, or an empty database.
    #[arg(value_parser = FolderParser)]
    pub database: Option<PathBuf>,
    /// Write files to this folder instead.
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

/// Where the graph goes, and what may go for it.
#[derive(Args, Debug)]
pub struct GenerateOutput {
    /// Where it goes.
    #[command(flatten)]
    pub place: GenerateTarget,
    /// The engine of a new database: memory, disk for a graph larger than memory, or mapped for one that opens at once
    /// [default: memory].
    #[arg(long, value_enum, value_name = "ENGINE", conflicts_with = "out")]
    pub engine: Option<EngineArgument>,
    /// Replace files with the same names in the folder of --out.
    #[arg(long, requires = "out")]
    pub overwrite: bool,
}

/// Arguments of `evergraph generate rmat`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_RMAT)]
pub struct RmatArguments {
    /// Where the graph goes.
    #[command(flatten)]
    pub placing: GenerateOutput,
    /// Generate 2^N vertices.
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub scale: u32,
    /// Number of edges a vertex.
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub edge_factor: u32,
    /// Ids of vertices. Files with texts are CSV.
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    pub ids: IdsArgument,
    /// Random seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// What the ids of vertices are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum IdsArgument {
    /// Numbers from 0 on.
    #[default]
    Numbers,
    /// Texts whose order is not that of the vertices.
    Texts,
}

/// Arguments of `evergraph generate payments`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_PAYMENTS)]
pub struct PaymentsArguments {
    /// Where the graph goes.
    #[command(flatten)]
    pub placing: GenerateOutput,
    /// Number of accounts.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub accounts: u32,
    /// Number of transfers, including those of rings.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub transfers: u64,
    /// Number of rings of fraud.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub rings: u32,
    /// Number of days over which transfers are spread.
    #[arg(long, value_name = "N", default_value_t = 90)]
    pub days: u32,
    /// Random seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// Makes the graph and puts it where it was asked for.
///
/// # Errors
/// `invalid` for options out of range or a database with content; what writing meets.
pub fn execute(arguments: &GenerateArguments, context: &Context) -> Result<(), Failure> {
    let (placing, kind) = match &arguments.network {
        Network::Rmat(RmatArguments { placing, scale, edge_factor, ids, seed }) => {
            let options = RmatOptions { edge_factor: *edge_factor, ..RmatOptions::new(*scale, *seed) };
            let ids = match ids {
                IdsArgument::Numbers => VertexIds::Numbers,
                IdsArgument::Texts => VertexIds::Texts,
            };
            (placing, GraphKind::Rmat(options, ids))
        }
        Network::Payments(PaymentsArguments { placing, accounts, transfers, rings, days, seed }) => {
            let options = PaymentsOptions {
                accounts: *accounts,
                transfers: *transfers,
                rings: *rings,
                days: *days,
                seed: *seed,
            };
            (placing, GraphKind::Payments(options))
        }
    };
    put(placing, &kind, context)
}

/// Generates a graph of `kind` and puts it where it was asked for.
fn put(
    GenerateOutput { place, engine, overwrite }: &GenerateOutput,
    kind: &GraphKind,
    context: &Context,
) -> Result<(), Failure> {
    let destination = place.database.as_ref().map(|path| Destination::new_or_empty(path, *engine, context));
    let destination = destination.transpose()?;
    let meter = context.console.meter();
    // Before minutes of making: is there anything against the folder?
    let files =
        place.out.as_deref().map(|folder| GraphFiles::new(folder, *overwrite, &meter, &context.cancel));
    let files = files.transpose()?;
    meter.tell("generate", None, String::new);
    let began = Instant::now();
    let graph = kind.generate()?;
    let make_seconds = began.elapsed().as_secs_f64();
    context.cancel.check()?;
    if let Some(destination) = destination {
        let load = destination.load(graph.load, None, make_seconds, &meter, context)?;
        drop(files);
        drop(meter);
        return context.console.summary(&load);
    }
    let mut files = files.expect("the command line has a database or a folder");
    graph.write(&mut files)?;
    let files = files.finish().iter().map(|path| path.display().to_string()).collect();
    drop(meter);
    context.console.summary(&FilesReport {
        files,
        vertices_count: graph.load.vertices_count(),
        edges_count: graph.load.edges_count(),
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// A graph that went into files.
#[derive(Debug, Serialize)]
struct FilesReport {
    files: Vec<String>,
    vertices_count: u64,
    edges_count: u64,
    seconds: f64,
}

impl fmt::Display for FilesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let vertices = counted(self.vertices_count, "vertex", "vertices");
        let edges = counted(self.edges_count, "edge", "edges");
        writeln!(f, "{vertices} and {edges} in {}:", time(Duration::from_secs_f64(self.seconds)))?;
        self.files.iter().try_for_each(|file| writeln!(f, "  {}", visible(file)))
    }
}
