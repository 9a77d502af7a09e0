//! `evergraph-tinkerpop`: runs TinkerPop's scenarios, prints the sum, and holds it against what passed before.

use clap::Parser;
use evergraph::EngineKind;
use evergraph_tinkerpop::exceptions::{self, CLUSTER, CLUSTER_HEADING, FormRun, SERVER_HEADING};
use evergraph_tinkerpop::graphs::Graphs;
use evergraph_tinkerpop::outcome::Outcome;
use evergraph_tinkerpop::run::{Case, Ran};
use evergraph_tinkerpop::target::{RequestForm, Target};
use evergraph_tinkerpop::{jar, ratchet, report, run};
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Runs the scenarios that TinkerPop tests its own graphs with, says how many pass, and fails if one doesn't that did.
///
/// A run of all of them writes docs/gremlin.md.
#[derive(Parser)]
struct Arguments {
    /// Only scenarios whose name contains this, or that have this tag or file (map/AddEdge).
    #[arg(long)]
    only: Option<String>,
    /// Batches of this many rows alone; else of 1, 3 and 1,024, which may make no difference.
    #[arg(long)]
    batch_rows: Option<usize>,
    /// Prints each scenario that fails, and why.
    #[arg(long)]
    failed: bool,
    /// Prints each scenario and what became of it.
    #[arg(long)]
    verbose: bool,
    /// Prints why scenarios don't pass, the most frequent reasons first.
    #[arg(long)]
    reasons: bool,
    /// Makes what passes now the floor.
    #[arg(long)]
    accept: bool,
    /// Runs them on a server, in each form that drivers send requests in, and says last how many pass in all forms.
    #[arg(long, conflicts_with = "batch_rows")]
    server: bool,
    /// Runs them on clusters of three nodes in this process.
    #[arg(long, conflicts_with_all = ["server", "engine"])]
    cluster: bool,
    /// Storage engine of all databases: memory, disk or mapped.
    #[arg(long, default_value = "memory")]
    engine: EngineKind,
    /// Scenarios at once; as many as there are processors if not said.
    #[arg(long)]
    threads: Option<usize>,
}

