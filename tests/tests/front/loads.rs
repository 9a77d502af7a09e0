//! Bulk loads into a store that has data, against the naive answer: what was there, and each row. On every engine.
//!
//! What was there comes from random transactions, background work and checkpoints; snapshots and writers from before the
//! load stay open over it. Power cuts at every operation leave all of the load or nothing; a full disk refuses it.

use crate::keeps::Keeps;
use crate::model::{Model, dump};
use crate::naive_engine::NaiveEngine;
use crate::test_store::{TestEngine, options};
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexKind;
use evergraph_graph::load::{EdgeBlock, EdgeEnd, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::{Value, ValueType};
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::{CrashOutcome, MemoryDirectory};
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::store::Store;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

const LABELS: [&str; 2] = ["A", "B"];
const TYPES: [&str; 2] = ["MANY", "ONE"];

fn below(random: &mut SplitMix64, bound: usize) -> usize {
    (random.next_u64() % bound.max(1) as u64) as usize
}

fn open<E: TestEngine>(
    kind: E::Kind,
    directory: Arc<dyn Directory>,
    durability: Durability,
) -> Result<OpenStore<E>> {
    // A memory graph takes an eighth: little enough to be made at each opening.
    let options = OpenOptions { durability, memory_limit_bytes: 64 << 20, ..options::<E>(kind) };
    OpenStore::<E>::open(directory, &options)
}

/// Two labels, the names of the first unique; two types, the second simple; properties of all;
/// two more indexes.
fn name_everything<E: TestEngine>(store: &Store<E>) -> Result<()> {
    store.transact(|tx| {
        LABELS.iter().try_for_each(|name| tx.label(name).map(drop))?;
        tx.edge_type(TYPES[0])?;
        tx.declare_simple_type(TYPES[1])?;
        ["name", "weight"].iter().try_for_each(|name| tx.key(name).map(drop))
    })?;
    store.create_unique_index(LABELS[0], "name")?;
    let ordered = |owner, key| IndexRequest { owner, key, kind: IndexKind::Ordered, unique: false };
    for (owner, key) in [(OwnerName::EdgeType(TYPES[0]), "weight"), (OwnerName::Label(LABELS[1]), "name")] {
        store.create_index(&ordered(owner, key), &mut |_| Ok(()))?;
    }
    Ok(())
}

fn state<E: TestEngine>(store: &Store<E>) -> Model {
    dump(&store.snapshot(), 100)
}

/// One transaction that changes a few things of `model`.
fn change<E: TestEngine>(store: &Store<E>, random: &mut SplitMix64) -> Result<()> {
    let model = state(store);
    let vertices: Vec<VertexId> = model.vertices.keys().copied().collect();
    let edges: Vec<EdgeId> = model.edges.keys().copied().collect();
    let mut tx = store.begin();
    for _ in 0..1 + below(random, 6) {
        let number = Value::I64(random.next_u64() as i64);
        let pick = |random: &mut SplitMix64| vertices[below(random, vertices.len())];
        match below(random, 10) {
            0..3 => drop(tx.add_vertex(LabelId(below(random, 2) as u16), &[(KeyId(0), number)])?),
            _ if vertices.is_empty() => {}
            3..7 => {
                let (source, target) = (pick(random), pick(random));
                // Whatever cannot be is no part of the history.
                let edge_type = TypeId(below(random, 2) as u16);
                let _ = tx.add_edge(source, edge_type, target, &[(KeyId(1), number)]);
            }
            7 if below(random, 3) == 0 => {
                let _ = tx.delete_vertex(pick(random));
            }
            8 if !edges.is_empty() => {
                let _ = tx.delete_edge(edges[below(random, edges.len())]);
            }
            _ if !edges.is_empty() => {
                let _ = tx.set_edge_property(edges[below(random, edges.len())], KeyId(1), Some(number));
            }
            _ => {}
        }
    }
    tx.commit().map(drop)
}

fn column(values: &[Option<Value>]) -> Vec<Option<PackedColumn>> {
    vec![PackedColumn::from_values(values.iter().map(Option::as_ref))]
}

/// A load of some new vertices and of edges among these and what `model` has.
fn random_load(model: &Model, random: &mut SplitMix64) -> Load {
    let vertices = [0, 1].map(|label| {
        let rows = below(random, 4);
        let names: Vec<_> = (0..rows).map(|_| Some(Value::I64(random.next_u64() as i64))).collect();
        let block = VertexBlock { rows, columns: column(&names) };
        let blocks = if rows == 0 { Vec::new() } else { vec![block] };
        let mut table = VertexTable::new(LABELS[label], vec![("name".into(), ValueType::I64)], blocks);
        let there = model.vertices.iter().filter(|(_, vertex)| usize::from(vertex.0.0) == label);
        table.existing = there.map(|(id, _)| *id).filter(|_| below(random, 2) == 0).collect();
        table
    });
    let mut edges = Vec::new();
    for _ in 0..1 + below(random, 4) {
        let (source, target) = (below(random, 2), below(random, 2));
        let end = |random: &mut SplitMix64, label: usize| {
            let (rows, existing) = (vertices[label].rows as usize, vertices[label].existing.len());
            let at = below(random, rows + existing);
            (rows + existing > 0).then(|| if at < rows { at as u32 } else { u32::MAX - (at - rows) as u32 })
        };
        let mut blocks = Vec::new();
        for _ in 0..1 + below(random, 2) {
            let ends: Option<Vec<(u32, u32)>> =
                (0..below(random, 6)).map(|_| Some((end(random, source)?, end(random, target)?))).collect();
            let ends = ends.unwrap_or_default();
            let weights: Vec<_> = ends
                .iter()
                .map(|_| (below(random, 3) > 0).then(|| Value::I64(random.next_u64() as i64)))
                .collect();
            blocks.push(EdgeBlock { columns: column(&weights), ..EdgeBlock::bare(ends) });
        }
        let edge_type = TYPES[usize::from(below(random, 8) == 0)];
        let properties = vec![("weight".into(), ValueType::I64)];
        edges.push(EdgeTable::new(edge_type, source, target, properties, blocks));
    }
    Load { vertices: vertices.into(), edges }
}

/// What `load` makes of `before`; `None` if it breaks a rule.
fn naive(before: &Model, load: &Load, first_vertices: &[VertexId]) -> Option<Model> {
    let mut after = before.clone();
    for (label, table) in load.vertices.iter().enumerate() {
        let names = table.column("name").unwrap();
        for row in 0..table.rows as u32 {
            let name = names.as_ref().and_then(|names| names.get(row as usize));
            let values: BTreeMap<_, _> = name.map(|name| (KeyId(0), name)).into_iter().collect();
            after.vertices.insert(VertexId(first_vertices[label].0 + row), (LabelId(label as u16), values));
        }
    }
    for table in &load.edges {
        let edge_type = TypeId(TYPES.iter().position(|name| *name == table.edge_type).unwrap() as u16);
        let weights = table.column("weight").unwrap();
        let vertex = |label: usize, end| match load.vertices[label].end(end).unwrap() {
            EdgeEnd::New(row) => VertexId(first_vertices[label].0 + row),
            EdgeEnd::Existing(vertex) => vertex,
        };
        for (row, (source, target)) in table.ends().unwrap().into_iter().enumerate() {
            let (source, target) = (vertex(table.source_label, source), vertex(table.target_label, target));
            let edge = |discriminator| EdgeId { source, edge_type, target, discriminator };
            let last = after.edges.range(edge(0)..=edge(u16::MAX)).next_back();
            let next = last.map_or(0, |(edge, _)| edge.discriminator + 1);
            if next > 0 && edge_type == TypeId(1) {
                return None;
            }
            let weight = weights.as_ref().and_then(|weights| weights.get(row));
            after.edges.insert(edge(next), weight.map(|weight| (KeyId(1), weight)).into_iter().collect());
        }
    }
    Some(after)
}

fn checkpoint<E: TestEngine>(open: &OpenStore<E>) -> Result<()> {
    open.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop)
}

