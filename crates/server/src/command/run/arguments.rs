//! The arguments of `evergraph run`: a database, an algorithm, and what may be chosen about each.

use clap::{Args, Subcommand, ValueEnum};
use evergraph_graph::id::Direction;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  evergraph run social.eg pagerank --output ranks.csv
  evergraph run social.eg bfs --source 17 --direction both
  evergraph run roads.eg sssp --source 6 --weight length
  evergraph run bank.eg wcc --type TRANSFER --json

The algorithm runs on a snapshot of what is in the database now. --output writes a line for each
vertex, `key,value` after a header line:
  key    the vertex' unique key; the number of the vertex where its label has none; --key chooses
         another property. With several labels in scope a column `label` comes first.
  value  pagerank the score; bfs the level (9223372036854775807 where there is no path);
         sssp the distance (`infinity` where there is no path); wcc the number of the component's
         lowest vertex";

/// What `evergraph run` is told.
#[derive(Args, Debug)]
#[command(
    after_help = AFTER_HELP,
    subcommand_value_name = "ALGORITHM",
    subcommand_help_heading = "Algorithms",
    disable_help_subcommand = true
)]
pub struct RunArguments {
    /// The database.
    pub database: PathBuf,
    /// The algorithm.
    #[command(subcommand)]
    pub algorithm: Algorithm,
}

/// An algorithm and what may be chosen about it.
#[derive(Subcommand, Debug)]
pub enum Algorithm {
    /// How much of a random walk's time each vertex gets.
    Pagerank(PageRankArguments),
    /// Breadth-first search: how many edges each vertex is away from a source.
    Bfs(BfsArguments),
    /// Weakly connected components: which vertices hang together, whatever the edges' direction.
    Wcc(WccArguments),
    /// Shortest paths: the least sum of weights on a path from a source to each vertex.
    Sssp(SsspArguments),
}

impl Algorithm {
    /// Its name on the command line.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pagerank(_) => "pagerank",
            Self::Bfs(_) => "bfs",
            Self::Wcc(_) => "wcc",
            Self::Sssp(_) => "sssp",
        }
    }

    /// What all algorithms are told.
    #[must_use]
    pub fn common(&self) -> &CommonArguments {
        match self {
            Self::Pagerank(arguments) => &arguments.common,
            Self::Bfs(arguments) => &arguments.common,
            Self::Wcc(arguments) => &arguments.common,
            Self::Sssp(arguments) => &arguments.common,
        }
    }
}

/// What all algorithms are told.
#[derive(Args, Debug)]
pub struct CommonArguments {
    /// Vertices of these labels only [default: all]; repeat it, or put commas between.
    #[arg(long = "label", value_name = "LABEL", value_delimiter = ',')]
    pub labels: Vec<String>,
    /// Edges of these types only [default: all]; repeat it, or put commas between.
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    pub types: Vec<String>,
    /// The property that names vertices [default: the unique key of their label].
    #[arg(long, value_name = "PROPERTY")]
    pub key: Option<String>,
    /// Rows to print.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Write the answer for every vertex to this CSV file; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Where a search begins.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub struct SourceArguments {
    /// Begin at the vertex with this unique key.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub source: Option<String>,
    /// Begin at the vertex with this number.
    #[arg(long, value_name = "N")]
    pub source_vertex: Option<u32>,
}

/// Along which edges an algorithm goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum DirectionArgument {
    /// From source to target.
    #[default]
    Out,
    /// Against the edges.
    In,
    /// Both ways: the graph is read as undirected.
    Both,
}

impl DirectionArgument {
    /// As algorithms name it.
    #[must_use]
    pub fn direction(self) -> Direction {
        match self {
            Self::Out => Direction::Out,
            Self::In => Direction::In,
            Self::Both => Direction::Both,
        }
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Out => "out",
            Self::In => "in",
            Self::Both => "both",
        }
    }
}

/// What PageRank is told.
#[derive(Args, Debug)]
pub struct PageRankArguments {
    /// Along which edges rank flows.
    #[arg(long, value_enum, default_value_t)]
    pub direction: DirectionArgument,
    /// Rounds; with --tolerance, at most.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub iterations: u32,
    /// The probability of following an edge rather than jumping anywhere.
    #[arg(long, value_name = "D", default_value_t = 0.85)]
    pub damping: f64,
    /// Stop when scores change by less than this a vertex, on average, in a round.
    #[arg(long, value_name = "T")]
    pub tolerance: Option<f64>,
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

/// What breadth-first search is told.
#[derive(Args, Debug)]
pub struct BfsArguments {
    /// Where it begins.
    #[command(flatten)]
    pub source: SourceArguments,
    /// Along which edges it goes.
    #[arg(long, value_enum, default_value_t)]
    pub direction: DirectionArgument,
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

/// What the search for components is told.
#[derive(Args, Debug)]
pub struct WccArguments {
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

/// What shortest paths are told.
#[derive(Args, Debug)]
pub struct SsspArguments {
    /// Where paths begin.
    #[command(flatten)]
    pub source: SourceArguments,
    /// Along which edges paths go.
    #[arg(long, value_enum, default_value_t)]
    pub direction: DirectionArgument,
    /// The edge property that is the weight: a number, not negative.
    #[arg(long, value_name = "PROPERTY", default_value = "weight")]
    pub weight: String,
    /// The weight of edges without the property [default: such an edge is an error].
    #[arg(long, value_name = "W")]
    pub missing_weight: Option<f64>,
    /// The width of a bin, in units of weight [default: derived]; the answer doesn't depend on it.
    #[arg(long, value_name = "W")]
    pub delta: Option<f64>,
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}
