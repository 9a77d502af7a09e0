//! Write estimate: how much the database would write of a transaction that exceeds what one may write, and what a person does then.

use std::collections::BTreeSet;

use evergraph::Snapshot;
use evergraph::ownership::Ownership;
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::count::Count;
use evergraph_graph::error::{Error, Result, TransactionTooLarge};
use evergraph_graph::id::{Direction, LabelId, TypeId, VertexId};
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView as _;
use evergraph_storage::log::error::LogError;

use crate::apply::applier::Applier;
use crate::apply::error::{ApplyError, too_large};
use crate::apply::fold::TransactionFold;
use crate::apply::rule_fold::RuleFold;
use crate::apply::schema::{GraphSchema, IfMissing};
use crate::row_note::NOTES_OF_RULE_MAX;
use crate::translate::pause::{Halt, Recovery};
use crate::translate::rules::{RuleNumber, RulePlan};

/// What the database counts for each vertex and each edge that a transaction writes, beside its properties.
const ITEM_BYTES: u64 = 96;
/// What it counts for the note of an edge that waits: the item, the note's name, and its shortest content.
const NOTE_BYTES: u64 = ITEM_BYTES + 90;
/// Keys that are looked up at once.
const KEYS: usize = 4096;

/// What the database would write of a transaction, without properties. Edges between rows that are deleted count twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct WriteEstimate {
    vertices_deleted: u64,
    edges_deleted: u64,
    /// Vertices and edges that are written otherwise.
    written: u64,
    /// Edges that go with an end while their rows stay: each waits as a note.
    orphans: u64,
    /// Memory of the changed rows.
    rows_bytes: u64,
}

impl Applier {
    /// What to do about `error` of a transaction that was not written, if it is too large for the database; else the error.
    pub(super) fn of_transaction(
        &self,
        error: ApplyError,
        ownership: &Ownership,
        fold: &TransactionFold,
    ) -> ApplyError {
        let ApplyError::Graph(error) = error else { return error };
        if let Some(halt) = beyond_the_log(&error) {
            return halt.into();
        }
        if error.cause::<TransactionTooLarge>().is_none() {
            return error.into();
        }
        match estimate(&self.schema, &ownership.database().snapshot(), fold) {
            Ok(estimate) => estimate.halt(fold.limits().bytes_max).into(),
            Err(error) => error.into(),
        }
    }
}

/// The pause of a transaction whose commit the log does not take, whatever the options say.
fn beyond_the_log(error: &Error) -> Option<Halt> {
    let Some(LogError::TooLarge { payload_bytes, limit }) = error.cause() else { return None };
    let (payload, limit) = (ByteSize(*payload_bytes), ByteSize(*limit));
    let cause = format!(
        "one transaction of the source is too large: the log takes one commit of {limit} at most, and this one has {payload}"
    );
    let (table, remedy) = (String::new(), String::new());
    Some(Halt { table, column: None, cause, remedy, recovery: Recovery::Resync })
}

/// What the database would write of `fold`. Cost: look-ups for the rows that are gone.
fn estimate(schema: &GraphSchema, snapshot: &Snapshot, fold: &TransactionFold) -> Result<WriteEstimate> {
    let statistics = snapshot.statistics()?;
    let vertices_of = |label: LabelId| count_of(&statistics.vertices, label);
    let mut found = WriteEstimate { rows_bytes: fold.heap_bytes() as u64, ..WriteEstimate::default() };
    // Edges of all of a type, once.
    let mut types: BTreeSet<TypeId> = BTreeSet::new();
    let waiting = waiting_types(schema, fold);
    for touched in fold.touched() {
        let rows = touched.keys.iter().filter(|key| touched.shown(key).is_some()).count() as u64;
        match schema.rules.rule(touched.rule) {
            RulePlan::Vertex(_) => {
                let vertex = schema.vertex(touched.rule);
                // An edge that ends and one that begins.
                found.written += rows * (1 + 2 * vertex.links.len() as u64);
                if touched.is_truncated {
                    found.vertices_deleted += vertices_of(vertex.label);
                    types.extend(schema.types_of(vertex.label));
                } else {
                    let gone = GoneVertices::of(schema, snapshot, touched, &waiting)?;
                    found.vertices_deleted += gone.vertices;
                    found.edges_deleted += gone.edges;
                    found.orphans += gone.edges_that_wait;
                }
            }
            RulePlan::Edge(_) => {
                found.written += 2 * rows;
                match touched.is_truncated {
                    true => drop(types.insert(schema.edge(touched.rule).edge_type)),
                    false => found.edges_deleted += (touched.keys.len() as u64).saturating_sub(rows),
                }
            }
        }
    }
    for edge_type in types {
        let edges = count_of(&statistics.edges, edge_type);
        found.edges_deleted += edges;
        found.orphans += if waiting.contains(&edge_type) { edges } else { 0 };
    }
    // More than may wait are a pause by themselves.
    found.orphans = found.orphans.min((waiting.len() * NOTES_OF_RULE_MAX) as u64);
    Ok(found)
}

