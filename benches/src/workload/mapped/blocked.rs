//! Blocked: the column of a blocked adjacency list, in ordinary memory and not durable.
//!
//! ```text
//! list    first block | newest block | edges               in an array by vertex
//! block   15 neighbours | the next block                   a cache line
//! ```
//!
//! An insertion goes behind the newest neighbour, into a new block if there is no room. A scan follows the blocks. 1,024
//! neighbouring vertices have a lock and their blocks in one array. A view counts the edges before each list once, as that of
//! the packed graph copies its degrees.
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

    /// The edges of all lists before each vertex, and of all lists.
    fn edges_before(&self) -> Vec<u64> {
        let (mut edges_before, mut edges) = (vec![0], 0);
        for shard in &self.shards {
            edges_before.extend(shard.read().lists.iter().map(|list| {
                edges += u64::from(list.edges);
                edges
            }));
        }
        edges_before
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
struct BlockedStore {
    vertices: u32,
    out: Arc<BlockedLists>,
    incoming: Option<Arc<BlockedLists>>,
}

fn create(_: &Path, options: &RawOptions) -> Result<Box<dyn RawStore>> {
    let side = || Arc::new(BlockedLists::new(options.vertices));
    let incoming = (options.sides == Sides::Both).then(side);
    Ok(Box::new(BlockedStore { vertices: options.vertices, out: side(), incoming }))
}

impl RawStore for BlockedStore {
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
        Ok(Box::new(BlockedView::new(self.vertices, &self.out, incoming)))
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

/// The lists of one side in a view.
struct SideView {
    lists: Arc<BlockedLists>,
    /// The edges of all lists before each vertex, and of all lists.
    edges_before: Vec<u64>,
}

impl SideView {
    fn new(lists: &Arc<BlockedLists>) -> Self {
        Self { lists: Arc::clone(lists), edges_before: lists.edges_before() }
    }
}

/// The lists of both sides, into which nobody inserts meanwhile.
struct BlockedView {
    vertices: VertexSet,
    out: SideView,
    incoming: SideView,
    /// The edges on both sides of all vertices before each vertex, and these vertices; and all of them.
    work_before: Vec<u64>,
}

impl BlockedView {
    fn new(vertices: u32, out: &Arc<BlockedLists>, incoming: &Arc<BlockedLists>) -> Self {
        let (out, incoming) = (SideView::new(out), SideView::new(incoming));
        let edges = out.edges_before.iter().zip(&incoming.edges_before).map(|(out, incoming)| out + incoming);
        let work_before = edges.zip(0..).map(|(edges, vertices)| edges + vertices).collect();
        Self { vertices: VertexSet::full(vertices), out, incoming, work_before }
    }

    fn sides(&self, direction: Direction) -> [Option<&SideView>; 2] {
        [
            (direction != Direction::In).then_some(&self.out),
            (direction != Direction::Out).then_some(&self.incoming),
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
                shards = sides.map(|side| side.map(|side| side.lists.shards[number].read()));
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
        self.out.edges_before[self.bound() as usize]
    }

    fn degrees(&self, direction: Direction, range: Range<u32>, degrees: &mut [u32]) -> Result<()> {
        degrees.fill(0);
        let end = range.end.min(self.bound()) as usize;
        let start = (range.start as usize).min(end);
        for side in self.sides(direction).into_iter().flatten() {
            for (ends, degree) in side.edges_before[start..=end].windows(2).zip(&mut *degrees) {
                *degree += (ends[1] - ends[0]) as u32;
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
        let parts = parts.max(1) as u64;
        let total = self.work_before[self.bound() as usize];
        let cut = |part: u64| self.work_before.partition_point(|work| *work < total * part / parts) as u32;
        (0..=parts).map(cut).collect()
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
        let (out, incoming) = (side(), side());
        let store = BlockedStore { vertices, out: Arc::clone(&out), incoming: Some(Arc::clone(&incoming)) };
        store.insert(edges).unwrap();
        BlockedView::new(vertices, &out, &incoming)
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
        // The work of a vertex: itself, and its edges on both sides.
        let mut work = vec![1u64; view.bound() as usize];
        for (source, target) in edges() {
            work[source as usize] += 1;
            work[target as usize] += 1;
        }
        let mut degrees = vec![0; work.len()];
        view.degrees(Direction::Both, 0..view.bound(), &mut degrees).unwrap();
        assert!(degrees.iter().zip(&work).all(|(degree, work)| u64::from(*degree) + 1 == *work));
        let (total, heaviest) = (work.iter().sum::<u64>(), work.iter().copied().max().unwrap());
        let cuts = view.cuts(4);
        assert!(cuts.is_sorted() && cuts.len() == 5 && (cuts[0], cuts[4]) == (0, view.bound()), "{cuts:?}");
        for part in cuts.windows(2) {
            let part_work: u64 = work[part[0] as usize..part[1] as usize].iter().sum();
            assert!(part_work <= total / 4 + heaviest, "{part_work} of {total} in {part:?} of {cuts:?}");
        }
    }
}
