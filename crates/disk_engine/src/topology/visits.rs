//! Visits: scans of lists, handed to a delivery.

use crate::format::tree_key::ListId;
use crate::topology::delivery::Delivery;
use crate::topology::edge_batch::{EdgeFields, Records};
use crate::topology::edge_source::ScannedFile;
use crate::topology::frozen_graph::{FrozenGraph, PageReads};
use crate::topology::walk::Walk;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::{Piece, PieceBuffer, Visit};
use std::ops::Range;

/// Pages that a scan may read for each that look-ups read. More would be as fast where reads in sequence are much faster, but
/// took three times the bytes of the disk.
const SWEPT_PAGES: usize = 1;

/// Lists that are sampled to say whether pages are cached.
const SAMPLED_LISTS: usize = 16;

impl<F: ScannedFile> FrozenGraph<F> {
    /// Visits the lists of `range` in files and in the run.
    pub(super) fn visit_side<V>(
        &self,
        direction: Direction,
        range: Range<u32>,
        wanted: EdgeFields,
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

    /// Whether a scan from the first to the last of `vertices` reads no more pages than their look-ups, which are mostly not
    /// cached.
    pub(super) fn is_swept(&self, direction: Direction, vertices: &[u32]) -> Result<bool> {
        let [first, .., last] = vertices else { return Ok(false) };
        let (mut pages, mut looked_up) = (0, 0);
        for at in self.subjects_of(direction)? {
            let (subject, column) = (self.subjects[at].subject, self.weight_column(at));
            let list = |vertex: &u32| ListId { subject, vertex: VertexId(*vertex) };
            let lists = list(first)..=list(last);
            let of_sources = self
                .edge_sources
                .iter()
                .map(|edge_source| edge_source.pages_of_lists(&lists, column.as_ref()));
            pages += of_sources.sum::<usize>();
            looked_up += vertices.len() * (1 + usize::from(column.is_some()));
        }
        Ok(pages > 1 && pages <= looked_up * SWEPT_PAGES && !self.is_mostly_cached(direction, vertices)?)
    }

    /// Whether the lists of most of `vertices` are cached, and their weights, by a sample; also if files have none of them.
    pub(super) fn is_mostly_cached(&self, direction: Direction, vertices: &[u32]) -> Result<bool> {
        let (mut cached, mut others) = (0, 0);
        for vertex in vertices.iter().step_by(vertices.len().div_ceil(SAMPLED_LISTS).max(1)) {
            for at in self.subjects_of(direction)? {
                let list = ListId { subject: self.subjects[at].subject, vertex: VertexId(*vertex) };
                let column = self.weight_column(at);
                let of_sources = self.edge_sources.iter();
                let of_sources = of_sources
                    .filter_map(|edge_source| edge_source.is_cached(list, self.timestamp, column.as_ref()));
                match of_sources.reduce(|one, other| one && other) {
                    Some(true) => cached += 1,
                    Some(false) => others += 1,
                    None => {}
                }
            }
        }
        Ok(cached >= others)
    }

    /// Counts the edges of each vertex of `range` into `count`, which is called once or more for each.
    pub(super) fn count_edges(
        &self,
        direction: Direction,
        range: Range<u32>,
        mut count: impl FnMut(u32, usize),
    ) -> Result<()> {
        let mut buffer = PieceBuffer::default();
        let mut delivery = Delivery::new(self, &mut buffer, EdgeFields::Ends, |vertex, piece: Piece<'_>| {
            count(vertex, piece.neighbors.len());
            Visit::Continue
        });
        self.scan(direction, range, |_| true, &mut delivery)?;
        delivery.finish()
    }
}