fn check_healthy<E: TestEngine>(open: &OpenStore<E>) {
    let report = open.check(&mut |_, _, _| ControlFlow::Continue(())).unwrap();
    assert!(report.is_healthy(), "{report:?}");
}

#[derive(Debug, Default)]
struct Covered {
    loads: u64,
    refused: u64,
    conflicts: u64,
    kept: u64,
}

/// Random history, load, and what comes after it.
fn run<E: TestEngine>(kind: E::Kind, seed: u64, durability: Durability, covered: &mut Covered) {
    let mut random = SplitMix64::new(seed);
    let directory = MemoryDirectory::new("db");
    let open_store = open::<E>(kind, Arc::new(directory.clone()), durability).unwrap();
    let store = open_store.store();
    name_everything(store).unwrap();
    let mut snapshots = Vec::new();
    let mut writers = Vec::new();
    for _ in 0..1 + below(&mut random, 3) {
        for _ in 0..below(&mut random, 25) {
            change(store, &mut random).unwrap();
            match below(&mut random, 10) {
                0 => store.engine().maintain(),
                1 => checkpoint(&open_store).unwrap(),
                2 => snapshots.push((store.snapshot(), state(store))),
                3 => writers.push(store.begin()),
                _ => {}
            }
        }
        let before = state(store);
        let load = random_load(&before, &mut random);
        let made = store.load(&load, &mut |_| Ok(()), &mut || {
            assert_eq!(state(store), before, "seed {seed}: seen before it is durable");
            checkpoint(&open_store)
        });
        let is_durable = made.is_ok() || durability == Durability::Sync;
        let after = match made {
            Ok(made) => {
                covered.loads += 1;
                naive(&before, &load, &made.first_vertices).expect("a load that breaks no rule")
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Invalid, "seed {seed}: {error}");
                assert_eq!(naive(&before, &load, &[VertexId(1 << 30); 2]), None, "seed {seed}: {error}");
                covered.refused += 1;
                before.clone()
            }
        };
        assert_eq!(state(store), after, "seed {seed}");
        for (snapshot, model) in &snapshots {
            assert_eq!(dump(snapshot, 100), *model, "seed {seed}: a snapshot from before");
        }
        let touched: Vec<EdgeId> =
            after.edges.keys().filter(|edge| !before.edges.contains_key(edge)).copied().collect();
        for mut writer in writers.drain(..) {
            // A vertex that got edges goes, in a transaction that doesn't see them.
            let end =
                touched.iter().map(|edge| edge.source).find(|source| before.vertices.contains_key(source));
            let Some(end) = end.filter(|end| writer.delete_vertex(*end).is_ok()) else { continue };
            let kind = writer.commit().map(|_| ()).map_err(|error| error.kind());
            assert_eq!(kind, Err(ErrorKind::Conflict), "seed {seed}: {end} has edges that it didn't see");
            covered.conflicts += 1;
        }
        covered.kept += u64::from(!snapshots.is_empty());
        check_healthy(&open_store);
        if is_durable {
            let cut = open::<E>(kind, Arc::new(directory.power_cut()), durability).unwrap();
            assert_eq!(state(cut.store()), after, "seed {seed}: reopened");
        }
        if below(&mut random, 2) == 0 {
            snapshots.clear();
        }
    }
    for _ in 0..10 {
        change(store, &mut random).unwrap();
    }
    store.engine().maintain();
    check_healthy(&open_store);
    let model = state(store);
    open_store.close().unwrap();
    drop((snapshots, writers, open_store));
    assert_eq!(
        state(open::<E>(kind, Arc::new(directory), durability).unwrap().store()),
        model,
        "seed {seed}"
    );
}

