//! Engines: a database on disk is the same with each engine, whichever was chosen when it was created.

#![allow(clippy::unwrap_used, reason = "a test ends where something is missing")]

use evergraph::algorithms::control::Control;
use evergraph::algorithms::{pagerank, scope::Scope};
use evergraph::graph::id::Direction;
use evergraph::{
    Database, EngineKind, ErrorKind, Freeze, IndexOptions, Options, PersistentMemory, ReadByName,
};
use std::ops::ControlFlow;
use std::path::Path;

fn options(engine: EngineKind) -> Options {
    Options { engine: Some(engine), memory_limit_bytes: 64 << 20, ..Options::default() }
}

/// What queries, look-ups and an algorithm say of the accounts.
fn answers(db: &Database) -> Vec<i64> {
    let ask = |query: &str| db.gremlin(query).one::<i64>().unwrap();
    let snapshot = db.snapshot();
    let hub = snapshot.find("Account", "number", 0_i64).unwrap().unwrap();
    let control = Control::new(snapshot.budget());
    let ranks = pagerank::run(&snapshot, &Scope::default(), &Default::default(), &control).unwrap();
    vec![
        ask("g.V().hasLabel('Account').count()"),
        ask("g.E().count()"),
        ask("g.V().has('Account', 'held', between(100, 300)).count()"),
        ask("g.E().has('amount', 7).count()"),
        snapshot.edges(hub, Direction::In, &["TRANSFER"]).unwrap().len() as i64,
        (ranks.scores[hub.0 as usize] * 1e6).round() as i64,
    ]
}

fn add(db: &Database, numbers: std::ops::Range<i64>) {
    for number in numbers {
        db.transact(|tx| {
            let properties = [("number", number.into()), ("held", (number * 10).into())];
            let account = tx.add_vertex("Account", &properties)?;
            let hub = tx.find("Account", "number", 0_i64)?.unwrap_or(account);
            tx.add_edge(account, "TRANSFER", hub, &[("amount", (number % 9).into())]).map(drop)
        })
        .unwrap();
    }
}

fn is_healthy(path: &Path, options: &Options) -> bool {
    Database::check_files_with(path, options, &mut |_, _, _| ControlFlow::Continue(())).unwrap().is_healthy()
}

/// Written, stored, copied and opened again; what it says at the end.
fn life(options: &Options) -> Vec<i64> {
    let engine = options.engine.unwrap();
    let again = Options { engine: None, memory_limit_bytes: u64::MAX, ..options.clone() };
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("bank"), folder.path().join("copy"));
    let db = Database::open_with(&path, options).unwrap();
    assert_eq!(db.engine(), engine);
    db.create_unique_index("Account", "number").unwrap();
    add(&db, 0..60);
    db.create_index(&IndexOptions::on_label("Account", "held").ordered()).unwrap();
    db.create_index(&IndexOptions::on_edges("TRANSFER", "amount")).unwrap();
    db.checkpoint().unwrap();
    let held = db.snapshot();
    add(&db, 60..100);
    assert_eq!(held.vertices(Some("Account")).unwrap().len(), 60);
    drop(held);
    db.backup(&copy, &mut |_| ControlFlow::Continue(())).unwrap();
    let end = answers(&db);

    let statistics = db.statistics().unwrap();
    assert_eq!((statistics.engine, statistics.memory_limit_bytes), (engine, 64 << 20));
    assert_eq!((statistics.vertices_count(), statistics.edges_count()), (100, 100));
    match (engine, statistics.tree) {
        (EngineKind::Disk, Some(tree)) => {
            assert!(tree.levels[0].files > 0 && tree.flushes.files > 0 && tree.graph_bytes > 0, "{tree:?}");
            let purposes = statistics.store.reservations.iter();
            assert!(purposes.map(|(_, bytes)| bytes).sum::<u64>() >= tree.graph_bytes);
        }
        (EngineKind::Memory | EngineKind::Mapped, None) => {}
        (_, tree) => panic!("{engine} says {tree:?}"),
    }
    let mapped =
        statistics.mapped.map(|mapped| (mapped.file_bytes > mapped.free_bytes, mapped.live_bytes > 0));
    assert_eq!(mapped, (engine == EngineKind::Mapped).then_some((true, true)));
    db.close().unwrap();
    drop(db);
    for path in [&path, &copy] {
        assert!(is_healthy(path, &again));
        let db = Database::open_with(path, &again).unwrap();
        assert_eq!((db.engine(), db.indexes().len()), (engine, 3));
        assert_eq!(answers(&db), end);
    }
    for other in EngineKind::ALL.into_iter().filter(|other| *other != engine) {
        let refused = Options { engine: Some(other), ..again.clone() };
        let refused = Database::open_with(&path, &refused).map(drop).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        let way_out = format!("evergraph convert {} NEW --engine {other}", path.display());
        assert!(refused.to_string().contains(&way_out), "{refused}");
    }
    end
}

