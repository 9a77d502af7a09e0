//! Notes and their owner: each note with the commit that it belongs to, and nobody else's writes.

use crate::model::{Model, dump};
use crate::test_store::{TestEngine, on_every_engine, options};
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::index::IndexKind;
use evergraph_graph::load::{EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::transaction::{Isolation, NewEdge, Transaction as _};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::engine::Engine;
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore, salvage};
use evergraph_storage::ownership::{OwnerChanges, Ownership};
use evergraph_storage::salvage::loss::LossKind;
use evergraph_storage::snapshot::handle::Snapshot;
use evergraph_storage::store::Store;
use evergraph_storage::transaction::handle::Transaction;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub const SOURCE: &str = "postgres://example/shop";
pub const POSITION: &str = "position";

/// Notes by name, as text.
pub type Texts = BTreeMap<String, String>;

pub fn open<E: TestEngine>(kind: E::Kind, directory: &MemoryDirectory) -> OpenStore<E> {
    OpenStore::open(Arc::new(directory.clone()), &options::<E>(kind)).unwrap()
}

fn checkpoint<E: DurableEngine>(open: &OpenStore<E>) {
    open.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
}

/// The graph, and the notes beside it.
pub fn state<E: Engine>(store: &Store<E>) -> (Model, Texts) {
    let snapshot = store.snapshot();
    let text = |(name, bytes): (&Arc<str>, &Arc<[u8]>)| {
        (name.to_string(), String::from_utf8(bytes.to_vec()).unwrap())
    };
    (dump(&snapshot, 100), snapshot.notes().iter().map(text).collect())
}

pub fn state_of<E: TestEngine>(kind: E::Kind, directory: &MemoryDirectory) -> (Model, Texts) {
    state(open::<E>(kind, directory).store())
}

/// One person, and the notes that belong to him.
fn add<E: Engine>(transaction: &mut Transaction<E>, number: i64) -> Result<VertexId> {
    let (label, name) = (transaction.label("Person")?, transaction.key("name")?);
    transaction.set_note(POSITION, number.to_string().as_bytes())?;
    match number % 3 {
        0 => transaction.remove_note("row")?,
        _ => transaction.set_note("row", format!("waits {number}").as_bytes())?,
    }
    transaction.add_vertex(label, &[(name, Value::I64(number))])
}

pub fn commit<E: Engine>(ownership: &mut Ownership<E>, number: i64) {
    let mut transaction = ownership.begin().unwrap();
    let before = transaction.timestamp();
    add(&mut transaction, number).unwrap();
    let committed = transaction.commit().unwrap();
    assert_eq!(committed.timestamp, before.next(), "notes have a commit of their own");
}

/// Ten people, by a load.
pub fn load() -> Load {
    let names: Vec<Value> = (1000..1010).map(Value::I64).collect();
    let block =
        VertexBlock { rows: names.len(), columns: vec![PackedColumn::from_values(names.iter().map(Some))] };
    let people = VertexTable::new("Person", vec![("name".into(), ValueType::I64)], vec![block]);
    let knows =
        EdgeTable::new("KNOWS", 0, 0, Vec::new(), vec![EdgeBlock::bare([(0, 1), (1, 2)].into_iter())]);
    Load { vertices: vec![people], edges: vec![knows] }
}

fn assert_refused<T: std::fmt::Debug>(outcome: Result<T>) {
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    let text = error.to_string();
    assert!(text.contains(SOURCE) && text.contains("evergraph replica detach"), "{text}");
}

/// Whether the manifest names the feature, without which a version that knows no notes opens it.
fn is_refused_by_older_versions(directory: &MemoryDirectory) -> bool {
    let bytes = directory.read_all("manifest", 1 << 20).unwrap();
    let required = usize::from(bytes[64]);
    let mut at = 65;
    (0..required).any(|_| {
        let name = &bytes[at + 1..at + 1 + usize::from(bytes[at])];
        at += 1 + name.len();
        name == b"notes"
    })
}

