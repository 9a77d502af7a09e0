//! Builds of indexes at their edges: who commits before, beside and at the last moment; cancelled, crashed,
//! dropped, asked for in a wrong way; many writers at once.

use crate::indexes::explained;
use crate::keeps::Keeps;
use crate::naive_engine::NaiveEngine;
use crate::oracle::{check_indexes, contents, some_ranges};
use crate::test_store::{HookedEngine, TestEngine, empty, on_every_engine, open, options};
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::id::VertexId;
use evergraph_graph::index::{IndexKind, IndexState};
use evergraph_graph::look_up::ValueRange;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView;
use evergraph_storage::engine::Engine;
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::store::Store;
use evergraph_storage::sync::thread;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

fn ages<E: Engine>(store: &Store<E>, ages: impl IntoIterator<Item = i64>) -> Vec<VertexId> {
    let ages: Vec<i64> = ages.into_iter().collect();
    let added = store.transact(|transaction| {
        let (label, key) = (transaction.label("Person")?, transaction.key("age")?);
        ages.iter().map(|age| transaction.add_vertex(label, &[(key, Value::I64(*age))])).collect()
    });
    added.unwrap()
}

fn on_age(kind: IndexKind, unique: bool) -> IndexRequest<'static> {
    IndexRequest { owner: OwnerName::Label("Person"), key: "age", kind, unique }
}

fn a_build_beside_a_violation_fails_and_names_it<E: TestEngine>(engine: E::Kind) {
    for kind in IndexKind::BY_VALUE {
        let store = empty::<E>(engine);
        ages(&store, 0..20);
        let failed = store.create_index(&on_age(kind, true), &mut |progress| {
            if progress.groups_done == progress.groups_count {
                assert_eq!(store.indexes()[0].state, IndexState::Building);
                ages(&store, [7, 99]);
            }
            Ok(())
        });
        let text = failed.unwrap_err().to_string();
        assert_eq!(text, "Person.age can't be unique: \"7\" of v7 and v20");
        assert_eq!((store.indexes().len(), store.catalogue().indexes().count()), (0, 0));
        ages(&store, [8]);
        let before = store.snapshot();
        store.create_index(&on_age(kind, false), &mut |_| Ok(())).unwrap();
        assert_eq!(store.indexes()[0].entries, 23);
        check_indexes(&store.snapshot(), &[Value::I64(7), Value::I64(8)], &some_ranges(), 1);
        assert_eq!(before.catalogue().indexes().count(), 0, "an old snapshot knows no such index");
    }
}

#[test]
fn a_commit_that_breaks_a_uniqueness_to_come_fails_the_build_and_not_the_commit() {
    a_build_beside_a_violation_fails_and_names_it::<NaiveEngine>(Keeps::NoIndexes);
    a_build_beside_a_violation_fails_and_names_it::<NaiveEngine>(Keeps::Indexes);
    a_build_beside_a_violation_fails_and_names_it::<AnyEngine>(EngineKind::Memory);
    a_build_beside_a_violation_fails_and_names_it::<AnyEngine>(EngineKind::Disk);
    a_build_beside_a_violation_fails_and_names_it::<AnyEngine>(EngineKind::Mapped);
}

/// Calls `last` between the last look at newcomers and the commit that makes the index ready; how often
/// that was tried.
fn build_with<E: TestEngine>(
    store: &Store<E>,
    request: &IndexRequest<'_>,
    mut last: impl FnMut(),
) -> (usize, Result<bool, Error>) {
    let mut calls_when_done = 0;
    let made = store.create_index(request, &mut |progress| {
        calls_when_done += usize::from(progress.groups_done == progress.groups_count);
        if calls_when_done == 2 {
            last();
        }
        Ok(())
    });
    (calls_when_done - 1, made)
}

