//! Execution: opens a database, runs the algorithm on a snapshot, and tells what came of it.

use crate::command::run::arguments::{RunArguments, RunRequest};
use crate::command::run::keys::Keys;
use crate::command::run::names;
use crate::command::run::outcome::RunOutcome;
use crate::command::run::parameters::arguments as arguments_of;
use crate::command::run::remote;
use crate::command::run::scope::scope;
use crate::command::run::vertex_naming::VertexNaming;
use crate::context::Context;
use crate::target::Target;
use evergraph::Snapshot;
use evergraph_algorithms::control::{Control, Progress};
use evergraph_analysis::input::{Caller, Input};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::value::Value;
use evergraph_graph::view::{Freeze, GraphView};
use evergraph_report::vertex_names::VertexName;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::meter::Meter;
use evergraph_terminal::result_file::ResultFile;
use std::path::Path;
use std::time::Instant;

/// Runs the algorithm and reports.
///
/// # Errors
/// `not_found` for an unknown name or source; those of opening, of the algorithm, and of writing.
pub fn execute(arguments: &RunArguments, context: &Context) -> std::result::Result<(), Failure> {
    let RunArguments { database, chosen: request } = arguments;
    let common = &request.common;
    match database {
        Target::Folder(_) => common.access.refuse()?,
        Target::Server(_) => common.reading.refuse()?,
    }
    // Before hours of computing: is there anything against the file?
    let file =
        common.output.as_deref().map(|path| result_file(path, common.overwrite, context)).transpose()?;
    match database {
        Target::Folder(path) => in_folder(path, request, file, context),
        Target::Server(url) => remote::execute(url, request, file, context),
    }
}

fn in_folder(
    path: &Path,
    request: &RunRequest,
    file: Option<ResultFile>,
    context: &Context,
) -> std::result::Result<(), Failure> {
    let RunRequest { algorithm, given, common } = request;
    let meter = context.console.meter();
    let began = Instant::now();
    meter.tell("open", None, String::new);
    let database = common.reading.open(path, context)?;
    let snapshot = database.snapshot();
    let open = began.elapsed();
    context.cancel.check()?;

    let catalogue = snapshot.names()?;
    let scope = scope(&catalogue, common)?;
    let keys = Keys::new(catalogue, scope.labels.as_deref(), common.key.as_deref())?;
    let tell = |progress: Progress| meter.tell(progress.phase, Some(progress.fraction), String::new);
    let control = Control::new(snapshot.budget()).with_cancel(&context.cancel).with_progress(&tell);
    let mut look_up = |label, key, value: &Value| {
        let mut vertices = Vec::with_capacity(1);
        snapshot.look_up(label, key, std::slice::from_ref(value), &mut vertices)?;
        Ok::<_, Error>(vertices.into_iter().flatten().next())
    };
    let find = |option: &str, text: &str| keys.find(&mut look_up, option, text);
    let arguments = arguments_of(algorithm.parameters, given, find)?;
    let program = Program { snapshot: &snapshot, keys: &keys, meter: &meter };
    let input = Input::new(&snapshot, &scope, &program);
    let answer = algorithm.run(&input, &arguments, &control)?;
    let outcome = RunOutcome {
        database: path.display().to_string(),
        first_step: ("opened", open),
        timestamp: snapshot.timestamp().0,
        frozen: input.frozen(),
        freezing_time: input.freezing_time(),
        kernel_time: input.kernel_time(),
        arguments,
        answer,
    };
    drop(input);
    let naming = SnapshotNaming { snapshot: &snapshot, keys: &keys };
    outcome.report(request, &keys, &naming, file, meter, context)
}

/// The names of a snapshot's vertices.
struct SnapshotNaming<'a> {
    snapshot: &'a Snapshot,
    keys: &'a Keys,
}

impl VertexNaming for SnapshotNaming<'_> {
    fn names(&self, vertices: &[VertexId]) -> Result<Vec<VertexName>> {
        self.keys.names().names(self.snapshot, vertices)
    }
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
        let names = self.keys.names().names(self.snapshot, vertices)?;
        Ok(names.iter().map(ToString::to_string).collect())
    }

    fn freezing(&self) {
        self.meter.tell("freeze", None, String::new);
    }
}

fn result_file(path: &Path, overwrite: bool, context: &Context) -> std::result::Result<ResultFile, Failure> {
    if path == Path::new("-") && context.console.is_json() {
        let text = "--json and --output - both write to standard output: give --output a file";
        return Err(Error::invalid(text).into());
    }
    ResultFile::create(path, overwrite)
}
