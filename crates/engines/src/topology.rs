//! `AnyTopology`: the lists that a snapshot of any engine froze for algorithms.

use evergraph_disk_engine::file::csr_file::CsrFile;
use evergraph_disk_engine::topology::disk_topology::DiskTopology;
use evergraph_graph::budget::Budget;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::scratch::Scratch;
use evergraph_graph::topology::{Piece, PieceBuffer, Topology, Turn, Visit};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_mapped_engine::freeze::frozen::FrozenGraph;
use evergraph_memory_engine::frozen::{FrozenTopology, SharedList};
use std::ops::Range;

/// Adjacency lists of one snapshot. A visit matches once, whatever it visits.
pub enum AnyTopology {
    /// Of the memory engine.
    Memory(FrozenTopology),
    /// Of the disk engine.
    Disk(DiskTopology<CsrFile>),
    /// Of the mapped engine.
    Mapped(FrozenGraph),
}

/// Does the same with whichever topology it is.
macro_rules! with_topology {
    ($any:expr, $topology:ident => $call:expr) => {
        match $any {
            AnyTopology::Memory($topology) => $call,
            AnyTopology::Disk($topology) => $call,
            AnyTopology::Mapped($topology) => $call,
        }
    };
}

impl AnyTopology {
    /// The share of edges that were fresh when this was frozen, 0 to 1: those that a read pays more for.
    #[must_use]
    #[inline]
    pub fn fresh_share(&self) -> f64 {
        with_topology!(self, topology => topology.fresh_share())
    }

    /// The lists of one side, as [`FrozenTopology::shared_lists`]; `None` if the engine has no arrays that others can
    /// hold: those of the disk engine are pages, those of the mapped engine belong to files that are written again.
    ///
    /// # Errors
    /// `invalid` if that side was not frozen, or for both at once.
    pub fn shared_lists(&self, side: Direction) -> Result<Option<Vec<SharedList>>> {
        match self {
            Self::Memory(topology) => topology.shared_lists(side).map(Some),
            Self::Disk(_) | Self::Mapped(_) => Ok(None),
        }
    }
}

impl Topology for AnyTopology {
    #[inline]
    fn bound(&self) -> u32 {
        with_topology!(self, topology => topology.bound())
    }

    #[inline]
    fn vertices(&self) -> &VertexSet {
        with_topology!(self, topology => topology.vertices())
    }

    #[inline]
    fn direction(&self) -> Direction {
        with_topology!(self, topology => topology.direction())
    }

    #[inline]
    fn edge_count(&self) -> u64 {
        with_topology!(self, topology => topology.edge_count())
    }

    #[inline]
    fn degrees(&self, direction: Direction, range: Range<u32>, degrees: &mut [u32]) -> Result<()> {
        with_topology!(self, topology => topology.degrees(direction, range, degrees))
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
        with_topology!(self, topology => topology.visit(direction, range, buffer, visitor))
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
        with_topology!(self, topology => topology.visit_pieces(direction, range, buffer, visitor))
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
        with_topology!(self, topology => topology.visit_each(direction, vertices, buffer, visitor))
    }

    #[inline]
    fn scratch(&self) -> Option<&dyn Scratch> {
        with_topology!(self, topology => topology.scratch())
    }

    fn reads_from_disk(&self) -> bool {
        with_topology!(self, topology => topology.reads_from_disk())
    }

    fn coalesced(
        &self,
        direction: Direction,
        budget: &dyn Budget,
        cancel: &CancelFlag,
    ) -> Result<Option<Self>> {
        Ok(match self {
            Self::Memory(topology) => topology.coalesced(direction, budget, cancel)?.map(Self::Memory),
            Self::Disk(topology) => topology.coalesced(direction, budget, cancel)?.map(Self::Disk),
            Self::Mapped(topology) => topology.coalesced(direction, budget, cancel)?.map(Self::Mapped),
        })
    }

    #[inline]
    fn cuts(&self, parts: usize) -> Vec<u32> {
        with_topology!(self, topology => topology.cuts(parts))
    }
}
