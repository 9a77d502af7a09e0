//! No topology: what a snapshot freezes whose graph is divided among nodes, as long as lists are gathered by nobody. It has no
//! values.

use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{Piece, PieceBuffer, Topology, Visit};
use evergraph_graph::vertex_set::VertexSet;
use std::ops::Range;

/// Frozen lists that nobody can have.
#[derive(Clone, Copy, Debug)]
pub enum NoTopology {}

impl Topology for NoTopology {
    fn bound(&self) -> u32 {
        match *self {}
    }

    fn vertices(&self) -> &VertexSet {
        match *self {}
    }

    fn direction(&self) -> Direction {
        match *self {}
    }

    fn edge_count(&self) -> u64 {
        match *self {}
    }

    fn degrees(&self, _: Direction, _: Range<u32>, _: &mut [u32]) -> Result<()> {
        match *self {}
    }

    fn visit<F>(&self, _: Direction, _: Range<u32>, _: &mut PieceBuffer, _: F) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        match *self {}
    }

    fn visit_each<F>(&self, _: Direction, _: &[u32], _: &mut PieceBuffer, _: F) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        match *self {}
    }
}
