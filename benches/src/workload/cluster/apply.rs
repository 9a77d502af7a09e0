//! Apply: transactions of one edge a second that one node takes from the log into the stores of its partitions; what it keeps
//! beside its share of a single store.
//!
//! Of each cluster the node runs that keeps most. A transaction is read, decided and installed where a side of its edge lies;
//! a single store commits the same edges instead.

use crate::edges::Contents;
use crate::engine::store::{Edge, Store as _};
use crate::goals::baseline;
use crate::plan::{Work, expect};
use crate::race::{Race, Sample, order};
use crate::results::Heading;
use crate::stopwatch::{Spent, Stopwatch};
use crate::workload::cluster::graph_writer::GraphWriter;
use crate::workload::cluster::log_writer::{Messages, first_state};
use crate::workload::cluster::node::{KeptBytes, Node};
use crate::workload::cluster::{Edges, commits};
use evergraph::Isolation;
use evergraph_cluster::node::replicated_state::ReplicatedState;
use evergraph_cluster::record_id::NodeId;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, PartitionId};
use evergraph_measure::figure::Unit;
use std::collections::BTreeSet;

const OURS: &str = "evergraph";

/// A node of a cluster, and what it keeps.
struct Share {
    nodes: u16,
    /// Copies of each partition.
    copies: usize,
    kept: BTreeSet<PartitionId>,
    /// Vertices and sides of edges that it installs.
    records: u64,
}

/// One run, of a node or of the single store.
#[derive(Clone, Copy, Default)]
struct StoreRun {
    spent: Spent,
    bytes: KeptBytes,
    /// Of a node.
    state_bytes: usize,
}

impl Share {
    /// The node that keeps most, in a cluster of so many.
    fn of(state: &ReplicatedState, (nodes, copies): (u16, usize), records: &[u64]) -> Self {
        let placement = state.tables().placement();
        let kept_by = |node| -> BTreeSet<PartitionId> {
            placement.kept_by(NodeId(node)).map(|(partition, _)| partition).collect()
        };
        let records_of = |kept: &BTreeSet<PartitionId>| {
            kept.iter().map(|partition| records[usize::from(partition.0)]).sum::<u64>()
        };
        let kept = (0..nodes).map(kept_by).max_by_key(records_of).unwrap_or_default();
        Self { nodes, copies: copies.min(usize::from(nodes)), records: records_of(&kept), kept }
    }

    /// R / N of a whole.
    fn part_of(&self, whole: f64) -> f64 {
        whole * self.copies as f64 / f64::from(self.nodes)
    }
}

/// Measures each size of a cluster beside a single store.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>, loaded: &GraphWriter, edges: &Edges) -> Result<()> {
    let mut writer = loaded.fork();
    for edge in &edges.measured {
        writer.insert(&[*edge], &[])?;
    }
    writer.send()?;
    let (partitions, copies) = (loaded.partitions(), work.plan.cluster.copies);
    let records = records(loaded, edges);
    let start = |nodes| first_state(partitions, nodes, copies);
    let sizes = work.plan.cluster.nodes.iter();
    let shares: Vec<_> = sizes.map(|nodes| Share::of(&start(*nodes), (*nodes, copies), &records)).collect();
    // By round: each share, then the single store.
    let mut rounds = Vec::new();
    for round in 0..work.plan.rounds {
        let mut runs = vec![StoreRun::default(); shares.len() + 1];
        for place in order(round, runs.len()) {
            runs[place] = match shares.get(place) {
                Some(share) => run_node(
                    work,
                    start(share.nodes),
                    share,
                    [loaded.messages(), writer.messages()],
                    (&writer, edges),
                )?,
                None => run_store(work, edges)?,
            };
        }
        rounds.push(runs);
    }
    let count = edges.measured.len() as f64;
    for (place, share) in shares.iter().enumerate() {
        let pairs: Vec<_> = rounds.iter().map(|runs| [runs[place], runs[shares.len()]]).collect();
        add_times(work, share, count, &pairs);
        if share.nodes > 1 {
            add_kept(work, share, records.iter().sum(), &pairs);
        }
    }
    if !shares.is_empty() {
        let bytes: Vec<_> = rounds.iter().map(|runs| runs[0].state_bytes as f64).collect();
        let title = "bytes of what follows from the log beside the graph, in a checkpoint of any node";
        work.add(&Heading::new("cluster.state.bytes", title, Unit::Bytes), &bytes);
    }
    work.note(format!(
        "apply: {} partitions, {copies} copies each where there are as many nodes; the log is in memory; one thread, which \
         merges, too; the single store has threads that merge",
        partitions.get()
    ));
    work.note("its share: R/N of what a single store with the same edges has");
    Ok(())
}

/// Vertices and sides of edges, by partition.
fn records(graph: &GraphWriter, edges: &Edges) -> Vec<u64> {
    let mut records = vec![0; usize::from(graph.partitions().get())];
    let ends = edges.all().flat_map(|(source, target)| [*source, *target]).map(|end| graph.vertex(end));
    for vertex in graph.vertices().iter().copied().chain(ends) {
        records[usize::from(graph.partition_of(vertex).0)] += 1;
    }
    records
}

