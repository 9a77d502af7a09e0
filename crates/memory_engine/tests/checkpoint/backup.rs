//! Backups beside writers, merges, checkpoints and loads; of damaged files; onto disks that fail, fill up
//! and lose power.

use std::collections::BTreeMap;
use std::io::ErrorKind as IoKind;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{LabelId, VertexId};
use evergraph_graph::index::IndexKind;
use evergraph_graph::load::{EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::transaction::{Isolation, Transaction as _};
use evergraph_graph::value::Value;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::backup::BackedUp;
use evergraph_storage::engine::Engine;
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::sync::Mutex;
use evergraph_storage::unfinished::{LOCK_NAME, UNFINISHED_NAME};

use crate::support::{Graph, crash};

pub fn open_with(directory: &MemoryDirectory, durability: Durability) -> Result<OpenStore<MemoryEngine>> {
    let options = OpenOptions { durability, log_file_bytes: 32 << 10, ..OpenOptions::default() };
    OpenStore::<MemoryEngine>::open(Arc::new(directory.clone()), &options)
}

pub fn open(directory: &MemoryDirectory) -> Result<OpenStore<MemoryEngine>> {
    open_with(directory, Durability::None)
}

pub fn graph(open: &OpenStore<MemoryEngine>) -> Graph {
    let store = open.store();
    Graph::of(&store.engine().view(&(), store.timeline().published()))
}

fn checkpoint(open: &OpenStore<MemoryEngine>) {
    open.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
}

fn back_up(open: &OpenStore<MemoryEngine>, target: &dyn Directory) -> Result<BackedUp> {
    open.backup(target, &mut |_| ControlFlow::Continue(()))
}

/// Commits a vertex, an edge to it and a new value of the vertex before; what that was, and when.
fn commit(open: &OpenStore<MemoryEngine>, before: Option<VertexId>, number: i64) -> (u64, Vec<Mutation>) {
    let run = || {
        open.store().retrying(Isolation::default(), |mut tx| {
            let (label, edge_type, key) = (tx.label("V")?, tx.edge_type("E")?, tx.key("n")?);
            let properties = [(key, Value::I64(number))];
            let vertex = tx.add_vertex(label, &properties)?;
            let all = Properties::new(vec![(key, Some(Value::I64(number)))]);
            let mut made = vec![Mutation::InsertVertex { vertex, label, properties: all.clone() }];
            if let Some(before) = before {
                let edge = tx.add_edge(before, edge_type, vertex, &properties)?;
                made.push(Mutation::InsertEdge { edge, properties: all });
                let next = Value::I64(-number);
                tx.set_vertex_property(before, key, Some(next.clone()))?;
                let properties = Properties::new(vec![(key, Some(next))]);
                made.push(Mutation::SetVertexProperties { vertex: before, properties });
            }
            Ok((tx.commit()?.timestamp.0, made))
        })
    };
    unless_busy(run)
}

/// Does it again while a load holds the store.
fn unless_busy<T>(run: impl Fn() -> Result<T>) -> T {
    loop {
        match run() {
            Err(error) if error.kind() == ErrorKind::Busy => std::thread::yield_now(),
            done => return done.unwrap(),
        }
    }
}

/// Ends all threads of a test when one of them ends, by a panic as well: the others would wait for it.
struct EndsAll<'a>(&'a AtomicBool);

impl Drop for EndsAll<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn inserted(made: &[Mutation]) -> VertexId {
    match made[0] {
        Mutation::InsertVertex { vertex, .. } => vertex,
        _ => unreachable!("the first mutation inserts"),
    }
}

fn state_at(history: &BTreeMap<u64, Vec<Mutation>>, through: u64) -> Graph {
    let mut graph = Graph::default();
    history.range(..=through).for_each(|(_, made)| graph.apply(made));
    graph
}

