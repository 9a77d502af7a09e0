//! Received item: a result of a server, with the names that people know instead of numbers.
//!
//! What [`crate::command::query::element_names`] reads from a graph, a server sends beside its results.

use crate::command::query::printed_item::{EdgeName, PrintedItem, VertexName};
use evergraph_client::results::Results;
use evergraph_graph::id::VertexId;
use evergraph_graph::value::Value;
use evergraph_protocol::result::result_value::{DetachedEdge, DetachedTree, DetachedVertex, ResultValue};
use evergraph_query::gremlin::token::{Enumeration, T, Token};
use std::sync::Arc;

/// `value` of the newest frame of `results` by its names. Cost: linear; nesting is limited by the reader of results.
#[must_use]
pub fn received(value: ResultValue, results: &Results<'_>) -> PrintedItem {
    let all = |values: Vec<ResultValue>| values.into_iter().map(|value| received(value, results)).collect();
    match value {
        ResultValue::Null => PrintedItem::Null,
        ResultValue::Value(value) => PrintedItem::Value(value),
        ResultValue::List(values) => PrintedItem::List(all(values)),
        ResultValue::Set(values) => PrintedItem::Set(all(values)),
        ResultValue::Map(entries) => {
            let entry = |(key, value)| (received(key, results), received(value, results));
            PrintedItem::Map(entries.into_iter().map(entry).collect())
        }
        ResultValue::Token(token) => PrintedItem::Word(word(token)),
        ResultValue::Vertex(vertex) => PrintedItem::Vertex(vertex_name(*vertex, results)),
        ResultValue::Edge(edge) => edge_name(*edge, results),
        ResultValue::VertexProperty(property) => PrintedItem::Property {
            key: property.key.into(),
            value: Box::new(received(property.value, results)),
        },
        ResultValue::Property(property) => PrintedItem::Property {
            key: property.key.into(),
            value: Box::new(received(property.value, results)),
        },
        ResultValue::Path(steps) => {
            PrintedItem::List(steps.into_iter().map(|step| received(step.value, results)).collect())
        }
        ResultValue::Tree(tree) => tree_of(tree, results),
        ResultValue::Graph(graph) => {
            let vertices = graph.vertices.into_iter();
            let vertices = vertices.map(|vertex| PrintedItem::Vertex(vertex_name(vertex, results))).collect();
            let edges = graph.edges.into_iter().map(|edge| edge_name(edge, results)).collect();
            PrintedItem::Map(vec![
                (PrintedItem::Word("vertices"), PrintedItem::List(vertices)),
                (PrintedItem::Word("edges"), PrintedItem::List(edges)),
            ])
        }
    }
}

fn word(token: Token) -> &'static str {
    match token {
        Token::T(T::Id) => "T.id",
        Token::T(T::Label) => "T.label",
        Token::T(T::Key) => "T.key",
        Token::T(T::Value) => "T.value",
        token if token.enumeration() == Enumeration::Direction => match token.word() {
            "OUT" | "out" | "from" => "OUT",
            "IN" | "in" | "to" => "IN",
            _ => "BOTH",
        },
        token => token.word(),
    }
}

fn tree_of(tree: DetachedTree, results: &Results<'_>) -> PrintedItem {
    let branch = |(key, below)| (received(key, results), tree_of(below, results));
    PrintedItem::Map(tree.branches.into_iter().map(branch).collect())
}

fn vertex_name(vertex: DetachedVertex, results: &Results<'_>) -> VertexName {
    let id = match &vertex.id {
        ResultValue::Value(id) => id.as_i64(),
        _ => None,
    };
    let number = id.and_then(|id| u32::try_from(id).ok()).unwrap_or(u32::MAX);
    let key = id.and_then(|id| results.vertex_key(id)).cloned();
    let label: Option<Arc<str>> = (!vertex.label.is_empty()).then(|| vertex.label.into());
    let key = key.map(|key| Box::new(PrintedItem::Value(key)));
    VertexName { vertex: VertexId(number), label, key }
}

fn edge_name(edge: DetachedEdge, results: &Results<'_>) -> PrintedItem {
    let id = match edge.id {
        ResultValue::Value(Value::String(id)) => id.into(),
        ResultValue::Value(id) => id.to_string(),
        _ => String::new(),
    };
    PrintedItem::Edge(Box::new(EdgeName {
        edge: id,
        edge_type: edge.label.into(),
        source: vertex_name(edge.source, results),
        target: vertex_name(edge.target, results),
    }))
}