/// `tries_alone`: how often a build is tried after somebody entered a value alone.
fn who_enters_last_is_looked_at<E: TestEngine>(engine: E::Kind, tries_alone: usize) {
    for kind in IndexKind::BY_VALUE {
        let store = empty::<E>(engine);
        let people = ages(&store, 0..20);
        let (tries, made) = build_with(&store, &on_age(kind, true), || drop(ages(&store, [5])));
        assert_eq!(made.unwrap_err().to_string(), "Person.age can't be unique: \"5\" of v5 and v20");
        assert_eq!(tries, 1, "the second look found it");
        store.transact(|transaction| transaction.delete_vertex(VertexId(20))).unwrap();

        let (tries, made) = build_with(&store, &on_age(kind, true), || {
            ages(&store, [21]);
        });
        assert_eq!((tries, made.unwrap()), (tries_alone, true), "alone with its value");
        store.drop_index(OwnerName::Label("Person"), "age", None).unwrap();

        let (tries, made) = build_with(&store, &on_age(kind, true), || {
            let moved = store.transact(|transaction| {
                let age = transaction.key("age")?;
                transaction.set_vertex_property(people[3], age, Some(Value::I64(4)))?;
                transaction.set_vertex_property(people[4], age, Some(Value::I64(3)))
            });
            moved.unwrap();
        });
        assert_eq!((tries, made.unwrap()), (2, true), "entries of older values told to look again");
        check_indexes(&store.snapshot(), &[Value::I64(3), Value::I64(4)], &some_ranges(), 9);
    }
}

#[test]
fn who_enters_a_value_at_the_last_moment_is_looked_at_too() {
    // The index alone says that nobody else has the value.
    who_enters_last_is_looked_at::<NaiveEngine>(Keeps::NoIndexes, 1);
    who_enters_last_is_looked_at::<AnyEngine>(EngineKind::Memory, 1);
    // An engine that has the entries is not asked under the latch.
    who_enters_last_is_looked_at::<NaiveEngine>(Keeps::Indexes, 2);
    who_enters_last_is_looked_at::<AnyEngine>(EngineKind::Disk, 2);
    who_enters_last_is_looked_at::<AnyEngine>(EngineKind::Mapped, 2);
}

/// In the moment before each try somebody enters another value, unless writers are held back.
fn a_unique_index_becomes_ready_beside_a_busy_writer<E: TestEngine>(engine: E::Kind) {
    let store = empty::<E>(engine);
    ages(&store, 0..20);
    let (ask, asked) = std::sync::mpsc::channel::<()>();
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let beside = store.clone();
    let writer = thread::spawn("writer", move || {
        for age in (1000..).take_while(|_| asked.recv().is_ok()) {
            ages(&beside, [age]);
            // The build ended.
            let _ = done.send(());
        }
    });
    let made = store.create_index(&on_age(IndexKind::Hash, true), &mut |progress| {
        if progress.groups_done == progress.groups_count {
            ask.send(()).unwrap();
            // Held back, it comes when the build has ended.
            let _ = wait.recv_timeout(Duration::from_millis(20));
        }
        Ok(())
    });
    drop(ask);
    writer.unwrap().join().unwrap();
    assert!(made.unwrap());
    check_indexes(&store.snapshot(), &[Value::I64(7), Value::I64(1003)], &some_ranges(), 9);
}

#[test]
fn a_unique_index_does_not_wait_for_writers_to_pause() {
    a_unique_index_becomes_ready_beside_a_busy_writer::<NaiveEngine>(Keeps::Indexes);
    a_unique_index_becomes_ready_beside_a_busy_writer::<AnyEngine>(EngineKind::Memory);
    a_unique_index_becomes_ready_beside_a_busy_writer::<AnyEngine>(EngineKind::Disk);
    a_unique_index_becomes_ready_beside_a_busy_writer::<AnyEngine>(EngineKind::Mapped);
}

fn a_resolved_commit_goes_into_a_new_index<E: HookedEngine>(engine: E::Kind) {
    for kind in IndexKind::BY_VALUE {
        let (store, hook) = E::hooked(engine);
        let people = ages(&store, 0..5);
        let beside = store.clone();
        hook(Box::new(move || {
            beside.create_index(&on_age(kind, false), &mut |_| Ok(())).unwrap();
        }));
        let set = store.transact(|transaction| {
            let age = transaction.key("age")?;
            transaction.set_vertex_property(people[2], age, Some(Value::I64(40)))
        });
        set.unwrap();
        check_indexes(&store.snapshot(), &[Value::I64(2), Value::I64(40)], &some_ranges(), 9);
        store.collect_indexes();
        assert_eq!(store.indexes()[0].entries, 5, "the old value's entry is gone");
    }
}

