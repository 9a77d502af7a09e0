//! Metrics: what a server counts and measures of its requests, for Prometheus.
//!
//! Histograms and families are those of `prometheus-client`; they are read by `http::metrics`, with what is read of
//! databases and threads at that moment.

use evergraph_protocol::response::status::Status;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How a request came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// By WebSocket.
    WebSocket,
    /// By HTTP.
    Http,
}

impl Transport {
    /// Its name in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WebSocket => "websocket",
            Self::Http => "http",
        }
    }
}

type Labels<const N: usize> = [(&'static str, &'static str); N];
type Histograms = Family<Labels<2>, Histogram, fn() -> Histogram>;

/// What a server counts and measures.
///
/// Concurrency: counters are atomic; a series is made under a lock that others only read.
pub struct Metrics {
    requests: Family<Labels<3>, Counter>,
    request_duration: Histograms,
    commit_duration: Histogram,
    connections_refused: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            request_duration: Family::new_with_constructor(durations),
            commit_duration: durations(),
            connections_refused: Counter::default(),
        }
    }
}

/// From half a millisecond to a minute.
fn durations() -> Histogram {
    Histogram::new(exponential_buckets(0.0005, 2.0, 18))
}

impl Metrics {
    /// Counts a commit that was acknowledged, or refused by the disk, after this time.
    pub fn commit(&self, time: Duration) {
        self.commit_duration.observe(time.as_secs_f64());
    }

    /// Counts a connection that found no place.
    pub fn refuse_connection(&self) {
        self.connections_refused.inc();
    }

    /// Adds them to `registry`.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("requests", "Requests that were answered or given up", self.requests.clone());
        registry.register_with_unit(
            "request_duration",
            "Time from the acceptance of a request to the end of its answer",
            Unit::Seconds,
            self.request_duration.clone(),
        );
        registry.register_with_unit(
            "commit_duration",
            "Time from the publication of a commit to its acknowledgement",
            Unit::Seconds,
            self.commit_duration.clone(),
        );
        registry.register(
            "connections_refused",
            "Connections that found no place",
            self.connections_refused.clone(),
        );
    }
}

/// Measures one request.
#[derive(Clone)]
pub struct RequestMeter {
    metrics: Arc<Metrics>,
    transport: Transport,
    accepted: Instant,
}

impl RequestMeter {
    /// Of a request that was accepted now.
    #[must_use]
    pub fn new(metrics: &Arc<Metrics>, transport: Transport) -> Self {
        Self { metrics: Arc::clone(metrics), transport, accepted: Instant::now() }
    }

    /// All metrics of the server.
    #[must_use]
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Counts its end. `kind` is what it did, `status` that of its answer; `None` if its client was gone.
    pub fn end(&self, kind: &'static str, status: Option<Status>) {
        let transport = ("transport", self.transport.name());
        let labels = [transport, ("kind", kind), ("status", status.map_or("gone", code))];
        self.metrics.requests.get_or_create(&labels).inc();
        let seconds = self.accepted.elapsed().as_secs_f64();
        self.metrics.request_duration.get_or_create(&[transport, ("kind", kind)]).observe(seconds);
    }
}

/// The code of `status` as a text.
const fn code(status: Status) -> &'static str {
    match status {
        Status::Success => "200",
        Status::NoContent => "204",
        Status::PartialContent => "206",
        Status::Unauthorized => "401",
        Status::Forbidden => "403",
        Status::Authenticate => "407",
        Status::MalformedRequest => "498",
        Status::InvalidRequestArguments => "499",
        Status::ServerError => "500",
        Status::ServerErrorFailStep => "595",
        Status::ServerErrorTemporary => "596",
        Status::ServerErrorEvaluation => "597",
        Status::ServerErrorTimeout => "598",
        Status::ServerErrorSerialization => "599",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_code() {
        for status in Status::ALL {
            assert_eq!(code(*status), status.code().to_string());
        }
    }
}
