//! Blocked: the column of a blocked adjacency list, in ordinary memory: nothing of it is durable.
//!
//! ```text
//! list    first block | newest block | edges               in an array by vertex
//! block   15 neighbours | the next block                   a cache line
//! ```
//!
//! An insertion goes behind the newest neighbour, into a new block if there is no room. A scan follows the blocks. 1,024
//! neighbouring vertices have a lock and their blocks in one array.
//!
//! Source: Pinar and Heath, Improving performance of sparse matrix-vector multiplication (SC 1999), as the baseline of DGAP
//! (SC 2023), section 4.1. Differs: DGAP's lies in persistent memory, with a journal.

use crate::edges::Contents;
use crate::engine::store::Edge;
use crate::workload::mapped::raw_lists::{RawLists, contents};
use crate::workload::mapped::store::{Column, Ending, RawCounts, RawOptions, RawStore, Sides};
use evergraph_algorithms::betweenness::{BetweennessParameters, betweenness};
use evergraph_algorithms::bfs::{BfsParameters, bfs};
use evergraph_algorithms::control::Control;
use evergraph_algorithms::pagerank::{PageRankParameters, pagerank};
use evergraph_algorithms::sources::Sources;
use evergraph_algorithms::wcc::{WccParameters, wcc};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::{Piece, PieceBuffer, Topology, Visit};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_measure::kernel::{Answer, Kernel};
use evergraph_storage::sync::RwLock;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

pub const COLUMN: Column = Column { name: "blocked list", create, open: None };

/// Neighbours of a block, which fills a cache line with the number of the next one.
const BLOCK_NEIGHBORS: usize = 15;

/// Vertices that share a lock.
const SHARD_VERTICES: usize = 1_024;

#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Block {
    neighbors: [u32; BLOCK_NEIGHBORS],
    next: u32,
}

/// The list of a vertex. Its blocks mean nothing while it has no edges.
#[derive(Clone, Copy, Default)]
struct BlockList {
    first: u32,
    last: u32,
    edges: u32,
}

struct Shard {
    lists: Vec<BlockList>,
    blocks: Vec<Block>,
}

impl Shard {
    fn insert(&mut self, source: u32, target: u32) {
        let list = &mut self.lists[source as usize % SHARD_VERTICES];
        let place = list.edges as usize % BLOCK_NEIGHBORS;
        if place == 0 {
            let block = self.blocks.len() as u32;
            self.blocks.push(Block::default());
            if list.edges == 0 {
                list.first = block;
            } else {
                self.blocks[list.last as usize].next = block;
            }
            list.last = block;
        }
        self.blocks[list.last as usize].neighbors[place] = target;
        list.edges += 1;
    }

    fn degree(&self, vertex: u32) -> u32 {
        self.lists[vertex as usize % SHARD_VERTICES].edges
    }

    /// Calls `visitor` with each block of a list; what it said last.
    #[inline]
    fn visit<F>(&self, vertex: u32, visitor: &mut F) -> Visit
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        let BlockList { first, edges, .. } = self.lists[vertex as usize % SHARD_VERTICES];
        let (mut number, mut rest) = (first, edges as usize);
        while rest > 0 {
            let block = &self.blocks[number as usize];
            let count = rest.min(BLOCK_NEIGHBORS);
            let piece = Piece { neighbors: &block.neighbors[..count], weights: &[], sorted: false };
            let wanted = visitor(vertex, piece);
            if wanted != Visit::Continue {
                return wanted;
            }
            rest -= count;
            number = block.next;
        }
        Visit::Continue
    }
}

/// The lists of one side.
struct BlockedLists {
    shards: Vec<RwLock<Shard>>,
}

impl BlockedLists {
    fn new(vertices: u32) -> Self {
        let shard = |first: usize| {
            let lists = vec![BlockList::default(); SHARD_VERTICES.min(vertices as usize - first)];
            RwLock::new(Shard { lists, blocks: Vec::new() })
        };
        Self { shards: (0..vertices as usize).step_by(SHARD_VERTICES).map(shard).collect() }
    }

    fn shard_of(vertex: u32) -> usize {
        vertex as usize / SHARD_VERTICES
    }

    fn insert(&self, source: u32, target: u32) {
        self.shards[Self::shard_of(source)].write().insert(source, target);
    }

    fn edges(&self) -> u64 {
        let edges = |shard: &Shard| shard.lists.iter().map(|list| u64::from(list.edges)).sum::<u64>();
        self.shards.iter().map(|shard| edges(&shard.read())).sum()
    }

