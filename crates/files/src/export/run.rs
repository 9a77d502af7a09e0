//! Run: a whole export, from a snapshot to files.

use crate::export::elements::ElementReader;
use crate::export::losses::losses;
use crate::export::meter::Meter;
use crate::export::options::{ExportFormat, ExportOptions, ExportProgress, ExportSummary};
use crate::export::scope::ExportScope;
use crate::export::survey::Survey;
use crate::export::{csv, edge_list, graphml, graphson, parquet};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::view::GraphView;
use std::path::Path;

/// Writes `view` as `options` say, telling `progress` how far it is many times a second.
///
/// Cost: everything is read twice. Memory for a page of about a thousand vertices or edges; in
/// GraphSON, for one vertex with all of its edges.
///
/// # Errors
/// `invalid` for options that don't fit, a place that is taken, and what the format can't hold;
/// `not_found` for names that the graph doesn't have; `io`, `limit`; `cancelled`. Nothing is left behind
/// after an error.
pub fn export(
    view: &dyn GraphView,
    options: &ExportOptions,
    progress: &dyn Fn(&ExportProgress<'_>),
) -> Result<ExportSummary> {
    options.check()?;
    options.cancel.check()?;
    if !options.format.is_one_file()
        && options.format != ExportFormat::EdgeList
        && options.output == Path::new("-")
    {
        return Err(Error::invalid(format!(
            "{} is a folder of files, which standard output can't take",
            options.format.name()
        )));
    }
    refuse_foreign_ending(options)?;
    let scope = ExportScope::new(&*view.names()?, options)?;
    let statistics = view.statistics()?;
    let vertices = statistics.vertices.iter().filter(|(label, _)| scope.has_label(*label));
    let edges = statistics.edges.iter().filter(|(edge_type, _)| scope.types.contains(edge_type));
    let rows = vertices.map(|entry| entry.1).chain(edges.map(|entry| entry.1)).sum();
    let meter = Meter::new(progress, options.cancel.clone(), rows);
    let survey = Survey::new(view, &scope, &meter)?;
    meter.begin_writing();
    let mut reader = None;
    let files = match options.format {
        ExportFormat::Csv => csv::write(view, &survey, options, &meter)?,
        ExportFormat::Parquet => parquet::write(view, &survey, options, &meter)?,
        ExportFormat::GraphSon => {
            let mut named = ElementReader::new(view, &survey, &scope)?;
            named.names_edges = true;
            graphson::write(view, &survey, reader.insert(named), options, &meter)?
        }
        ExportFormat::GraphMl => {
            let named = ElementReader::new(view, &survey, &scope)?;
            graphml::write(view, &survey, reader.insert(named), options, &meter)?
        }
        ExportFormat::EdgeList if is_list_file(&options.output) => {
            edge_list::write_file(view, &survey, options, &meter)?
        }
        ExportFormat::EdgeList => edge_list::write_folder(view, &survey, options, &meter)?,
    };
    Ok(ExportSummary {
        files,
        vertices_count: survey.vertices_count(),
        edges_count: survey.edges_count(),
        losses: losses(&survey, &scope, options, reader.as_ref()),
    })
}

/// Refuses a name that says another format than the options do: who asks for `graph.json` wouldn't look for a
/// folder there.
fn refuse_foreign_ending(options: &ExportOptions) -> Result<()> {
    let ExportOptions { format, output, .. } = options;
    // A name without an ending says nothing, and neither does that of a folder.
    let says = ExportFormat::of_path(output).filter(|says| *says != ExportFormat::Csv && !output.is_dir());
    match says {
        Some(says) if says != *format => Err(Error::invalid(format!(
            "{} names a file of {}, but {} was requested: choose another path, or another format",
            output.display(),
            says.name(),
            format.name()
        ))),
        _ => Ok(()),
    }
}

/// Whether an edge list goes to one file, and not to a folder.
fn is_list_file(output: &Path) -> bool {
    output == Path::new("-")
        || ExportFormat::of_path(output) == Some(ExportFormat::EdgeList)
        || std::fs::metadata(output).is_ok_and(|found| !found.is_dir())
}
