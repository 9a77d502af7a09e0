//! A topology for tests that returns lists in the hardest form: unsorted, in pieces, decoded into the buffer.
//!
//! What a disk engine may do, this does always: a list comes backwards in pieces of three, with an
//! empty piece before it for every other vertex; the buffer is overwritten from piece to piece. Where pieces may come
//! apart, every second one does, backwards. Lists are coalesced for whoever asks, and then can be visited in that direction alone.
//! It keeps no arrays like those of `StaticCsr` and shares no code with it.

use evergraph_graph::budget::Budget;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{Piece, PieceBuffer, Topology, Turn, Visit};
use evergraph_graph::vertex_set::VertexSet;
use std::ops::Range;

const PIECE_LENGTH: usize = 3;

/// The (neighbour, weight) list of each vertex, in the order in which it is handed out.
type Lists = Vec<Vec<(u32, f64)>>;

/// A graph as such lists.
pub(crate) struct Pieced {
    vertices: VertexSet,
    direction: Direction,
    edge_count: u64,
    weighted: bool,
    out: Lists,
    incoming: Lists,
    /// The lists of `direction`, if they were coalesced: the only ones that are left.
    coalesced: Option<Lists>,
}

impl Pieced {
    pub(crate) fn new(
        vertices: VertexSet,
        edges: &[(u32, u32)],
        weights: Option<&[f64]>,
        direction: Direction,
    ) -> Self {
        let mut out = vec![Vec::new(); vertices.bound() as usize];
        let mut incoming = out.clone();
        let mut edge_count = 0;
        for (at, (source, target)) in edges.iter().copied().enumerate().rev() {
            if vertices.contains(source) && vertices.contains(target) {
                let weight = weights.map_or(0.0, |weights| weights[at]);
                out[source as usize].push((target, weight));
                incoming[target as usize].push((source, weight));
                edge_count += 1;
            }
        }
        Self { vertices, direction, edge_count, weighted: weights.is_some(), out, incoming, coalesced: None }
    }

    fn lists(&self, direction: Direction) -> Result<Vec<&Lists>> {
        if let Some(coalesced) = &self.coalesced {
            let refused = || Error::invalid(format!("{direction:?} has no lists of its own any more"));
            return (direction == self.direction).then(|| vec![coalesced]).ok_or_else(refused);
        }
        if self.direction != Direction::Both && self.direction != direction {
            return Err(Error::invalid(format!("{direction:?} was not frozen")));
        }
        let side = |side: &Direction| if *side == Direction::Out { &self.out } else { &self.incoming };
        Ok(direction.sides().iter().map(side).collect())
    }
}

impl Topology for Pieced {
    fn bound(&self) -> u32 {
        self.vertices.bound()
    }

    fn vertices(&self) -> &VertexSet {
        &self.vertices
    }

    fn direction(&self) -> Direction {
        self.direction
    }

    fn edge_count(&self) -> u64 {
        self.edge_count
    }

    fn degrees(&self, direction: Direction, range: Range<u32>, degrees: &mut [u32]) -> Result<()> {
        let lists = self.lists(direction)?;
        for (vertex, degree) in range.zip(degrees) {
            *degree = lists.iter().map(|lists| lists[vertex as usize].len() as u32).sum();
        }
        Ok(())
    }

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
        let vertices: Vec<_> = self.vertices.range(range).collect();
        self.visit_each(direction, &vertices, buffer, visitor)
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
        let vertices: Vec<_> = self.vertices.range(range).collect();
        let mut visit = |vertex: u32, turn: Turn| {
            let mut number = 0;
            self.visit_each(direction, &[vertex], buffer, |vertex, piece| {
                number += 1;
                if (number % 2 == 0) == (turn == Turn::Apart) {
                    visitor(vertex, piece, turn);
                }
                Visit::Continue
            })
        };
        vertices.iter().rev().try_for_each(|vertex| visit(*vertex, Turn::Apart))?;
        vertices.iter().try_for_each(|vertex| visit(*vertex, Turn::InOrder))
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
        assert!(vertices.is_sorted_by(|left, right| left < right), "a frontier ascends");
        assert!(vertices.iter().all(|vertex| self.vertices.contains(*vertex)), "a frontier is in scope");
        for vertex in vertices {
            let lists = self.lists(direction)?;
            let empty = (vertex % 2 == 0).then_some(&[][..]);
            let pieces = lists.iter().flat_map(|lists| lists[*vertex as usize].chunks(PIECE_LENGTH));
            for piece in empty.into_iter().chain(pieces) {
                buffer.neighbors.clear();
                buffer.neighbors.extend(piece.iter().map(|(neighbor, _)| neighbor));
                buffer.weights.clear();
                if self.weighted {
                    buffer.weights.extend(piece.iter().map(|(_, weight)| weight));
                }
                let (neighbors, weights) = (&buffer.neighbors[..], &buffer.weights[..]);
                match visitor(*vertex, Piece { neighbors, weights, sorted: false }) {
                    Visit::Continue => {}
                    Visit::NextVertex => break,
                    Visit::Stop => return Ok(()),
                }
            }
        }
        Ok(())
    }

    fn coalesced(&self, direction: Direction, _: &dyn Budget, cancel: &CancelFlag) -> Result<Option<Self>> {
        cancel.check()?;
        let sides = self.lists(direction)?;
        let of_vertex = |vertex: usize| sides.iter().flat_map(|side| side[vertex].iter().copied()).collect();
        Ok(Some(Self {
            vertices: self.vertices.clone(),
            direction,
            edge_count: self.edge_count,
            weighted: self.weighted,
            out: Vec::new(),
            incoming: Vec::new(),
            coalesced: Some((0..self.vertices.bound() as usize).map(of_vertex).collect()),
        }))
    }
}
