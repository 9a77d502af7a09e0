//! Adapter: what is promised of the store of a partition, one by one.

use crate::machine::Partition;
use crate::script::{PERSON, WEIGHT, partitions};
use crate::shown::value_of;
use evergraph_cluster::digest::{LogDigest, SeenLog};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::partition_store::{Installed, PartitionStore as _, PartitionSync as _};
use evergraph_cluster::node::store_partition::{SEEN_NOTE, StorePartition};
use evergraph_cluster::node::store_steps::StoreSteps;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{GroupId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::note::NoteChange;
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView as _;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use std::io;
use std::sync::Arc;

const VERTEX: VertexId = VertexId::new(GroupId(0), 0);

fn own() -> OwnGroups {
    partitions().next().unwrap()
}

fn open(directory: Arc<dyn Directory>, own_groups: Option<OwnGroups>) -> Result<OpenStore<MemoryEngine>> {
    let options = OpenOptions {
        durability: Durability::None,
        environment: Environment::simulated(3),
        // Every commit is written at once.
        log_spill_bytes: 1,
        own_groups,
        ..OpenOptions::default()
    };
    OpenStore::open(directory, &options)
}

fn partition(directory: &MemoryDirectory) -> Result<Partition> {
    StorePartition::new(open(Arc::new(directory.clone()), Some(own()))?)
}

/// A log through the message at a position.
fn seen(position: u64) -> SeenLog {
    SeenLog { position: LogPosition(position), digest: LogDigest([position as u8; 16]) }
}

fn insert(weight: i64) -> Vec<Mutation> {
    let properties = Properties::new(vec![(WEIGHT, Some(Value::I64(weight)))]);
    vec![Mutation::InsertVertex { vertex: VERTEX, label: PERSON, properties }]
}

fn set(weight: i64) -> Vec<Mutation> {
    let properties = Properties::new(vec![(WEIGHT, Some(Value::I64(weight)))]);
    vec![Mutation::SetVertexProperties { vertex: VERTEX, properties }]
}

fn weight_at(partition: &Partition, position: u64) -> Result<Option<i64>> {
    let snapshot = partition.snapshot_at(LogPosition(position))?;
    Ok(value_of(&snapshot.vertex_property_map(VERTEX)?, WEIGHT))
}

#[test]
fn a_new_partition_has_installed_a_log_without_messages_and_says_so_again() {
    let directory = MemoryDirectory::new("store");
    let nothing = Installed::all(&SeenLog::START);
    let mut new = partition(&directory).unwrap();
    assert_eq!((new.installed(), new.own_groups()), (nothing, own()));
    assert_eq!(weight_at(&new, 0).unwrap(), None, "the empty graph can be read");
    new.publish_through(&SeenLog::START).unwrap();
    let cut = directory.power_cut();
    assert_eq!(partition(&cut).unwrap().installed(), nothing, "its note was not on disk, and is made again");
    new.sync().unwrap();
    let cut = directory.power_cut();
    assert_eq!(partition(&cut).unwrap().installed(), nothing);
}

#[test]
fn what_is_installed_is_read_through_the_end_of_a_message_and_is_there_again_after_a_checkpoint() {
    let directory = MemoryDirectory::new("store");
    let mut store = partition(&directory).unwrap();
    let at = |position: u64, place| LogPosition(position).timestamp(place);
    store.apply(at(2, 0), insert(1), &seen(2)).unwrap();
    store.apply(at(2, 7), set(2), &seen(2)).unwrap();
    assert_eq!(store.installed(), Installed { through: at(2, 7), seen: seen(2) });
    assert_eq!(weight_at(&store, 2).unwrap_err().kind(), ErrorKind::Busy, "more of the message may come");
    store.sync().unwrap();
    let begun = partition(&directory.power_cut()).unwrap();
    assert_eq!(begun.installed(), store.installed(), "a message that is begun");
    drop(begun);
    store.publish_through(&seen(2)).unwrap();
    store.publish_through(&seen(2)).unwrap();
    store.apply(at(5, 4095), set(5), &seen(5)).unwrap();
    assert_eq!(store.installed(), Installed::all(&seen(5)), "the last place is the end of its message");
    store.publish_through(&seen(5)).unwrap();
    assert_eq!(
        [1, 2, 4, 5].map(|position| weight_at(&store, position).unwrap()),
        [None, Some(2), Some(2), Some(5)]
    );
    store.set_horizon(LogPosition(4));
    assert_eq!(weight_at(&store, 3).unwrap_err().kind(), ErrorKind::Conflict);
    store.sync().unwrap();
    let again = partition(&directory.power_cut()).unwrap();
    assert_eq!((again.installed(), weight_at(&again, 5).unwrap()), (store.installed(), Some(5)));
}

#[test]
fn what_does_not_follow_is_refused_and_changes_nothing() {
    let mut store = partition(&MemoryDirectory::new("store")).unwrap();
    store.apply(LogPosition(2).timestamp(3), insert(1), &seen(2)).unwrap();
    let before = store.installed();
    let other_log = SeenLog { digest: LogDigest([9; 16]), ..seen(2) };
    let refused = [
        store.apply(LogPosition(2).timestamp(3), set(2), &seen(2)),
        store.apply(LogPosition(3).timestamp(0), set(2), &seen(2)),
        store.apply(LogPosition(2).timestamp(4), set(2), &other_log),
        store.publish_through(&other_log),
        store.publish_through(&seen(1)),
    ];
    for refused in refused {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
    }
    assert_eq!(store.installed(), before);
    store.publish_through(&seen(2)).unwrap();
    assert_eq!(weight_at(&store, 2).unwrap(), Some(1));
}

#[test]
fn a_commit_whose_frame_could_not_be_written_is_there_or_not_and_nothing_follows_it() {
    let memory = MemoryDirectory::new("store");
    let failing = FailingDirectory::new(Arc::new(memory.clone()));
    let mut store = StorePartition::new(open(Arc::new(failing.clone()), Some(own())).unwrap()).unwrap();
    store.apply(LogPosition(1).timestamp(0), insert(1), &seen(1)).unwrap();
    store.sync().unwrap();
    failing.plan(Fault::new(Operation::Write, "log-", io::ErrorKind::Other).lasting());
    let failed = store.apply(LogPosition(2).timestamp(0), set(2), &seen(2));
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(store.installed(), Installed { through: LogPosition(2).timestamp(0), seen: seen(2) });
    let after = [
        store.apply(LogPosition(3).timestamp(0), set(3), &seen(3)),
        store.publish_through(&seen(2)),
        store.sync(),
    ];
    for after in after {
        assert_eq!(after.unwrap_err().kind(), ErrorKind::Io);
    }
    let mut again = partition(&memory.power_cut()).unwrap();
    assert_eq!(again.installed(), Installed { through: LogPosition(1).timestamp(0), seen: seen(1) });
    again.apply(LogPosition(2).timestamp(0), set(2), &seen(2)).unwrap();
    again.publish_through(&seen(2)).unwrap();
    assert_eq!(weight_at(&again, 2).unwrap(), Some(2));
}

#[test]
fn a_store_that_no_node_has_written_is_refused() {
    let whole = open(Arc::new(MemoryDirectory::new("whole")), None).unwrap();
    assert_eq!(StorePartition::new(whole).map(drop).unwrap_err().kind(), ErrorKind::Invalid);
    let note =
        |bytes: &[u8]| Mutation::Note(NoteChange { name: SEEN_NOTE.into(), bytes: Some(bytes.into()) });
    let mut of_message_one = 1u64.to_le_bytes().to_vec();
    of_message_one.extend([7; 16]);
    let too_long = [&of_message_one[..], &[0]].concat();
    for (mutations, problem) in [
        (insert(1), "no note of their log"),
        (vec![note(&of_message_one[..9])], "is wrong at byte"),
        (vec![note(&too_long)], "the end expected"),
        (vec![note(&of_message_one)], "its note says message 1"),
    ] {
        let open = open(Arc::new(MemoryDirectory::new("store")), Some(own())).unwrap();
        let at: Timestamp = LogPosition(4).timestamp(0);
        open.store().apply(at, &mutations).unwrap();
        let error = StorePartition::new(open).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains(problem), "{error}");
    }
}

