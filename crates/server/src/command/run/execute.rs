//! Execution: opens a database, freezes a snapshot, runs the kernel, and tells what came of it.

use crate::command::run::answer::Answer;
use crate::command::run::answer_file;
use crate::command::run::arguments::{Algorithm, RunArguments, SourceArguments};
use crate::command::run::keys::Keys;
use crate::command::run::report::{Outcome, RunReport, Seconds, TopRow};
use crate::command::run::scope::{key, scope};
use crate::context::Context;
use crate::result_file::ResultFile;
use crate::terminal::failure::Failure;
use evergraph_algorithms::bfs::{BfsParameters, bfs};
use evergraph_algorithms::control::{Control, Progress};
use evergraph_algorithms::pagerank::{PageRankParameters, pagerank};
use evergraph_algorithms::scope::Scope;
use evergraph_algorithms::sssp::{SsspParameters, sssp};
use evergraph_algorithms::wcc::{WccParameters, wcc};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::{Projection, Topology, Weight};
use evergraph_graph::view::{Freeze, GraphView};
use std::path::Path;
use std::time::Instant;

/// Runs the algorithm and reports.
///
/// # Errors
/// `not_found` for an unknown name or source; those of opening, of the algorithm, and of writing.
pub fn execute(arguments: &RunArguments, context: &Context) -> std::result::Result<(), Failure> {
    let RunArguments { database: path, algorithm } = arguments;
    let common = algorithm.common();
    // Before hours of computing: is there anything against the file?
    let file = common.output.as_deref().map(|path| result_file(path, context)).transpose()?;
    let meter = context.console.meter();
    let began = Instant::now();
    meter.tell("open", None, String::new);
    let database = context.open(path)?;
    let snapshot = database.snapshot();
    let open = began.elapsed().as_secs_f64();
    context.cancel.check()?;

    let catalogue = snapshot.catalogue();
    let scope = scope(&catalogue, &common.labels, &common.types)?;
    let keys = Keys::new(catalogue, scope.labels.as_deref(), common.key.as_deref())?;

    let began = Instant::now();
    meter.tell("freeze", None, String::new);
    let topology = snapshot.freeze(&projection(algorithm, &scope, &snapshot.catalogue())?)?;
    let freeze = began.elapsed().as_secs_f64();

    let began = Instant::now();
    let tell = |progress: Progress| meter.tell(progress.phase, Some(progress.fraction), String::new);
    let cancel = &context.cancel;
    let control = Control::new(snapshot.budget()).with_cancel(cancel).with_progress(&tell);
    let (answer, outcome) = compute(algorithm, &snapshot, &keys, &topology, &control)?;
    let kernel = began.elapsed().as_secs_f64();

    let vertices = topology.vertices();
    let top = answer.top(vertices, common.top);
    let ids: Vec<VertexId> = top.iter().map(|(vertex, _)| *vertex).collect();
    let names = keys.names(&snapshot, &ids)?;
    let top =
        top.into_iter().zip(names).map(|((vertex, value), name)| TopRow { vertex: vertex.0, name, value });

    let began = Instant::now();
    let output = file.as_ref().map(|file| file.name().to_owned());
    let to_standard_output = output.as_deref() == Some("-");
    if let Some(file) = file {
        answer_file::write(file, &snapshot, vertices, &answer, &keys, &meter, &context.cancel)?;
    }
    drop(meter);
    let report = RunReport {
        algorithm: algorithm.name(),
        database: path.display().to_string(),
        timestamp: snapshot.timestamp().0,
        vertices: vertices.len(),
        edges: topology.edge_count(),
        fresh_share: topology.fresh_share(),
        outcome,
        top_value: answer.top_name(),
        top: top.collect(),
        output,
        seconds: Seconds { open, freeze, kernel, write: began.elapsed().as_secs_f64() },
    };
    if to_standard_output {
        // The table would end up among the rows.
        context.console.note(report.to_string().trim_end());
        return Ok(());
    }
    context.console.result(&report)
}

fn result_file(path: &Path, context: &Context) -> std::result::Result<ResultFile, Failure> {
    if path == Path::new("-") && context.console.is_json() {
        let text = "--json and --output - both want standard output: give --output a file";
        return Err(Error::invalid(text).into());
    }
    ResultFile::create(path)
}

/// What the kernel reads: no side that it doesn't need.
fn projection(algorithm: &Algorithm, scope: &Scope, catalogue: &Catalogue) -> Result<Projection> {
    Ok(match algorithm {
        Algorithm::Pagerank(_) | Algorithm::Bfs(_) | Algorithm::Wcc(_) => {
            scope.projection(Direction::Both, None)
        }
        Algorithm::Sssp(arguments) => {
            let key = key(catalogue, &arguments.weight)?;
            let weight = Weight { key, missing: arguments.missing_weight };
            scope.projection(arguments.direction.direction(), Some(weight))
        }
    })
}

/// Finds the source, if the algorithm has one, and runs the kernel.
fn compute(
    algorithm: &Algorithm,
    view: &impl GraphView,
    keys: &Keys,
    topology: &impl Topology,
    control: &Control<'_>,
) -> Result<(Answer, Outcome)> {
    Ok(match algorithm {
        Algorithm::Pagerank(arguments) => {
            let parameters = PageRankParameters {
                damping: arguments.damping,
                iterations: arguments.iterations,
                tolerance: arguments.tolerance,
                direction: arguments.direction.direction(),
            };
            let ranks = pagerank(topology, &parameters, control)?;
            let outcome = Outcome::PageRank {
                direction: arguments.direction.name(),
                damping: arguments.damping,
                iterations: ranks.iterations,
                change: ranks.change,
                converged: ranks.converged,
            };
            (Answer::PageRank(ranks), outcome)
        }
        Algorithm::Bfs(arguments) => {
            let source = find(&arguments.source, view, keys)?;
            let direction = arguments.direction.direction();
            let parameters = BfsParameters { direction, ..BfsParameters::default() };
            let levels = bfs(topology, source, &parameters, control)?;
            let outcome = Outcome::Bfs {
                direction: arguments.direction.name(),
                source_vertex: source.0,
                reached: levels.reached(),
                depth: levels.depth(),
            };
            (Answer::Bfs(levels), outcome)
        }
        Algorithm::Wcc(_) => {
            let components = wcc(topology, &WccParameters::default(), control)?;
            let outcome = Outcome::Wcc { components: components.components() };
            (Answer::Wcc(components), outcome)
        }
        Algorithm::Sssp(arguments) => {
            let source = find(&arguments.source, view, keys)?;
            let direction = arguments.direction.direction();
            let parameters = SsspParameters { direction, delta: arguments.delta };
            let paths = sssp(topology, source, &parameters, control)?;
            let outcome = Outcome::Sssp {
                direction: arguments.direction.name(),
                source_vertex: source.0,
                // Out of scope the distance is infinite too.
                reached: paths.distances.iter().filter(|distance| distance.is_finite()).count() as u64,
                weight: arguments.weight.clone(),
                delta: paths.delta,
            };
            (Answer::Sssp(paths), outcome)
        }
    })
}

fn find(source: &SourceArguments, view: &impl GraphView, keys: &Keys) -> Result<VertexId> {
    match (&source.source, source.source_vertex) {
        (Some(key), _) => keys.find(view, key),
        (None, Some(vertex)) => Ok(VertexId(vertex)),
        (None, None) => Err(Error::invalid("--source or --source-vertex is wanted")),
    }
}
