//! `g.io('people.json').read()`: queries that import or export a file.

use crate::database::Database;
use crate::gremlin::task::Task;
use evergraph_files::export::options::{ExportFormat, ExportOptions};
use evergraph_files::import::options::{ImportOptions, InputFile};
use evergraph_files::import::role::Role;
use evergraph_graph::error::{Error, Result};
use evergraph_query::plan::io::{Format, Io};
use std::path::Path;

/// Reads the file into `database`, or writes that to the file: all at once, or nothing.
pub(super) fn transfer(database: &Database, io: &Io, task: &Task) -> Result<()> {
    if !task.files {
        return Err(Error::invalid(format!(
            "this query {} the file {}, which the program that runs it does not allow: see \
             Query::files, or import and export without a query",
            io.verb(),
            io.path
        )));
    }
    let path = Path::new(&*io.path);
    let format = io.format.map_or_else(|| ExportFormat::of_path(path), |format| Some(format_of(format)));
    let format = format.filter(|format| matches!(format, ExportFormat::GraphMl | ExportFormat::GraphSon));
    let format = format.ok_or_else(|| {
        Error::invalid(format!(
            "the name {} doesn't show whether this is GraphSON (.json) or GraphML (.xml): add \
             with(IO.reader, IO.graphson), or IO.writer",
            io.path
        ))
    })?;
    if io.to_file {
        let mut options = ExportOptions::new(format, path);
        options.cancel = task.until();
        return database.export(&options, &|_| ()).map(drop);
    }
    let role = if format == ExportFormat::GraphMl { Role::GraphMl } else { Role::GraphSon };
    let mut options = ImportOptions::new([InputFile::new(path).role(role)]);
    options.cancel = task.until();
    let most = database.import_memory_bytes().unwrap_or(u64::MAX);
    options.memory = Some(task.limits.memory_bytes.min(most));
    database.import(&options, &|_| ()).map(drop)
}

fn format_of(format: Format) -> ExportFormat {
    match format {
        Format::GraphMl => ExportFormat::GraphMl,
        Format::GraphSon => ExportFormat::GraphSon,
    }
}