on_every_engine! {
    fn every_snapshot_sees_the_notes_of_its_commit<E: TestEngine>(kind: E::Kind) {
        let open = open::<E>(kind, &MemoryDirectory::new("db"));
        let mut ownership = open.own(SOURCE).unwrap();
        let mut seen = vec![(open.store().snapshot(), state(open.store()))];
        for number in 0..20 {
            commit(&mut ownership, number);
            let texts = state(open.store()).1;
            assert_eq!(texts.get(POSITION), Some(&number.to_string()));
            assert_eq!(texts.get("row"), (number % 3 > 0).then(|| format!("waits {number}")).as_ref());
            assert_eq!(texts["owner"], SOURCE);
            if number % 4 == 0 {
                seen.push((open.store().snapshot(), state(open.store())));
            }
            if number % 7 == 0 {
                checkpoint(&open);
                seen.remove(0);
            }
        }
        for (snapshot, (graph, texts)) in &seen {
            assert_eq!(dump(snapshot, 100), *graph);
            let position = snapshot.note(POSITION).map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
            assert_eq!(position.as_ref(), texts.get(POSITION));
            assert_eq!(snapshot.notes().len(), texts.len());
        }
    }

    fn notes_are_there_again_whenever_the_power_is_cut<E: TestEngine>(kind: E::Kind) {
        let directory = MemoryDirectory::new("db");
        let first = open::<E>(kind, &directory);
        let mut ownership = first.own(SOURCE).unwrap();
        for number in 0..9 {
            commit(&mut ownership, number);
            assert_eq!(state_of::<E>(kind, &directory.power_cut()), state(first.store()));
            if number % 3 == 1 {
                checkpoint(&first);
                let image = directory.power_cut();
                assert_eq!(state_of::<E>(kind, &image), state(first.store()), "a note is not in the manifest");
            }
        }
        let image = directory.power_cut();
        let again = open::<E>(kind, &image);
        assert_eq!(again.store().source().as_deref(), Some(SOURCE));
        let mut ownership = again.own(SOURCE).unwrap();
        assert_eq!(again.store().timeline().published(), first.store().timeline().published(), "no commit for it");
        commit(&mut ownership, 9);
        let last = state(again.store());
        again.close().unwrap();
        drop((again, ownership));
        assert_eq!(state_of::<E>(kind, &image), last);
    }

    fn an_older_version_refuses_a_database_before_its_log_has_a_note<E: TestEngine>(kind: E::Kind) {
        let directory = MemoryDirectory::new("db");
        let first = open::<E>(kind, &directory);
        checkpoint(&first);
        assert!(!is_refused_by_older_versions(&directory));
        let mut ownership = first.own(SOURCE).unwrap();
        assert!(is_refused_by_older_versions(&directory));
        commit(&mut ownership, 1);
        checkpoint(&first);
        assert!(is_refused_by_older_versions(&directory));
        assert_eq!(Manifest::read(&directory, E::opens).unwrap().notes.map(|notes| notes.len()), Some(3));
        // Without an owner it is as it was, once no commit with a note is needed any more.
        ownership.release().unwrap();
        assert!(is_refused_by_older_versions(&directory.power_cut()));
        checkpoint(&first);
        assert!(!is_refused_by_older_versions(&directory));
        let (graph, texts) = state_of::<E>(kind, &directory.power_cut());
        assert_eq!((graph.vertices.len(), texts), (1, Texts::new()));
    }

    fn a_checkpoint_that_fails_leaves_a_database_without_an_owner<E: TestEngine>(kind: E::Kind) {
        let open = open::<E>(kind, &MemoryDirectory::new("db"));
        let store = open.store();
        let mut fails = || Err(Error::new(ErrorKind::Limit, "the disk is full"));
        let refused = store.own(SOURCE, &mut fails).map(drop).unwrap_err();
        assert_eq!((refused.kind(), store.source()), (ErrorKind::Limit, None));
        assert!(store.transact(|tx| tx.label("Person")).is_ok());
        assert!(open.own(SOURCE).is_ok());
    }

    fn nobody_but_the_owner_writes_and_the_first_write_says_so<E: TestEngine>(kind: E::Kind) {
        let directory = MemoryDirectory::new("db");
        let first = open::<E>(kind, &directory);
        let store = first.store();
        let (label, knows, name, ends) = store.transact(|tx| {
            let (label, knows, name) = (tx.label("Person")?, tx.edge_type("KNOWS")?, tx.key("name")?);
            let ends = [tx.add_vertex(label, &[(name, Value::I64(-1))])?, tx.add_vertex(label, &[])?];
            tx.add_edge(ends[0], knows, ends[1], &[(name, Value::I64(1))])?;
            Ok((label, knows, name, ends))
        }).unwrap();
        let edge = store.snapshot().first_edge();
        let mut before = store.begin();
        before.set_vertex_property(ends[0], name, Some(Value::I64(-2))).unwrap();
        let mut ownership = first.own(SOURCE).unwrap();
        assert_refused(before.commit());

        let refusals = |store: &Store<E>| {
            let mut tx = store.begin_with(Isolation::Serializable);
            assert_eq!((tx.label("Person").unwrap(), tx.key("name").unwrap()), (label, name));
            assert_refused(tx.label("Other"));
            assert_refused(tx.edge_type("OTHER"));
            assert_refused(tx.key("other"));
            assert_refused(tx.declare_simple_type("OTHER"));
            assert_refused(tx.declare_vertex_property(label, name, ValueType::I64));
            assert_refused(tx.declare_edge_property(knows, name, ValueType::I64));
            assert_refused(tx.declare_meta_properties(label, name));
            assert_refused(tx.declare_newest_first(knows, name));
            assert_refused(tx.add_vertex(label, &[]));
            assert_refused(tx.set_vertex_property(ends[0], name, None));
            assert_refused(tx.delete_vertex(ends[0]));
            assert_refused(tx.add_edge(ends[0], knows, ends[1], &[]));
            assert_refused(tx.put_edge(ends[0], knows, ends[1], &[]));
            assert_refused(tx.put_edges(knows, &[NewEdge::bare(ends[0], ends[1])]));
            assert_refused(tx.set_edge_property(edge, name, None));
            assert_refused(tx.delete_edge(edge));
            assert_refused(tx.delete_edges_of(ends[0], 1));
            assert!(tx.set_note(POSITION, b"1").unwrap_err().to_string().contains("only a transaction that it begins"));
            assert!(tx.commit().is_ok(), "it wrote nothing");
            assert_refused(store.delete_vertex_in_parts(ends[0], &mut |_| Ok(())));
            assert_refused(store.load(&load(), &mut |_| Ok(()), &mut || panic!("refused before")));
        };
        refusals(store);
        commit(&mut ownership, 1);
        drop(ownership);
        refusals(store);
        let last = state(store);
        first.close().unwrap();
        drop(first);

        let again = open::<E>(kind, &directory);
        refusals(again.store());
        assert_eq!(state(again.store()), last);
        again.own(SOURCE).unwrap().release().unwrap();
        assert!(again.store().transact(|tx| tx.add_vertex(label, &[])).is_ok());
        assert_eq!((again.store().source(), again.store().snapshot().notes().len()), (None, 0));
    }

    fn indexes_come_and_go_beside_the_owner<E: TestEngine>(kind: E::Kind) {
        let open = open::<E>(kind, &MemoryDirectory::new("db"));
        let mut ownership = open.own(SOURCE).unwrap();
        commit(&mut ownership, 1);
        let request = |key, kind, unique| IndexRequest { owner: OwnerName::Label("Person"), key, kind, unique };
        let create = |key, kind, unique| {
            open.store().create_index(&request(key, kind, unique), &mut |_| Ok(())).unwrap()
        };
        let drop_index = |kind| open.store().drop_index(OwnerName::Label("Person"), "name", Some(kind)).unwrap();
        let mut transaction = ownership.begin().unwrap();
        add(&mut transaction, 2).unwrap();
        // Beside an open transaction of the owner's, which no other commit can hinder.
        assert!(create("name", IndexKind::Ordered, false) && create("of nobody yet", IndexKind::Hash, true));
        transaction.commit().unwrap();
        assert!(create("name", IndexKind::Hash, true));
        drop_index(IndexKind::Ordered);
        let mut transaction = ownership.begin().unwrap();
        let taken = add(&mut transaction, 2).unwrap_err();
        assert!(taken.to_string().contains("Person.name is unique"), "{taken}");
        drop(transaction);
        drop_index(IndexKind::Hash);
        let mut transaction = ownership.begin().unwrap();
        add(&mut transaction, 3).unwrap();
        // One that promises what the transaction did not look for.
        assert!(create("name", IndexKind::Hash, true));
        let conflict = transaction.commit().unwrap_err();
        assert!(conflict.is_conflict() && conflict.to_string().contains("a unique index"), "{conflict}");
        commit(&mut ownership, 3);
        let found = open.check(&mut |_, _, _| ControlFlow::Continue(())).unwrap();
        assert!(found.is_healthy(), "{found:?}");
        assert_eq!(state(open.store()).0.vertices.len(), 3);
    }

    fn one_owner_holds_a_database_and_one_transaction_of_his_is_open<E: TestEngine>(kind: E::Kind) {
        let directory = MemoryDirectory::new("db");
        let open = open::<E>(kind, &directory);
        assert_eq!(open.own("").map(drop).unwrap_err().kind(), ErrorKind::Invalid);
        let mut ownership = open.own(SOURCE).unwrap();
        assert_eq!(ownership.source(), SOURCE);
        let busy = |error: Error| assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        busy(open.own(SOURCE).map(drop).unwrap_err());
        let transaction = ownership.begin().unwrap();
        busy(ownership.begin().map(drop).unwrap_err());
        let (building, writing) = (&mut |_| Ok(()), &mut |_| ControlFlow::Continue(()));
        busy(open.load_owned(&mut ownership, u64::MAX, &load(), OwnerChanges::default(), building, writing).unwrap_err());
        drop(ownership);
        busy(open.own(SOURCE).map(drop).unwrap_err());
        drop(transaction);
        let other = open.own("postgres://other").map(drop).unwrap_err();
        assert!(other.to_string().contains(SOURCE) && other.kind() == ErrorKind::Invalid, "{other}");
        let mut ownership = open.own(SOURCE).unwrap();
        let late = ownership.begin().unwrap();
        busy(ownership.release().map(drop).unwrap_err());
        drop(late);
        open.own(SOURCE).unwrap().release().unwrap();
        assert!(open.own("postgres://other").is_ok());
    }

    fn notes_are_read_back_and_the_note_of_the_owner_is_not_its_to_change<E: TestEngine>(kind: E::Kind) {
        let open = open::<E>(kind, &MemoryDirectory::new("db"));
        let mut ownership = open.own(SOURCE).unwrap();
        commit(&mut ownership, 1);
        let mut transaction = ownership.begin().unwrap();
        assert_eq!(transaction.note("row").as_deref(), Some(&b"waits 1"[..]));
        transaction.remove_note("row").unwrap();
        transaction.set_note("empty", b"").unwrap();
        transaction.remove_note("of nobody").unwrap();
        assert_eq!((transaction.note("row"), transaction.note("empty").as_deref()), (None, Some(&b""[..])));
        assert!(open.store().snapshot().note("row").is_some());
        for changed in [transaction.set_note("owner", b"me"), transaction.remove_note("owner")] {
            assert_eq!(changed.unwrap_err().kind(), ErrorKind::Invalid);
        }
        assert_eq!(transaction.set_note(&"n".repeat(256), b"").unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(transaction.set_note("long", &vec![0; (16 << 20) + 1]).unwrap_err().kind(), ErrorKind::Limit);
        transaction.commit().unwrap();
        let texts = state(open.store()).1;
        assert_eq!(texts.keys().map(String::as_str).collect::<Vec<_>>(), ["empty", "owner", "position"]);
        // One that is rolled back leaves nothing.
        ownership.begin().unwrap().set_note(POSITION, b"9").unwrap();
        assert_eq!(state(open.store()).1, texts);
    }

    fn copies_have_the_notes_of_their_moment<E: TestEngine>(kind: E::Kind) {
        let directory = MemoryDirectory::new("db");
        let first = open::<E>(kind, &directory);
        let mut ownership = first.own(SOURCE).unwrap();
        commit(&mut ownership, 1);
        checkpoint(&first);
        commit(&mut ownership, 2);
        let before = state(first.store());
        let (backup, converted) = (MemoryDirectory::new("backup"), MemoryDirectory::new("converted"));
        first.backup(&backup, &mut |_| ControlFlow::Continue(())).unwrap();
        let target: Arc<dyn Directory> = Arc::new(converted.clone());
        first.convert::<E>(E::name(kind), &target, &mut |_, _, _| ControlFlow::Continue(())).unwrap();
        commit(&mut ownership, 3);
        for copy in [&backup, &converted] {
            assert!(is_refused_by_older_versions(copy));
            assert_eq!(state_of::<E>(kind, copy), before);
            assert_refused(open::<E>(kind, copy).store().transact(|tx| tx.label("Other")));
        }
    }

    fn a_salvage_drops_notes_and_says_so<E: TestEngine>(kind: E::Kind) {
        let saved = |directory: &MemoryDirectory| {
            let target = MemoryDirectory::new("saved");
            let new: Arc<dyn Directory> = Arc::new(target.clone());
            let made = salvage::<E>(directory, &new, &mut |_, _, _| ControlFlow::Continue(())).unwrap();
            (made, open::<E>(kind, &target))
        };
        let directory = MemoryDirectory::new("db");
        let first = open::<E>(kind, &directory);
        let mut ownership = first.own(SOURCE).unwrap();
        for number in 1..3 {
            // From the log alone, and from the manifest.
            commit(&mut ownership, number);
            let (made, open) = saved(&directory.power_cut());
            let lost: Vec<_> = made.losses.iter().filter(|loss| loss.kind == LossKind::Notes).collect();
            assert_eq!((lost.len(), lost[0].count), (1, Some(3)), "{made:?}");
            assert!(lost[0].problem.contains(SOURCE) && !made.is_complete(), "{made:?}");
            let (graph, texts) = state(open.store());
            assert_eq!((graph, texts), (state(first.store()).0, Texts::new()));
            assert!(open.store().transact(|tx| tx.label("Other")).is_ok(), "it has no owner");
            checkpoint(&first);
        }
        ownership.release().unwrap();
        assert!(saved(&directory.power_cut()).0.is_complete());
    }
}

trait FirstEdge: GraphView {
    /// Any edge.
    fn first_edge(&self) -> evergraph_graph::id::EdgeId {
        let mut edges = Vec::new();
        self.scan_edges(None, &mut Default::default(), 1, &mut edges).unwrap();
        edges[0]
    }
}

impl<V: GraphView> FirstEdge for V {}

/// Tells readers that no commit follows, also where one failed.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The position of a snapshot, which is that of its graph.
fn position<E: Engine>(snapshot: &Snapshot<E>) -> i64 {
    let position = snapshot.note(POSITION).map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
    let position = position.map_or(-1, |text| text.parse().unwrap());
    let people: u64 = snapshot.statistics().unwrap().vertices.iter().map(|of| of.1).sum();
    assert_eq!(position + 1, people as i64, "graph and position are of one commit");
    position
}

/// The invariant of a replica: at every moment that a reader can see, graph and position are of one commit.
fn readers_see_graph_and_position_of_one_commit<E: TestEngine>(kind: E::Kind, durability: Durability) {
    const COMMITS: i64 = 300;
    let options = OpenOptions { durability, checkpoint_after_bytes: 4000, ..options::<E>(kind) };
    let open = OpenStore::<E>::open(Arc::new(MemoryDirectory::new("db")), &options).unwrap();
    let mut ownership = open.own(SOURCE).unwrap();
    commit(&mut ownership, 0);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _ends = Ends(&is_over);
        for _ in 0..2 {
            scope.spawn(|| {
                let mut kept = Vec::new();
                while !is_over.load(Ordering::Acquire) {
                    kept.push(open.store().snapshot());
                    if kept.len() > 16 {
                        kept.remove(0);
                    }
                    let seen: Vec<i64> = kept.iter().map(position).collect();
                    assert!(seen.is_sorted(), "positions never go back");
                }
                assert_eq!(position(&open.store().snapshot()), COMMITS - 1);
            });
        }
        for number in 1..COMMITS {
            let mut transaction = ownership.begin().unwrap();
            add(&mut transaction, number).unwrap();
            if number % 50 == 0 {
                transaction.commit().unwrap();
            } else {
                drop(transaction.publish().unwrap());
            }
        }
        open.store().log().wait_durable(open.store().timeline().published().0).unwrap();
    });
}

