//! Samples: what is counted of a replica, for Prometheus.

use evergraph_replica::follow::replica::Replica;
use evergraph_replica::status::ReplicaState;
use evergraph_server::metric_samples::{DatabaseSample, Figure};

/// What is counted of `replica` now.
#[must_use]
pub fn samples(replica: &Replica) -> Vec<DatabaseSample> {
    let status = replica.status();
    let metrics = replica.metrics();
    let sample = |name, help, figure| DatabaseSample { name, help, labels: Vec::new(), figure };
    let gauge = |name, help, value: f64| sample(name, help, Figure::Gauge(value));
    let counter = |name, help, value: u64| sample(name, help, Figure::Counter(value as f64));
    let mut samples = vec![
        sample(
            "replica_freshness_seconds",
            "Time from a commit at the source, by its clock, until a new snapshot shows it, by ours",
            Figure::Histogram(metrics.freshness().clone()),
        ),
        gauge(
            "replica_clock_difference_seconds",
            "Our clock less the source's when it sent its last message: what freshness is off by, at most",
            metrics.clock_difference(),
        ),
        counter("replica_transactions", "Transactions of the source that were applied", status.transactions),
        counter("replica_rows", "Rows that changed at the source and were applied", status.rows),
        counter("replica_changes", "Vertices and edges that changed", metrics.changes()),
        gauge("replica_lag_bytes", "Log of the source that is not applied", status.lag_bytes as f64),
        gauge(
            "replica_lag_seconds",
            "How long something of the source's log has not been here",
            status.lag_ms as f64 / 1e3,
        ),
        gauge(
            "replica_waiting_rows",
            "Rows and foreign keys that wait for the ends of their edges",
            status.waiting_rows as f64,
        ),
        counter("replica_restarts", "Streams that broke off", status.restarts),
        gauge(
            "replica_last_error_seconds",
            "When something went wrong last, in seconds since 1970; 0 if nothing did",
            metrics.last_error_seconds(),
        ),
    ];
    // Zero would say that all is well.
    samples.extend(status.retained_bytes.map(|bytes| {
        gauge("replica_retained_bytes", "Log that the source keeps for this replica", bytes as f64)
    }));
    for loss in &status.losses {
        samples.push(DatabaseSample {
            name: "replica_losses",
            help: "Rows and values that are not in the graph, since the copy, by rule and cause",
            labels: vec![("rule", loss.rule.clone()), ("cause", loss.cause.clone())],
            figure: Figure::Gauge(loss.count as f64),
        });
    }
    for (part, seconds) in metrics.busy_seconds() {
        samples.push(DatabaseSample {
            name: "replica_busy_seconds",
            help: "Time that the thread which applies changes was busy with each part of its work",
            labels: vec![("part", part.name().to_owned())],
            figure: Figure::Counter(seconds),
        });
    }
    samples.push(DatabaseSample {
        name: "replica_early_rows",
        help: "Changes of rows that were worked on before their commits",
        labels: Vec::new(),
        figure: Figure::Counter(metrics.early_rows() as f64),
    });
    for (step, count) in metrics.early_transactions() {
        samples.push(DatabaseSample {
            name: "replica_early_transactions",
            help: "Streamed transactions by what was done with them before their commits",
            labels: vec![("step", step.name().to_owned())],
            figure: Figure::Counter(count as f64),
        });
    }
    samples.extend(state_samples(status.state.name()));
    samples
}

/// The state of a replica, for one that is not there yet as well.
pub fn state_samples(present: &str) -> impl Iterator<Item = DatabaseSample> {
    ReplicaState::NAMES.into_iter().map(move |state| DatabaseSample {
        name: "replica_state",
        help: "1 at the present state",
        labels: vec![("state", state.to_owned())],
        figure: Figure::Gauge(f64::from(u8::from(state == present))),
    })
}
