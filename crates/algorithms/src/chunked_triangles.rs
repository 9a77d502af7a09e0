//! Chunked triangles: the counts of `degree_order` for lists that memory doesn't hold.
//!
//! ```text
//! chunk      as many spilled lists as memory holds, by id
//! pass       all lists are streamed past the chunk:
//!            for v, for u in list(v) with list(u) in the chunk:  each w both in list(u) and in list(v) is a triangle
//! passes     one a chunk: lists / memory
//! ```
//!
//! Each triangle is found once: in the pass whose chunk has the middle one of its vertices. A list that is streamed is
//! marked by a bit a vertex; only where a mark is met, which is a triangle, is its place in the list searched.
//!
//! Source: Hu, Tao, Chung: Massive Graph Triangulation (SIGMOD 2013), section 4: MGT. Differs: lists lead to vertices of
//! higher degree, so that none is long, and a chunk consists of whole lists.

use crate::control::Control;
use crate::parts::share_out_in_waves;
use crate::spilled_order::{BlockLists, ListBlock, SpilledOrder};
use crate::vertex_marks::VertexMarks;
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::scratch::Scratch;
use evergraph_graph::topology::Topology;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Neighbours that are read at once: 128 KiB of lists.
const BLOCK_ENTRIES: u64 = 32 * 1024;

/// A chunk has no more, so that its places are numbers of 32 bits.
const CHUNK_BYTES_MAX: u64 = u32::MAX as u64;

/// What chunks are called in a budget.
const CHUNK_PURPOSE: &str = "a chunk of spilled lists";

/// Bytes of a neighbour of a list that is streamed: as it is read, and what is found at its place.
const STREAMED_BYTES: u64 = BlockLists::ENTRY_BYTES + size_of::<u64>() as u64;

/// What is counted out of core, and in which pieces.
pub(crate) struct ChunkedCount<'a> {
    scratch: &'a dyn Scratch,
    with_arcs: bool,
    /// While lists are written, and while they are counted.
    phases: [&'static str; 2],
    block_entries: u64,
    chunk_bytes: u64,
}