#[test]
fn a_store_makes_its_own_checkpoints_beside_the_thread_that_installs() {
    let directory = MemoryDirectory::new("store");
    let options = OpenOptions {
        durability: Durability::None,
        environment: Environment::simulated(3),
        log_spill_bytes: 1,
        checkpoint_after_bytes: 1000,
        own_groups: Some(own()),
        ..OpenOptions::default()
    };
    let opened = OpenStore::<MemoryEngine>::open(Arc::new(directory.clone()), &options).unwrap();
    let mut store = StorePartition::new(opened).unwrap();
    let steps = StoreSteps::start("test").unwrap();
    steps.add(own().partition(), store.opened().clone());
    let mut position = 0;
    while store.opened().checkpoint_state().checkpoints == 0 {
        position += 1;
        assert!(position < 500_000, "no checkpoint is made: {:?}", store.opened().checkpoint_state());
        let change = if position == 1 { insert(1) } else { set(position as i64) };
        store.apply(LogPosition(position).timestamp(0), change, &seen(position)).unwrap();
        store.publish_through(&seen(position)).unwrap();
        store.set_horizon(LogPosition(position));
    }
    let pending = store.begin_sync();
    store.apply(LogPosition(position + 1).timestamp(0), set(-1), &seen(position + 1)).unwrap();
    pending.sync().unwrap();
    steps.remove(own().partition());
    let mut again = partition(&directory.power_cut()).unwrap();
    let installed = again.installed().position().0;
    let weight = if installed == position { position as i64 } else { -1 };
    assert!(installed == position || installed == position + 1, "{installed} of {position}");
    again.publish_through(&seen(installed)).unwrap();
    assert_eq!(weight_at(&again, installed).unwrap(), Some(weight));
    store.opened().close().unwrap();
    store.begin_sync().sync().unwrap();
}
