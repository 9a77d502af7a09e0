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
use evergraph_graph::error::{Error, ErrorKind, Result};

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

fn damaged(word: usize, problem: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the journal at byte {} is damaged: {problem}", 8 * word))
}

/// That of this plan, which has so many chunks, if one began.
///
/// # Errors
/// `corrupt` if it cannot be undone: going on from lists that are half moved would lose edges.
pub(crate) fn interrupted<R: Region>(
    region: &R,
    layout: &Layout,
    plan: u32,
    chunks: usize,
) -> Result<Option<InterruptedTransaction>> {
    let transaction = region.load(running(layout));
    let chunk = transaction as u32;
    if region.load(layout.journal()) != owner(plan) || transaction != number(plan, chunk) {
        return Ok(None);
    }
    if chunk as usize >= chunks {
        return Err(damaged(running(layout), &format!("chunk {chunk} of {chunks}")));
    }
    let array = layout.array()..layout.words();
    let words = (0..layout.sizes.undo_slots as usize / 2)
        .map(|at| entry(layout, at))
        .take_while(|entry| region.load(entry + 2) == transaction)
        .map(|entry| match region.load(entry) as usize {
            place if array.contains(&place) => Ok((place, region.load(entry + 1))),
            _ => Err(damaged(entry, "a place outside of the array")),
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Some(InterruptedTransaction { chunk, words }))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ablation::{Ablation, UndoKind};
    use crate::array::PackedArray;
    use crate::memory::region::Domain;
    use crate::memory::simulated::SimulatedMemory;
    use crate::options::Options;
    use crate::recovery::Reopening;
    use crate::slot::edge;
    use evergraph_storage::sync::Mutex;
    use std::sync::Arc;

    #[test]
    fn recovery_stops_at_a_journal_that_cannot_be_undone_and_leaves_the_array_as_it_is() {
        let ablation = Ablation { undo: UndoKind::Journal, ..Ablation::NONE };
        let options = Options { vertices: 9, edges: 40, log_records: 7, undo_bytes: 64, ablation };
        let memory = SimulatedMemory::new(Domain::Adr);
        let mut array = PackedArray::create(memory.clone(), &options).unwrap();
        (0..6).for_each(|target| array.insert(0, edge(target)).unwrap());
        let (layout, number) = (*array.layout(), array.root.region);
        let (running, second_entry) = (running(&layout), entry(&layout, 1));
        // Power cuts when a transaction has an entry for its second word.
        let images = Arc::new(Mutex::new(Vec::new()));
        let found = Arc::clone(&images);
        memory.observe(move |memory| {
            memory.for_each_image(4, 1, |image| {
                let region = image.open(number).unwrap();
                let transaction = region.load(running);
                if transaction != 0 && region.load(second_entry + 2) == transaction {
                    found.lock().push(image);
                }
            });
        });
        array.make_room(0).unwrap();
        memory.ignore();
        // Of the first such fence without and with the first word, which is stored by then.
        let image = images.lock().swap_remove(1);
        let region = image.open(number).unwrap();
        let lists =
            || -> Vec<u64> { (layout.array()..layout.words()).map(|word| region.load(word)).collect() };
        let (half_moved, places) = (lists(), [0, layout.array() - 1, layout.words(), usize::MAX]);
        let outside = places.map(|place| (second_entry, place as u64, "a place outside of the array"));
        let beyond = (running, region.load(running) + 99, "chunk ");
        for (word, value, problem) in outside.into_iter().chain([beyond]) {
            let whole = region.load(word);
            image.damage(number, word, value);
            let refusal = PackedArray::open(image.clone(), Reopening::Saved).err().unwrap();
            assert_eq!(refusal.kind(), ErrorKind::Corrupt);
            let place = format!("the journal at byte {} is damaged: {problem}", 8 * word);
            assert!(refusal.to_string().contains(&place), "{refusal}");
            assert_eq!(lists(), half_moved);
            image.damage(number, word, whole);
        }
        let (array, _) = PackedArray::open(image, Reopening::Saved).unwrap();
        let mut slots = Vec::new();
        array.append_slots(0, 6, &mut slots).unwrap();
        assert_eq!(slots, (0..6).map(edge).collect::<Vec<_>>());
    }
}
