//! Topology: the frozen adjacency lists that algorithms read.
//!
//! A view freezes what an algorithm asks for (a [`Projection`]) into a `Topology`: every segment
//! resolved once, then read without locks, stamps or copies. A list comes in *pieces*:
//!
//! ```text
//! vertex 7, out:   [ 3 9 12 40 ]  body, sorted        memory: borrowed; disk: decoded into the buffer
//!                  [ 8 11 ]       what is fresh       a hub has more of them
//! ```
//!
//! Invariants
//! - The pieces of one vertex in one direction come one after the other; vertices come in id order. Only
//!   [`Topology::visit_pieces`] hands out some before it is their vertex' turn.
//! - A piece says whether it is sorted (the mapped engine keeps insertion order). Pieces overlap in
//!   ids only where edges run parallel.
//! - No slice outlives its visit: an engine may decode into the caller's [`PieceBuffer`].
//! - Reading can fail; a failed visit has visited a prefix.
//!
//! Kernels are monomorphised over [`Topology::visit`]: one call for a range of vertices, the
//! closure inlined. Source: GART (ATC 2023) 5.1; measured in pieces 0.88 to 1.01 times the time of
//! a flat CSR, merged into one slice a vertex 1.41 to 1.85 times.

use crate::budget::Budget;
use crate::cancel::CancelFlag;
use crate::error::Result;
use crate::filter::Filter;
use crate::id::{Direction, KeyId, LabelId, TypeId};
use crate::scratch::Scratch;
use crate::vertex_set::VertexSet;
use std::ops::Range;
use std::sync::Arc;

/// What part of a graph an algorithm reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    /// Vertices of these labels; `None` for all. Edges to other vertices are left out.
    pub labels: Option<Vec<LabelId>>,
    /// Edges of these types; `None` for all.
    pub types: Option<Vec<TypeId>>,
    /// The sides that will be visited: freezing `Out` alone costs half of `Both`.
    pub direction: Direction,
    /// The edge property that is the weight of an edge, if weights are wanted.
    pub weight: Option<Weight>,
    /// Of the vertices of `labels` only these; `None` for all. Edges to other vertices are left out.
    pub vertices: Option<Arc<VertexSet>>,
    /// Only edges whose properties satisfy every one of these.
    pub edges: Vec<Filter>,
}

/// Which edge property is a weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Weight {
    /// A key whose values are numbers.
    pub key: KeyId,
    /// The weight of an edge without the property; `None` makes such an edge an error.
    pub missing: Option<f64>,
}

impl Eq for Weight {}

impl Projection {
    /// Everything, unweighted, with the sides that `direction` names.
    #[must_use]
    pub fn all(direction: Direction) -> Self {
        Self { labels: None, types: None, direction, weight: None, vertices: None, edges: Vec::new() }
    }

    /// Whether edges of this type may be in it.
    #[must_use]
    #[inline]
    pub fn has_type(&self, edge_type: TypeId) -> bool {
        self.types.as_ref().is_none_or(|types| types.contains(&edge_type))
    }

    /// Whether it chooses among the vertices of its labels, or among the edges of its types.
    #[must_use]
    #[inline]
    pub fn is_filtered(&self) -> bool {
        self.vertices.is_some() || !self.edges.is_empty()
    }
}

/// A run of neighbours of one vertex, valid during one call of a visitor.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// Vertex ids. Parallel edges repeat an id.
    pub neighbors: &'a [u32],
    /// One weight for each neighbour, if the projection asked for weights; else empty.
    pub weights: &'a [f64],
    /// Whether `neighbors` ascends.
    pub sorted: bool,
}

/// What a visitor wants next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visit {
    /// The next piece.
    Continue,
    /// No more pieces of this vertex (a bottom-up BFS found its parent).
    NextVertex,
    /// No more pieces at all.
    Stop,
}

/// When a piece comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// In the order of ids: no more pieces of vertices before it come.
    InOrder,
    /// Before the first piece in order of its vertex, or of one behind it; in any order among themselves.
    Apart,
}

