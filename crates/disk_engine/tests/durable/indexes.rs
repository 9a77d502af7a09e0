//! Indexes in files: built beside commits, flushes and compactions, dropped, built again, reopened. Look-ups say what a
//! scan says, to every snapshot that is held.
//!
//! ```text
//! random     steps of all kinds, in any order; commits, flushes and compactions also while an index is built
//! power      cut at every operation of builds, a drop and checkpoints
//! faults     each operation of a build fails, or finds the disk full
//! steered    one history for each fault of the model that a random one meets rarely
//! ```

use crate::support::{Database, cut_at_every_operation, files, go_on, open};
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_disk_engine::pick::limits::PickLimits;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{EdgeId, VertexId};
use evergraph_graph::index::IndexKind;
use evergraph_graph::look_up::{MatchCursor, Matches, OrderedMatches, RangeCursor, ValueRange};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_graph::view::{EdgeCursor, GraphView, VertexCursor};
use evergraph_storage::indexing::{IndexProgress, IndexRequest, OwnerName};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::OpenStore;
use evergraph_storage::snapshot::handle::Snapshot;
use evergraph_storage::store::Store;
use std::io::ErrorKind as IoKind;
use std::sync::Arc;

/// One file of L0 is due, and every level below has more than it should.
const LIMITS: PickLimits =
    PickLimits { flushed_runs: 1, flushed_bytes_max: 1 << 30, size_ratio: 2, base_bytes: 1 };

const AGE: IndexRequest<'static> =
    IndexRequest { owner: OwnerName::Label("Person"), key: "age", kind: IndexKind::Ordered, unique: false };
const NAME: IndexRequest<'static> =
    IndexRequest { owner: OwnerName::Label("Person"), key: "name", kind: IndexKind::Hash, unique: false };
const WEIGHT: IndexRequest<'static> = IndexRequest {
    owner: OwnerName::EdgeType("KNOWS"),
    key: "weight",
    kind: IndexKind::Ordered,
    unique: false,
};

fn flush(store: &Store<DiskEngine>) {
    store.engine().freeze_open().unwrap();
    while store.engine().flush_oldest().unwrap() {}
}

fn compact(store: &Store<DiskEngine>) {
    for _ in 0..50 {
        if !store.engine().compact_by(&LIMITS).unwrap() {
            break;
        }
    }
}

/// Texts of which some are long and begin alike.
fn value(random: &mut SplitMix64) -> Value {
    match random.next_u64() % 4 {
        0 => Value::from(format!("{}{}", "x".repeat(60), random.next_u64() % 3)),
        number => Value::from(format!("n{number}")),
    }
}

/// Commits a change of one or two people, or of an edge.
fn commit(store: &Store<DiskEngine>, random: &mut SplitMix64) {
    let committed = store.transact(|tx| {
        let (label, edge_type) = (tx.label("Person")?, tx.edge_type("KNOWS")?);
        let (age, name, weight) = (tx.key("age")?, tx.key("name")?, tx.key("weight")?);
        let (mut people, mut cursor) = (Vec::new(), VertexCursor::default());
        tx.scan_vertices(Some(&[label]), &mut cursor, usize::MAX, &mut people)?;
        let any = |random: &mut SplitMix64| people.get((random.next_u64() % 12) as usize).copied();
        match random.next_u64() % 8 {
            0 | 1 => {
                let aged = (age, Value::I64((random.next_u64() % 4) as i64));
                let person = tx.add_vertex(label, &[aged, (name, value(random))])?;
                if let Some(other) = any(random) {
                    tx.add_edge(person, edge_type, other, &[(weight, Value::I64(1))])?;
                }
            }
            2 => {
                if let Some(person) = any(random).filter(|_| people.len() > 6) {
                    tx.delete_vertex(person)?;
                }
            }
            3 => {
                let (mut edges, mut cursor) = (Vec::new(), EdgeCursor::default());
                tx.scan_edges(Some(&[edge_type]), &mut cursor, usize::MAX, &mut edges)?;
                if let Some(edge) = edges.get((random.next_u64() % 8) as usize) {
                    let heavier = Value::I64((random.next_u64() % 3) as i64);
                    tx.set_edge_property(*edge, weight, Some(heavier))?;
                }
            }
            _ => {
                if let Some(person) = any(random) {
                    let aged = (random.next_u64() % 5).checked_sub(1).map(|age| Value::I64(age as i64));
                    tx.set_vertex_property(person, age, aged)?;
                    tx.set_vertex_property(person, name, Some(value(random)))?;
                }
            }
        }
        Ok(())
    });
    committed.unwrap();
}