#[test]
fn a_commit_that_was_resolved_before_an_index_began_goes_into_it() {
    a_resolved_commit_goes_into_a_new_index::<NaiveEngine>(Keeps::NoIndexes);
    a_resolved_commit_goes_into_a_new_index::<AnyEngine>(EngineKind::Disk);
}

fn a_late_drop_leaves_the_next_index_alone<E: HookedEngine>(engine: E::Kind) {
    let (store, hook) = E::hooked(engine);
    ages(&store, 0..5);
    let (request, owner) = (on_age(IndexKind::Hash, false), OwnerName::Label("Person"));
    store.create_index(&request, &mut |_| Ok(())).unwrap();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let (reached, late_began) = std::sync::mpsc::channel::<()>();
    hook(Box::new(move || {
        reached.send(()).unwrap();
        wait.recv().unwrap();
    }));
    let beside = store.clone();
    let mut late = Some(thread::spawn("late", move || drop(beside.drop_index(owner, "age", None))).unwrap());
    late_began.recv().unwrap();
    store.drop_index(owner, "age", None).unwrap();
    store
        .create_index(&request, &mut |_| {
            if let Some(late) = late.take() {
                go.send(()).unwrap();
                late.join().unwrap();
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(store.indexes().len(), 1, "it dropped what was gone already");
    check_indexes(&store.snapshot(), &[Value::I64(2)], &some_ranges(), 9);
    assert_eq!(store.snapshot().indexes().len(), 1, "no scan is needed");
}

#[test]
fn who_drops_an_index_late_leaves_its_successor_alone() {
    a_late_drop_leaves_the_next_index_alone::<NaiveEngine>(Keeps::NoIndexes);
    a_late_drop_leaves_the_next_index_alone::<AnyEngine>(EngineKind::Disk);
}

on_every_engine! {
    fn duplicates_are_named_up_to_five_with_their_holders<E: TestEngine>(engine: E::Kind) {
        let store = empty::<E>(engine);
        ages(&store, (0..8).chain(0..8));
        let text =
            store.create_index(&on_age(IndexKind::Ordered, true), &mut |_| Ok(())).unwrap_err().to_string();
        assert!(text.starts_with("Person.age can't be unique: \"0\" of v0 and v8, "), "{text}");
        assert!(text.ends_with("\"4\" of v4 and v12, and 3 more"), "{text}");
    }
}

on_every_engine! {
    fn a_cancelled_build_and_one_that_a_crash_ends_leave_nothing<E: TestEngine>(engine: E::Kind) {
        let directory = MemoryDirectory::new("db");
        let store = open::<E>(engine, &directory, Durability::Sync).unwrap();
        ages(&store, 0..10);
        let mut cut = None;
        let cancelled = store.create_index(&on_age(IndexKind::Ordered, false), &mut |progress| {
            ages(&store, [100 + i64::from(progress.groups_done)]);
            cut = Some(directory.power_cut());
            match progress.groups_done == progress.groups_count {
                true => Err(Error::new(ErrorKind::Cancelled, "enough")),
                false => Ok(()),
            }
        });
        assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::Cancelled);
        for store in [store.clone(), open(engine, &cut.unwrap(), Durability::Sync).unwrap()] {
            assert_eq!((store.indexes().len(), store.catalogue().indexes().count()), (0, 0));
            assert_eq!(ages(&store, 0..5).len(), 5, "nobody is refused");
            assert!(store.create_index(&on_age(IndexKind::Ordered, false), &mut |_| Ok(())).unwrap());
            check_indexes(&store.snapshot(), &[Value::I64(3), Value::I64(100)], &some_ranges(), 4);
        }
        let again = open::<E>(engine, &directory.power_cut(), Durability::Sync).unwrap();
        assert_eq!(again.catalogue(), store.catalogue());
        assert_eq!(again.indexes()[0].entries, 17);
        check_indexes(&again.snapshot(), &[Value::I64(3), Value::I64(100)], &some_ranges(), 4);
        again.drop_index(OwnerName::Label("Person"), "age", None).unwrap();
        drop(again);
    }
}

/// The catalogue of a checkpoint may be newer than the log's first commits: it knew the last of three
/// indexes, and replaying the first one, of another promise, was taken for corruption.
///
/// On the memory engine alone: on the disk engine a build that was filled waits for the checkpoint.
#[test]
fn indexes_that_come_and_go_beside_a_checkpoint_are_replayed() {
    let directory = MemoryDirectory::new("db");
    let first = OpenStore::<AnyEngine>::open(Arc::new(directory.clone()), &OpenOptions::default()).unwrap();
    let store = first.store();
    ages(store, 0..5);
    let mut rounds = 0;
    let made = first.checkpoint(&mut |now| {
        if now.groups_done == 1 && rounds == 0 {
            rounds += 1;
            for unique in [true, false, true, false] {
                store.create_index(&on_age(IndexKind::Hash, unique), &mut |_| Ok(())).unwrap();
                if rounds < 4 {
                    rounds += 1;
                    store.drop_index(OwnerName::Label("Person"), "age", None).unwrap();
                }
            }
        }
        ControlFlow::Continue(())
    });
    made.unwrap();
    assert_eq!(rounds, 4, "beside the checkpoint");
    ages(store, [3]);
    let again =
        OpenStore::<AnyEngine>::open(Arc::new(directory.power_cut()), &OpenOptions::default()).unwrap();
    assert_eq!(again.store().catalogue(), store.catalogue());
    check_indexes(&again.store().snapshot(), &[Value::I64(3)], &some_ranges(), 4);
}

on_every_engine! {
    /// The simulation found it: an index whose commit the disk had refused was said to be there already, and
    /// after a power cut it was not.
    fn an_index_that_the_log_could_not_sync_is_not_said_to_be_there<E: TestEngine>(engine: E::Kind) {
        let failing = FailingDirectory::new(Arc::new(MemoryDirectory::new("db")));
        let options = OpenOptions { environment: Environment::simulated(1), ..options::<E>(engine) };
        let open = OpenStore::<E>::open(Arc::new(failing.clone()), &options).unwrap();
        ages(open.store(), 0..3);
        let request = on_age(IndexKind::Hash, false);
        failing.plan(Fault::new(Operation::Sync, "log-", std::io::ErrorKind::Other));
        for _ in 0..2 {
            let refused = open.store().create_index(&request, &mut |_| Ok(())).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Io, "{refused}");
            assert_eq!(open.store().catalogue().indexes().count(), 1, "its commit was published");
        }
    }
}

on_every_engine! {
    fn what_is_asked_for_twice_or_in_a_wrong_way_is_told<E: TestEngine>(engine: E::Kind) {
        let store = empty::<E>(engine);
        ages(&store, 0..3);
        let hash = on_age(IndexKind::Hash, true);
        assert!(store.create_index(&hash, &mut |_| Ok(())).unwrap());
        assert!(!store.create_index(&hash, &mut |_| Ok(())).unwrap(), "it is there");
        let kind = |request: &IndexRequest<'_>| {
            let error = store.create_index(request, &mut |_| Ok(())).unwrap_err();
            (error.kind(), error.to_string())
        };
        let (found, text) = kind(&on_age(IndexKind::Hash, false));
        assert!(found == ErrorKind::Invalid && text.contains("is unique, but one that is not"), "{text}");
        let (found, text) = kind(&IndexRequest { key: "", ..hash });
        assert!(found == ErrorKind::Invalid && text.contains("vertices lie by label"), "{text}");
        let mut second = None;
        store
            .create_index(&on_age(IndexKind::Ordered, false), &mut |_| {
                second = Some(kind(&on_age(IndexKind::Ordered, false)).0);
                Ok(())
            })
            .unwrap();
        assert_eq!(second, Some(ErrorKind::Busy), "somebody else builds it");
        let owner = OwnerName::Label("Person");
        assert_eq!(store.drop_index(owner, "age", None).unwrap_err().kind(), ErrorKind::Invalid, "which?");
        let old = store.snapshot();
        store.drop_index(owner, "age", Some(IndexKind::Hash)).unwrap();
        check_indexes(&old, &[Value::I64(1)], &some_ranges(), 4);
        store.drop_index(owner, "age", None).unwrap();
        check_indexes(&old, &[Value::I64(1)], &some_ranges(), 4);
        assert_eq!(store.drop_index(owner, "age", None).unwrap_err().kind(), ErrorKind::NotFound);
        ages(&store, [1, 1]);
        let (label, key) = (old.catalogue().label("Person").unwrap(), old.catalogue().key("age").unwrap());
        let gone = store.snapshot().look_up(label, key, &[Value::I64(1)], &mut Vec::new()).unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::Invalid);
    }
}

