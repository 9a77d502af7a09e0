//! Retired: what was replaced and waits until no open snapshot can read it; and the writer's own snapshots.
//!
//! ```text
//! content   runs, tails, properties, a body: until no slot has an era <= theirs and S >= their base
//! lines     versions and groups: until no slot has an era <= theirs, since others may be walking past
//! ```
//!
//! What is freed in one pass was replaced in an era that had ended before the pass looked at any slot.
//!
//! Concurrency: what commits and merges add goes into a list of its own, whose lock is held for as long as an entry takes. A pass
//! takes that list, and looks again only at what was held back by a snapshot that has ended: many entries can wait for one that is
//! open for long.

use crate::arena::{Arena, ArenaBlock};
use crate::live::Live;
use crate::slots::{Replacement, RetainedBytes, SnapshotNeed, SnapshotNeeds};
use crate::version::BodyPlace;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::{AtomicUsize, Ordering};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What only snapshots read that see its base.
#[derive(Clone, Debug, Default)]
pub struct RetiredContent {
    /// Runs, tails and properties.
    pub blocks: Vec<ArenaBlock>,
    /// The body, if it was replaced too.
    pub body: Option<BodyPlace>,
}

impl RetiredContent {
    /// Bytes of the blocks, and of the body without the columns that others can have as well.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let blocks = self.blocks.iter().map(|block| block.bytes()).sum::<u64>();
        blocks + self.body.map_or(0, |body| body.bytes)
    }

    /// Frees the blocks; the body, whose extent is the caller's to free.
    pub fn free(self, arena: &Arena) -> Option<BodyPlace> {
        arena.free_all(self.blocks);
        self.body.filter(|body| body.bytes > 0)
    }
}

#[derive(Debug)]
enum RetiredPart {
    Content(RetiredContent),
    Line(ArenaBlock),
}

/// What waits to be freed.
#[derive(Debug, Default)]
pub struct RetiredList {
    /// What came since the last pass.
    added: Mutex<Vec<(Replacement, RetiredPart)>>,
    /// Locked for a whole pass.
    kept: Mutex<KeptParts>,
    /// Entries of both. Relaxed: it decides nothing but when a pass is made.
    count: AtomicUsize,
}

/// What passes found needed.
#[derive(Debug, Default)]
struct KeptParts {
    /// Ascending by era: where one is needed, so are all behind it.
    lines: VecDeque<(Replacement, ArenaBlock)>,
    line_bytes: u64,
    /// By the snapshot that needs it: it isn't looked at before that has ended. `None` if nobody knew.
    content: BTreeMap<Option<(u64, Timestamp)>, NeededContent>,
}

/// What one snapshot needs.
#[derive(Debug, Default)]
struct NeededContent {
    parts: Vec<(Replacement, RetiredContent)>,
    bytes: u64,
}

impl NeededContent {
    fn push(&mut self, replaced: Replacement, content: RetiredContent) {
        self.bytes += content.bytes();
        self.parts.push((replaced, content));
    }
}

impl RetiredList {
    /// Keeps content until nobody reads it.
    pub fn add_content(&self, replaced: Replacement, content: RetiredContent) {
        if !content.blocks.is_empty() || content.body.is_some() {
            self.add(replaced, RetiredPart::Content(content));
        }
    }

    /// Keeps the line of a version, or the block of a group, until nobody walks past it.
    pub fn add_line(&self, replaced: Replacement, line: ArenaBlock) {
        self.add(replaced, RetiredPart::Line(line));
    }

