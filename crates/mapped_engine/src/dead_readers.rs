//! Dead readers: finds slots whose process is gone, and clears them.
//!
//! ```text
//! a slot holds something back, and says the same for a second
//!   lock of its reader-<n> is held     the process lives, or is stopped: kept, looked at a second later again
//!   lock is free                       the process is gone: its sixteen slots are cleared, under that lock
//! ```
//!
//! A process that is stopped is never evicted: what it reads would change under it.

use crate::claimed_slots::{reader_file, slots_of};
use crate::live::Live;
use crate::live_head::SLOTS_PER_PROCESS;
use crate::slots::{ReaderSlot, SlotHolder, SlotLook};
use evergraph_graph::error::Result;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::IoError;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::atomic::Ordering;
use std::time::Duration;

/// How long a slot says the same before its lock is tried.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the writer remembers of slots.
#[derive(Debug, Default)]
pub struct DeadReaders {
    /// For each slot what it said, and since when or since when its lock was found held.
    seen: Vec<Option<(SlotLook, Duration)>>,
}

impl DeadReaders {
    /// Clears the slots of processes that are gone, if they hold back what was replaced at the end of `era` (the
    /// newest that waits) or before; which processes these were. Call it again and again: `now` is the time on one clock.
    ///
    /// # Errors
    /// `io` if a lock can be neither taken nor found held; nothing is cleared then whose process may live.
    pub fn clear(
        &mut self,
        live: &Live,
        directory: &dyn Directory,
        era: u64,
        now: Duration,
    ) -> Result<Vec<SlotHolder>> {
        let slots: Vec<ReaderSlot<'_>> = ReaderSlot::all(live.slot_words()).collect();
        self.seen.resize(slots.len(), None);
        let mut gone = Vec::new();
        for claim in 0..live.head().slots / SLOTS_PER_PROCESS {
            let first = (claim * SLOTS_PER_PROCESS) as usize;
            let numbers = first..first + SLOTS_PER_PROCESS as usize;
            let seen = &mut self.seen[numbers.clone()];
            let mut is_suspect = false;
            for (seen, slot) in seen.iter_mut().zip(&slots[numbers]) {
                let look = slot.look().filter(|look| look.holds_back(era));
                match (look, *seen) {
                    (None, _) => *seen = None,
                    (Some(look), Some((before, since))) if before == look => {
                        is_suspect |= now.saturating_sub(since) >= PATIENCE;
                    }
                    (Some(look), _) => *seen = Some((look, now)),
                }
            }
            if !is_suspect || planted(Bug::DeadSlotKept) {
                continue;
            }
            let holder = seen.iter().flatten().map(|(look, _)| look.holder).next();
            let lock = match directory.lock_exclusive(&reader_file(claim)) {
                Ok(lock) => Some(lock),
                Err(IoError::Locked { .. }) if !planted(Bug::StoppedReaderEvicted) => {
                    seen.iter_mut().flatten().for_each(|(_, since)| *since = now);
                    continue;
                }
                Err(IoError::Locked { .. }) => None,
                Err(error) => return Err(error.into()),
            };
            // Under the lock, so that nobody claims them meanwhile.
            slots_of(live, claim).for_each(ReaderSlot::end);
            live.claim_word(claim).store(0, Ordering::Release);
            seen.fill(None);
            if lock.is_some() {
                // Under it, as every holder removes it.
                let _ = directory.remove(&reader_file(claim));
            }
            drop(lock);
            gone.extend(holder);
        }
        Ok(gone)
    }
}

/// The open snapshot that has been there for longest, by the calendars of the processes.
#[must_use]
pub fn oldest_reader(live: &Live) -> Option<SlotLook> {
    ReaderSlot::all(live.slot_words())
        .filter_map(ReaderSlot::look)
        .min_by_key(|look| (look.snapshot, look.holder.begun))
}