/// Runs a node from the first message on; the second ones are measured.
fn run_node(
    work: &Work<'_>,
    state: ReplicatedState,
    share: &Share,
    [before, measured]: [&Messages; 2],
    (graph, edges): (&GraphWriter, &Edges),
) -> Result<StoreRun> {
    let folder = work.folder_for("node")?;
    let mut node = Node::create(folder.path(), state, &Vec::from_iter(share.kept.iter().copied()))?;
    node.apply(before)?;
    let watch = Stopwatch::start();
    node.apply(measured)?;
    let spent = watch.stop();
    let is_kept = |end| share.kept.contains(&graph.partition_of(graph.vertex(end)));
    for (side, what) in
        [(Direction::Out, "out-edges of its partitions"), (Direction::In, "in-edges of its partitions")]
    {
        let own = |(source, target): &&Edge| is_kept(if side == Direction::Out { *source } else { *target });
        let ids = |(source, target): &Edge| (graph.vertex(*source).0, graph.vertex(*target).0);
        let expected: Vec<Edge> = edges.all().filter(own).map(ids).collect();
        expect(OURS, what, Contents::of(&node.edges(graph, side)?), Contents::of(&expected))?;
    }
    let state_bytes = node.state_bytes();
    let mut bytes = node.close()?;
    bytes.add_files(folder.path())?;
    Ok(StoreRun { spent, bytes, state_bytes })
}

/// Commits the same edges on a single store.
fn run_store(work: &Work<'_>, edges: &Edges) -> Result<StoreRun> {
    let folder = work.folder_for("store")?;
    let store = commits::load(work, folder.path(), edges)?;
    let spent = commits::commit(&store, &edges.measured, Isolation::Snapshot)?;
    Contents::of(edges.all()).check(OURS, &store)?;
    let mut bytes = KeptBytes::default();
    store.database().checkpoint()?;
    bytes.add_memory(&store.database().store().statistics().engine);
    Box::new(store).close()?;
    bytes.add_files(folder.path())?;
    Ok(StoreRun { spent, bytes, state_bytes: 0 })
}

fn add_times(work: &mut Work<'_>, share: &Share, count: f64, pairs: &[[StoreRun; 2]]) {
    let mut races = [(); 2].map(|()| Race::new([OURS, baseline::ONE_STORE]));
    for pair in pairs {
        let rates = pair.map(|run| Sample::timed(count / run.spent.wall, run.spent));
        races[0].note_samples(&rates, 0);
        races[1].note(&pair.map(|run| run.spent.cpu.max(1e-9) / count));
    }
    let Share { nodes, copies, .. } = share;
    let what = format!("{}, {}", counted(usize::from(*nodes), "node"), counted(*copies, "copy"));
    let name = format!("cluster.apply.nodes_{nodes}");
    let heading = |name: String, title: String, unit| {
        Heading::new(name, title, unit).with("partitions kept", share.kept.len())
    };
    let title = format!("transactions of one edge applied by one of {what}");
    work.add_race(&heading(name.clone(), title, Unit::PerSecond), &races[0]);
    let title = format!("processor time of a transaction, applied by one of {what}");
    work.add_race(&heading(name + ".cpu", title, Unit::Seconds), &races[1]);
}

/// `records`: those of the whole graph.
fn add_kept(work: &mut Work<'_>, share: &Share, records: u64, pairs: &[[StoreRun; 2]]) {
    let beside_share = |figure: &dyn Fn(&StoreRun) -> u64| {
        let mut race = Race::new([OURS, baseline::SHARE]);
        for [node, store] in pairs {
            race.note(&[figure(node) as f64, share.part_of(figure(store) as f64).max(1.0)]);
        }
        race
    };
    let mut installed = Race::new([OURS, baseline::SHARE]);
    installed.note(&[share.records as f64, share.part_of(records as f64)]);
    let nodes = share.nodes;
    for (name, title, unit, race) in [
        ("records", "vertices and sides of edges installed", Unit::Number, installed),
        ("bytes", "bytes of files, logs apart", Unit::Bytes, beside_share(&|run| run.bytes.files)),
        ("logs", "bytes of log files", Unit::Bytes, beside_share(&|run| run.bytes.logs)),
        ("memory", "bytes of the graph in memory", Unit::Bytes, beside_share(&|run| run.bytes.memory)),
    ] {
        let title = format!("{title}, by one of {nodes} nodes, behind a checkpoint");
        work.add_race(&Heading::new(format!("cluster.{name}.nodes_{nodes}"), title, unit), &race);
    }
}

fn counted(count: usize, what: &str) -> String {
    match (count, what) {
        (1, _) => format!("1 {what}"),
        (_, "copy") => format!("{count} copies"),
        _ => format!("{count} {what}s"),
    }
}