    fn add(&self, replaced: Replacement, part: RetiredPart) {
        self.added.lock().push((replaced, part));
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Frees what nobody needs of what was replaced before the era `ended`; bodies, whose extents are the caller's.
    ///
    /// Cost: a look at what came since the last pass, and at what the snapshots needed that ended since.
    pub fn free(&self, needs: &SnapshotNeeds, ended: u64, arena: &Arena) -> Vec<BodyPlace> {
        let mut kept = self.kept.lock();
        let mut looked_at = Vec::new();
        for (replaced, part) in std::mem::take(&mut *self.added.lock()) {
            match part {
                RetiredPart::Content(content) => looked_at.push((replaced, content)),
                RetiredPart::Line(line) => kept.insert_line(replaced, line),
            }
        }
        kept.content.retain(|snapshot, needed| {
            let is_needed = snapshot.is_some_and(|(era, timestamp)| needs.is_open(era, timestamp));
            if !is_needed {
                looked_at.append(&mut needed.parts);
            }
            is_needed
        });
        let (mut bodies, mut freed, mut count) = (Vec::new(), Vec::new(), 0);
        for (replaced, mut content) in looked_at {
            let need = if replaced.era >= ended { SnapshotNeed::Unknown } else { needs.need(replaced) };
            let snapshot = match need {
                SnapshotNeed::Nobody => {
                    bodies.extend(content.body.filter(|body| body.bytes > 0));
                    freed.append(&mut content.blocks);
                    count += 1;
                    continue;
                }
                SnapshotNeed::Of(era, timestamp) => Some((era, timestamp)),
                SnapshotNeed::Unknown => None,
            };
            kept.content.entry(snapshot).or_default().push(replaced, content);
        }
        let is_free = |replaced: &Replacement| replaced.era < ended && !needs.line(*replaced);
        while kept.lines.front().is_some_and(|(replaced, _)| is_free(replaced))
            && let Some((_, line)) = kept.lines.pop_front()
        {
            kept.line_bytes -= line.bytes();
            freed.push(line);
            count += 1;
        }
        drop(kept);
        arena.free_all(freed);
        self.count.fetch_sub(count, Ordering::Relaxed);
        bodies
    }

    /// Counts what the last pass kept for each snapshot, by what that pass knew. Cost: a look at each of those snapshots.
    pub fn add_retained(&self, needs: &SnapshotNeeds, retained: &mut RetainedBytes) {
        let kept = self.kept.lock();
        for (snapshot, needed) in &kept.content {
            if let Some((era, timestamp)) = *snapshot {
                retained.add(SnapshotNeed::Of(era, timestamp), needed.bytes);
            }
        }
        retained.add(needs.need_of_lines(), kept.line_bytes);
    }

    /// The era in which the newest of it was replaced. Cost: a look at all of it.
    #[must_use]
    pub fn newest_era(&self) -> Option<u64> {
        let kept = self.kept.lock();
        let lines = kept.lines.iter().map(|(replaced, _)| replaced.era);
        let content = kept.content.values().flat_map(|needed| &needed.parts);
        let content = content.map(|(replaced, _)| replaced.era);
        let added = self.added.lock().iter().map(|(replaced, _)| replaced.era).max();
        lines.chain(content).max().max(added)
    }

    /// How many entries wait.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

impl KeptParts {
    /// Mostly behind all others.
    fn insert_line(&mut self, replaced: Replacement, line: ArenaBlock) {
        let newer = self.lines.iter().rev().take_while(|(other, _)| other.era > replaced.era).count();
        self.line_bytes += line.bytes();
        self.lines.insert(self.lines.len() - newer, (replaced, line));
    }
}

/// The snapshots of the process that writes: it needs no slots.
#[derive(Debug, Default)]
pub struct OwnSnapshots {
    /// Era and S of each.
    open: Mutex<Vec<(u64, Timestamp)>>,
}

impl OwnSnapshots {
    /// Begins a snapshot of what is readable, until it is dropped.
    #[must_use]
    pub fn begin(&self, live: &Live) -> OwnSnapshot<'_> {
        let mut open = self.open.lock();
        // Inside of the lock, and in this order: as a slot's begin.
        let era = live.era();
        let timestamp = live.readable();
        open.push((era, timestamp));
        OwnSnapshot { snapshots: self, era, timestamp }
    }

    /// Begins a snapshot of `timestamp`, until it is dropped. Inside of the registry's lock, in which `timestamp` was
    /// loaded, and in which no body is replaced: then it is as if the era had been loaded first.
    #[must_use]
    pub fn begin_at(self: &Arc<Self>, live: &Live, timestamp: Timestamp) -> KeptSnapshot {
        let mut open = self.open.lock();
        let era = live.era();
        open.push((era, timestamp));
        drop(open);
        KeptSnapshot { snapshots: Arc::clone(self), era, timestamp }
    }

    fn end(&self, era: u64, timestamp: Timestamp) {
        let mut open = self.open.lock();
        let at = open.iter().rposition(|found| *found == (era, timestamp));
        open.swap_remove(at.expect("a snapshot ends once"));
    }

    /// Era and S of each that is open.
    #[must_use]
    pub fn open(&self) -> Vec<(u64, Timestamp)> {
        self.open.lock().clone()
    }
}

/// An open snapshot of the process that writes.
#[derive(Debug)]
pub struct OwnSnapshot<'a> {
    snapshots: &'a OwnSnapshots,
    era: u64,
    timestamp: Timestamp,
}

impl OwnSnapshot<'_> {
    /// What it sees.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }
}

impl Drop for OwnSnapshot<'_> {
    fn drop(&mut self) {
        self.snapshots.end(self.era, self.timestamp);
    }
}

/// The same, for as long as somebody has it.
#[derive(Debug)]
pub struct KeptSnapshot {
    snapshots: Arc<OwnSnapshots>,
    era: u64,
    timestamp: Timestamp,
}