/// A database with a checkpoint and commits after it.
pub fn small(directory: &MemoryDirectory) -> OpenStore<MemoryEngine> {
    let open = open(directory).unwrap();
    let mut last = None;
    for number in 0..40 {
        last = Some(inserted(&commit(&open, last, number).1));
        if number == 25 {
            checkpoint(&open);
        }
    }
    open
}

/// When an index came or went: after commit `before`, and not after commit `after`.
struct Toggled {
    before: u64,
    after: u64,
    is_there: bool,
}

/// Makes or drops the index on the property of vertices; a load that runs is waited for.
fn toggle(open: &OpenStore<MemoryEngine>, is_there: bool) -> Toggled {
    let store = open.store();
    let owner = OwnerName::Label("V");
    let request = IndexRequest { owner, key: "n", kind: IndexKind::Ordered, unique: false };
    let before = store.timeline().published().0;
    unless_busy(|| match is_there {
        true => store.create_index(&request, &mut |_| Ok(())).map(drop),
        false => store.drop_index(owner, "n", None).map(drop),
    });
    Toggled { before, after: store.timeline().published().0, is_there }
}

/// Loads some vertices of a label of their own; what that was, and when.
fn load_some(open: &OpenStore<MemoryEngine>) -> (u64, Vec<Mutation>) {
    const ROWS: u32 = 50;
    let table = VertexTable::new("L", Vec::new(), vec![VertexBlock::bare(ROWS as usize)]);
    let load = Load { vertices: vec![table], edges: Vec::new() };
    let make_durable = || open.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop);
    let loaded = unless_busy(|| open.store().load(&load, &mut |_| Ok(()), &mut { make_durable }));
    let first = loaded.first_vertices[0].0;
    let vertices = (first..first + ROWS).map(VertexId);
    let (label, properties) = (LabelId(0), Properties::EMPTY);
    let made =
        vertices.map(|vertex| Mutation::InsertVertex { vertex, label, properties: properties.clone() });
    (loaded.timestamp.0, made.collect())
}

#[test]
fn a_backup_beside_writers_merges_checkpoints_loads_and_indexes_is_the_state_at_its_timestamp() {
    for durability in [Durability::Sync, Durability::None] {
        let directory = MemoryDirectory::new("db");
        let open_store = open_with(&directory, durability).unwrap();
        let history = Mutex::new(BTreeMap::new());
        let stop = AtomicBool::new(false);
        let toggles = Mutex::new(Vec::new());
        let copies: Vec<(u64, BackedUp, MemoryDirectory)> = std::thread::scope(|scope| {
            for writer in 0..4 {
                let (open_store, history, stop) = (&open_store, &history, &stop);
                scope.spawn(move || {
                    let _ends = EndsAll(stop);
                    let mut last = None;
                    for number in 0.. {
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                        let (ts, made) = commit(open_store, last, writer * 1_000_000 + number);
                        last = Some(inserted(&made));
                        history.lock().insert(ts, made);
                    }
                });
            }
            scope.spawn(|| {
                let _ends = EndsAll(&stop);
                while !stop.load(Ordering::Relaxed) {
                    open_store.store().engine().merge_everything();
                    checkpoint(&open_store);
                }
            });
            scope.spawn(|| {
                let _ends = EndsAll(&stop);
                for nth in 1.. {
                    while history.lock().len() < nth * 150 && !stop.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let (ts, made) = load_some(&open_store);
                    history.lock().insert(ts, made);
                }
            });
            let _ends = EndsAll(&stop);
            (0..6)
                .map(|copy| {
                    while history.lock().len() < 1 + copy * 200 {
                        assert!(!stop.load(Ordering::Relaxed), "a thread ended");
                        std::thread::yield_now();
                    }
                    let acknowledged = history.lock().last_key_value().map_or(0, |(ts, _)| *ts);
                    let target = MemoryDirectory::new("copy");
                    let toggle = || {
                        let toggled = toggle(&open_store, copy % 2 == 0);
                        toggles.lock().push(toggled);
                    };
                    // The first two know what to find; later the index comes or goes beside them.
                    if copy < 2 {
                        toggle();
                    }
                    let made = std::thread::scope(|beside| {
                        if copy >= 2 {
                            beside.spawn(toggle);
                        }
                        back_up(&open_store, &target).unwrap()
                    });
                    (acknowledged, made, target.power_cut())
                })
                .collect()
        });
        let (history, toggles) = (history.lock(), toggles.lock());
        let loaded = history.iter().find(|(_, made)| made.len() > 3).map_or(u64::MAX, |(ts, _)| *ts);
        let mut indexes_found = 0;
        for (acknowledged, made, image) in copies {
            let through = made.through.0;
            assert!(through >= acknowledged, "{through} is older than {acknowledged}");
            let copy = open(&image).unwrap();
            assert_eq!(copy.store().timeline().published(), made.through);
            let model = state_at(&history, through);
            assert_eq!(graph(&copy), model, "through {through}");
            assert_eq!(made.vertices_count, model.vertices.len() as u64);
            assert_eq!(made.edges_count, model.edges.len() as u64);
            assert!(copy.check(&mut |_, _, _| ControlFlow::Continue(())).unwrap().is_healthy());
            let catalogue = copy.store().catalogue();
            assert!(catalogue.label("V").is_some() && catalogue.key("n").is_some());
            assert!(catalogue.label("L").is_some() || through < loaded, "through {through}");
            let is_there = catalogue.indexes().count() == 1;
            let before = toggles.iter().rfind(|toggled| toggled.after <= through);
            let beside = toggles.iter().filter(|toggled| toggled.before < through && through < toggled.after);
            let is_possible = before.is_some_and(|toggled| toggled.is_there) == is_there
                || beside.into_iter().any(|toggled| toggled.is_there == is_there);
            assert!(is_possible, "an index: {is_there}, through {through}");
            indexes_found += usize::from(is_there);
        }
        assert!(indexes_found > 0, "no copy had the index");
    }
}

