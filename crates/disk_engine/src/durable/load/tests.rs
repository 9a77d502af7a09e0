//! Loads against a naive graph: built, placed in a set, read back through views, and checked.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

use crate::durable::check::files::check_stored;
use crate::durable::load::built::{BuiltLoad, LoadContext};
use crate::durable::load::output::LoadFileLimits;
use crate::file::csr_file::CsrFile;
use crate::file::page_reader::PageReader;
use crate::file_set::FileSet;
use crate::format::file_name::FileNumber;
use crate::format::filter::FilterChoice;
use crate::groups::GroupTable;
use crate::stored_file::StoredFile;
use crate::tree_state::SourceHandle;
use crate::view::disk_view::DiskView;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::load::{EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::{Value, ValueType};
use evergraph_storage::bulk::numbers::Numbers;
use evergraph_storage::checkpoint::manifest::StoredGroup;
use evergraph_storage::checkpoint::report::Report;
use evergraph_storage::durable_engine::LoadPlan;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::view::{PointReads, View};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

const ID: KeyId = KeyId(0);
const WEIGHT: KeyId = KeyId(1);
const LABELS: [LabelId; 2] = [LabelId(3), LabelId(4)];
const TYPES: [TypeId; 2] = [TypeId(0), TypeId(7)];

/// A file set that loads go into.
struct Database {
    directory: Arc<dyn Directory>,
    reader: Arc<PageReader>,
    next: Cell<u64>,
    groups: GroupTable,
    set: FileSet<CsrFile>,
    newest: Timestamp,
    rows: BTreeMap<GroupId, (LabelId, u16)>,
}

impl Database {
    fn new() -> Self {
        let reader = PageReader::start(&MemoryBudget::new(64 << 20), Background::Stepped).unwrap();
        Self {
            directory: Arc::new(MemoryDirectory::new("load")),
            reader,
            next: Cell::new(1),
            groups: GroupTable::new(),
            set: FileSet::new(),
            newest: Timestamp(4),
            rows: BTreeMap::new(),
        }
    }

    fn sources(&self) -> Vec<SourceHandle<CsrFile>> {
        self.set.sources().collect()
    }

    fn view(&self) -> DiskView<'_, Vec<SourceHandle<CsrFile>>> {
        DiskView::new(&self.groups, self.sources(), self.newest)
    }

    fn build(
        &self,
        (load, numbers): (&Load, &Numbers),
        (memory_bytes, limits): (u64, LoadFileLimits),
        done: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<BuiltLoad<CsrFile>> {
        let plan =
            LoadPlan { load, numbers, memory_bytes, indexed: HashSet::from([TYPES[0]]), changes: Vec::new() };
        let context = LoadContext {
            directory: &self.directory,
            next_number: &|| FileNumber(self.next.replace(self.next.get() + 1)),
            sources: &self.sources(),
            newest: self.newest,
            groups: &self.groups,
            set: &self.set,
            filters: FilterChoice::default(),
            open: &|stored| CsrFile::open(&self.directory, stored, &self.reader),
        };
        BuiltLoad::build_within(&plan, &context, limits, done)
    }

    fn install(&mut self, load: &Load, numbers: &Numbers, built: &BuiltLoad<CsrFile>) {
        self.set = built.placed_for_test(&self.set, &self.groups);
        self.newest = numbers.base;
        for (table, (label, first)) in load.vertices.iter().zip(&numbers.tables) {
            for row in 0..table.rows {
                let group = GroupId(first.0 + (row / 4096) as u32);
                self.rows.insert(group, (*label, (row % 4096) as u16 + 1));
            }
        }
    }

    fn stored(&self) -> Vec<StoredFile> {
        self.set.iter().map(|file| file.stored().clone()).collect()
    }

    fn check(&self) -> Report {
        let groups =
            self.rows.iter().map(|(id, (label, rows))| StoredGroup { id: *id, label: *label, rows: *rows });
        let (mut report, groups) = (Report::default(), groups.collect::<Vec<_>>());
        check_stored(&*self.directory, &self.stored(), &groups, &mut report, &mut |_, _, _| {
            ControlFlow::Continue(())
        })
        .unwrap();
        report
    }
}

/// What should be there.
#[derive(Default)]
struct Model {
    vertices: BTreeMap<VertexId, (LabelId, Option<i64>)>,
    edges: BTreeMap<EdgeId, Option<i64>>,
}

impl Model {
    fn add(&mut self, source: VertexId, edge_type: TypeId, target: VertexId, weight: Option<i64>) {
        let edge = |discriminator| EdgeId { source, edge_type, target, discriminator };
        let last = self.edges.range(edge(0)..=edge(u16::MAX)).next_back();
        let next = last.map_or(0, |(last, _)| last.discriminator + 1);
        self.edges.insert(edge(next), weight);
    }
}

/// An edge as it is drawn: type, ends among few vertices, weight.
type DrawnEdge = (usize, usize, usize, Option<i64>);

fn any_edges() -> impl Strategy<Value = Vec<DrawnEdge>> {
    proptest::collection::vec((0..2usize, 0..12usize, 0..12usize, prop::option::of(-3i64..1000)), 0..60)
}

/// A load of two labels whose first group is `first`, with edges among new vertices and `existing` ones of
/// both labels; into `model`.
fn drawn(
    (first, base): (u32, u64),
    rows: [u32; 2],
    existing: &[VertexId],
    edges: &[DrawnEdge],
    model: &mut Model,
) -> (Load, Numbers) {
    let mut numbers = Numbers { base: Timestamp(base), ..Numbers::default() };
    // The second label has the lower groups.
    numbers.tables = vec![(LABELS[0], GroupId(first + 1)), (LABELS[1], GroupId(first))];
    numbers.keys = [("id".to_owned(), ID), ("weight".to_owned(), WEIGHT)].into();
    let mut load = Load::default();
    let of_label = LABELS.map(|label| -> Vec<VertexId> {
        existing.iter().filter(|vertex| model.vertices[*vertex].0 == label).copied().collect()
    });
    let mut ends: Vec<Vec<(u32, VertexId)>> = Vec::new();
    for (table, rows) in rows.into_iter().enumerate() {
        let values: Vec<Option<Value>> =
            (0..rows).map(|row| (row % 3 != 1).then(|| Value::I64(i64::from(row)))).collect();
        let blocks = values.chunks(1000).map(|values| {
            let column = PackedColumn::from_values(values.iter().map(Option::as_ref));
            VertexBlock { rows: values.len(), columns: vec![column] }
        });
        let properties = vec![("id".to_owned(), ValueType::I64)];
        let mut vertices = VertexTable::new(format!("L{table}"), properties, blocks.collect());
        vertices.existing.clone_from(&of_label[table]);
        load.vertices.push(vertices);
        for row in 0..rows {
            let id = (row % 3 != 1).then_some(i64::from(row));
            model.vertices.insert(numbers.vertex(table, row), (LABELS[table], id));
        }
        let step = (rows / 4).max(1);
        let new = (0..rows).step_by(step as usize).map(|row| (row, numbers.vertex(table, row)));
        let old = (0..).zip(&of_label[table]).map(|(at, vertex)| (u32::MAX - at, *vertex));
        ends.push(new.chain(old).collect());
    }
    for (at, edge_type) in TYPES.iter().enumerate() {
        for (source_label, target_label) in [(0, 0), (0, 1), (1, 0)] {
            let (sources, targets) = (&ends[source_label], &ends[target_label]);
            if sources.is_empty() || targets.is_empty() {
                continue;
            }
            let (mut pairs, mut weights) = (Vec::new(), Vec::new());
            for (_, source, target, weight) in edges.iter().filter(|edge| edge.0 == at) {
                let (source, target) = (sources[source % sources.len()], targets[target % targets.len()]);
                // The second type has no properties.
                let weight = weight.filter(|_| at == 0);
                model.add(source.1, *edge_type, target.1, weight);
                pairs.push((source.0, target.0));
                weights.push(weight.map(Value::I64));
            }
            let column = PackedColumn::from_values(weights.iter().map(Option::as_ref));
            let (properties, columns) = match at {
                0 => (vec![("weight".to_owned(), ValueType::I64)], vec![column]),
                _ => (Vec::new(), Vec::new()),
            };
            let block = EdgeBlock { columns, ..EdgeBlock::bare(pairs) };
            load.edges.push(EdgeTable::new(
                format!("T{at}"),
                source_label,
                target_label,
                properties,
                vec![block],
            ));
            numbers.types.push(*edge_type);
        }
    }
    (load, numbers)
}

fn compare(view: &impl View, model: &Model) {
    let vertices: Vec<VertexId> = model.vertices.keys().copied().collect();
    let mut labels = vec![None; vertices.len()];
    view.labels(&vertices, &mut labels).unwrap();
    for ((vertex, (label, id)), found) in model.vertices.iter().zip(labels) {
        assert_eq!(found, Some(*label), "{vertex}");
        if vertex.0 % 97 == 0 {
            assert_eq!(view.vertex_property(*vertex, ID).unwrap(), id.map(Value::I64), "{vertex}");
        }
    }
    let mut want: BTreeMap<(VertexId, TypeId, Direction), Vec<(VertexId, u16)>> = BTreeMap::new();
    for (edge, weight) in &model.edges {
        assert_eq!(view.edge_property(*edge, WEIGHT).unwrap(), weight.map(Value::I64), "{edge}");
        want.entry((edge.source, edge.edge_type, Direction::Out))
            .or_default()
            .push((edge.target, edge.discriminator));
        want.entry((edge.target, edge.edge_type, Direction::In))
            .or_default()
            .push((edge.source, edge.discriminator));
    }
    let mut found = 0;
    for group in (0..view.group_count()).map(GroupId) {
        for edge_type in view.edge_types(group, Direction::Out).unwrap() {
            found += view.group_edge_count(group, edge_type).unwrap();
        }
    }
    assert_eq!(found, model.edges.len() as u64);
    for ((vertex, edge_type, side), mut want) in want {
        want.sort_unstable();
        let mut list = Vec::new();
        view.all_neighbors(vertex, edge_type, side, &mut list).unwrap();
        assert_eq!(list, want, "{vertex} {edge_type:?} {side:?}");
        assert!(view.edge_types(vertex.group(), side).unwrap().contains(&edge_type));
    }
}

fn any_limits() -> impl Strategy<Value = (u64, LoadFileLimits)> {
    let memory = prop_oneof![Just(0u64), Just(100_000), Just(u64::MAX)];
    let small = prop_oneof![Just(0u64), Just(u64::MAX)];
    let file_bytes = prop_oneof![Just(20_000), Just(64 << 20)];
    let waiting = prop_oneof![Just(20_000), Just(64 << 20)];
    (memory, small, file_bytes, waiting).prop_map(|(memory, small_records, file_bytes, waiting_bytes)| {
        (memory, LoadFileLimits { file_bytes, waiting_bytes, small_records })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn loads_read_back_as_a_naive_graph_and_their_files_are_sound(
        first in any_edges(), second in any_edges(), limits in any_limits(), second_limits in any_limits(),
        rows in (1u32..9000, 1u32..4000),
    ) {
        let (mut database, mut model) = (Database::new(), Model::default());
        let (load, numbers) = drawn((2, 5), [rows.0, rows.1], &[], &first, &mut model);
        let built = database.build((&load, &numbers), limits, &mut |_| Ok(())).unwrap();
        compare(&DiskView::new(built.groups(), built.sources(), Timestamp(5)), &model);
        database.install(&load, &numbers, &built);
        drop(built);
        compare(&database.view(), &model);

        let existing: Vec<VertexId> = model.vertices.keys().copied().step_by(1 + rows.0 as usize / 3).collect();
        let (load, numbers) = drawn((20, 9), [5, rows.1], &existing, &second, &mut model);
        let built = database.build((&load, &numbers), second_limits, &mut |_| Ok(())).unwrap();
        let new: Vec<VertexId> = model.vertices.keys().copied().filter(|vertex| vertex.group().0 >= 20).collect();
        let staged = DiskView::new(built.groups(), built.sources(), Timestamp(9));
        prop_assert!(new.iter().all(|vertex| staged.label(*vertex).unwrap().is_some()));
        prop_assert!(existing.iter().all(|vertex| staged.label(*vertex).unwrap().is_none()));
        drop(staged);
        database.install(&load, &numbers, &built);
        drop(built);
        compare(&database.view(), &model);
        let before = DiskView::new(&database.groups, database.sources(), Timestamp(8));
        prop_assert!(new.iter().step_by(100).all(|vertex| before.label(*vertex).unwrap().is_none()));

        let report = database.check();
        prop_assert!(report.is_healthy(), "{:?}", report.findings);
        for level in 1..=5 {
            let files = database.set.level(level);
            prop_assert!(files.is_sorted_by(|a, b| a.stored().last_key < b.stored().first_key));
        }
        let names = database.stored().iter().map(|file| 1 + usize::from(file.columns.is_some())).sum::<usize>();
        prop_assert_eq!(database.directory.list().unwrap().len(), names);
    }
}

#[test]
fn many_edges_are_sorted_in_spilled_parts_and_cut_into_files() {
    let (mut database, mut model) = (Database::new(), Model::default());
    let edges: Vec<DrawnEdge> = Vec::new();
    let (mut load, numbers) = drawn((0, 5), [20_000, 1], &[], &edges, &mut model);
    let mut random = 7u64;
    let mut below = |bound: u64| {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((random >> 33) % bound) as u32
    };
    let pairs: Vec<(u32, u32)> = (0..40_000).map(|_| (below(20_000), below(300) * below(60))).collect();
    for (source, target) in &pairs {
        model.add(numbers.vertex(0, *source), TYPES[1], numbers.vertex(0, *target), None);
    }
    let of_type = numbers.types.iter().position(|edge_type| *edge_type == TYPES[1]).unwrap();
    load.edges[of_type] = EdgeTable::new("T1", 0, 0, Vec::new(), vec![EdgeBlock::bare(pairs)]);
    let limits = (0, LoadFileLimits { file_bytes: 20_000, small_records: 0, ..LoadFileLimits::default() });
    let built = database.build((&load, &numbers), limits, &mut |_| Ok(())).unwrap();
    database.install(&load, &numbers, &built);
    drop(built);
    assert!(database.set.level(5).len() > 8, "{} files", database.set.len());
    let columns = database.stored().iter().filter(|file| file.columns.is_some()).count();
    assert_eq!(database.directory.list().unwrap().len(), database.set.len() + columns, "no spill is left");
    compare(&database.view(), &model);
    let report = database.check();
    assert!(report.is_healthy(), "{:?}", report.findings);
}

/// An import of an edge list of three million ids had 25 MiB of them in memory, beside its limit.
#[test]
fn columns_that_wait_in_memory_cut_a_file_where_the_load_has_little() {
    let files = |memory_bytes: u64| {
        let (database, mut model) = (Database::new(), Model::default());
        let (load, numbers) = drawn((0, 5), [200_000, 1], &[], &[], &mut model);
        let limits = LoadFileLimits { small_records: 0, ..LoadFileLimits::default() }.within(memory_bytes);
        let built = database.build((&load, &numbers), (memory_bytes, limits), &mut |_| Ok(())).unwrap();
        built.sources().len()
    };
    assert_eq!(files(64 << 20), 1);
    assert!(files(0) > 1);
}

#[test]
fn a_load_that_is_cancelled_or_given_up_leaves_no_file() {
    let database = Database::new();
    let edges: Vec<DrawnEdge> = (0..50).map(|at| (at % 2, at, at * 7, Some(at as i64))).collect();
    let (load, numbers) = drawn((0, 5), [5000, 9], &[], &edges, &mut Model::default());
    let limits = (0, LoadFileLimits { file_bytes: 20_000, small_records: 0, ..LoadFileLimits::default() });
    let mut cancelled = 0;
    loop {
        let mut calls = 0;
        let built = database.build((&load, &numbers), limits, &mut |_| {
            calls += 1;
            if calls > cancelled { Err(Error::new(ErrorKind::Cancelled, "enough")) } else { Ok(()) }
        });
        match built {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled),
            Ok(built) => {
                assert!(!database.directory.list().unwrap().is_empty());
                drop(built);
            }
        }
        assert_eq!(database.directory.list().unwrap(), Vec::<String>::new(), "after {cancelled} calls");
        if calls <= cancelled {
            break;
        }
        cancelled += 1;
    }
    assert!(cancelled > 10);
}

#[test]
fn a_second_edge_of_a_simple_type_is_refused_by_name() {
    let mut database = Database::new();
    let mut model = Model::default();
    let (load, mut numbers) = drawn((0, 5), [2, 1], &[], &[(1, 0, 0, None)], &mut model);
    numbers.simple.insert(TYPES[1]);
    let limits = (u64::MAX, LoadFileLimits::default());
    let built = database.build((&load, &numbers), limits, &mut |_| Ok(())).unwrap();
    database.install(&load, &numbers, &built);
    let existing: Vec<VertexId> = model.vertices.keys().copied().collect();
    // Rows come before existing vertices: the last end is an existing one.
    let (load, mut numbers) = drawn((8, 9), [1, 1], &existing, &[(1, 1, 1, None)], &mut model);
    numbers.simple.insert(TYPES[1]);
    let error = database.build((&load, &numbers), limits, &mut |_| Ok(())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let text = error.to_string();
    assert!(
        text.starts_with("edge type `T1` is simple, and the load would add a second edge of it from v"),
        "{text}"
    );
}

#[test]
fn more_parallel_edges_than_discriminators_are_refused_by_name() {
    let database = Database::new();
    let (mut load, numbers) = drawn((0, 5), [1, 1], &[], &[], &mut Model::default());
    let many = EdgeBlock::bare(std::iter::repeat_n((0, 0), 65_537));
    load.edges[0] = EdgeTable::new("T0", 0, 0, Vec::new(), vec![many]);
    let limits = (u64::MAX, LoadFileLimits::default());
    let error = database.build((&load, &numbers), limits, &mut |_| Ok(())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("more than 65,536 parallel edges"), "{error}");
    assert!(database.directory.list().unwrap().is_empty());
}
