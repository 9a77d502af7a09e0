//! Execute: reads the files and loads them, or proposes how they are read.

use crate::command::import::arguments::ImportArguments;
use crate::command::import::report::{BadRowsReport, ImportReport, ProposedMapping};
use crate::command::import::{remote, tables};
use crate::context::Context;
use crate::loading::Destination;
use crate::target::Target;
use evergraph::import::existing_graph::ExistingGraph;
use evergraph::import::options::{Imported, Progress};
use evergraph::import::plan::{is_database, propose};
use evergraph::import::read::read_beside;
use evergraph_graph::error::Error;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::{count, rate};
use std::path::PathBuf;
use std::time::Instant;

/// Reads the files and loads them.
///
/// # Errors
/// Those of reading, of opening the database, and of loading.
pub fn execute(arguments: &ImportArguments, context: &Context) -> std::result::Result<(), Failure> {
    if let Some(url) = tables::source_url(arguments) {
        return tables::execute(arguments, url, context);
    }
    let mut options = arguments.options(context)?;
    if let Some(Target::Server(url)) = &arguments.database {
        if arguments.propose {
            let text = "--propose looks at files and at the folder of a database: leave the URL out";
            return Err(Error::invalid(text).into());
        }
        return remote::execute(arguments, url, &options, context);
    }
    arguments.access.refuse()?;
    let Some(database) = arguments.folder().filter(|_| !arguments.propose) else {
        let known = match arguments.folder() {
            Some(path) if is_database(path) => Destination::new(path, None, context)?.known(),
            _ => ExistingGraph::default(),
        };
        return context.console.result(&ProposedMapping { mapping: propose(&options, &known)? });
    };
    let destination = Destination::new(database, arguments.engine, context)?;
    options.temporary = Some(arguments.temporary_folder(database));
    options.memory = options.memory.or(destination.import_memory_bytes()?);
    let (memory_bytes, shares) = (options.memory_bytes(), options.memory_shares());
    let reading = destination.reserve_for_reading(shares)?;
    let meter = context.console.meter();
    let began = Instant::now();
    let imported = read_beside(&options, destination.known(), &|progress: Progress<'_>| {
        let total = progress.bytes_total.filter(|total| *total > 0);
        let fraction = total.map(|total| progress.bytes_read as f64 / total as f64);
        meter.tell("read", fraction, || {
            let rate = rate(progress.rows, began.elapsed(), "rows");
            format!("{}, {} rows, {rate}", progress.file, count(progress.rows))
        });
    })?;
    drop(reading);
    let read_seconds = began.elapsed().as_secs_f64();
    arguments.check_names(&imported)?;
    let Imported { load, bad_rows, settled, spilled_bytes, notes, ignored_files, guessed_files } = imported;
    let load = destination.load(load, Some(shares), read_seconds, &meter, context)?;
    drop(meter);
    let shown = |paths: Vec<PathBuf>| paths.iter().map(|path| path.display().to_string()).collect();
    let (ignored_files, guessed_files) = (shown(ignored_files), shown(guessed_files));
    let report = arguments.report.as_ref().map(|path| path.display().to_string());
    let first = bad_rows.first.iter().map(ToString::to_string).collect();
    let bad_rows = BadRowsReport { count: bad_rows.count, first, report };
    context.console.summary(&ImportReport {
        load,
        bad_rows,
        settled: settled.into(),
        memory_bytes: Some(memory_bytes),
        spilled_bytes,
        notes,
        ignored_files,
        guessed_files,
    })
}
