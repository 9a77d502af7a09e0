//! Lists: the one type that kernels are compiled for, over a snapshot's frozen lists, a static array or a packed graph.
//!
//! A call costs one match; the loop within is that of the lists themselves.

use evergraph_algorithms::copied::CopiedLists;
use evergraph_algorithms::csr::StaticCsr;
use evergraph_engines::topology::AnyTopology;
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::scratch::Scratch;
use evergraph_graph::topology::{Piece, PieceBuffer, Topology, Turn, Visit};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_packed::memory::file::FileMemory;
use evergraph_packed::view::TwoSided;
use std::ops::Range;
use std::sync::Arc;

/// Lists of neighbours.
pub enum Lists {
    /// Those of a snapshot.
    Frozen(AnyTopology),
    /// A static array, and the memory that is reserved for it.
    Static(Arc<StaticCsr>, Vec<Reservation>),
    /// Those of a packed graph.
    Packed(Arc<PackedView>),
}

/// A view of a packed graph in files, or in memory that looks like them.
pub type PackedView = TwoSided<FileMemory>;

impl From<AnyTopology> for Lists {
    fn from(lists: AnyTopology) -> Self {
        Self::Frozen(lists)
    }
}

impl From<CopiedLists> for Lists {
    fn from(copied: CopiedLists) -> Self {
        Self::Static(Arc::new(copied.lists), copied.reserved)
    }
}

impl From<Arc<StaticCsr>> for Lists {
    fn from(lists: Arc<StaticCsr>) -> Self {
        Self::Static(lists, Vec::new())
    }
}

impl From<StaticCsr> for Lists {
    fn from(lists: StaticCsr) -> Self {
        Self::from(Arc::new(lists))
    }
}

impl From<Arc<PackedView>> for Lists {
    fn from(lists: Arc<PackedView>) -> Self {
        Self::Packed(lists)
    }
}

/// The same call on any.
macro_rules! either {
    ($lists:expr, $inner:ident => $call:expr) => {
        match $lists {
            Lists::Frozen($inner) => $call,
            Lists::Static($inner, _) => $call,
            Lists::Packed($inner) => $call,
        }
    };
}

impl Topology for Lists {
    #[inline]
    fn bound(&self) -> u32 {
        either!(self, lists => lists.bound())
    }

    #[inline]
    fn vertices(&self) -> &VertexSet {
        either!(self, lists => lists.vertices())
    }

    #[inline]
    fn direction(&self) -> Direction {
        either!(self, lists => lists.direction())
    }

    #[inline]
    fn edge_count(&self) -> u64 {
        either!(self, lists => lists.edge_count())
    }

    #[inline]
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
    fn visit_pieces<F>(
        &self,
        direction: Direction,
        range: Range<u32>,
        buffer: &mut PieceBuffer,
        visitor: F,
    ) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>, Turn),
    {
        either!(self, lists => lists.visit_pieces(direction, range, buffer, visitor))
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

    #[inline]
    fn scratch(&self) -> Option<&dyn Scratch> {
        either!(self, lists => lists.scratch())
    }

    fn coalesced(
        &self,
        direction: Direction,
        budget: &dyn Budget,
        cancel: &CancelFlag,
    ) -> Result<Option<Self>> {
        match self {
            Self::Frozen(lists) => Ok(lists.coalesced(direction, budget, cancel)?.map(Self::Frozen)),
            // Arrays already.
            Self::Static(..) | Self::Packed(_) => Ok(None),
        }
    }

    fn reads_from_disk(&self) -> bool {
        either!(self, lists => lists.reads_from_disk())
    }

    #[inline]
    fn cuts(&self, parts: usize) -> Vec<u32> {
        either!(self, lists => lists.cuts(parts))
    }
}
