//! Loads and hubs: what a review of the code found, each with its smallest case.
//!
//! A hub hid its edges from conflict checks; a bulk load panicked snapshots that began while it was made
//! durable, and did not know of unique indexes and simple types that were there before it.

#![allow(clippy::disallowed_methods, reason = "the merge thread of a real store gets real time")]

use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::index::IndexKind;
use evergraph_graph::load::{EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::look_up::{MatchCursor, Matches, OrderedMatches, RangeCursor, ValueRange};
use evergraph_graph::packed_column::{PackedColumn, PackedColumnBuilder};
use evergraph_graph::topology::Projection;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::{Freeze, GraphView};
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_memory_engine::frozen::SharedList;
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn open(directory: &MemoryDirectory, durability: Durability) -> OpenStore<MemoryEngine> {
    OpenStore::<MemoryEngine>::open(
        Arc::new(directory.clone()),
        &OpenOptions { durability, ..OpenOptions::default() },
    )
    .unwrap()
}

/// v0 has 20,000 edges: a hub.
fn star() -> Load {
    let ends = EdgeBlock::bare((1..=20_000).map(|target| (0, target)).chain([(1, 2)]));
    star_of(ends)
}

/// The vertices of [`star`], with `ends` for its edges.
fn star_of(ends: EdgeBlock) -> Load {
    let table = VertexTable::new("V", Vec::new(), vec![VertexBlock::bare(20_010)]);
    let edges = EdgeTable::new("E", 0, 0, Vec::new(), vec![ends]);
    Load { vertices: vec![table], edges: vec![edges] }
}

fn loaded_star() -> OpenStore<MemoryEngine> {
    let open = open(&MemoryDirectory::new("db"), Durability::None);
    open.store()
        .load(&star(), &mut |_| Ok(()), &mut || open.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop))
        .unwrap();
    assert_eq!(open.store().statistics().engine.hubs, 1);
    open
}

#[test]
fn two_updates_of_one_edge_of_a_hub_conflict() {
    let open = loaded_star();
    let store = open.store();
    let (mut first, mut second) = (store.begin(), store.begin());
    let edge = {
        let edge_type = first.edge_type("E").unwrap();
        evergraph_graph::id::EdgeId { source: VertexId(0), edge_type, target: VertexId(7), discriminator: 0 }
    };
    let key = first.key("w").unwrap();
    assert_eq!(second.key("w").unwrap(), key);
    first.set_edge_property(edge, key, Some(Value::I64(1))).unwrap();
    second.set_edge_property(edge, key, Some(Value::I64(2))).unwrap();
    first.commit().unwrap();
    assert_eq!(
        second.commit().map(|done| done.timestamp).map_err(|error| error.kind()),
        Err(ErrorKind::Conflict)
    );
}

/// A vertex of more than a million edges could not be deleted at all.
#[test]
fn a_vertex_of_more_than_a_million_edges_is_deleted_in_parts() {
    const EDGES: u32 = 1_200_000;
    let open = open(&MemoryDirectory::new("db"), Durability::None);
    let store = open.store();
    let table = VertexTable::new("V", Vec::new(), vec![VertexBlock::bare(EDGES as usize + 1)]);
    let ends = EdgeBlock::bare((1..=EDGES).map(|other| if other % 2 == 0 { (0, other) } else { (other, 0) }));
    let edges = EdgeTable::new("E", 0, 0, Vec::new(), vec![ends]);
    let load = Load { vertices: vec![table], edges: vec![edges] };
    store
        .load(&load, &mut |_| Ok(()), &mut || open.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop))
        .unwrap();
    let refused = store.transact(|tx| tx.delete_vertex(VertexId(0))).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Limit);
    assert!(refused.to_string().contains("V v0 has 1,200,000 edges"), "{refused}");
    let mut parts = 0;
    let mut progress = |_| {
        parts += 1;
        Ok(())
    };
    assert_eq!(store.delete_vertex_in_parts(VertexId(0), &mut progress).unwrap(), u64::from(EDGES));
    assert_eq!(parts, 12);
    let statistics = store.snapshot().statistics().unwrap();
    assert_eq!(statistics.vertices[0].1, u64::from(EDGES));
    assert!(statistics.edges.iter().all(|(_, count)| *count == 0));
}

