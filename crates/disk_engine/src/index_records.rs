//! Index records: what a commit does to the indexes that lie in files.
//!
//! ```text
//! commit   what enters and leaves, as the front worked it out ──> records, and log entries of what leaves
//! replay   mutations ──> what enters     log entries ──> what leaves
//! ```
//!
//! What enters follows from a commit's mutations. What leaves is an old value, which replay cannot read: it is in the
//! log. A value that is set again to what it was enters once more in a replay, and changes nothing.
//!
//! Source: disk-engine, section 7.

use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::groups::GroupTable;
use crate::index_table::{IndexTable, StoredIndexes};
use crate::memory_graph::index_entries::IndexRecord;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::index::IndexId;
use evergraph_graph::index_entry::{ItemId, LeavingEntry};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::value::order_bytes::value_bytes::ValueBytes;
use evergraph_storage::index::changes::{IndexChanges, KeptEntry};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// A commit's records, and what goes into the log of them. Entries of an index that isn't there are left out: the commit
/// is prepared anew.
#[must_use]
pub fn records_of_changes(
    indexes: &StoredIndexes,
    changes: &IndexChanges,
) -> (Vec<IndexRecord>, Vec<Mutation>) {
    let mut records = Vec::with_capacity(changes.leaving.len() + changes.entering.len());
    let mut leaving = Vec::with_capacity(changes.leaving.len());
    let stored = |entry: &KeptEntry| {
        let subject = indexes.get(&entry.index)?.subject;
        Some((subject, ValueBytes::of(&entry.value), entry.item))
    };
    for (subject, value, item) in changes.leaving.iter().filter_map(stored) {
        records.push(record(subject, &value, item, RecordOperation::Delete));
        leaving.push(Mutation::LeaveIndex(Box::new(LeavingEntry { subject: subject.number(), value, item })));
    }
    for (subject, value, item) in changes.entering.iter().filter_map(stored) {
        records.push(record(subject, &value, item, RecordOperation::Insert));
    }
    (records, leaving)
}

fn record(subject: Subject, value: &ValueBytes, item: ItemId, operation: RecordOperation) -> IndexRecord {
    IndexRecord { subject, value: value.as_slice().into(), item, operation }
}

/// The records of a commit that is read from the log. Steps over the subjects that the log names.
#[must_use]
pub fn records_of_replayed<'m>(
    table: &IndexTable,
    groups: &GroupTable,
    mutations: impl Iterator<Item = &'m Mutation>,
) -> Vec<IndexRecord> {
    let indexes = table.load();
    let subjects: BTreeSet<Subject> = indexes.values().map(|index| index.subject).collect();
    let mut records = Vec::new();
    for mutation in mutations {
        match mutation {
            Mutation::LeaveIndex(entry) => {
                let Some(subject) = Subject::from_number(entry.subject) else { continue };
                table.step_over(subject);
                if subjects.contains(&subject) {
                    records.push(record(subject, &entry.value, entry.item, RecordOperation::Delete));
                }
            }
            _ if indexes.is_empty() => {}
            Mutation::InsertVertex { vertex, label, properties } => {
                let item = ItemId::Vertex(*vertex);
                enter(&indexes, Owner::Label(*label), item, properties, &mut records);
            }
            Mutation::SetVertexProperties { vertex, properties } => {
                if let Some(label) = groups.label(vertex.group()) {
                    let item = ItemId::Vertex(*vertex);
                    enter(&indexes, Owner::Label(label), item, properties, &mut records);
                }
            }
            Mutation::InsertEdge { edge, properties }
            | Mutation::ReplaceEdge { edge, properties }
            | Mutation::SetEdgeProperties { edge, properties } => {
                let item = ItemId::Edge(*edge);
                enter(&indexes, Owner::EdgeType(edge.edge_type), item, properties, &mut records);
            }
            Mutation::DeleteVertex { .. }
            | Mutation::DeleteEdge { .. }
            | Mutation::Schema(_)
            | Mutation::Note(_) => {}
        }
    }
    records
}

fn enter(
    indexes: &StoredIndexes,
    owner: Owner,
    item: ItemId,
    properties: &Properties,
    records: &mut Vec<IndexRecord>,
) {
    for (id, index) in indexes.range(IndexId::all_of(owner)) {
        if let Some(value) = properties.get(id.key).flatten() {
            let value = ValueBytes::of(&id.entry_value(item, Cow::Borrowed(value)));
            records.push(record(index.subject, &value, item, RecordOperation::Insert));
        }
    }
}