/// So many histories in mode `none`, and in mode `sync`.
fn a_load_is_the_data_and_every_row<E: TestEngine>(kind: E::Kind, [without, with]: [u64; 2]) {
    let mut covered = Covered::default();
    (0..without).for_each(|seed| run::<E>(kind, seed, Durability::None, &mut covered));
    (without..without + with).for_each(|seed| run::<E>(kind, seed, Durability::Sync, &mut covered));
    assert!(covered.loads > without && covered.refused > without / 24, "{covered:?}");
    assert!(covered.conflicts > without / 6 && covered.kept > without / 6, "{covered:?}");
}

#[test]
fn a_load_into_data_is_the_data_and_every_row() {
    a_load_is_the_data_and_every_row::<AnyEngine>(EngineKind::Memory, [24, 12]);
}

#[test]
fn a_load_into_data_on_the_disk_engine_is_the_data_and_every_row() {
    a_load_is_the_data_and_every_row::<AnyEngine>(EngineKind::Disk, [12, 6]);
}

#[test]
fn a_load_into_data_on_the_mapped_engine_is_the_data_and_every_row() {
    a_load_is_the_data_and_every_row::<AnyEngine>(EngineKind::Mapped, [12, 6]);
}

#[test]
fn a_load_into_data_on_the_naive_engine_is_the_data_and_every_row() {
    a_load_is_the_data_and_every_row::<NaiveEngine>(Keeps::NoIndexes, [12, 6]);
}

