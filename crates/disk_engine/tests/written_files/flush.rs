//! Flush: random memory graphs become files with all their records.

use crate::read_back::{FileRecord, read_back, rows_of};
use evergraph_disk_engine::flush::write_generation;
use evergraph_disk_engine::format::directory::DirectoryRow;
use evergraph_disk_engine::format::file_head::FileStamps;
use evergraph_disk_engine::format::file_name::FileNumber;
use evergraph_disk_engine::format::operation::RecordOperation;
use evergraph_disk_engine::format::subject::{EdgeSide, Subject};
use evergraph_disk_engine::format::tree_key::{ItemKey, ListId};
use evergraph_disk_engine::memory_graph::graph::MemoryGraph;
use evergraph_disk_engine::memory_graph::index_entries::IndexRecord;
use evergraph_disk_engine::memory_graph::promises::Promises;
use evergraph_disk_engine::memory_graph::sorted_commit::SortedCommit;
use evergraph_graph::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_graph::value::strategy::any_scalar;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::sync::Arc;

/// A change that somebody wants: of an edge, or of its source if there is no target; and of an index.
#[derive(Clone, Debug)]
struct Action {
    source: u32,
    target: Option<(u32, u16, u16)>,
    choice: u8,
    properties: Properties,
    index: Option<(u32, u8)>,
}

fn any_action() -> impl Strategy<Value = Action> {
    let vertex = || prop_oneof![3 => Just(1u32), 2 => 0u32..5, 1 => 4094u32..4099, 1 => 0u32..100_000];
    let target = proptest::option::weighted(0.8, (vertex(), 0u16..2, 0u16..3));
    let text = (300usize..700).prop_map(|length| Value::from("long".repeat(length)));
    let value = prop_oneof![5 => any_scalar(), 1 => text];
    let change = ((0u16..4).prop_map(KeyId), proptest::option::weighted(0.9, value));
    let properties = proptest::collection::vec(change, 0..3).prop_map(Properties::new);
    let index = proptest::option::of((0u32..2, 0u8..20));
    (vertex(), target, any::<u8>(), properties, index).prop_map(
        |(source, target, choice, properties, index)| Action { source, target, choice, properties, index },
    )
}

/// Every record of a graph, in file order.
#[derive(Default)]
struct History {
    lists: BTreeMap<(ListId, ItemKey, Reverse<Timestamp>), (RecordOperation, Properties)>,
    entries: BTreeMap<(Subject, Vec<u8>, ItemId, Reverse<Timestamp>), RecordOperation>,
}

impl History {
    /// Whether the newest record of a key leaves it there.
    fn exists(&self, list: ListId, item: ItemKey) -> bool {
        let newest = (list, item, Reverse(Timestamp(u64::MAX)));
        let (key, (operation, _)) = match self.lists.range(newest..).next() {
            Some(found) => found,
            None => return false,
        };
        (key.0, key.1) == (list, item) && *operation != RecordOperation::Delete
    }

    fn entry_exists(&self, subject: Subject, value: &[u8], item: ItemId) -> bool {
        let newest = (subject, value.to_vec(), item, Reverse(Timestamp(u64::MAX)));
        let found = self.entries.range(newest..).next();
        found.is_some_and(|((of, found, at, _), operation)| {
            (*of, &found[..], *at) == (subject, value, item) && *operation == RecordOperation::Insert
        })
    }

