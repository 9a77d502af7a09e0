//! Shared names: what the naive engine was told for other processes.

use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::timestamp::Timestamp;
use std::sync::Arc;

/// What it was told so far.
#[derive(Default)]
pub struct SharedNames {
    /// The newest catalogue, and the commit that made it.
    pub catalogue: Option<(Timestamp, Arc<Catalogue>)>,
    /// How often R may have grown.
    pub shows: usize,
}
