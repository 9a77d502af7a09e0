//! Journal: undo by a transaction that knows of a move only that it stores words: the ablation beside undo slots.
//!
//! ```text
//! line    owner          one more than the number of the plan that took the journal, or 0
//! line    transaction    plan << 32 | chunk
//! entry   place | the word as it was | transaction | unused                      two a line, one for each word
//! ```
//!
//! An entry counts if it names the transaction that runs. That is stored behind the rest of the entry and into the same
//! line, so that no entry is torn. The next transaction ends the one before. One that a recovery begins anew, with the state
//! that it found the first time, writes the same entries.
//!
//! Source: DGAP (SC 2023), sections 3 ("Per-thread Undo Log") and 4.4: what PMDK's transactions do. Differs: see
//! [`crate::ablation`].

use crate::layout::{JOURNAL_ENTRY_WORDS, Layout};
use crate::memory::medium::Medium;
use crate::memory::region::{LINE_WORDS, Memory, Region};
use crate::memory::site::Site;

/// The number of the transaction of a plan's chunk.
pub(crate) fn number(plan: u32, chunk: u32) -> u64 {
    u64::from(plan) << 32 | u64::from(chunk)
}

/// What a plan's number is as an owner.
fn owner(plan: u32) -> u64 {
    u64::from(plan) + 1
}

/// The word of the transaction that runs.
fn running(layout: &Layout) -> usize {
    layout.journal() + LINE_WORDS
}

/// First word of an entry.
fn entry(layout: &Layout, index: usize) -> usize {
    layout.journal() + 2 * LINE_WORDS + index * JOURNAL_ENTRY_WORDS
}

/// Takes the journal for a plan, durably.
pub(crate) fn take<M: Memory>(medium: &mut Medium<M>, region: &M::Region, layout: &Layout, plan: u32) {
    medium.store_durably(Site::Journal, region, layout.journal(), owner(plan));
}

/// Gives it back, durably.
pub(crate) fn give_back<M: Memory>(medium: &mut Medium<M>, region: &M::Region, layout: &Layout) {
    medium.store_durably(Site::Journal, region, layout.journal(), 0);
}

/// Begins a transaction and stores `words` from a place on, each when its entry is durable. The caller makes them durable
/// before the next transaction begins.
pub(crate) fn store<M: Memory>(
    medium: &mut Medium<M>,
    region: &M::Region,
    layout: &Layout,
    transaction: u64,
    (first, words): (usize, &[u64]),
) {
    medium.store_durably(Site::Journal, region, running(layout), transaction);
    for (at, value) in words.iter().enumerate() {
        let (place, entry) = (first + at, entry(layout, at));
        region.store(entry, place as u64);
        region.store(entry + 1, region.load(place));
        region.store(entry + 2, transaction);
        medium.write_back(Site::Backup, region, entry..entry + 3);
        medium.fence(Site::Backup);
        region.store(place, *value);
    }
}

/// A transaction that a power cut interrupted, or the last one of a plan that has not ended.
pub(crate) struct InterruptedTransaction {
    pub(crate) chunk: u32,
    /// Places, with what they held.
    words: Vec<(usize, u64)>,
}

/// That of this plan, if one began.
pub(crate) fn interrupted<R: Region>(
    region: &R,
    layout: &Layout,
    plan: u32,
) -> Option<InterruptedTransaction> {
    let transaction = region.load(running(layout));
    let chunk = transaction as u32;
    if region.load(layout.journal()) != owner(plan) || transaction != number(plan, chunk) {
        return None;
    }
    let array = layout.array()..layout.words();
    let words = (0..layout.sizes.undo_slots as usize / 2)
        .map(|at| entry(layout, at))
        .take_while(|entry| region.load(entry + 2) == transaction)
        .map(|entry| (region.load(entry) as usize, region.load(entry + 1)))
        .take_while(|(place, _)| array.contains(place))
        .collect();
    Some(InterruptedTransaction { chunk, words })
}

impl InterruptedTransaction {
    /// Puts back what the transaction overwrote, durably.
    pub(crate) fn put_back<M: Memory>(&self, medium: &mut Medium<M>, region: &M::Region) {
        for (place, value) in &self.words {
            region.store(*place, *value);
            medium.write_back(Site::UndoPutBack, region, *place..place + 1);
        }
        medium.fence(Site::UndoPutBack);
    }
}