#[test]
fn a_backup_waits_for_a_load_whose_manifest_is_there_already() {
    let directory = MemoryDirectory::new("db");
    let source = small(&directory);
    let table = VertexTable::new("V", Vec::new(), vec![VertexBlock::bare(100)]);
    let load = Load { vertices: vec![table], edges: Vec::new() };
    let target = MemoryDirectory::new("copy");
    let waits = AtomicBool::new(false);
    let made = std::thread::scope(|scope| {
        let mut backup = None;
        source
            .store()
            .load(&load, &mut |_| Ok(()), &mut || {
                source.checkpoint(&mut |_| ControlFlow::Continue(()))?;
                // From here on the manifest needs a commit that nobody sees yet.
                let back_up = || {
                    source.backup(&target, &mut |now| {
                        waits.fetch_or(now.bytes_total == 0, Ordering::Relaxed);
                        ControlFlow::Continue(())
                    })
                };
                backup = Some(scope.spawn(back_up));
                while !waits.load(Ordering::Relaxed) {
                    assert!(!backup.as_ref().unwrap().is_finished(), "the backup didn't wait");
                    std::thread::yield_now();
                }
                Ok(())
            })
            .unwrap();
        backup.unwrap().join().unwrap().unwrap()
    });
    assert_eq!(made.through, source.store().timeline().published());
    assert_eq!(graph(&open(&target).unwrap()), graph(&source));
}

#[test]
fn a_backup_is_a_database_that_goes_on() {
    let directory = MemoryDirectory::new("db");
    let source = small(&directory);
    let target = MemoryDirectory::new("copy");
    let made = back_up(&source, &target).unwrap();
    assert_eq!(made.log_commits_count, 14);
    assert!(!target.list().unwrap().contains(&UNFINISHED_NAME.to_owned()));
    for round in 0..3 {
        let copy = open(&target).unwrap();
        let mut expected = if round == 0 { graph(&source) } else { graph(&copy) };
        let (_, mutations) = commit(&copy, None, 100 + round);
        expected.apply(&mutations);
        assert_eq!(graph(&copy), expected);
        if round == 1 {
            checkpoint(&copy);
        }
        copy.close().unwrap();
        assert_eq!(graph(&open(&target).unwrap()), expected);
    }
    let error = back_up(&source, &target).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("there is a database in copy already"), "{error}");
}

