//! Log: transactions of one edge on a cluster whose nodes are processes, beside what its log takes for the same messages, and beside
//! a single store that syncs; a node that starts again beside a cluster that commits.
//!
//! ```text
//! clients of all nodes ── one edge each ──> rate, commit, whole        messages: so many a second, of so many bytes
//!                                                                         v
//! clients of the log alone ── as many, as large ──> append                the same servers, with the cluster idle
//!
//! kill -9 ── a cluster without the node commits ── the node starts, and applies what it has missed
//! ```

use crate::goals::baseline;
use crate::plan::Work;
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::cluster::running::log_servers::LogServers;
use crate::workload::cluster::running::node_process::ProcessCluster;
use crate::workload::cluster::running::node_service::NodeRequest;
use crate::workload::cluster::running::own_append::{self, AppendLoad};
use crate::workload::cluster::running::streams::{self, StreamKind, StreamPlan, StreamReport, quantile};
use crate::workload::cluster::start_processes;
use evergraph::{Database, Durability, Options, VertexId};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::figure::Unit;
use std::time::{Duration, Instant};

const OURS: &str = "evergraph";
/// Clients of the run before those that are measured, in which each group of vertices gets its first edge.
const WARM_UP_CLIENTS: usize = 8;
/// The node that is killed and starts again.
const KILLED: usize = 2;
/// Numbers of pairs on the single store that a run may use.
const STORE_PAIRS: u64 = 1 << 20;

/// The single store beside the cluster.
struct OneStore {
    database: Database,
    vertices: Vec<VertexId>,
    runs: u64,
}

/// What one run with some clients comes to.
struct LogRun {
    rate: f64,
    commit: f64,
    p50: f64,
    p99: f64,
    append: f64,
    store_rate: f64,
    store_p50: f64,
    store_p99: f64,
    message_bytes: f64,
    messages_per_second: f64,
}

/// Measures each number of clients, then a restart.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>, servers: &LogServers) -> Result<()> {
    let (folder, store_folder) = (work.folder_for("log-nodes")?, work.folder_for("log-store")?);
    let plan = work.plan.cluster.clone();
    let nodes = plan.running_nodes;
    let mut cluster = start_processes(work, servers, folder.path(), work.plan.cluster.running_nodes)?;
    let mut store = OneStore::open(store_folder.path(), plan.vertices)?;
    let time = plan.run_time;
    run(&mut cluster, WARM_UP_CLIENTS, nodes, time)?;
    store.run(WARM_UP_CLIENTS, time)?;
    let mut all: Vec<Vec<LogRun>> = plan.clients.iter().map(|_| Vec::new()).collect();
    for round in 0..work.plan.rounds {
        for place in order(round, plan.clients.len()) {
            let clients = plan.clients[place];
            all[place].push(one_run(&mut cluster, &mut store, servers, (clients, nodes), time)?);
        }
    }
    for (clients, runs) in plan.clients.iter().zip(&all) {
        add(work, servers, *clients, runs);
    }
    let [memory, files] = servers.bytes();
    work.note(format!(
        "log: {nodes} nodes and {}, all processes of this machine and on one disk; clients are threads of the nodes, shared out \
         evenly; {time:?} a run; behind all runs {} had {} MiB of memory and {} MiB of files in all",
        servers.description(),
        servers.engine().name(),
        memory >> 20,
        files >> 20
    ));
    restarts(work, servers, &mut cluster, nodes)?;
    cluster.check()
}

/// Runs clients that each put one edge, shared out to the nodes.
fn run(cluster: &mut ProcessCluster, clients: usize, nodes: usize, time: Duration) -> Result<StreamReport> {
    let of_node = |node: usize| clients / nodes + usize::from(node < clients % nodes);
    let reports = cluster.run(&[StreamKind::Edges], of_node, time, || Ok(()))?;
    let report = reports.into_iter().next().unwrap_or_default();
    if report.done() == 0 {
        let text = format!("{clients} clients committed nothing in {time:?}");
        return Err(Error::new(ErrorKind::Io, text));
    }
    Ok(report)
}

