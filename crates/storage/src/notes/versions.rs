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
//! Concurrency: one lock, inside the latch and outside the registry. Snapshots take it when they read a note.

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::timeline::clock::Timeline;
use evergraph_graph::note::{NoteChange, Notes};
use evergraph_graph::timestamp::Timestamp;
use std::collections::VecDeque;
use std::sync::Arc;

/// Older notes beyond which it is looked at each fold which of them are needed.
const OLDER_MAX: usize = 32;

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
    /// The newest commit in the log that changes a note.
    newest_change: Timestamp,
    /// Notes after it, and their bytes.
    newest_size: (usize, usize),
}

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
        let changed =
            versions.tail.iter().rev().filter(|(timestamp, _)| *timestamp <= at).find_map(|(_, changes)| {
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
            if is_needed {
                let (from, to, notes) = (versions.since, timestamp, versions.base.clone());
                versions.older.push(OlderNotes { from, to, notes });
            }
            replaced.extend(changes.iter().filter_map(|change| versions.base.apply(change)));
            versions.since = timestamp;
        }
        (gone, replaced)
    }

    /// Installs the changes of a commit, by which there are `growth` more notes and bytes. Under the latch, before it is
    /// published: memory only, frees nothing.
    pub fn install(&self, timestamp: Timestamp, changes: NoteChanges, growth: (isize, isize)) {
        let mut versions = self.versions.lock();
        let (count, bytes) = versions.newest_size;
        versions.newest_size = (count.saturating_add_signed(growth.0), bytes.saturating_add_signed(growth.1));
        versions.newest_change = timestamp;
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

    /// The base with the changes through `at`.
    fn with_tail(&self, at: Timestamp) -> Notes {
        let mut notes = self.base.clone();
        for (_, changes) in self.tail.iter().take_while(|(timestamp, _)| *timestamp <= at) {
            changes.iter().for_each(|change| drop(notes.apply(change)));
        }
        notes
    }
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
