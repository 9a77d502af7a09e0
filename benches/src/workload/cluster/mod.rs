//! Cluster: certification, a node that applies the log, and a single store beside both, in memory; then clusters that run, on etcd
//! or NATS.
//!
//! ```text
//! log_writer    messages as nodes append them, each decided as it is written
//! graph_writer  a graph in such a log: names, rows, vertices, then edges by transactions
//! certify       transactions a second that are decided: by the certifier alone, and as a node does it
//! node          the stores of one node's partitions, which apply a log
//! apply         transactions a second that a node applies; records and bytes that it keeps, beside its share
//! commits       transactions a second of a single store: a figure to compare over time
//!
//! running       servers of logs, nodes and clients
//! log           transactions of one edge, beside the log's own append; a restart
//! mix           reads and writes of the micro-benchmarks, with and without the check ahead of the append; refusals beside a single
//!               store's
//! hops          one to four hops, beside a single store; bytes and messages
//! edges_read    edges that the busiest node reads for three hops, beside its share of one node's
//! pre_read      how many refusals it would spare if transactions read what lies in the log and is not in their snapshot
//! sizes         keys that transactions of the micro-benchmarks check and touch, and their bytes
//! snb           LDBC's complex and short reads, with and without indexes, beside a single store
//! log_cpu       what the log's servers take of the processors, the one that leads and those that follow
//! loss          how long clients wait when a node is lost, or the server that leads the log
//! load          memory and files of the log's servers while clients commit for a long time
//! shape_writer  the graph of the micro-benchmarks, written by transactions
//! ```
//!
//! Of the first parts the log is a list of messages in memory: no network and no log engine is part of their figures.

mod apply;
mod certify;
mod commits;
mod edges_read;
mod graph_writer;
mod hops;
mod load;
mod log;
mod log_cpu;
mod log_writer;
mod loss;
mod mix;
mod node;
mod pre_read;
pub mod running;
mod shape_writer;
mod sizes;
mod snb;

use crate::cluster_plan::{ClusterPart, ClusterPlan, LogEngine};
use crate::edges::distinct;
use crate::engine::store::Edge;
use crate::plan::Work;
use crate::race::Race;
use crate::results::Heading;
use crate::workload::cluster::graph_writer::GraphWriter;
use crate::workload::cluster::running::log_servers::LogServers;
use crate::workload::cluster::running::node_process::ProcessCluster;
use crate::workload::cluster::running::site::SitePlan;
use clap::ValueEnum as _;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::partition::PartitionCount;
use std::path::Path;

/// Edges a vertex, before parallel ones go.
const DEGREE: u32 = 16;
/// Edges of a transaction that is not measured: its record, with all that it checks and touches, has room in a message.
const LOADED_EDGES: usize = 200;

/// The edges of the plan's graph.
struct Edges {
    /// Those that are there before anything is measured.
    loaded: Vec<Edge>,
    /// Those of the transactions that are measured.
    measured: Vec<Edge>,
}

impl Edges {
    fn of(work: &Work<'_>) -> Result<Self> {
        let mut loaded = distinct(work.plan, DEGREE)?;
        let measured = work.plan.cluster.transactions.min(loaded.len() / 2);
        let measured = loaded.split_off(loaded.len() - measured);
        Ok(Self { loaded, measured })
    }

    fn all(&self) -> impl Iterator<Item = &Edge> {
        self.loaded.iter().chain(&self.measured)
    }
}

/// Measures what is chosen.
///
/// # Errors
/// `corrupt` if a transaction is refused, or a store has other edges than were committed; what the stores say.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let parts = work.plan.cluster.parts.clone();
    if parts.iter().any(|part| !part.is_of_running()) {
        measure_in_memory(work, &parts)?;
    }
    for engine in LogEngine::value_variants() {
        let of_engine =
            |part: &ClusterPart| part.is_of_running() && work.plan.cluster.keeps_log(*engine, *part);
        let running: Vec<ClusterPart> = parts.iter().copied().filter(of_engine).collect();
        if !running.is_empty() {
            measure_running(work, *engine, &running)?;
        }
    }
    Ok(())
}