fn one_run(
    cluster: &mut ProcessCluster,
    store: &mut OneStore,
    servers: &LogServers,
    (clients, nodes): (usize, usize),
    time: Duration,
) -> Result<LogRun> {
    let before = cluster.states()?;
    let began = Instant::now();
    let report = run(cluster, clients, nodes, time)?;
    let seconds = began.elapsed().as_secs_f64();
    let after = cluster.states()?;
    let sent = before
        .iter()
        .zip(&after)
        .map(|(before, after)| (after.messages - before.messages, after.bytes - before.bytes));
    let sent: Vec<(u64, u64)> = sent.filter(|(messages, _)| *messages > 0).collect();
    let loads: Vec<AppendLoad> = sent
        .iter()
        .map(|(messages, bytes)| AppendLoad {
            bytes: (bytes / messages) as usize,
            rate: *messages as f64 / seconds,
        })
        .collect();
    let appends = own_append::measure(servers, &loads, time / 2)?;
    let of_store = store.run(clients, time / 2)?;
    let messages = sent.iter().map(|(messages, _)| *messages as f64).sum::<f64>().max(1.0);
    let bytes = sent.iter().map(|(_, bytes)| *bytes as f64).sum::<f64>();
    Ok(LogRun {
        rate: report.done() as f64 / time.as_secs_f64(),
        commit: quantile(&report.commits_us, 0.5),
        p50: quantile(&report.times_us, 0.5),
        p99: quantile(&report.times_us, 0.99),
        append: median(appends),
        store_rate: of_store.done() as f64 / (time / 2).as_secs_f64(),
        store_p50: quantile(&of_store.times_us, 0.5),
        store_p99: quantile(&of_store.times_us, 0.99),
        message_bytes: bytes / messages,
        messages_per_second: messages / seconds,
    })
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn add(work: &mut Work<'_>, servers: &LogServers, clients: usize, runs: &[LogRun]) {
    let who = if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") };
    let of = |figure: fn(&LogRun) -> f64| {
        let values: Vec<f64> = runs.iter().map(figure).collect();
        values.iter().sum::<f64>() / values.len().max(1) as f64
    };
    let (bytes, messages) = (of(|run| run.message_bytes), of(|run| run.messages_per_second));
    let heading = |name: &str, title: &str, unit| {
        let figure = servers.figure(&format!("log.{name}.clients_{clients}"));
        Heading::new(figure, servers.title(&format!("{title}, {who}")), unit)
            .with("bytes of a message", bytes.round())
            .with("messages a second", messages.round())
    };
    let mut add_pair = |heading: &Heading, peer: &'static str, pair: fn(&LogRun) -> [f64; 2]| {
        let mut race = Race::new([OURS, peer]);
        runs.iter().for_each(|run| race.note(&pair(run)));
        work.add_race(heading, &race);
    };
    let title = "transactions of one edge";
    let rate = heading("rate", title, Unit::PerSecond);
    add_pair(&rate, baseline::ONE_STORE, |run| [run.rate, run.store_rate]);
    let p50 = heading("p50", "a transaction of one edge, P50", Unit::Seconds);
    add_pair(&p50, baseline::ONE_STORE, |run| [run.p50, run.store_p50]);
    let p99 = heading("p99", "a transaction of one edge, P99", Unit::Seconds);
    add_pair(&p99, baseline::ONE_STORE, |run| [run.p99, run.store_p99]);
    let commit = heading("commit", "its commit alone, P50", Unit::Seconds);
    add_pair(&commit, baseline::APPEND, |run| [run.commit, run.append]);
    let beyond: Vec<f64> = runs.iter().map(|run| run.commit - run.append).collect();
    let title = "its commit beyond an append of as many and as large messages, P50 each";
    work.add(&heading("beyond_append", title, Unit::Seconds), &beyond);
}

/// A node that was killed applies what the others committed meanwhile, once beside nothing that it has missed.
fn restarts(
    work: &mut Work<'_>,
    servers: &LogServers,
    cluster: &mut ProcessCluster,
    nodes: usize,
) -> Result<()> {
    let plan = work.plan.cluster.clone();
    let clients = plan.clients.iter().copied().max().unwrap_or(1);
    let (mut rates, mut whole) = (Race::new([OURS, baseline::WRITING]), Race::new([OURS, baseline::WITHOUT]));
    for _ in 0..work.plan.rounds {
        cluster.node(KILLED)?.ask::<()>(&NodeRequest::Checkpoint)?;
        cluster.take(KILLED)?.kill()?;
        let end = position(cluster)?;
        let nothing = cluster.start_again(KILLED, end)?;
        cluster.node(KILLED)?.ask::<()>(&NodeRequest::Checkpoint)?;
        cluster.take(KILLED)?.kill()?;
        let before = cluster.states()?;
        let began = Instant::now();
        run(cluster, clients, nodes - 1, plan.run_time * 2)?;
        let seconds = began.elapsed().as_secs_f64();
        let after = cluster.states()?;
        let committed = before.iter().zip(&after).map(|(before, after)| after.committed - before.committed);
        let committed = committed.max().unwrap_or(0) as f64;
        let end = position(cluster)?;
        let caught_up = cluster.start_again(KILLED, end)?;
        // What a start takes by itself is not applying; of few transactions nothing else may be left.
        let applying = (caught_up.seconds - nothing.seconds).max(caught_up.seconds / 10.0);
        rates.note(&[caught_up.committed as f64 / applying, committed / seconds]);
        whole.note(&[caught_up.seconds, nothing.seconds]);
    }
    let title =
        "transactions that a node which starts again applies, beside what the cluster committed meanwhile";
    let heading =
        |name: &str, title: &str, unit| Heading::new(servers.figure(name), servers.title(title), unit);
    work.add_race(&heading("log.restart.applied", title, Unit::PerSecond), &rates);
    let title =
        "from its start until all its partitions have everything, beside a start that has missed nothing";
    work.add_race(&heading("log.restart.whole", title, Unit::Seconds), &whole);
    work.note(format!(
        "restart, on {}: node {KILLED} is killed behind a checkpoint; {clients} clients at the other nodes; applied: what it has missed, \
         over the time of its start beyond that of a start which has missed nothing; the cluster is idle meanwhile",
        servers.engine().name()
    ));
    Ok(())
}

/// The newest message that a node has applied.
fn position(cluster: &mut ProcessCluster) -> Result<u64> {
    Ok(cluster.states()?.iter().map(|state| state.applied).max().unwrap_or(0))
}

impl OneStore {
    fn open(folder: &std::path::Path, vertices: u32) -> Result<Self> {
        let options = Options { durability: Durability::Sync, ..Options::default() };
        let database = Database::open_with(folder.join("evergraph"), &options)?;
        streams::create(&database, vertices)?;
        Ok(Self { vertices: streams::vertices(&database)?, database, runs: 0 })
    }

    fn run(&mut self, clients: usize, time: Duration) -> Result<StreamReport> {
        let first = self.runs * STORE_PAIRS;
        self.runs += 1;
        let plan =
            StreamPlan { clients: vec![(StreamKind::Edges, clients)], time, first, stride: clients as u64 };
        let reports = streams::run(&self.database, &self.vertices, &plan)?;
        Ok(reports.into_iter().next().unwrap_or_default())
    }
}
