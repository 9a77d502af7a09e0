//! Metrics: what a replica counts and measures, for Prometheus.
//!
//! | name | unit | what |
//! |---|---|---|
//! | `replica_freshness` | seconds | from the commit at the source, by its clock, until a new snapshot shows it, by ours; see below |
//! | `replica_clock_difference` | seconds | our clock less the source's when it sent its last message: what freshness is off by, at most |
//! | `replica_transactions`, `replica_rows`, `replica_changes` | | applied: transactions, rows that changed at the source, changes of the graph |
//! | `replica_lag`, `replica_lag` | bytes, seconds | of the source's log that is not here; since when something is not here |
//! | `replica_waiting_rows` | | rows that wait for the ends of their edges |
//! | `replica_losses` | | rows and values that are not in the graph, by rule and cause |
//! | `replica_restarts` | | streams that broke off |
//! | `replica_retained` | bytes | of log that the source keeps for us |
//! | `replica_state` | | 1 at the present state |
//! | `replica_busy` | seconds | that the thread which applies was busy with each part of its work, see [`BusyPart`] |
//!
//! Two clocks: a freshness below zero counts as zero. On one machine the difference is the time of a message.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// Labels of a series.
type Labels<const N: usize> = [(&'static str, String); N];
/// A gauge that is no whole number.
type FloatGauge = Gauge<f64, AtomicU64>;
/// A counter that is no whole number.
type FloatCounter = Counter<f64, AtomicU64>;

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

/// What a replica counts and measures.
///
/// Concurrency: counters are atomic; a series is made under a lock that others only read.
#[derive(Clone)]
pub struct ReplicaMetrics {
    pub(crate) freshness: Histogram,
    pub(crate) clock_difference: FloatGauge,
    pub(crate) transactions: Counter,
    pub(crate) rows: Counter,
    pub(crate) changes: Counter,
    pub(crate) lag_bytes: Gauge,
    pub(crate) lag_seconds: FloatGauge,
    pub(crate) waiting_rows: Gauge,
    pub(crate) losses: Family<Labels<2>, Gauge>,
    pub(crate) restarts: Counter,
    pub(crate) retained_bytes: Gauge,
    pub(crate) state: Family<Labels<1>, Gauge>,
    busy: Family<Labels<1>, FloatCounter>,
    /// Those of `busy`, in the order of [`BusyPart::ALL`]: no look-up by label for each transaction.
    busy_parts: [FloatCounter; BusyPart::ALL.len()],
}

impl Default for ReplicaMetrics {
    fn default() -> Self {
        let busy = Family::<Labels<1>, FloatCounter>::default();
        let busy_parts =
            BusyPart::ALL.map(|part| busy.get_or_create(&[("part", part.name().to_owned())]).clone());
        Self {
            // From 0.1 ms to 3.5 minutes.
            freshness: Histogram::new(exponential_buckets(0.0001, 2.0, 22)),
            clock_difference: Gauge::default(),
            transactions: Counter::default(),
            rows: Counter::default(),
            changes: Counter::default(),
            lag_bytes: Gauge::default(),
            lag_seconds: Gauge::default(),
            waiting_rows: Gauge::default(),
            losses: Family::default(),
            restarts: Counter::default(),
            retained_bytes: Gauge::default(),
            state: Family::default(),
            busy,
            busy_parts,
        }
    }
}

impl ReplicaMetrics {
    /// Adds them to `registry`, as `replica_...` behind its prefix.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("replica");
        registry.register_with_unit(
            "freshness",
            "Time from a commit at the source, by its clock, until a new snapshot shows it, by ours",
            Unit::Seconds,
            self.freshness.clone(),
        );
        registry.register_with_unit(
            "clock_difference",
            "Our clock less the source's when it sent its last message: what freshness is off by, at most",
            Unit::Seconds,
            self.clock_difference.clone(),
        );
        registry.register(
            "transactions",
            "Transactions of the source that were applied",
            self.transactions.clone(),
        );
        registry.register("rows", "Rows that changed at the source and were applied", self.rows.clone());
        registry.register("changes", "Vertices and edges that changed", self.changes.clone());
        registry.register_with_unit(
            "lag",
            "Log of the source that is not applied",
            Unit::Bytes,
            self.lag_bytes.clone(),
        );
        registry.register_with_unit(
            "lag",
            "How long something of the source's log has not been here",
            Unit::Seconds,
            self.lag_seconds.clone(),
        );
        registry.register(
            "waiting_rows",
            "Rows that wait for the ends of their edges",
            self.waiting_rows.clone(),
        );
        registry.register(
            "losses",
            "Rows and values that are not in the graph, by rule and cause",
            self.losses.clone(),
        );
        registry.register("restarts", "Streams that broke off", self.restarts.clone());
        registry.register_with_unit(
            "retained",
            "Log that the source keeps for this replica",
            Unit::Bytes,
            self.retained_bytes.clone(),
        );
        registry.register("state", "1 at the present state", self.state.clone());
        registry.register_with_unit(
            "busy",
            "Time that the thread which applies changes was busy with each part of its work",
            Unit::Seconds,
            self.busy.clone(),
        );
    }

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
        BusyPart::ALL.map(|part| (part, self.busy_parts[part as usize].get()))
    }

    /// Notes that the thread that applies was busy with `part` for `time`.
    pub(crate) fn busy(&self, part: BusyPart, time: Duration) {
        self.busy_parts[part as usize].inc_by(time.as_secs_f64());
    }

    /// Notes that a transaction which committed `age` ago is visible.
    pub(crate) fn visible(&self, age: Duration) {
        self.freshness.observe(age.as_secs_f64());
    }

    /// Notes the present one of `states`.
    pub(crate) fn set_state(&self, states: &[&'static str], present: &str) {
        for state in states {
            let label = [("state", (*state).to_owned())];
            self.state.get_or_create(&label).set(i64::from(*state == present));
        }
    }
}

/// A number as gauges have it.
pub(crate) fn gauge_value(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text::encode;

    #[test]
    fn every_metric_is_exported_under_its_name() {
        let metrics = ReplicaMetrics::default();
        metrics.visible(Duration::from_millis(3));
        metrics.transactions.inc();
        metrics.lag_bytes.set(gauge_value(u64::MAX));
        metrics.losses.get_or_create(&[("rule", "Film".into()), ("cause", "condition".into())]).set(7);
        metrics.set_state(&["following", "paused"], "paused");
        metrics.busy(BusyPart::Commit, Duration::from_millis(1500));
        assert_eq!(metrics.busy_seconds()[6], (BusyPart::Commit, 1.5));
        let mut registry = Registry::with_prefix("evergraph");
        metrics.register(&mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for line in [
            "evergraph_replica_freshness_seconds_count 1",
            "evergraph_replica_freshness_seconds_bucket{le=\"0.0032\"} 1",
            "evergraph_replica_transactions_total 1",
            "evergraph_replica_lag_bytes 9223372036854775807",
            "evergraph_replica_lag_seconds 0.0",
            "evergraph_replica_losses{rule=\"Film\",cause=\"condition\"} 7",
            "evergraph_replica_state{state=\"following\"} 0",
            "evergraph_replica_state{state=\"paused\"} 1",
            "evergraph_replica_busy_seconds_total{part=\"commit\"} 1.5",
            "evergraph_replica_busy_seconds_total{part=\"look_up\"} 0.0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }
}
