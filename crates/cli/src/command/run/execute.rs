//! Execution: opens a database, runs the algorithm on a snapshot, and tells what came of it.

use crate::command::run::answer::{Found, Path as FoundPath};
use crate::command::run::answer_file;
use crate::command::run::arguments::{Chosen, RunArguments};
use crate::command::run::keys::Keys;
use crate::command::run::names;
use crate::command::run::parameters::{arguments as arguments_of, figures as chosen_figures};
use crate::command::run::report::{PathRow, PathVertex, RunReport, Seconds, Top, TopRow};
use crate::command::run::scope::scope;
use crate::context::Context;
use evergraph::Snapshot;
use evergraph_algorithms::control::{Control, Progress};
use evergraph_analysis::answer::{Answer, Figure};
use evergraph_analysis::arguments::Arguments;
use evergraph_analysis::input::{Caller, Input};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::view::{Freeze, GraphView};
use evergraph_terminal::failure::Failure;
use evergraph_terminal::meter::Meter;
use evergraph_terminal::result_file::ResultFile;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Instant;

/// Runs the algorithm and reports.
///
/// # Errors
/// `not_found` for an unknown name or source; those of opening, of the algorithm, and of writing.
pub fn execute(arguments: &RunArguments, context: &Context) -> std::result::Result<(), Failure> {
    let RunArguments { database: path, chosen: Chosen { algorithm, given, common } } = arguments;
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
    let arguments = arguments_of(algorithm.parameters, given, &keys, &snapshot)?;
    let program = Program { snapshot: &snapshot, keys: &keys, meter: &meter };
    let input = Input::new(&snapshot, &scope, &program);
    let answer = algorithm.run(&input, &arguments, &control)?;
    let (summary, outcome) = (answer.summary.clone(), outcome(&arguments, &answer));
    let (frozen, freeze, kernel) = (input.frozen(), input.freezing_time(), input.kernel_time());
    let found = Found::new(algorithm, &arguments, answer, common.top);

    let top = top(&found, &snapshot, &keys, common.top)?;
    let began = Instant::now();
    let output = file.as_ref().map(|file| file.name().to_owned());
    let to_standard_output = output.as_deref() == Some("-");
    if let Some(file) = file {
        answer_file::write(file, &snapshot, found, &keys, &meter, &context.cancel)?;
    }
    let write = began.elapsed().as_secs_f64();
    drop(meter);
    let mut report = RunReport {
        algorithm: algorithm.command(),
        database: path.display().to_string(),
        timestamp: snapshot.timestamp().0,
        vertices: frozen.map(|frozen| frozen.vertices),
        edges: frozen.map(|frozen| frozen.edges),
        fresh_share: frozen.map(|frozen| frozen.fresh_share),
        summary,
        outcome,
        top,
        output,
        with_times: true,
        seconds: Seconds { open, freeze: freeze.as_secs_f64(), kernel: kernel.as_secs_f64(), write },
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

/// How the program names things, and where it tells what it does.
struct Program<'a> {
    snapshot: &'a Snapshot,
    keys: &'a Keys,
    meter: &'a Meter,
}

impl Caller for Program<'_> {
    fn key(&self, name: &str) -> Result<KeyId> {
        names::key(&self.snapshot.catalogue(), name)
    }

    fn vertex_names(&self, vertices: &[VertexId]) -> Result<Vec<String>> {
        let names = self.keys.names(self.snapshot, vertices)?;
        Ok(names.into_iter().map(|name| format!("{} {}", name.label, name.key)).collect())
    }

    fn freezing(&self) {
        self.meter.tell("freeze", None, String::new);
    }
}

/// What was chosen and what came of it, as figures.
fn outcome(arguments: &Arguments, answer: &Answer) -> Value {
    let figures = answer.figures.iter().map(|(name, figure)| {
        let figure = match figure {
            Figure::Nothing => Value::Null,
            Figure::Boolean(figure) => json!(figure),
            Figure::Whole(figure) => json!(figure),
            Figure::Real(figure) => json!(figure),
        };
        ((*name).to_owned(), figure)
    });
    Value::Object(chosen_figures(arguments).chain(figures).collect::<Map<_, _>>())
}

fn result_file(path: &Path, overwrite: bool, context: &Context) -> std::result::Result<ResultFile, Failure> {
    if path == Path::new("-") && context.console.is_json() {
        let text = "--json and --output - both write to standard output: give --output a file";
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
