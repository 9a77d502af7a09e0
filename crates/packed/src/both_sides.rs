//! Both sides: two packed graphs with the same edges, of which one has them turned around, changed together.
//!
//! ```text
//! insert (6, 1)   out: 1 behind the list of 6   then   in: 6 behind the list of 1
//! power cut       between the two: out counts, and the opening changes in until it says the same
//! ```
//!
//! Source: DGAP (SC 2023) has one side; algorithms that pull need the other.

use crate::graph::{PackedGraph, Statistics};
use crate::memory::region::Memory;
use crate::options::Options;
use crate::recovery::{Found, Reopening};
use crate::root::Root;
use crate::view::{TwoSided, View};
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::split_mix::mix;
use evergraph_graph::topology::{PieceBuffer, Topology as _, Visit};
use evergraph_storage::sync::RwLock;
use std::collections::BTreeMap;

/// A graph of plain edges with its lists of targets and its lists of sources: all algorithms run on its
/// [views](Self::consistent_view).
///
/// # Concurrency
/// As of [`PackedGraph`]. A view has every change on both sides or on none.
///
/// # Errors
/// As of [`PackedGraph`]. If the side in fails after the side out was changed, that change is taken back: a tombstone and
/// its edge stay there.
pub struct BothSides<M: Memory> {
    out: PackedGraph<M>,
    incoming: PackedGraph<M>,
    /// Held to read by who changes the sides, to write by who makes a view of both.
    changing: RwLock<()>,
}

/// How many edges a list has, and a sum over their other ends.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct ListDigest {
    edges: u32,
    sum: u64,
}

impl ListDigest {
    fn add(&mut self, end: u32) {
        self.edges += 1;
        self.sum = self.sum.wrapping_add(mix(u64::from(end)));
    }
}

impl<M: Memory> BothSides<M> {
    /// Creates a graph whose sides lie in two memories, neither of which holds another.
    ///
    /// # Errors
    /// As of [`PackedGraph::create`].
    pub fn create(out: M, incoming: M, options: &Options) -> Result<Self> {
        // The side out is made last: where it isn't, a creation was interrupted.
        if !Root::is_there(&out)? {
            for number in incoming.numbers()? {
                incoming.free(number)?;
            }
        }
        let incoming = PackedGraph::create(incoming, options)?;
        Ok(Self { out: PackedGraph::create(out, options)?, incoming, changing: RwLock::new(()) })
    }

    /// Opens the graph in two memories. After a power cut the side in is made to say what the side out says.
    ///
    /// Cost: that of both openings; after a power cut a pass over all lists of both sides.
    ///
    /// # Errors
    /// As of [`PackedGraph::open`], and of methods that write.
    pub fn open(out: M, incoming: M, reopening: Reopening) -> Result<(Self, Found)> {
        let (out, found_out) = PackedGraph::open(out, reopening)?;
        let (incoming, found_in) = PackedGraph::open(incoming, reopening)?;
        let graph = Self { out, incoming, changing: RwLock::new(()) };
        if found_out == Found::ShutDown && found_in == Found::ShutDown {
            return Ok((graph, Found::ShutDown));
        }
        graph.repair()?;
        Ok((graph, Found::Scanned))
    }

    /// Inserts an edge, durably on both sides when this returns.
    ///
    /// # Errors
    /// Those of all methods that write.
    pub fn insert_edge(&self, source: u32, target: u32) -> Result<()> {
        let _changing = self.changing.read();
        self.out.insert_edge(source, target)?;
        self.incoming.insert_edge(target, source).or_else(|error| {
            self.out.delete_edge(source, target)?;
            Err(error)
        })
    }

    /// Deletes one edge from `source` to `target`, durably; false if there is none.
    ///
    /// Cost: a pass over a list of each side, and that of an insertion.
    ///
    /// # Errors
    /// Those of all methods that write.
    pub fn delete_edge(&self, source: u32, target: u32) -> Result<bool> {
        let _changing = self.changing.read();
        if !self.out.delete_edge(source, target)? {
            return Ok(false);
        }
        self.incoming.delete_edge(target, source).or_else(|error| {
            self.out.insert_edge(source, target)?;
            Err(error)
        })
    }

    /// Makes sure that `vertex` and all vertices with smaller ids exist, durably.
    ///
    /// # Errors
    /// As of [`PackedGraph::insert_vertex`].
    pub fn insert_vertex(&self, vertex: u32) -> Result<()> {
        let _changing = self.changing.read();
        // In this order, so that every vertex of the side out has its lists on both.
        self.incoming.insert_vertex(vertex)?;
        self.out.insert_vertex(vertex)
    }

    /// A view of both sides at one moment.
    ///
    /// Cost: 8 bytes of memory a vertex, copied while changes wait.
    ///
    /// # Errors
    /// `invalid` if a side failed and its change could not be taken back: open the graph again.
    pub fn consistent_view(&self) -> Result<TwoSided<M>> {
        let (out, incoming) = self.views();
        TwoSided::new(out, incoming)
    }

    fn views(&self) -> (View<M>, View<M>) {
        let _all = self.changing.write();
        (self.out.consistent_view(), self.incoming.consistent_view())
    }

    /// Saves what is in ordinary memory, so that the next opening need not scan the arrays, and ends the graph.
    ///
    /// # Errors
    /// As of [`PackedGraph::shutdown`].
    pub fn shutdown(self) -> Result<()> {
        self.out.shutdown()?;
        self.incoming.shutdown()
    }

    /// Views that are open.
    #[must_use]
    pub fn open_views(&self) -> usize {
        self.out.open_views()
    }

    /// Sizes and counts of the side out, and of the side in.
    #[must_use]
    pub fn statistics(&self) -> [Statistics; 2] {
        [self.out.statistics(), self.incoming.statistics()]
    }

