//! The engine that is tested, where the tests are the same for each.

use evergraph_mapped_engine::engine::mapped_engine::MappedEngine;
use std::sync::Arc;

pub type Tested = MappedEngine;

/// One in so many random histories is played.
pub const HISTORIES_SHARE: u64 = 10;

/// Merges one segment, which `chosen` picks.
pub fn merge_one(engine: &Tested, chosen: u64) {
    let mut segments = Vec::new();
    engine.graph().groups().for_each_segment(|segment| {
        segments.push(Arc::clone(segment));
        true
    });
    if !segments.is_empty() {
        engine.graph().merge(&segments[(chosen % segments.len() as u64) as usize]).unwrap();
        engine.graph().reclaim();
    }
}
