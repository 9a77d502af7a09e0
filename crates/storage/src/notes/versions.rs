//! Note versions: the notes as of every moment that somebody can still see.
//!
//! ```text
//! older   [from, to) notes    only where an open snapshot needs them
//! base    notes as of `since`
//! tail    (ts, changes) (ts, changes) ...          newer than base; the newest notes are base and tail
//! ```
//!
//! A commit appends its changes to the tail, under the latch. The next one that has notes folds what everybody sees
//! (`ts <= R`, and the horizon) into the base first, ahead of its latch. The base is changed in place unless an open snapshot needs it as
//! it was: so a commit that changes one of 100,000 notes costs a binary search, or, for each snapshot that is open
//! and older, a copy of a few hundred of them.
//!
//! Why a snapshot at S finds its notes: R and the horizon are read before the registry. Whoever registers later has S at or
//! behind the older of both and needs nothing that is folded; whoever registered before is asked about, change by change. It is the proof of merges.
//!
//! While a horizon stands still the tail keeps a version for each commit with notes. Such a store reserves them from its memory
//! budget, up to a fixed limit, and folds when the horizon moves ([`NoteVersions::make_room`]).
//!
//! Concurrency: one lock, inside the latch and outside the registry. Snapshots take it when they read a note.

use crate::memory_budget::MemoryBudget;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::timeline::clock::Timeline;
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::note::{NoteChange, Notes};
use evergraph_graph::timestamp::Timestamp;
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

/// Older notes beyond which it is looked at each fold which of them are needed.
const OLDER_MAX: usize = 32;
/// Bytes of the tail, at most, where [`NoteVersions::make_room`] is asked: more than a million commits of a short note each.
#[cfg(not(test))]
const TAIL_BYTES_MAX: u64 = 256 << 20;
/// The same, few for tests.
#[cfg(test)]
const TAIL_BYTES_MAX: u64 = 4 << 20;
/// Bytes of the tail that are reserved at once.
const RESERVED_STEP_BYTES: u64 = 1 << 20;
/// What the tail's memory is reserved for.
const PURPOSE: &str = "versions of notes";

/// The changes of one commit, by name, each name once.
pub type NoteChanges = Arc<[NoteChange]>;

/// The notes of a store.
#[derive(Debug, Default)]
pub struct NoteVersions {
    versions: Mutex<Versions>,
    /// Whether manifests name the feature though there are no notes: somebody is about to set one. Release before the
    /// checkpoint that makes it durable, Acquire under the latch by every checkpoint.
    announced: AtomicBool,
}

#[derive(Debug, Default)]
struct Versions {
    /// Ascending; what no open snapshot sees any more goes with a later fold.
    older: Vec<OlderNotes>,
    base: Notes,
    since: Timestamp,
    tail: VecDeque<(Timestamp, NoteChanges)>,
    /// What the tail takes, in bytes.
    tail_bytes: u64,
    reserved: TailReservations,
    /// The newest commit in the log that changes a note.
    newest_change: Timestamp,
    /// Notes after it, and their bytes.
    newest_size: (usize, usize),
}

/// Memory that was reserved for the tail, piece by piece.
#[derive(Default)]
struct TailReservations(Vec<Reservation>);

/// Notes from one commit on, until another one.
#[derive(Debug)]
struct OlderNotes {
    from: Timestamp,
    to: Timestamp,
    notes: Notes,
}

impl NoteVersions {
    /// What recovery found: the notes, and the newest commit of the log that changes one.
    #[must_use]
    pub fn new(notes: Notes, newest_change: Timestamp) -> Self {
        let newest_size = (notes.len(), notes.bytes());
        let versions = Versions { base: notes, newest_change, newest_size, ..Versions::default() };
        Self { versions: Mutex::new(versions), announced: AtomicBool::new(false) }
    }

