//! The harness behind `make bench`: Evergraph beside other engines, on the same edges, in turn.
//!
//! ```text
//! plan           how much is measured                    engine/    what each store can do, and how it is set up
//! disk_plan      the same of the disk engine's parts     process    memory and bytes read, as the system counts
//! ablation_plan  the same of its ablations               workload/  what is measured, a file a part
//! server_plan    the same of a server                    goals      what should be reached, in one table
//! replica_plan   the same of a replica
//! mapped_plan    the same of raw edges in mapped files
//! edges          which edges, in which order             results    results.json
//! graph_file     edges of files in place of R-MAT        table, plot   the same for people
//! shuffle        a random order of edges                 folder     made, copied
//! race           who runs when; ratios
//! stopwatch      wall and CPU time of a run
//! processors     which of them threads and processes may run on
//! memory_group   a process and its page cache within a limit
//! line_process   this program anew, asked by lines
//! ```
//!
//! Every answer of an engine is compared with what it should be, and a wrong one ends the run.

mod ablation_plan;
mod cluster_plan;
mod disk_plan;
mod edges;
mod engine;
#[path = "../../tests/src/etcd.rs"]
#[allow(dead_code, reason = "tests use more of it")]
mod etcd;
mod folder;
#[path = "../../tests/src/free_ports.rs"]
mod free_ports;
mod goals;
mod graph_file;
#[path = "../../tests/src/guarded_process.rs"]
mod guarded_process;
mod line_process;
mod mapped_plan;
mod memory_group;
#[path = "../../tests/src/nats.rs"]
mod nats;
mod plan;
mod plot;
mod process;
mod processors;
mod race;
mod replica_plan;
mod results;
mod server_plan;
mod shuffle;
mod stopwatch;
mod table;
mod workload;

