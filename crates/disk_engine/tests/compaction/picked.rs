//! Compactions as they are picked: flush after flush, until none is due.

use crate::histories::flushed;
use crate::tree::check;
use evergraph_disk_engine::file::csr_file::CsrFile;
use evergraph_disk_engine::file_set::FileSet;
use evergraph_disk_engine::pick::limits::PickLimits;
use evergraph_disk_engine::pick::picker::pick;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::io::random::SplitMix64;
use std::sync::Arc;

#[test]
fn picked_compactions_keep_what_is_read_and_come_to_an_end() {
    let mut levels_count = 0;
    for seed in 100..104 {
        let (history, mut tree, _) = flushed(&mut SplitMix64::new(seed), 900);
        let limits =
            PickLimits { flushed_runs: 2, flushed_bytes_max: 400_000, size_ratio: 2, base_bytes: 60_000 };
        let mut set: FileSet<CsrFile> = FileSet::new();
        for file in tree.levels[0].clone().into_iter().rev() {
            set = set.with_flushed(file, |_| false);
            for compactions in 0.. {
                let Some(picked) = pick(&set, Timestamp::MAX, &limits) else { break };
                assert!(compactions < 200, "it ends");
                let stored = tree.run(&picked.inputs, picked.output_level, picked.below).unwrap();
                let outputs: Vec<_> = stored.iter().map(|stored| tree.open(stored)).collect();
                set = set.with_compacted(&picked.inputs, picked.output_level, &outputs).unwrap();
            }
        }
        let files: Vec<Arc<CsrFile>> = set.iter().cloned().collect();
        check(&files, &history.keys(), &history.state);
        levels_count = levels_count.max(set.levels().skip(1).filter(|level| !level.is_empty()).count());
    }
    assert!(levels_count > 1, "files reach several levels");
}