    /// What a commit at `timestamp` comes to: one record a key.
    fn commit(&mut self, actions: &[Action], timestamp: Timestamp) -> (Vec<Mutation>, Vec<IndexRecord>) {
        let (mut mutations, mut index_records) = (Vec::new(), Vec::new());
        let (mut touched, mut touched_entries) = (BTreeSet::new(), BTreeSet::new());
        let stamp = Reverse(timestamp);
        for Action { source, target, choice, properties, index } in actions {
            let vertex = VertexId(*source);
            if let Some((index, value)) = *index
                && touched_entries.insert((index, value, vertex))
            {
                let (subject, item) = (Subject::index(index).unwrap(), ItemId::Vertex(vertex));
                let value = vec![value; 1 + usize::from(value) % 3];
                let operation = match self.entry_exists(subject, &value, item) {
                    true => RecordOperation::Delete,
                    false => RecordOperation::Insert,
                };
                self.entries.insert((subject, value.clone(), item, stamp), operation);
                index_records.push(IndexRecord { subject, value: value.into(), item, operation });
            }
            let (list, item) = match *target {
                None => (ListId::vertex(vertex), ItemKey::VERTEX),
                Some((target, edge_type, discriminator)) => (
                    ListId::edges(vertex, TypeId(edge_type), EdgeSide::Out),
                    ItemKey::edge(VertexId(target), discriminator),
                ),
            };
            if !touched.insert((list, item)) {
                continue;
            }
            let operation = match (self.exists(list, item), choice % 4) {
                (false, _) => RecordOperation::Insert,
                (true, 0 | 1) => RecordOperation::Delete,
                (true, 2) if target.is_some() => RecordOperation::Replace,
                (true, _) => RecordOperation::Set,
            };
            let is_delete = operation == RecordOperation::Delete;
            let properties = if is_delete { Properties::EMPTY } else { properties.clone() };
            self.lists.insert((list, item, stamp), (operation, properties.clone()));
            let Some((target, edge_type, discriminator)) = *target else {
                mutations.push(match operation {
                    RecordOperation::Insert => {
                        Mutation::InsertVertex { vertex, label: LabelId(0), properties }
                    }
                    RecordOperation::Delete => Mutation::DeleteVertex { vertex },
                    _ => Mutation::SetVertexProperties { vertex, properties },
                });
                continue;
            };
            let (target, edge_type) = (VertexId(target), TypeId(edge_type));
            let edge = EdgeId { source: vertex, edge_type, target, discriminator };
            if matches!(operation, RecordOperation::Insert | RecordOperation::Delete) {
                let key = (ListId::in_list(&edge), ItemKey::edge(vertex, discriminator), stamp);
                self.lists.insert(key, (operation, Properties::EMPTY));
            }
            mutations.push(match operation {
                RecordOperation::Insert => Mutation::InsertEdge { edge, properties },
                RecordOperation::Delete => Mutation::DeleteEdge { edge },
                RecordOperation::Replace => Mutation::ReplaceEdge { edge, properties },
                RecordOperation::Set => Mutation::SetEdgeProperties { edge, properties },
            });
        }
        (mutations, index_records)
    }

    fn records(&self) -> Vec<FileRecord> {
        let lists = self.lists.iter().map(|((list, item, stamp), (operation, properties))| {
            let (list, item, operation, properties) = (*list, *item, *operation, properties.clone());
            FileRecord::List { list, item, operation, stamp: stamp.0, properties }
        });
        let entries = self.entries.iter().map(|((subject, value, item, stamp), operation)| {
            let (subject, value, item, operation) = (*subject, value.clone(), *item, *operation);
            FileRecord::Entry { subject, value, item, operation, stamp: stamp.0 }
        });
        lists.chain(entries).collect()
    }
}

fn open_graph() -> MemoryGraph {
    MemoryGraph::open(1 << 22, &Promises::new()).unwrap()
}

fn append(graph: &MemoryGraph, timestamp: Timestamp, mutations: &[Mutation], entries: Vec<IndexRecord>) {
    let prepared = graph.prepare(SortedCommit::new(mutations).unwrap(), entries).unwrap();
    drop(graph.append(timestamp, prepared));
}

fn directory() -> Arc<dyn Directory> {
    Arc::new(MemoryDirectory::new("db"))
}

