//! The engine that is tested, where the tests are the same for each.

use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_memory_engine::merger::{Job, for_each_segment};

pub type Tested = MemoryEngine;

/// One in so many random histories is played.
pub const HISTORIES_SHARE: u64 = 1;

/// Merges one segment, which `chosen` picks.
pub fn merge_one(engine: &Tested, chosen: u64) {
    let mut segments: Vec<Job> = Vec::new();
    for_each_segment(engine.segments().groups(), |job| {
        segments.push(job);
        true
    });
    if !segments.is_empty() {
        let all = engine.segments();
        all.merger().merge(all.timeline(), &segments[(chosen % segments.len() as u64) as usize]);
    }
}
