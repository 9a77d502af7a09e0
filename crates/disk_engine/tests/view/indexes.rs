//! Indexes: look-ups and ranges in an index that lies in graphs, files of L0 and a level, beside plain maps.

use evergraph_disk_engine::compact::job::CompactionJob;
use evergraph_disk_engine::file::csr_file::CsrFile;
use evergraph_disk_engine::file::page_reader::PageReader;
use evergraph_disk_engine::flush::write_generation;
use evergraph_disk_engine::format::file_name::FileNumber;
use evergraph_disk_engine::format::operation::RecordOperation;
use evergraph_disk_engine::format::subject::Subject;
use evergraph_disk_engine::groups::GroupTable;
use evergraph_disk_engine::index_table::{IndexTable, StoredIndexState};
use evergraph_disk_engine::level::Level;
use evergraph_disk_engine::memory_graph::graph::MemoryGraph;
use evergraph_disk_engine::memory_graph::index_entries::IndexRecord;
use evergraph_disk_engine::memory_graph::promises::Promises;
use evergraph_disk_engine::memory_graph::sorted_commit::SortedCommit;
use evergraph_disk_engine::merge::delete_rule::{Below, DeleteRule};
use evergraph_disk_engine::tree_state::SourceHandle;
use evergraph_disk_engine::view::disk_view::DiskView;
use evergraph_graph::id::{GroupId, KeyId, LabelId, VertexId};
use evergraph_graph::index::{IndexId, IndexKind};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::owner::Owner;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_graph::value::order_bytes::value_bytes::ValueBytes;
use evergraph_storage::index::entry_bound::EntryBound;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::view::{IndexAnswer, View};
use proptest::prelude::*;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

const KEY: KeyId = KeyId(3);
const LABEL: LabelId = LabelId(0);
const INDEX: IndexId = IndexId { owner: Owner::Label(LABEL), key: KEY, kind: IndexKind::Ordered };
const VERTICES: u32 = 12;

type State = BTreeMap<VertexId, Value>;

/// Few values, some of them equal in content, some long with the same beginning.
fn any_value() -> impl Strategy<Value = Value> {
    let long = (0..3_usize, "[ab\0]{0,2}")
        .prop_map(|(length, end)| Value::from(format!("{}{end}", "x".repeat([46, 55, 80][length]))));
    prop_oneof![
        (0..4_i64).prop_map(Value::I64),
        (0..4_i32).prop_map(Value::I32),
        prop_oneof![Just(-0.0), Just(0.0), Just(1.0), Just(2.5)].prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
        long,
    ]
}

#[derive(Debug)]
struct History {
    commits: Vec<(Vec<Mutation>, Vec<IndexRecord>, State)>,
}

fn record(subject: Subject, value: &Value, vertex: VertexId, operation: RecordOperation) -> IndexRecord {
    let value = ValueBytes::of(value).as_slice().into();
    IndexRecord { subject, value, item: ItemId::Vertex(vertex), operation }
}

impl History {
    fn of(subject: Subject, steps: &[Vec<(u32, Option<Value>)>]) -> Self {
        let insert = |row| Mutation::InsertVertex {
            vertex: VertexId(row),
            label: LABEL,
            properties: Properties::EMPTY,
        };
        let mut state = State::new();
        let mut commits = vec![((0..VERTICES).map(insert).collect(), Vec::new(), state.clone())];
        for step in steps {
            let wishes: BTreeMap<VertexId, &Option<Value>> =
                step.iter().map(|(row, value)| (VertexId(*row), value)).collect();
            let (mut mutations, mut records) = (Vec::new(), Vec::new());
            for (vertex, value) in wishes {
                let properties = Properties::new(vec![(KEY, value.clone())]);
                mutations.push(Mutation::SetVertexProperties { vertex, properties });
                let old = match value {
                    Some(value) => state.insert(vertex, value.clone()),
                    None => state.remove(&vertex),
                };
                if old.as_ref() != value.as_ref() {
                    let leaving = old.map(|old| record(subject, &old, vertex, RecordOperation::Delete));
                    records.extend(leaving);
                    let entering = value.as_ref();
                    records.extend(
                        entering.map(|value| record(subject, value, vertex, RecordOperation::Insert)),
                    );
                }
            }
            commits.push((mutations, records, state.clone()));
        }
        Self { commits }
    }
}

fn sources(history: &History, cuts: &[u8], merged: usize) -> Vec<SourceHandle<CsrFile>> {
    let promises = Promises::new();
    let open = || MemoryGraph::open(1 << 20, &promises).unwrap();
    let mut graphs = vec![open()];
    for ((timestamp, (mutations, records, _)), cut) in (1..).zip(&history.commits).zip(cuts) {
        let graph = graphs.last().unwrap();
        let prepared = graph.prepare(SortedCommit::new(mutations).unwrap(), records.clone()).unwrap();
        drop(graph.append(Timestamp(timestamp), prepared));
        if *cut < 90 {
            graph.freeze();
            graphs.push(open());
        }
    }
    let budget = MemoryBudget::new(64 << 20);
    let reader = PageReader::start(&budget, Background::Stepped).unwrap();
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("indexes"));
    let mut sources = Vec::new();
    let flushed = graphs.len() / 2;
    for (number, graph) in graphs.into_iter().enumerate() {
        if number >= flushed.max(1) || !graph.is_frozen() {
            sources.push(SourceHandle::Graph(Arc::new(graph)));
        } else if let Some(stored) = write_generation(&directory, FileNumber(number as u64), &graph).unwrap()
        {
            sources.push(SourceHandle::File(Arc::new(CsrFile::open(&directory, &stored, &reader).unwrap())));
        }
    }
    // The oldest files become a level, of small files.
    let is_file = |source: &&SourceHandle<CsrFile>| matches!(source, SourceHandle::File(_));
    let merged = sources.iter().take_while(is_file).count().min(merged);
    let inputs = sources.drain(..merged).rev().filter_map(|source| match source {
        SourceHandle::File(file) => Some(file),
        _ => None,
    });
    let inputs: Vec<_> = inputs.collect();
    if !inputs.is_empty() {
        let mut job = CompactionJob::new(inputs, 5, DeleteRule::new(Below::Nothing, []));
        job.limits.file_bytes = 1;
        let mut next = 1000;
        let mut numbers = || {
            next += 1;
            FileNumber(next)
        };
        let outputs = job.run(&directory, &mut numbers, &|| false).unwrap();
        let open = |stored| Arc::new(CsrFile::open(&directory, stored, &reader).unwrap());
        let level = Level::new(outputs.iter().map(open).collect()).unwrap();
        sources.insert(0, SourceHandle::Level(Arc::new(level)));
    }
    sources.reverse();
    sources
}

