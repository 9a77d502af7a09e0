//! Runs aside: records that merges may not take yet, in runs that are not copied with every full tail.
//!
//! ```text
//! full tail    run and tail -> run                     while the run is short beside the body
//! long run     set aside; tail -> a run of its own     merges are held back: by a horizon, or by the log's sync
//! aside        [ .. 900] [900 .. 1100] [1100 .. 1150]  oldest first, disjoint in time; four of about one size are joined
//! merge at B   runs behind B stay as they are, without a copy
//! ```
//!
//! Cost: a record is copied about [`LONG_RUN`] / 128 times while the run that it came to grows, and once each time when runs
//! are joined, which is as often as they grow fourfold. In one run all that wait would be copied with each full tail: the
//! square of them while a horizon stands still. A read searches each run, of which there are few: three for each factor of
//! four. Where merges keep up there is none.
//!
//! Source: Bentley, Saxe, "Decomposable Searching Problems I" (Journal of Algorithms 1(4), 1980), as for the history of merges.

use evergraph_bodies::run::Run;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::record::{RecordKey, RecordRef, Stamp};
use std::sync::Arc;

/// A run that is not longer is never set aside.
#[cfg(not(shuttle))]
pub const LONG_RUN: usize = 8192;
/// The same: few, so that schedules of a few commits set some aside.
#[cfg(shuttle)]
pub const LONG_RUN: usize = 2;

/// So many items of the body for each record allow a longer run: as many as make merges overdue.
const ITEMS_A_RECORD: usize = 16;

/// Runs that are joined at once: two would copy each record twice as often.
const JOINED: usize = 4;

/// Runs that were set aside, oldest first. `None` without any: an empty `Arc<[_]>` is one for the whole process, and commits
/// would all write to its count.
#[derive(Clone, Debug, Default)]
pub struct RunsAside(Option<Arc<[Arc<Run>]>>);

/// Whether a run on top of a body of so many items is set aside when the next tail is full.
#[must_use]
pub fn is_long(run: &Run, items: usize) -> bool {
    run.len() > LONG_RUN.max(items / ITEMS_A_RECORD)
}

impl RunsAside {
    /// Whether there are none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Records in them.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.runs().map(Run::len).sum()
    }

    /// The runs, oldest first.
    #[inline]
    pub fn runs(&self) -> impl DoubleEndedIterator<Item = &Run> {
        self.shared().iter().map(|run| &**run)
    }

    #[inline]
    fn shared(&self) -> &[Arc<Run>] {
        self.0.as_deref().unwrap_or_default()
    }

    /// The runs as they are shared, oldest first.
    #[cfg(test)]
    pub fn shared_runs(&self) -> impl Iterator<Item = &Arc<Run>> {
        self.shared().iter()
    }

    /// All records, run by run.
    pub fn records(&self) -> impl Iterator<Item = RecordRef<'_>> {
        self.runs().flat_map(|run| run.iter())
    }

    /// With `run`, whose records are newer than all of these.
    #[must_use]
    pub fn with(&self, run: &Arc<Run>) -> Self {
        let mut runs = self.shared().to_vec();
        runs.push(Arc::clone(run));
        while let Some(joined) = joined(&runs) {
            runs.truncate(runs.len() - JOINED);
            runs.push(Arc::new(joined));
        }
        Self(Some(runs.into()))
    }

    /// The records that are newer than `base`. Cost: a copy of one run, which has older ones as well; the others are shared.
    #[must_use]
    pub fn newer(&self, base: Timestamp) -> Self {
        self.each(|run| match run.has_any_through(base) {
            false => Arc::clone(run),
            true => Arc::new(run.filtered(|record| !record.visible_at(base))),
        })
    }

    /// The records for which `keep` holds. Cost: a copy of all.
    #[must_use]
    pub fn filtered(&self, keep: impl Fn(RecordRef<'_>) -> bool) -> Self {
        self.each(|run| Arc::new(run.filtered(&keep)))
    }

    fn each(&self, make: impl FnMut(&Arc<Run>) -> Arc<Run>) -> Self {
        let runs: Vec<Arc<Run>> = self.shared().iter().map(make).filter(|run| !run.is_empty()).collect();
        Self((!runs.is_empty()).then(|| runs.into()))
    }

    /// The newest stamp of `key` that is `visible`. Cost: a binary search in each run, up to the first that has one.
    #[must_use]
    #[inline]
    pub fn newest_stamp(&self, key: RecordKey, visible: impl Fn(&Stamp) -> bool) -> Option<Stamp> {
        // Asked for each edge that is inserted; there is hardly ever a run.
        newest_stamp(self.0.as_deref()?, key, visible)
    }

    /// Bytes on the heap, property values included.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        size_of_val(self.shared()) + self.runs().map(Run::heap_bytes).sum::<usize>()
    }
}

