//! Taken ids: the vertex ids of one transaction, returned if it is dropped without a commit.

use crate::engine::Engine;
use crate::transaction::front::Front;
use evergraph_graph::error::Result;
use evergraph_graph::id::{LabelId, VertexId};
use std::sync::Arc;

/// Ids that go back to their store unless they are used.
pub struct TakenIds<E: Engine> {
    /// Set by the first id: most transactions add no vertex.
    front: Option<Arc<Front<E>>>,
    vertices: Vec<VertexId>,
}

impl<E: Engine> Default for TakenIds<E> {
    fn default() -> Self {
        Self { front: None, vertices: Vec::new() }
    }
}

impl<E: Engine> TakenIds<E> {
    /// Takes an id for a vertex of `label`.
    ///
    /// # Errors
    /// `limit` when there are none left.
    pub fn take(&mut self, front: &Arc<Front<E>>, label: LabelId) -> Result<VertexId> {
        let vertex = front.ids.take(label, |group, label| front.engine.open_group(group, label))?;
        self.front.get_or_insert_with(|| Arc::clone(front));
        self.vertices.push(vertex);
        Ok(vertex)
    }

    /// Keeps those that `is_used` names for ever; the others go back.
    pub fn used(&mut self, is_used: impl Fn(VertexId) -> bool) {
        self.vertices.retain(|vertex| !is_used(*vertex));
    }
}

impl<E: Engine> Drop for TakenIds<E> {
    fn drop(&mut self) {
        if let Some(front) = &self.front {
            front.ids.give_back(self.vertices.drain(..));
        }
    }
}
