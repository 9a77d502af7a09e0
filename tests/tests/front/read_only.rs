//! Stores without a log: one that reads all that the log held, and refuses every change by naming who may make it; and one
//! that reads beside a store that writes.

use crate::keeps::Keeps;
use crate::naive_engine::NaiveEngine;
use crate::test_store::{TestEngine, on_every_engine, open, read_only};
use evergraph_graph::error::ErrorKind;
use evergraph_graph::index::IndexKind;
use evergraph_graph::look_up::{MatchCursor, Matches};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::{Freshness, Transaction as _};
use evergraph_graph::value::Value;
use evergraph_graph::view::{GraphView as _, VertexCursor};
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::io::directory::Directory as _;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::SplitMix64;
use evergraph_storage::log::options::Durability;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::snapshot::handle::Snapshot;
use evergraph_storage::store::{SharedParts, Store, StoreOptions};
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::timeline::registry::Access;
use evergraph_storage::timeline::shared_readable::{Prepared, SharedReadable};
use std::sync::Arc;

on_every_engine! {
    fn what_another_process_writes_is_read_and_not_changed<E: TestEngine>(kind: E::Kind) {
        let directory = MemoryDirectory::new("db");
        let writer = open::<E>(kind, &directory, Durability::Sync).unwrap();
        let (label, key, vertex) = writer
            .transact(|transaction| {
                let (label, key) = (transaction.label("Person")?, transaction.key("name")?);
                Ok((label, key, transaction.add_vertex(label, &[(key, Value::from("Ada"))])?))
            })
            .unwrap();
        writer.log().wait_durable(writer.timeline().published().0).unwrap();
        let before = directory.list().unwrap();

        for (process, text) in [(Some(4711), "written in process 4711"), (None, "open it to be written")] {
            let store = read_only::<E>(kind, &directory, process).unwrap();
            assert_eq!(store.snapshot().vertex_property_map(vertex).unwrap(), [(key, Value::from("Ada"))]);
            let refused = |error: evergraph_graph::error::Error| {
                assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
                assert!(error.to_string().contains(text), "{error}");
            };
            let mut transaction = store.begin();
            assert_eq!(transaction.vertex_property_map(vertex).unwrap(), [(key, Value::from("Ada"))]);
            refused(transaction.add_vertex(label, &[]).unwrap_err());
            refused(transaction.set_vertex_property(vertex, key, Some(Value::from("Bob"))).unwrap_err());
            refused(transaction.delete_vertex(vertex).unwrap_err());
            transaction.commit().unwrap();
            refused(store.transact(|transaction| transaction.label("City").map(drop)).unwrap_err());
            let owner = OwnerName::Label("Person");
            let request = IndexRequest { owner, key: "name", kind: IndexKind::Hash, unique: false };
            refused(store.create_index(&request, &mut |_| Ok(())).unwrap_err());
            refused(store.delete_vertex_in_parts(vertex, &mut |_| Ok(())).unwrap_err());
            assert_eq!(store.statistics().log.frames_count, 0);
        }
        assert_eq!(directory.list().unwrap(), before);
    }
}

/// The timeline of a store in the same process, as another process sees it.
#[derive(Debug)]
struct OtherTimeline(Arc<Timeline>);

impl SharedReadable for OtherTimeline {
    fn prepare(&self, _: Freshness) -> Option<Prepared> {
        None
    }

    fn register(&self, _: Option<Prepared>) -> Option<Timestamp> {
        Some(self.0.begin(Access::Read, |_| ()).0)
    }

    fn readable(&self) -> Timestamp {
        self.0.readable()
    }
}

#[test]
fn a_store_that_reads_beside_one_that_writes_sees_commits_and_names_at_once() {
    let directory = MemoryDirectory::new("db");
    let writer = open::<NaiveEngine>(Keeps::NoIndexes, &directory, Durability::Sync).unwrap();
    let shared: Arc<dyn SharedReadable> = Arc::new(OtherTimeline(Arc::clone(writer.timeline())));
    let parts = SharedParts {
        engine: Arc::clone(writer.engine()),
        timeline: Arc::new(Timeline::new(Timestamp::ZERO, Readable::Shared(shared))),
        budget: Arc::new(MemoryBudget::new(u64::MAX)),
        random: Box::new(SplitMix64::new(3)),
        options: StoreOptions::default(),
    };
    let reader = Store::assemble_reader(parts, Arc::new(|| Some(4711)));
    assert_eq!(reader.catalogue().names_count(), 0);
    let before = reader.snapshot();
    let (label, key, vertex) = writer
        .transact(|transaction| {
            let (label, key) = (transaction.label("Person")?, transaction.key("name")?);
            Ok((label, key, transaction.add_vertex(label, &[(key, Value::from("Ada"))])?))
        })
        .unwrap();
    let committed = writer.timeline().published();
    {
        let shared = writer.engine().shared.lock();
        assert_eq!(shared.catalogue.as_ref().map(|(timestamp, _)| *timestamp), Some(committed));
    }
    assert_eq!(reader.catalogue().label("Person"), Some(label));
    let after = reader.snapshot();
    assert_eq!((before.timestamp(), after.timestamp()), (Timestamp::ZERO, committed));
    let vertices = |snapshot: &Snapshot<NaiveEngine>| {
        let (mut cursor, mut vertices) = (VertexCursor::default(), Vec::new());
        snapshot.scan_vertices(None, &mut cursor, 10, &mut vertices).unwrap();
        vertices
    };
    assert_eq!((vertices(&before), vertices(&after)), (vec![], vec![vertex]));
    assert_eq!(after.catalogue().key("name"), Some(key));
    let numbers = reader.statistics();
    assert_eq!((numbers.readable, numbers.published, numbers.readers), (committed, committed, 2));

    // An index of the writer's is none here: everything of the label is read.
    let owner = OwnerName::Label("Person");
    let request = IndexRequest { owner, key: "name", kind: IndexKind::Hash, unique: false };
    assert!(writer.create_index(&request, &mut |_| Ok(())).unwrap());
    let mut transaction = reader.begin();
    let found = |value: &str| {
        let (mut cursor, mut matches) = (MatchCursor::default(), Matches::default());
        let values = [Value::from(value)];
        reader.snapshot().look_up_vertices(label, key, &values, &mut cursor, 10, &mut matches).unwrap();
        matches.items
    };
    assert_eq!((found("Ada"), found("Bob")), (vec![vertex], vec![]));
    let error = transaction.add_vertex(label, &[]).unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("in process 4711"), "{error}");
}

#[test]
fn an_engine_hears_that_more_is_durable_before_the_commit_is_acknowledged() {
    for durability in [Durability::Sync, Durability::None] {
        let directory = Arc::new(MemoryDirectory::new("db"));
        let options = OpenOptions { durability, ..OpenOptions::default() };
        let open = OpenStore::<NaiveEngine>::open(directory, &options).unwrap();
        let shows = || open.store().engine().shared.lock().shows;
        let opened = shows();
        let mut transaction = open.store().begin();
        transaction.label("Person").unwrap();
        let pending = transaction.publish().unwrap();
        let published = shows();
        assert!(published > opened, "a commit that is published may be readable");
        pending.wait().unwrap();
        assert_eq!(shows() > published, durability == Durability::Sync, "{durability:?}");
    }
}
