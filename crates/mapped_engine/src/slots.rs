//! Slots: the open snapshots of all processes, so that nothing they can read is freed.
//!
//! ```text
//! WORD      HOLDS
//!    0      state: 0 free | 1 registering | 2 active
//!    1      S: what the snapshot sees
//!    2      era in which it began
//!    3      pid:32 | when it began:32, in seconds since 1970
//!
//! begin     state := registering; fence; era := that of `live`; S := R; store both; state := active
//! raise     state := registering; fence; S := R; store S alone; state := active
//! end       state := free
//! scan      fence; then all slots: a registering one needs everything
//! ```
//!
//! A version that was replaced at the end of era e, and is exact from its base on, can be freed when no slot has an era <= e and
//! S >= base, and R has reached what replaced it. A snapshot that registers after the scan loads the era and R after it: it finds
//! the new version, whose base is not beyond its S. One that registered before is seen. The era is loaded before S: a switch in
//! between keeps the older version, not the newer.
//!
//! Several snapshots of a process may share a slot: it is raised for each, and keeps the era of the first. What one of them
//! reads was replaced in no earlier era, and is exact from no later base than the newest S.
//!
//! Concurrency: a slot belongs to one process, which stores; the writer loads, and clears the slots of processes that
//! are gone. The two fences decide who is first: either the scan sees the state, or the begin sees the new version. What
//! a reader read happens before the end of its slot (Release), and so before what the writer puts there after a scan
//! (Acquire). S and the era may be those of a later snapshot in the same slot than the state: then the earlier one
//! has ended, and the later one needs nothing that was replaced before the scan.
//!
//! Source: mapped-engine section 5, whose models held in every order of memory; the order of registering is that of
//! hazard pointers (Michael, IEEE TPDS 15(6), 2004).

use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::atomic::{AtomicU64, Ordering, fence};
use std::collections::BTreeMap;

const FREE: u64 = 0;
const REGISTERING: u64 = 1;
const ACTIVE: u64 = 2;

/// Words of a slot.
pub const SLOT_WORDS: usize = 4;

/// Who has a slot, and since when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotHolder {
    /// The process.
    pub process: u32,
    /// Seconds since 1970 on that process' calendar; for people.
    pub begun: u32,
}

impl SlotHolder {
    fn packed(self) -> u64 {
        u64::from(self.process) | u64::from(self.begun) << 32
    }

    fn unpacked(word: u64) -> Self {
        Self { process: word as u32, begun: (word >> 32) as u32 }
    }
}

/// One slot, where it lies.
#[derive(Clone, Copy, Debug)]
pub struct ReaderSlot<'a> {
    words: &'a [AtomicU64],
}

impl<'a> ReaderSlot<'a> {
    /// The slots in `words`, four words each, in the order of their numbers.
    pub fn all(words: &'a [AtomicU64]) -> impl ExactSizeIterator<Item = Self> {
        words.chunks_exact(SLOT_WORDS).map(|words| Self { words })
    }

    /// The slot `number` of those in `words`.
    ///
    /// # Panics
    /// If there are fewer: the caller claimed it.
    #[must_use]
    pub fn numbered(words: &'a [AtomicU64], number: usize) -> Self {
        Self { words: &words[number * SLOT_WORDS..][..SLOT_WORDS] }
    }

