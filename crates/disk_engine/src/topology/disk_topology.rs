//! Disk topology: the lists of one snapshot, streamed from files and from the run of memory graphs.
//!
//! A visit of a range costs a scan of each source that the range's groups have lists in, and a merge of the lists
//! that several sources have. Visits of one range after the other read every page once, except for those at the cuts.

use crate::groups::GroupTable;
use crate::spill::scratch::SpillFolder;
use crate::topology::delivery::Delivery;
use crate::topology::edge_batch::EdgeFields;
use crate::topology::edge_source::{EdgeSource, ScannedFile};
use crate::topology::freeze::Freezer;
use crate::topology::frozen_graph::FrozenGraph;
use crate::topology::look_ups::LookUps;
use crate::tree_state::SourceHandle;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, GROUP_SIZE};
use evergraph_graph::scratch::Scratch;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::{Piece, PieceBuffer, Topology, Visit};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_storage::engine::FreezeRequest;
use std::fmt;
use std::ops::Range;

/// Vertices of a frontier that are judged together: scattered or dense.
const BLOCK_VERTICES: usize = 256;
/// A block is scanned if it has one of so many vertices between its first and its last one.
const SCANNED_SHARE: u64 = 8;
/// A block of fewer vertices is looked up one by one.
const SCANNED_VERTICES_MIN: usize = 8;

/// Vertices that are looked at to say whether lists are cached.
const SAMPLED_VERTICES: u32 = 256;

/// Adjacency lists of one snapshot, for algorithms.
///
/// A weight that is missing or is no number fails the visit that meets the edge, with `invalid`; in the memory engine
/// it fails the freeze. Visits fail with `io` and `corrupt` too, as readers of files do.
///
/// # Concurrency
/// Nothing changes once it is frozen; any thread visits. Each visit opens scans of its own.
pub struct DiskTopology<F> {
    /// Boxed, since the lists of any engine are one type above.
    frozen: Box<FrozenGraph<F>>,
}

impl<F> fmt::Debug for DiskTopology<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FrozenGraph { timestamp, vertices, edge_count, .. } = &*self.frozen;
        f.debug_struct("DiskTopology")
            .field("timestamp", timestamp)
            .field("vertices", &vertices.len())
            .field("edges", edge_count)
            .finish_non_exhaustive()
    }
}

impl<F: ScannedFile> DiskTopology<F> {
    /// Freezes `projection` as of `timestamp`, which the caller registered, out of the sources that its pin has,
    /// the newest first.
    ///
    /// Cost: a sort of the memory graphs' records, the live bits of every group in scope, and a look at each source for
    /// each group and edge type. A pass over the lists if the projection has filters of edges, chosen vertices, or edges
    /// that leave its labels. In sides with weights or filters cost two passes over the out lists, and 12 bytes an edge and
    /// 8 a vertex; where the budget refuses that, a pass, a sort in temporary files of `spill`, and some MiB. Memory,
    /// reserved: a bit a vertex, 8 bytes a group, those of the
    /// [`SortedRun`](crate::memory_graph::sorted_run::SortedRun), and up to 12 MiB for the window of all visits.
    ///
    /// # Errors
    /// `limit` if the budget refuses, or the disk is full; `io` or `corrupt` if a file cannot be read, or sources contradict
    /// each other; `cancelled`, while in sides are made.
    pub fn freeze(
        sources: Vec<SourceHandle<F>>,
        timestamp: Timestamp,
        groups: &GroupTable,
        request: &FreezeRequest<'_>,
        spill: Option<&SpillFolder>,
    ) -> Result<Self> {
        let freezer = Freezer { timestamp, groups, request: *request, spill };
        Ok(Self { frozen: Box::new(freezer.freeze(sources)?) })
    }

    /// The share of edges whose newest records lay in memory graphs when this was frozen, 0 to 1: an estimate, since
    /// deletions and replacements count as edges.
    #[must_use]
    pub fn fresh_share(&self) -> f64 {
        let records: usize = self.frozen.edge_sources.iter().map(EdgeSource::graph_records).sum();
        let listed = self.frozen.edge_count * self.frozen.direction.sides().len() as u64;
        match listed {
            0 => 0.0,
            _ => (records as f64 / listed as f64).min(1.0),
        }
    }

    /// Visits lists that lie in files and in the run.
    fn visit_chosen<V>(
        &self,
        direction: Direction,
        vertices: &[u32],
        buffer: &mut PieceBuffer,
        visitor: V,
    ) -> Result<()>
    where
        V: FnMut(u32, Piece<'_>) -> Visit,
    {
        let mut delivery = Delivery::new(&self.frozen, buffer, EdgeFields::Weights, visitor);
        let mut look_ups = LookUps::new(&self.frozen);
        for (block, is_dense) in (Blocks { vertices }) {
            let goes_on = if is_dense || self.frozen.is_swept(direction, block)? {
                self.frozen.scan_chosen(direction, block, &mut delivery)?
            } else {
                look_ups.deliver(direction, block, &mut delivery)?
            };
            if !goes_on {
                return Ok(());
            }
        }
        delivery.finish()
    }
}

impl<F: ScannedFile> Topology for DiskTopology<F> {
    #[inline]
    fn bound(&self) -> u32 {
        self.frozen.bound
    }

