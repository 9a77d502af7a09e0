//! Key lists: kernels read a store of sorted keys as lists of neighbours.
//!
//! ```text
//! out   source, target   with a weight
//! in    target, source   without
//! ```
//!
//! A scan reads both sides side by side, in the order of vertices; lists of single vertices are sought.

use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{Piece, PieceBuffer, Projection, Topology, Visit};
use evergraph_graph::vertex_set::VertexSet;
use std::ops::Range;

/// How keys are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seek {
    /// One after the other, up to the first of this vertex.
    ScanTo(u32),
    /// By the beginnings of lists.
    Lists,
}

/// A store's keys at one moment.
pub trait KeySides: Sync {
    /// A place in the keys of one side.
    type Keys<'a>: Keys;

    /// Calls `body` with a place in each of `sides`, which are out, in or both.
    ///
    /// # Errors
    /// What the store or `body` says.
    fn read(
        &self,
        sides: &[Direction],
        seek: Seek,
        body: impl FnOnce(&mut [Self::Keys<'_>]) -> Result<()>,
    ) -> Result<()>;
}

/// A place in the keys of one side.
pub trait Keys {
    /// Goes to the list of `vertex`; if there is none, a scan goes to the next one.
    ///
    /// # Errors
    /// What the store says.
    fn seek(&mut self, vertex: u32) -> Result<()>;

    /// The vertex whose list comes next.
    ///
    /// # Errors
    /// What the store says.
    fn vertex(&self) -> Result<Option<u32>>;

    /// Puts the list of `vertex` into the empty `buffer` if it comes next, and goes behind it.
    ///
    /// # Errors
    /// What the store says.
    fn list(&mut self, vertex: u32, has_weights: bool, buffer: &mut PieceBuffer) -> Result<()>;
}

/// Lists of one moment.
pub struct KeyLists<S> {
    sides: S,
    vertices: VertexSet,
    edges: u64,
    direction: Direction,
    has_weights: bool,
}

impl<S: KeySides> KeyLists<S> {
    /// The lists of `sides`, of a graph of so many vertices and edges: what `projection` says of directions and weights.
    #[must_use]
    pub fn new(sides: S, (vertices, edges): (u32, u64), projection: &Projection) -> Self {
        let vertices = VertexSet::full(vertices);
        let (direction, has_weights) = (projection.direction, projection.weight.is_some());
        Self { sides, vertices, edges, direction, has_weights }
    }

    fn sides(&self, direction: Direction) -> Result<&'static [Direction]> {
        let sides: &[Direction] = match direction {
            Direction::Both => &[Direction::Out, Direction::In],
            Direction::Out => &[Direction::Out],
            Direction::In => &[Direction::In],
        };
        let is_frozen = |side: &Direction| self.direction == Direction::Both || self.direction == *side;
        if !sides.iter().all(is_frozen) {
            return Err(Error::invalid(format!("{direction:?} was not frozen: {:?}", self.direction)));
        }
        Ok(sides)
    }

    /// Hands out the lists of `vertex`; what the visitor wants next.
    fn visit_vertex(
        &self,
        (keys, sides): (&mut [S::Keys<'_>], &[Direction]),
        vertex: u32,
        buffer: &mut PieceBuffer,
        visitor: &mut impl FnMut(u32, Piece<'_>) -> Visit,
    ) -> Result<Visit> {
        let mut next = Visit::Continue;
        for (keys, side) in keys.iter_mut().zip(sides) {
            buffer.neighbors.clear();
            buffer.weights.clear();
            keys.list(vertex, self.has_weights && *side == Direction::Out, buffer)?;
            if next == Visit::Continue && !buffer.neighbors.is_empty() {
                let piece = Piece { neighbors: &buffer.neighbors, weights: &buffer.weights, sorted: true };
                next = visitor(vertex, piece);
            }
        }
        Ok(next)
    }
}

impl<S: KeySides> Topology for KeyLists<S> {
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
        self.edges
    }

    fn degrees(&self, direction: Direction, range: Range<u32>, degrees: &mut [u32]) -> Result<()> {
        degrees.fill(0);
        let first = range.start;
        self.visit(direction, range, &mut PieceBuffer::default(), |vertex, piece| {
            degrees[(vertex - first) as usize] += piece.neighbors.len() as u32;
            Visit::Continue
        })
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
        let sides = self.sides(direction)?;
        self.sides.read(sides, Seek::ScanTo(range.end), |keys| {
            keys.iter_mut().try_for_each(|keys| keys.seek(range.start))?;
            loop {
                let mut next = None;
                for keys in &*keys {
                    next = [next, keys.vertex()?].into_iter().flatten().min();
                }
                let Some(vertex) = next.filter(|vertex| *vertex < range.end) else { return Ok(()) };
                if self.visit_vertex((&mut *keys, sides), vertex, buffer, &mut visitor)? == Visit::Stop {
                    return Ok(());
                }
            }
        })
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
        let sides = self.sides(direction)?;
        self.sides.read(sides, Seek::Lists, |keys| {
            for vertex in vertices {
                keys.iter_mut().try_for_each(|keys| keys.seek(*vertex))?;
                if self.visit_vertex((&mut *keys, sides), *vertex, buffer, &mut visitor)? == Visit::Stop {
                    return Ok(());
                }
            }
            Ok(())
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::engine::store::Edge;

    /// Edges of a graph of 5 vertices for [`check`]: those that are loaded, and one that comes later.
    pub(crate) const LOADED: [Edge; 3] = [(0, 1), (0, 3), (2, 0)];
    pub(crate) const LATER: [Edge; 1] = [(2, 3)];

    pub(crate) fn weight((source, target): Edge) -> f64 {
        f64::from(source * 10 + target)
    }

    /// Lists of that graph as kernels must see them; `open` opens those of a direction, with weights.
    pub(crate) fn check<S: KeySides>(mut open: impl FnMut(Direction) -> KeyLists<S>) {
        let lists = open(Direction::Both);
        let mut seen = Vec::new();
        let mut buffer = PieceBuffer::default();
        let mut note = |vertex, piece: Piece<'_>| {
            seen.push((vertex, piece.neighbors.to_vec(), piece.weights.to_vec()));
            Visit::Continue
        };
        lists.visit(Direction::Both, 0..5, &mut buffer, &mut note).unwrap();
        lists.visit_each(Direction::Out, &[1, 2], &mut buffer, &mut note).unwrap();
        let expected = [
            (0, vec![1, 3], vec![1.0, 3.0]),
            (0, vec![2], vec![]),
            (1, vec![0], vec![]),
            (2, vec![0, 3], vec![20.0, 23.0]),
            (3, vec![0, 2], vec![]),
            (2, vec![0, 3], vec![20.0, 23.0]),
        ];
        assert_eq!(seen, expected);
        let mut degrees = [9; 3];
        lists.degrees(Direction::Both, 1..4, &mut degrees).unwrap();
        assert_eq!((degrees, lists.edge_count()), ([1, 2, 2], 4));
        drop(lists);
        let out = open(Direction::Out);
        assert!(out.visit(Direction::In, 0..5, &mut buffer, |_, _| Visit::Stop).is_err());
    }
}
