//! Metrics: what a replica measures beside its status, for Prometheus and for programs that embed it.
//!
//! | | unit | what |
//! |---|---|---|
//! | freshness | seconds | from the commit at the source, by its clock, until a new snapshot shows it, by ours; see below |
//! | clock difference | seconds | our clock less the source's when it sent its last message: what freshness is off by, at most |
//! | changes | | changes of the graph |
//! | last error | seconds | since 1970; 0 before the first |
//! | early | | streamed transactions by what was done with them before their commits, see [`EarlyStep`] |
//! | busy | seconds | that the thread which applies was busy with each part of its work, see [`BusyPart`] |
//!
//! All else that is counted is in the [status](crate::status::ReplicaStatus). The program gives both their names in Prometheus
//! (`command/replica/samples` of the crate `evergraph-cli`).
//!
//! Two clocks: a freshness below zero counts as zero. On one machine the difference is the time of a message.

use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

/// What the thread that applies is busy with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BusyPart {
    /// Putting messages together to transactions.
    Read,
    /// Decoding rows and converting their values, so far as no worker does it, and waiting for workers.
    Translate,
    /// The net effect of a transaction.
    Fold,
    /// Finding what the graph has of the rows of a transaction.
    LookUp,
    /// Writing vertices into a transaction of the graph.
    Vertices,
    /// Finding the ends of edges, and writing these.
    Edges,
    /// Committing that transaction.
    Commit,
}

impl BusyPart {
    /// All, in the order of the work.
    pub const ALL: [Self; 7] =
        [Self::Read, Self::Translate, Self::Fold, Self::LookUp, Self::Vertices, Self::Edges, Self::Commit];

    /// Its name in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Translate => "translate",
            Self::Fold => "fold",
            Self::LookUp => "look_up",
            Self::Vertices => "vertices",
            Self::Edges => "edges",
            Self::Commit => "commit",
        }
    }
}

/// What becomes of early work on a streamed transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EarlyStep {
    /// It begins.
    Begun,
    /// Its rows go into a bulk load.
    Filled,
    /// Its rows were folded, and applied as any others.
    Folded,
    /// Its rows were loaded.
    Loaded,
    /// The load changed properties of vertices that were there.
    Changed,
    /// It was of no use: the transaction, or a savepoint, was rolled back, or all was done anew at the commit.
    Dropped,
}

impl EarlyStep {
    /// All, in the order in which they may come.
    pub const ALL: [Self; 6] =
        [Self::Begun, Self::Filled, Self::Folded, Self::Loaded, Self::Changed, Self::Dropped];

    /// Its name in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Filled => "filled",
            Self::Folded => "folded",
            Self::Loaded => "loaded",
            Self::Changed => "changed",
            Self::Dropped => "dropped",
        }
    }
}

/// What a replica measures.
///
/// Concurrency: all of it is atomic.
#[derive(Clone)]
pub struct ReplicaMetrics {
    freshness: Histogram,
    clock_difference: Gauge<f64, AtomicU64>,
    changes: Counter,
    /// In the order of [`BusyPart::ALL`].
    busy: [Counter<f64, AtomicU64>; BusyPart::ALL.len()],
    /// In the order of [`EarlyStep::ALL`].
    early: [Counter; EarlyStep::ALL.len()],
    early_rows: Counter,
    /// Seconds since 1970; 0 before the first error.
    last_error: Gauge<f64, AtomicU64>,
}

impl Default for ReplicaMetrics {
    fn default() -> Self {
        Self {
            // From 0.1 ms to 3.5 minutes.
            freshness: Histogram::new(exponential_buckets(0.0001, 2.0, 22)),
            clock_difference: Gauge::default(),
            changes: Counter::default(),
            busy: Default::default(),
            early: Default::default(),
            early_rows: Counter::default(),
            last_error: Gauge::default(),
        }
    }
}

impl ReplicaMetrics {
    /// How long after their commits at the source new snapshots showed transactions, in seconds.
    #[must_use]
    pub fn freshness(&self) -> &Histogram {
        &self.freshness
    }

    /// Our clock less the source's when it sent its last message, in seconds.
    #[must_use]
    pub fn clock_difference(&self) -> f64 {
        self.clock_difference.get()
    }

    /// Vertices and edges that changed.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes.get()
    }

    /// How long the thread that applies was busy with each part of its work, in seconds.
    #[must_use]
    pub fn busy_seconds(&self) -> [(BusyPart, f64); BusyPart::ALL.len()] {
        BusyPart::ALL.map(|part| (part, self.busy[part as usize].get()))
    }

    /// How many streamed transactions came to each step of early work.
    #[must_use]
    pub fn early_transactions(&self) -> [(EarlyStep, u64); EarlyStep::ALL.len()] {
        EarlyStep::ALL.map(|step| (step, self.early[step as usize].get()))
    }

    /// Changes of rows that were worked on before their commits.
    #[must_use]
    pub fn early_rows(&self) -> u64 {
        self.early_rows.get()
    }

    /// When something went wrong last, in seconds since 1970; 0 if nothing did.
    #[must_use]
    pub fn last_error_seconds(&self) -> f64 {
        self.last_error.get()
    }

    /// Notes that something went wrong now.
    pub(crate) fn erred(&self) {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.last_error.set(since_1970.as_secs_f64());
    }

    /// Notes that changes of rows were worked on before their commits.
    pub(crate) fn add_early_rows(&self, count: u64) {
        self.early_rows.inc_by(count);
    }

    /// Notes that early work on a transaction came to `step`.
    pub(crate) fn early(&self, step: EarlyStep) {
        self.early[step as usize].inc();
    }

    /// Notes that the thread that applies was busy with `part` for `time`.
    pub(crate) fn busy(&self, part: BusyPart, time: Duration) {
        self.busy[part as usize].inc_by(time.as_secs_f64());
    }

    /// Notes that a transaction which committed `age` ago is visible.
    pub(crate) fn visible(&self, age: Duration) {
        self.freshness.observe(age.as_secs_f64());
    }

    /// Notes that vertices and edges changed.
    pub(crate) fn changed(&self, count: u64) {
        self.changes.inc_by(count);
    }

    /// Notes our clock less the source's, in seconds.
    pub(crate) fn set_clock_difference(&self, seconds: f64) {
        self.clock_difference.set(seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_of_now() {
        let metrics = ReplicaMetrics::default();
        assert_eq!(metrics.last_error_seconds(), 0.0);
        let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        metrics.erred();
        assert!((0.0..60.0).contains(&(metrics.last_error_seconds() - before)));
    }

    #[test]
    fn each_part_of_the_work_has_its_own_time() {
        let metrics = ReplicaMetrics::default();
        metrics.busy(BusyPart::Commit, Duration::from_millis(1500));
        metrics.busy(BusyPart::LookUp, Duration::from_millis(250));
        metrics.busy(BusyPart::LookUp, Duration::from_millis(250));
        let busy = metrics.busy_seconds();
        assert_eq!((busy[3], busy[6]), ((BusyPart::LookUp, 0.5), (BusyPart::Commit, 1.5)));
        assert_eq!(busy.map(|(part, _)| part), BusyPart::ALL);
    }
}