fn any_bound() -> impl Strategy<Value = EntryBound<VertexId>> {
    prop_oneof![
        Just(EntryBound::Start),
        Just(EntryBound::End),
        any_value().prop_map(EntryBound::Before),
        any_value().prop_map(EntryBound::After),
        (any_value(), proptest::option::of((0..VERTICES).prop_map(VertexId)))
            .prop_map(|(value, item)| EntryBound::At(value, item)),
    ]
}

/// The same value, and the same sign of zero.
fn same(left: &(Value, VertexId), right: &(Value, VertexId)) -> bool {
    left == right && format!("{:?}", left.0) == format!("{:?}", right.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn an_index_answers_as_its_graph_was_whatever_sources_it_lies_in(
        steps in proptest::collection::vec(
            proptest::collection::vec((0..VERTICES, proptest::option::weighted(0.8, any_value())), 1..5), 1..24),
        cuts in proptest::collection::vec(any::<u8>(), 25),
        merged in 0..6_usize,
        moment in any::<prop::sample::Index>(),
        values in proptest::collection::vec(any_value(), 4),
        ranges in proptest::collection::vec((any_bound(), any_bound(), 1..6_usize), 6),
    ) {
        let table = IndexTable::new([], 1 << 24);
        prop_assert!(table.begin(INDEX));
        let subject = table.load()[&INDEX].subject;
        let history = History::of(subject, &steps);
        let groups = GroupTable::new();
        groups.open(GroupId(0), LABEL);
        let sources = sources(&history, &cuts, merged);
        let count = history.commits.len();
        // What is in a level was readable before anybody could pin it.
        let oldest = sources.iter().filter_map(|source| match source {
            SourceHandle::Level(level) => level.files().iter().map(|file| file.stored().last_ts.0).max(),
            _ => None,
        });
        let oldest = oldest.max().unwrap_or(0) as usize;
        let at = oldest.max(moment.index(count + 1));
        let view = || DiskView::new(&groups, sources.clone(), Timestamp(at as u64)).with_indexes(table.load());
        let mut items = Vec::<VertexId>::new();
        prop_assert_eq!(view().candidates(INDEX, &Value::I64(1), None, 9, &mut items).unwrap(), IndexAnswer::No);
        table.set_state(INDEX, subject, StoredIndexState::Filled);
        let view = view();
        let empty = State::new();
        let state = at.checked_sub(1).map_or(&empty, |at| &history.commits[at].2);
        for value in values.iter().chain(state.values()) {
            let holders: Vec<_> = state.iter().filter(|(_, held)| *held == value).map(|(item, _)| *item).collect();
            for (limit, after) in [(1, None), (100, None), (2, holders.first().copied())] {
                items.clear();
                let answer = view.candidates(INDEX, value, after, limit, &mut items).unwrap();
                let is_long = ValueBytes::of(value).is_long();
                prop_assert_eq!(answer, if is_long { IndexAnswer::Check } else { IndexAnswer::Exact });
                let behind = holders.iter().filter(|item| after.is_none_or(|after| **item > after));
                let expected: Vec<_> = behind.take(limit).copied().collect();
                prop_assert_eq!(&items, &expected, "{}", value);
            }
        }
        let mut sorted: Vec<_> = state.iter().map(|(item, value)| (value.clone(), *item)).collect();
        sorted.sort();
        for (low, high, limit) in &ranges {
            let is_inside = |(value, item): &&(Value, VertexId)| {
                low.cmp_entry(value, *item) == Ordering::Less && high.cmp_entry(value, *item) == Ordering::Greater
            };
            let mut expected: Vec<_> = sorted.iter().filter(is_inside).cloned().collect();
            for descending in [false, true] {
                let (mut after, until) = if descending { (high.clone(), low) } else { (low.clone(), high) };
                let mut found: Vec<(Value, VertexId)> = Vec::new();
                loop {
                    let before = found.len();
                    let answer =
                        view.between(INDEX, (&after, until), descending, *limit, &mut found).unwrap();
                    prop_assert_eq!(answer, IndexAnswer::Exact);
                    prop_assert!(found.len() - before <= *limit);
                    if found.len() - before < *limit {
                        break;
                    }
                    let (value, item) = found.last().unwrap().clone();
                    after = EntryBound::At(value, Some(item));
                }
                prop_assert!(
                    found.len() == expected.len() && found.iter().zip(&expected).all(|(a, b)| same(a, b)),
                    "{:?} expected from {:?} to {:?}, found {:?}", expected, low, high, found
                );
                expected.reverse();
            }
        }
    }
}
