//! Disk topology: the lists of one snapshot, streamed from files and from the run of memory graphs.
//!
//! A visit of a range costs a scan of each layer that the range's groups have lists in, and a merge of the lists
//! that several layers have. Visits of one range after the other read every page once, except for those at the cuts.

use crate::format::subject::{EdgeSide, Subject};
use crate::format::tree_key::ListId;
use crate::groups::GroupTable;
use crate::topology::delivery::{Delivery, Records, Wanted};
use crate::topology::edge_layer::{EdgeLayer, ScannedFile};
use crate::topology::freeze::Freezer;
use crate::topology::point_reads::PointReads;
use crate::topology::walk::Walk;
use crate::tree::SourceHandle;
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::filter::Filter;
use evergraph_graph::id::{Direction, GROUP_SIZE, KeyId, TypeId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::{Piece, PieceBuffer, Projection, Topology, Visit};
use evergraph_graph::vertex_set::VertexSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Vertices of a frontier that are judged together: scattered or dense.
const BLOCK_VERTICES: usize = 256;
/// A block is scanned if it has one of so many vertices between its first and its last one.
const SCANNED_SHARE: u64 = 8;
/// Up to so many files and subjects are scanned together over any range.
const WIDE_SCANS_MAX: usize = 4;
/// Vertices and edges of a range that more of them are scanned over: some MiB of pages in all.
const SCANNED_WORK: u64 = 1 << 20;
/// A block of fewer vertices is looked up one by one.
const SCANNED_VERTICES_MIN: usize = 8;

/// The lists of one edge type on one side.
#[derive(Debug)]
pub(super) struct FrozenSubject {
    /// Which records they are.
    pub subject: Subject,
    pub edge_type: TypeId,
    pub side: EdgeSide,
    /// The type's name, for errors.
    pub type_name: Arc<str>,
    /// The groups in scope that may have such lists.
    pub groups: VertexSet,
    /// Whether the lists may name vertices that are not in scope.
    pub leaves_scope: bool,
}

/// The property that is the weight of an edge.
#[derive(Debug)]
pub(super) struct FrozenWeight {
    pub key: KeyId,
    /// The key's name, for errors.
    pub name: Arc<str>,
    /// Of an edge without the property.
    pub missing: Option<f64>,
}

/// Adjacency lists of one snapshot, for algorithms.
///
/// A weight that is missing or is no number fails the visit that meets the edge, with `invalid`; in the memory engine
/// it fails the freeze. Visits fail with `io` and `corrupt` too, as readers of files do.
///
/// # Concurrency
/// Nothing changes once it is frozen; any thread visits. Each visit opens scans of its own.
pub struct DiskTopology<F> {
    pub(super) bound: u32,
    pub(super) timestamp: Timestamp,
    pub(super) vertices: VertexSet,
    pub(super) direction: Direction,
    pub(super) edge_count: u64,
    /// The newest first.
    pub(super) layers: Vec<EdgeLayer<F>>,
    /// Out sides before in sides, by type.
    pub(super) subjects: Vec<FrozenSubject>,
    pub(super) filters: Vec<Filter>,
    pub(super) weight: Option<FrozenWeight>,
    /// Vertices and edges of all groups before each, of both sides, as far as they were frozen and as if nothing were
    /// left out; one more than there are groups.
    pub(super) work_before: Vec<u64>,
    pub(super) _reservations: Vec<Reservation>,
}

impl<F> fmt::Debug for DiskTopology<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskTopology")
            .field("timestamp", &self.timestamp)
            .field("vertices", &self.vertices.len())
            .field("edges", &self.edge_count)
            .finish_non_exhaustive()
    }
}