#[test]
fn a_deleted_hub_leaves_no_edge_behind() {
    let open = loaded_star();
    let store = open.store();
    let (mut deletes, mut adds) = (store.begin(), store.begin());
    deletes.delete_vertex(VertexId(0)).unwrap();
    let edge_type = adds.edge_type("E").unwrap();
    adds.add_edge(VertexId(0), edge_type, VertexId(20_005), &[]).unwrap();
    adds.commit().unwrap();
    let outcome = deletes.commit().map(|done| done.timestamp).map_err(|error| error.kind());
    let report = open.check(&mut |_, _, _| ControlFlow::Continue(())).unwrap();
    assert!(report.is_healthy(), "commit said {outcome:?}: {report:?}");
    assert_eq!(outcome, Err(ErrorKind::Conflict));
}

#[test]
fn lists_are_handed_out_as_they_lie_and_copied_where_something_is_fresh() {
    let open = loaded_star();
    let store = open.store();
    let lists = || {
        let topology = store.snapshot().freeze(&Projection::all(Direction::Out)).unwrap();
        assert!(topology.shared_lists(Direction::In).is_err(), "that side was not frozen");
        topology.shared_lists(Direction::Out).unwrap()
    };
    let before = lists();
    assert!(before.iter().all(SharedList::is_shared));
    let mut tx = store.begin();
    let edge_type = tx.edge_type("E").unwrap();
    tx.add_edge(VertexId(1), edge_type, VertexId(1), &[]).unwrap();
    tx.commit().unwrap();
    let after = lists();
    assert_eq!(after.iter().filter(|list| !list.is_shared()).count(), 1);
    let of = |lists: &[SharedList], vertex| {
        let list = lists.iter().find(|list| list.vertices() == [VertexId(vertex)]).unwrap();
        assert_eq!(list.ends(), [list.neighbors().len() as u32]);
        list.neighbors().to_vec()
    };
    let all: Vec<u32> = (1..=20_000).collect();
    assert_eq!([of(&before, 0), of(&after, 0)], [all.clone(), all]);
    assert_eq!([of(&before, 1), of(&after, 1)], [vec![2], vec![1, 2]]);
}

#[test]
fn parallel_adds_to_a_hub_get_two_names() {
    let open = loaded_star();
    let store = open.store();
    let (mut first, mut second) = (store.begin(), store.begin());
    let edge_type = first.edge_type("E").unwrap();
    first.add_edge(VertexId(0), edge_type, VertexId(7), &[]).unwrap();
    second.add_edge(VertexId(0), edge_type, VertexId(7), &[]).unwrap();
    first.commit().unwrap();
    second.commit().unwrap();
    let mut counts = Vec::new();
    store.snapshot().count_edges_between(&[(VertexId(0), VertexId(7))], edge_type, &mut counts).unwrap();
    assert_eq!(counts, [3]);
}

#[test]
fn what_a_load_keeps_for_older_snapshots_goes_with_them() {
    let open = open(&MemoryDirectory::new("db"), Durability::None);
    let before = open.store().snapshot();
    let durable = &mut || open.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop);
    open.store().load(&star(), &mut |_| Ok(()), durable).unwrap();
    assert!(open.store().statistics().engine.retained_versions > 0);
    drop(before);
    let mut looks = 0;
    while open.store().statistics().engine.retained_versions > 0 {
        looks += 1;
        assert!(looks < 6000, "layers stay though nobody needs them");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_snapshot_begun_while_a_load_is_made_durable_reads() {
    let open = open(&MemoryDirectory::new("db"), Durability::Sync);
    let mut before = Some(open.store().snapshot());
    open.store()
        .load(&star(), &mut |_| Ok(()), &mut || {
            // Some snapshot ends: the merge thread trims. D is still before the load.
            before.take();
            std::thread::sleep(Duration::from_millis(200));
            open.store().snapshot().statistics()?;
            open.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop)
        })
        .unwrap();
}

