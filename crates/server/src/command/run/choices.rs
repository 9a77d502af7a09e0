//! Choices: arguments that several algorithms of `evergraph run` share.

use clap::{Args, ValueEnum};
use evergraph_algorithms::sources::Sources;
use evergraph_graph::id::Direction;
use std::path::PathBuf;

/// What all algorithms are told.
#[derive(Args, Debug)]
#[command(next_help_heading = "Scope and answer")]
pub struct CommonArguments {
    /// Vertices of these labels only [default: all]; repeat it, or put commas between.
    #[arg(long = "label", value_name = "LABEL", value_delimiter = ',')]
    pub labels: Vec<String>,
    /// Edges of these types only [default: all]; repeat it, or put commas between.
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    pub types: Vec<String>,
    /// Vertices only whose property satisfies this: 'age>=18', 'name=Ada', 'city in Rome,Pisa', 'email'
    /// (is there); repeat it for more conditions.
    #[arg(long = "where", value_name = "CONDITION")]
    pub vertex_conditions: Vec<String>,
    /// Edges only whose property satisfies this; as --where.
    #[arg(long = "where-edge", value_name = "CONDITION")]
    pub edge_conditions: Vec<String>,
    /// The property that names vertices [default: the unique key of their label].
    #[arg(long, value_name = "PROPERTY")]
    pub key: Option<String>,
    /// Rows to print.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Write the whole answer to this file: Parquet if it ends in .parquet, else CSV; `-` is CSV on
    /// standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file of --output if it is there.
    #[arg(long, requires = "output")]
    pub overwrite: bool,
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

/// A weight that may be wanted.
#[derive(Args, Debug)]
pub struct WeightArguments {
    /// The edge property that is the weight: a number, not negative [default: every edge counts 1].
    #[arg(long, value_name = "PROPERTY")]
    pub weight: Option<String>,
    /// The weight of edges without the property [default: such an edge is an error].
    #[arg(long, value_name = "W", requires = "weight")]
    pub missing_weight: Option<f64>,
}

/// A sample in place of all vertices.
#[derive(Args, Debug)]
pub struct SampleArguments {
    /// Estimate from so many vertices, drawn at random [default: exact, from all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub sample: Option<u32>,
    /// Another seed draws others.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "sample")]
    pub seed: u64,
}

impl SampleArguments {
    /// As algorithms name it.
    #[must_use]
    pub fn sources(&self) -> Sources {
        self.sample.map_or(Sources::All, |count| Sources::Sample { count, seed: self.seed })
    }
}
