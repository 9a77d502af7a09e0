//! Ablation: what a packed graph does in place of a component of DGAP, so that a benchmark shows what each is worth.
//!
//! ```text
//! component                        without it
//! section logs                     an edge whose slot is taken shifts lists by a slot, up to the nearest gap
//! undo slots                       a journal, taken for each move: an entry and a fence for each word that is stored
//! vertex array and densities in    the same in the file too: written back and fenced at each change
//! ordinary memory
//! ```
//!
//! A graph keeps what it was created with in its root. Answers, views and what a power cut leaves do not depend on it.
//!
//! Source: DGAP (SC 2023), section 4.4, table 5. Differs: [shifts](TakenSlot::Shifted) are carried out as rebalances are, by a
//! plan; the [journal](UndoKind::Journal) has a fixed place, where PMDK allocates one; [what the file has](Placement::File)
//! is never read, and of the density tree it has the leaves, for there are no other nodes here.

/// Components that are replaced, for measurements alone: each makes insertions slower and nothing better.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ablation {
    /// Where an edge goes whose slot is taken.
    pub taken_slot: TakenSlot,
    /// What undoes a move that a power cut interrupted.
    pub undo: UndoKind,
    /// Where vertex array and densities are kept.
    pub placement: Placement,
}

/// Where an edge goes when the slot behind its list is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TakenSlot {
    /// Into the section's log.
    #[default]
    Logged,
    /// Into that slot, once the lists between it and the nearest gap are shifted by one. Logs stay empty.
    Shifted,
}

/// What undoes a move that a power cut interrupted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UndoKind {
    /// Two slots in turn, each with all that a chunk overwrites: one fence a chunk.
    #[default]
    Slots,
    /// A generic transaction a chunk: one fence a word.
    Journal,
}

/// Where vertex array and densities are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Placement {
    /// In ordinary memory alone.
    #[default]
    Memory,
    /// In the file as well.
    File,
}

impl Ablation {
    /// Every component is there.
    pub const NONE: Self =
        Self { taken_slot: TakenSlot::Logged, undo: UndoKind::Slots, placement: Placement::Memory };

    /// None of the components is there.
    pub const ALL: Self =
        Self { taken_slot: TakenSlot::Shifted, undo: UndoKind::Journal, placement: Placement::File };

    /// As a root stores it: a bit for each component that is replaced.
    pub(crate) fn bits(self) -> u32 {
        u32::from(self.taken_slot == TakenSlot::Shifted)
            | u32::from(self.undo == UndoKind::Journal) << 1
            | u32::from(self.placement == Placement::File) << 2
    }

    /// What a root stores; `None` for bits that are not known.
    pub(crate) fn of_bits(bits: u32) -> Option<Self> {
        let is_set = |bit: u32| bits >> bit & 1 == 1;
        (bits <= Self::ALL.bits()).then(|| Self {
            taken_slot: if is_set(0) { TakenSlot::Shifted } else { TakenSlot::Logged },
            undo: if is_set(1) { UndoKind::Journal } else { UndoKind::Slots },
            placement: if is_set(2) { Placement::File } else { Placement::Memory },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_say_what_is_replaced_and_others_are_refused() {
        for bits in 0..8 {
            assert_eq!(Ablation::of_bits(bits).map(Ablation::bits), Some(bits));
        }
        assert_eq!([0, 7].map(Ablation::of_bits), [Some(Ablation::default()), Some(Ablation::ALL)]);
        assert_eq!(Ablation::default(), Ablation::NONE);
        assert_eq!(Ablation::of_bits(8), None);
    }
}