    /// What the note `name` says to a snapshot at `at`, which is registered. Cost: a lock, and a binary search for each
    /// commit with notes that is not folded yet.
    #[must_use]
    pub fn get(&self, name: &str, at: Timestamp) -> Option<Arc<[u8]>> {
        let versions = self.versions.lock();
        if let Some(older) = versions.older_at(at) {
            return older.get(name).cloned();
        }
        let changed = versions.tail_newest_first(at).find_map(|changes| {
            let found = changes.binary_search_by(|change| (*change.name).cmp(name)).ok()?;
            Some(changes[found].bytes.clone())
        });
        changed.unwrap_or_else(|| versions.base.get(name).cloned())
    }

    /// What the note `name` says after the newest commit. Cost: as [`NoteVersions::get`].
    #[must_use]
    pub fn newest(&self, name: &str) -> Option<Arc<[u8]>> {
        self.get(name, Timestamp::MAX)
    }

    /// All notes of a snapshot at `at`, which is registered. Cost: the changes that are not folded yet.
    #[must_use]
    pub fn at(&self, at: Timestamp) -> Notes {
        let versions = self.versions.lock();
        match versions.older_at(at) {
            Some(older) => older.clone(),
            None => versions.with_tail(at),
        }
    }

    /// How many notes there are after the newest commit, and the bytes of their names and contents.
    #[must_use]
    pub fn newest_size(&self) -> (usize, usize) {
        self.versions.lock().newest_size
    }

    /// Puts what every new snapshot sees into the base. What it displaced is to be freed without a lock.
    ///
    /// Ahead of the latch, before a commit that changes notes.
    pub fn fold(&self, timeline: &Timeline) -> impl Sized + use<> {
        let mut versions = self.versions.lock();
        // Before the registry: see above.
        let limit = timeline.merge_limit();
        let (mut is_needed, mut gone) = (Vec::new(), Vec::new());
        {
            let registry = timeline.registry();
            let mut from = versions.since;
            for (timestamp, _) in versions.tail.iter().take_while(|(timestamp, _)| *timestamp <= limit) {
                is_needed.push(registry.needs(from, *timestamp));
                from = *timestamp;
            }
            // Snapshots mostly end in the order in which they began.
            if versions.older.first().is_some_and(|oldest| !registry.needs(oldest.from, oldest.to))
                || versions.older.len() > OLDER_MAX
            {
                gone.extend(versions.older.extract_if(.., |older| !registry.needs(older.from, older.to)));
            }
        }
        let mut replaced = Vec::new();
        for is_needed in is_needed {
            let (timestamp, changes) = versions.tail.pop_front().expect("it was looked at under this lock");
            versions.tail_bytes -= tail_bytes_of(&changes);
            if is_needed {
                let (from, to, notes) = (versions.since, timestamp, versions.base.clone());
                versions.older.push(OlderNotes { from, to, notes });
            }
            replaced.extend(changes.iter().filter_map(|change| versions.base.apply(change)));
            versions.since = timestamp;
        }
        let unused = versions.unused_reservations();
        (gone, replaced, unused)
    }

    /// Sees to it that the tail may take `changes`. Ahead of the latch, in a store with a horizon, whose tail would grow without
    /// bounds while that stands still; by one thread at a time. Cost: a lock, and once in some thousand commits the budget's.
    ///
    /// # Errors
    /// `limit` if the budget refuses, or the tail has its most bytes: a higher horizon makes room.
    pub fn make_room(&self, changes: &NoteChanges, budget: &MemoryBudget) -> Result<()> {
        let lacking = {
            let versions = self.versions.lock();
            let bytes = versions.tail_bytes + tail_bytes_of(changes);
            if bytes > TAIL_BYTES_MAX {
                return Err(horizon_too_old(bytes, versions.since));
            }
            bytes.saturating_sub(versions.reserved.bytes())
        };
        if lacking > 0 {
            // Without the lock: caches may have to give way.
            let reservation = budget.reserve(PURPOSE, lacking.next_multiple_of(RESERVED_STEP_BYTES))?;
            self.versions.lock().reserved.0.push(reservation);
        }
        Ok(())
    }