#[test]
fn readers_see_graph_and_position_of_one_commit_on_every_engine() {
    for durability in [Durability::Sync, Durability::Interval(Duration::from_millis(2))] {
        readers_see_graph_and_position_of_one_commit::<AnyEngine>(EngineKind::Memory, durability);
        readers_see_graph_and_position_of_one_commit::<AnyEngine>(EngineKind::Disk, durability);
        readers_see_graph_and_position_of_one_commit::<AnyEngine>(EngineKind::Mapped, durability);
    }
}

/// An owner's transaction of a thousand edges of each source, in one commit, taken back in the next.
fn an_owners_transaction_is_as_large_as_it_likes<E: TestEngine>(kind: E::Kind, sources: usize) {
    const TARGETS: usize = 1000;
    let directory = MemoryDirectory::new("db");
    let first = open::<E>(kind, &directory);
    let ends = first.store().transact(|tx| {
        let label = tx.label("Person")?;
        tx.edge_type("KNOWS")?;
        (0..sources.max(TARGETS)).map(|_| tx.add_vertex(label, &[])).collect::<Result<Vec<_>>>()
    });
    let ends = ends.unwrap();
    let pairs = || {
        ends[..sources]
            .iter()
            .flat_map(|source| ends[..TARGETS].iter().map(|target| NewEdge::bare(*source, *target)))
    };
    let edges: Vec<NewEdge<'_>> = pairs().collect();
    let mut user = first.store().begin();
    let knows = user.edge_type("KNOWS").unwrap();
    // A user's may have a million writes.
    let refused = user.put_edges(knows, &edges).is_err_and(|error| error.kind() == ErrorKind::Limit);
    assert_eq!(refused, edges.len() > 1_000_000);
    drop(user);
    let mut ownership = first.own(SOURCE).unwrap();
    let mut transaction = ownership.begin().unwrap();
    transaction.put_edges(knows, &edges).unwrap();
    transaction.set_note(POSITION, b"1").unwrap();
    transaction.commit().unwrap();
    let count = |store: &Store<E>| store.snapshot().statistics().unwrap().edges[0].1;
    assert_eq!(count(first.store()), (sources * TARGETS) as u64);
    let image = directory.power_cut();
    let again = open::<E>(kind, &image);
    assert_eq!(count(again.store()), (sources * TARGETS) as u64);
    assert_eq!(again.store().snapshot().note(POSITION).as_deref(), Some(&b"1"[..]));
    let mut ownership = again.own(SOURCE).unwrap();
    let mut transaction = ownership.begin().unwrap();
    for vertex in &ends {
        transaction.delete_edges_of(*vertex, usize::MAX).unwrap();
    }
    transaction.commit().unwrap();
    assert_eq!(again.store().snapshot().statistics().unwrap().edges.iter().map(|of| of.1).sum::<u64>(), 0);
}

