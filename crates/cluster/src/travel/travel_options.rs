//! Travel options: how much of queries that travel a node runs, what they need of it, and what it has sent.

use crate::node::readers::Readers;
use crate::planted::{Bug, planted};
use crate::record_id::Author;
use crate::travel::stage_view::OpenStageViews;
use evergraph_graph::budget::Budget;
use evergraph_graph::stage_programs::StagePrograms;
use evergraph_storage::io::clock::Clock;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// How late a heartbeat may be beside a half of its interval: threads, timers and networks have other work.
const HEARTBEAT_LATENESS: Duration = Duration::from_millis(25);

/// How much of queries that travel a node runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TravelOptions {
    /// Threads that run stages.
    pub threads: usize,
    /// Queries at once, of all nodes.
    pub queries_max: usize,
    /// Bytes of rows of one query that wait for a thread.
    pub inbound_bytes_max: usize,
    /// Bytes of messages whose queries have not begun.
    pub early_bytes_max: usize,
    /// How long a node waits before it asks for what is missing.
    pub want_after: Duration,
    /// Silence after which a node is avoided when nodes are chosen, and after which a query that has just begun fails if that node
    /// runs it. A node raises it to what its heartbeats allow ([`TravelOptions::with_heartbeats`]).
    pub suspect_after: Duration,
    /// Longest silence of a node that runs a query: an old query waits as long as it had run, up to this. Also the silence of an asker
    /// after which its queries end.
    pub silence_max: Duration,
    /// How long a query may take at most.
    pub patience_max: Duration,
}

impl Default for TravelOptions {
    fn default() -> Self {
        Self {
            threads: 2,
            queries_max: 256,
            inbound_bytes_max: 16 << 20,
            early_bytes_max: 16 << 20,
            want_after: Duration::from_millis(200),
            suspect_after: Duration::from_millis(400),
            silence_max: Duration::from_secs(3),
            patience_max: Duration::from_secs(3600),
        }
    }
}

impl TravelOptions {
    /// The same for nodes that say so often that they are there: none is suspected before a heartbeat is late by half of that, and by some
    /// milliseconds more.
    #[must_use]
    pub fn with_heartbeats(self, interval: Duration) -> Self {
        let suspect_after_min = interval.saturating_add(interval / 2).saturating_add(HEARTBEAT_LATENESS);
        let suspect_after = self.suspect_after.max(suspect_after_min);
        Self { suspect_after, silence_max: self.silence_max.max(suspect_after), ..self }
    }

    /// Longest silence that is allowed of a node last heard of at `heard_at`, for a query that began at `began_at`: the time between
    /// the two, within `suspect_after` and `silence_max`.
    #[must_use]
    pub fn silence_allowed(&self, began_at: Duration, heard_at: Duration) -> Duration {
        let had_run = heard_at.saturating_sub(began_at);
        if planted(Bug::OldQueryImpatient) {
            return self.suspect_after;
        }
        if planted(Bug::OldQueryEndless) {
            return had_run.max(self.suspect_after);
        }
        had_run.max(self.suspect_after).min(self.silence_max)
    }
}

/// What queries that travel need of their node.
#[derive(Clone)]
pub struct TravelParts {
    /// The node.
    pub author: Author,
    /// Its graph.
    pub views: Arc<dyn OpenStageViews>,
    /// Moments in use.
    pub readers: Readers,
    /// What programs are.
    pub programs: Arc<dyn StagePrograms>,
    /// What their memory comes from.
    pub budget: Arc<dyn Budget>,
    /// The clock of the node's thread.
    pub clock: Arc<dyn Clock>,
    /// What wakes it.
    pub waker: Waker,
    /// How much it runs.
    pub options: TravelOptions,
}

/// Queries that travel and have not ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenTravels {
    /// Those that were asked at this node.
    pub asked: usize,
    /// Those that run on this node, whichever was asked.
    pub running: usize,
}

/// What a node has done for queries that travel: runs that it has asked for, messages that it has sent, and what its stages have read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TravelCounts {
    /// Runs that were asked for here: two of a query that has begun again.
    pub runs_asked: u64,
    /// Those with rows, each once.
    pub rows_messages: u64,
    /// Their rows.
    pub rows: u64,
    /// Their bytes.
    pub rows_bytes: u64,
    /// Those with rows that were sent again.
    pub again: u64,
    /// Those that begin, want, fail and end.
    pub others: u64,
    /// Edges of adjacency lists that its stages have read on its partitions.
    pub edges_read: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_node_is_suspected_before_a_heartbeat_is_late() {
        let (ms, options) = (Duration::from_millis, TravelOptions::default());
        assert_eq!(options.with_heartbeats(ms(100)), options, "it is long enough");
        let slow = options.with_heartbeats(ms(1000));
        assert_eq!((slow.suspect_after, slow.silence_max), (ms(1525), options.silence_max));
        let slower = options.with_heartbeats(ms(4000));
        assert_eq!((slower.suspect_after, slower.silence_max), (ms(6025), ms(6025)));
        assert_eq!(slower.silence_allowed(ms(0), ms(5)), ms(6025));
    }
}
