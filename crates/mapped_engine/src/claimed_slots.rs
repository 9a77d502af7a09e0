//! Reader slots: the 16 slots that a process has while it reads, claimed by the lock of its file `reader-<n>`.
//!
//! ```text
//! reader-<n>   empty but for a process id; locked by the process whose slots are 16 n .. 16 n + 15
//! ```
//!
//! The lock ends with the process, however that ends: so the writer finds out who is gone (`dead_readers.rs`). Whoever gives
//! the lock back removes the file first; that of a process that was killed goes when the writer closes the database. Which of
//! its slots are free a process knows by itself; no two processes ever claim one by an atomic operation.
//!
//! Whoever has joined says so in `live`, in the word of its claim. So the next writer tells those who read what it writes from those
//! who still read what an earlier one left, or what they recovered by themselves: of these it sees the lock alone.
//!
//! Source: mapped-engine, section 5. Differs: a seventeenth snapshot isn't refused, it shares a slot. So a snapshot always
//! begins, as in the process that writes; what can go wrong is told by its reads.

use crate::live::Live;
use crate::live_file::not_announced;
use crate::live_head::SLOTS_PER_PROCESS;
use crate::slots::{ReaderSlot, SlotHolder};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::io::clock::Clock;
use evergraph_storage::io::directory::{Directory, LockGuard};
use evergraph_storage::io::error::IoError;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::Ordering;
use std::sync::Arc;

/// The name of the file whose lock says who has the slots of `claim`.
#[must_use]
pub fn reader_file(claim: u32) -> String {
    format!("reader-{claim}")
}

/// Whether this is the name of one.
#[must_use]
pub fn is_reader_file(name: &str) -> bool {
    let claim = name.strip_prefix("reader-").and_then(|claim| claim.parse().ok());
    claim.is_some_and(|claim| reader_file(claim) == name)
}

/// Sixteen slots of a process, until it is dropped.
///
/// Snapshots beyond sixteen share the slot that began last: its era is the newest, so that it keeps least.
#[derive(Debug)]
pub struct ClaimedSlots {
    live: Arc<Live>,
    claim: u32,
    process: u32,
    clock: Arc<dyn Clock>,
    use_of_slots: Mutex<UseOfSlots>,
    lock: Option<ReaderLock>,
}

/// The lock of a claim: what its process reads stays, whichever `live` that is in. Its file goes with it.
#[derive(Debug)]
pub struct ReaderLock {
    directory: Arc<dyn Directory>,
    claim: u32,
    _lock: LockGuard,
}

impl ReaderLock {
    /// Takes the first lock of `claims` that nobody has.
    ///
    /// # Errors
    /// `limit` if as many processes read the database; `io`, naming the file, if one of the files can't be made or locked, for
    /// example without permission.
    pub fn take(directory: &Arc<dyn Directory>, claims: u32) -> Result<Self> {
        for claim in 0..claims {
            match Self::take_one(directory, claim) {
                Ok(lock) => return Ok(lock),
                Err(IoError::Locked { .. }) => {}
                Err(error) => return Err(not_announced(error)),
            }
        }
        let location = directory.location().display();
        let text =
            format!("{claims} processes read database {location}, the most there can be: end one of them");
        Err(Error::new(ErrorKind::Limit, text))
    }

    /// Takes the lock of `claim`.
    ///
    /// # Errors
    /// [`IoError::Locked`] if a process has it; what the system says.
    pub(crate) fn take_one(directory: &Arc<dyn Directory>, claim: u32) -> std::result::Result<Self, IoError> {
        let lock = directory.lock_exclusive(&reader_file(claim))?;
        Ok(Self { directory: Arc::clone(directory), claim, _lock: lock })
    }
}

impl Drop for ReaderLock {
    fn drop(&mut self) {
        // While the lock is held: nobody else has it in this file. What stays, the next one takes.
        let _ = self.directory.remove(&reader_file(self.claim));
    }
}

/// How many snapshots each slot has, and which slot began last.
#[derive(Debug, Default)]
struct UseOfSlots {
    snapshots: [u32; SLOTS_PER_PROCESS as usize],
    newest: usize,
}

impl ClaimedSlots {
    /// Claims slots for the process with id `process`.
    ///
    /// # Errors
    /// `busy` if another process opened the database since `live` was joined; those of [`ReaderLock::take`].
    pub fn claim(
        live: Arc<Live>,
        directory: &Arc<dyn Directory>,
        process: u32,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let lock = ReaderLock::take(directory, live.head().slots / SLOTS_PER_PROCESS)?;
        Self::with_lock(live, lock, process, clock)
    }

    /// Claims the slots of `live` that belong to a lock.
    ///
    /// # Errors
    /// `busy` if another process opened the database since `live` was joined.
    pub fn with_lock(live: Arc<Live>, lock: ReaderLock, process: u32, clock: Arc<dyn Clock>) -> Result<Self> {
        let claim = lock.claim;
        // Behind the lock. Whoever opens the database replaces `live`, then looks at the locks: either that is seen here, or
        // the lock is seen there.
        live.words().check_current()?;
        // What a process left that is gone.
        slots_of(&live, claim).for_each(ReaderSlot::end);
        live.retained_word(claim).store(0, Ordering::Relaxed);
        live.claim_word(claim).store(process.into(), Ordering::Release);
        Ok(Self { live, claim, process, clock, use_of_slots: Mutex::default(), lock: Some(lock) })
    }

