//! Present edges: which parallel edges the database has before a load adds more.

use crate::format::tree_key::ListId;
use crate::source::{ListedItem, RecordSource};
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;

/// The edges that a load finds, at the newest commit.
pub(super) struct PresentEdges<'a> {
    /// Newest first.
    sources: Vec<&'a dyn RecordSource>,
}

impl<'a> PresentEdges<'a> {
    /// What `sources`, the newest first, show together.
    pub(super) fn new(sources: Vec<&'a dyn RecordSource>) -> Self {
        Self { sources }
    }

    /// The highest discriminator of the edges of `list` to `neighbor` that are there.
    ///
    /// Cost: a look at each source; no page of a file whose filter knows nothing of the edge.
    ///
    /// # Errors
    /// As [`RecordSource`].
    pub(super) fn last(&self, list: ListId, neighbor: VertexId) -> Result<Option<u16>> {
        let (mut decided, mut found): (Vec<ListedItem>, Vec<ListedItem>) = (Vec::new(), Vec::new());
        for source in &self.sources {
            source.between(list, neighbor, &mut found)?;
            for item in found.drain(..) {
                if decided.iter().all(|newer| newer.item != item.item) {
                    decided.push(item);
                }
            }
        }
        let present = decided.iter().filter(|item| item.is_present);
        Ok(present.map(|item| item.item.discriminator()).max())
    }
}