#[test]
fn a_backup_of_an_empty_database_and_of_one_without_a_log_after_its_checkpoint_opens() {
    let directory = MemoryDirectory::new("db");
    let source = open(&directory).unwrap();
    let copy = MemoryDirectory::new("copy");
    assert_eq!(back_up(&source, &copy).unwrap().through.0, 0);
    assert_eq!(graph(&open(&copy).unwrap()), Graph::default());
    commit(&source, None, 1);
    checkpoint(&source);
    let copy = MemoryDirectory::new("copy");
    assert_eq!(back_up(&source, &copy).unwrap().log_commits_count, 0);
    assert_eq!(graph(&open(&copy.power_cut()).unwrap()), graph(&source));
}

#[test]
fn a_backup_while_a_load_isnt_durable_has_nothing_of_it() {
    let directory = MemoryDirectory::new("db");
    let source = small(&directory);
    let before = graph(&source);
    let table = VertexTable::new("V", Vec::new(), vec![VertexBlock::bare(5000)]);
    let edges =
        EdgeTable::new("E", 0, 0, Vec::new(), vec![EdgeBlock::bare((0..4999).map(|row| (row, row + 1)))]);
    let load = Load { vertices: vec![table], edges: vec![edges] };
    let copy = MemoryDirectory::new("copy");
    source
        .store()
        .load(&load, &mut |_| Ok(()), &mut || {
            back_up(&source, &copy)?;
            source.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop)
        })
        .unwrap();
    assert_eq!(graph(&open(&copy).unwrap()), before);
    let copy = MemoryDirectory::new("copy");
    assert_eq!(back_up(&source, &copy).unwrap().vertices_count, 5040);
    assert_eq!(graph(&open(&copy).unwrap()), graph(&source));
}

#[test]
fn what_fails_or_loses_power_at_any_operation_is_no_database_or_a_whole_one() {
    let directory = MemoryDirectory::new("db");
    let source = small(&directory);
    let whole = graph(&source);
    let mut stopped = 0;
    for (nth, lasting) in (1..).flat_map(|nth| [(nth, false), (nth, true)]) {
        let target = MemoryDirectory::new("copy");
        let failing = FailingDirectory::new(Arc::new(target.clone()));
        let fault = Fault::any_change(IoKind::StorageFull).nth(nth);
        failing.plan(if lasting { fault.lasting() } else { fault });
        let made = back_up(&source, &failing);
        if let Err(error) = &made {
            assert_eq!(error.kind(), ErrorKind::Limit, "operation {nth}: {error}");
            stopped += 1;
            if !lasting {
                assert!(target.list().unwrap().is_empty(), "operation {nth}: {:?}", target.list());
            }
        }
        for image in [target.clone(), crash(&target, nth), crash(&target, nth + 1000), target.power_cut()] {
            if image.list().unwrap().iter().all(|name| name == LOCK_NAME) {
                // Nothing is left: whoever opens it makes a new database.
                assert!(made.is_err(), "operation {nth}");
                continue;
            }
            match open(&image) {
                Ok(copy) => assert_eq!(graph(&copy), whole, "operation {nth}"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Invalid, "operation {nth}: {error}");
                    assert!(error.to_string().contains("did not finish; run that again"), "{error}");
                }
            }
            if made.is_ok() && !lasting {
                assert_eq!(graph(&open(&image).unwrap()), whole, "operation {nth}");
            }
        }
        for image in [crash(&target, nth), target.power_cut()] {
            // Again, into what the first try left: nothing, half, or all.
            match back_up(&source, &image) {
                Ok(_) => assert_eq!(graph(&open(&image).unwrap()), whole, "operation {nth}"),
                Err(error) => assert!(error.to_string().contains("there is a database"), "{nth}: {error}"),
            }
        }
        if made.is_ok() && lasting {
            break;
        }
    }
    assert!(stopped > 20, "only {stopped} operations failed");
}