#[test]
fn an_owners_transaction_has_more_than_a_million_writes_in_memory() {
    an_owners_transaction_is_as_large_as_it_likes::<AnyEngine>(EngineKind::Memory, 1001);
}

#[test]
fn an_owners_transaction_has_many_writes_on_disk() {
    an_owners_transaction_is_as_large_as_it_likes::<AnyEngine>(EngineKind::Disk, 150);
}

#[test]
fn an_owners_transaction_has_many_writes_in_mapped_files() {
    an_owners_transaction_is_as_large_as_it_likes::<AnyEngine>(EngineKind::Mapped, 150);
}

#[test]
fn the_limit_of_bytes_holds_for_an_owner_too() {
    let options = OpenOptions { transaction_bytes_max: 10_000, ..OpenOptions::default() };
    let open = OpenStore::<AnyEngine>::open(Arc::new(MemoryDirectory::new("db")), &options).unwrap();
    let mut ownership = open.own(SOURCE).unwrap();
    let mut transaction = ownership.begin().unwrap();
    let label = transaction.label("Person").unwrap();
    let added = (0..1000).find_map(|_| transaction.add_vertex(label, &[]).err()).unwrap();
    assert_eq!(added.kind(), ErrorKind::Limit, "{added}");
    drop(transaction);
    let mut transaction = ownership.begin().unwrap();
    let refused = transaction.set_note(POSITION, &[0; 10_000]).unwrap_err();
    assert!(refused.to_string().contains("transaction_bytes_max"), "{refused}");
}