impl<F: ScannedFile> DiskTopology<F> {
    /// Freezes `projection` as of `timestamp`, which the caller registered, out of the sources that its pin has,
    /// the newest first.
    ///
    /// Cost: a sort of the memory graphs' records, the live bits of every group in scope, and a look at each source for
    /// each group and edge type. A pass over the lists if the projection has filters of edges, chosen vertices, or edges
    /// that leave its labels. Memory, reserved: a bit a vertex, 8 bytes a group, and those of the
    /// [`SortedRun`](crate::memory_graph::sorted_run::SortedRun).
    ///
    /// # Errors
    /// `limit` if the budget refuses; `io` or `corrupt` if a file cannot be read, or sources contradict each other.
    pub fn freeze(
        sources: Vec<SourceHandle<F>>,
        timestamp: Timestamp,
        groups: &GroupTable,
        catalogue: &Catalogue,
        projection: &Projection,
        budget: &Arc<dyn Budget>,
    ) -> Result<Self> {
        Freezer { timestamp, groups, catalogue, projection, budget }.freeze(sources)
    }

    /// Whether visits for this read properties of edges.
    #[inline]
    pub(super) fn reads_properties(&self, wanted: Wanted) -> bool {
        !self.filters.is_empty() || (self.weight.is_some() && wanted == Wanted::Weights)
    }

