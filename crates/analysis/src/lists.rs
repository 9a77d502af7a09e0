//! Lists: the one type that kernels are compiled for, over a snapshot's frozen lists or a static array.
//!
//! A call costs one match; the loop within is that of the lists themselves.

use crate::snapshot::FrozenLists;
use evergraph_algorithms::copied::CopiedLists;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{Piece, PieceBuffer, Topology, Visit};
use evergraph_graph::vertex_set::VertexSet;
use std::ops::Range;

/// Lists of neighbours.
pub enum Lists {
    /// Those of a snapshot.
    Frozen(FrozenLists),
    /// Those of a view that can't be frozen.
    Copied(CopiedLists),
}

/// The same call on either.
macro_rules! either {
    ($lists:expr, $inner:ident => $call:expr) => {
        match $lists {
            Lists::Frozen($inner) => $call,
            Lists::Copied(CopiedLists { lists: $inner, .. }) => $call,
        }
    };
}

impl Topology for Lists {
    fn bound(&self) -> u32 {
        either!(self, lists => lists.bound())
    }

    fn vertices(&self) -> &VertexSet {
        either!(self, lists => lists.vertices())
    }

    fn direction(&self) -> Direction {
        either!(self, lists => lists.direction())
    }

    fn edge_count(&self) -> u64 {
        either!(self, lists => lists.edge_count())
    }

    fn degrees(&self, direction: Direction, range: Range<u32>, degrees: &mut [u32]) -> Result<()> {
        either!(self, lists => lists.degrees(direction, range, degrees))
    }

    #[inline]
    fn visit<F>(
        &self,
        direction: Direction,
        range: Range<u32>,
        buffer: &mut PieceBuffer,
        visitor: F,
    ) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        either!(self, lists => lists.visit(direction, range, buffer, visitor))
    }

    #[inline]
    fn visit_each<F>(
        &self,
        direction: Direction,
        vertices: &[u32],
        buffer: &mut PieceBuffer,
        visitor: F,
    ) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        either!(self, lists => lists.visit_each(direction, vertices, buffer, visitor))
    }

    fn cuts(&self, parts: usize) -> Vec<u32> {
        either!(self, lists => lists.cuts(parts))
    }
}