/// Those parts in which nodes run, with their log on `engine`.
fn measure_running(work: &mut Work<'_>, engine: LogEngine, parts: &[ClusterPart]) -> Result<()> {
    let folder = work.folder_for("log-servers")?;
    let mut servers = match LogServers::start(engine, folder.path())? {
        Ok(servers) => servers,
        Err(why) => {
            let names: Vec<String> = parts.iter().map(|part| part.name()).collect();
            let text = format!("left out: {} on {}: {why}", names.join(", "), engine.name());
            eprintln!("{text}");
            work.note(text);
            return Ok(());
        }
    };
    for part in parts {
        match part {
            ClusterPart::Log => log::measure(work, &servers)?,
            ClusterPart::Mix => mix::measure(work, &servers)?,
            ClusterPart::Hops => hops::measure(work, &servers)?,
            ClusterPart::Load => load::measure(work, &servers)?,
            ClusterPart::LogCpu => log_cpu::measure(work, &servers)?,
            ClusterPart::PreRead => pre_read::measure(work, &servers)?,
            ClusterPart::Sizes => sizes::measure(work, &servers)?,
            ClusterPart::Snb => snb::measure(work, &servers)?,
            _ => loss::measure(work, &mut servers)?,
        }
    }
    Ok(())
}

/// Those parts whose log is in memory.
fn measure_in_memory(work: &mut Work<'_>, parts: &[ClusterPart]) -> Result<()> {
    let edges = Edges::of(work)?;
    if parts.contains(&ClusterPart::Certify) || parts.contains(&ClusterPart::Apply) {
        let loaded = load(work, &edges)?;
        if parts.contains(&ClusterPart::Certify) {
            certify::measure(work, &loaded, &edges)?;
        }
        if parts.contains(&ClusterPart::Apply) {
            apply::measure(work, &loaded, &edges)?;
        }
    }
    if parts.contains(&ClusterPart::Commits) {
        commits::measure(work, &edges)?;
    }
    work.note(format!(
        "edges: R-MAT, each once, as they are drawn, {} measured behind {} that are there; a simple edge type, both \
         directions kept; vertices lie in the partition of their hash",
        edges.measured.len(),
        edges.loaded.len()
    ));
    Ok(())
}

/// How a cluster of so many nodes is made.
fn site_plan(plan: &ClusterPlan, nodes: usize) -> SitePlan {
    let ClusterPlan { partitions, copies, log_time_limit, .. } = *plan;
    SitePlan { nodes, partitions, copies, log_time_limit }
}

/// Starts a cluster of so many nodes in `folder`, each of which is a process.
fn start_processes(
    work: &Work<'_>,
    servers: &LogServers,
    folder: &Path,
    nodes: usize,
) -> Result<ProcessCluster> {
    let plan = &work.plan.cluster;
    let (folder, site) = (folder.join("cluster"), site_plan(plan, nodes));
    ProcessCluster::start(servers, &folder, site, plan.vertices)
}

/// A log with everything but the measured edges.
fn load(work: &Work<'_>, edges: &Edges) -> Result<GraphWriter> {
    let partitions = work.plan.cluster.partitions;
    let partitions = PartitionCount::new(partitions)
        .ok_or_else(|| Error::invalid(format!("no graph has {partitions} partitions")))?;
    let mut writer = GraphWriter::create(partitions, work.plan.vertices())?;
    for edges in edges.loaded.chunks(LOADED_EDGES) {
        writer.insert(edges, &[])?;
    }
    writer.send()?;
    Ok(writer)
}

/// A figure of ours beside another's; of ours alone where the other is zero and has no ratio.
fn add_values(work: &mut Work<'_>, heading: &Heading, peer: &'static str, values: &[[f64; 2]]) {
    if values.iter().all(|[_, theirs]| *theirs > 0.0) {
        let mut race = Race::new(["evergraph", peer]);
        values.iter().for_each(|values| race.note(values));
        work.add_race(heading, &race);
    } else {
        let ours: Vec<f64> = values.iter().map(|[ours, _]| *ours).collect();
        let theirs = values.iter().map(|[_, theirs]| *theirs).fold(0.0, f64::max);
        let at_most = format!("{} at most", heading.unit.show(theirs));
        work.add(&heading.clone().with(peer, at_most), &ours);
    }
}