#[test]
fn a_cancelled_backup_leaves_nothing() {
    let source = small(&MemoryDirectory::new("db"));
    for at in 1..6 {
        let target = MemoryDirectory::new("copy");
        let mut told = 0;
        let made = source.backup(&target, &mut |_| {
            told += 1;
            if told == at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(made.unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(target.list().unwrap().is_empty());
    }
}

#[test]
fn a_folder_with_something_in_it_is_not_touched() {
    let source = small(&MemoryDirectory::new("db"));
    let photos = MemoryDirectory::new("photos");
    photos.write_all_new("cat.jpg", b"cat").unwrap();
    photos.write_all_new(UNFINISHED_NAME, b"mine").unwrap();
    let error = back_up(&source, &photos).unwrap_err();
    assert!(error.to_string().contains("`cat.jpg` is there"), "{error}");
    assert_eq!(photos.list().unwrap(), ["cat.jpg", UNFINISHED_NAME]);
    let busy = MemoryDirectory::new("busy");
    let _lock = busy.lock_exclusive(LOCK_NAME).unwrap();
    assert_eq!(back_up(&source, &busy).unwrap_err().kind(), ErrorKind::Busy);
}

fn flip(directory: &MemoryDirectory, name: &str, at: u64) {
    let file = directory.open(name, OpenMode::ReadWrite).unwrap();
    let mut byte = [0];
    file.read_at(&mut byte, at).unwrap();
    file.write_at(&[byte[0] ^ 4], at).unwrap();
}

#[test]
fn damage_in_the_source_fails_the_backup() {
    for (prefix, at) in [("bodies-", 4200), ("bodies-", 100), ("log-", 4096 + 20), ("manifest", 70)] {
        let directory = MemoryDirectory::new("db");
        let source = small(&directory);
        source.store().log().wait_durable(source.store().timeline().published().0).unwrap();
        let names = directory.list().unwrap();
        // The file in use, not one that is prepared.
        let used = |name: &&String| {
            let file = directory.open(name, OpenMode::Read).unwrap();
            let mut begin = [0; 1];
            file.read_at(&mut begin, 0).unwrap();
            name.starts_with(prefix) && begin[0] != 0
        };
        let name = names.iter().rfind(used).unwrap();
        flip(&directory, name, at);
        let target = MemoryDirectory::new("copy");
        let error = back_up(&source, &target).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{name} {at}: {error}");
        assert!(target.list().unwrap().is_empty());
    }
}

#[test]
fn no_flip_in_a_backup_passes_for_a_torn_end() {
    let source = small(&MemoryDirectory::new("db"));
    let whole = graph(&source);
    let target = MemoryDirectory::new("copy");
    back_up(&source, &target).unwrap();
    let log = "log-0000000000000001";
    let bytes = target.open(log, OpenMode::Read).unwrap().len().unwrap();
    let mut refused = 0;
    for at in (0..bytes).step_by(53) {
        let image = target.power_cut();
        flip(&image, log, at);
        match open(&image) {
            Ok(copy) => assert_eq!(graph(&copy), whole, "byte {at}"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {at}: {error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn a_full_disk_is_said_and_gets_its_space_back() {
    let source = small(&MemoryDirectory::new("db"));
    for prefix in ["bodies-", "log-", "manifest"] {
        let target = MemoryDirectory::new("copy");
        let failing = FailingDirectory::new(Arc::new(target.clone()));
        failing.plan(Fault::new(Operation::Write, prefix, IoKind::StorageFull).lasting());
        let error = back_up(&source, &failing).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("write copy/") && target.list().unwrap().is_empty(), "{error}");
    }
}