fn people(names: &[&str]) -> Load {
    let mut column = PackedColumnBuilder::default();
    names.iter().for_each(|name| column.push_text(name));
    let block = VertexBlock { rows: names.len(), columns: vec![column.finish()] };
    let table = VertexTable::new("V", vec![("name".into(), ValueType::String)], vec![block]);
    Load { vertices: vec![table], edges: Vec::new() }
}

#[test]
fn a_load_respects_the_unique_indexes_that_are_there() {
    let directory = MemoryDirectory::new("db");
    let first = open(&directory, Durability::Sync);
    first.store().create_unique_index("V", "name").unwrap();
    let load = |names: &[&str]| {
        let durable = &mut || first.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop);
        first.store().load(&people(names), &mut |_| Ok(()), durable)
    };
    assert_eq!(load(&["ada", "ada"]).unwrap_err().kind(), ErrorKind::Invalid);
    load(&["ada", "bob"]).unwrap();
    let snapshot = first.store().snapshot();
    let catalogue = snapshot.catalogue();
    let (label, key) = (catalogue.label("V").unwrap(), catalogue.key("name").unwrap());
    let mut found = Vec::new();
    snapshot.look_up(label, key, &["bob".into(), "cy".into()], &mut found).unwrap();
    assert!(found[0].is_some() && found[1].is_none(), "{found:?}");
    let again = first.store().transact(|tx| tx.add_vertex(label, &[(key, "ada".into())]));
    assert_eq!(again.unwrap_err().kind(), ErrorKind::Invalid, "ada is there");
    drop(snapshot);
    first.close().unwrap();
    drop(first);
    open(&directory, Durability::Sync);
}

#[test]
fn a_load_goes_into_the_indexes_that_are_there_also_those_of_edges() {
    let directory = MemoryDirectory::new("db");
    let first = open(&directory, Durability::Sync);
    let on = |owner, key, kind| IndexRequest { owner, key, kind, unique: false };
    for request in [
        on(OwnerName::Label("V"), "name", IndexKind::Ordered),
        on(OwnerName::EdgeType("E"), "weight", IndexKind::Hash),
        on(OwnerName::EdgeType("E"), "weight", IndexKind::Ordered),
    ] {
        first.store().create_index(&request, &mut |_| Ok(())).unwrap();
    }
    let weights = [0, 1, 2, 0, 1, 2, 0, 1, 2, 0].map(Value::I64);
    let mut load = people(&["ada", "bob", "ada"]);
    let mut ends = EdgeBlock::bare((0..10).map(|at| (at % 3, (at + 1) % 3)));
    ends.columns = vec![PackedColumn::from_values(weights.iter().map(Some))];
    load.edges = vec![EdgeTable::new("E", 0, 0, vec![("weight".into(), ValueType::I64)], vec![ends])];
    let durable = &mut || first.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop);
    first.store().load(&load, &mut |_| Ok(()), durable).unwrap();
    let check = |open: &OpenStore<MemoryEngine>| {
        let view = open.store().snapshot();
        let catalogue = view.catalogue();
        let key = |name: &str| catalogue.key(name).unwrap();
        let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
        let asked = ["ada".into(), "bob".into()];
        let (label, edge_type) = (catalogue.label("V").unwrap(), catalogue.edge_type("E").unwrap());
        view.look_up_vertices(label, key("name"), &asked, &mut cursor, 9, &mut found).unwrap();
        assert_eq!(found.rows, [0, 0, 1]);
        let (mut cursor, mut found) = (RangeCursor::default(), OrderedMatches::default());
        view.range_edges(edge_type, key("weight"), &ValueRange::ALL, &mut cursor, 99, &mut found).unwrap();
        assert_eq!(found.values, [0, 0, 0, 0, 1, 1, 1, 2, 2, 2].map(Value::I64));
        let entries = open.store().indexes().into_iter().map(|index| index.entries);
        assert_eq!(entries.collect::<Vec<_>>(), [3, 10, 10]);
    };
    check(&first);
    first.close().unwrap();
    drop(first);
    check(&open(&directory, Durability::Sync));
}

