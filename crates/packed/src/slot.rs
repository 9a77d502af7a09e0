//! Slot: what four bytes of the edge array say.
//!
//! ```text
//! 00…0              gap
//! 00 | target + 1   edge
//! 01 | target + 1   tombstone: one edge to this target, inserted before, is deleted
//! -(vertex + 1)     pivot: the list of this vertex begins (its top bits are 11)
//! ```
//!
//! Vertex ids have 30 bits, and one is added to them: no vertex looks like a gap.
//!
//! Source: DGAP (SC 2023), section 3, "Edge Array" and 3.1.2. Differs: the published program stores ids as they are, so
//! that an edge to vertex 0 looks like a gap; its tombstone sets the bit that marks a pivot.

use evergraph_storage::planted::{Bug, planted};

/// Number of vertices that an array may have: ids are below it.
pub const VERTICES_MAX: u32 = (1 << 30) - 1;

/// A slot with nothing in it.
pub(crate) const GAP: u32 = 0;

const TOMBSTONE: u32 = 1 << 30;
const KIND: u32 = 0b11 << 30;

/// What a slot says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slot {
    Gap,
    Pivot(u32),
    Edge(u32),
    Tombstone(u32),
    /// No value that is ever stored.
    Damaged,
}

/// What is added to an id.
#[inline]
fn shift() -> u32 {
    if planted(Bug::PackedZeroIsGap) { 0 } else { 1 }
}

impl Slot {
    pub(crate) fn of(value: u32) -> Self {
        match value & KIND {
            _ if value == GAP => Self::Gap,
            0 => Self::Edge(target(value)),
            TOMBSTONE if value != TOMBSTONE => Self::Tombstone(target(value)),
            KIND if value != KIND => Self::Pivot(value.wrapping_neg() - 1),
            _ => Self::Damaged,
        }
    }
}

/// The slot of an edge to `target`.
#[inline]
pub(crate) fn edge(target: u32) -> u32 {
    debug_assert!(target < VERTICES_MAX, "ids are checked where they come from outside");
    target + shift()
}

/// The slot of a deletion of an edge to `target`.
#[inline]
pub(crate) fn tombstone(target: u32) -> u32 {
    edge(target) | TOMBSTONE
}

/// The slot with which the list of `vertex` begins.
#[inline]
pub(crate) fn pivot(vertex: u32) -> u32 {
    (vertex + 1).wrapping_neg()
}

/// Whether the slot of an edge or a tombstone is a tombstone.
#[inline]
pub(crate) fn is_tombstone(value: u32) -> bool {
    value & TOMBSTONE != 0
}

/// The target of an edge or a tombstone.
#[inline]
pub(crate) fn target(value: u32) -> u32 {
    (value & !TOMBSTONE).wrapping_sub(shift())
}

/// The targets of both edges of a word. What stands beside an edge becomes some number.
#[inline]
pub(crate) fn targets_of_word(word: u64) -> u64 {
    let shift = u64::from(shift());
    word.wrapping_sub(shift << 32 | shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_an_edge_a_tombstone_and_a_pivot_and_never_a_gap() {
        for id in [0, 1, 2, VERTICES_MAX / 2, VERTICES_MAX - 1] {
            assert_eq!(Slot::of(edge(id)), Slot::Edge(id));
            assert_eq!(Slot::of(tombstone(id)), Slot::Tombstone(id));
            assert_eq!(Slot::of(pivot(id)), Slot::Pivot(id));
            assert_eq!((target(edge(id)), target(tombstone(id))), (id, id));
        }
        for (lower, upper) in [(edge(0), edge(7)), (pivot(5), edge(0)), (edge(9), GAP)] {
            let targets = targets_of_word(u64::from(upper) << 32 | u64::from(lower));
            for (slot, found) in [(lower, targets as u32), (upper, (targets >> 32) as u32)] {
                assert!(!matches!(Slot::of(slot), Slot::Edge(id) if id != found), "{slot:#x} became {found}");
            }
        }
        assert_eq!(Slot::of(GAP), Slot::Gap);
        for damaged in [1 << 30, 1 << 31, 3 << 30, (1 << 31) + 5] {
            assert_eq!(Slot::of(damaged), Slot::Damaged, "{damaged:#x}");
        }
    }
}
