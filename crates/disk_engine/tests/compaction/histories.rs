//! Random histories in stamped files, compacted in random steps.

use crate::history::{History, below};
use crate::tree::{Tree, check};
use evergraph_disk_engine::compact::output::OutputLimits;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::SplitMix64;
use std::sync::Arc;

fn any_limits(random: &mut SplitMix64) -> OutputLimits {
    let file_bytes = [10_000, 40_000, 64 << 20][below(random, 3) as usize];
    OutputLimits { file_bytes, waiting_bytes: [1, 32 << 20][below(random, 2) as usize] }
}

/// A history, and a tree with all of it in L0.
pub fn flushed(random: &mut SplitMix64, commits: usize) -> (History, Tree, MemoryDirectory) {
    let memory = MemoryDirectory::new("db");
    let mut tree = Tree::new(Arc::new(memory.clone()), any_limits(random));
    let history = History::random(random, commits);
    let mut start = 0;
    while start < commits {
        let end = commits.min(start + 1 + below(random, commits as u64 / 3) as usize);
        let number = tree.take_number();
        let stored = history.write(start..end, &tree.directory, number);
        let file = tree.open(&stored);
        tree.levels[0].insert(0, file);
        start = end;
    }
    (history, tree, memory)
}

/// One random compaction; false if there is nothing to compact.
fn step(random: &mut SplitMix64, tree: &mut Tree) -> bool {
    let flushed = tree.levels[0].len();
    match below(random, 5) {
        0 if flushed > 0 => tree.strip_stamps(below(random, flushed as u64) as usize),
        1 | 2 if flushed > 0 => {
            // The oldest ones.
            let count = 1 + below(random, flushed as u64) as usize;
            let oldest = tree.levels[0][flushed - count..].to_vec();
            tree.compact(0, &oldest);
        }
        3 | 4 => {
            let level = 1 + below(random, 2) as usize;
            let files = &tree.levels[level];
            if files.is_empty() {
                return tree.levels[..3].iter().any(|level| !level.is_empty());
            }
            let upper = Arc::clone(&files[below(random, files.len() as u64) as usize]);
            tree.compact(level, &[upper]);
        }
        _ => return tree.levels[..3].iter().any(|level| !level.is_empty()),
    }
    true
}

#[test]
fn what_is_read_stays_the_same_through_any_compactions() {
    let mut most_files = 0;
    for seed in 0..9 {
        let random = &mut SplitMix64::new(seed);
        let commits = 200 + below(random, 900) as usize;
        let (history, mut tree, _) = flushed(random, commits);
        let keys = history.keys();
        check(&tree.files(), &keys, &history.state);
        for _ in 0..7 {
            let before = tree.files();
            if !step(random, &mut tree) {
                break;
            }
            check(&tree.files(), &keys, &history.state);
            most_files = most_files.max(tree.levels[1..].iter().map(Vec::len).max().unwrap_or(0));
            // Who pinned the files before goes on reading them.
            if below(random, 4) == 0 {
                check(&before, &keys, &history.state);
            }
        }
    }
    assert!(most_files > 3, "files are cut");
}

#[test]
fn at_the_lowest_level_nothing_but_inserts_is_left() {
    let random = &mut SplitMix64::new(77);
    let (history, mut tree, memory) = flushed(random, 900);
    let all = tree.levels[0].clone();
    tree.compact(0, &all);
    let differences =
        tree.files().iter().flat_map(|file| file.directory_rows()).map(|row| row.difference).sum::<i64>();
    assert_eq!(differences as usize, history.state.items.len() + history.state.entries.len());
    // The files are durable.
    let after: Arc<dyn Directory> = Arc::new(memory.power_cut());
    let mut found = Tree::new(after, tree.limits);
    found.levels[1] = tree.files().iter().map(|file| found.open(file.stored())).collect();
    check(&found.files(), &history.keys(), &history.state);
}