/// Compares what look-ups and ranges say with what reading everything says.
fn check_people(view: &impl GraphView, requests: &[IndexRequest<'_>]) {
    let catalogue = view.catalogue();
    let Some(label) = catalogue.label("Person") else { return };
    let (mut people, mut cursor) = (Vec::new(), VertexCursor::default());
    view.scan_vertices(Some(&[label]), &mut cursor, usize::MAX, &mut people).unwrap();
    for request in requests {
        let Some(key) = catalogue.key(request.key) else { continue };
        let OwnerName::Label(_) = request.owner else {
            check_edges(view, request);
            continue;
        };
        let mut expected: Vec<(Value, VertexId)> = Vec::new();
        for person in &people {
            let values = view.vertex_property_map(*person).unwrap().into_iter();
            expected.extend(values.filter(|(of, _)| *of == key).map(|(_, value)| (value, *person)));
        }
        expected.sort();
        let property = (Owner::Label(label), key);
        if request.kind == IndexKind::Ordered {
            let mut found = OrderedMatches::default();
            let mut cursor = RangeCursor::default();
            while !cursor.done {
                view.range_vertices(label, key, &ValueRange::ALL, &mut cursor, 3, &mut found).unwrap();
            }
            let found: Vec<_> = found.values.into_iter().zip(found.items).collect();
            assert_eq!(found, expected, "{property:?}");
        }
        for (value, _) in &expected {
            let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
            let values = std::slice::from_ref(value);
            view.look_up_vertices(label, key, values, &mut cursor, usize::MAX, &mut found).unwrap();
            let holders: Vec<_> =
                expected.iter().filter(|(held, _)| held == value).map(|(_, person)| *person).collect();
            assert_eq!(found.items, holders, "{property:?} {value}");
        }
    }
}

fn check_edges(view: &impl GraphView, request: &IndexRequest<'_>) {
    let catalogue = view.catalogue();
    let (Some(edge_type), Some(key)) = (catalogue.edge_type("KNOWS"), catalogue.key(request.key)) else {
        return;
    };
    let (mut edges, mut cursor) = (Vec::new(), EdgeCursor::default());
    view.scan_edges(Some(&[edge_type]), &mut cursor, usize::MAX, &mut edges).unwrap();
    let mut expected: Vec<(Value, EdgeId)> = Vec::new();
    for edge in edges {
        let values = view.edge_property_map(edge).unwrap().into_iter();
        expected.extend(values.filter(|(of, _)| *of == key).map(|(_, value)| (value, edge)));
    }
    expected.sort();
    let (mut found, mut cursor) = (OrderedMatches::default(), RangeCursor::default());
    while !cursor.done {
        view.range_edges(edge_type, key, &ValueRange::ALL, &mut cursor, 2, &mut found).unwrap();
    }
    let found: Vec<_> = found.values.into_iter().zip(found.items).collect();
    assert_eq!(found, expected);
}

/// A database, its indexes, and snapshots of before.
struct Run {
    directory: MemoryDirectory,
    open: Option<OpenStore<DiskEngine>>,
    indexes: Vec<IndexRequest<'static>>,
    held: Vec<(Snapshot<DiskEngine>, Vec<IndexRequest<'static>>)>,
    random: SplitMix64,
}

impl Run {
    fn new(seed: u64) -> Self {
        let directory = MemoryDirectory::new("db");
        let mut random = SplitMix64::new(seed);
        let open = open(Arc::new(directory.clone()), Durability::None).unwrap();
        (0..8).for_each(|_| commit(open.store(), &mut random));
        Self { directory, open: Some(open), indexes: Vec::new(), held: Vec::new(), random }
    }

    fn open(&self) -> &OpenStore<DiskEngine> {
        self.open.as_ref().expect("it is closed for a moment only")
    }

    fn store(&self) -> Store<DiskEngine> {
        self.open().store().clone()
    }

    /// Builds an index, or drops it if it is there. Others write meanwhile, and flush, and compact.
    fn build_or_drop(&mut self, request: &IndexRequest<'static>) {
        let store = self.store();
        if let Some(at) = self.indexes.iter().position(|known| known == request) {
            store.drop_index(request.owner, request.key, Some(request.kind)).unwrap();
            self.indexes.remove(at);
            return;
        }
        let random = &mut self.random;
        let mut during = Vec::new();
        let built = store.create_index(request, &mut |_: IndexProgress| {
            for _ in 0..random.next_u64() % 3 {
                commit(&store, random);
            }
            match random.next_u64() % 4 {
                0 => flush(&store),
                1 => {
                    flush(&store);
                    compact(&store);
                }
                2 if during.len() < 2 => during.push(store.snapshot()),
                _ => {}
            }
            Ok(())
        });
        assert!(built.unwrap());
        // Those in the middle of the build know nothing of it.
        self.held.extend(during.into_iter().map(|snapshot| (snapshot, self.indexes.clone())));
        self.indexes.push(*request);
    }

    fn step(&mut self) {
        let store = self.store();
        match self.random.next_u64() % 12 {
            0..=4 => commit(&store, &mut self.random),
            5 => flush(&store),
            6 => {
                flush(&store);
                compact(&store);
            }
            7 => drop(self.open().checkpoint(&mut |progress| go_on(progress)).unwrap()),
            8 if self.held.len() < 6 => self.held.push((store.snapshot(), self.indexes.clone())),
            9 if !self.held.is_empty() => drop(self.held.remove(0)),
            10 => {
                self.held.clear();
                drop(store);
                // What the log has is there again, whether the last commits were synced or not.
                drop(self.open.take());
                let directory: Arc<dyn Directory> = Arc::new(self.directory.clone());
                self.open = Some(open(directory, Durability::None).unwrap());
            }
            _ => {
                let request = [AGE, NAME, WEIGHT][(self.random.next_u64() % 3) as usize];
                self.build_or_drop(&request);
            }
        }
    }

    fn check(&self) {
        check_people(&self.store().snapshot(), &self.indexes);
        for (snapshot, requests) in &self.held {
            // One that was dropped since is answered by reading everything.
            check_people(snapshot, requests);
        }
    }
}

#[test]
fn indexes_say_what_a_scan_says_through_builds_flushes_compactions_and_openings() {
    for seed in 0..40 {
        let mut run = Run::new(seed);
        for _ in 0..40 {
            run.step();
            run.check();
        }
        let report = run.open().check(&mut |_, _, _| go_on(())).unwrap();
        assert!(report.is_healthy(), "seed {seed}: {report:?}");
    }
}

/// A database with one person, whose age is 7, in a file of the bottommost level.
fn one_person() -> (MemoryDirectory, OpenStore<DiskEngine>, VertexId) {
    let directory = MemoryDirectory::new("db");
    let open = open(Arc::new(directory.clone()), Durability::None).unwrap();
    let store = open.store();
    let mut person = VertexId(0);
    store
        .transact(|tx| {
            let (label, age) = (tx.label("Person")?, tx.key("age")?);
            person = tx.add_vertex(label, &[(age, Value::I64(7))])?;
            Ok(())
        })
        .unwrap();
    flush(store);
    compact(store);
    (directory, open, person)
}

fn set_age(store: &Store<DiskEngine>, person: VertexId, age: Option<i64>) {
    let set = store.transact(|tx| {
        let key = tx.key("age")?;
        tx.set_vertex_property(person, key, age.map(Value::I64))
    });
    set.unwrap();
}

/// Who is 7 years old, by the index.
fn aged_seven(view: &impl GraphView) -> Vec<VertexId> {
    let catalogue = view.catalogue();
    let (label, key) = (catalogue.label("Person").unwrap(), catalogue.key("age").unwrap());
    let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
    view.look_up_vertices(label, key, &[Value::I64(7)], &mut cursor, usize::MAX, &mut found).unwrap();
    found.items
}

/// Builds the index of ages; `between` runs when the scan has begun, and has read nothing yet.
fn build(store: &Store<DiskEngine>, mut between: impl FnMut()) -> Result<bool> {
    let mut calls = 0;
    store.create_index(&AGE, &mut |_| {
        calls += 1;
        if calls == 1 {
            between();
        }
        Ok(())
    })
}

#[test]
fn closing_ends_a_build_and_leaves_nothing_of_it() {
    let (directory, open, _) = one_person();
    std::thread::scope(|scope| {
        let mut closing = None;
        let built = open.create_index(&AGE, &mut |_| {
            if closing.is_none() {
                closing = Some(scope.spawn(|| open.close()));
                // Until then the build is not told.
                while open
                    .checkpoint(&mut |_| std::ops::ControlFlow::Break(()))
                    .is_err_and(|error| error.kind() == ErrorKind::Cancelled)
                {
                    std::thread::yield_now();
                }
            }
            Ok(())
        });
        assert!(built.unwrap_err().to_string().contains("closed"));
        closing.unwrap().join().unwrap().unwrap();
    });
    drop(open);
    let named = directory.list().unwrap();
    let open = self::open(Arc::new(directory.clone()), Durability::None).unwrap();
    assert_eq!(open.store().indexes(), []);
    assert_eq!(directory.list().unwrap().len(), named.len(), "nothing was left to remove");
}

#[test]
fn what_leaves_while_an_index_is_built_stays_away() {
    let (_directory, open, person) = one_person();
    let store = open.store();
    build(store, || {
        set_age(store, person, Some(8));
        flush(store);
        compact(store);
    })
    .unwrap();
    assert_eq!(aged_seven(&store.snapshot()), [], "the Delete waits for what the scan puts below it");
}

#[test]
fn an_entry_that_left_came_back_and_left_again_while_an_index_was_built_stays_away() {
    let (_directory, open, person) = one_person();
    let store = open.store();
    build(store, || {
        set_age(store, person, None);
        set_age(store, person, Some(7));
        set_age(store, person, Some(9));
        flush(store);
        compact(store);
    })
    .unwrap();
    assert_eq!(aged_seven(&store.snapshot()), [], "the last Delete hides what the scan saw");
}

#[test]
fn an_index_that_is_built_again_has_nothing_of_the_one_before() {
    let (directory, open, person) = one_person();
    let store = open.store();
    build(store, || {}).unwrap();
    open.checkpoint(&mut |progress| go_on(progress)).unwrap();
    store.drop_index(AGE.owner, AGE.key, None).unwrap();
    set_age(store, person, Some(8));
    build(store, || {}).unwrap();
    assert_eq!(aged_seven(&store.snapshot()), [], "another index has other entries");
    // Nor does one that is built after a crash, which took the manifest's knowledge of it.
    let image: Arc<dyn Directory> = Arc::new(directory.clone());
    drop(open);
    let open = crate::support::open(image, Durability::None).unwrap();
    let store = open.store();
    assert_eq!(aged_seven(&store.snapshot()), []);
    set_age(store, person, Some(7));
    assert_eq!(aged_seven(&store.snapshot()), [person]);
    assert!(open.check(&mut |_, _, _| go_on(())).unwrap().is_healthy());
}

/// Its catalogue names an index of this property, which was dropped since.
#[test]
fn a_snapshot_from_before_an_index_was_built_again_is_answered_without_it() {
    let (_directory, open, person) = one_person();
    let store = open.store();
    build(store, || {}).unwrap();
    let before = store.snapshot();
    store.drop_index(AGE.owner, AGE.key, None).unwrap();
    let mut amid = None;
    build(store, || amid = Some(store.snapshot())).unwrap();
    assert_eq!(aged_seven(&before), [person], "the files that it pinned have no entries");
    check_people(&before, &[AGE]);
    assert_eq!(amid.unwrap().catalogue().indexes().count(), 0, "who began amid the build knows of no index");
    assert_eq!(aged_seven(&store.snapshot()), [person]);
}

#[test]
fn opening_builds_no_index_that_a_checkpoint_has_and_drops_the_entries_of_others() {
    let (directory, open, person) = one_person();
    build(open.store(), || {}).unwrap();
    let subjects = |open: &OpenStore<DiskEngine>| open.store().engine().indexes().next_subject();
    open.checkpoint(&mut |progress| go_on(progress)).unwrap();
    let before = subjects(&open);
    set_age(open.store(), person, Some(8));
    drop(open);
    let open = crate::support::open(Arc::new(directory.clone()), Durability::None).unwrap();
    assert_eq!(subjects(&open), before, "no index was begun");
    assert_eq!(aged_seven(&open.store().snapshot()), [], "what left is in the log");
    let store = open.store();
    store.drop_index(AGE.owner, AGE.key, None).unwrap();
    set_age(store, person, Some(9));
    flush(store);
    compact(store);
    let set = Arc::clone(&store.engine().tree().current().set);
    let has_entries = set.iter().any(|file| {
        use evergraph_disk_engine::format::subject::SubjectKind;
        file.directory_rows().iter().any(|row| matches!(row.subject.kind(), SubjectKind::Index(_)))
    });
    assert!(!has_entries, "a compaction leaves the entries of a dropped index out");
}

/// Commits, builds, a checkpoint, a drop; whether the disk let it.
fn indexed_work(database: &mut Database) -> bool {
    let build = |database: &Database, request: &IndexRequest<'_>| {
        database.open.store().create_index(request, &mut |_| Ok(())).is_ok()
    };
    let checkpoint = |database: &Database| database.checkpoint().is_ok_and(|made| made.left_over.is_none());
    database.commit_some(8)
        && build(database, &NAME)
        && database.commit_some(4)
        && checkpoint(database)
        && build(database, &WEIGHT)
        && database.commit_some(4)
        && database.open.store().drop_index(NAME.owner, NAME.key, None).is_ok()
        && database.commit_some(3)
        && checkpoint(database)
        && database.commit_some(2)
}

/// The check of an image compares each index with a scan.
#[test]
fn a_power_cut_at_any_operation_leaves_indexes_that_say_what_the_graph_is() {
    let stopped = cut_at_every_operation(9, indexed_work);
    assert!(stopped > 40, "only {stopped} operations failed");
}

/// Operations of a build that may fail. Removals are not among them: a file that stays goes at the next opening.
const BUILD_OPERATIONS: [Operation; 8] = [
    Operation::Create,
    Operation::SetLength,
    Operation::Write,
    Operation::Sync,
    Operation::SyncDirectory,
    Operation::Open,
    Operation::Length,
    Operation::Read,
];

/// Builds the index of weights in a database that has commits, files and another index. Commits that come when the build
/// has begun are compacted to the bottommost level: the run of the scan is merged with that file. Then `before_the_scan`.
fn build_beside_commits(open: &OpenStore<DiskEngine>, mut before_the_scan: impl FnMut()) -> Result<bool> {
    let store = open.store();
    let mut calls = 0;
    store.create_index(&WEIGHT, &mut |_| {
        calls += 1;
        if calls == 1 {
            let mut random = SplitMix64::new(17);
            (0..20).for_each(|_| commit(store, &mut random));
            flush(store);
            compact(store);
            before_the_scan();
        }
        Ok(())
    })
}

/// Builds on a disk whose `nth` `operation` on a file of the engine fails; whether the build failed for that. Then nothing
/// is left of it, and it succeeds on a disk that is mended.
fn build_on_a_failing_disk(original: &MemoryDirectory, fault: (Operation, IoKind, u64)) -> bool {
    let directory = original.power_cut();
    let failing = FailingDirectory::new(Arc::new(directory.clone()));
    let open = open(Arc::new(failing.clone()), Durability::Sync).unwrap();
    let (operation, kind, nth) = fault;
    let prefix = if operation == Operation::SyncDirectory { "" } else { "csr-" };
    let mut before = Vec::new();
    let built = build_beside_commits(&open, || {
        before = files(&directory);
        failing.plan(Fault::new(operation, prefix, kind).nth(nth));
    });
    failing.heal();
    let Err(error) = built else { return false };
    let at = format!("{operation} {nth}, {kind:?}: {error}");
    let expected = if kind == IoKind::StorageFull { ErrorKind::Limit } else { ErrorKind::Io };
    assert_eq!(error.kind(), expected, "{at}");
    assert!(error.to_string().contains("db/csr-") || prefix.is_empty(), "{at}");
    assert_eq!(files(&directory), before, "{at}: what was written is removed");
    assert_eq!(open.store().indexes().len(), 1, "{at}: it is not said to be there");
    commit(open.store(), &mut SplitMix64::new(nth));
    assert!(build_beside_commits(&open, || ()).unwrap(), "{at}");
    // Compares each index with a scan.
    let check = |open: &OpenStore<DiskEngine>| {
        let report = open.check(&mut |_, _, _| go_on(())).unwrap();
        assert!(report.is_healthy(), "{at}: {report:?}");
    };
    check(&open);
    check(&self::open(Arc::new(directory.power_cut()), Durability::Sync).unwrap());
    true
}

#[test]
fn a_build_that_the_disk_fails_at_any_operation_leaves_nothing_and_succeeds_later() {
    let directory = MemoryDirectory::new("db");
    let open = open(Arc::new(directory.clone()), Durability::Sync).unwrap();
    let mut random = SplitMix64::new(31);
    (0..30).for_each(|_| commit(open.store(), &mut random));
    open.store().create_index(&NAME, &mut |_| Ok(())).unwrap();
    (0..30).for_each(|_| commit(open.store(), &mut random));
    open.checkpoint(&mut |progress| go_on(progress)).unwrap();
    drop(open);
    let mut failed = 0;
    for operation in BUILD_OPERATIONS {
        let kinds =
            if operation.changes() { &[IoKind::Other, IoKind::StorageFull][..] } else { &[IoKind::Other] };
        for kind in kinds {
            let of_operation =
                (1..).take_while(|nth| build_on_a_failing_disk(&directory, (operation, *kind, *nth))).count();
            println!("{operation}, {kind:?}: {of_operation} builds failed");
            failed += of_operation;
        }
    }
    assert!(failed >= 20, "only {failed} builds failed");
}
