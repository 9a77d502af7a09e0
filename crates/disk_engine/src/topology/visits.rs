//! Visits: which lists a visit reads, by scans or by look-ups, and hands to a delivery.

use crate::format::tree_key::ListId;
use crate::topology::delivery::Delivery;
use crate::topology::edge_layer::ScannedFile;
use crate::topology::frozen_graph::FrozenGraph;
use crate::topology::point_reads::PointReads;
use crate::topology::stretch::{Records, Wanted};
use crate::topology::walk::Walk;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::{Piece, PieceBuffer, Visit};
use std::ops::Range;

impl<F: ScannedFile> FrozenGraph<F> {
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
        let mut walk = Walk::new(self, self.subjects_of(direction)?, range)?;
        while let Some(next) = walk.next()? {
            if delivery.wants(next.vertex)
                && chosen(next.vertex)
                && !delivery.take(next.vertex, next.subject, &Records::Merged(next.run), next.file)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Delivers the lists of `vertices`, looked up one by one. Whether the visitor goes on.
    pub(super) fn look_up<V>(
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
                    let records = Records::Present { neighbors, discriminators, layers };
                    if !delivery.take(*vertex, at, &records, None)? {
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
