//! Compactions at once: several are under way, flushes come meanwhile, and they are installed in any order; whatever the
//! order, every key reads as its newest commit left it, and no outputs have to be given up.
#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod model;

use crate::model::{Begun, ModelFile, Record, Records, begin, read};
use evergraph_disk_engine::compaction_areas::CompactionAreas;
use evergraph_disk_engine::file_set::FileSet;
use evergraph_storage::io::random::{Random as _, SplitMix64};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Compactions at once, at most.
const AT_ONCE_MAX: usize = 4;

struct Tree {
    random: SplitMix64,
    set: Arc<FileSet<ModelFile>>,
    /// What must be read: the last commit of each key that is there.
    state: BTreeMap<u8, u64>,
    commits: u64,
    numbers: u64,
}

impl Tree {
    fn new(seed: u64) -> Self {
        let (set, state) = Default::default();
        Self { random: SplitMix64::new(seed), set, state, commits: 0, numbers: 0 }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    /// A commit of some keys of one range, which is flushed.
    fn flush(&mut self) {
        self.commits += 1;
        self.numbers += 1;
        let width = [8, 30, 256][self.below(3) as usize];
        let first = self.below(256);
        let mut records = Records::new();
        for _ in 0..=self.below(12) {
            let key = ((first + self.below(width)) % 256) as u8;
            let is_delete = self.below(3) == 0;
            records.insert(key, Record { commit: self.commits, is_delete });
            match is_delete {
                true => self.state.remove(&key),
                false => self.state.insert(key, self.commits),
            };
        }
        let file = ModelFile::new(self.numbers, 0, records);
        self.set = Arc::new(self.set.with_flushed(file, |_| false));
    }

    fn begin<'a>(&mut self, areas: &'a CompactionAreas) -> Option<Begun<'a>> {
        let keys_max = 1 + self.below(20) as usize;
        let numbers = &mut self.numbers;
        let take_number = || {
            *numbers += 1;
            *numbers
        };
        begin(areas, || Arc::clone(&self.set), take_number, keys_max)
    }

    fn install(&mut self, begun: &Begun<'_>) {
        self.set = Arc::new(begun.install(&self.set));
        assert_eq!(read(&self.set), self.state);
    }
}

/// Every order of `left`.
fn check_orders(set: &FileSet<ModelFile>, left: &[&Begun<'_>], state: &BTreeMap<u8, u64>) {
    for at in 0..left.len() {
        let set = left[at].install(set);
        assert_eq!(&read(&set), state);
        let others: Vec<_> = [&left[..at], &left[at + 1..]].concat();
        check_orders(&set, &others, state);
    }
}

#[test]
fn compactions_under_way_share_nothing_and_may_be_installed_in_any_order() {
    let mut begun_beside = [0_usize; AT_ONCE_MAX];
    for seed in 0..60 {
        let mut tree = Tree::new(seed);
        let areas = CompactionAreas::default();
        let mut under_way: Vec<Begun<'_>> = Vec::new();
        for _ in 0..120 {
            match tree.below(8) {
                0..=3 => tree.flush(),
                4..=6 if under_way.len() < AT_ONCE_MAX => {
                    let Some(begun) = tree.begin(&areas) else { continue };
                    begun_beside[under_way.len()] += 1;
                    under_way.push(begun);
                    let inputs: Vec<_> = under_way.iter().flat_map(|begun| &begun.picked.inputs).collect();
                    let distinct: BTreeSet<_> = inputs.iter().map(|file| Arc::as_ptr(file)).collect();
                    assert_eq!(distinct.len(), inputs.len(), "seed {seed}: an input of two");
                    check_orders(&tree.set, &under_way.iter().collect::<Vec<_>>(), &tree.state);
                }
                _ if !under_way.is_empty() => {
                    let at = tree.below(under_way.len() as u64) as usize;
                    let begun = under_way.swap_remove(at);
                    tree.install(&begun);
                }
                _ => {}
            }
            assert_eq!(read(&tree.set), tree.state, "seed {seed}");
        }
        under_way.drain(..).for_each(|begun| tree.install(&begun));
        assert_eq!(areas.count(), 0);
        for compactions in 0.. {
            assert!(compactions < 3000, "compactions come to an end");
            let Some(begun) = tree.begin(&areas) else { break };
            tree.install(&begun);
        }
    }
    assert!(begun_beside.iter().all(|count| *count > 20), "compactions beside others: {begun_beside:?}");
}
