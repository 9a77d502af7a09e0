//! `evergraph replica propose`: a mapping from the keys of a PostgreSQL database, for people to look over.

use crate::command::replica::source_url::SourceUrl;
use crate::context::Context;
use clap::Args;
use evergraph_graph::error::Error;
use evergraph_replica::mapping::propose::propose;
use evergraph_replica::source::contract::Source as _;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::counted;
use evergraph_terminal::result_file::ResultFile;
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// What its help says behind the options.
pub const AFTER_HELP: &str = "\
Examples:
  evergraph replica propose postgres://graph@db.example/shop
  evergraph replica propose postgres://graph@db.example/shop -o shop.toml
  PGPASSWORD=... evergraph replica propose postgres://graph@localhost/shop | less

What is proposed:
  A table with a primary key becomes vertices, labelled by its name; its foreign
  keys become edges. A table whose primary key consists of two foreign keys
  becomes edges. A partitioned table is named once, by its root. A table without
  a primary key is left out, and a comment says so. Nothing is changed: look the
  file over, rename and leave out what you like, then run `evergraph replica
  check`. The language of mappings: docs/guide/replica_mapping.md.";

/// Arguments of `evergraph replica propose`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ProposeArguments {
    /// The database to look at, as postgres://USER@HOST/DATABASE; its role needs no rights but to connect.
    #[arg(value_name = "URL")]
    pub source: SourceUrl,
    /// Write the mapping to this file, which must not exist yet; `-` is standard output [default: -].
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the --output file if it exists.
    #[arg(long, requires = "output")]
    pub overwrite: bool,
}

/// Writes the mapping that the keys of a database suggest.
///
/// # Errors
/// Those of connecting and reading; `invalid` if no table has a primary key; those of the file.
pub fn execute(arguments: &ProposeArguments, context: &Context) -> Result<(), Failure> {
    // Before a server is asked: is there anything against the file?
    let path = arguments.output.as_deref().filter(|path| *path != Path::new("-"));
    let file = path.map(|path| ResultFile::create(path, arguments.overwrite)).transpose()?;
    let mut source = arguments.source.source(&context.cancel)?;
    let catalogue = source.catalogue().map_err(Error::from)?;
    let mapping = propose(&catalogue)?;
    let Some(mut file) = file else { return context.console.result(&ProposedMapping { mapping }) };
    let name = file.name().to_owned();
    file.write_all(mapping.as_bytes()).map_err(|error| file.failed(error))?;
    file.finish()?;
    let rules_count = mapping.lines().filter(|line| *line == "[[table]]").count() as u64;
    let source = arguments.source.to_string();
    context.console.summary(&WrittenMapping { file: name, rules_count, source })
}

/// A mapping that isn't written to a file.
#[derive(Debug, Serialize)]
struct ProposedMapping {
    mapping: String,
}

impl fmt::Display for ProposedMapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.mapping)
    }
}

/// A mapping that was written to a file.
#[derive(Debug, Serialize)]
struct WrittenMapping {
    file: String,
    rules_count: u64,
    source: String,
}

impl fmt::Display for WrittenMapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, source) = (visible(&self.file), visible(&self.source));
        writeln!(f, "{file}: {}; look it over, then", counted(self.rules_count, "rule", "rules"))?;
        writeln!(f, "  evergraph replica check '{source}' --mapping {file}")
    }
}