/// What each operation of the tests below begins with an image of.
fn data_and_load<E: TestEngine>(kind: E::Kind) -> Data {
    let directory = MemoryDirectory::new("db");
    let first = open::<E>(kind, Arc::new(directory.clone()), Durability::Sync).unwrap();
    name_everything(first.store()).unwrap();
    let mut random = SplitMix64::new(11);
    (0..30).for_each(|_| change(first.store(), &mut random).unwrap());
    checkpoint(&first).unwrap();
    change(first.store(), &mut random).unwrap();
    let before = state(first.store());
    first.close().unwrap();
    drop(first);
    let load = (0..).find_map(|seed| {
        let load = random_load(&before, &mut SplitMix64::new(seed));
        let touches = load.edges_count() > 8 && load.vertices_count() > 3;
        (touches && naive(&before, &load, &[VertexId(1 << 30); 2]).is_some()).then_some(load)
    });
    Data { directory, before, load: load.unwrap() }
}

/// A closed database, what it shows, and a load that fits into it.
struct Data {
    directory: MemoryDirectory,
    before: Model,
    load: Load,
}

/// What `before` is with all of `load`, whose vertices `found` has under their new ids.
fn after(before: &Model, load: &Load, found: &Model) -> Option<Model> {
    let first = |label: usize| {
        let is_new = |entry: &(&VertexId, &(LabelId, _))| {
            usize::from(entry.1.0.0) == label && !before.vertices.contains_key(entry.0)
        };
        found.vertices.iter().find(is_new).map_or(VertexId(1 << 30), |entry| *entry.0)
    };
    naive(before, load, &[first(0), first(1)])
}

