//! Subject: what a record of the tree is about, as the number that orders files first.
//!
//! ```text
//! 0                       vertices
//! 1 + 2 x type + side     edges of one type; side 0: out lists, 1: in lists
//! 2^24 + n                index n
//! ```
//!
//! An edge has a record on both sides; its properties stand on the out side only.

use evergraph_graph::bytes::{Decoded, Reader};
use evergraph_graph::id::{Direction, TypeId};
use std::fmt;

/// What a record is about: the vertices, the edges of one type on one side, or one index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Subject(u32);

/// The end of its edges at which a list is stored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EdgeSide {
    /// At the source.
    Out,
    /// At the target.
    In,
}

impl EdgeSide {
    /// The one or two sides of the lists that `direction` reads, out before in.
    #[must_use]
    #[inline]
    pub const fn of(direction: Direction) -> &'static [Self] {
        match direction {
            Direction::Out => &[Self::Out],
            Direction::In => &[Self::In],
            Direction::Both => &[Self::Out, Self::In],
        }
    }
}

/// A subject taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubjectKind {
    /// Vertices: liveness and properties.
    Vertices,
    /// Edges of one type on one side.
    Edges {
        /// Their type.
        edge_type: TypeId,
        /// The side of the lists.
        side: EdgeSide,
    },
    /// The entries of the index with this number.
    Index(u32),
}

/// The number of the first index.
const FIRST_INDEX: u32 = 1 << 24;
/// The number after the last edge type's in side.
const EDGES_END: u32 = 1 + 2 * (u16::MAX as u32 + 1);

impl Subject {
    /// The vertices.
    pub const VERTICES: Self = Self(0);

    /// The index with the highest number: no subject is greater.
    pub const LAST: Self = Self(u32::MAX);

    /// The edges of `edge_type`, stored at `side`.
    #[must_use]
    #[inline]
    pub const fn edges(edge_type: TypeId, side: EdgeSide) -> Self {
        let side = match side {
            EdgeSide::Out => 0,
            EdgeSide::In => 1,
        };
        Self(1 + 2 * edge_type.0 as u32 + side)
    }

    /// The entries of index `number`; `None` above 2^32 - 2^24 - 1, the highest number of an index.
    #[must_use]
    pub const fn index(number: u32) -> Option<Self> {
        match FIRST_INDEX.checked_add(number) {
            Some(subject) => Some(Self(subject)),
            None => None,
        }
    }

    /// The subject with this number; `None` if the number is unused.
    #[must_use]
    #[inline]
    pub const fn from_number(number: u32) -> Option<Self> {
        if number < EDGES_END || number >= FIRST_INDEX { Some(Self(number)) } else { None }
    }

    /// The subject with a number that [`Subject::number`] returned, and that never left the process.
    #[must_use]
    #[inline]
    pub(crate) const fn numbered(number: u32) -> Self {
        debug_assert!(Self::from_number(number).is_some(), "a number from disk is checked");
        Self(number)
    }

    /// The number in files.
    #[must_use]
    #[inline]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// What the subject consists of.
    #[must_use]
    pub const fn kind(self) -> SubjectKind {
        match self.0 {
            0 => SubjectKind::Vertices,
            index if index >= FIRST_INDEX => SubjectKind::Index(index - FIRST_INDEX),
            edges => SubjectKind::Edges {
                edge_type: TypeId(((edges - 1) / 2) as u16),
                side: if edges % 2 == 1 { EdgeSide::Out } else { EdgeSide::In },
            },
        }
    }

    /// Reads four bytes.
    ///
    /// # Errors
    /// If fewer are left, or no subject has the number.
    pub fn take(reader: &mut Reader<'_>) -> Decoded<Self> {
        let start = reader.clone();
        let number = reader.u32()?;
        Self::from_number(number).ok_or_else(|| start.error(format!("a subject expected, found {number}")))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            SubjectKind::Vertices => f.write_str("vertices"),
            SubjectKind::Edges { edge_type, side: EdgeSide::Out } => {
                write!(f, "out edges of type {}", edge_type.0)
            }
            SubjectKind::Edges { edge_type, side: EdgeSide::In } => {
                write!(f, "in edges of type {}", edge_type.0)
            }
            SubjectKind::Index(number) => write!(f, "index {number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subject_is_taken_apart_into_what_it_was_made_of() {
        assert_eq!(Subject::VERTICES.kind(), SubjectKind::Vertices);
        for edge_type in [TypeId(0), TypeId(1), TypeId(u16::MAX)] {
            for side in [EdgeSide::Out, EdgeSide::In] {
                let subject = Subject::edges(edge_type, side);
                assert_eq!(subject.kind(), SubjectKind::Edges { edge_type, side });
                assert_eq!(Subject::from_number(subject.number()), Some(subject));
                assert_eq!(Subject::numbered(subject.number()), subject);
            }
        }
        for number in [0, 9, u32::MAX - (1 << 24)] {
            assert_eq!(Subject::index(number).unwrap().kind(), SubjectKind::Index(number));
        }
        assert_eq!(Subject::index(u32::MAX - (1 << 24) + 1), None);
    }

    #[test]
    fn a_direction_has_the_sides_of_its_plain_directions() {
        let sides = |direction: Direction| direction.sides().iter().flat_map(|plain| EdgeSide::of(*plain));
        for direction in [Direction::Out, Direction::In, Direction::Both] {
            assert!(EdgeSide::of(direction).iter().eq(sides(direction)), "{direction:?}");
        }
        assert_eq!(EdgeSide::of(Direction::In), [EdgeSide::In]);
    }

    #[test]
    fn numbers_between_edges_and_indexes_are_no_subjects() {
        let last = Subject::edges(TypeId(u16::MAX), EdgeSide::In).number();
        assert!(Subject::from_number(last).is_some());
        assert_eq!(Subject::from_number(last + 1), None);
        assert_eq!(Subject::from_number((1 << 24) - 1), None);
        assert!(Subject::take(&mut Reader::new(&(last + 1).to_le_bytes())).is_err());
    }

    #[test]
    fn vertices_come_before_edges_and_edges_before_indexes() {
        let edges = |number, side| Subject::edges(TypeId(number), side);
        let subjects = [
            Subject::VERTICES,
            edges(0, EdgeSide::Out),
            edges(0, EdgeSide::In),
            edges(1, EdgeSide::Out),
            edges(u16::MAX, EdgeSide::In),
            Subject::index(0).unwrap(),
        ];
        assert!(subjects.is_sorted_by(|a, b| a < b));
    }
}