fn newest_stamp(runs: &[Arc<Run>], key: RecordKey, visible: impl Fn(&Stamp) -> bool) -> Option<Stamp> {
    runs.iter().rev().find_map(|run| {
        let stamps = run.stamps_at(run.places_of(key, 0));
        stamps.iter().rev().copied().find(|stamp| visible(stamp))
    })
}

/// The last runs as one, if the oldest of them isn't much longer than the newest.
fn joined(runs: &[Arc<Run>]) -> Option<Run> {
    let last = &runs[runs.len().checked_sub(JOINED)?..];
    let (oldest, newest) = (last.first()?, last.last()?);
    if oldest.len() >= 2 * newest.len() {
        return None;
    }
    Some(oldest.from_parts(last[1..].iter().flat_map(|run| run.iter())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::properties::Properties;
    use evergraph_storage::record::{Operation, Record};

    /// So many records from `from` on, a timestamp each; keys in no order of time.
    fn run(from: u64, count: u64) -> Arc<Run> {
        let record = |at: u64| Record {
            key: RecordKey::edge((at * 7 % 5) as u16, (at * 37 % 101) as u32, at as u16),
            stamp: Stamp::new(Timestamp(at), Operation::Insert),
            payload: Properties::EMPTY,
        };
        let mut records: Vec<Record> = (from..from + count).map(record).collect();
        records.sort_by_key(|record| (record.key, record.stamp));
        Arc::new(Run::from_sorted(records))
    }

    fn lengths(aside: &RunsAside) -> Vec<usize> {
        aside.runs().map(Run::len).collect()
    }

    #[test]
    fn four_of_one_size_are_joined_and_all_records_are_there() {
        let mut aside = RunsAside::default();
        let mut seen = Vec::new();
        for number in 0..17 {
            aside = aside.with(&run(1 + 10 * number, 10));
            seen.push(lengths(&aside).len());
        }
        assert_eq!(lengths(&aside), [160, 10]);
        assert_eq!(seen, [1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6, 1, 2]);
        assert_eq!(aside.len(), 170);
        let mut times: Vec<u64> = aside.records().map(|record| record.stamp.timestamp().0).collect();
        times.sort_unstable();
        assert!(times.into_iter().eq(1..=170));
        assert!(aside.runs().all(|run| run.keys().is_sorted()));
    }

    #[test]
    fn runs_that_are_newer_stay_and_the_one_around_the_base_is_copied() {
        let aside = RunsAside::default().with(&run(1, 40)).with(&run(41, 20)).with(&run(61, 10));
        let rest = aside.newer(Timestamp(50));
        assert_eq!(lengths(&rest), [10, 10]);
        assert!(
            Arc::ptr_eq(&rest.shared()[1], &aside.shared()[2])
                && rest.records().all(|record| !record.visible_at(Timestamp(50)))
        );
        assert_eq!(lengths(&aside.newer(Timestamp(40))), [20, 10]);
        assert!(aside.newer(Timestamp(70)).is_empty());
        let odd = aside.filtered(|record| record.stamp.timestamp().0 % 2 == 1);
        assert_eq!(lengths(&odd), [20, 10, 5]);
        for at in 1..=70u64 {
            let key = RecordKey::edge((at * 7 % 5) as u16, (at * 37 % 101) as u32, at as u16);
            let stamp = |seen| aside.newest_stamp(key, |stamp| stamp.timestamp().visible_at(Timestamp(seen)));
            assert_eq!(stamp(at).map(Stamp::timestamp), Some(Timestamp(at)));
            assert_eq!(stamp(at - 1), None);
        }
    }
}