/// The same load into the same data on a disk that fails from its `operation`th change on. `None` once
/// nothing failed.
fn load_until<E: TestEngine>(kind: E::Kind, data: &Data, operation: u64) -> Option<()> {
    let Data { before, load, .. } = data;
    let directory = data.directory.power_cut();
    let failing = FailingDirectory::new(Arc::new(directory.clone()));
    failing.plan(Fault::any_change(std::io::ErrorKind::Other).nth(operation).lasting());
    let made: Result<_> = open::<E>(kind, Arc::new(failing), Durability::Sync).and_then(|open| {
        let loaded = open.store().load(load, &mut |_| Ok(()), &mut || checkpoint(&open));
        loaded.map_err(|error: Error| error)
    });
    // An image of each operation; `make crash` cuts the power a million times.
    let mut random = SplitMix64::new(operation);
    let image = directory.crash(|_| match random.next_u64() % 4 {
        0 | 1 => CrashOutcome::Kept,
        2 => CrashOutcome::Lost,
        _ => CrashOutcome::Torn((random.next_u64() % 512) as usize),
    });
    let again = open::<E>(kind, Arc::new(image), Durability::Sync)
        .unwrap_or_else(|error| panic!("operation {operation}: {error}"));
    let found = state(again.store());
    let is_before = found == *before;
    if !is_before {
        let after = after(before, load, &found);
        assert_eq!(Some(found), after, "operation {operation}");
    }
    assert!(!(is_before && made.is_ok()), "operation {operation}: a load is lost");
    check_healthy(&again);
    made.err().map(|_| ())
}

fn a_power_cut_leaves_all_or_nothing<E: TestEngine>(kind: E::Kind) {
    let data = data_and_load::<E>(kind);
    let failed = (1..200).take_while(|operation| load_until::<E>(kind, &data, *operation).is_some()).count();
    assert!((10..199).contains(&failed), "{failed} operations failed");
}

#[test]
fn a_power_cut_at_any_operation_leaves_all_of_a_load_or_nothing() {
    a_power_cut_leaves_all_or_nothing::<NaiveEngine>(Keeps::NoIndexes);
    a_power_cut_leaves_all_or_nothing::<AnyEngine>(EngineKind::Memory);
    a_power_cut_leaves_all_or_nothing::<AnyEngine>(EngineKind::Disk);
    a_power_cut_leaves_all_or_nothing::<AnyEngine>(EngineKind::Mapped);
}

/// A load on a disk that is full from its `operation`th change on, and then has room. Whether it was full.
fn load_on_a_full_disk<E: TestEngine>(kind: E::Kind, data: &Data, operation: u64) -> bool {
    let Data { before, load, .. } = data;
    let failing = FailingDirectory::new(Arc::new(data.directory.power_cut()));
    let mut open_store = open::<E>(kind, Arc::new(failing.clone()), Durability::Sync).unwrap();
    let make = |open_store: &OpenStore<E>| {
        open_store.store().load(load, &mut |_| Ok(()), &mut || checkpoint(open_store)).map(drop)
    };
    failing.plan(Fault::any_change(std::io::ErrorKind::StorageFull).nth(operation).lasting());
    let made = make(&open_store);
    failing.heal();
    let at = format!("operation {operation}");
    let Err(error) = made else { return false };
    assert!(error.to_string().contains("db/") || error.to_string().contains("db:"), "{at}: {error}");
    assert!(matches!(error.kind(), ErrorKind::Limit | ErrorKind::Io), "{at}: {error}");
    // Readers see what was there, or all of a load that has no manifest: then the database is to be reopened.
    let found = state(open_store.store());
    let is_whole = found != *before;
    if is_whole {
        assert_eq!(Some(&found), after(before, load, &found).as_ref(), "{at}");
    }
    let commit = open_store.store().transact(|tx| tx.add_vertex(LabelId(1), &[]));
    match commit.map(drop) {
        Ok(()) => assert!(!is_whole, "{at}: who failed to make a load durable goes on"),
        Err(error) => {
            assert!(error.to_string().contains("reopen the database"), "{at}: {error}");
            drop(open_store);
            open_store = open(kind, Arc::new(failing), Durability::Sync).unwrap();
        }
    }
    let now = state(open_store.store());
    if now.vertices.len() <= before.vertices.len() + 1 {
        make(&open_store).unwrap_or_else(|error| panic!("{at}, with room: {error}"));
        let found = state(open_store.store());
        assert_eq!(Some(&found), after(&now, load, &found).as_ref(), "{at}, with room");
    }
    check_healthy(&open_store);
    true
}