#[test]
fn a_database_lives_the_same_life_with_each_engine() {
    let [memory, disk, mapped] = EngineKind::ALL.map(|engine| life(&options(engine)));
    assert_eq!(memory, disk);
    assert_eq!(memory, mapped);
    let by_stores = Options { persistent_memory: PersistentMemory::Emulated, ..options(EngineKind::Mapped) };
    assert_eq!(memory, life(&by_stores));
    assert_eq!(memory[..5], [100, 100, 20, 11, 100]);
}

#[test]
fn too_little_memory_for_the_disk_engine_is_refused_with_what_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let little = Options { memory_limit_bytes: 1 << 20, ..options(EngineKind::Disk) };
    let refused = Database::open_with(folder.path().join("bank"), &little).map(drop).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    assert!(refused.to_string().contains("at least 64 MiB"), "{refused}");
    let without = Options { engine: None, create: false, ..little };
    let missing = Database::open_with(folder.path().join("bank"), &without).map(drop).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
}

#[test]
fn a_database_in_persistent_memory_is_opened_where_stores_are_durable_or_as_an_emulation() {
    let folder = tempfile::tempdir().unwrap();
    let [path, plain, copy, saved] = ["fast", "plain", "copy", "saved"].map(|name| folder.path().join(name));
    let emulated = Options {
        engine: Some(EngineKind::Mapped),
        persistent_memory: PersistentMemory::Emulated,
        ..Options::default()
    };
    for engine in [EngineKind::Memory, EngineKind::Disk] {
        let other = Options { engine: Some(engine), ..emulated.clone() };
        let refused = Database::open_with(&path, &other).map(drop).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
        assert!(!path.exists(), "a refusal leaves no folder behind");
    }
    let db = Database::open_with(&path, &emulated).unwrap();
    db.create_unique_index("Account", "number").unwrap();
    add(&db, 0..60);
    db.checkpoint().unwrap();
    add(&db, 60..100);
    let beside = Database::open_reader_with(&path, &emulated).unwrap();
    assert_eq!(beside.gremlin("g.V().count()").one::<i64>().unwrap(), 100);
    drop(beside);
    db.convert(&plain, EngineKind::Mapped, &mut |_, _, _| ControlFlow::Continue(())).unwrap();
    db.backup(&copy, &mut |_| ControlFlow::Continue(())).unwrap();
    db.close().unwrap();
    // A copy may lie on any disk.
    let found =
        Database::check_copy(&copy, &Options::default(), &mut |_, _, _| ControlFlow::Continue(())).unwrap();
    assert!(found.is_healthy() && found.vertices_count == 100, "{found:?}");
    let made = Database::salvage(&copy, &saved, &mut |_, _, _| ControlFlow::Continue(())).unwrap();
    assert!(made.is_complete() && made.vertices_count == 100, "{made:?}");

    // Where the machine has persistent memory under its temporary files, none of these is refused.
    let is_there = Options { persistent_memory: PersistentMemory::Required, ..emulated.clone() };
    let is_there = Database::open_with(folder.path().join("probe"), &is_there).is_ok();
    for refused in [
        Database::open(&path).map(drop),
        Database::open_reader(&path).map(drop),
        Database::check_files(&path, &mut |_, _, _| ControlFlow::Continue(())).map(drop),
    ] {
        assert_eq!(refused.is_ok(), is_there);
        let Err(refused) = refused else { continue };
        assert_eq!(refused.kind(), ErrorKind::Io);
        for part in ["MAP_SYNC", "emulated", &path.display().to_string()] {
            assert!(refused.to_string().contains(part), "{refused}");
        }
    }

    // What lies in files moves by being opened so, with the next checkpoint.
    assert_eq!(Database::open(&plain).unwrap().engine(), EngineKind::Mapped);
    let db = Database::open_with(&plain, &emulated).unwrap();
    add(&db, 100..160);
    db.checkpoint().unwrap();
    assert_eq!(db.gremlin("g.E().count()").one::<i64>().unwrap(), 160);
    db.close().unwrap();
    assert_eq!(Database::open(&plain).is_ok(), is_there);
    let db = Database::open_with(&plain, &emulated).unwrap();
    assert_eq!(db.gremlin("g.V().count()").one::<i64>().unwrap(), 160);
}