/// The order of subjects is that of keys.
fn check(graph: &MemoryGraph, history: &History) -> Result<(), TestCaseError> {
    let directory = directory();
    let file = write_generation(&directory, FileNumber(3), graph).unwrap().unwrap();
    prop_assert_eq!((file.number, file.level, file.stamps), (FileNumber(3), 0, FileStamps::Stamped));
    prop_assert_eq!((Some(file.first_ts), Some(file.last_ts)), (graph.first(), graph.last()));
    let (read, expected) = (read_back(&*directory, &file), history.records());
    prop_assert_eq!(&read.records, &expected);
    prop_assert_eq!(&read.rows, &rows_of(&expected));
    let differences = graph.at(graph.last().unwrap()).segment_differences();
    let counted = |row: &DirectoryRow| (row.subject, row.group, row.difference);
    let rows: Vec<_> = read.rows[..differences.len()].iter().map(counted).collect();
    prop_assert_eq!(rows, differences, "as the graph counts");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_file_has_all_records_of_its_graph(
        commits in proptest::collection::vec(proptest::collection::vec(any_action(), 1..30), 1..40), first in 1u64..1 << 40,
    ) {
        let (graph, mut history) = (open_graph(), History::default());
        for (at, actions) in commits.iter().enumerate() {
            let timestamp = Timestamp(first + at as u64 * 3);
            let (mutations, entries) = history.commit(actions, timestamp);
            append(&graph, timestamp, &mutations, entries);
        }
        graph.freeze();
        check(&graph, &history)?;
    }

    #[test]
    fn the_graph_of_one_commit_becomes_a_file(actions in proptest::collection::vec(any_action(), 1..300)) {
        let mut history = History::default();
        let (mutations, mut entries) = history.commit(&actions, Timestamp(9));
        entries.sort_by_key(|entry| entry.subject);
        let graph = MemoryGraph::of_commit(SortedCommit::new(&mutations).unwrap(), entries).unwrap();
        graph.set_timestamp(Timestamp(9));
        check(&graph, &history)?;
    }
}

#[test]
fn an_index_of_many_records_is_written_in_batches() {
    let (graph, mut history) = (open_graph(), History::default());
    let action = |source, value| Action {
        source,
        target: None,
        choice: 3,
        properties: Properties::EMPTY,
        index: Some((0, value)),
    };
    // A pair of 3,000 versions begins behind 1,200 records: the first batch ends inside of it.
    for at in 0..3000 {
        let actions = [action(1, 8), action(2 + at, (at % 20) as u8), action(90_000 - at, 9)];
        let (mutations, entries) = history.commit(&actions, Timestamp(u64::from(at) + 1));
        append(&graph, Timestamp(u64::from(at) + 1), &mutations, entries);
    }
    graph.freeze();
    assert!(history.entries.len() > 8192);
    check(&graph, &history).unwrap();
}

#[test]
fn a_graph_of_entries_alone_becomes_a_file() {
    let graph = open_graph();
    let (value, item) = (Arc::from(&b"value"[..]), ItemId::Vertex(VertexId(1)));
    let subject = Subject::index(9).unwrap();
    let record = IndexRecord { subject, value, item, operation: RecordOperation::Delete };
    append(&graph, Timestamp(4), &[], vec![record]);
    graph.freeze();
    let directory = directory();
    let file = write_generation(&directory, FileNumber(1), &graph).unwrap().unwrap();
    let read = read_back(&*directory, &file);
    assert_eq!((read.records.len(), read.rows[0].difference, file.columns), (1, -1, None));
}

#[test]
fn a_graph_without_records_becomes_no_file() {
    let directory = directory();
    let graph = open_graph();
    graph.freeze();
    assert_eq!(write_generation(&directory, FileNumber(1), &graph).unwrap(), None);
    let graph = open_graph();
    append(&graph, Timestamp(4), &[], Vec::new());
    graph.freeze();
    assert_eq!(write_generation(&directory, FileNumber(1), &graph).unwrap(), None);
    assert!(directory.list().unwrap().is_empty());
}

#[test]
fn a_flush_that_failed_leaves_no_file_and_another_one_succeeds() {
    let (graph, mut history) = (open_graph(), History::default());
    let properties = Properties::new(vec![(KeyId(1), Some(Value::from(1)))]);
    let actions = [Action { source: 1, target: None, choice: 0, properties, index: Some((1, 1)) }];
    let (mutations, entries) = history.commit(&actions, Timestamp(4));
    append(&graph, Timestamp(4), &mutations, entries);
    graph.freeze();
    let failing = FailingDirectory::new(directory());
    let directory: Arc<dyn Directory> = Arc::new(failing.clone());
    for operation in [Operation::Create, Operation::Write, Operation::Sync, Operation::SyncDirectory] {
        failing.plan(Fault::new(operation, "", ErrorKind::StorageFull));
        let error = write_generation(&directory, FileNumber(1), &graph).unwrap_err();
        assert!(error.to_string().contains(&operation.to_string()), "{error}");
        assert!(directory.list().unwrap().is_empty());
    }
    let file = write_generation(&directory, FileNumber(2), &graph).unwrap().unwrap();
    assert_eq!(read_back(&*directory, &file).records, history.records());
    check(&graph, &history).unwrap();
}