    /// Bytes of memory, room for blocks to come included.
    fn bytes(&self) -> u64 {
        let bytes = |shard: &Shard| {
            size_of_val(shard.lists.as_slice()) + shard.blocks.capacity() * size_of::<Block>()
        };
        self.shards.iter().map(|shard| bytes(&shard.read()) as u64).sum()
    }
}

/// Both sides, or one.
struct Blocked {
    vertices: u32,
    out: Arc<BlockedLists>,
    incoming: Option<Arc<BlockedLists>>,
}

fn create(_: &Path, options: &RawOptions) -> Result<Box<dyn RawStore>> {
    let side = || Arc::new(BlockedLists::new(options.vertices));
    let incoming = (options.sides == Sides::Both).then(side);
    Ok(Box::new(Blocked { vertices: options.vertices, out: side(), incoming }))
}

impl RawStore for Blocked {
    fn insert(&self, edges: &[Edge]) -> Result<()> {
        for (source, target) in edges {
            self.out.insert(*source, *target);
            if let Some(incoming) = &self.incoming {
                incoming.insert(*target, *source);
            }
        }
        Ok(())
    }

    fn lists(&self) -> Result<Box<dyn RawLists>> {
        let Some(incoming) = &self.incoming else {
            return Err(Error::invalid("kernels need blocked lists of both sides"));
        };
        Ok(Box::new(BlockedView {
            vertices: VertexSet::full(self.vertices),
            edges: self.out.edges(),
            out: Arc::clone(&self.out),
            incoming: Arc::clone(incoming),
        }))
    }

    fn counts(&self) -> RawCounts {
        let incoming = self.incoming.as_ref().map_or(0, |incoming| incoming.bytes());
        let edges = self.out.edges();
        RawCounts { edges, measured: edges, bytes: self.out.bytes() + incoming, ..RawCounts::default() }
    }

    fn end(self: Box<Self>, _: Ending) -> Result<()> {
        Ok(())
    }
}

/// The lists of both sides, into which nobody inserts meanwhile.
struct BlockedView {
    vertices: VertexSet,
    edges: u64,
    out: Arc<BlockedLists>,
    incoming: Arc<BlockedLists>,
}

impl BlockedView {
    fn sides(&self, direction: Direction) -> [Option<&BlockedLists>; 2] {
        [
            (direction != Direction::In).then_some(&*self.out),
            (direction != Direction::Out).then_some(&*self.incoming),
        ]
    }

    #[inline]
    fn visit_vertices<F>(&self, direction: Direction, vertices: impl Iterator<Item = u32>, mut visitor: F)
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        let sides = self.sides(direction);
        // Neighbouring vertices have the same shard: it is not locked for each.
        let (mut locked, mut shards) = (usize::MAX, [None, None]);
        for vertex in vertices {
            let number = BlockedLists::shard_of(vertex);
            if number != locked {
                locked = number;
                shards = sides.map(|side| side.map(|side| side.shards[number].read()));
            }
            for shard in shards.iter().flatten() {
                match shard.visit(vertex, &mut visitor) {
                    Visit::Continue => {}
                    Visit::NextVertex => break,
                    Visit::Stop => return,
                }
            }
        }
    }
}

impl Topology for BlockedView {
    fn bound(&self) -> u32 {
        self.vertices.bound()
    }

    fn vertices(&self) -> &VertexSet {
        &self.vertices
    }

    fn direction(&self) -> Direction {
        Direction::Both
    }

    fn edge_count(&self) -> u64 {
        self.edges
    }

    fn degrees(&self, direction: Direction, range: Range<u32>, degrees: &mut [u32]) -> Result<()> {
        degrees.fill(0);
        for side in self.sides(direction).into_iter().flatten() {
            for (vertex, degree) in (range.start..range.end.min(self.bound())).zip(&mut *degrees) {
                *degree += side.shards[BlockedLists::shard_of(vertex)].read().degree(vertex);
            }
        }
        Ok(())
    }