    /// Which claim it is: the number of the file.
    #[must_use]
    pub fn claim_number(&self) -> u32 {
        self.claim
    }

    /// Begins a snapshot of the newest readable commit. Cost: a lock, some atomic stores and loads, and the time of day.
    ///
    /// # Errors
    /// `invalid` in a process that was forked from the one that claimed the slots; `busy` if the writer closed the database.
    pub fn begin(self: &Arc<Self>) -> Result<OpenSlot> {
        let open = self.begin_anyway()?;
        // Behind the registration: whoever closes it before is seen.
        self.live.check()?;
        Ok(open)
    }

    /// The same where nobody writes any more: of the last commit that was readable. The lock keeps all of it.
    ///
    /// # Errors
    /// `invalid` in a process that was forked from the one that claimed the slots.
    pub fn begin_anyway(self: &Arc<Self>) -> Result<OpenSlot> {
        if self.is_forked() {
            let (claimed, path) = (self.process, self.live.words().path().display());
            let text = format!(
                "{path} was opened by process {claimed}, and this one was forked from it: open the database here again"
            );
            return Err(Error::invalid(text));
        }
        let mut slots = self.use_of_slots.lock();
        let (number, timestamp) = match slots.snapshots.iter().position(|snapshots| *snapshots == 0) {
            Some(free) => {
                let begun = u32::try_from(self.clock.wall() / 1_000_000_000).unwrap_or(0);
                let holder = SlotHolder { process: self.process, begun };
                slots.newest = free;
                (free, self.slot(free).begin(holder, self.live.era_word(), self.live.readable_word()))
            }
            None => (slots.newest, self.slot(slots.newest).raise(self.live.readable_word())),
        };
        slots.snapshots[number] += 1;
        drop(slots);
        Ok(OpenSlot { slots: Arc::clone(self), number, timestamp })
    }

    /// Whether this is a process that was forked from the one that claimed the slots, whose memory it has a copy of.
    fn is_forked(&self) -> bool {
        std::process::id() != self.process
    }

    fn slot(&self, number: usize) -> ReaderSlot<'_> {
        let first = (self.claim * SLOTS_PER_PROCESS) as usize;
        ReaderSlot::numbered(self.live.slot_words(), first + number)
    }
}

impl Drop for ClaimedSlots {
    fn drop(&mut self) {
        if self.is_forked() {
            // Giving the lock back here would take it from the process that this one was forked from.
            std::mem::forget(self.lock.take());
            return;
        }
        self.live.claim_word(self.claim).store(0, Ordering::Release);
    }
}

/// Whether the process that has the lock of `claim` has joined `live`, and reads nothing else by that claim.
#[must_use]
pub fn has_joined(live: &Live, claim: u32) -> bool {
    // The lock is found held first, the word is looked at then: it is another's only if that one joined, too.
    live.claim_word(claim).load(Ordering::Acquire) != 0 || planted(Bug::AnyReaderJoined)
}

/// The slots that belong to `claim`.
pub fn slots_of(live: &Live, claim: u32) -> impl Iterator<Item = ReaderSlot<'_>> {
    let first = (claim * SLOTS_PER_PROCESS) as usize;
    (first..first + SLOTS_PER_PROCESS as usize).map(|number| ReaderSlot::numbered(live.slot_words(), number))
}

/// An open snapshot of this process: nothing that it reads is freed before it is dropped.
#[derive(Debug)]
pub struct OpenSlot {
    slots: Arc<ClaimedSlots>,
    number: usize,
    timestamp: Timestamp,
}

impl OpenSlot {
    /// What it sees.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }
}