impl<'a> ChunkedCount<'a> {
    /// The triangles of each vertex, or if `with_arcs` the arcs opposite to it in them. Lists go to `scratch`.
    pub(crate) fn new(scratch: &'a dyn Scratch, with_arcs: bool, phases: [&'static str; 2]) -> Self {
        Self { scratch, with_arcs, phases, block_entries: BLOCK_ENTRIES, chunk_bytes: CHUNK_BYTES_MAX }
    }

    /// The same in pieces as small as that, but never less than a list.
    #[cfg(test)]
    fn in_pieces(self, block_entries: u64, chunk_bytes: u64) -> Self {
        Self { block_entries, chunk_bytes, ..self }
    }

    /// What is counted for each vertex id below the bound of `topology`; zero out of scope. Adds the number of different
    /// neighbours of each to `degrees`, unless that is empty. The answer is the caller's, who reserved it.
    ///
    /// # Errors
    /// `invalid` if `topology` hasn't both sides; `limit` if the budget refuses the longest list and some bytes a vertex,
    /// or the disk is full; `cancelled`; errors of reading, and of the scratch file.
    pub(crate) fn run<T: Topology>(
        &self,
        topology: &T,
        degrees: &[AtomicU32],
        control: &Control<'_>,
    ) -> Result<Vec<u64>> {
        let [writing, counting] = self.phases;
        let order = SpilledOrder::write(topology, self.scratch, self.with_arcs, degrees, writing, control)?;
        control.report(counting, 0.0);
        let bound = topology.bound();
        let blocks = order.blocks(self.block_entries);
        let longest = blocks.iter().map(|block| block.entries).max().unwrap_or(0);
        let of_worker = VertexMarks::bytes(bound) + longest * STREAMED_BYTES;
        // Who loads a chunk reads a block too.
        let workers = rayon::current_num_threads() as u64 + 1;
        let _workers = control.reserve_bytes("streams of spilled lists", of_worker * workers)?;
        let (chunk_bytes, _chunk) = self.reserve_chunk(&order, &blocks, control)?;
        let chunks = chunks(&order, &blocks, chunk_bytes);
        let counts: Vec<AtomicU64> = (0..bound).map(|_| AtomicU64::new(0)).collect();
        let worker =
            || Worker { marks: VertexMarks::new(bound), lists: BlockLists::default(), found: Vec::new() };
        let mut chunk = Chunk::default();
        let all = (chunks.len() * blocks.len()).max(1) as f64;
        for (pass, blocks_of_chunk) in chunks.into_iter().enumerate() {
            chunk.load(&order, &blocks[blocks_of_chunk], control)?;
            let done = |done: usize| control.report(counting, (pass * blocks.len() + done) as f64 / all);
            let chunk = &chunk;
            share_out_in_waves(
                control,
                blocks.iter().collect(),
                worker,
                done,
                |block: &ListBlock, worker| {
                    worker.lists.begin(&order, block.entries);
                    order.read(block, &mut worker.lists)?;
                    let mut start = 0;
                    for vertex in block.vertices.clone() {
                        let place = start..start + order.length(vertex);
                        start = place.end;
                        worker.count(vertex, place, chunk, &counts);
                    }
                    Ok(())
                },
            )?;
        }
        Ok(counts.into_iter().map(AtomicU64::into_inner).collect())
    }

    /// Reserves a chunk for all lists, or for half of what the budget has: commits and others need some too.
    fn reserve_chunk(
        &self,
        order: &SpilledOrder,
        blocks: &[ListBlock],
        control: &Control<'_>,
    ) -> Result<(u64, Reservation)> {
        let sizes = || blocks.iter().map(|block| chunk_bytes_of(order, block));
        let (least, all) = (sizes().max().unwrap_or(0), sizes().sum::<u64>());
        let wanted = all.min(self.chunk_bytes).max(least);
        let mut bytes = wanted;
        loop {
            match control.reserve_bytes(CHUNK_PURPOSE, bytes) {
                Ok(reservation) if bytes == wanted => return Ok((bytes, reservation)),
                Ok(reservation) => {
                    drop(reservation);
                    bytes = (bytes / 2).max(least);
                    return Ok((bytes, control.reserve_bytes(CHUNK_PURPOSE, bytes)?));
                }
                Err(error) if error.kind() == ErrorKind::Limit && bytes > least => {
                    bytes = (bytes / 2).max(least);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Bytes of the lists of `block` in a chunk.
fn chunk_bytes_of(order: &SpilledOrder, block: &ListBlock) -> u64 {
    block.entries * order.entry_bytes() + (block.vertices.len() as u64 + 1) * size_of::<u32>() as u64
}

/// Ranges of consecutive blocks that have `bytes_max` or fewer in a chunk, or one block that has more. Vertices between two
/// blocks count.
fn chunks(order: &SpilledOrder, blocks: &[ListBlock], bytes_max: u64) -> Vec<Range<usize>> {
    let mut chunks = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, block) in blocks.iter().enumerate() {
        let before = if at > start { blocks[at - 1].vertices.end } else { block.vertices.start };
        let gap = u64::from(block.vertices.start - before) * size_of::<u32>() as u64;
        let size = chunk_bytes_of(order, block);
        if at > start && bytes + gap + size > bytes_max {
            chunks.push(start..at);
            (start, bytes) = (at, size);
        } else {
            bytes += gap + size;
        }
    }
    if start < blocks.len() {
        chunks.push(start..blocks.len());
    }
    chunks
}

/// Lists in memory, of consecutive vertices.
#[derive(Default)]
struct Chunk {
    first: u32,
    /// Where the list of each vertex from `first` on begins, and where the last one ends.
    starts: Vec<u32>,
    lists: BlockLists,
}

impl Chunk {
    /// Replaces the lists by those of `blocks`.
    fn load(&mut self, order: &SpilledOrder, blocks: &[ListBlock], control: &Control<'_>) -> Result<()> {
        self.lists.begin(order, blocks.iter().map(|block| block.entries).sum());
        self.starts.clear();
        let ends =
            [blocks.first().map(|block| block.vertices.start), blocks.last().map(|block| block.vertices.end)];
        self.starts.reserve_exact(ends[1].unwrap_or(0) as usize - ends[0].unwrap_or(0) as usize + 1);
        self.first = blocks.first().map_or(0, |block| block.vertices.start);
        for block in blocks {
            control.check()?;
            let mut end = self.lists.neighbors.len();
            // Of vertices between two blocks, all lists are empty.
            self.starts.resize((block.vertices.start - self.first) as usize, end as u32);
            order.read(block, &mut self.lists)?;
            for vertex in block.vertices.clone() {
                self.starts.push(end as u32);
                end += order.length(vertex);
            }
        }
        self.starts.push(self.lists.neighbors.len() as u32);
        Ok(())
    }

    /// The vertices whose lists are here.
    fn vertices(&self) -> Range<u32> {
        self.first..self.first + self.starts.len() as u32 - 1
    }

    /// Where the list of `vertex`, which is here, lies.
    #[inline]
    fn place(&self, vertex: u32) -> Range<usize> {
        let at = (vertex - self.first) as usize;
        self.starts[at] as usize..self.starts[at + 1] as usize
    }
}

/// What one thread needs to stream lists past a chunk.
struct Worker {
    /// The members of the present list.
    marks: VertexMarks,
    /// Those of a block, of which the present list is one.
    lists: BlockLists,
    /// What was found for each place of the present list.
    found: Vec<u64>,
}

impl Worker {
    /// Adds the triangles of `vertex`, whose list lies at `place`, with the vertices of `chunk` to `counts`.
    fn count(&mut self, vertex: u32, place: Range<usize>, chunk: &Chunk, counts: &[AtomicU64]) {
        let list = &self.lists.neighbors[place.clone()];
        let held = chunk.vertices();
        let first = list.partition_point(|neighbor| *neighbor < held.start);
        let held = first..first + list[first..].partition_point(|neighbor| *neighbor < held.end);
        if list.len() < 2 || held.is_empty() {
            return;
        }
        let worth = |arcs: &[u8], at: usize| arcs.get(at).map_or(1, |arcs| u64::from(*arcs));
        for neighbor in list {
            self.marks.mark(*neighbor);
        }
        self.found.clear();
        self.found.resize(list.len(), 0);
        let mut opposite = 0;
        for at in held {
            let (mut own, worth_of_pair) = (0, worth(&self.lists.arcs, place.start + at));
            let others = chunk.place(list[at]);
            // Both lists ascend: what comes next is behind what came last.
            let mut behind = 0;
            for (others_at, other) in (others.start..).zip(&chunk.lists.neighbors[others]) {
                if !self.marks.has(*other) {
                    continue;
                }
                let third = behind + list[behind..].partition_point(|neighbor| neighbor < other);
                behind = third;
                opposite += worth(&chunk.lists.arcs, others_at);
                own += worth(&self.lists.arcs, place.start + third);
                self.found[third] += worth_of_pair;
            }
            self.found[at] += own;
        }
        for (neighbor, found) in list.iter().zip(&self.found) {
            self.marks.clear(*neighbor);
            if *found > 0 {
                counts[*neighbor as usize].fetch_add(*found, Relaxed);
            }
        }
        counts[vertex as usize].fetch_add(opposite, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::degree_order::DegreeOrder;
    use crate::graphs::{Graph, any_graph, assert_stops, large_graph, same_for_any_threads};
    use crate::memory_scratch::MemoryScratch;
    use crate::view::Limit;
    use evergraph_graph::budget::{Budget, Unlimited};
    use evergraph_graph::cancel::CancelFlag;
    use evergraph_graph::id::Direction;
    use proptest::prelude::*;
    use std::sync::Mutex;

    const PHASES: [&str; 2] = ["lists", "counts"];

    /// What is counted, and the numbers of neighbours, in memory.
    fn in_memory(graph: &Graph, with_arcs: bool) -> (Vec<u64>, Vec<u32>) {
        let (control, bound) = (Control::default(), graph.vertices.bound());
        let order = DegreeOrder::new(&graph.csr(Direction::Both), with_arcs, &control).unwrap();
        let counts =
            if with_arcs { order.opposite_arcs("test", &control) } else { order.triangles("test", &control) };
        let degrees = order.degrees(&control).unwrap();
        (order.by_vertex(counts.unwrap(), bound), order.by_vertex(degrees, bound))
    }

    fn chunked<T: Topology>(
        topology: &T,
        count: &ChunkedCount<'_>,
        control: &Control<'_>,
    ) -> Result<(Vec<u64>, Vec<u32>)> {
        let degrees: Vec<_> = (0..topology.bound()).map(|_| AtomicU32::new(0)).collect();
        let counts = count.run(topology, &degrees, control)?;
        Ok((counts, degrees.into_iter().map(AtomicU32::into_inner).collect()))
    }

    proptest! {
        // A pass for each list reads all of them.
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn chunks_of_any_size_give_the_counts_of_lists_in_memory(
            graph in any_graph(),
            with_arcs: bool,
            block_entries in 1_u64..40,
            chunk_bytes in 200_u64..3000,
        ) {
            let (scratch, control) = (MemoryScratch::default(), Control::default());
            let count = || ChunkedCount::new(&scratch, with_arcs, PHASES);
            let pieced = graph.pieced(Direction::Both);
            let want = in_memory(&graph, with_arcs);
            prop_assert_eq!(&chunked(&pieced, &count(), &control).unwrap(), &want);
            let pieces = count().in_pieces(block_entries, chunk_bytes);
            prop_assert_eq!(&chunked(&pieced, &pieces, &control).unwrap(), &want);
            let few = Graph::new(graph.vertices.bound(), &graph.edges[..graph.edges.len().min(60)]);
            let found = chunked(&few.csr(Direction::Both), &count().in_pieces(1, 0), &control).unwrap();
            prop_assert_eq!(&found, &in_memory(&few, with_arcs));
            prop_assert_eq!(scratch.files_count(), 0);
        }
    }

    #[test]
    fn many_parts_and_chunks_give_the_same_for_any_number_of_threads() {
        let (graph, scratch) = (large_graph(), MemoryScratch::default());
        let csr = graph.csr(Direction::Both);
        for with_arcs in [false, true] {
            let count = ChunkedCount::new(&scratch, with_arcs, PHASES).in_pieces(4000, 100_000);
            let found = same_for_any_threads(|| chunked(&csr, &count, &Control::default()).unwrap());
            assert!(found == in_memory(&graph, with_arcs));
        }
    }

    /// Refuses chunks of more than so many bytes.
    struct ChunkLimit(u64);

    impl Budget for ChunkLimit {
        fn reserve(&self, purpose: &str, bytes: u64) -> Result<Reservation> {
            if purpose == CHUNK_PURPOSE {
                Limit(self.0).reserve(purpose, bytes)
            } else {
                Unlimited.reserve(purpose, bytes)
            }
        }
    }

    #[test]
    fn chunks_are_as_large_as_the_budget_allows_and_refused_by_name() {
        let (graph, scratch) = (large_graph(), MemoryScratch::default());
        let csr = graph.csr(Direction::Both);
        let count = ChunkedCount::new(&scratch, false, PHASES).in_pieces(4000, u64::MAX);
        let want = in_memory(&graph, false);
        for bytes in [150_000, 700_000, u64::MAX] {
            assert!(chunked(&csr, &count, &Control::new(&ChunkLimit(bytes))).unwrap() == want);
        }
        let error = chunked(&csr, &count, &Control::new(&ChunkLimit(1000))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains(CHUNK_PURPOSE), "{error}");
    }

    #[test]
    fn it_stops_when_asked_to_in_either_phase_and_leaves_no_file() {
        let (csr, scratch) = (large_graph().csr(Direction::Both), MemoryScratch::default());
        let count = ChunkedCount::new(&scratch, true, PHASES).in_pieces(1000, 100_000);
        assert_stops(|control| {
            control.check()?;
            chunked(&csr, &count, control)
        });
        for phase in PHASES {
            let (flag, told) = (CancelFlag::default(), Mutex::new(Vec::new()));
            // In the middle: by the first progress that isn't the beginning.
            let watch = |progress: crate::control::Progress| {
                told.lock().unwrap().push(progress.fraction);
                if progress.phase == phase && progress.fraction > 0.0 {
                    flag.cancel();
                }
            };
            let control = Control::default().with_cancel(&flag).with_progress(&watch);
            assert_eq!(chunked(&csr, &count, &control).unwrap_err().kind(), ErrorKind::Cancelled);
            assert!(!told.lock().unwrap().is_empty());
            assert_eq!(scratch.files_count(), 0);
        }
    }

    #[test]
    fn a_full_disk_and_a_broken_one_are_errors_and_leave_no_file() {
        let csr = large_graph().csr(Direction::Both);
        for (bytes_max, reads_max, kind) in [
            (0, usize::MAX, ErrorKind::Limit),
            (100_000, usize::MAX, ErrorKind::Limit),
            (usize::MAX, 0, ErrorKind::Io),
            (usize::MAX, 700, ErrorKind::Io),
        ] {
            let scratch = MemoryScratch { bytes_max, reads_max, ..MemoryScratch::default() };
            let count = ChunkedCount::new(&scratch, false, PHASES).in_pieces(1000, 100_000);
            let error = chunked(&csr, &count, &Control::default()).unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert_eq!(scratch.files_count(), 0);
        }
    }

    #[test]
    fn both_sides_are_needed() {
        let (csr, scratch) = (Graph::new(2, &[(0, 1)]).csr(Direction::Out), MemoryScratch::default());
        let count = ChunkedCount::new(&scratch, false, PHASES);
        assert_eq!(chunked(&csr, &count, &Control::default()).unwrap_err().kind(), ErrorKind::Invalid);
    }
}
