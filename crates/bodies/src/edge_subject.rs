//! Edge subject: what a segment of edges is about: one type and one side.

use evergraph_graph::id::{Direction, TypeId};

/// One edge type and plain side, ascending as a group keeps them: by type, out before in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EdgeSubject(u32);

impl EdgeSubject {
    /// The edges of `edge_type` on `side`.
    ///
    /// # Panics
    /// If `side` is `Both`: segments keep plain sides.
    #[must_use]
    #[inline]
    pub fn new(edge_type: TypeId, side: Direction) -> Self {
        let side = match side {
            Direction::Out => 0,
            Direction::In => 1,
            Direction::Both => panic!("a segment keeps one side"),
        };
        Self(u32::from(edge_type.0) << 1 | side)
    }

    /// Its number, below 2^17: subjects are in the order of their numbers.
    #[must_use]
    #[inline]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The subject with a number that [`EdgeSubject::number`] gave.
    #[must_use]
    #[inline]
    pub const fn numbered(number: u32) -> Self {
        Self(number)
    }

    /// The edge type.
    #[must_use]
    #[inline]
    pub const fn edge_type(self) -> TypeId {
        TypeId((self.0 >> 1) as u16)
    }

    /// The side: out or in.
    #[must_use]
    #[inline]
    pub const fn side(self) -> Direction {
        if self.0 & 1 == 0 { Direction::Out } else { Direction::In }
    }
}
