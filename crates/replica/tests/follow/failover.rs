//! Slots that standbys keep, too: asked for at the first start, and told of where there is none.

use crate::scenario::{open, options};
use crate::shop;
use evergraph::{Database, Durability, ErrorKind, Result};
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::follow::options::ReplicaOptions;
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::source::contract::{Source as _, SourceIdentity};
use evergraph_replica::source::replica_source::ReplicaSource as _;
use evergraph_replica::source::scripted::ScriptedSource;
use evergraph_replica::source::slot_state::SlotFailover;
use evergraph_storage::io::memory::MemoryDirectory;
use std::time::{Duration, Instant};

/// What ends a wait that a test does not expect to end.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// A shop without rows, of a server of this version.
fn source(server_version: u32) -> ScriptedSource {
    let identity = SourceIdentity { server_version, ..shop::identity() };
    let source = ScriptedSource::new(identity, shop::catalogue(), []);
    source.with_rows("public", "owner", Vec::new()).with_rows("public", "item", Vec::new())
}

fn database() -> Database {
    open(&MemoryDirectory::new("replica"), Durability::Interval(Duration::from_millis(5)))
}

fn start(database: &Database, source: &ScriptedSource, failover: SlotFailover) -> Result<Replica> {
    let options = ReplicaOptions { failover, ..options() };
    Replica::start(database.clone(), Box::new(source.clone()), options, &|_| (), &CancelFlag::default())
}

/// Waits until the replica has told of its slot, and says what.
fn told_of_slot(replica: &Replica) -> String {
    let began = Instant::now();
    loop {
        let status = replica.status();
        if let Some(error) = &status.last_error {
            return error.clone();
        }
        assert!(began.elapsed() < WAIT_MAX, "nothing is told: {status:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_slot_that_standbys_keep_is_refused_where_the_server_has_none_and_nothing_is_left() {
    let (database, mut source) = (database(), source(160_000));
    let refused = start(&database, &source, SlotFailover::Enabled).err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    assert!(refused.to_string().contains("needs PostgreSQL 17"), "{refused}");
    assert_eq!(database.source(), None);
    assert_eq!(source.slot_state("shop").unwrap(), None);
    assert!(source.catalogue().unwrap().publications.is_empty());
    start(&database, &source, SlotFailover::Disabled).unwrap().stop().unwrap();
    assert_eq!(source.slot_state("shop").unwrap().unwrap().failover, SlotFailover::Disabled);
}

#[test]
fn a_slot_is_made_so_that_standbys_keep_it_and_one_without_that_is_told() {
    let (kept, mut source_17) = (database(), source(170_000));
    let replica = start(&kept, &source_17, SlotFailover::Enabled).unwrap();
    assert_eq!(source_17.slot_state("shop").unwrap().unwrap().failover, SlotFailover::Enabled);
    replica.stop().unwrap();
    // It follows by the slot that it has, and says what that lacks.
    let (database, mut source) = (database(), source(170_000));
    start(&database, &source, SlotFailover::Disabled).unwrap().stop().unwrap();
    let replica = start(&database, &source, SlotFailover::Enabled).unwrap();
    let told = told_of_slot(&replica);
    assert!(told.contains("\"shop\" has no failover") && told.contains("ALTER_REPLICATION_SLOT"), "{told}");
    assert_eq!(source.slot_state("shop").unwrap().unwrap().failover, SlotFailover::Disabled);
    replica.stop().unwrap();
    // One that has it has nothing to tell, at several looks.
    let replica = start(&kept, &source_17, SlotFailover::Enabled).unwrap();
    std::thread::sleep(10 * options().intervals.watch);
    assert_eq!(replica.status().last_error, None);
    replica.stop().unwrap();
}