    /// Installs the changes of a commit, by which there are `growth` more notes and bytes. Under the latch, before it is
    /// published: memory only, frees nothing.
    pub fn install(&self, timestamp: Timestamp, changes: NoteChanges, growth: (isize, isize)) {
        let mut versions = self.versions.lock();
        let (count, bytes) = versions.newest_size;
        versions.newest_size = (count.saturating_add_signed(growth.0), bytes.saturating_add_signed(growth.1));
        versions.newest_change = timestamp;
        versions.tail_bytes += tail_bytes_of(&changes);
        versions.tail.push_back((timestamp, changes));
    }

    /// From here on manifests name the feature `notes`, or only if there are notes. The manifest on disk does so after the
    /// next checkpoint.
    pub fn announce(&self, announced: bool) {
        self.announced.store(announced, Ordering::Release);
    }

    /// What the manifest of a checkpoint of C, `through`, says of notes: `None` only if it has none and the log changes
    /// none after C. Under the latch.
    #[must_use]
    pub fn for_manifest(&self, through: Timestamp) -> Option<Notes> {
        let versions = self.versions.lock();
        let notes = versions.with_tail(Timestamp::MAX);
        let is_needed =
            !notes.is_empty() || versions.newest_change > through || self.announced.load(Ordering::Acquire);
        is_needed.then_some(notes)
    }
}

impl Versions {
    fn older_at(&self, at: Timestamp) -> Option<&Notes> {
        if at >= self.since {
            return None;
        }
        let older = self.older.iter().find(|older| older.from <= at && at < older.to);
        Some(&older.expect("what an open snapshot needs is kept").notes)
    }

    /// The changes of the tail through `at`, the newest first.
    fn tail_newest_first(&self, at: Timestamp) -> impl Iterator<Item = &NoteChanges> {
        let end = self.tail.partition_point(|(timestamp, _)| *timestamp <= at);
        self.tail.range(..end).rev().map(|(_, changes)| changes)
    }

    /// The base with the changes through `at`. Cost: a look at each of them, and a change of each note that is among them.
    fn with_tail(&self, at: Timestamp) -> Notes {
        let (mut notes, mut changed) = (self.base.clone(), BTreeSet::new());
        // Many changes are of few notes, of which the last one counts.
        for change in self.tail_newest_first(at).flat_map(|changes| changes.iter()) {
            if changed.insert(&*change.name) {
                drop(notes.apply(change));
            }
        }
        notes
    }

    /// Takes out reservations that the tail does not need any more; one always stays.
    fn unused_reservations(&mut self) -> Vec<Reservation> {
        let mut covered = 0;
        let is_needed = |reservation: &&Reservation| {
            let lacks = covered == 0 || covered < self.tail_bytes;
            covered += reservation.bytes();
            lacks
        };
        let needed = self.reserved.0.iter().take_while(is_needed).count();
        self.reserved.0.split_off(needed)
    }
}

impl TailReservations {
    fn bytes(&self) -> u64 {
        self.0.iter().map(Reservation::bytes).sum()
    }
}

impl fmt::Debug for TailReservations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TailReservations({} bytes)", self.bytes())
    }
}

/// What the changes of one commit take in the tail, in bytes, allocations included.
fn tail_bytes_of(changes: &NoteChanges) -> u64 {
    /// Of a commit's entry, and of a change's name and content: counts and headers of what is allocated.
    const ALLOCATIONS_BYTES: usize = 64;
    let of_change = |change: &NoteChange| {
        let content = change.bytes.as_ref().map_or(0, |bytes| bytes.len());
        ALLOCATIONS_BYTES + size_of::<NoteChange>() + change.name.len() + content
    };
    (ALLOCATIONS_BYTES + changes.iter().map(of_change).sum::<usize>()) as u64
}

