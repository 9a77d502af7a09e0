//! `evergraph convert`: the graph of a database as a new database of another engine, with the same ids.

use crate::command::check::check_written;
use crate::context::Context;
use crate::engine::EngineArgument;
use crate::open::refuse_file;
use crate::target::FolderParser;
use clap::Args;
use evergraph::FileWork;
use evergraph_graph::error::Error;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::{count, counted, size, time};
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const AFTER_HELP: &str = "\
Examples:
  evergraph convert social.eg large.eg --engine disk
  evergraph convert large.eg fast.eg --engine memory
  evergraph convert social.eg shared.eg --engine mapped
  evergraph convert social.eg large.eg --engine disk --memory-limit 512MiB

Vertices, edges, properties, names and indexes are the same in the new database,
with the same ids, and commits go on counting. The old database is not changed:
remove it when you no longer need it.

Which engine:
  memory  Graph in memory, log and checkpoints on disk: the fastest, as long as
          it fits.
  disk    Graph in files, memory below --memory-limit: for graphs larger than
          memory.
  mapped  Graph in mapped files, read where it lies: for graphs that fit in
          memory and are opened often, or read by several processes.

A conversion reads the graph once, and checks the new database. It is complete
or absent: after Ctrl-C or an error what was written is removed. What a crash
leaves behind cannot be opened, and the next conversion to the same folder
replaces it. While another process has the database open to write, whatever its
engine, the conversion is refused (exit code 8).";

/// Arguments of `evergraph convert`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ConvertArguments {
    /// The database, which is not changed.
    #[arg(value_parser = FolderParser)]
    pub database: PathBuf,
    /// The folder of the new database: new or empty.
    pub output: PathBuf,
    /// The engine of the new database.
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub engine: EngineArgument,
    /// Skip the check of the new database.
    #[arg(long)]
    pub no_check: bool,
}

/// Converts.
///
/// # Errors
/// `invalid` if it is a database of that engine already; those of opening and of the conversion, which leaves nothing
/// then; `corrupt` if the new database has findings.
pub fn execute(arguments: &ConvertArguments, context: &Context) -> Result<(), Failure> {
    refuse_file(&arguments.output)?;
    let meter = context.console.meter();
    meter.tell("open", None, String::new);
    let began = Instant::now();
    let database = context.open_for(&arguments.database, FileWork::Conversion)?;
    let (from, to) = (database.engine(), arguments.engine.kind());
    if from == to {
        let (path, output) = (arguments.database.display(), arguments.output.display());
        let text = format!(
            "{path} is a database of the {to} engine already: `evergraph backup {path} {output}` copies it"
        );
        return Err(Error::invalid(text).into());
    }
    let made = database.convert(&arguments.output, to, &mut |part, done, total| {
        let share = done as f64 / total.max(1) as f64;
        meter.tell(part, Some(share), || count(done));
        if context.cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    // Before the new one is opened: one graph in memory at a time.
    database.close()?;
    drop(database);
    if !arguments.no_check {
        check_written(&arguments.output, &meter, context)?;
    }
    drop(meter);
    context.console.summary(&ConversionReport {
        database: arguments.database.display().to_string(),
        output: arguments.output.display().to_string(),
        engine: to.name(),
        through: made.through.0,
        vertices_count: made.vertices_count,
        edges_count: made.edges_count,
        bytes_written: made.bytes_written,
        checked: !arguments.no_check,
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// What a conversion wrote.
#[derive(Debug, Serialize)]
struct ConversionReport {
    database: String,
    output: String,
    engine: &'static str,
    through: u64,
    vertices_count: u64,
    edges_count: u64,
    bytes_written: u64,
    checked: bool,
    seconds: f64,
}

impl fmt::Display for ConversionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} and {}, all through commit {}, converted to {} ({} engine){} in {}; {} written",
            visible(&self.database),
            counted(self.vertices_count, "vertex", "vertices"),
            counted(self.edges_count, "edge", "edges"),
            count(self.through),
            visible(&self.output),
            self.engine,
            if self.checked { " and checked" } else { "" },
            time(Duration::from_secs_f64(self.seconds)),
            size(self.bytes_written),
        )
    }
}
