//! Clusters: a database whose graph lies on three nodes, in memory, does what any database does, or says what it does not; databases by
//! the paths of nodes, on a real etcd.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

#[path = "../../../../tests/src/cluster/mod.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod cluster;
#[path = "../../../../tests/src/etcd.rs"]
mod etcd;
#[path = "../../../../tests/src/free_ports.rs"]
mod free_ports;
#[path = "../../../../tests/src/guarded_process.rs"]
mod guarded_process;
mod log_away;
#[path = "../../../../tests/src/one_etcd.rs"]
mod one_etcd;
mod paths;
mod ranges;
mod refusals;
#[path = "../../../../tests/src/skips.rs"]
mod skips;

use crate::cluster::databases::{Databases, travelling};
use crate::cluster::nodes::{ClusterSetup, PATIENCE, waiting};
use evergraph::graph::error::Error;
use evergraph::graph::timestamp::Timestamp;
use evergraph::graph::value::ValueType;
use evergraph::{
    Database, Direction, EngineKind, ErrorKind, Freshness, GraphView, IndexOptions, Isolation, ReadByName,
    TransactionOptions, Value, ValueRange, VertexId,
};
use std::time::Duration;

/// Databases of three nodes, which wait so long for each other.
fn three_nodes(seed: u64, patience: Duration) -> Databases {
    Databases::start(&ClusterSetup {
        seed,
        coordinator: waiting(patience),
        stages: travelling(),
        ..ClusterSetup::default()
    })
}

fn after(timestamp: Timestamp) -> TransactionOptions {
    TransactionOptions::default().freshness(Freshness::After(timestamp))
}

fn fresh() -> TransactionOptions {
    TransactionOptions::default().freshness(Freshness::Fresh)
}

fn count(db: &Database, query: &str) -> i64 {
    db.gremlin(query).transaction(fresh()).one().unwrap()
}

/// Two people, of whom one knows the other, written by `db`.
fn people(db: &Database) -> ([VertexId; 2], Timestamp) {
    let (people, committed) = db
        .transact_committed(|tx| {
            let ada = tx.add_vertex("Person", &[("name", "Ada".into()), ("born", 1815.into())])?;
            let charles = tx.add_vertex("Person", &[("name", "Charles".into()), ("born", 1791.into())])?;
            tx.add_edge(ada, "KNOWS", charles, &[("since", 1833.into())])?;
            assert_eq!(tx.get(ada, "name")?, Some("Ada".into()), "its own writes");
            Ok([ada, charles])
        })
        .unwrap();
    (people, committed.timestamp)
}

#[test]
fn what_one_node_commits_all_of_them_read_write_and_query() {
    let databases = three_nodes(31, PATIENCE);
    let [first, second, third] = databases.all();
    let ([ada, charles], committed) = people(first);
    assert_eq!(first.snapshot().get(ada, "born").unwrap(), Some(1815.into()), "at once where it was written");

    let snapshot = second.snapshot_with(Freshness::After(committed));
    assert!(snapshot.timestamp() >= committed);
    let edges = snapshot.edges(ada, Direction::Out, &["KNOWS"]).unwrap();
    assert_eq!(edges.iter().map(|(_, other)| *other).collect::<Vec<_>>(), [charles]);
    assert_eq!(snapshot.get_edge(edges[0].0, "since").unwrap(), Some(1833.into()));

    let names = "g.V().has('Person', 'name', 'Ada').out('KNOWS').values('name')";
    let of_second: Vec<String> = second.gremlin(names).transaction(after(committed)).values().unwrap();
    assert_eq!(of_second, ["Charles"]);
    third
        .gremlin("g.V().has('Person', 'name', 'Ada').addE('KNOWS').to(__.addV('Person').property('name', 'Grace'))")
        .transaction(after(committed))
        .run()
        .unwrap();
    assert_eq!(count(first, "g.V().count()"), 3);
    assert_eq!(count(second, "g.V().has('Person', 'name', 'Ada').out('KNOWS').count()"), 2);
    assert_eq!(
        edges.len(),
        snapshot.edges(ada, Direction::Out, &["KNOWS"]).unwrap().len(),
        "it stays as it was"
    );

    assert_eq!(count(second, "g.V().has('Person', 'name', 'Charles').in().out().count()"), 2);
    let ranks = "g.V().pageRank().values('gremlin.pageRankVertexProgram.pageRank').count()";
    assert_eq!(count(second, ranks), 3, "algorithms of queries gather the graph themselves");
    second
        .retrying(fresh(), |mut tx| {
            tx.delete_vertex(charles)?;
            tx.commit()
        })
        .unwrap();
    assert_eq!(count(first, "g.E().count()"), 1);
    assert_eq!(count(first, "g.V().has('Person', 'name', 'Charles').count()"), 0);
}

