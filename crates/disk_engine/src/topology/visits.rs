//! Visits: scans of lists, handed to a delivery.

use crate::topology::delivery::Delivery;
use crate::topology::edge_layer::ScannedFile;
use crate::topology::frozen_graph::{FrozenGraph, PageReads};
use crate::topology::stretch::{Records, Wanted};
use crate::topology::walk::Walk;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{Piece, PieceBuffer, Visit};
use std::ops::Range;

impl<F: ScannedFile> FrozenGraph<F> {
    /// Visits the lists of `range` in files and in the run.
    pub(super) fn visit_side<V>(
        &self,
        direction: Direction,
        range: Range<u32>,
        wanted: Wanted,
        buffer: &mut PieceBuffer,
        visitor: V,
    ) -> Result<()>
    where
        V: FnMut(u32, Piece<'_>) -> Visit,
    {
        let mut delivery = Delivery::new(self, buffer, wanted, visitor);
        if self.scan(direction, range, |_| true, &mut delivery)? { delivery.finish() } else { Ok(()) }
    }

    /// Delivers the lists of those vertices of `range` that are `chosen`; asked in order. Whether the visitor goes on.
    pub(super) fn scan<V>(
        &self,
        direction: Direction,
        range: Range<u32>,
        mut chosen: impl FnMut(u32) -> bool,
        delivery: &mut Delivery<'_, F, V>,
    ) -> Result<bool>
    where
        V: FnMut(u32, Piece<'_>) -> Visit,
    {
        let mut walk = Walk::new(self, self.subjects_of(direction)?, range, PageReads::Ahead)?;
        while let Some(next) = walk.next()? {
            if delivery.wants(next.vertex)
                && chosen(next.vertex)
                && !delivery.take(
                    next.vertex,
                    next.subject,
                    &Records::Merged(next.run),
                    next.file,
                    PageReads::Ahead,
                )?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Delivers the lists of `vertices`, some of those between the first and the last one. Whether the visitor goes on.
    pub(super) fn scan_chosen<V>(
        &self,
        direction: Direction,
        vertices: &[u32],
        delivery: &mut Delivery<'_, F, V>,
    ) -> Result<bool>
    where
        V: FnMut(u32, Piece<'_>) -> Visit,
    {
        let [first, ..] = vertices else { return Ok(true) };
        let end = vertices[vertices.len() - 1].saturating_add(1).min(self.bound);
        let mut left = vertices.iter().peekable();
        let is_chosen = |vertex: u32| {
            while left.next_if(|next| **next < vertex).is_some() {}
            left.peek().is_some_and(|next| **next == vertex)
        };
        self.scan(direction, *first..end, is_chosen, delivery)
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