    /// Registers a snapshot of the newest readable commit; its timestamp. The slot is this process' own, and free.
    #[must_use]
    pub fn begin(self, holder: SlotHolder, era: &AtomicU64, readable: &AtomicU64) -> Timestamp {
        let [state, snapshot_word, era_word, holder_word] = self.words else {
            unreachable!("a slot has four words")
        };
        holder_word.store(holder.packed(), Ordering::Relaxed);
        let early = planted(Bug::ReadableBeforeRegistering).then(|| readable.load(Ordering::Acquire));
        if !planted(Bug::SlotNotRegistering) {
            state.store(REGISTERING, Ordering::Release);
        }
        if !planted(Bug::SlotFenceLeftOut) {
            fence(Ordering::SeqCst);
        }
        let early =
            early.or_else(|| planted(Bug::SnapshotBeforeEra).then(|| readable.load(Ordering::Acquire)));
        let era = era.load(Ordering::Acquire);
        let snapshot = early.unwrap_or_else(|| readable.load(Ordering::Acquire));
        snapshot_word.store(snapshot, Ordering::Relaxed);
        era_word.store(era, Ordering::Relaxed);
        state.store(ACTIVE, Ordering::Release);
        if planted(Bug::SlotNotRegistering) {
            fence(Ordering::SeqCst);
        }
        Timestamp(snapshot)
    }

    /// Registers one more snapshot of the newest readable commit in a slot of this process that is active; its timestamp.
    #[must_use]
    pub fn raise(self, readable: &AtomicU64) -> Timestamp {
        let [state, snapshot_word, ..] = self.words else { unreachable!("a slot has four words") };
        if !planted(Bug::RaisedUnannounced) {
            state.store(REGISTERING, Ordering::Release);
            if !planted(Bug::RaiseFenceLeftOut) {
                fence(Ordering::SeqCst);
            }
        }
        let snapshot = readable.load(Ordering::Acquire);
        snapshot_word.store(snapshot, Ordering::Relaxed);
        state.store(ACTIVE, Ordering::Release);
        Timestamp(snapshot)
    }

    /// Ends the snapshot, or clears the slot of a process that is gone.
    pub fn end(self) {
        self.words[0].store(FREE, Ordering::Release);
    }

    /// What the slot says now, for people and to see whether it changes; `None` if it is free.
    #[must_use]
    pub fn look(self) -> Option<SlotLook> {
        let state = self.words[0].load(Ordering::Acquire);
        let [snapshot, era, holder] = [1, 2, 3].map(|word: usize| self.words[word].load(Ordering::Acquire));
        let holder = SlotHolder::unpacked(holder);
        (state != FREE).then_some(SlotLook { state, snapshot: Timestamp(snapshot), era, holder })
    }
}

/// What a slot said at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotLook {
    state: u64,
    /// What the snapshot sees; of a snapshot before, if it registers.
    pub snapshot: Timestamp,
    era: u64,
    /// Who has it.
    pub holder: SlotHolder,
}

impl SlotLook {
    /// Whether it keeps the writer from freeing what was replaced at the end of `era`. Whoever writes another state
    /// than there is counts as registering.
    #[must_use]
    pub fn holds_back(&self, era: u64) -> bool {
        self.state != ACTIVE || self.era <= era
    }
}

/// When something was replaced by something newer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replacement {
    /// The era that ended then.
    pub era: u64,
    /// From when on it is exact: older snapshots don't read it.
    pub base: Timestamp,
    /// From when on what replaced it is exact: the same base, or a newer one.
    pub until: Timestamp,
}

/// Who may read what was replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SnapshotNeed {
    /// Nobody does.
    Nobody,
    /// A snapshot with this era and S, for as long as it is open.
    Of(u64, Timestamp),
    /// Nobody knows yet.
    Unknown,
}

/// How many bytes wait for each open snapshot, by its era and S: those of one era and S share one count. What several need counts for
/// the one with the oldest era.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RetainedBytes {
    by_snapshot: BTreeMap<(u64, Timestamp), u64>,
}

impl RetainedBytes {
    /// Counts `bytes` for the snapshot that needs them; for none if nobody knows which that is.
    pub fn add(&mut self, need: SnapshotNeed, bytes: u64) {
        if let SnapshotNeed::Of(era, snapshot) = need {
            *self.by_snapshot.entry((era, snapshot)).or_default() += bytes;
        }
    }

    /// What waits for a snapshot with this era and S.
    #[must_use]
    pub fn of(&self, era: u64, snapshot: Timestamp) -> u64 {
        self.by_snapshot.get(&(era, snapshot)).copied().unwrap_or_default()
    }
}