on_every_engine! {
    fn an_edge_of_a_unique_property_is_named_in_the_users_words<E: TestEngine>(engine: E::Kind) {
        let store = empty::<E>(engine);
        let people = ages(&store, 0..3);
        let request = IndexRequest {
            owner: OwnerName::EdgeType("KNOWS"),
            key: "since",
            kind: IndexKind::Hash,
            unique: true,
        };
        store.create_index(&request, &mut |_| Ok(())).unwrap();
        let mut transaction = store.begin();
        let (knows, since) = (transaction.edge_type("KNOWS").unwrap(), transaction.key("since").unwrap());
        let at = |year: i32| [(since, Value::I32(year))];
        transaction.add_edge(people[0], knows, people[1], &at(1833)).unwrap();
        let error = transaction.put_edge(people[1], knows, people[2], &at(1833)).unwrap_err();
        assert_eq!(error.to_string(), "KNOWS.since is unique, and v0-[KNOWS]->v1 already has the value \"1833\"");
        transaction.put_edge(people[0], knows, people[1], &at(1833)).unwrap();
        let mut rival = store.begin();
        rival.add_edge(people[2], knows, people[2], &at(1833)).unwrap();
        transaction.commit().unwrap();
        let error = rival.commit().unwrap_err();
        assert!(error.is_conflict() && error.to_string().contains("KNOWS.since as v2-[KNOWS]->v2"), "{error}");
    }
}

