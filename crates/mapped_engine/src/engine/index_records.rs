//! Index records: what a commit does to the indexes whose entries are segments.
//!
//! ```text
//! commit   what enters and leaves, as the front worked it out ──> records by index, and log entries of what leaves
//! replay   mutations ──> what enters     log entries ──> what leaves
//! ```
//!
//! What enters follows from a commit's mutations. What leaves is an old value, which replay cannot read: it is in the log. A
//! value that is set again to what it was enters once more in a replay, and changes nothing.
//!
//! Source: disk-engine, section 7.

use crate::engine::graph::MappedGraph;
use crate::entries::entry::{EntryForm, key_of};
use crate::index_table::{StoredIndexes, form_of};
use crate::shared_record::SharedRecord;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::index::IndexId;
use evergraph_graph::index_entry::{ItemId, LeavingEntry};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::order_bytes::value_bytes::ValueBytes;
use evergraph_storage::index::changes::{IndexChanges, KeptEntry};
use evergraph_storage::record::{Operation, Stamp};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The records of each index, by its number; each sorted by key, then time.
pub type IndexRecords = BTreeMap<u32, Vec<SharedRecord>>;

/// A commit's records, which have no timestamp yet, and what goes into the log of them. Entries of an index that isn't there are
/// left out: the commit is prepared anew.
#[must_use]
pub fn records_of_changes(indexes: &StoredIndexes, changes: &IndexChanges) -> (IndexRecords, Vec<Mutation>) {
    let mut records = IndexRecords::new();
    let mut leaving = Vec::with_capacity(changes.leaving.len());
    let stored = |KeptEntry { index, value, item }: &KeptEntry| {
        let number = indexes.get(index)?.number;
        Some((number, EntryForm::of(*index), ValueBytes::of(value), *item))
    };
    let mut push = |(number, form, value, item): (u32, EntryForm, ValueBytes, ItemId), operation| {
        let record = record(form, &value, item, Stamp::new(Timestamp::ZERO, operation));
        records.entry(number).or_default().push(record);
    };
    for found in changes.leaving.iter().filter_map(stored) {
        let (subject, value, item) = (found.0, found.2, found.3);
        leaving.push(Mutation::LeaveIndex(Box::new(LeavingEntry { subject, value, item })));
        push(found, Operation::Delete);
    }
    changes.entering.iter().filter_map(stored).for_each(|found| push(found, Operation::Insert));
    records.values_mut().for_each(|records| records.sort_unstable());
    (records, leaving)
}

fn record(form: EntryForm, value: &ValueBytes, item: ItemId, stamp: Stamp) -> SharedRecord {
    let entry = form.entry(value.as_slice(), item);
    SharedRecord { key: key_of(&entry), stamp, properties: entry }
}

/// The records of commits that are read from the log. Steps over the numbers that it names.
#[must_use]
pub fn records_of_replayed(graph: &MappedGraph, mutations: &[(Timestamp, Mutation)]) -> IndexRecords {
    let indexes = graph.indexes().load();
    let mut replayed = Replayed { indexes: &indexes, records: IndexRecords::new() };
    for (timestamp, mutation) in mutations {
        match mutation {
            Mutation::LeaveIndex(entry) => {
                graph.indexes().step_over(entry.subject);
                if let Some(form) = form_of(&indexes, entry.subject) {
                    let stamp = Stamp::new(*timestamp, Operation::Delete);
                    let record = record(form, &entry.value, entry.item, stamp);
                    replayed.records.entry(entry.subject).or_default().push(record);
                }
            }
            _ if indexes.is_empty() => {}
            Mutation::InsertVertex { vertex, label, properties } => {
                replayed.enter(Owner::Label(*label), ItemId::Vertex(*vertex), properties, *timestamp);
            }
            Mutation::SetVertexProperties { vertex, properties } => {
                if let Some(group) = graph.groups().get(vertex.group()) {
                    let owner = Owner::Label(group.label);
                    replayed.enter(owner, ItemId::Vertex(*vertex), properties, *timestamp);
                }
            }
            Mutation::InsertEdge { edge, properties }
            | Mutation::ReplaceEdge { edge, properties }
            | Mutation::SetEdgeProperties { edge, properties } => {
                let owner = Owner::EdgeType(edge.edge_type);
                replayed.enter(owner, ItemId::Edge(*edge), properties, *timestamp);
            }
            Mutation::DeleteVertex { .. }
            | Mutation::DeleteEdge { .. }
            | Mutation::Schema(_)
            | Mutation::Note(_) => {}
        }
    }
    let mut records = replayed.records;
    records.values_mut().for_each(|records| records.sort_unstable());
    records
}

struct Replayed<'a> {
    indexes: &'a StoredIndexes,
    records: IndexRecords,
}

impl Replayed<'_> {
    fn enter(&mut self, owner: Owner, item: ItemId, properties: &Properties, timestamp: Timestamp) {
        for (id, index) in self.indexes.range(IndexId::all_of(owner)) {
            if let Some(value) = properties.get(id.key).flatten() {
                let value = ValueBytes::of(&id.entry_value(item, Cow::Borrowed(value)));
                let stamp = Stamp::new(timestamp, Operation::Insert);
                let record = record(EntryForm::of(*id), &value, item, stamp);
                self.records.entry(index.number).or_default().push(record);
            }
        }
    }
}