/// 100,000 notes, as rows that wait: a commit that changes one beside its position stays cheap, whether a snapshot is
/// open or not. Counted in changes that are copied, not in time.
#[test]
fn a_hundred_thousand_notes_are_kept_and_changed_one_by_one() {
    let directory = MemoryDirectory::new("db");
    let first = open::<AnyEngine>(EngineKind::Memory, &directory);
    let mut ownership = first.own(SOURCE).unwrap();
    let mut transaction = ownership.begin().unwrap();
    for number in 0..100_000 {
        transaction.set_note(&format!("wait/rental/{number:08}"), &[7; 40]).unwrap();
    }
    transaction.commit().unwrap();
    let before = first.store().snapshot();
    for number in 0..200 {
        let mut transaction = ownership.begin().unwrap();
        transaction.set_note(POSITION, &[number as u8; 60]).unwrap();
        transaction.remove_note(&format!("wait/rental/{:08}", number * 400)).unwrap();
        transaction.commit().unwrap();
    }
    assert_eq!((before.notes().len(), first.store().snapshot().notes().len()), (100_001, 100_001 - 200 + 1));
    assert!(before.note(POSITION).is_none());
    checkpoint(&first);
    let again = open::<AnyEngine>(EngineKind::Memory, &directory.power_cut());
    assert!(again.store().snapshot().notes() == first.store().snapshot().notes());
}
