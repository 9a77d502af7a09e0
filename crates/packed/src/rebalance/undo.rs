//! Undo: the words that the chunk of a plan overwrites, in one of two slots.
//!
//! ```text
//! line      plan << 32 | chunk | first word | words | checksum of these and of the content
//! content   the words as they were
//! ```
//!
//! The chunk's number counts up within a plan, so that the newest slot is known; the checksum covers the place as well as
//! the content, so that no content is put back at another's place.
//!
//! Source: DGAP (SC 2023), section 3, "Per-thread Undo Log". Differs: two slots and a checksum; the published program has
//! one slot, whose place it stores after the content.

use crate::layout::Layout;
use crate::memory::medium::Medium;
use crate::memory::region::{LINE_WORDS, Memory, Region};
use crate::memory::site::Site;
use crate::root::checksum;
use evergraph_storage::planted::{Bug, planted};
use std::ops::Range;

/// From this number on plans have no undo slots, if the planted bug numbers the plans after a reopening so.
pub(crate) const PLANS_WITHOUT_UNDO: u32 = 1 << 31;

/// What a chunk overwrote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Undo {
    pub(crate) chunk: u32,
    /// The slot that holds it, 0 or 1.
    pub(crate) which: usize,
    words: Range<usize>,
    content: Vec<u64>,
}

/// The first three words of a slot.
fn header(plan: u32, chunk: u32, words: &Range<usize>) -> [u64; 3] {
    [u64::from(plan) << 32 | u64::from(chunk), words.start as u64, words.len() as u64]
}

fn sum(header: [u64; 3], content: impl Iterator<Item = u64>) -> u64 {
    let covered = if planted(Bug::PackedUndoPlaceAfter) { 3 } else { 0 };
    u64::from(checksum(header.into_iter().skip(covered).chain(content)))
}

/// Backs up `words` into a slot, durably.
pub(crate) fn back_up<M: Memory>(
    medium: &mut Medium<M>,
    region: &M::Region,
    layout: &Layout,
    which: usize,
    (plan, chunk): (u32, u32),
    words: Range<usize>,
) {
    let has_no_slots = planted(Bug::PackedNoUndoAfterReopening) && plan >= PLANS_WITHOUT_UNDO;
    if planted(Bug::PackedNoUndo) || has_no_slots {
        return;
    }
    let words = if planted(Bug::PackedFirstSlotNotBackedUp) { words.start + 1..words.end } else { words };
    let is_only_one = planted(Bug::PackedOneUndoSlot) || planted(Bug::PackedUndoPlaceAfter);
    let first = layout.undo(if is_only_one { 0 } else { which });
    let header = header(plan, chunk, &words);
    let sum = sum(header, words.clone().map(|word| region.load(word)));
    let store_header = |region: &M::Region| {
        for (at, word) in header.into_iter().enumerate() {
            region.store(first + at, word);
        }
    };
    if !planted(Bug::PackedUndoPlaceAfter) {
        store_header(region);
    }
    region.store(first + 3, sum);
    let mut end = first + LINE_WORDS;
    for word in words {
        region.store(end, region.load(word));
        end += 1;
    }
    let written = if planted(Bug::PackedUndoNotWrittenBack) { first..first + LINE_WORDS } else { first..end };
    medium.write_back(Site::Backup, region, written);
    if planted(Bug::PackedUndoPlaceAfter) {
        medium.fence(Site::Backup);
        store_header(region);
        medium.write_back(Site::Backup, region, first..first + LINE_WORDS);
    }
    if !planted(Bug::PackedBackupNotFenced) {
        medium.fence(Site::Backup);
    }
}

/// The newest backup of this plan, if one is whole.
pub(crate) fn newest<R: Region>(region: &R, layout: &Layout, plan: u32) -> Option<Undo> {
    if planted(Bug::PackedUndoUnread) {
        return None;
    }
    let array = layout.array()..layout.words();
    let load = |which: usize| {
        let first = layout.undo(which);
        let header: [u64; 3] = std::array::from_fn(|at| region.load(first + at));
        let [number, start, length] = header;
        if (number >> 32) as u32 != plan || length == 0 || length > u64::from(layout.sizes.undo_slots) / 2 {
            return None;
        }
        let content: Vec<u64> = (0..length as usize).map(|at| region.load(first + LINE_WORDS + at)).collect();
        if region.load(first + 3) != sum(header, content.iter().copied()) {
            return None;
        }
        let start = usize::try_from(start).ok()?;
        let words = start..start.checked_add(content.len())?;
        let is_inside = array.contains(&words.start) && words.end <= array.end;
        is_inside.then_some(Undo { chunk: number as u32, which, words, content })
    };
    [0, 1].into_iter().filter_map(load).max_by_key(|undo| undo.chunk)
}

impl Undo {
    /// Empties the other slot, durably. It may hold a backup of the next chunk, of which the content is missing: this chunk's
    /// own, which comes there next, would complete it if both contents are alike, as gaps are.
    pub(crate) fn empty_other<M: Memory>(&self, medium: &mut Medium<M>, region: &M::Region, layout: &Layout) {
        medium.store_durably(Site::UndoEmptied, region, layout.undo(1 - self.which), 0);
    }

