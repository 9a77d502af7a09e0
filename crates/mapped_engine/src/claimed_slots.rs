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
//! What a writer that has ended left is kept for snapshots alone:
//!
//! ```text
//! writer    closes `live`
//! begin     slot registered; fence; is `live` open? if not, only a slot that is taken already is shared, or the lock is given back
//! end       last slot freed; fence; is `live` open? if not, the lock is given back
//! ```
//!
//! Who has joined and has no snapshot when the writer ends keeps its lock until it begins the next one, or ends: nobody takes the lock
//! of another process away, whose file may be a third one's by then.
//!
//! What a process recovered by itself has slots that nobody else looks at. The lock is given back with the last snapshot.
//!
//! Source: mapped-engine, section 5. Differs: a seventeenth snapshot isn't refused, it shares a slot. So a snapshot always
//! begins, as in the process that writes; what can go wrong is told by its reads.

use crate::live::Live;
use crate::live_file::not_announced;
use crate::live_head::{SLOTS_PER_PROCESS, made_anew};
use crate::slots::{ReaderSlot, SlotHolder};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::io::clock::Clock;
use evergraph_storage::io::directory::{Directory, LockGuard};
use evergraph_storage::io::error::IoError;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::{Ordering, fence};
use std::mem::ManuallyDrop;
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
    /// Whether no other process looks at the slots: what is read was recovered by this one.
    is_alone: bool,
    use_of_slots: Mutex<UseOfSlots>,
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
    /// `limit` if as many processes read the database; `io`, naming the file, if one of the files can't be made or locked, or none
    /// of them for lack of permission.
    pub fn take(directory: &Arc<dyn Directory>, claims: u32) -> Result<Self> {
        let mut denied = None;
        for claim in 0..claims {
            match Self::take_one(directory, claim) {
                Ok(lock) => return Ok(lock),
                Err(IoError::Locked { .. }) => {}
                // Of another user, who was killed.
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                    denied.get_or_insert(error);
                }
                Err(error) => return Err(not_announced(error)),
            }
        }
        if let Some(error) = denied {
            return Err(not_announced(error));
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
    /// None once it was given back. Never dropped by itself: in a forked process it is another one's.
    lock: ManuallyDrop<Option<ReaderLock>>,
}