#[test]
fn a_database_on_a_cluster_says_what_it_is_and_counts_the_whole_graph() {
    let databases = three_nodes(32, PATIENCE);
    let [first, second, _] = databases.all();
    let (_, committed) = people(first);
    assert_eq!((first.engine(), first.path()), (EngineKind::Cluster, None));
    assert!(first.is_on_cluster() && !first.is_read_only() && !first.has_own_log());
    assert_eq!(first.writer_process(), Some(std::process::id()));
    assert!(first.durable_through() >= committed);
    assert!(first.sync().unwrap() >= committed);
    assert_eq!((first.source(), first.indexes().len()), (None, 0));

    drop(second.snapshot_with(Freshness::After(committed)));
    for db in [first, second] {
        let statistics = db.statistics().unwrap();
        assert_eq!(statistics.vertices, [("Person".to_owned(), 2)]);
        assert_eq!(statistics.edges, [("KNOWS".to_owned(), 1)]);
        assert_eq!(statistics.engine, EngineKind::Cluster);
        assert!(statistics.tree.is_none() && statistics.mapped.is_none());
        assert!(statistics.store.published >= committed && statistics.store.engine.groups > 0);
        assert_eq!((statistics.store.readers, statistics.store.writers), (0, 0));
    }
    assert_eq!(first.statistics().unwrap().store.commits, 1);
    assert_eq!(second.statistics().unwrap().store.commits, 0, "of this process");
}

