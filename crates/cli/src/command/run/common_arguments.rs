//! Common arguments: arguments that all algorithms of `evergraph run` share.

use crate::read_access::ReadAccessArguments;
use crate::server_access::ServerAccessArguments;
use clap::Args;
use std::path::PathBuf;

/// What all algorithms are told.
#[derive(Args, Debug)]
#[command(next_help_heading = "Scope and answer")]
pub struct CommonArguments {
    /// Only vertices of these labels [default: all]; repeat the option, or separate labels by commas.
    #[arg(long = "label", value_name = "LABEL", value_delimiter = ',')]
    pub labels: Vec<String>,
    /// Only edges of these types [default: all]; repeat the option, or separate types by commas.
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    pub types: Vec<String>,
    /// Only vertices that satisfy this condition: 'age>=18', 'name=Ada', 'city in Rome,Pisa', 'email'
    /// (has the property); repeat the option for more conditions.
    #[arg(long = "where", value_name = "CONDITION")]
    pub vertex_conditions: Vec<String>,
    /// Only edges that satisfy this condition, written as for --where.
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
    /// Replace the --output file if it exists.
    #[arg(long, requires = "output")]
    pub overwrite: bool,
    /// How it is opened to be read.
    #[command(flatten)]
    pub reading: ReadAccessArguments,
    /// How to connect to a server.
    #[command(flatten)]
    pub access: ServerAccessArguments,
}
