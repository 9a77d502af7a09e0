//! Counters: how much was merged, how much is waiting, and what it costs writers and the background.
//!
//! Concurrency: numbers for statistics and limits, each by itself; nobody takes two for one moment. So all
//! are Relaxed.

use evergraph_storage::engine::EngineStatistics;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts and times since opening.
#[derive(Debug, Default)]
pub struct Counters {
    /// Records in runs and tails of all segments.
    pub records: AtomicU64,
    /// Edges in bodies of all segments, both sides.
    pub body_edges: AtomicU64,
    merges: AtomicU64,
    merging: Time,
    collected_versions: AtomicU64,
    collecting: Time,
    stalls: AtomicU64,
    stalled: Time,
    stall_max: Time,
}

/// A sum or a greatest of durations, in nanoseconds; ends after 584 years.
#[derive(Debug, Default)]
struct Time(AtomicU64);

impl Time {
    fn add(&self, time: Duration) {
        self.0.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    fn raise(&self, time: Duration) {
        self.0.fetch_max(nanoseconds(time), Ordering::Relaxed);
    }

    fn load(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Counters {
    /// A merge was done: it took `time` and let go of `versions` that no snapshot needed.
    pub fn merged(&self, time: Duration, versions: usize) {
        self.merges.fetch_add(1, Ordering::Relaxed);
        self.merging.add(time);
        self.collected_versions.fetch_add(versions as u64, Ordering::Relaxed);
    }

    /// Old versions were looked through for `time`, and `versions` of them dropped.
    pub fn collected(&self, time: Duration, versions: usize) {
        self.collecting.add(time);
        self.collected_versions.fetch_add(versions as u64, Ordering::Relaxed);
    }

    /// A writer merged or waited for `time` because merges were overdue.
    pub fn stalled(&self, time: Duration) {
        self.stalls.fetch_add(1, Ordering::Relaxed);
        self.stalled.add(time);
        self.stall_max.raise(time);
    }

    /// Merges done.
    #[must_use]
    pub fn merges(&self) -> u64 {
        self.merges.load(Ordering::Relaxed)
    }

    /// Puts them into statistics.
    pub fn put_into(&self, statistics: &mut EngineStatistics) {
        statistics.merges = self.merges();
        statistics.merging = self.merging.load();
        statistics.collected_versions = self.collected_versions.load(Ordering::Relaxed);
        statistics.collecting = self.collecting.load();
        statistics.stalls = self.stalls.load(Ordering::Relaxed);
        statistics.stalled = self.stalled.load();
        statistics.stall_max = self.stall_max.load();
    }
}