#[test]
fn trickling_commits_do_not_rewrite_a_large_body_each_time() {
    let open = loaded_star();
    let store = open.store();
    let (before, began) = (store.statistics().engine.merges, Instant::now());
    for _ in 0..30 {
        let added = store.transact(|tx| {
            let edge_type = tx.edge_type("E")?;
            tx.add_edge(VertexId(0), edge_type, VertexId(20_005), &[])
        });
        added.unwrap();
        std::thread::sleep(Duration::from_millis(100));
    }
    let (merges, took) = (store.statistics().engine.merges - before, began.elapsed());
    // Two seconds without a commit, on a busy machine, are a reason for one.
    let idle = took.saturating_sub(Duration::from_secs(3)).as_secs().div_ceil(2);
    assert!(merges <= 4 + idle, "30 commits of one edge in {took:?}: {merges} merges");
}

/// Transactions only, no bulk load: grow a hub, then keep adding.
#[test]
fn a_hub_that_grows_keeps_its_edges() {
    let directory = MemoryDirectory::new("db");
    let open = open(&directory, Durability::Sync);
    let store = open.store();
    let mut hub = None;
    for step in 0..6u64 {
        store
            .transact(|tx| {
                let (label, edge_type) = (tx.label("V")?, tx.edge_type("E")?);
                let center = match hub {
                    Some(center) => center,
                    None => tx.add_vertex(label, &[])?,
                };
                for _ in 0..4000 {
                    let leaf = tx.add_vertex(label, &[])?;
                    tx.add_edge(center, edge_type, leaf, &[])?;
                }
                hub = Some(center);
                Ok(())
            })
            .unwrap();
        store.engine().merge_everything();
        let snapshot = store.snapshot();
        let mut degrees = Vec::new();
        snapshot.degrees(&[hub.unwrap()], None, evergraph_graph::id::Direction::Out, &mut degrees).unwrap();
        assert_eq!(degrees, [(step + 1) * 4000]);
        open.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
    }
    drop(open);
    let again = self::open(&directory, Durability::Sync);
    let mut degrees = Vec::new();
    again
        .store()
        .snapshot()
        .degrees(&[hub.unwrap()], None, evergraph_graph::id::Direction::Out, &mut degrees)
        .unwrap();
    assert_eq!(degrees, [24_000]);
}

#[test]
fn snapshots_go_on_after_a_load_that_failed() {
    let open = open(&MemoryDirectory::new("db"), Durability::None);
    let before = open.store().snapshot();
    let failed = open.store().load(&star(), &mut |_| Ok(()), &mut || {
        Err(evergraph_graph::error::Error::new(ErrorKind::Limit, "disk full".to_owned()))
    });
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Limit);
    drop(before);
    std::thread::sleep(Duration::from_millis(200));
    assert!(open.store().snapshot().statistics().unwrap().vertices.is_empty());
    let mut writer = open.store().begin();
    assert!(writer.statistics().unwrap().vertices.is_empty(), "nor does a writer build on it");
    writer.label("W").unwrap();
    assert_eq!(writer.commit().unwrap_err().kind(), ErrorKind::Io, "nobody commits behind it");
}

#[test]
fn a_load_respects_a_simple_type() {
    let open = open(&MemoryDirectory::new("db"), Durability::None);
    open.store().transact(|tx| tx.declare_simple_type("E")).unwrap();
    let load = star_of(EdgeBlock::bare([(0, 1), (0, 1)]));
    let loaded = open.store().load(&load, &mut |_| Ok(()), &mut || Ok(()));
    assert_eq!(loaded.map(|_| ()).map_err(|error| error.kind()), Err(ErrorKind::Invalid));
}

