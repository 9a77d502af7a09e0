//! Memory graph: the engine's, beside skip lists and arrays of the same records; inserts of an edge at a time, and a scan in
//! key order.
//!
//! ```text
//! ours            hash ── list: blocks of records, chained; a hash by neighbour beside long lists
//! skip lists      hash ── list: a skip list of (neighbour, timestamp)
//! arrays          hash ── list: an array of the same, kept sorted
//! one skip list   (side, vertex, neighbour, timestamp): RocksDB's way
//! ```
//!
//! All hold both directions of each edge with its timestamp, in memory alone, written by one thread. What a commit prepares ahead
//! of the latch is in ours; the others have no such step, and no locks.
//!
//! Source: LSMGraph (SIGMOD 2024), section 5.5, figure 15.

use crate::disk_plan::DiskPlan;
use crate::engine::store::Edge;
use crate::plan::{Work, expect};
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::disk::graph::DiskGraph;
use crossbeam_skiplist::SkipSet;
use evergraph_disk_engine::format::subject::EdgeSide;
use evergraph_disk_engine::memory_graph::graph::MemoryGraph;
use evergraph_disk_engine::memory_graph::promises::Promises;
use evergraph_disk_engine::memory_graph::sorted_commit::SortedCommit;
use evergraph_graph::error::Result;
use evergraph_graph::id::{EdgeId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_measure::figure::Unit;
use std::collections::HashMap;
use std::time::Instant;

/// Edges at most: a graph of a large budget holds about as many.
const EDGES_MAX: usize = 1_000_000;
/// As much as a graph takes at most.
const GRAPH_BYTES: u64 = 256 << 20;
/// Sides of an edge.
const SIDES: usize = 2;

/// Holds records.
trait Records {
    /// Adds both directions of an edge, newer than all before it.
    fn insert(&mut self, edge: Edge, timestamp: u64) -> Result<()>;

    /// Calls `visit` with the neighbour of each record, in key order.
    fn scan(&self, visit: &mut dyn FnMut(u32));
}

/// An empty one.
type Open = fn() -> Result<Box<dyn Records>>;

const STRUCTURES: [(&str, Open); 4] = [
    ("memory graph", || Ok(Box::new(MemoryGraph::open(GRAPH_BYTES, &Promises::new())?))),
    ("skip lists", || Ok(Box::<Lists<SkipSet<(u32, u64)>>>::default())),
    ("arrays", || Ok(Box::<Lists<Vec<(u32, u64)>>>::default())),
    ("one skip list", || Ok(Box::<SkipSet<(EdgeSide, u32, u32, u64)>>::default())),
];

/// What was measured of one structure.
#[derive(Clone, Copy, Default)]
struct Measured {
    inserts: f64,
    scan: f64,
}

/// Measures all.
///
/// # Errors
/// `corrupt` if a scan gives other records; `limit` if the graph has no room.
pub fn measure(work: &mut Work<'_>, plan: &DiskPlan, graph: &DiskGraph) -> Result<()> {
    let edges = &graph.later[..graph.later.len().min(plan.ablations.edges).min(EDGES_MAX)];
    let names = || STRUCTURES.iter().map(|(name, _)| *name);
    let (mut inserts, mut scans) = (Race::new(names()), Race::new(names()));
    for round in 0..work.plan.rounds {
        let mut measured = [Measured::default(); STRUCTURES.len()];
        for place in order(round, STRUCTURES.len()) {
            measured[place] = run(STRUCTURES[place], edges)?;
        }
        inserts.note(&measured.map(|run| run.inserts));
        scans.note(&measured.map(|run| run.scan));
    }
    let title = "edges inserted into memory alone, both directions";
    let heading = Heading::new("disk.ablation.memory_graph.insert", title, Unit::PerSecond);
    work.add_race(&heading.with("edges", edges.len()), &inserts);
    let title = "records read in key order, an edge and side each";
    let heading = Heading::new("disk.ablation.memory_graph.scan", title, Unit::PerSecond);
    work.add_race(&heading.with("edges", edges.len()), &scans);
    Ok(())
}

fn run((name, open): (&str, Open), edges: &[Edge]) -> Result<Measured> {
    let mut records = open()?;
    let began = Instant::now();
    for (timestamp, edge) in (1..).zip(edges) {
        records.insert(*edge, timestamp)?;
    }
    let inserts = edges.len() as f64 / began.elapsed().as_secs_f64();
    let (began, mut count, mut sum) = (Instant::now(), 0, 0_u64);
    records.scan(&mut |neighbor| {
        count += 1;
        sum += u64::from(neighbor);
    });
    let scan = count as f64 / began.elapsed().as_secs_f64();
    let expected: u64 = edges.iter().map(|(source, target)| u64::from(*source) + u64::from(*target)).sum();
    expect(name, "records and the sum of neighbours", (count, sum), (SIDES * edges.len(), expected))?;
    Ok(Measured { inserts, scan })
}

impl Records for MemoryGraph {
    fn insert(&mut self, (source, target): Edge, timestamp: u64) -> Result<()> {
        let [source, target] = [source, target].map(VertexId);
        let edge = EdgeId { source, edge_type: TypeId(0), target, discriminator: 0 };
        let insert = Mutation::InsertEdge { edge, properties: Properties::EMPTY };
        let prepared = self.prepare(SortedCommit::new(&[insert])?, Vec::new())?;
        drop(self.append(Timestamp(timestamp), prepared));
        Ok(())
    }

    fn scan(&self, visit: &mut dyn FnMut(u32)) {
        let visible = self.at(Timestamp::MAX);
        let mut scan = visible.scan(..);
        while let Some(list) = scan.next_list() {
            list.records.iter().for_each(|record| visit(record.item.neighbor().0));
        }
    }
}

impl Records for SkipSet<(EdgeSide, u32, u32, u64)> {
    fn insert(&mut self, (source, target): Edge, timestamp: u64) -> Result<()> {
        SkipSet::insert(self, (EdgeSide::Out, source, target, timestamp));
        SkipSet::insert(self, (EdgeSide::In, target, source, timestamp));
        Ok(())
    }

    fn scan(&self, visit: &mut dyn FnMut(u32)) {
        self.iter().for_each(|record| visit(record.value().2));
    }
}

/// The records of one list.
trait ListRecords: Default {
    /// Adds one.
    fn add(&mut self, neighbor: u32, timestamp: u64);

    /// Calls `visit` with the neighbour of each, in order.
    fn each(&self, visit: &mut dyn FnMut(u32));
}

impl ListRecords for SkipSet<(u32, u64)> {
    fn add(&mut self, neighbor: u32, timestamp: u64) {
        self.insert((neighbor, timestamp));
    }

    fn each(&self, visit: &mut dyn FnMut(u32)) {
        self.iter().for_each(|record| visit(record.value().0));
    }
}

impl ListRecords for Vec<(u32, u64)> {
    fn add(&mut self, neighbor: u32, timestamp: u64) {
        let record = (neighbor, timestamp);
        let at = self.partition_point(|other| *other < record);
        self.insert(at, record);
    }

    fn each(&self, visit: &mut dyn FnMut(u32)) {
        self.iter().for_each(|record| visit(record.0));
    }
}

/// A structure for each side of each vertex.
#[derive(Default)]
struct Lists<L>(HashMap<(EdgeSide, u32), L>);

impl<L: ListRecords> Records for Lists<L> {
    fn insert(&mut self, (source, target): Edge, timestamp: u64) -> Result<()> {
        self.0.entry((EdgeSide::Out, source)).or_default().add(target, timestamp);
        self.0.entry((EdgeSide::In, target)).or_default().add(source, timestamp);
        Ok(())
    }

    /// Sorts the vertices first, as a flush does.
    fn scan(&self, visit: &mut dyn FnMut(u32)) {
        let mut lists: Vec<_> = self.0.iter().collect();
        lists.sort_unstable_by_key(|(vertex, _)| **vertex);
        lists.into_iter().for_each(|(_, list)| list.each(visit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_hold_the_same_records_in_the_same_order_of_keys() {
        let edges: Vec<Edge> = (0..500).map(|at| (at * 7 % 50, at)).collect();
        let mut scans = STRUCTURES.map(|structure| {
            assert!(run(structure, &edges).unwrap().scan > 0.0);
            let mut records = structure.1().unwrap();
            (1..).zip(&edges).for_each(|(at, edge)| records.insert(*edge, at).unwrap());
            let mut neighbors = Vec::new();
            records.scan(&mut |neighbor| neighbors.push(neighbor));
            neighbors
        });
        let first = std::mem::take(&mut scans[0]);
        assert!(scans[1..].iter().all(|scan| *scan == first));
    }
}
