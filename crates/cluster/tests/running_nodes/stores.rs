//! Stores: what the front of a store promises, on the stores of three nodes over one divided graph.

use crate::cluster::{Cluster, ClusterStore, PARTITIONS, PATIENCE, coordinators, stores};
use evergraph_cluster::log::memory::LogFaults;
use evergraph_cluster::planted::{Bug, with};
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::id::{GroupId, LabelId, TypeId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::{Freshness, Isolation, NewEdge, Transaction as _, TransactionOptions};
use evergraph_graph::value::Value;
use evergraph_graph::view::{EdgeCursor, GraphView, VertexCursor};
use evergraph_storage::view::View as _;
use std::collections::BTreeSet;
use std::time::Duration;

fn three(seed: u64) -> (Cluster, Vec<ClusterStore>) {
    let cluster = Cluster::start(seed, LogFaults::default());
    let stores = stores(&cluster, &coordinators(&cluster, PATIENCE));
    (cluster, stores)
}

fn vertices(view: &impl GraphView) -> Result<Vec<VertexId>, Error> {
    let (mut cursor, mut vertices) = (VertexCursor::default(), Vec::new());
    while !cursor.done {
        view.scan_vertices(None, &mut cursor, 100, &mut vertices)?;
    }
    Ok(vertices)
}

fn edges(view: &impl GraphView) -> Result<usize, Error> {
    let (mut cursor, mut edges) = (EdgeCursor::default(), Vec::new());
    while !cursor.done {
        view.scan_edges(None, &mut cursor, 100, &mut edges)?;
    }
    Ok(edges.len())
}

/// A snapshot of `store` that sees a commit of any.
fn options(after: Timestamp) -> TransactionOptions {
    TransactionOptions::default().freshness(Freshness::After(after))
}

#[test]
fn all_nodes_that_name_something_at_once_get_the_same_number() {
    let (_cluster, stores) = three(11);
    let given: BTreeSet<(LabelId, TypeId)> = std::thread::scope(|scope| {
        let threads = stores.iter().map(|store| {
            scope.spawn(move || {
                let mut transaction = store.begin();
                let label = transaction.label("Person").unwrap();
                let edge_type = transaction.declare_simple_type("KNOWS").unwrap();
                let key = transaction.key("name").unwrap();
                transaction.declare_meta_properties(label, key).unwrap();
                // Rolled back: the names are there all the same.
                (label, edge_type)
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(given.len(), 1, "{given:?}");
    let snapshot = stores[1].snapshot_with(Freshness::Fresh);
    let catalogue = snapshot.catalogue();
    let (label, edge_type) = *given.first().unwrap();
    assert_eq!((catalogue.label("Person"), catalogue.edge_type("KNOWS")), (Some(label), Some(edge_type)));
    assert!(catalogue.edge_type_definition(edge_type).unwrap().simple);
    assert!(catalogue.key("name").and_then(|key| catalogue.meta_key_of(key)).is_some());
}

/// A transaction whose vertices are the first of their groups finds them in its own scans.
fn finds_its_own(seed: u64, bug: Option<Bug>) -> bool {
    let (_cluster, stores) = three(seed);
    let work = || {
        let mut transaction = stores[0].begin();
        let label = transaction.label("Person").unwrap();
        let vertex = transaction.add_vertex(label, &[]).unwrap();
        let found = vertices(&transaction).unwrap();
        if found.is_empty() {
            return false;
        }
        assert_eq!(found, [vertex]);
        let committed = transaction.commit().unwrap();
        let others = stores[2].begin_with(options(committed.timestamp));
        assert_eq!(vertices(&others).unwrap(), [vertex], "on any node");
        true
    };
    match bug {
        Some(bug) => with(bug, work),
        None => work(),
    }
}

#[test]
fn a_transaction_finds_vertices_in_groups_that_it_opened() {
    assert!(finds_its_own(12, None));
    assert!(!finds_its_own(12, Some(Bug::GroupsOfBegin)), "the planted bug is found");
}

#[test]
fn edges_are_put_and_deleted_in_parts_and_come_again_under_an_open_snapshot() {
    let (cluster, stores) = three(13);
    let (hub, others, knows) = stores[0]
        .transact(|transaction| {
            let (label, knows) = (transaction.label("Person")?, transaction.edge_type("KNOWS")?);
            let hub = transaction.add_vertex(label, &[])?;
            let mut others = Vec::new();
            for _ in 0..40 {
                others.push(transaction.add_vertex(label, &[])?);
            }
            Ok((hub, others, knows))
        })
        .unwrap();
    let edge = stores[0]
        .transact(|transaction| {
            let new: Vec<_> = others.iter().map(|other| NewEdge::bare(hub, *other)).collect();
            transaction.put_edges(knows, &new)?;
            transaction.put_edge(hub, knows, others[0], &[])
        })
        .unwrap();
    let before = stores[1].snapshot_with(Freshness::Fresh);
    assert_eq!(edges(&before).unwrap(), 40);
    stores[2]
        .retrying(TransactionOptions::default().freshness(Freshness::Fresh), |mut transaction| {
            transaction.delete_edge(edge)?;
            transaction.commit()
        })
        .unwrap();
    // At this snapshot the name is free.
    let again = stores[2].transact(|transaction| transaction.add_edge(hub, knows, others[0], &[])).unwrap();
    let parallel =
        stores[2].transact(|transaction| transaction.add_edge(hub, knows, others[0], &[])).unwrap();
    assert_eq!((again, parallel.discriminator), (edge, 1));
    cluster.nodes.iter().for_each(|node| node.merge());
    let after = stores[0].snapshot_with(Freshness::Fresh);
    assert_eq!((edges(&before).unwrap(), edges(&after).unwrap()), (40, 41));
    // It may be behind the other nodes, and try again as often as a store does.
    drop(stores[1].snapshot_with(Freshness::Fresh));
    let deleted = stores[1].delete_vertex_in_parts(hub, &mut |_| Ok(())).unwrap();
    assert_eq!(deleted, 41);
    let end = stores[0].snapshot_with(Freshness::Fresh);
    assert_eq!((edges(&end).unwrap(), vertices(&end).unwrap().len()), (0, 40));
    assert_eq!((edges(&before).unwrap(), edges(&after).unwrap()), (40, 41), "they stay what they were");
}

#[test]
fn vertices_of_a_transaction_lie_together_and_no_id_is_given_twice() {
    let (_cluster, stores) = three(14);
    let label = stores[0].begin().label("Person").unwrap();
    let mut seen = BTreeSet::new();
    // More transactions than there are partitions, which they choose in turn.
    for _ in 0..=PARTITIONS {
        let mut transaction = stores[0].begin();
        let ids = [(); 2].map(|()| transaction.add_vertex(label, &[]).unwrap());
        let partitions = ids.map(|vertex| vertex.group().0 % u32::from(PARTITIONS));
        assert_eq!(partitions[0], partitions[1], "a transaction's vertices lie together");
        assert!(ids.iter().all(|vertex| seen.insert(*vertex)), "{ids:?}");
        transaction.commit().unwrap();
    }
    let mut transaction = stores[0].begin();
    let dropped = transaction.add_vertex(label, &[]).unwrap();
    drop(transaction);
    let end = stores[2].snapshot_with(Freshness::Fresh);
    assert!(!seen.contains(&dropped));
    assert_eq!(vertices(&end).unwrap(), seen.into_iter().collect::<Vec<_>>());
}

#[test]
fn serialisable_transactions_notice_names_and_ranges_that_they_read() {
    let (_cluster, stores) = three(15);
    let (label, key) = stores[0]
        .transact(|transaction| {
            let (label, key) = (transaction.label("Person")?, transaction.key("age")?);
            transaction.add_vertex(label, &[(key, Value::I64(1))])?;
            Ok((label, key))
        })
        .unwrap();
    let fresh = TransactionOptions::default().isolation(Isolation::Serializable).freshness(Freshness::Fresh);
    let mut asks = stores[1].begin_with(fresh);
    let mut asks_not = stores[2].begin_with(fresh);
    assert_eq!(asks.catalogue().label("City"), None);
    for transaction in [&mut asks, &mut asks_not] {
        transaction.add_vertex(label, &[(key, Value::I64(2))]).unwrap();
    }
    stores[0].begin().label("City").unwrap();
    assert!(asks.commit().unwrap_err().is_conflict());
    asks_not.commit().unwrap();
}

#[test]
fn a_snapshot_begins_in_any_case_and_its_reads_say_what_is_missing() {
    let cluster = Cluster::start(16, LogFaults::default());
    // Named by a store that waits, however slow the machine is. What the others are asked fails at once, or needs no waiting.
    let patient = stores(&cluster, &coordinators(&cluster, PATIENCE)).swap_remove(0);
    let label = patient.begin().label("Person").unwrap();
    let stores = stores(&cluster, &coordinators(&cluster, Duration::from_millis(50)));
    // The store knows the name as of its last session.
    drop(stores[0].snapshot());
    let never = options(Timestamp(u64::MAX / 2));
    let mut transaction = stores[0].begin_with(never);
    let busy = |error: Error| assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    busy(vertices(&transaction).unwrap_err());
    busy(edges(&transaction).unwrap_err());
    busy(transaction.labels(&[VertexId(0)], &mut Vec::new()).unwrap_err());
    busy(transaction.add_vertex(label, &[]).unwrap_err());
    busy(transaction.label("City").unwrap_err());
    busy(transaction.check_begun().unwrap_err());
    // Groups that nobody knows, names that nobody has and commits of nothing ask nobody.
    let refused = stores[0].snapshot_with(Freshness::After(Timestamp(u64::MAX / 2)));
    busy(refused.view().live(GroupId(0)).unwrap_err());
    busy(refused.names().unwrap_err());
    busy(stores[0].begin_with(never).commit().unwrap_err());
    busy(stores[0].retrying(never, |_| -> Result<(), Error> { panic!("it has not begun") }).unwrap_err());
    drop(refused);
    assert_eq!(transaction.catalogue().label("Person"), Some(label), "names are those that were known last");
    busy(stores[0].snapshot_with(Freshness::After(Timestamp(u64::MAX / 2))).statistics().unwrap_err());
    assert!(vertices(&stores[0].snapshot()).unwrap().is_empty());
    drop(transaction);
    assert_eq!((stores[0].statistics().readers, stores[0].statistics().writers), (0, 0));
}