use crate::cluster_plan::ClusterArguments;
use crate::disk_plan::DiskArguments;
use crate::engine::kind::Kind;
use crate::graph_file::{FileGraph, GraphPath, Growth};
use crate::mapped_plan::MappedArguments;
use crate::plan::{Part, Plan, Work};
use crate::replica_plan::ReplicaArguments;
use crate::results::Results;
use crate::server_plan::ServerArguments;
use crate::workload::{cluster, mapped, parts};
use clap::{Parser, ValueEnum};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::machine::Machine;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Measures Evergraph beside other engines.
#[derive(Parser)]
struct Arguments {
    /// Graphs have 2^SCALE vertices; that of kernels on a static array has four times as many, beyond caches.
    #[arg(long, default_value_t = 18)]
    scale: u32,
    /// Runs of everything.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// These parts only.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
    /// A graph of files too, for the parts `reads`, `live`, `in-place`, `static`, `packed-lists` and `queries`: anything that `evergraph import` reads.
    #[arg(long = "graph", value_name = "NAME=PATH,PATH")]
    graphs: Vec<GraphPath>,
    /// Copies of a graph of files in a grid, joined to their neighbours, with at least 2^SCALE vertices: a small road
    /// network becomes a large one.
    #[arg(long, value_name = "NAME=SCALE", requires = "graphs")]
    grow: Vec<Growth>,
    /// Only the graphs of files, not R-MAT.
    #[arg(long, requires = "graphs")]
    files_only: bool,
    /// A small graph and short runs: whether everything works, not how fast.
    #[arg(long)]
    smoke: bool,
    /// LinkBench's Distribution.dat.gz; without it a power law stands in.
    #[arg(long)]
    linkbench: Option<PathBuf>,
    /// TinkerPop's grateful-dead.xml or .xml.gz, whose walks of eight steps the part `queries` counts.
    #[arg(long)]
    grateful_dead: Option<PathBuf>,
    /// A folder of LDBC's interactive workload, with `graph` and `substitution_parameters`, for the parts `interactive` and `lbv`, and for `snb` and `mixes` of the
    /// part `server`.
    #[arg(long)]
    interactive: Option<PathBuf>,
    /// Where results.json, results.md and the plots go; what is there of other parts stays.
    #[arg(long, default_value = "target/bench")]
    output: PathBuf,
    /// Where stores are made for the run, on the disk that is measured.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Measures nothing: makes table and plots of the results that are there.
    #[arg(long)]
    show: bool,
    /// Works for a harness that started this process, by what it says on standard input.
    #[arg(long, hide = true)]
    helper: bool,
    /// Reads this database for a harness that writes it, as it is told on standard input.
    #[arg(long, hide = true)]
    mapped_reader: Option<PathBuf>,
    /// Runs the node of a cluster for a harness, as it is told on standard input.
    #[arg(long, hide = true)]
    cluster_node: Option<PathBuf>,
    #[command(flatten)]
    disk: DiskArguments,
    #[command(flatten)]
    server: ServerArguments,
    #[command(flatten)]
    replica: ReplicaArguments,
    #[command(flatten)]
    mapped: MappedArguments,
    #[command(flatten)]
    cluster: ClusterArguments,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match (&arguments.mapped_reader, &arguments.cluster_node) {
        _ if arguments.helper => parts::help(),
        (Some(path), _) => mapped::engine::readers::serve(path),
        (None, Some(folder)) => cluster::running::node_service::serve(folder),
        (None, None) => run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    fs::create_dir_all(&arguments.output).map_err(|error| failed(&arguments.output, &error))?;
    let path = arguments.output.join("results.json");
    let mut results = if path.exists() { Results::read(&path)? } else { Results::default() };
    if !arguments.show {
        measure(arguments, &mut results, &path)?;
    }
    results.judge();
    results.write(&path)?;
    let text = table::markdown(&results);
    write(&arguments.output.join("results.md"), &text)?;
    for (name, svg) in plot::plots(&results) {
        write(&arguments.output.join(name), &svg)?;
    }
    println!("{text}");
    Ok(())
}

fn measure(arguments: &Arguments, results: &mut Results, path: &Path) -> Result<()> {
    let mut plan = if arguments.smoke { Plan::smoke() } else { Plan::full(arguments.scale) };
    if arguments.smoke {
        stopwatch::repeat_nothing();
    } else {
        plan.rounds = arguments.rounds.max(1);
    }
    arguments.disk.apply_to(&mut plan.disk);
    arguments.server.apply_to(&mut plan.server);
    arguments.replica.apply_to(&mut plan.replica);
    arguments.mapped.apply_to(&mut plan.mapped);
    arguments.cluster.apply_to(&mut plan.cluster);
    plan.distributions.clone_from(&arguments.linkbench);
    plan.disk.distributions.clone_from(&arguments.linkbench);
    plan.walks.clone_from(&arguments.grateful_dead);
    plan.interactive.clone_from(&arguments.interactive);
    plan.gapbs = env::var_os("GAPBS_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    if let Some(growth) =
        arguments.grow.iter().find(|growth| arguments.graphs.iter().all(|graph| graph.name != growth.name))
    {
        let text = format!("--grow {}={}: no --graph has this name", growth.name, growth.scale);
        return Err(Error::invalid(text));
    }
    describe(results, &plan);
    let all = Part::value_variants();
    let whole: Vec<Part> = all.iter().copied().filter(|part| !parts::is_apart(*part)).collect();
    let chosen = if arguments.only.is_empty() { &whole } else { &arguments.only };
    let mut runs: Vec<(Part, Plan)> = Vec::new();
    if !arguments.files_only {
        runs.extend(chosen.iter().map(|part| (*part, plan.clone())));
    }
    for graph in &arguments.graphs {
        let mut read = FileGraph::read(graph, plan.seed)?;
        if let Some(growth) = arguments.grow.iter().find(|growth| growth.name == graph.name) {
            read = read.grown(growth.scale, plan.seed)?;
        }
        let (vertices, edges) = (read.vertices, read.edges.len());
        results.plan.insert(format!("graph {}", graph.name), format!("{vertices} vertices, {edges} edges"));
        let plan = Plan { file_graph: Some(Arc::new(read)), ..plan.clone() };
        let parts = chosen.iter().filter(|part| parts::takes_file_graphs(**part));
        runs.extend(parts.map(|part| (*part, plan.clone())));
    }
    for (part, plan) in runs {
        let of_graph = plan.file_graph.as_ref().map(|graph| format!(", {}", graph.name));
        let section = parts::section(part).to_owned() + &of_graph.unwrap_or_default();
        results.entries.retain(|entry| entry.section != section);
        results.notes.remove(&section);
        // A folder for each part, so that what was measured leaves the disk.
        let parent = arguments.folder.as_ref().unwrap_or(&arguments.output);
        let folder = tempfile::Builder::new().prefix("stores-").tempdir_in(parent);
        let folder = folder.map_err(|error| failed(parent, &error))?;
        eprintln!("== {section}");
        parts::measure(part, &mut Work { plan: &plan, folder: folder.path(), results, section: &section })?;
        let load = Machine::now().load.map_or_else(|| "unknown".to_owned(), |load| load.to_string());
        results.machine.insert("load after".to_owned(), load);
        // After each part: what was measured is kept if a later one fails.
        results.write(path)?;
    }
    Ok(())
}

fn describe(results: &mut Results, plan: &Plan) {
    let machine = Machine::now();
    machine.warnings().iter().for_each(|warning| eprintln!("warning: {warning}"));
    let text = |text: &str| text.to_owned();
    results.machine = BTreeMap::from([
        (text("processor"), machine.processor.unwrap_or_else(|| text("unknown"))),
        (text("cores"), machine.cores.to_string()),
        (text("load before"), machine.load.map_or_else(|| text("unknown"), |load| load.to_string())),
        (text("evergraph"), text(machine.version)),
    ]);
    results.plan = BTreeMap::from([
        (text("graph"), format!("R-MAT, 2^{} vertices, 16 edges each before parallel edges go", plan.scale)),
        (text("graph of kernels"), format!("R-MAT, 2^{} vertices, 16 edges each", plan.kernels_scale)),
        (text("rounds"), plan.rounds.to_string()),
        (text("seed"), plan.seed.to_string()),
    ]);
    results.engines = Kind::UNSYNCED
        .iter()
        .map(|kind| {
            let settings = kind.settings().iter().map(|(name, value)| (text(name), text(value)));
            (text(kind.name()), settings.collect())
        })
        .collect();
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{}: {error}", path.display()))
}