impl UseOfSlots {
    /// A slot with a snapshot, the newest if that has one.
    fn taken(&self) -> Option<usize> {
        let has_snapshot = |number: &usize| self.snapshots[*number] > 0;
        Some(self.newest).filter(has_snapshot).or_else(|| (0..self.snapshots.len()).find(has_snapshot))
    }
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
        Self::of(live, lock, process, clock, false)
    }

    /// The same of a `live` that this process recovered by itself, and nobody writes.
    ///
    /// # Errors
    /// None where `live` is in this process' memory.
    pub fn alone(live: Arc<Live>, lock: ReaderLock, process: u32, clock: Arc<dyn Clock>) -> Result<Self> {
        Self::of(live, lock, process, clock, true)
    }

    fn of(
        live: Arc<Live>,
        lock: ReaderLock,
        process: u32,
        clock: Arc<dyn Clock>,
        is_alone: bool,
    ) -> Result<Self> {
        let claim = lock.claim;
        // Behind the lock. Whoever opens the database replaces `live`, then looks at the locks: either that is seen here, or
        // the lock is seen there.
        live.words().check_current()?;
        // What a process left that is gone.
        slots_of(&live, claim).for_each(ReaderSlot::end);
        live.retained_word(claim).store(0, Ordering::Relaxed);
        live.claim_word(claim).store(process.into(), Ordering::Release);
        let slots = UseOfSlots { lock: ManuallyDrop::new(Some(lock)), ..UseOfSlots::default() };
        Ok(Self { live, claim, process, clock, is_alone, use_of_slots: Mutex::new(slots) })
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
        let open = self.begin_if_kept()?;
        self.live.check()?;
        open.ok_or_else(|| made_anew(self.live.words().path()))
    }

    /// The same also where nobody writes any more, of the last commit that was readable: as long as another snapshot keeps it.
    /// `None` if none does: then nothing that `live` refers to is kept, and the lock has been given back.
    ///
    /// # Errors
    /// `invalid` in a process that was forked from the one that claimed the slots.
    pub fn begin_if_kept(self: &Arc<Self>) -> Result<Option<OpenSlot>> {
        if self.is_forked() {
            let (claimed, path) = (self.process, self.live.words().path().display());
            let text = format!(
                "{path} was opened by process {claimed}, and this one was forked from it: open the database here again"
            );
            return Err(Error::invalid(text));
        }
        let mut slots = self.use_of_slots.lock();
        if slots.lock.is_none() {
            return Ok(None);
        }
        let free = slots.snapshots.iter().position(|snapshots| *snapshots == 0);
        let begun = match free.and_then(|free| Some((free, self.begin_in(free)?))) {
            Some((free, timestamp)) => {
                slots.newest = free;
                Some((free, timestamp))
            }
            None => slots.taken().map(|taken| (taken, self.slot(taken).raise(self.live.readable_word()))),
        };
        let Some((number, timestamp)) = begun else {
            self.give_back(&mut slots);
            return Ok(None);
        };
        slots.snapshots[number] += 1;
        drop(slots);
        Ok(Some(OpenSlot { slots: Arc::clone(self), number, timestamp }))
    }

    /// Whether what its snapshots read is kept, until the last of them ends.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.use_of_slots.lock().lock.is_some()
    }

    /// Begins a snapshot in a slot that is free; `None` if `live` was closed.
    fn begin_in(&self, free: usize) -> Option<Timestamp> {
        let begun = u32::try_from(self.clock.wall() / 1_000_000_000).unwrap_or(0);
        let (holder, slot) = (SlotHolder { process: self.process, begun }, self.slot(free));
        let timestamp = slot.begin(holder, self.live.era_word(), self.live.readable_word());
        // Behind the registration, which has a fence: whoever closes it and looks at the slots saw that, or is seen here.
        if self.is_alone || self.live.is_open() {
            return Some(timestamp);
        }
        slot.end();
        None
    }

    /// Behind the end of the last snapshot.
    fn last_has_ended(&self, slots: &mut UseOfSlots) {
        if planted(Bug::IdleReaderKeepsLock) {
            return;
        }
        // The slot is free to whoever sees that `live` is closed.
        fence(Ordering::SeqCst);
        if self.is_alone || !self.live.is_open() {
            self.give_back(slots);
        }
    }

    fn give_back(&self, slots: &mut UseOfSlots) {
        let Some(lock) = slots.lock.take() else { return };
        self.live.claim_word(self.claim).store(0, Ordering::Release);
        drop(lock);
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
        // Giving the lock back here would take it from the process that this one was forked from.
        if !self.is_forked() {
            self.give_back(&mut self.use_of_slots.lock());
        }
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
            if slots.taken().is_none() {
                self.slots.last_has_ended(&mut slots);
            }
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
    use evergraph_storage::io::directory::LockState;
    use evergraph_storage::io::error::Operation;
    use evergraph_storage::io::failing::{FailingDirectory, Fault};
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
        let kept = slots.begin().unwrap();
        live.close();
        assert_eq!(slots.begin().unwrap_err().kind(), ErrorKind::Busy);
        let another = slots.begin_if_kept().unwrap().expect("a snapshot keeps it");
        assert_eq!(another.timestamp(), Timestamp(5));
        assert_eq!(another.number, kept.number, "a free slot is taken");
        drop(kept);
        assert!(slots.is_kept());
        drop(another);
        assert!(!slots.is_kept() && slots.begin_if_kept().unwrap().is_none());
        assert_eq!(slots.begin().unwrap_err().kind(), ErrorKind::Busy);
        assert!(slots_of(&live, 0).all(|slot| slot.look().is_none()), "no slot is left taken");
    }

    #[test]
    fn behind_the_end_of_a_writer_snapshots_alone_keep_the_lock() {
        let (live, directory) = (live(32), memory());
        let [idle, reading] = [(); 2].map(|()| claim(&live, &directory).unwrap());
        let snapshot = reading.begin().unwrap();
        drop(idle.begin().unwrap());
        live.close();
        let is_held = |claim| directory.lock_state(&reader_file(claim)).unwrap() != LockState::Free;
        assert_eq!([0, 1].map(is_held), [true, true], "who has joined has a lock");
        assert!(idle.begin_if_kept().unwrap().is_none());
        // Another process takes the claim: it is not given back twice.
        let next = directory.lock_exclusive(&reader_file(0)).unwrap();
        drop(idle);
        assert!(is_held(0), "the lock of another process was given back");
        drop(next);
        drop(snapshot);
        assert!(!is_held(1), "the last snapshot of a closed `live` gives the lock back");
        assert!(reading.begin_if_kept().unwrap().is_none());
    }

    #[test]
    fn what_was_recovered_is_kept_by_its_snapshots_alone() {
        let (live, directory) = (live(16), memory());
        live.close();
        let lock = ReaderLock::take(&directory, 1).unwrap();
        let clock = Arc::new(ManualClock::new(0));
        let slots = ClaimedSlots::alone(live, lock, std::process::id(), clock).map(Arc::new).unwrap();
        let (first, second) = (slots.begin_if_kept().unwrap(), slots.begin_if_kept().unwrap());
        drop(first);
        assert!(slots.is_kept() && directory.lock_exclusive(&reader_file(0)).is_err());
        drop(second);
        assert!(directory.lock_exclusive(&reader_file(0)).is_ok(), "an idle process keeps its lock");
        assert!(slots.begin_if_kept().unwrap().is_none());
    }

    /// As that of a killed process of another user, who left it with a mode that keeps others from it.
    #[test]
    fn a_file_that_may_not_be_written_is_passed_over() {
        let failing = Arc::new(FailingDirectory::new(Arc::new(MemoryDirectory::new("db"))));
        let directory: Arc<dyn Directory> = Arc::<FailingDirectory>::clone(&failing);
        failing.plan(Fault::new(Operation::Lock, "reader-0", std::io::ErrorKind::PermissionDenied).lasting());
        let lock = ReaderLock::take(&directory, 2).unwrap();
        assert_eq!(lock.claim, 1);
        let error = ReaderLock::take(&directory, 2).unwrap_err().to_string();
        assert!(error.contains("reader-0: a process that reads"), "{error}");
    }
}
