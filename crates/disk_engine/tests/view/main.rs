//! Views beside a naive graph: every method, at random moments of random histories, over several sources.
//!
//! ```text
//! history   random commits, and the graph after each as plain maps
//! sources   the same commits in memory graphs and files, cut anywhere
//! answers   what a view says, and what the maps say
//! hubs      long lists: how much of them is read
//! page_reads  what is known without reading a page
//! indexes   look-ups and ranges in an index over graphs, L0 and a level, beside a sorted map
//! ```
//!
//! Expectations come from maps to which mutations were applied one by one, never from records.

#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod answers;
mod history;
mod hubs;
mod indexes;
mod page_reads;
mod sources;

use crate::answers::compare;
use crate::history::any_history;
use crate::sources::Sources;
use evergraph_graph::timestamp::Timestamp;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_view_shows_the_graph_as_it_was_whatever_sources_it_lies_in(
        history in any_history(20),
        cuts in proptest::collection::vec(any::<u8>(), 20),
        moments in proptest::collection::vec(any::<prop::sample::Index>(), 2),
        flushed in any::<u8>(),
        seed in any::<u32>(),
    ) {
        // None, some or all of those that can be.
        let flushed = match flushed % 4 {
            0 => 0,
            1 => usize::MAX,
            _ => usize::from(flushed) / 32,
        };
        let sources = Sources::of(&history, &cuts, flushed);
        let last = history.commits.last().map_or(0, |commit| commit.timestamp.0);
        // At commits, between them, before the first one and behind the last.
        let moments = moments.iter().map(|moment| moment.index(last as usize + 2) as u64);
        for moment in moments.chain([last]) {
            let timestamp = Timestamp(moment);
            compare(&sources.view(timestamp), history.at(timestamp), seed)?;
        }
    }
}