impl Drop for OpenSlot {
    fn drop(&mut self) {
        // The slot is in memory that both processes share, and the other one still reads.
        if self.slots.is_forked() {
            return;
        }
        let mut slots = self.slots.use_of_slots.lock();
        slots.snapshots[self.number] -= 1;
        if slots.snapshots[self.number] == 0 {
            self.slots.slot(self.number).end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live_head::LiveHead;
    use crate::slots::{Replacement, SnapshotNeeds};
    use crate::words::{RegionSizes, SharedWords};
    use evergraph_storage::io::clock::ManualClock;
    use evergraph_storage::io::memory::MemoryDirectory;

    fn live(slots: u32) -> Arc<Live> {
        let sizes = RegionSizes::new(13, 13).unwrap();
        let head = LiveHead { opening: 1, process: 1, sizes, slots };
        let live = Live::create(Arc::new(SharedWords::on_heap(sizes)), head, Timestamp(5)).unwrap();
        live.open();
        Arc::new(live)
    }

    fn memory() -> Arc<dyn Directory> {
        Arc::new(MemoryDirectory::new("db"))
    }

    fn claim(live: &Arc<Live>, directory: &Arc<dyn Directory>) -> Result<Arc<ClaimedSlots>> {
        let clock = Arc::new(ManualClock::new(1_700_000_000_000_000_000));
        ClaimedSlots::claim(Arc::clone(live), directory, std::process::id(), clock).map(Arc::new)
    }

    #[test]
    fn snapshots_beyond_sixteen_share_the_slot_that_began_last() {
        let (live, directory) = (live(16), memory());
        let slots = claim(&live, &directory).unwrap();
        let mut open: Vec<_> = (0..16).map(|_| slots.begin().unwrap()).collect();
        assert!(open.iter().all(|slot| slot.timestamp() == Timestamp(5)));
        let look = slots_of(&live, 0).next().and_then(ReaderSlot::look).unwrap();
        assert_eq!(look.holder, SlotHolder { process: std::process::id(), begun: 1_700_000_000 });
        live.publish(Timestamp(8));
        live.make_readable(Timestamp(8));
        live.end_era();
        let shared = slots.begin().unwrap();
        assert_eq!((shared.number, shared.timestamp()), (15, Timestamp(8)));
        let needs = || SnapshotNeeds::scan(live.slot_words(), &[], Timestamp(100));
        // What the first of the slot's snapshots reads, and what the second does.
        let replaced = |base| Replacement { era: 1, base: Timestamp(base), until: Timestamp(base) };
        assert!(
            needs().content(replaced(5)) && needs().content(replaced(8)) && !needs().content(replaced(9))
        );
        open.swap_remove(7);
        let again = slots.begin().unwrap();
        assert_eq!(again.number, 7, "a free slot is taken first");
        drop(open.pop());
        assert!(slots_of(&live, 0).nth(15).unwrap().look().is_some(), "one of two has ended");
        drop((open, again, shared));
        assert!(slots_of(&live, 0).all(|slot| slot.look().is_none()));
    }

    #[test]
    fn a_claim_says_who_has_joined_until_it_ends() {
        let (live, directory) = (live(32), memory());
        let (first, second) = (claim(&live, &directory).unwrap(), claim(&live, &directory).unwrap());
        assert!(has_joined(&live, 0) && has_joined(&live, 1));
        let open = first.begin().unwrap();
        drop((first, second));
        assert!(has_joined(&live, 0) && !has_joined(&live, 1), "a snapshot keeps its claim");
        drop(open);
        assert!(!has_joined(&live, 0));
    }

    #[test]
    fn more_processes_than_files_are_refused_by_name() {
        let (live, directory) = (live(32), memory());
        let (first, second) = (claim(&live, &directory).unwrap(), claim(&live, &directory).unwrap());
        assert_eq!((first.claim_number(), second.claim_number()), (0, 1));
        let error = claim(&live, &directory).unwrap_err();
        assert!(
            error.kind() == ErrorKind::Limit && error.to_string().contains("2 processes read"),
            "{error}"
        );
        drop(first);
        assert_eq!(claim(&live, &directory).unwrap().claim_number(), 0);
    }

    #[test]
    fn a_claim_clears_what_a_dead_process_left() {
        let (live, directory) = (live(16), memory());
        let holder = SlotHolder { process: 9, begun: 0 };
        let _ =
            ReaderSlot::numbered(live.slot_words(), 3).begin(holder, live.era_word(), live.readable_word());
        let _slots = claim(&live, &directory).unwrap();
        assert!(slots_of(&live, 0).all(|slot| slot.look().is_none()));
    }

    #[test]
    fn nobody_begins_in_a_forked_process_or_when_the_database_is_closed() {
        let (live, directory) = (live(16), memory());
        let clock = Arc::new(ManualClock::new(0));
        let forked = std::process::id().wrapping_add(1);
        let slots = ClaimedSlots::claim(Arc::clone(&live), &directory, forked, clock).map(Arc::new).unwrap();
        let error = slots.begin().unwrap_err();
        assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("forked"), "{error}");
        let holder = SlotHolder { process: forked, begun: 0 };
        let timestamp = slots.slot(0).begin(holder, live.era_word(), live.readable_word());
        drop(OpenSlot { slots: Arc::clone(&slots), number: 0, timestamp });
        assert!(
            slots.slot(0).look().is_some(),
            "a forked process ended a snapshot of the one that it was forked from"
        );
        drop(slots);
        assert!(live.claim_word(0).load(Ordering::Relaxed) == forked.into(), "nor its claim");
        assert!(directory.lock_exclusive(&reader_file(0)).is_err(), "nor its lock");
        let slots = claim(&live, &memory()).unwrap();
        live.close();
        assert_eq!(slots.begin().unwrap_err().kind(), ErrorKind::Busy);
        assert_eq!(slots.begin_anyway().unwrap().timestamp(), Timestamp(5));
        assert!(slots_of(&live, 0).all(|slot| slot.look().is_none()), "no slot is left taken");
    }
}
