//! `Orphan`: a row that is there, and whose edge went with a vertex.

use crate::row_note::WaitingEdge;
use crate::translate::rules::RuleNumber;
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::value::Value;

/// What lost its end.
pub(super) enum Orphan {
    /// The foreign key of a row, which had this key and its edge these properties.
    Link { rule: RuleNumber, link: usize, vertex: VertexId, key: Value, properties: Vec<(KeyId, Value)> },
    /// The row of an edge.
    Edge { rule: RuleNumber, edge: WaitingEdge },
}