/// The floor of what passes embedded, and what of it need not pass on a server, or on a cluster.
const PASSED: &str = "passed.txt";
const SERVER_EXCEPTIONS: &str = "server_exceptions.txt";
const CLUSTER_EXCEPTIONS: &str = "cluster_exceptions.txt";

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let worked = jar::or_skip().and_then(|jar| jar.map_or(Ok(true), |jar| work(&jar, &arguments)));
    match worked {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn is_asked(case: &Case, only: &str) -> bool {
    let tag = only.trim_start_matches('@');
    case.name.contains(only) || case.file == only || case.scenario.tags.iter().any(|own| own == tag)
}

fn work(jar: &Path, arguments: &Arguments) -> Result<bool, String> {
    let mut cases = run::cases(jar)?;
    if let Some(only) = &arguments.only {
        cases.retain(|case| is_asked(case, only));
    }
    let engine = if arguments.cluster { EngineKind::Cluster } else { arguments.engine };
    let graphs = Arc::new(Graphs::read(jar, engine)?);
    let threads = arguments.threads.or_else(|| std::thread::available_parallelism().ok().map(usize::from));
    let threads = threads.unwrap_or(1);
    if arguments.server {
        return work_on_server(&cases, &graphs, threads, arguments);
    }
    let batch_rows = arguments.batch_rows.map_or(vec![1, 3, 1024], |rows| vec![rows]);
    let targets: Vec<Target> =
        batch_rows.into_iter().map(|batch_rows| Target::Embedded { batch_rows }).collect();
    if arguments.cluster {
        let runs = [run_form(CLUSTER, &cases, &graphs, (&targets, threads), arguments)];
        return is_kept_elsewhere(&runs, CLUSTER_EXCEPTIONS, CLUSTER_HEADING, arguments);
    }
    let ran = run::run(&cases, &graphs, &targets, threads);
    for ran in &ran {
        print(ran, arguments);
    }
    if arguments.reasons {
        print!("{}", report::reasons(&ran));
    }
    println!("{}", report::sum(&ran));
    let is_whole =
        arguments.only.is_none() && arguments.batch_rows.is_none() && arguments.engine == EngineKind::Memory;
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let floor = here.join(PASSED);
    if is_whole {
        let (server, cluster) = (read(&here.join(SERVER_EXCEPTIONS))?, read(&here.join(CLUSTER_EXCEPTIONS))?);
        write(&here.join("../../docs/gremlin.md"), &report::page(&ran, &server, &cluster))?;
    }
    if arguments.accept {
        if !is_whole {
            return Err("--accept needs all scenarios, all sizes of batches and the memory engine".to_owned());
        }
        write(&floor, &ratchet::text(&ran))?;
        return Ok(true);
    }
    let lost = ratchet::lost(&read(&floor)?, &ran, arguments.only.is_none());
    for line in &lost {
        eprintln!("passed before: {line}");
    }
    Ok(lost.is_empty())
}

/// Runs `cases` on servers, in each form of requests.
fn work_on_server(
    cases: &[Case],
    graphs: &Arc<Graphs>,
    threads: usize,
    arguments: &Arguments,
) -> Result<bool, String> {
    let run = |form: &RequestForm| {
        let targets = [Target::Server(*form)];
        run_form(form.name(), cases, graphs, (&targets, threads), arguments)
    };
    let runs: Vec<FormRun> = RequestForm::ALL.iter().map(run).collect();
    is_kept_elsewhere(&runs, SERVER_EXCEPTIONS, SERVER_HEADING, arguments)
}

/// Runs `cases` elsewhere, and prints what became of them.
fn run_form(
    form: &'static str,
    cases: &[Case],
    graphs: &Arc<Graphs>,
    (targets, threads): (&[Target], usize),
    arguments: &Arguments,
) -> FormRun {
    let ran = run::run(cases, graphs, targets, threads);
    println!("{form}:");
    for ran in &ran {
        print(ran, arguments);
    }
    if arguments.reasons {
        print!("{}", report::reasons(&ran));
    }
    println!("{}", report::sum(&ran));
    FormRun { form, ran }
}

/// Whether what passes embedded passed in `runs`, but for the exceptions in a file.
fn is_kept_elsewhere(
    runs: &[FormRun],
    file: &str,
    heading: &str,
    arguments: &Arguments,
) -> Result<bool, String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (passed, floor) = (read(&here.join(PASSED))?, here.join(file));
    let is_kept = if arguments.accept {
        if arguments.only.is_some()
            || arguments.batch_rows.is_some()
            || arguments.engine != EngineKind::Memory
        {
            return Err("--accept needs all scenarios, all sizes of batches and the memory engine".to_owned());
        }
        write(&floor, &exceptions::text(heading, &passed, runs))?;
        true
    } else {
        let floor = read(&floor)?;
        let lost = exceptions::lost(&passed, &floor, runs);
        lost.iter().for_each(|line| eprintln!("passes embedded: {line}"));
        let stale = match arguments.only {
            None => exceptions::stale(&passed, &floor, runs),
            Some(_) => Vec::new(),
        };
        stale.iter().for_each(|line| eprintln!("passes, and need be no exception any more: {line}"));
        lost.is_empty() && stale.is_empty()
    };
    println!("{} passed", exceptions::passed_in_all(runs));
    Ok(is_kept)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn print(ran: &Ran, arguments: &Arguments) {
    let name = &ran.case.name;
    match &ran.outcome {
        Outcome::Failed(why) if arguments.failed || arguments.verbose => {
            println!("failed           {name}: {why}")
        }
        Outcome::NotImplemented(what) if arguments.verbose => println!("not implemented  {name}: {what}"),
        other if arguments.verbose => println!("{:16} {name}", other.kind()),
        _ => {}
    }
}