fn a_full_disk_refuses_a_load<E: TestEngine>(kind: E::Kind) {
    let data = data_and_load::<E>(kind);
    let is_full = |operation: &u64| load_on_a_full_disk::<E>(kind, &data, *operation);
    let full = (1..200).step_by(2).take_while(is_full).count();
    assert!((3..99).contains(&full), "{full} operations failed");
}

#[test]
fn a_load_on_a_full_disk_is_refused_and_succeeds_when_there_is_room() {
    a_full_disk_refuses_a_load::<NaiveEngine>(Keeps::NoIndexes);
    a_full_disk_refuses_a_load::<AnyEngine>(EngineKind::Memory);
    a_full_disk_refuses_a_load::<AnyEngine>(EngineKind::Disk);
    a_full_disk_refuses_a_load::<AnyEngine>(EngineKind::Mapped);
}

fn a_checkpoint_is_overtaken_by_a_load<E: TestEngine>(kind: E::Kind, groups_done: u64) {
    let directory = MemoryDirectory::new("db");
    let first = open::<E>(kind, Arc::new(directory.clone()), Durability::None).unwrap();
    let store = first.store();
    name_everything(store).unwrap();
    let mut random = SplitMix64::new(3);
    (0..60).for_each(|_| change(store, &mut random).unwrap());
    let mut image = None;
    let mut loaded = false;
    // The load comes while the checkpoint is made; nothing makes it durable but that.
    let made = first.checkpoint(&mut |now| {
        if now.groups_done >= groups_done && !loaded {
            loaded = true;
            let before = state(store);
            let load = (0..).map(|seed| random_load(&before, &mut SplitMix64::new(seed))).find(|load| {
                load.edges_count() > 8 && naive(&before, load, &[VertexId(1 << 30); 2]).is_some()
            });
            let made = store.load(&load.unwrap(), &mut |_| Ok(()), &mut || {
                image = Some(directory.power_cut());
                Ok(())
            });
            made.unwrap();
        }
        ControlFlow::Continue(())
    });
    made.unwrap();
    assert!(loaded);
    let after = state(store);
    assert_eq!(
        state(open::<E>(kind, Arc::new(directory.power_cut()), Durability::None).unwrap().store()),
        after
    );
    check_healthy(&open::<E>(kind, Arc::new(image.unwrap()), Durability::None).unwrap());
}

#[test]
fn a_checkpoint_that_a_load_overtakes_has_all_of_it_or_nothing() {
    // When some groups are written.
    a_checkpoint_is_overtaken_by_a_load::<AnyEngine>(EngineKind::Memory, 1);
    a_checkpoint_is_overtaken_by_a_load::<AnyEngine>(EngineKind::Disk, 0);
    a_checkpoint_is_overtaken_by_a_load::<AnyEngine>(EngineKind::Mapped, 0);
}

#[test]
fn a_disk_that_is_full_when_a_load_is_installed_does_not_fail_for_what_was_there_before() {
    let failing = FailingDirectory::new(Arc::new(MemoryDirectory::new("db")));
    let first = open::<AnyEngine>(EngineKind::Disk, Arc::new(failing.clone()), Durability::Sync).unwrap();
    let store = first.store();
    name_everything(store).unwrap();
    let mut random = SplitMix64::new(3);
    (0..20).for_each(|_| change(store, &mut random).unwrap());
    let before = state(store);
    let load = (0..)
        .map(|seed| random_load(&before, &mut SplitMix64::new(seed)))
        .find(|load| load.edges_count() > 8 && naive(&before, load, &[VertexId(1 << 30); 2]).is_some());
    let made = store.load(&load.unwrap(), &mut |_| Ok(()), &mut || {
        failing.plan(Fault::new(Operation::Create, "csr-", std::io::ErrorKind::StorageFull).lasting());
        checkpoint(&first)
    });
    made.unwrap();
    failing.heal();
    change(store, &mut random).unwrap();
    check_healthy(&first);
}
