//! Execution: opens a database, runs the algorithm on a snapshot, and tells what came of it.

use crate::command::run::answer::{Answer, Found, Path as FoundPath};
use crate::command::run::answer_file;
use crate::command::run::arguments::RunArguments;
use crate::command::run::keys::Keys;
use crate::command::run::report::{PathRow, PathVertex, RunReport, Seconds, Top, TopRow};
use crate::command::run::scope::scope;
use crate::command::run::setting::Setting;
use crate::context::Context;
use crate::result_file::ResultFile;
use crate::terminal::failure::Failure;
use evergraph::Snapshot;
use evergraph_algorithms::control::{Control, Progress};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::view::{Freeze, GraphView};
use std::path::Path;
use std::time::Instant;

/// Runs the algorithm and reports.
///
/// # Errors
/// `not_found` for an unknown name or source; those of opening, of the algorithm, and of writing.
pub fn execute(arguments: &RunArguments, context: &Context) -> std::result::Result<(), Failure> {
    let RunArguments { database: path, algorithm } = arguments;
    let (name, algorithm) = algorithm.chosen();
    let common = algorithm.common();
    // Before hours of computing: is there anything against the file?
    let file =
        common.output.as_deref().map(|path| result_file(path, common.overwrite, context)).transpose()?;
    let meter = context.console.meter();
    let began = Instant::now();
    meter.tell("open", None, String::new);
    let database = context.open(path)?;
    let snapshot = database.snapshot();
    let open = began.elapsed().as_secs_f64();
    context.cancel.check()?;

    let catalogue = snapshot.catalogue();
    let scope = scope(&catalogue, common)?;
    let keys = Keys::new(catalogue, scope.labels.as_deref(), common.key.as_deref())?;
    let tell = |progress: Progress| meter.tell(progress.phase, Some(progress.fraction), String::new);
    let control = Control::new(snapshot.budget()).with_cancel(&context.cancel).with_progress(&tell);
    let setting = Setting::new(&snapshot, scope, &keys, control, common.top, &meter);
    let began = Instant::now();
    let Answer { summary, figures, found } = algorithm.run(&setting)?;
    let ran = began.elapsed().as_secs_f64();
    let frozen = setting.frozen();
    let freeze = frozen.map_or(0.0, |frozen| frozen.seconds);

    let top = top(&found, &snapshot, &keys, common.top)?;
    let began = Instant::now();
    let output = file.as_ref().map(|file| file.name().to_owned());
    let to_standard_output = output.as_deref() == Some("-");
    if let Some(file) = file {
        answer_file::write(file, &snapshot, found, &keys, &meter, &context.cancel)?;
    }
    let write = began.elapsed().as_secs_f64();
    drop(setting);
    drop(meter);
    let mut report = RunReport {
        algorithm: name,
        database: path.display().to_string(),
        timestamp: snapshot.timestamp().0,
        vertices: frozen.map(|frozen| frozen.vertices),
        edges: frozen.map(|frozen| frozen.edges),
        fresh_share: frozen.map(|frozen| frozen.fresh_share),
        summary,
        outcome: figures,
        top,
        output,
        with_times: true,
        seconds: Seconds { open, freeze, kernel: ran - freeze, write },
    };
    if to_standard_output {
        // The table would end up among the rows.
        context.console.note(report.to_string().trim_end());
        return Ok(());
    }
    // The answer was asked for; how long each step took is a summary.
    report.with_times = !context.console.is_quiet();
    context.console.result(&report)
}

fn result_file(path: &Path, overwrite: bool, context: &Context) -> std::result::Result<ResultFile, Failure> {
    if path == Path::new("-") && context.console.is_json() {
        let text = "--json and --output - both want standard output: give --output a file";
        return Err(Error::invalid(text).into());
    }
    ResultFile::create(path, overwrite)
}

/// What is worth a look, with names.
fn top(found: &Found, view: &Snapshot, keys: &Keys, count: usize) -> Result<Top> {
    match found {
        Found::Values(values) => {
            let ids: Vec<VertexId> = values.top.iter().map(|(vertex, _)| *vertex).collect();
            let names = keys.names(view, &ids)?;
            // Groups are numbered in the order in which they are worth a look.
            let group = |place: u64| values.group_name.map(|_| place);
            let rows = values.top.iter().zip(names).zip(0..);
            let row = |(((vertex, value), name), place): ((&(VertexId, _), _), _)| TopRow {
                group: group(place),
                vertex: vertex.0,
                name,
                value: *value,
            };
            Ok(Top::Values {
                top_value: values.top_name,
                group_name: values.group_name,
                top: rows.map(row).collect(),
            })
        }
        Found::Paths(paths) => {
            let row = |path: FoundPath<'_>| {
                let names = keys.names(view, path.vertices)?.into_iter();
                let vertices = path.vertices.iter().zip(names);
                Ok(PathRow {
                    length: path.length(),
                    vertices: vertices.map(|(vertex, name)| PathVertex { vertex: vertex.0, name }).collect(),
                })
            };
            let rows = paths.iter().take(count).map(row).collect::<Result<_>>()?;
            Ok(Top::Paths { closed: paths.are_cycles(), paths: rows })
        }
    }
}