    #[inline]
    fn visit<F>(&self, direction: Direction, range: Range<u32>, _: &mut PieceBuffer, visitor: F) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        self.visit_vertices(direction, range.start..range.end.min(self.bound()), visitor);
        Ok(())
    }

    #[inline]
    fn visit_each<F>(
        &self,
        direction: Direction,
        vertices: &[u32],
        _: &mut PieceBuffer,
        visitor: F,
    ) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        let known = vertices.iter().copied().filter(|vertex| *vertex < self.bound());
        self.visit_vertices(direction, known, visitor);
        Ok(())
    }

    fn cuts(&self, parts: usize) -> Vec<u32> {
        let (parts, bound) = (parts.max(1), self.bound());
        let work = |vertex: u32| {
            let shards = [&self.out, &self.incoming].map(|side| &side.shards[BlockedLists::shard_of(vertex)]);
            shards.map(|shard| u64::from(shard.read().degree(vertex))).iter().sum::<u64>() + 1
        };
        let total = 2 * self.edges + u64::from(bound);
        let (mut cuts, mut done) = (vec![0], 0);
        for vertex in 0..bound {
            done += work(vertex);
            while cuts.len() < parts && done * parts as u64 >= total * cuts.len() as u64 {
                cuts.push(vertex + 1);
            }
        }
        cuts.resize(parts, bound);
        cuts.push(bound);
        cuts
    }
}

impl RawLists for BlockedView {
    fn run(&self, kernel: Kernel, source: VertexId) -> Result<Answer> {
        let control = Control::default();
        Ok(match kernel {
            Kernel::PageRank => {
                Answer::Numbers(pagerank(self, &PageRankParameters::default(), &control)?.scores)
            }
            Kernel::Bfs => {
                Answer::Labels(bfs(self, source, &BfsParameters::default(), &control)?.levels().to_vec())
            }
            Kernel::Wcc => {
                Answer::Labels(wcc(self, &WccParameters::default(), &control)?.labels.as_slice().to_vec())
            }
            Kernel::Betweenness => {
                let sources = Sources::These(vec![source]);
                let parameters = BetweennessParameters { sources, ..BetweennessParameters::default() };
                Answer::Numbers(betweenness(self, &parameters, &control)?.scores)
            }
            Kernel::Scan | Kernel::Sssp | Kernel::Triangles => {
                let text =
                    format!("{} does not run on blocked lists: the part has no such kernel", kernel.name());
                return Err(Error::invalid(text));
            }
        })
    }

    fn contents(&self) -> Result<Contents> {
        contents(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two shards; lists of no block, a part of one, one and several.
    fn view(edges: &[Edge]) -> BlockedView {
        let vertices = SHARD_VERTICES as u32 + 9;
        let side = || Arc::new(BlockedLists::new(vertices));
        let store = Blocked { vertices, out: side(), incoming: Some(side()) };
        store.insert(edges).unwrap();
        let Blocked { out, incoming, .. } = store;
        let edges = out.edges();
        BlockedView { vertices: VertexSet::full(vertices), edges, out, incoming: incoming.unwrap() }
    }

    fn edges() -> Vec<Edge> {
        let lists = [(0, 40), (3, 15), (1_023, 1), (1_024, 16), (1_032, 31)];
        let edges = |(source, count): (u32, u32)| (0..count).map(move |at| (source, at * 7 % 1_033));
        lists.into_iter().flat_map(edges).collect()
    }

    fn visited(view: &BlockedView, direction: Direction, wanted: Visit) -> Vec<Edge> {
        let mut found = Vec::new();
        let visitor = |vertex: u32, piece: Piece<'_>| {
            found.extend(piece.neighbors.iter().map(|other| (vertex, *other)));
            wanted
        };
        view.visit(direction, 0..view.bound(), &mut PieceBuffer::default(), visitor).unwrap();
        found
    }

    #[test]
    fn a_visit_follows_blocks_in_the_order_of_insertion() {
        let (view, edges) = (view(&edges()), edges());
        assert_eq!(visited(&view, Direction::Out, Visit::Continue), edges);
        let mut incoming = visited(&view, Direction::In, Visit::Continue);
        incoming.iter_mut().for_each(|edge| *edge = (edge.1, edge.0));
        assert_eq!(Contents::of(&incoming), Contents::of(&edges));
        assert_eq!(visited(&view, Direction::Both, Visit::Continue).len(), 2 * edges.len());
        // A block of each list, and a block.
        assert_eq!(visited(&view, Direction::Out, Visit::NextVertex).len(), 3 * 15 + 1 + 15);
        assert_eq!(visited(&view, Direction::Out, Visit::Stop), edges[..15]);
    }

    #[test]
    fn degrees_and_cuts_are_those_of_the_lists() {
        let view = view(&edges());
        let mut degrees = [7; 10];
        view.degrees(Direction::Out, 1_023..1_033, &mut degrees).unwrap();
        assert_eq!(degrees, [1, 16, 0, 0, 0, 0, 0, 0, 0, 31]);
        let cuts = view.cuts(4);
        assert!(cuts.is_sorted() && cuts.len() == 5 && (cuts[0], cuts[4]) == (0, view.bound()), "{cuts:?}");
    }
}