on_every_engine! {
    fn who_began_before_a_unique_index_and_writes_something_else_commits<E: TestEngine>(engine: E::Kind) {
        let store = empty::<E>(engine);
        let people = ages(&store, 0..3);
        let mut other = store.begin();
        let key = other.key("name").unwrap();
        other.set_vertex_property(people[0], key, Some(Value::from("ada"))).unwrap();
        let mut same = store.begin();
        let age = same.key("age").unwrap();
        same.set_vertex_property(people[1], age, Some(Value::I64(0))).unwrap();
        store.create_index(&on_age(IndexKind::Ordered, true), &mut |_| Ok(())).unwrap();
        other.commit().unwrap();
        let error = same.commit().unwrap_err();
        assert!(error.is_conflict() && error.to_string().contains("was created meanwhile"), "{error}");
    }
}

on_every_engine! {
    fn a_snapshot_from_before_an_index_was_built_anew_reads_everything<E: TestEngine>(engine: E::Kind) {
        for kind in IndexKind::BY_VALUE {
            let store = empty::<E>(engine);
            let people = ages(&store, 0..5);
            store.create_index(&on_age(kind, false), &mut |_| Ok(())).unwrap();
            let old = store.snapshot();
            store.drop_index(OwnerName::Label("Person"), "age", None).unwrap();
            let moved = store.transact(|transaction| {
                let age = transaction.key("age")?;
                transaction.set_vertex_property(people[2], age, Some(Value::I64(40)))
            });
            moved.unwrap();
            store.create_index(&on_age(kind, false), &mut |_| Ok(())).unwrap();
            for view in [&old, &store.snapshot()] {
                check_indexes(view, &[Value::I64(2), Value::I64(40)], &some_ranges(), 2);
            }
        }
    }
}

on_every_engine! {
    fn who_began_under_a_unique_index_meets_the_one_that_took_its_place<E: TestEngine>(engine: E::Kind) {
        for kind in IndexKind::BY_VALUE {
            let store = empty::<E>(engine);
            ages(&store, 0..3);
            store.create_index(&on_age(kind, true), &mut |_| Ok(())).unwrap();
            let mut old = store.begin();
            let (label, age) = (old.label("Person").unwrap(), old.key("age").unwrap());
            old.add_vertex(label, &[(age, Value::I64(7))]).unwrap();
            store.drop_index(OwnerName::Label("Person"), "age", None).unwrap();
            ages(&store, [7]);
            store.create_index(&on_age(kind, true), &mut |_| Ok(())).unwrap();
            let error = old.commit().unwrap_err();
            assert!(error.is_conflict(), "the second index does not know what the first one knew: {error}");
        }
    }
}

