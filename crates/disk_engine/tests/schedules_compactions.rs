//! Schedules: two threads compact one tree while a third flushes and snapshots begin, driven by shuttle.
//!
//! Each snapshot reads, of every key, what the newest flush in its set left; no outputs are given up.
//!
//! Run with `RUSTFLAGS="--cfg shuttle"`.

#![cfg(shuttle)]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

#[path = "compactions_at_once/model.rs"]
mod model;

use crate::model::{ModelFile, Record, begin, read};
use evergraph_disk_engine::compaction_areas::CompactionAreas;
use evergraph_disk_engine::file_set::FileSet;
use evergraph_disk_engine::memory_graph::graph::MemoryGraph;
use evergraph_disk_engine::memory_graph::promises::Promises;
use evergraph_disk_engine::tree::Tree;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::timeline::registry::Access;
use std::collections::BTreeMap;
use std::sync::Arc;

const RUNS: usize = 200;
/// The keys of each flush: two kinds that do not overlap, and all of them.
const FLUSHES: [(u8, u8); 6] = [(0, 3), (10, 13), (0, 3), (10, 13), (0, 13), (2, 11)];

struct Fixture {
    timeline: Arc<Timeline>,
    tree: Tree<ModelFile>,
    areas: CompactionAreas,
    numbers: AtomicU64,
}

impl Fixture {
    fn new() -> Arc<Self> {
        let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published));
        let open = MemoryGraph::open(1 << 10, &Promises::new()).unwrap();
        let tree = Tree::new(Arc::clone(&timeline), FileSet::new(), Timestamp::ZERO, open);
        let areas = CompactionAreas::default();
        Arc::new(Self { timeline, tree, areas, numbers: AtomicU64::new(100) })
    }

    /// What is there after so many flushes.
    fn state(flushes: u64) -> BTreeMap<u8, u64> {
        let ranges = FLUSHES.iter().zip(1..=flushes);
        ranges.flat_map(|((first, last), commit)| (*first..=*last).map(move |key| (key, commit))).collect()
    }

    fn flush(&self, at: usize) {
        let (first, last) = FLUSHES[at];
        let record = Record { commit: at as u64 + 1, is_delete: false };
        let file = ModelFile::new(at as u64 + 1, 0, (first..=last).map(|key| (key, record)).collect());
        let latch = self.timeline.latch();
        let replaced = self.tree.replace_set(|set| set.with_flushed(file, |_| false));
        drop(latch);
        drop(replaced);
    }

    fn compact(&self) {
        let take_number = || self.numbers.fetch_add(1, Ordering::Relaxed);
        let look = || Arc::clone(&self.tree.current().set);
        let Some(begun) = begin(&self.areas, look, take_number, 3) else { return };
        let latch = self.timeline.latch();
        let picked = &begun.picked;
        let replaced = self.tree.replace_compacted(&picked.inputs, picked.output_level, &begun.outputs);
        drop(latch);
        drop(replaced.expect("whatever others did, the outputs fit"));
    }

    fn check(&self) {
        let (timestamp, pin) = self.timeline.begin(Access::Read, |_| self.tree.pin());
        let found = read(pin.set());
        let newest = found.values().copied().max().unwrap_or(0);
        assert_eq!(found, Self::state(newest));
        drop(pin);
        self.timeline.end(timestamp, Access::Read);
    }
}

fn two_that_compact() {
    let fixture = Fixture::new();
    (0..4).for_each(|at| fixture.flush(at));
    let spawn = |life: fn(&Fixture)| {
        let fixture = Arc::clone(&fixture);
        shuttle::thread::spawn(move || life(&fixture))
    };
    let threads = [
        spawn(|fixture| (0..3).for_each(|_| fixture.compact())),
        spawn(|fixture| (0..3).for_each(|_| fixture.compact())),
        spawn(|fixture| (4..6).for_each(|at| fixture.flush(at))),
        spawn(|fixture| (0..3).for_each(|_| fixture.check())),
    ];
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    assert_eq!(fixture.areas.count(), 0);
    assert_eq!(read(&fixture.tree.current().set), Fixture::state(6));
}

#[test]
fn two_that_compact_one_tree_get_in_nobodys_way() {
    for depth in [3, 5] {
        shuttle::check_pct(two_that_compact, RUNS, depth);
    }
    shuttle::check_random(two_that_compact, RUNS);
}