    /// Puts back what the chunk overwrote, durably.
    pub(crate) fn put_back<M: Memory>(&self, medium: &mut Medium<M>, region: &M::Region) {
        for (word, value) in self.words.clone().zip(&self.content) {
            region.store(word, *value);
        }
        medium.write_back(Site::UndoPutBack, region, self.words.clone());
        medium.fence(Site::UndoPutBack);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::region::Domain;
    use crate::memory::simulated::SimulatedMemory;
    use crate::memory::site::Step;
    use crate::options::Options;
    use evergraph_storage::sync::Mutex;
    use std::sync::Arc;

    #[test]
    fn a_torn_backup_leaves_the_one_before() {
        let layout = Layout::new(&Options { vertices: 8, edges: 100, ..Options::default() });
        let memory = SimulatedMemory::new(Domain::Adr);
        let region = memory.allocate(1, layout.words()).unwrap();
        (layout.array()..layout.words()).for_each(|word| region.store(word, word as u64));
        let mut medium = Medium::new(memory.clone());
        medium.write_back(Site::CreatedArray, &region, layout.array()..layout.words());
        medium.fence(Site::CreatedArray);
        let words =
            |chunk: u32| layout.array() + 5 * chunk as usize..layout.array() + 5 * chunk as usize + 20;
        for chunk in 0..5 {
            memory.observe(move |memory| {
                memory.for_each_image(500, u64::from(chunk), |image| {
                    let found = newest(&image.open(1).unwrap(), &layout, 7).map(|undo| undo.chunk);
                    assert!(found == Some(chunk) || found == chunk.checked_sub(1), "{found:?}");
                });
            });
            back_up(&mut medium, &region, &layout, chunk as usize % 2, (7, chunk), words(chunk));
            memory.ignore();
            let found = newest(&region, &layout, 7).unwrap();
            assert_eq!(
                (found.chunk, found.which, found.words.clone()),
                (chunk, chunk as usize % 2, words(chunk))
            );
            words(chunk).for_each(|word| region.store(word, 0));
            found.put_back(&mut medium, &region);
            assert!(words(chunk).all(|word| region.load(word) == word as u64));
        }
        assert_eq!(newest(&region, &layout, 8), None, "of another plan");
    }

    /// A power cut during the recovery from one: both chunks are gaps alone, so that the content of the first one's backup
    /// completes the torn one of the second, which says that the first was moved.
    #[test]
    fn a_torn_backup_is_not_completed_by_the_content_of_another_chunk() {
        let layout = Layout::new(&Options { vertices: 8, edges: 100, ..Options::default() });
        let memory = SimulatedMemory::new(Domain::Adr);
        let region = memory.allocate(1, layout.words()).unwrap();
        let words = move |chunk: usize| layout.array() + 20 * chunk..layout.array() + 20 * chunk + 20;
        let mut medium = Medium::new(memory.clone());
        // What the second slot held before is no gap.
        words(3).for_each(|word| region.store(word, word as u64));
        back_up(&mut medium, &region, &layout, 1, (6, 9), words(3));
        back_up(&mut medium, &region, &layout, 0, (7, 0), words(0));
        let torn = Arc::new(Mutex::new(Vec::new()));
        let found = Arc::clone(&torn);
        memory.observe(move |memory| {
            memory.for_each_image(500, 3, |image| {
                let region = image.open(1).unwrap();
                let has_header = region.load(layout.undo(1)) == header(7, 1, &words(1))[0];
                if has_header && newest(&region, &layout, 7).is_some_and(|undo| undo.chunk == 0) {
                    found.lock().push(image);
                }
            });
        });
        back_up(&mut medium, &region, &layout, 1, (7, 1), words(1));
        memory.ignore();
        let torn = std::mem::take(&mut *torn.lock());
        assert!(torn.len() > 2, "{} images have a header without its content", torn.len());
        // How many power cuts during their recovery leave the second chunk's backup whole.
        let completed = || {
            let count = Arc::new(Mutex::new(0u32));
            // Nothing is pending in an image: its one image is a copy.
            let recover = |image: SimulatedMemory| {
                let region = image.open(1).unwrap();
                let mut medium = Medium::new(image.clone());
                let undo = newest(&region, &layout, 7).unwrap();
                undo.empty_other(&mut medium, &region, &layout);
                undo.put_back(&mut medium, &region);
                let counted = Arc::clone(&count);
                image.observe(move |image| {
                    image.for_each_image(500, 4, |image| {
                        let undo = newest(&image.open(1).unwrap(), &layout, 7).unwrap();
                        *counted.lock() += u32::from(undo.chunk != 0);
                    });
                });
                back_up(&mut medium, &region, &layout, 1, (7, 0), words(0));
                image.ignore();
            };
            for image in &torn {
                image.for_each_image(1, 0, recover);
            }
            let count = count.lock();
            *count
        };
        assert_eq!(completed(), 0, "the first chunk is not moved yet");
        memory.leave_out(Site::UndoEmptied, Step::WriteBack);
        assert!(completed() > 0, "the undo slot is emptied durably for a reason");
    }
}
