//! Travel options: how much of queries that travel a node runs, what they need of it, and what it has sent.

use crate::node::readers::Readers;
use crate::record_id::Author;
use crate::travel::own_view::OpenStageViews;
use evergraph_graph::budget::Budget;
use evergraph_graph::stage_programs::StagePrograms;
use evergraph_storage::io::clock::Clock;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

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
    /// How long a node that is said to run a query may be silent before that has failed for whoever asked, if it has only just
    /// begun; and before others are chosen, where there are any. A few heartbeats.
    pub suspect_after: Duration,
    /// The same of a query that has run for as long or longer, so that no more work is lost than time; and how long an asker may be
    /// silent before its queries end.
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
    /// How long a node may be silent for whoever asked, when it was last heard of at `heard_at`, at which moment the query had run
    /// since `began_at`: as long as that, and no shorter or longer than it may.
    #[must_use]
    pub fn silence_allowed(&self, began_at: Duration, heard_at: Duration) -> Duration {
        heard_at.saturating_sub(began_at).max(self.suspect_after).min(self.silence_max)
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

/// What a node has done for queries that travel: messages that it has sent, and what its stages have read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TravelCounts {
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