    /// Makes the side in what the side out is.
    fn repair(&self) -> Result<()> {
        let vertices = |graph: &PackedGraph<M>| graph.statistics().vertices;
        let count = vertices(&self.out).max(vertices(&self.incoming));
        if let Some(last) = count.checked_sub(1) {
            self.insert_vertex(last)?;
        }
        let (out, incoming) = self.views();
        let (mut expected, mut found) =
            (vec![ListDigest::default(); count as usize], vec![ListDigest::default(); count as usize]);
        each_edge(&out, |source, target| expected[target as usize].add(source))?;
        each_edge(&incoming, |target, source| found[target as usize].add(source))?;
        let is_wrong = |target: u32| expected[target as usize] != found[target as usize];
        // Edges of the lists that differ, and by how many the side out has more of each.
        let mut surplus: BTreeMap<(u32, u32), i64> = BTreeMap::new();
        let mut count = |target: u32, source: u32, change: i64| {
            if is_wrong(target) {
                *surplus.entry((target, source)).or_default() += change;
            }
        };
        each_edge(&out, |source, target| count(target, source, 1))?;
        each_edge(&incoming, |target, source| count(target, source, -1))?;
        drop((out, incoming));
        for ((target, source), surplus) in surplus {
            for _ in 0..surplus {
                self.incoming.insert_edge(target, source)?;
            }
            for _ in surplus..0 {
                self.incoming.delete_edge(target, source)?;
            }
        }
        Ok(())
    }
}

/// Calls `visitor` with the two ends of each edge of a side.
fn each_edge<M: Memory>(view: &View<M>, mut visitor: impl FnMut(u32, u32)) -> Result<()> {
    view.visit(Direction::Out, 0..view.bound(), &mut PieceBuffer::default(), |vertex, piece| {
        piece.neighbors.iter().for_each(|other| visitor(vertex, *other));
        Visit::Continue
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ablation::Ablation;
    use crate::memory::heap::HeapMemory;
    use crate::memory::region::Domain;
    use crate::memory::simulated::SimulatedMemory;
    use evergraph_graph::error::ErrorKind;

    const OPTIONS: Options =
        Options { vertices: 9, edges: 0, log_records: 7, undo_bytes: 64, ablation: Ablation::NONE };

    fn edges<M: Memory>(view: &View<M>, is_turned: bool) -> Vec<(u32, u32)> {
        let mut edges = Vec::new();
        each_edge(view, |from, to| edges.push(if is_turned { (to, from) } else { (from, to) })).unwrap();
        edges.sort_unstable();
        edges
    }

    #[test]
    fn sides_that_a_power_cut_left_different_are_alike_when_they_are_open_again() {
        let (out, incoming) = (HeapMemory::new(Domain::Adr), HeapMemory::new(Domain::Adr));
        let graph = BothSides::create(out.clone(), incoming.clone(), &OPTIONS).unwrap();
        for at in 0..40 {
            graph.insert_edge(at % 9, at * at % 7).unwrap();
        }
        assert!(graph.delete_edge(4, 2).unwrap());
        // One change more and one fewer, edges that are parallel among them, and a vertex.
        graph.out.insert_edge(0, 1).unwrap();
        graph.out.insert_edge(3, 2).unwrap();
        assert!(graph.out.delete_edge(1, 1).unwrap());
        graph.incoming.insert_vertex(9).unwrap();
        let expected = edges(&graph.out.consistent_view(), false);
        assert_ne!(edges(&graph.incoming.consistent_view(), true), expected);
        drop(graph);
        let (graph, found) = BothSides::open(out.clone(), incoming.clone(), Reopening::Saved).unwrap();
        assert_eq!(found, Found::Scanned);
        assert_eq!(edges(&graph.out.consistent_view(), false), expected);
        assert_eq!(edges(&graph.incoming.consistent_view(), true), expected);
        assert_eq!(graph.consistent_view().unwrap().bound(), 10);
        graph.shutdown().unwrap();
        let (graph, found) = BothSides::open(out, incoming, Reopening::Saved).unwrap();
        assert_eq!((found, graph.statistics()[0].edges), (Found::ShutDown, expected.len() as u64));
    }

    #[test]
    fn a_side_that_fails_takes_the_change_of_the_other_back() {
        let (out, incoming) = (SimulatedMemory::new(Domain::Adr), SimulatedMemory::new(Domain::Adr));
        let graph = BothSides::create(out, incoming.clone(), &OPTIONS).unwrap();
        incoming.limit_allocations(0);
        let mut inserted = 0;
        // All into one list of the side in, and into many of the side out, which has room for them.
        let refusal = loop {
            match graph.insert_edge(inserted % 9, 3) {
                Ok(()) => inserted += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(refusal.kind(), ErrorKind::Limit);
        let view = graph.consistent_view().unwrap();
        assert_eq!(view.edge_count(), u64::from(inserted));
        assert_eq!(graph.open_views(), 1);
    }

    #[test]
    fn a_creation_that_was_interrupted_is_made_anew() {
        let (out, incoming) = (HeapMemory::new(Domain::Adr), HeapMemory::new(Domain::Adr));
        drop(PackedGraph::create(incoming.clone(), &OPTIONS).unwrap());
        let opened = BothSides::open(out.clone(), incoming.clone(), Reopening::Saved);
        assert_eq!(opened.err().unwrap().kind(), ErrorKind::NotFound);
        drop(BothSides::create(out.clone(), incoming.clone(), &OPTIONS).unwrap());
        let again = BothSides::create(out, incoming, &OPTIONS);
        assert!(again.err().unwrap().to_string().contains("there is one already"));
    }
}