/// What all open snapshots, and those that begin from now on, may still read.
///
/// Cost: a question is a binary search.
#[derive(Clone, Debug, Default)]
pub struct SnapshotNeeds {
    /// A slot is registering: nobody knows yet what it needs.
    everything: bool,
    /// R, before the scan: the newest snapshot that is surely possible. A load's base may be beyond it.
    readable: Timestamp,
    /// Era and S of open snapshots, ascending.
    open: Vec<(u64, Timestamp)>,
    /// The newest snapshot of those up to each in `open`.
    newest: Vec<Timestamp>,
    /// The slots that were active, ascending by number.
    active: Vec<ActiveSlot>,
}

/// A slot that a scan found active.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ActiveSlot {
    /// Its number.
    pub number: usize,
    /// Era of its snapshot.
    pub era: u64,
    /// What that sees.
    pub snapshot: Timestamp,
}

impl SnapshotNeeds {
    /// Looks at all slots in `words`, and at the snapshots of this process, each with its era; `readable` is R, loaded
    /// before. By the writer alone, after the switches whose versions it wants to free.
    #[must_use]
    pub fn scan(words: &[AtomicU64], own: &[(u64, Timestamp)], readable: Timestamp) -> Self {
        if !planted(Bug::ScanFenceLeftOut) {
            fence(Ordering::SeqCst);
        }
        let (mut everything, mut open, mut active) = (false, own.to_vec(), Vec::new());
        for (number, slot) in ReaderSlot::all(words).enumerate() {
            match slot.look() {
                None => {}
                Some(look) if look.state == ACTIVE => {
                    open.push((look.era, look.snapshot));
                    active.push(ActiveSlot { number, era: look.era, snapshot: look.snapshot });
                }
                Some(_) => everything |= !planted(Bug::RegisteringOverlooked),
            }
        }
        open.sort_unstable();
        let newest = open.iter().scan(Timestamp::ZERO, |newest, (_, snapshot)| {
            *newest = (*newest).max(*snapshot);
            Some(*newest)
        });
        let newest = newest.collect();
        Self { everything, readable, open, newest, active }
    }

    /// Whether somebody may read what was replaced so.
    #[must_use]
    pub fn content(&self, replaced: Replacement) -> bool {
        self.need(replaced) != SnapshotNeed::Nobody
    }

    /// Who may read what was replaced so: of several snapshots the one with the oldest era, which is open for longest.
    #[must_use]
    pub fn need(&self, replaced: Replacement) -> SnapshotNeed {
        let unknown = |is_needed: bool| if is_needed { SnapshotNeed::Unknown } else { SnapshotNeed::Nobody };
        if planted(Bug::EraIgnored) {
            let sees = |open: &(u64, Timestamp)| open.1 >= replaced.base && open.1 < replaced.until;
            return unknown(self.everything || self.open.iter().any(sees));
        }
        if self.everything || !replaced.until.visible_at(self.readable) {
            return SnapshotNeed::Unknown;
        }
        // The first that sees the base is the first with which the newest S does.
        let first = self.newest.partition_point(|newest| !replaced.base.visible_at(*newest));
        match self.open.get(first) {
            Some((era, snapshot)) if *era <= replaced.era => SnapshotNeed::Of(*era, *snapshot),
            _ => SnapshotNeed::Nobody,
        }
    }

    /// The snapshot that keeps retired lines: the one with the oldest era.
    #[must_use]
    pub fn need_of_lines(&self) -> SnapshotNeed {
        match self.open.first() {
            _ if self.everything => SnapshotNeed::Unknown,
            Some((era, snapshot)) => SnapshotNeed::Of(*era, *snapshot),
            None => SnapshotNeed::Nobody,
        }
    }

    /// The slots of other processes that were active, ascending by number.
    #[must_use]
    pub fn active_slots(&self) -> &[ActiveSlot] {
        &self.active
    }

