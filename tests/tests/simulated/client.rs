//! Client: a transaction under way, beside the model of what it sees.

use crate::front::model::ModelTransaction;
use crate::simulated::steps::Write;
use crate::simulated::words::{LABELS, NAME, PARALLEL, SIMPLE, WEIGHT};
use evergraph_bodies::edge_body::HUB_DEGREE;
use evergraph_engines::engine::AnyEngine;
use evergraph_graph::error::Error;
use evergraph_graph::id::KeyId;
use evergraph_graph::index::IndexKind;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_storage::indexing::OwnerName;
use evergraph_storage::transaction::handle::Transaction;
use std::collections::BTreeMap;
use std::time::Duration;

/// Vertices above which steps add no more.
pub const VERTICES_MAX: usize = 48;
/// The same of edges.
const EDGES_MAX: usize = 250;

/// A transaction that is open, and what it sees by the model.
pub struct Open {
    pub transaction: Transaction<AnyEngine>,
    pub model: ModelTransaction,
    /// When its time is over, if it has a timeout.
    pub deadline: Option<Duration>,
    /// Whether the owner began it.
    pub is_owners: bool,
}

/// Owner, key, kind and uniqueness of one of the indexes that come and go.
pub fn index(which: u8) -> (OwnerName<'static>, &'static str, IndexKind, bool) {
    match which % 6 {
        0 | 1 => (OwnerName::Label(LABELS[0]), NAME, IndexKind::Hash, true),
        2 => (OwnerName::Label(LABELS[1]), NAME, IndexKind::Ordered, false),
        3 => (OwnerName::EdgeType(PARALLEL), WEIGHT, IndexKind::Ordered, false),
        4 => (OwnerName::EdgeType(SIMPLE), WEIGHT, IndexKind::Hash, false),
        _ => (OwnerName::Label(LABELS[0]), WEIGHT, IndexKind::Ordered, false),
    }
}

fn pick<T: Copy>(items: impl ExactSizeIterator<Item = T>, at: u8) -> Option<T> {
    let count = items.len().max(1);
    let mut items = items;
    items.nth(usize::from(at) % count)
}

/// A name; some are longer than a page of the log.
fn text(value: u8) -> Option<Value> {
    match value {
        0..40 => None,
        40..240 => Some(Value::from(format!("n{value}"))),
        _ => Some(Value::from(format!("n{value}").repeat(1200))),
    }
}

impl Open {
    /// Whether its time is over.
    pub fn is_late(&self, now: Duration) -> bool {
        self.deadline.is_some_and(|deadline| now >= deadline)
    }

    /// Does it here and in the model; what the client did wrong is an error, and nothing happened.
    pub fn write(&mut self, write: Write) -> Result<(), Error> {
        let Self { transaction, model, .. } = self;
        let vertex = |model: &ModelTransaction, at| pick(model.now.vertices.keys().copied(), at);
        let edge = |model: &ModelTransaction, at| pick(model.now.edges.keys().copied(), at);
        // With a hub it is large anyway, and the hub is to grow.
        let is_large = |model: &ModelTransaction| (EDGES_MAX..HUB_DEGREE).contains(&model.now.edges.len());
        match write {
            Write::AddVertex { .. } if model.now.vertices.len() >= VERTICES_MAX => {}
            Write::AddVertex { label, value } => {
                let label = transaction.label(LABELS[usize::from(label % 2)])?;
                let (name, weight) = (transaction.key(NAME)?, transaction.key(WEIGHT)?);
                let mut properties: Vec<(KeyId, Value)> =
                    text(value).map(|text| (name, text)).into_iter().collect();
                if value.is_multiple_of(3) {
                    properties.push((weight, Value::I64(i64::from(value))));
                }
                let vertex = transaction.add_vertex(label, &properties)?;
                model.add_vertex(vertex, label, properties.into_iter().collect());
            }
            Write::DeleteVertex { at } => {
                let Some(vertex) = vertex(model, at) else { return Ok(()) };
                transaction.delete_vertex(vertex)?;
                model.delete_vertex(vertex);
            }
            Write::SetVertex { at, key, value } => {
                let Some(vertex) = vertex(model, at) else { return Ok(()) };
                let (key, value) = match key % 2 {
                    0 => (transaction.key(NAME)?, text(value)),
                    _ => (transaction.key(WEIGHT)?, Some(Value::I64(i64::from(value)))),
                };
                transaction.set_vertex_property(vertex, key, value.clone())?;
                model.set_vertex(vertex, key, value);
            }
            Write::AddEdge { .. } | Write::PutEdge { .. } | Write::Burst { .. } if is_large(model) => {}
            Write::AddEdge { source, target, kind, value }
            | Write::PutEdge { source, target, kind, value } => {
                let (Some(source), Some(target)) = (vertex(model, source), vertex(model, target)) else {
                    return Ok(());
                };
                let simple = kind % 4 == 0;
                let edge_type = match simple {
                    true => transaction.declare_simple_type(SIMPLE)?,
                    false => transaction.edge_type(PARALLEL)?,
                };
                let weight = transaction.key(WEIGHT)?;
                let properties: Vec<(KeyId, Value)> =
                    (value > 100).then(|| (weight, Value::I64(i64::from(value)))).into_iter().collect();
                let values = properties.iter().cloned().collect();
                if let Write::PutEdge { .. } = write {
                    model.put_edge(transaction.put_edge(source, edge_type, target, &properties)?, values);
                } else {
                    let edge = transaction.add_edge(source, edge_type, target, &properties)?;
                    model.add_edge(edge, values, !simple);
                }
            }
            Write::Burst { source, target, value } => {
                let edge_type = transaction.edge_type(PARALLEL)?;
                for number in 0..40 {
                    // Parallel edges, or edges to everybody.
                    let other = if value % 2 == 0 { target } else { target.wrapping_add(number) };
                    let (Some(source), Some(target)) = (vertex(model, source), vertex(model, other)) else {
                        return Ok(());
                    };
                    let edge = transaction.add_edge(source, edge_type, target, &[])?;
                    model.add_edge(edge, BTreeMap::new(), true);
                }
            }
            Write::DeleteEdge { at } => {
                let Some(edge) = edge(model, at) else { return Ok(()) };
                transaction.delete_edge(edge)?;
                model.delete_edge(edge);
            }
            Write::SetEdge { at, value } => {
                let Some(edge) = edge(model, at) else { return Ok(()) };
                let (key, value) = (transaction.key(WEIGHT)?, Value::I64(i64::from(value)));
                let value = (value != Value::I64(7)).then_some(value);
                transaction.set_edge_property(edge, key, value.clone())?;
                model.set_edge(edge, key, value);
            }
        }
        Ok(())
    }
}
