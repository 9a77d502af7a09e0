//! The naive engine's topology, for tests: the lists of a state, copied.

use crate::naive_engine::State;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{Piece, PieceBuffer, Projection, Topology, Visit};
use evergraph_graph::vertex_set::VertexSet;
use std::ops::Range;

/// The chosen vertices and edges of a state; ignores labels, types and weights of a projection.
pub struct NaiveTopology {
    vertices: VertexSet,
    direction: Direction,
    out: Vec<Vec<u32>>,
    into: Vec<Vec<u32>>,
}

impl NaiveTopology {
    pub fn new(state: &State, projection: &Projection) -> Self {
        let bound = state.vertices.keys().next_back().map_or(0, |last| last.0 + 1);
        let mut vertices = VertexSet::empty(bound);
        let chosen = |vertex: u32| projection.vertices.as_ref().is_none_or(|all| all.contains(vertex));
        for vertex in state.vertices.keys().filter(|vertex| chosen(vertex.0)) {
            vertices.insert(vertex.0);
        }
        let mut out = vec![Vec::new(); bound as usize];
        let mut into = out.clone();
        for (edge, values) in &state.edges {
            let ends = vertices.contains(edge.source.0) && vertices.contains(edge.target.0);
            if ends && projection.edges.iter().all(|filter| filter.holds(values.get(&filter.key))) {
                out[edge.source.0 as usize].push(edge.target.0);
                into[edge.target.0 as usize].push(edge.source.0);
            }
        }
        Self { vertices, direction: projection.direction, out, into }
    }

    fn list(&self, side: Direction, vertex: u32) -> &[u32] {
        &(if side == Direction::Out { &self.out } else { &self.into })[vertex as usize]
    }
}

impl Topology for NaiveTopology {
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
        self.out.iter().map(|list| list.len() as u64).sum()
    }

    fn degrees(&self, direction: Direction, range: Range<u32>, degrees: &mut [u32]) -> Result<()> {
        for (degree, vertex) in degrees.iter_mut().zip(range) {
            *degree = direction.sides().iter().map(|side| self.list(*side, vertex).len() as u32).sum();
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
        self.visit_each(direction, &range.collect::<Vec<_>>(), buffer, visitor)
    }

    fn visit_each<F>(
        &self,
        direction: Direction,
        vertices: &[u32],
        _buffer: &mut PieceBuffer,
        mut visitor: F,
    ) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        for vertex in vertices {
            for side in direction.sides() {
                let piece = Piece { neighbors: self.list(*side, *vertex), weights: &[], sorted: false };
                match visitor(*vertex, piece) {
                    Visit::Continue => {}
                    Visit::NextVertex => break,
                    Visit::Stop => return Ok(()),
                }
            }
        }
        Ok(())
    }
}
