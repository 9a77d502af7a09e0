//! Lists of a test, flat or in pieces, behind one type and one kind of visitor: so each kernel is compiled once for all of
//! its tests. What a visitor costs when it is inlined, as it is for users, is for benchmarks.

use crate::csr::StaticCsr;
use crate::pieced::Pieced;
use evergraph_graph::budget::Budget;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{Piece, PieceBuffer, Topology, Turn, Visit};
use evergraph_graph::vertex_set::VertexSet;
use std::ops::Range;

/// See the file's caption.
pub(crate) enum AnyLists {
    /// In one array.
    Flat(StaticCsr),
    /// In the hardest form.
    Pieced(Pieced),
}

/// Does the same with either.
macro_rules! with_lists {
    ($any:expr, $lists:ident => $call:expr) => {
        match $any {
            AnyLists::Flat($lists) => $call,
            AnyLists::Pieced($lists) => $call,
        }
    };
}

impl Topology for AnyLists {
    fn bound(&self) -> u32 {
        with_lists!(self, lists => lists.bound())
    }

    fn vertices(&self) -> &VertexSet {
        with_lists!(self, lists => lists.vertices())
    }

    fn direction(&self) -> Direction {
        with_lists!(self, lists => lists.direction())
    }

    fn edge_count(&self) -> u64 {
        with_lists!(self, lists => lists.edge_count())
    }

    fn degrees(&self, direction: Direction, range: Range<u32>, degrees: &mut [u32]) -> Result<()> {
        with_lists!(self, lists => lists.degrees(direction, range, degrees))
    }

    fn visit<F>(
        &self,
        direction: Direction,
        range: Range<u32>,
        buffer: &mut PieceBuffer,
        mut visitor: F,
    ) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        let visitor: &mut dyn FnMut(u32, Piece<'_>) -> Visit = &mut visitor;
        with_lists!(self, lists => lists.visit(direction, range, buffer, visitor))
    }

    fn visit_pieces<F>(
        &self,
        direction: Direction,
        range: Range<u32>,
        buffer: &mut PieceBuffer,
        mut visitor: F,
    ) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>, Turn),
    {
        let visitor: &mut dyn FnMut(u32, Piece<'_>, Turn) = &mut visitor;
        with_lists!(self, lists => lists.visit_pieces(direction, range, buffer, visitor))
    }

    fn visit_each<F>(
        &self,
        direction: Direction,
        vertices: &[u32],
        buffer: &mut PieceBuffer,
        mut visitor: F,
    ) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        let visitor: &mut dyn FnMut(u32, Piece<'_>) -> Visit = &mut visitor;
        with_lists!(self, lists => lists.visit_each(direction, vertices, buffer, visitor))
    }

    fn coalesced(
        &self,
        direction: Direction,
        budget: &dyn Budget,
        cancel: &CancelFlag,
    ) -> Result<Option<Self>> {
        match self {
            Self::Flat(lists) => Ok(lists.coalesced(direction, budget, cancel)?.map(Self::Flat)),
            Self::Pieced(lists) => Ok(lists.coalesced(direction, budget, cancel)?.map(Self::Pieced)),
        }
    }

    fn cuts(&self, parts: usize) -> Vec<u32> {
        with_lists!(self, lists => lists.cuts(parts))
    }
}