#[test]
fn a_load_adds_to_a_hub_and_makes_a_new_one() {
    let directory = MemoryDirectory::new("db");
    let open = open(&directory, Durability::Sync);
    let store = open.store();
    let durable = &mut || open.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop);
    store.load(&star(), &mut |_| Ok(()), durable).unwrap();
    let before = store.snapshot();
    let mut writer = store.begin();
    let edge_type = writer.edge_type("E").unwrap();
    writer.add_edge(VertexId(1), edge_type, VertexId(2), &[]).unwrap();

    // v0 gets parallels, v1 becomes a hub, v2 stays small; all of them get edges from v20009.
    let mut ends: Vec<(u32, u32)> = (1..=17_000).map(|target| (1, target)).collect();
    ends.extend([(0, 1), (0, 20_005), (2, 0), (20_009, 0), (20_009, 1), (20_009, 2)]);
    let existing = |end: u32| u32::MAX - end;
    let ends = ends.into_iter().map(|(source, target)| (existing(source), existing(target)));
    let mut load = star_of(EdgeBlock::bare(ends));
    load.vertices = vec![VertexTable::new("V", Vec::new(), Vec::new())];
    load.vertices[0].existing = (0..20_010).map(VertexId).collect();
    store.load(&load, &mut |_| Ok(()), durable).unwrap();

    assert_eq!(store.statistics().engine.hubs, 2);
    let degrees = |view: &dyn GraphView| {
        let vertices = [0, 1, 2, 20_005].map(VertexId);
        let mut degrees = Vec::new();
        for side in [Direction::Out, Direction::In] {
            view.degrees(&vertices, None, side, &mut degrees).unwrap();
        }
        degrees
    };
    assert_eq!(degrees(&before), [20_000, 1, 0, 0, 0, 1, 2, 0]);
    let after = [20_002, 17_001, 1, 0, 2, 4, 4, 1];
    assert_eq!(degrees(&store.snapshot()), after);
    let kind = writer.commit().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(kind, Err(ErrorKind::Conflict), "a writer that didn't see the load");
    let mut counts = Vec::new();
    let pairs = [(VertexId(0), VertexId(1)), (VertexId(1), VertexId(2))];
    store.snapshot().count_edges_between(&pairs, edge_type, &mut counts).unwrap();
    assert_eq!(counts, [2, 2]);
    assert!(open.check(&mut |_, _, _| ControlFlow::Continue(())).unwrap().is_healthy());

    for _ in 0..3 {
        store.transact(|tx| tx.add_edge(VertexId(1), edge_type, VertexId(20_005), &[])).unwrap();
    }
    drop(before);
    store.engine().merge_everything();
    let again = self::open(&directory.power_cut(), Durability::Sync);
    assert_eq!(degrees(&again.store().snapshot()), [20_002, 17_004, 1, 0, 2, 4, 4, 4]);
    assert!(again.check(&mut |_, _, _| ControlFlow::Continue(())).unwrap().is_healthy());
}

#[test]
fn a_load_that_adds_to_a_hub_alone_keeps_its_newest_edges_and_conflicts_with_older_writers() {
    let open = loaded_star();
    let store = open.store();
    let edge_type = store.catalogue().edge_type("E").unwrap();
    let add = |target| store.transact(|tx| tx.add_edge(VertexId(0), edge_type, VertexId(target), &[]));
    // In the hub's tail when the load comes.
    add(20_006).unwrap();
    let mut writer = store.begin();
    writer.add_edge(VertexId(0), edge_type, VertexId(1), &[]).unwrap();
    let mut load = star_of(EdgeBlock::bare([(u32::MAX, u32::MAX - 1)]));
    load.vertices = vec![VertexTable::new("V", Vec::new(), Vec::new())];
    load.vertices[0].existing = vec![VertexId(0), VertexId(1)];
    let durable = &mut || open.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop);
    store.load(&load, &mut |_| Ok(()), durable).unwrap();
    let kind = writer.commit().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(kind, Err(ErrorKind::Conflict), "the load has an edge of its name");
    add(1).unwrap();
    let (mut degrees, mut counts) = (Vec::new(), Vec::new());
    let snapshot = store.snapshot();
    snapshot.degrees(&[VertexId(0)], None, Direction::Out, &mut degrees).unwrap();
    let pairs = [(VertexId(0), VertexId(1)), (VertexId(0), VertexId(20_006))];
    snapshot.count_edges_between(&pairs, edge_type, &mut counts).unwrap();
    assert_eq!((degrees, counts), (vec![20_003], vec![3, 1]));
    assert!(open.check(&mut |_, _, _| ControlFlow::Continue(())).unwrap().is_healthy());
}