/// The types of edges whose rows are their own, may stay without an end, and are not all gone in `fold`.
fn waiting_types(schema: &GraphSchema, fold: &TransactionFold) -> Vec<TypeId> {
    let truncated: Vec<RuleNumber> =
        fold.touched().iter().filter(|touched| touched.is_truncated).map(|touched| touched.rule).collect();
    let edges = schema.edges.iter().enumerate().filter(|(rule, _)| !truncated.contains(rule));
    edges
        .filter_map(|(_, edge)| edge.as_ref())
        .filter(|edge| [edge.start, edge.end].iter().any(|end| end.if_missing == IfMissing::Wait))
        .map(|edge| edge.edge_type)
        .collect()
}

/// How many vertices of a rule are deleted with their rows, and how many edges with them.
#[derive(Default)]
struct GoneVertices {
    vertices: u64,
    edges: u64,
    edges_that_wait: u64,
}

impl GoneVertices {
    /// Those of `touched`, where rows of edges of the types `waiting` may wait.
    fn of(schema: &GraphSchema, snapshot: &Snapshot, touched: &RuleFold, waiting: &[TypeId]) -> Result<Self> {
        let gone = touched.keys.iter().filter(|key| key.is_touched && touched.shown(key).is_none());
        let keys: Vec<&Value> = gone.map(|key| &key.key.first).collect();
        let mut found = Self::default();
        let mut degrees = Vec::new();
        let mut count = |vertices: &[VertexId], types: Option<&[TypeId]>| -> Result<u64> {
            degrees.clear();
            snapshot.degrees(vertices, types, Direction::Both, &mut degrees)?;
            Ok(degrees.iter().sum())
        };
        for keys in keys.chunks(KEYS) {
            let vertices = found_vertices(schema, snapshot, touched.rule, keys)?;
            found.vertices += vertices.len() as u64;
            found.edges += count(&vertices, None)?;
            if !waiting.is_empty() {
                found.edges_that_wait += count(&vertices, Some(waiting))?;
            }
        }
        Ok(found)
    }
}

fn found_vertices(
    schema: &GraphSchema,
    snapshot: &Snapshot,
    rule: RuleNumber,
    keys: &[&Value],
) -> Result<Vec<VertexId>> {
    let vertex = schema.vertex(rule);
    let keys: Vec<Value> = keys.iter().map(|key| (*key).clone()).collect();
    let mut found = Vec::with_capacity(keys.len());
    snapshot.look_up(vertex.label, vertex.key, &keys, &mut found)?;
    Ok(found.into_iter().flatten().collect())
}

fn count_of<I: PartialEq>(counts: &[(I, u64)], id: I) -> u64 {
    counts.iter().find(|(known, _)| *known == id).map_or(0, |(_, count)| *count)
}

impl WriteEstimate {
    /// What the database counts for it, in bytes.
    fn bytes(&self) -> u64 {
        let items = self.vertices_deleted + self.edges_deleted + self.written;
        items * ITEM_BYTES + self.orphans * NOTE_BYTES + self.rows_bytes
    }

    /// The pause of a transaction that writes more than it may, where changed rows may take `bytes_max`.
    fn halt(&self, bytes_max: usize) -> Halt {
        let cause = format!(
            "its writes take some {}, more than one transaction may have: {} vertices and {} edges are deleted one by one, {} are \
             written, and {} edges wait for an end",
            ByteSize(self.bytes()),
            Count(self.vertices_deleted),
            Count(self.edges_deleted),
            Count(self.written),
            Count(self.orphans)
        );
        // Properties, of which it does not know, may be most of it.
        let bytes = usize::try_from(self.bytes()).unwrap_or(usize::MAX);
        too_large(cause, bytes.max(bytes_max.saturating_add(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_that_the_log_does_not_take_is_mended_by_no_option() {
        let error = Error::from(LogError::TooLarge { payload_bytes: 3 << 30, limit: 1 << 30 });
        let halt = beyond_the_log(&error).unwrap();
        assert!(halt.cause.contains("of 1.0 GiB at most, and this one has 3.0 GiB"), "{halt}");
        assert!(halt.whole_remedy().contains("resync") && !halt.to_string().contains("--transaction-memory"));
        assert!(beyond_the_log(&Error::invalid("no")).is_none());
    }
}