    /// Whether a snapshot with this era and S is open still.
    #[must_use]
    pub fn is_open(&self, era: u64, snapshot: Timestamp) -> bool {
        self.open.binary_search(&(era, snapshot)).is_ok()
    }

    /// Whether somebody may walk past a version that was replaced so, on the way to an older one.
    #[must_use]
    pub fn line(&self, replaced: Replacement) -> bool {
        self.everything
            || !replaced.until.visible_at(self.readable)
            || self.open.first().is_some_and(|oldest| oldest.0 <= replaced.era)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::timestamp::Timestamp as T;

    const HOLDER: SlotHolder = SlotHolder { process: 7, begun: 1_700_000_000 };

    fn words(slots: usize) -> Vec<AtomicU64> {
        (0..slots * SLOT_WORDS).map(|_| AtomicU64::new(0)).collect()
    }

    /// Something that was exact from `base` on and was replaced at the end of `era`.
    fn replaced(era: u64, base: u64) -> Replacement {
        Replacement { era, base: T(base), until: T(base) }
    }

    fn scan(words: &[AtomicU64]) -> SnapshotNeeds {
        SnapshotNeeds::scan(words, &[], T(1_000_000))
    }

    #[test]
    fn a_snapshot_keeps_what_was_replaced_since_it_began_and_that_it_can_see() {
        let (words, era, readable) = (words(4), AtomicU64::new(3), AtomicU64::new(10));
        let slot = ReaderSlot::numbered(&words, 2);
        assert_eq!(slot.begin(HOLDER, &era, &readable), T(10));
        assert_eq!(slot.look().map(|look| (look.snapshot, look.holder)), Some((T(10), HOLDER)));
        let needs = scan(&words);
        // Replaced at the end of the era in which it began, or later: it may have met it.
        assert!(
            needs.content(replaced(3, 10)) && needs.content(replaced(4, 0)) && needs.line(replaced(3, 0))
        );
        // Before: it found the next one.
        assert!(!needs.content(replaced(2, 10)) && !needs.line(replaced(2, 10)));
        // Too new for it: it walks past, to an older one.
        assert!(!needs.content(replaced(3, 11)) && needs.line(replaced(9, 11)));
        slot.end();
        let needs = scan(&words);
        assert!(!needs.content(replaced(3, 10)) && !needs.line(replaced(3, 10)));
    }

    #[test]
    fn who_registers_needs_everything() {
        let words = words(2);
        words[0].store(REGISTERING, Ordering::Relaxed);
        let needs = scan(&words);
        assert!(needs.content(replaced(0, 999)) && needs.line(replaced(0, 999)));
        // A state that there isn't, too: whoever may write there must not make the writer free anything.
        words[0].store(77, Ordering::Relaxed);
        assert!(scan(&words).line(replaced(0, 0)));
    }

    #[test]
    fn what_a_load_replaced_is_needed_until_the_load_is_readable() {
        let of_load = Replacement { era: 3, base: T(5), until: T(9) };
        let needs = |readable| SnapshotNeeds::scan(&words(1), &[], readable);
        assert!(needs(T(8)).content(of_load) && needs(T(8)).line(of_load));
        assert!(!needs(T(9)).content(of_load) && !needs(T(9)).line(of_load));
    }

    #[test]
    fn the_newest_snapshot_of_the_eras_before_decides() {
        let own = [(5, T(50)), (2, T(60)), (9, T(90))];
        let needs = SnapshotNeeds::scan(&words(1), &own, T(1_000));
        let naive = |era, base| own.iter().any(|open| open.0 <= era && open.1 >= T(base));
        for era in 0..12 {
            for base in (0..100).step_by(5) {
                assert_eq!(needs.content(replaced(era, base)), naive(era, base), "{era} {base:?}");
            }
            assert_eq!(needs.line(replaced(era, 99)), naive(era, 0));
        }
    }
}