#[test]
fn a_value_that_a_load_entered_conflicts_with_older_writers() {
    let open = open(&MemoryDirectory::new("db"), Durability::None);
    let store = open.store();
    let durable = &mut || open.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop);
    store.create_unique_index("V", "name").unwrap();
    let mut writer = store.begin();
    let (label, name) = (writer.label("V").unwrap(), writer.key("name").unwrap());
    writer.add_vertex(label, &[(name, "ada".into())]).unwrap();
    store.load(&people(&["ada"]), &mut |_| Ok(()), durable).unwrap();
    assert_eq!(writer.commit().unwrap_err().kind(), ErrorKind::Conflict);
}

#[test]
fn a_load_and_a_build_of_an_index_keep_each_other_out() {
    let open = open(&MemoryDirectory::new("db"), Durability::None);
    let store = open.store();
    let durable = &mut || open.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop);
    store.load(&people(&["ada"]), &mut |_| Ok(()), durable).unwrap();
    let request =
        IndexRequest { owner: OwnerName::Label("V"), key: "name", kind: IndexKind::Hash, unique: false };
    let mut kinds = Vec::new();
    store
        .create_index(&request, &mut |_| {
            let refused = store.load(&people(&["bob"]), &mut |_| Ok(()), &mut || Ok(()));
            kinds.extend(refused.map_err(|error| error.kind()).err());
            Ok(())
        })
        .unwrap();
    assert!(kinds.len() > 1 && kinds.iter().all(|kind| *kind == ErrorKind::Busy), "{kinds:?}");
    let ordered = IndexRequest { kind: IndexKind::Ordered, ..request };
    let mut beside = Vec::new();
    let loaded = store.load(&people(&["bob"]), &mut |_| Ok(()), &mut || {
        beside.extend(store.create_index(&ordered, &mut |_| Ok(())).map_err(|error| error.kind()).err());
        beside.extend(store.transact(|tx| tx.label("W")).map_err(|error| error.kind()).err());
        let second = store.load(&people(&["cy"]), &mut |_| Ok(()), &mut || Ok(()));
        beside.extend(second.map_err(|error| error.kind()).err());
        open.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop)
    });
    loaded.unwrap();
    assert_eq!(beside, [ErrorKind::Busy; 3]);
    assert!(store.create_index(&ordered, &mut |_| Ok(())).unwrap(), "both are done");
    let entries: Vec<u64> = store.indexes().iter().map(|index| index.entries).collect();
    assert_eq!(entries, [2, 2]);
}