/// Where an engine decodes lists that it doesn't keep as plain arrays. Reused from call to call.
#[derive(Debug, Default)]
pub struct PieceBuffer {
    /// Decoded neighbours.
    pub neighbors: Vec<u32>,
    /// Decoded weights.
    pub weights: Vec<f64>,
}

/// Frozen adjacency lists of the vertices in a scope.
///
/// Concurrency: shared between threads; each brings its own [`PieceBuffer`].
pub trait Topology: Sync {
    /// One more than the highest vertex id in scope or in a list: the size of per-vertex state.
    fn bound(&self) -> u32;

    /// The vertices in scope: alive at the snapshot, of the projection's labels.
    fn vertices(&self) -> &VertexSet;

    /// The sides that were frozen.
    fn direction(&self) -> Direction;

    /// Directed edges in the projection; an edge is counted once however it is visited.
    fn edge_count(&self) -> u64;

    /// Writes the number of `direction` edges of each vertex of `range` to `degrees` (zero for a
    /// vertex out of scope). `Both` adds the two sides.
    ///
    /// # Errors
    /// `invalid` if that side was not frozen; else errors of reading.
    fn degrees(&self, direction: Direction, range: Range<u32>, degrees: &mut [u32]) -> Result<()>;

    /// Calls `visitor` with every piece of every vertex of `range` in scope, in id order. A vertex
    /// without edges may have no call, or an empty piece.
    ///
    /// # Errors
    /// `invalid` if that side was not frozen; else errors of reading.
    fn visit<F>(
        &self,
        direction: Direction,
        range: Range<u32>,
        buffer: &mut PieceBuffer,
        visitor: F,
    ) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>) -> Visit;

    /// As [`Topology::visit`], but that an engine may hand out pieces [`Turn::Apart`] that it keeps apart from the lists, such
    /// as fresh edges: for visitors that take each piece by itself.
    ///
    /// # Errors
    /// As [`Topology::visit`].
    #[inline]
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
        self.visit(direction, range, buffer, |vertex, piece| {
            visitor(vertex, piece, Turn::InOrder);
            Visit::Continue
        })
    }

    /// As [`Topology::visit`], for the chosen `vertices`: a frontier, ascending, so that engines
    /// read in one sweep.
    ///
    /// # Errors
    /// As [`Topology::visit`].
    fn visit_each<F>(
        &self,
        direction: Direction,
        vertices: &[u32],
        buffer: &mut PieceBuffer,
        visitor: F,
    ) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>) -> Visit;

    /// Whether most lists would have to come from a disk now: a sweep over many of them then costs less than their look-ups
    /// one by one, and an algorithm that may choose does more work in fewer rounds. An estimate.
    fn reads_from_disk(&self) -> bool {
        false
    }

    /// Where to cut `0..bound` so that parts have about even numbers of edges: ascending, first 0,
    /// last `bound`, at least two entries. The default cuts by vertices.
    fn cuts(&self, parts: usize) -> Vec<u32> {
        let parts = parts.max(1) as u64;
        let bound = u64::from(self.bound());
        (0..=parts).map(|part| (bound * part / parts) as u32).collect()
    }

    /// The same vertices with the lists of `direction`, those of each vertex in one place, for an algorithm that visits all of them
    /// in many rounds; `None` if they lie so, if they are so long that little is gained, or if `budget` has less than twice the
    /// memory of the copy. For visits and degrees of `direction` alone: where that is both, one list has the neighbours of both
    /// sides, and neither side has its own any more. Not to outlive this one.
    /// Cost: two visits of all lists; 4 bytes an edge and side, 12 with weights.
    ///
    /// # Errors
    /// `cancelled`; as [`Topology::visit`]. The copy's visits of another direction are `invalid`.
    fn coalesced(
        &self,
        _direction: Direction,
        _budget: &dyn Budget,
        _cancel: &CancelFlag,
    ) -> Result<Option<Self>>
    where
        Self: Sized,
    {
        Ok(None)
    }

    /// Disk space for state that the budget refuses; `None` if the engine keeps everything in memory.
    #[inline]
    fn scratch(&self) -> Option<&dyn Scratch> {
        None
    }
}