on_every_engine! {
    fn a_build_waits_until_the_commits_before_it_are_durable<E: TestEngine>(engine: E::Kind) {
        let options = OpenOptions { memory_limit_bytes: 64 << 20, ..options::<E>(engine) };
        // With its threads: a writer can't flush what is not durable yet.
        let opened = OpenStore::<E>::open(Arc::new(MemoryDirectory::new("db")), &options).unwrap();
        let store = opened.store();
        let people = ages(store, 0..2);
        let writers: Vec<_> = people
            .into_iter()
            .map(|person| {
                let store = store.clone();
                let life = move || {
                    for round in 0..50 {
                        let done = store.transact(|transaction| {
                            let (age, note) = (transaction.key("age")?, transaction.key("note")?);
                            // A long way to the disk: the commit is published, and not durable for a while.
                            let text = Value::from("x".repeat(100_000));
                            transaction.set_vertex_property(person, note, Some(text))?;
                            transaction.set_vertex_property(person, age, Some(Value::I64(round)))
                        });
                        explained(done);
                    }
                };
                thread::spawn("writer", life).unwrap()
            })
            .collect();
        let mut builds = 0;
        while builds == 0 || !writers.iter().all(|writer| writer.is_finished()) {
            // The build scans a snapshot, which in this mode could be older than the newest commits.
            store.create_index(&on_age(IndexKind::Hash, false), &mut |_| Ok(())).unwrap();
            check_indexes(&store.snapshot(), &[Value::I64(3)], &[], 50);
            store.drop_index(OwnerName::Label("Person"), "age", None).unwrap();
            builds += 1;
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    }
}

fn builds_beside_writers<E: TestEngine>(engine: E::Kind, people_count: u64) {
    let store = empty::<E>(engine);
    let people = Arc::new(ages(&store, 0..people_count as i64));
    let knows = store.transact(|transaction| transaction.edge_type("KNOWS")).unwrap();
    let writers: Vec<_> = (0..3u64)
        .map(|number| {
            let (store, people) = (store.clone(), Arc::clone(&people));
            let life = move || {
                for round in 0..100u64 {
                    let at = |salt: u64| people[((round * 31 + number * 7 + salt) % people_count) as usize];
                    let done = store.transact(|transaction| {
                        let age = transaction.key("age")?;
                        let value = Value::I64(((round * 13 + number) % 40) as i64);
                        transaction.set_vertex_property(at(0), age, Some(value.clone()))?;
                        if at(1) != at(0) {
                            transaction.put_edge(at(0), knows, at(1), &[(age, value)])?;
                        }
                        Ok(())
                    });
                    explained(done);
                }
            };
            thread::spawn("writer", life).unwrap()
        })
        .collect();
    let mut built = BTreeSet::new();
    for round in 0..4 {
        for (owner, kind, unique) in [
            (OwnerName::Label("Person"), IndexKind::Hash, false),
            (OwnerName::EdgeType("KNOWS"), IndexKind::Ordered, false),
            (OwnerName::Label("Person"), IndexKind::Ordered, round % 2 == 0),
        ] {
            let request = IndexRequest { owner, key: "age", kind, unique };
            match store.create_index(&request, &mut |_| Ok(())) {
                Ok(_) => drop(built.insert(format!("{request:?}"))),
                Err(error) => assert!(unique && error.kind() == ErrorKind::Invalid, "{error}"),
            }
            let snapshot = store.snapshot();
            check_indexes(&snapshot, &[Value::I64(3), Value::I64(5)], &[ValueRange::ALL], 50);
            for index in snapshot.catalogue().indexes().filter(|index| index.unique) {
                assert!(!contents(&snapshot, &index).1, "{index:?}");
            }
            store.collect_indexes();
            match store.drop_index(owner, "age", Some(kind)) {
                Ok(_) => check_indexes(&snapshot, &[Value::I64(3)], &[ValueRange::ALL], 50),
                Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound),
            }
        }
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    assert!(built.len() >= 2, "{built:?}");
}

#[test]
fn indexes_come_and_go_beside_writers() {
    builds_beside_writers::<NaiveEngine>(Keeps::NoIndexes, 60);
    builds_beside_writers::<NaiveEngine>(Keeps::Indexes, 60);
    builds_beside_writers::<AnyEngine>(EngineKind::Memory, 1000);
    builds_beside_writers::<AnyEngine>(EngineKind::Disk, 600);
    builds_beside_writers::<AnyEngine>(EngineKind::Mapped, 600);
}