#[test]
fn a_load_is_refused_by_what_is_there() {
    let open = open(&MemoryDirectory::new("db"), Durability::None);
    let store = open.store();
    let durable = &mut || open.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop);
    store.create_unique_index("V", "name").unwrap();
    store.load(&people(&["ada", "bob"]), &mut |_| Ok(()), durable).unwrap();
    let mut load = |load: &Load| {
        let loaded = store.load(load, &mut |_| Ok(()), durable);
        loaded.map(|_| ()).map_err(|error| error.to_string())
    };
    let twice = load(&people(&["cy", "bob"])).unwrap_err();
    assert_eq!(twice, "V.name can't be unique: \"bob\" of v1 and v4097");
    load(&people(&["cy", "dan"])).unwrap();

    let mut gone = people(&["eve"]);
    gone.vertices[0].existing = vec![VertexId(2)];
    let gone = load(&gone).unwrap_err();
    assert_eq!(gone, "label `V`: edges of the load begin or end at its vertex v2, which isn't there");
    let mut other = people(&["eve"]);
    other.vertices[0].label = "W".into();
    other.vertices[0].existing = vec![VertexId(0)];
    let other = load(&other).unwrap_err();
    assert_eq!(other, "label `W`: edges of the load begin or end at its vertex v0, which isn't there");

    // A unique key that is new is one of the vertices that are there too.
    let mut keyed = people(&["bob"]);
    keyed.vertices[0].label = "W".into();
    load(&keyed).unwrap();
    keyed.vertices[0].unique_key = Some("name".into());
    assert!(load(&keyed).unwrap_err().starts_with("W.name can't be unique: \"bob\" of "));

    store.transact(|tx| tx.declare_simple_type("E")).unwrap();
    let with_edge = |names: &[&str]| {
        let mut load = people(names);
        load.vertices[0].existing = vec![VertexId(0), VertexId(1)];
        let ends = EdgeBlock::bare([(u32::MAX, u32::MAX - 1)]);
        load.edges = vec![EdgeTable::new("E", 0, 0, Vec::new(), vec![ends])];
        load
    };
    load(&with_edge(&["fay"])).unwrap();
    let second = load(&with_edge(&["gus"])).unwrap_err();
    assert_eq!(second, "edge type `E` is simple, and the load would add a second edge of it from v0 to v1");
}

/// A load of one vertex of V with a name and a mail address.
fn person(name: &str, mail: &str) -> Load {
    let column = |text: &str| {
        let mut column = PackedColumnBuilder::default();
        column.push_text(text);
        column.finish()
    };
    let block = VertexBlock { rows: 1, columns: vec![column(name), column(mail)] };
    let properties = ["name", "mail"].map(|key| (key.to_owned(), ValueType::String));
    Load { vertices: vec![VertexTable::new("V", properties.into(), vec![block])], edges: Vec::new() }
}

#[test]
fn a_load_that_is_refused_leaves_no_value_in_any_index() {
    let open = open(&MemoryDirectory::new("db"), Durability::None);
    let store = open.store();
    let durable = &mut || open.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop);
    store.create_unique_index("V", "name").unwrap();
    store.create_unique_index("V", "mail").unwrap();
    store.load(&person("ada", "a@b"), &mut |_| Ok(()), durable).unwrap();
    let refused = store.load(&person("bob", "a@b"), &mut |_| Ok(()), durable).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
    let entries: Vec<u64> = store.indexes().iter().map(|index| index.entries).collect();
    assert_eq!(entries, [1, 1], "bob is in no index");
    // The refused row's timestamp was still to come: whoever entered its name met a conflict for ever.
    let added = store.transact(|tx| {
        let (label, name) = (tx.label("V")?, tx.key("name")?);
        tx.add_vertex(label, &[(name, "bob".into())])
    });
    added.unwrap();
}

#[test]
fn a_load_makes_no_index_unique_that_is_not() {
    let directory = MemoryDirectory::new("db");
    let first = open(&directory, Durability::Sync);
    let store = first.store();
    let durable = &mut || first.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop);
    store.load(&people(&["ada", "ada"]), &mut |_| Ok(()), durable).unwrap();
    let owner = OwnerName::Label("V");
    let request = IndexRequest { owner, key: "name", kind: IndexKind::Hash, unique: false };
    store.create_index(&request, &mut |_| Ok(())).unwrap();
    let mut load = people(&["bob"]);
    load.vertices[0].unique_key = Some("name".into());
    // It became unique in the catalogue alone, and the database could not be opened any more.
    let refused = store.load(&load, &mut |_| Ok(()), durable).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
    assert!(refused.to_string().contains("the hash index on V.name is not unique"), "{refused}");
    store.drop_index(owner, "name", None).unwrap();
    let twice = store.load(&load, &mut |_| Ok(()), durable).unwrap_err();
    assert!(twice.to_string().starts_with("V.name can't be unique: \"ada\" of v0 and v1"), "{twice}");
    let again = open(&directory.power_cut(), Durability::Sync);
    assert_eq!(again.store().snapshot().statistics().unwrap().vertices.len(), 1);
}