    #[inline]
    fn vertices(&self) -> &VertexSet {
        &self.frozen.vertices
    }

    #[inline]
    fn direction(&self) -> Direction {
        self.frozen.direction
    }

    #[inline]
    fn edge_count(&self) -> u64 {
        self.frozen.edge_count
    }

    /// Cost: a scan of the lists; with filters, their properties too.
    fn degrees(&self, direction: Direction, range: Range<u32>, degrees: &mut [u32]) -> Result<()> {
        degrees.fill(0);
        let (start, mut direction) = (range.start, direction);
        let _ = self.frozen.subjects_of(direction)?;
        if let Some(incoming) = self.frozen.incoming_of(direction) {
            let in_scope = self.frozen.vertices.range(range.clone());
            incoming
                .degrees(in_scope, |vertex, degree| degrees[(vertex - start) as usize] = degree as u32)?;
            if direction == Direction::In {
                return Ok(());
            }
            direction = Direction::Out;
        }
        self.frozen
            .count_edges(direction, range, |vertex, count| degrees[(vertex - start) as usize] += count as u32)
    }

    /// Cost: a scan of the range in each source, outside of the page cache.
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
        let Some(incoming) = self.frozen.incoming_of(direction) else {
            return self.frozen.visit_side(direction, range, EdgeFields::Weights, buffer, visitor);
        };
        let _ = self.frozen.subjects_of(direction)?;
        let vertices = self.frozen.vertices.range(range.clone());
        let visit_out = |visitor: &mut dyn FnMut(u32, Piece<'_>) -> Visit| match direction {
            Direction::Both => {
                self.frozen.visit_side(Direction::Out, range, EdgeFields::Weights, buffer, visitor)
            }
            Direction::In | Direction::Out => Ok(()),
        };
        incoming.visit_after_out(vertices, visit_out, visitor)
    }

    /// `vertices` ascend, each once. Cost: where they are dense, or most pages between them would be read from the disk
    /// anyway, a scan that skips the others; else a look-up of each
    /// list in each source, through the page cache.
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
        let _ = self.frozen.subjects_of(direction)?;
        let Some(incoming) = self.frozen.incoming_of(direction) else {
            return self.visit_chosen(direction, vertices, buffer, visitor);
        };
        let in_scope = vertices.iter().copied().filter(|vertex| self.frozen.vertices.contains(*vertex));
        let visit_out = |visitor: &mut dyn FnMut(u32, Piece<'_>) -> Visit| match direction {
            Direction::Both => self.visit_chosen(Direction::Out, vertices, buffer, visitor),
            Direction::In | Direction::Out => Ok(()),
        };
        incoming.visit_after_out(in_scope, visit_out, visitor)
    }

    fn reads_from_disk(&self) -> bool {
        let vertices = &self.frozen.vertices;
        let step = (self.frozen.bound / SAMPLED_VERTICES).max(1) as usize;
        let sample: Vec<u32> =
            (0..self.frozen.bound).step_by(step).filter(|vertex| vertices.contains(*vertex)).collect();
        self.frozen.is_mostly_cached(self.frozen.direction.sides()[0], &sample).is_ok_and(|cached| !cached)
    }

    #[inline]
    fn scratch(&self) -> Option<&dyn Scratch> {
        self.frozen.spill.as_ref().map(|folder| folder as &dyn Scratch)
    }

    /// Cuts by edges of whole groups, and evenly inside a group.
    fn cuts(&self, parts: usize) -> Vec<u32> {
        let work_before = &self.frozen.work_before;
        let total = work_before.last().copied().unwrap_or(0);
        let parts = parts.max(1) as u64;
        let mut cuts = vec![0];
        for part in 1..parts {
            let wanted = (u128::from(total) * u128::from(part) / u128::from(parts)) as u64;
            let group = work_before.partition_point(|before| *before <= wanted).saturating_sub(1);
            let Some(end) = work_before.get(group + 1) else { break };
            let before = work_before[group];
            let of_group = u128::from(wanted - before) * u128::from(GROUP_SIZE) / u128::from(end - before);
            let vertex = group as u64 * u64::from(GROUP_SIZE) + of_group as u64;
            cuts.push(
                u32::try_from(vertex).map_or(self.frozen.bound, |vertex| vertex.min(self.frozen.bound)),
            );
        }
        cuts.push(self.frozen.bound);
        cuts
    }
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
