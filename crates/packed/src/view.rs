//! View: the edges of one moment, as lists for algorithms.
//!
//! Source: DGAP (SC 2023), section 3.1.3.

use crate::array::PackedArray;
use crate::degree_cache::{DegreeCache, even_cuts};
use crate::list_copy::ListCopies;
use crate::memory::region::Memory;
use crate::view_visit::{visit_chosen, visit_run, visit_run_in_pieces};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{Piece, PieceBuffer, Topology, Turn, Visit};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_storage::sync::RwLock;
use std::ops::Range;
use std::sync::Arc;

/// The edges of a packed graph as they were when the view was made: a [`Topology`] of its one side, out.
///
/// # Concurrency
/// Shared between threads, and used beside insertions and deletions. It keeps the memory of the graph open.
pub struct View<M: Memory> {
    cache: DegreeCache<M>,
    vertices: VertexSet,
    edges: u64,
}

impl<M: Memory> View<M> {
    /// A view of this moment.
    pub(crate) fn new(array: &Arc<RwLock<PackedArray<M>>>) -> Self {
        let (cache, edges) = DegreeCache::new(array);
        // Ids have 30 bits.
        let vertices = VertexSet::full(cache.elements.len() as u32);
        Self { cache, vertices, edges }
    }

    /// The targets of the edges of `vertex`, in order of insertion.
    ///
    /// # Errors
    /// `invalid` if the view has no such vertex; `corrupt` if its section's log is damaged.
    pub fn neighbors(&self, vertex: u32) -> Result<Vec<u32>> {
        if vertex >= self.bound() {
            let text = format!("vertex {vertex} is not in the view, which has {} vertices", self.bound());
            return Err(Error::invalid(text));
        }
        let mut copies = ListCopies::new(Vec::new());
        let list = self.cache.copy_list(&self.cache.array.read(), vertex, &mut copies)?;
        Ok(copies.targets(list).to_vec())
    }

    /// Refuses the sides that one view does not have.
    fn check_side(&self, direction: Direction) -> Result<()> {
        if direction == Direction::Out {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "direction {direction:?} was asked for, but a packed graph has one side, out: use `BothSides`, or `TwoSided` \
             with a second packed graph that holds every edge turned around"
        )))
    }
}

impl<M: Memory> Topology for View<M> {
    fn bound(&self) -> u32 {
        self.vertices.bound()
    }

    fn vertices(&self) -> &VertexSet {
        &self.vertices
    }

    fn direction(&self) -> Direction {
        Direction::Out
    }

    fn edge_count(&self) -> u64 {
        self.edges
    }

    fn degrees(&self, direction: Direction, range: Range<u32>, degrees: &mut [u32]) -> Result<()> {
        self.check_side(direction)?;
        degrees.fill(0);
        self.cache.add_degrees(range, degrees)
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
        self.check_side(direction)?;
        visit_run([&self.cache], range.start..range.end.min(self.bound()), buffer, visitor)
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
        self.check_side(direction)?;
        visit_run_in_pieces([&self.cache], range.start..range.end.min(self.bound()), buffer, visitor)
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
        self.check_side(direction)?;
        visit_chosen(
            [&self.cache],
            vertices.iter().copied().filter(|vertex| *vertex < self.bound()),
            buffer,
            visitor,
        )
    }

    fn cuts(&self, parts: usize) -> Vec<u32> {
        even_cuts(&[&self.cache], parts)
    }
}

/// A graph with both sides: a view of its edges, and one of a second packed graph that holds every edge turned around.
///
/// [`BothSides`](crate::both_sides::BothSides) keeps the two graphs alike.
pub struct TwoSided<M: Memory> {
    out: View<M>,
    incoming: View<M>,
}

impl<M: Memory> TwoSided<M> {
    /// The two sides.
    ///
    /// # Errors
    /// `invalid` if they do not have the same numbers of vertices and edges.
    pub fn new(out: View<M>, incoming: View<M>) -> Result<Self> {
        let sizes = |view: &View<M>| (view.bound(), view.edges);
        if sizes(&out) == sizes(&incoming) {
            return Ok(Self { out, incoming });
        }
        let ((vertices, edges), (other_vertices, other_edges)) = (sizes(&out), sizes(&incoming));
        Err(Error::invalid(format!(
            "the side out has {vertices} vertices and {edges} edges, the side in {other_vertices} and {other_edges}: \
             insert every vertex and edge into both graphs before their views are made"
        )))
    }
}

impl<M: Memory> Topology for TwoSided<M> {
    fn bound(&self) -> u32 {
        self.out.bound()
    }

    fn vertices(&self) -> &VertexSet {
        &self.out.vertices
    }

    fn direction(&self) -> Direction {
        Direction::Both
    }

    fn edge_count(&self) -> u64 {
        self.out.edges
    }

    fn degrees(&self, direction: Direction, range: Range<u32>, degrees: &mut [u32]) -> Result<()> {
        degrees.fill(0);
        if direction != Direction::In {
            self.out.cache.add_degrees(range.clone(), degrees)?;
        }
        if direction != Direction::Out {
            self.incoming.cache.add_degrees(range, degrees)?;
        }
        Ok(())
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
        let range = range.start..range.end.min(self.bound());
        match direction {
            Direction::Out => visit_run([&self.out.cache], range, buffer, visitor),
            Direction::In => visit_run([&self.incoming.cache], range, buffer, visitor),
            Direction::Both => visit_run([&self.out.cache, &self.incoming.cache], range, buffer, visitor),
        }
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
        let range = range.start..range.end.min(self.bound());
        let (out, incoming) = (&self.out.cache, &self.incoming.cache);
        match direction {
            Direction::Out => visit_run_in_pieces([out], range, buffer, visitor),
            Direction::In => visit_run_in_pieces([incoming], range, buffer, visitor),
            Direction::Both => visit_run_in_pieces([out, incoming], range, buffer, visitor),
        }
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
        let known = vertices.iter().copied().filter(|vertex| *vertex < self.bound());
        match direction {
            Direction::Out => visit_chosen([&self.out.cache], known, buffer, visitor),
            Direction::In => visit_chosen([&self.incoming.cache], known, buffer, visitor),
            Direction::Both => visit_chosen([&self.out.cache, &self.incoming.cache], known, buffer, visitor),
        }
    }

    fn cuts(&self, parts: usize) -> Vec<u32> {
        even_cuts(&[&self.out.cache, &self.incoming.cache], parts)
    }
}
