//! Log processors: what the log's servers take of the processors while clients of a cluster commit: the one that leads, and each of
//! those that follow, on clusters of 1, 2 and 4 nodes with the same clients.
//!
//! ```text
//! clients ── one edge each ──> nodes ── messages ──> leader ──> followers
//!                                                      └── processor time, before and after: of 1,000 commits, of a core
//! ```
//!
//! A message has what its node packs into it: more nodes send more of them for as many commits, so the leader does more.
//!
//! Source: G-Tran (PVLDB 15, 2022), section 6.1, where one server coordinates all transactions. Here nodes coordinate, and one server
//! orders their messages.

use crate::plan::Work;
use crate::results::Heading;
use crate::workload::cluster::running::log_servers::LogServers;
use crate::workload::cluster::running::node_process::ProcessCluster;
use crate::workload::cluster::running::streams::StreamKind;
use crate::workload::cluster::start_processes;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::figure::Unit;
use std::time::{Duration, Instant};

/// Runs in which another server came to lead are measured again, so often at most.
const ATTEMPTS_MAX: usize = 3;
/// Commits of a unit.
const COMMITS: f64 = 1_000.0;

/// What one run comes to.
struct ServerRun {
    commits_per_second: f64,
    messages_per_second: f64,
    /// Of the server that leads.
    leader: ProcessorUse,
    /// Of one that follows, on average.
    follower: ProcessorUse,
}

/// Processor time of a server.
#[derive(Clone, Copy)]
struct ProcessorUse {
    /// In seconds, of 1,000 commits.
    of_commits: f64,
    /// As a part of the time of a core.
    of_core: f64,
}

/// Measures each size of a cluster that the plan has.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>, servers: &LogServers) -> Result<()> {
    let plan = work.plan.cluster.clone();
    for nodes in plan.nodes.iter().map(|nodes| usize::from(*nodes)) {
        let folder = work.folder_for("log-cpu")?;
        let mut cluster = start_processes(work, servers, folder.path(), nodes)?;
        // Connections, names and rows come with it.
        commit(&mut cluster, plan.load_clients, nodes, plan.run_time / 2)?;
        let runs = (0..work.plan.rounds)
            .map(|_| one_run(&mut cluster, servers, (plan.load_clients, nodes), plan.run_time));
        let runs = runs.collect::<Result<Vec<_>>>()?;
        add(work, servers, nodes, &runs);
        cluster.check()?;
    }
    work.note(format!(
        "log-cpu, on {}: {} clients, shared out to the nodes, {:?} a run; processor time is that of {}, as the system counts it, in \
         hundredths of a second: the one that leads, and one that follows, on average; with what it takes to answer all nodes that read",
        servers.engine().name(),
        plan.load_clients,
        plan.run_time,
        servers.description()
    ));
    Ok(())
}

/// Commits of clients that are shared out to the nodes.
fn commit(cluster: &mut ProcessCluster, clients: usize, nodes: usize, time: Duration) -> Result<usize> {
    let of_node = |node: usize| clients / nodes + usize::from(node < clients % nodes);
    let reports = cluster.run(&[StreamKind::Edges], of_node, time, || Ok(()))?;
    match reports.iter().map(|report| report.done()).sum() {
        0 => Err(Error::new(ErrorKind::Io, format!("{clients} clients committed nothing in {time:?}"))),
        done => Ok(done),
    }
}

fn one_run(
    cluster: &mut ProcessCluster,
    servers: &LogServers,
    (clients, nodes): (usize, usize),
    time: Duration,
) -> Result<ServerRun> {
    let key = cluster.log_key().to_owned();
    for _ in 0..ATTEMPTS_MAX {
        let (leader, states) = (servers.leader(&key)?, cluster.states()?);
        let (before, began) = (servers.processor_seconds(), Instant::now());
        let commits = commit(cluster, clients, nodes, time)? as f64;
        let (after, seconds) = (servers.processor_seconds(), began.elapsed().as_secs_f64());
        if servers.leader(&key)? != leader {
            continue;
        }
        let messages: u64 = cluster
            .states()?
            .iter()
            .zip(&states)
            .map(|(after, before)| after.messages - before.messages)
            .sum();
        let spent: Vec<f64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
        let of =
            |spent: f64| ProcessorUse { of_commits: spent / commits * COMMITS, of_core: spent / seconds };
        let others: f64 = spent.iter().sum::<f64>() - spent[leader];
        return Ok(ServerRun {
            commits_per_second: commits / seconds,
            messages_per_second: messages as f64 / seconds,
            leader: of(spent[leader]),
            follower: of(others / (spent.len() - 1).max(1) as f64),
        });
    }
    let text = format!(
        "another server came to lead the log in each of {ATTEMPTS_MAX} runs: leave the machine alone"
    );
    Err(Error::new(ErrorKind::Io, text))
}

fn add(work: &mut Work<'_>, servers: &LogServers, nodes: usize, runs: &[ServerRun]) {
    let words = format!("{nodes} {}", if nodes == 1 { "node" } else { "nodes" });
    let messages = runs.iter().map(|run| run.messages_per_second).sum::<f64>() / runs.len().max(1) as f64;
    let heading = |name: &str, title: &str, unit| {
        let figure = servers.figure(&format!("log_cpu.{name}.nodes_{nodes}"));
        Heading::new(figure, servers.title(&format!("{words}: {title}")), unit)
            .with("messages a second", messages.round())
    };
    let mut add = |name: &str, title: &str, unit, figure: fn(&ServerRun) -> f64| {
        let values: Vec<f64> = runs.iter().map(figure).collect();
        work.add(&heading(name, title, unit), &values);
    };
    add("rate", "transactions of one edge", Unit::PerSecond, |run| run.commits_per_second);
    add("leader", "processor time of the log's leader, of 1,000 commits", Unit::Seconds, |run| {
        run.leader.of_commits
    });
    add("leader.share", "the same, as a part of a core", Unit::Share, |run| run.leader.of_core);
    add("follower", "processor time of one that follows, of 1,000 commits", Unit::Seconds, |run| {
        run.follower.of_commits
    });
    add("follower.share", "the same, as a part of a core", Unit::Share, |run| run.follower.of_core);
}