    /// The places of the subjects that a visit of `direction` reads, in its order.
    fn subjects_of(&self, direction: Direction) -> Result<impl Iterator<Item = usize> + '_> {
        for side in direction.sides() {
            if self.direction != Direction::Both && self.direction != *side {
                return Err(Error::invalid(format!(
                    "the {side:?} side was not frozen: the projection asked for {:?}",
                    self.direction
                )));
            }
        }
        let sides = EdgeSide::of(direction);
        Ok((0..self.subjects.len()).filter(move |at| sides.contains(&self.subjects[*at].side)))
    }

    /// Delivers the lists of those vertices of `range` that are `chosen`; asked in order. Whether the visitor goes on.
    fn scan<V>(
        &self,
        direction: Direction,
        range: Range<u32>,
        mut chosen: impl FnMut(u32) -> bool,
        delivery: &mut Delivery<'_, F, V>,
    ) -> Result<bool>
    where
        V: FnMut(u32, Piece<'_>) -> Visit,
    {
        let mut start = range.start;
        while start < range.end {
            let end = self.scan_end(start, range.end);
            let mut walk = Walk::new(self, self.subjects_of(direction)?, start..end)?;
            while let Some(next) = walk.next()? {
                if delivery.wants(next.vertex)
                    && chosen(next.vertex)
                    && !delivery.take(next.vertex, next.subject, &Records::Merged(next.run))?
                {
                    return Ok(false);
                }
            }
            start = end;
        }
        Ok(true)
    }

    /// Where a scan from `start` on ends, to be followed by another one. Over a long range, many files and types at once
    /// would each hold a window of some MiB.
    fn scan_end(&self, start: u32, end: u32) -> u32 {
        if self.subjects.len() * self.layers.len() <= WIDE_SCANS_MAX {
            return end;
        }
        end_of_work(&self.work_before, SCANNED_WORK, start).min(end)
    }

    /// Delivers the lists of `vertices`, looked up one by one. Whether the visitor goes on.
    fn look_up<V>(
        &self,
        direction: Direction,
        vertices: &[u32],
        reads: &mut PointReads,
        delivery: &mut Delivery<'_, F, V>,
    ) -> Result<bool>
    where
        V: FnMut(u32, Piece<'_>) -> Visit,
    {
        for vertex in vertices {
            let group = VertexId(*vertex).group().0;
            for at in self.subjects_of(direction)? {
                let subject = &self.subjects[at];
                if !subject.groups.contains(group) || !delivery.wants(*vertex) {
                    continue;
                }
                let list = ListId { subject: subject.subject, vertex: VertexId(*vertex) };
                reads.begin(self, list)?;
                while delivery.wants(*vertex) && reads.next(self, list)? {
                    let PointReads { neighbors, discriminators, layers, .. } = &*reads;
                    if !delivery.take(*vertex, at, &Records::Present { neighbors, discriminators, layers })? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    /// Counts the edges of each vertex of `range` into `count`, which is called once or more for each.
    pub(super) fn count_edges(
        &self,
        direction: Direction,
        range: Range<u32>,
        mut count: impl FnMut(u32, usize),
    ) -> Result<()> {
        let mut buffer = PieceBuffer::default();
        let mut delivery = Delivery::new(self, &mut buffer, Wanted::Ends, |vertex, piece: Piece<'_>| {
            count(vertex, piece.neighbors.len());
            Visit::Continue
        });
        self.scan(direction, range, |_| true, &mut delivery)?;
        delivery.finish()
    }
}

impl<F: ScannedFile> Topology for DiskTopology<F> {
    #[inline]
    fn bound(&self) -> u32 {
        self.bound
    }

    #[inline]
    fn vertices(&self) -> &VertexSet {
        &self.vertices
    }

    #[inline]
    fn direction(&self) -> Direction {
        self.direction
    }

    #[inline]
    fn edge_count(&self) -> u64 {
        self.edge_count
    }

    /// Cost: a scan of the lists; with filters, their properties too.
    fn degrees(&self, direction: Direction, range: Range<u32>, degrees: &mut [u32]) -> Result<()> {
        degrees.fill(0);
        let start = range.start;
        self.count_edges(direction, range, |vertex, count| degrees[(vertex - start) as usize] += count as u32)
    }

    /// Cost: a scan of the range in each layer, outside of the page cache.
    fn visit<V>(
        &self,
        direction: Direction,
        range: Range<u32>,
        buffer: &mut PieceBuffer,
        visitor: V,
    ) -> Result<()>
    where
        V: FnMut(u32, Piece<'_>) -> Visit,
    {
        let mut delivery = Delivery::new(self, buffer, Wanted::Weights, visitor);
        if self.scan(direction, range, |_| true, &mut delivery)? { delivery.finish() } else { Ok(()) }
    }

    /// `vertices` ascend, each once. Cost: where they are dense, a scan that skips the others; else a look-up of each
    /// list in each layer, through the page cache.
    fn visit_each<V>(
        &self,
        direction: Direction,
        vertices: &[u32],
        buffer: &mut PieceBuffer,
        visitor: V,
    ) -> Result<()>
    where
        V: FnMut(u32, Piece<'_>) -> Visit,
    {
        debug_assert!(vertices.is_sorted_by(|left, right| left < right), "a frontier ascends");
        // Also says whether the side was frozen.
        let _ = self.subjects_of(direction)?;
        let mut delivery = Delivery::new(self, buffer, Wanted::Weights, visitor);
        let mut reads = PointReads::default();
        for (block, is_dense) in (Blocks { vertices }) {
            let goes_on = if is_dense {
                let mut left = block.iter().peekable();
                let is_chosen = |vertex: u32| {
                    while left.next_if(|next| **next < vertex).is_some() {}
                    left.peek().is_some_and(|next| **next == vertex)
                };
                let end = block[block.len() - 1].saturating_add(1).min(self.bound);
                self.scan(direction, block[0]..end, is_chosen, &mut delivery)?
            } else {
                self.look_up(direction, block, &mut reads, &mut delivery)?
            };
            if !goes_on {
                return Ok(());
            }
        }
        delivery.finish()
    }

    /// Cuts by edges of whole groups, and evenly inside a group.
    fn cuts(&self, parts: usize) -> Vec<u32> {
        let total = self.work_before.last().copied().unwrap_or(0);
        let parts = parts.max(1) as u64;
        let mut cuts = vec![0];
        for part in 1..parts {
            let wanted = (u128::from(total) * u128::from(part) / u128::from(parts)) as u64;
            let group = self.work_before.partition_point(|before| *before <= wanted).saturating_sub(1);
            let Some(end) = self.work_before.get(group + 1) else { break };
            let before = self.work_before[group];
            let of_group = u128::from(wanted - before) * u128::from(GROUP_SIZE) / u128::from(end - before);
            let vertex = group as u64 * u64::from(GROUP_SIZE) + of_group as u64;
            cuts.push(u32::try_from(vertex).map_or(self.bound, |vertex| vertex.min(self.bound)));
        }
        cuts.push(self.bound);
        cuts
    }
}

/// The first vertex behind whole groups, that of `start` and more, that have at least `work`; `work_before` is that of all
/// groups before each. The highest number if there is not as much.
fn end_of_work(work_before: &[u64], work: u64, start: u32) -> u32 {
    let group = VertexId(start).group().0 as usize;
    let Some(before) = work_before.get(group) else { return u32::MAX };
    let end = work_before.partition_point(|one| *one < before.saturating_add(work)).max(group + 1);
    if end >= work_before.len() {
        return u32::MAX;
    }
    u32::try_from(end as u64 * u64::from(GROUP_SIZE)).unwrap_or(u32::MAX)
}

/// The blocks of a frontier, and whether each is dense. Dense ones that follow each other closely are one.
struct Blocks<'v> {
    vertices: &'v [u32],
}

impl<'v> Iterator for Blocks<'v> {
    type Item = (&'v [u32], bool);

    fn next(&mut self) -> Option<Self::Item> {
        let vertices = self.vertices;
        let mut count = vertices.len().min(BLOCK_VERTICES);
        let dense = |block: &[u32]| match block {
            [first, .., last] if block.len() >= SCANNED_VERTICES_MIN => {
                u64::from(last - first) < block.len() as u64 * SCANNED_SHARE
            }
            _ => false,
        };
        let is_dense = dense(vertices.get(..count).filter(|block| !block.is_empty())?);
        while is_dense && count < vertices.len() {
            // The gap before the block that follows counts as its own.
            let end = vertices.len().min(count + BLOCK_VERTICES);
            if !dense(&vertices[count - 1..end]) {
                break;
            }
            count = end;
        }
        let (block, left) = vertices.split_at(count);
        self.vertices = left;
        Some((block, is_dense))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_scan_ends_behind_the_group_with_which_there_is_enough_work() {
        let work_before = [0, 10, 10, 30, 31, 90];
        let end = |work, group: u32| end_of_work(&work_before, work, group * GROUP_SIZE + 7) / GROUP_SIZE;
        assert_eq!([end(1, 0), end(10, 0), end(11, 0), end(30, 0)], [1, 1, 3, 3]);
        assert_eq!([end(0, 1), end(1, 1), end(20, 2), end(21, 2)], [2, 3, 3, 4]);
        let none = u32::MAX / GROUP_SIZE;
        assert_eq!([end(91, 0), end(90, 0), end(1, 4), end(1, 9)], [none; 4], "the range ends first");
    }

    proptest! {
        #[test]
        fn blocks_are_the_frontier_in_order_and_dense_ones_are_worth_a_scan(
            gaps in proptest::collection::vec(prop_oneof![8 => 1_u32..9, 1 => 1_u32..2000], 0..1500),
        ) {
            let add = |sum: &mut u32, gap: &u32| {
                *sum += gap;
                Some(*sum)
            };
            let frontier: Vec<u32> = gaps.iter().scan(0, add).collect();
            let (mut seen, mut blocks) = (Vec::new(), 0);
            for (block, is_dense) in (Blocks { vertices: &frontier }) {
                seen.extend_from_slice(block);
                blocks += 1;
                let span = u64::from(block[block.len() - 1] - block[0]);
                if is_dense {
                    prop_assert!(block.len() >= SCANNED_VERTICES_MIN);
                    // The vertex before each further part counts twice.
                    prop_assert!(span < (block.len() + block.len() / 100) as u64 * SCANNED_SHARE);
                } else {
                    prop_assert!(block.len() <= BLOCK_VERTICES);
                }
            }
            prop_assert_eq!(&seen, &frontier);
            prop_assert!(blocks <= frontier.len().div_ceil(BLOCK_VERTICES));
        }
    }
}