impl KeptSnapshot {
    /// What it sees.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }
}

impl Drop for KeptSnapshot {
    fn drop(&mut self) {
        self.snapshots.end(self.era, self.timestamp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{LineNumber, RegionSizes, SharedWords};

    #[test]
    fn a_pass_frees_nothing_that_was_replaced_after_it_looked_at_the_slots() {
        let words = Arc::new(SharedWords::on_heap(RegionSizes::new(10, 10).unwrap()));
        let (arena, list) = (Arena::new(words, LineNumber(1), 1 << 20), RetiredList::default());
        let block = |words| arena.allocate(words).unwrap();
        let replaced = |era| Replacement { era, base: Timestamp(1), until: Timestamp(2) };
        // Nobody reads, by what this says.
        let needs = SnapshotNeeds::scan(&[], &[], Timestamp(9));
        let body = BodyPlace { extent: 7, bytes: 3 };
        list.add_content(replaced(5), RetiredContent { blocks: vec![block(8), block(40)], body: Some(body) });
        list.add_line(replaced(5), block(8));
        assert_eq!(list.free(&needs, 5, &arena), []);
        assert_eq!((list.count(), list.newest_era()), (2, Some(5)));
        assert_eq!(list.free(&needs, 6, &arena), [body]);
        assert_eq!((list.count(), list.newest_era(), arena.used_bytes()), (0, None, 0));
        // What has nothing to free isn't kept.
        list.add_content(replaced(5), RetiredContent::default());
        assert_eq!(list.count(), 0);
    }

    /// A snapshot that is open for an hour: what it needs is not looked through in each pass, and goes when it ends.
    #[test]
    fn what_a_snapshot_holds_back_is_looked_at_again_when_it_has_ended() {
        let words = Arc::new(SharedWords::on_heap(RegionSizes::new(14, 14).unwrap()));
        let (arena, list) = (Arena::new(words, LineNumber(1), 1 << 20), RetiredList::default());
        let long = (3, Timestamp(10));
        let mut freed_early = 0;
        for era in 4..400_u64 {
            // Every other base is one that the long snapshot doesn't see.
            let base = Timestamp(if era % 2 == 0 { 7 } else { 11 });
            let replaced = Replacement { era, base, until: base };
            list.add_content(
                replaced,
                RetiredContent { blocks: vec![arena.allocate(8).unwrap()], body: None },
            );
            list.add_line(replaced, arena.allocate(8).unwrap());
            // Short ones come and go, newer than any base.
            let open = [long, (era, Timestamp(1000 + era))];
            let needs = SnapshotNeeds::scan(&[], &open, Timestamp(2000));
            let before = list.count();
            assert!(list.free(&needs, era + 1, &arena).is_empty());
            freed_early += before - list.count();
            let kept = list.kept.lock();
            let of_long = kept.content.get(&Some(long)).map_or(0, |needed| needed.parts.len()) as u64;
            assert_eq!(of_long, (era - 2) / 2, "content with the base that it sees");
            let others: usize =
                kept.content.iter().filter(|(by, _)| **by != Some(long)).map(|by| by.1.parts.len()).sum();
            assert!(others <= 2, "{others} entries are looked at in each pass");
            assert_eq!(kept.lines.len() as u64, era - 3, "it walks past all of them");
            drop(kept);
            let mut retained = RetainedBytes::default();
            list.add_retained(&needs, &mut retained);
            assert_eq!(retained.of(long.0, long.1), (of_long + era - 3) * 64, "bytes that wait for it");
        }
        assert_eq!(freed_early, 197);
        let needs = SnapshotNeeds::scan(&[], &[], Timestamp(2000));
        list.free(&needs, 1000, &arena);
        assert_eq!((list.count(), arena.used_bytes()), (0, 0));
    }

    #[test]
    fn lines_that_come_out_of_order_go_in_the_order_of_their_eras() {
        let words = Arc::new(SharedWords::on_heap(RegionSizes::new(10, 10).unwrap()));
        let (arena, list) = (Arena::new(words, LineNumber(1), 1 << 20), RetiredList::default());
        for era in [5, 3, 4] {
            let replaced = Replacement { era, base: Timestamp(1), until: Timestamp(1) };
            list.add_line(replaced, arena.allocate(8).unwrap());
        }
        for (oldest, left) in [(3, 3), (4, 2), (5, 1), (6, 0)] {
            let needs = SnapshotNeeds::scan(&[], &[(oldest, Timestamp(9))], Timestamp(9));
            list.free(&needs, 100, &arena);
            assert_eq!(list.count(), left, "the oldest snapshot began in era {oldest}");
        }
    }
}