#[cold]
fn horizon_too_old(bytes: u64, since: Timestamp) -> Error {
    let [bytes, most] = [bytes, TAIL_BYTES_MAX].map(ByteSize);
    let text = format!(
        "the versions of notes since {since} would take {bytes}, and at most {most} are kept: the horizon is too old"
    );
    Error::new(ErrorKind::Limit, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::random::{Random, SplitMix64};
    use crate::sync::atomic::AtomicU64;
    use crate::timeline::clock::Readable;
    use crate::timeline::registry::Access;
    use evergraph_graph::timestamp::Timestamp as T;
    use std::collections::BTreeMap;

    type Model = BTreeMap<String, Vec<u8>>;

    fn seen(notes: &Notes) -> Model {
        notes.iter().map(|(name, bytes)| (name.to_string(), bytes.to_vec())).collect()
    }

    /// Commits, snapshots and a log that is behind, in any order; each snapshot sees the notes of its moment for as long
    /// as it is open, and `fold` keeps nothing that nobody needs.
    #[test]
    fn every_open_snapshot_sees_the_notes_of_its_moment() {
        for seed in 0..60 {
            let mut random = SplitMix64::new(seed);
            let durable = Arc::new(AtomicU64::new(0));
            let source = Arc::clone(&durable);
            let through = Arc::new(move || T(source.load(Ordering::Acquire)));
            let timeline = Timeline::new(T(0), Readable::Durable(through));
            let notes = NoteVersions::new(Notes::default(), T(0));
            let mut states: Vec<Model> = vec![Model::new()];
            let mut open: Vec<(T, Access)> = Vec::new();
            for _ in 0..300 {
                match random.next_u64() % 8 {
                    0..4 => {
                        let mut model = states.last().expect("one at least").clone();
                        let mut changes = BTreeMap::new();
                        for _ in 0..random.next_u64() % 4 {
                            let name = format!("n{}", random.next_u64() % 6);
                            let bytes =
                                (!random.next_u64().is_multiple_of(3)).then(|| vec![random.next_u64() as u8]);
                            match &bytes {
                                Some(bytes) => drop(model.insert(name.clone(), bytes.clone())),
                                None => drop(model.remove(&name)),
                            }
                            changes.insert(name, bytes);
                        }
                        drop(notes.fold(&timeline));
                        let timestamp = T(states.len() as u64);
                        let mut latch = timeline.latch();
                        if !changes.is_empty() {
                            let change = |(name, bytes): (String, Option<Vec<u8>>)| NoteChange {
                                name: name.into(),
                                bytes: bytes.map(Into::into),
                            };
                            let size = |model: &Model| {
                                let bytes = model.iter().map(|(name, bytes)| name.len() + bytes.len());
                                (model.len() as isize, bytes.sum::<usize>() as isize)
                            };
                            let (old, new) = (size(states.last().expect("one at least")), size(&model));
                            let growth = (new.0 - old.0, new.1 - old.1);
                            notes.install(timestamp, changes.into_iter().map(change).collect(), growth);
                            assert_eq!(notes.newest_size(), (new.0 as usize, new.1 as usize));
                        }
                        timeline.publish(timestamp, &mut latch);
                        states.push(model);
                    }
                    4 => {
                        let newest = timeline.published().0;
                        let behind = random.next_u64() % 3;
                        durable.fetch_max(newest.saturating_sub(behind), Ordering::AcqRel);
                    }
                    5 | 6 => {
                        let access =
                            if random.next_u64().is_multiple_of(2) { Access::Read } else { Access::Write };
                        open.push((timeline.begin(access, |at| at).0, access));
                    }
                    _ if !open.is_empty() => {
                        let (at, access) = open.swap_remove(random.next_u64() as usize % open.len());
                        timeline.end(at, access);
                    }
                    _ => {}
                }
                for (at, _) in &open {
                    let state = &states[at.0 as usize];
                    assert_eq!(seen(&notes.at(*at)), *state, "seed {seed}, a snapshot at {at}");
                    for name in (0..6).map(|number| format!("n{number}")) {
                        let found = notes.get(&name, *at);
                        assert_eq!(
                            found.as_deref(),
                            state.get(&name).map(|bytes| &**bytes),
                            "{name} at {at}"
                        );
                    }
                }
            }
            for (at, access) in open.drain(..) {
                timeline.end(at, access);
            }
            durable.store(timeline.published().0, Ordering::Release);
            drop(notes.fold(&timeline));
            let versions = notes.versions.lock();
            assert!(versions.older.is_empty() && versions.tail.is_empty(), "seed {seed}: nobody needs them");
        }
    }

    /// The horizon stands still and a note changes with every commit; then it moves.
    #[test]
    fn versions_that_a_horizon_keeps_are_reserved_and_limited_and_go_when_it_moves() {
        let (timeline, budget) = (Timeline::new(T(0), Readable::Published), MemoryBudget::new(u64::MAX));
        timeline.keep_from_now();
        let notes = NoteVersions::new(Notes::default(), T(0));
        let commit = |at: u64| {
            let bytes: Arc<[u8]> = at.to_le_bytes().into();
            let changes: NoteChanges = Arc::new([NoteChange { name: "seen".into(), bytes: Some(bytes) }]);
            drop(notes.fold(&timeline));
            notes.make_room(&changes, &budget)?;
            notes.install(T(at), changes, if at == 1 { (1, 12) } else { (0, 0) });
            timeline.publish(T(at), &mut timeline.latch());
            Ok::<_, Error>(())
        };
        let said = |at: u64| notes.get("seen", T(at)).map(|bytes| bytes.to_vec());
        let refused = (1..).find_map(|at| Some((at, commit(at).err()?))).expect("the tail is limited");
        let (last, error) = (refused.0 - 1, refused.1);
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("the horizon is too old"), "{error}");
        assert!(last > 10_000, "a commit takes less than 400 bytes");
        assert_eq!(budget.reservations(), [(PURPOSE.into(), TAIL_BYTES_MAX)]);
        for at in [1, 2, last / 2, last] {
            assert_eq!(said(at), Some(at.to_le_bytes().to_vec()));
        }
        assert_eq!(notes.at(T(last)).get("seen").map(|bytes| bytes.to_vec()), said(last));
        timeline.raise_horizon(T(last - 9));
        drop(notes.fold(&timeline));
        assert_eq!(budget.reservations(), [(PURPOSE.into(), RESERVED_STEP_BYTES)]);
        assert_eq!(notes.versions.lock().tail.len(), 9);
        assert_eq!(said(last - 5), Some((last - 5).to_le_bytes().to_vec()));
        commit(last + 1).unwrap();
        // A budget that others have taken refuses as well.
        let full = MemoryBudget::new(0);
        let changes: NoteChanges = Arc::new([NoteChange { name: "a".into(), bytes: None }]);
        let others = NoteVersions::default();
        assert_eq!(others.make_room(&changes, &full).unwrap_err().kind(), ErrorKind::Limit);
    }

    #[test]
    fn a_manifest_names_notes_while_it_or_the_log_after_it_has_some() {
        let notes = NoteVersions::default();
        assert_eq!(notes.for_manifest(T(0)), None);
        notes.announce(true);
        assert_eq!(notes.for_manifest(T(0)), Some(Notes::default()));
        let change = |bytes: Option<&[u8]>| -> NoteChanges {
            Arc::new([NoteChange { name: "a".into(), bytes: bytes.map(Into::into) }])
        };
        notes.install(T(3), change(Some(b"1")), (1, 2));
        notes.announce(false);
        assert_eq!(notes.for_manifest(T(3)).map(|notes| notes.len()), Some(1));
        notes.install(T(5), change(None), (-1, -2));
        assert_eq!(notes.for_manifest(T(4)), Some(Notes::default()), "the log after 4 removes one");
        assert_eq!(notes.for_manifest(T(5)), None);
    }
}