#[test]
fn of_two_transactions_that_change_the_same_one_is_refused_and_runs_again() {
    let databases = three_nodes(33, PATIENCE);
    let [first, second, _] = databases.all();
    let ([ada, charles], committed) = people(first);
    let (mut one, mut other) = (first.begin(), second.begin_with(after(committed)));
    one.set(ada, "born", 1).unwrap();
    other.set(ada, "born", 2).unwrap();
    one.commit().unwrap();
    assert!(other.commit().unwrap_err().is_conflict());
    assert_eq!(second.statistics().unwrap().store.conflicts, 1);

    // One that is serialisable sees that what it has read was changed.
    let mut reads = second.begin_with(fresh().isolation(Isolation::Serializable));
    reads.get(ada, "born").unwrap();
    reads.set(charles, "born", 3).unwrap();
    first.transact(|tx| tx.set(ada, "born", 4)).unwrap();
    assert!(reads.commit().unwrap_err().is_conflict());

    let threads: Vec<_> = databases
        .all::<3>()
        .into_iter()
        .map(|db| {
            let db = db.clone();
            std::thread::spawn(move || {
                for _ in 0..5 {
                    db.transact_with(fresh(), |tx| {
                        let born = tx.get(ada, "born")?.and_then(|born| born.as_i64()).unwrap();
                        tx.set(ada, "born", born + 1)
                    })
                    .unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(count(second, "g.V().has('Person', 'name', 'Ada').values('born')"), 4 + 15);
}

#[test]
fn an_index_that_one_node_builds_serves_and_binds_all_of_them() {
    let databases = three_nodes(39, PATIENCE);
    let [first, second, third] = databases.all();
    let ([ada, _], _) = people(first);
    first.create_unique_index("Person", "name").unwrap();
    drop(third.snapshot_with(Freshness::Fresh));
    assert!(third.create_index(&IndexOptions::on_label("Person", "born").ordered()).unwrap(), "it is new");
    let snapshot = second.snapshot_with(Freshness::Fresh);
    assert_eq!(snapshot.find("Person", "name", "Ada").unwrap(), Some(ada));
    let born = snapshot.range("Person", "born", &ValueRange::ALL, 9).unwrap();
    assert_eq!(born.iter().map(|(born, _)| born.as_i64()).collect::<Vec<_>>(), [Some(1791), Some(1815)]);
    assert_eq!(second.indexes().len(), 2);
    let taken =
        second.transact_with(fresh(), |tx| tx.add_vertex("Person", &[("name", "Ada".into())])).unwrap_err();
    assert!(taken.kind() == ErrorKind::Invalid && taken.to_string().contains("unique"), "{taken}");
    assert!(
        !second.create_index(&IndexOptions::on_label("Person", "born").ordered()).unwrap(),
        "it is there"
    );
}

#[test]
fn newest_edges_parts_of_a_hub_and_exports_are_those_of_any_database() {
    let databases = three_nodes(34, PATIENCE);
    let [first, second, _] = databases.all();
    let (hub, committed) = first
        .transact_committed(|tx| {
            tx.declare_newest_first("POSTED", "at", ValueType::I64)?;
            let hub = tx.add_vertex("Person", &[])?;
            for year in 1833..1843_i64 {
                let post = tx.add_vertex("Post", &[("year", year.into())])?;
                tx.add_edge(hub, "POSTED", post, &[("at", year.into())])?;
            }
            Ok(hub)
        })
        .unwrap();
    let snapshot = second.snapshot_with(Freshness::After(committed.timestamp));
    let latest = snapshot.newest_edges(hub, "POSTED", "at", &ValueRange::ALL, 3).unwrap();
    let years: Vec<_> = latest.iter().map(|(at, _)| at.clone()).collect();
    assert_eq!(years, [1842_i64, 1841, 1840].map(Value::from));

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("graph.json");
    let path = file.to_str().unwrap();
    second.gremlin(&format!("g.io('{path}').write()")).files(true).run().unwrap();
    let copy = Database::in_memory().unwrap();
    copy.gremlin(&format!("g.io('{path}').read()")).files(true).run().unwrap();
    assert_eq!(copy.statistics().unwrap().vertices, second.statistics().unwrap().vertices);
    assert_eq!(copy.gremlin("g.E().values('at').sum()").one::<i64>().unwrap(), (1833..1843).sum::<i64>());

    assert_eq!(first.delete_vertex_in_parts(hub).unwrap(), 10);
    assert_eq!((count(second, "g.E().count()"), count(second, "g.V().count()")), (0, 10));
}

#[test]
fn a_moment_that_does_not_come_is_an_error_of_each_read_and_of_no_other() {
    let databases = three_nodes(35, Duration::from_millis(50));
    let [first, _, _] = databases.all();
    let never = Timestamp(u64::MAX / 2);
    let busy = |error: Error| assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    busy(first.snapshot_with(Freshness::After(never)).vertices(None).unwrap_err());
    busy(first.gremlin("g.V().count()").transaction(after(never)).one::<i64>().unwrap_err());
    busy(first.gremlin("g.V().drop()").transaction(after(never)).run().unwrap_err());
    busy(first.begin_with(after(never)).get(VertexId(0), "name").unwrap_err());
    assert_eq!(first.gremlin("g.V().count()").one::<i64>().unwrap(), 0);
}

#[test]
fn a_closed_database_commits_and_reads_no_more_and_the_other_nodes_go_on() {
    let databases = three_nodes(37, Duration::from_secs(2));
    let [first, second, third] = databases.all();
    let ([ada, _], committed) = people(first);
    let mut open = first.begin();
    open.set(ada, "born", 1).unwrap();
    assert!(first.check_node().is_ok());
    let clone = first.clone();
    first.close().unwrap();
    first.close().unwrap();
    assert_eq!(databases.closed(0), 1, "once");
    let refused = |error: Error| {
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert!(error.to_string().contains("stopped"), "{error}");
    };
    refused(first.check_node().unwrap_err());
    refused(open.commit().unwrap_err());
    refused(clone.transact(|tx| tx.add_vertex("Person", &[])).unwrap_err());
    refused(clone.gremlin("g.V().count()").one::<i64>().unwrap_err());
    refused(clone.snapshot_with(Freshness::Fresh).vertices(None).unwrap_err());

    for db in [second, third] {
        let born = db.transact_with(after(committed), |tx| tx.get(ada, "born")).unwrap();
        assert_eq!(born, Some(1815.into()));
    }
}

#[test]
fn a_node_ends_with_the_last_clone_of_its_database() {
    let mut databases = three_nodes(38, PATIENCE);
    let first = databases.take(0);
    let clone = first.clone();
    drop(first);
    assert_eq!(databases.closed(0), 0);
    drop(clone);
    assert_eq!(databases.closed(0), 1);
}

/// Reads that were announced where all is at hand took up to three times as long.
#[test]
fn a_node_that_keeps_every_partition_is_told_nothing_ahead() {
    for (copies, keeps_all) in [(2, false), (3, true)] {
        let databases = Databases::start(&ClusterSetup {
            seed: 33,
            copies,
            coordinator: waiting(PATIENCE),
            stages: travelling(),
            ..ClusterSetup::default()
        });
        let [first, _, _] = databases.all();
        people(first);
        let (snapshot, mut transaction) = (first.snapshot(), first.begin());
        let views: [&dyn GraphView; 2] = [&snapshot, transaction.by_id()];
        for view in views {
            assert!(view.is_remote(), "a partition may be behind, whoever keeps it");
            assert_eq!(view.heeds_ahead(), !keeps_all, "{copies} copies on three nodes");
        }
    }
}
