//! Held graphs: what readers hold in memory, as it is, and as it would be without stamps in L0.
//!
//! ```text
//! stamped   reader ── graph ──flush──> file with stamps: the reader goes on there, the memory goes
//! held      reader ── graph ──flush──> file with the newest records alone: the reader needs the graph
//! ```
//!
//! A reader sees a part of the commits of the memory graph that was open when it began, so a file that doesn't say which ones
//! those are is of no use to it. An engine without stamps is not built for this: here readers hold that graph beside their
//! snapshot. It takes the same memory of the same budget then, and memory is all that is compared; the files are the same.

use crate::disk_plan::DiskPlan;
use crate::edges::Contents;
use crate::engine::limited::LimitedStore;
use crate::engine::store::{Commit, Edge, Store};
use crate::plan::Work;
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::disk::graph::{DiskGraph, Properties};
use crate::workload::disk::inserts::BATCH;
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_disk_engine::memory_graph::graph::MemoryGraph;
use evergraph_disk_engine::memory_graph::reserved_memory::GRAPHS_PURPOSE;
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_measure::figure::Unit;
use evergraph_storage::snapshot::handle::Snapshot;
use std::sync::Arc;
use std::time::Instant;

/// Readers that begin one after the other, and are held until the end.
const READERS: usize = 2;
/// What each of them holds beside its files.
const KINDS: [(&str, Held); 2] = [("stamped", Held::Nothing), ("graphs held", Held::OpenGraph)];

/// What a reader holds beside its files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    /// Nothing: the engine as it is.
    Nothing,
    /// The graph that was open when it began.
    OpenGraph,
}

/// A reader that is held.
struct Reader {
    _snapshot: Snapshot<DiskEngine>,
    graph: Option<Arc<MemoryGraph>>,
}

/// What was measured of one kind of readers.
#[derive(Clone, Copy, Default)]
struct Measured {
    /// Reserved for memory graphs when all are flushed.
    graphs_bytes: f64,
    /// Edges a second after the last reader began.
    rate: f64,
}

/// Measures both kinds.
///
/// # Errors
/// `corrupt` if the store has other edges in the end; what the engine says.
pub fn measure(work: &mut Work<'_>, plan: &DiskPlan, graph: &DiskGraph) -> Result<()> {
    let names = || KINDS.iter().map(|(name, _)| *name);
    let (mut memory, mut inserts) = (Race::new(names()), Race::new(names()));
    for round in 0..plan.rounds {
        let mut measured = [Measured::default(); KINDS.len()];
        for place in order(round, KINDS.len()) {
            measured[place] = of_kind(work, plan, graph, KINDS[place])?;
        }
        memory.note(&measured.map(|run| run.graphs_bytes));
        inserts.note(&measured.map(|run| run.rate));
    }
    let limit = ByteSize(plan.limit_bytes);
    let title = "memory graphs that are held for two readers, all else flushed";
    let heading = Heading::new("disk.ablation.readers.memory", title, Unit::Bytes);
    work.add_race(&heading.with("memory limit", limit), &memory);
    let title = "edges inserted, 1,000 a transaction, while two readers are held";
    let heading = Heading::new("disk.ablation.readers.insert", title, Unit::PerSecond);
    work.add_race(&heading.with("memory limit", limit), &inserts);
    work.note(
        "readers: an engine without stamps in L0 is not built; readers hold the memory graph that was open when they began, which \
         they would need without stamps. The open graph's tables are in both values",
    );
    Ok(())
}

fn of_kind(
    work: &mut Work<'_>,
    plan: &DiskPlan,
    graph: &DiskGraph,
    (name, held): (&str, Held),
) -> Result<Measured> {
    let folder = work.folder_for("held-")?;
    let store = LimitedStore::<DiskEngine>::open(folder.path(), plan.limit_bytes, Commit::Unsynced)?;
    store.load_graph(&DiskGraph::load(graph.vertices, &graph.loaded, Properties::Bare))?;
    store.settle()?;
    let edges = &graph.later[..graph.later.len().min(plan.ablations.edges)];
    let engine = store.open_store().store().engine();
    let (mut readers, mut written, mut rate) = (Vec::new(), 0, 0.0);
    for stretch in edges.chunks(edges.len().div_ceil(READERS)) {
        // The open graph has a commit that the reader sees.
        let (first, rest) = stretch.split_at(BATCH.min(stretch.len()));
        written += put(&store, first)?;
        let graph = (held == Held::OpenGraph).then(|| engine.tree().open_graph());
        readers.push(Reader { _snapshot: store.open_store().store().snapshot(), graph });
        let began = Instant::now();
        let put = put(&store, rest)?;
        rate = put as f64 / began.elapsed().as_secs_f64();
        written += put;
        if put < rest.len() {
            work.note(format!("readers, {name}: after {written} edges a commit was refused: no memory"));
            break;
        }
    }
    engine.flush_all()?;
    let graphs = |reservations: Vec<(Arc<str>, u64)>| {
        reservations.iter().filter(|(name, _)| **name == *GRAPHS_PURPOSE).map(|(_, bytes)| bytes).sum::<u64>()
    };
    let graphs_bytes = graphs(store.open_store().store().budget().reservations());
    let of_readers: u64 = readers
        .iter()
        .filter_map(|reader| reader.graph.as_ref())
        .map(|graph| graph.size().total_bytes())
        .sum();
    let pinned = engine.page_reader().pinned();
    work.note(format!(
        "readers, {name}: {written} edges inserted; memory graphs {}, of them held for readers {}; files that compactions \
         replaced and readers hold on disk: {}, {}",
        ByteSize(graphs_bytes),
        ByteSize(of_readers),
        pinned.files,
        ByteSize(pinned.bytes)
    ));
    drop(readers);
    store.settle()?;
    Contents::of(graph.loaded.iter().chain(&edges[..written])).check(name, &store)?;
    Box::new(store).close()?;
    Ok(Measured { graphs_bytes: graphs_bytes as f64, rate })
}

/// Puts edges in batches until a commit is refused for want of memory; how many.
fn put(store: &LimitedStore<DiskEngine>, edges: &[Edge]) -> Result<usize> {
    let mut written = 0;
    for batch in edges.chunks(BATCH) {
        match store.put(batch) {
            Ok(()) => written += batch.len(),
            Err(error) if error.kind() == ErrorKind::Limit => break,
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}
