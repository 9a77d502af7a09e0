//! Paths: databases that are opened by the folders of a cluster's nodes, `cluster:FOLDER`: nodes that run in this process, connected by
//! TCP, with their log on a real etcd.
//!
//! Without the program `etcd` the test says that it was skipped; with `CI` set it fails.

use crate::free_ports::free_ports;
use crate::guarded_process::GuardedProcess;
use crate::one_etcd::start_etcd;
use crate::{after, count, fresh, people};
use evergraph::{Database, Direction, EngineKind, ErrorKind, Freshness, ReadByName as _};
use evergraph_cluster::running::create::NewCluster;
use evergraph_cluster::running::etcd_access::EtcdAccess;
use evergraph_graph::partition::PartitionCount;
use std::process::Command;
use tempfile::TempDir;

const NAMES: &str = "g.V().has('Person', 'name', 'Ada').both('KNOWS').values('name')";

/// Folders of two nodes, each of which keeps the partitions that the other does not.
pub struct TwoNodes {
    etcd: GuardedProcess,
    _home: TempDir,
    paths: [String; 2],
}

impl TwoNodes {
    /// Those of a new cluster; `None` where there is no etcd.
    pub fn create() -> Option<Self> {
        let home = tempfile::tempdir().unwrap();
        let (etcd, url) = start_etcd(home.path())?;
        let addresses = free_ports(2).into_iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let log = EtcdAccess::new(vec![url.parse().unwrap()]);
        let partitions = PartitionCount::new(8).unwrap();
        let new = NewCluster { partitions, copies: 1, ..NewCluster::new("social", addresses, log) };
        let created = new.write(&home.path().join("social")).unwrap();
        let path = |node: usize| format!("cluster:{}", created.nodes[node].display());
        Some(Self { etcd, _home: home, paths: [path(0), path(1)] })
    }

    pub fn open(&self) -> [Database; 2] {
        [0, 1].map(|node| Database::open(&self.paths[node]).unwrap())
    }

    /// Stops etcd: it keeps its sockets, and says nothing.
    pub fn stop_etcd(&self) {
        self.send_etcd("-STOP");
    }

    /// Lets it go on.
    pub fn continue_etcd(&self) {
        self.send_etcd("-CONT");
    }

    fn send_etcd(&self, signal: &str) {
        let process = self.etcd.process.id().to_string();
        assert!(Command::new("kill").args([signal, &process]).status().unwrap().success(), "{signal}");
    }
}

fn names(db: &Database) -> Vec<String> {
    let mut names: Vec<String> = db.gremlin(NAMES).transaction(fresh()).values().unwrap();
    names.sort_unstable();
    names
}

#[test]
fn the_folders_of_two_nodes_open_one_graph_which_is_there_again_when_they_are_closed_and_opened() {
    let Some(nodes) = TwoNodes::create() else { return };
    let [first, second] = nodes.open();
    for (number, db) in [&first, &second].into_iter().enumerate() {
        assert_eq!(db.engine(), EngineKind::Cluster);
        assert_eq!(db.cluster_node().unwrap().author().node.0 as usize, number);
    }
    let running = Database::open(&nodes.paths[0]).map(drop).unwrap_err();
    assert_eq!(running.kind(), ErrorKind::Busy, "{running}");
    first.create_unique_index("Person", "name").unwrap();

    // A transaction by one: `transact`, then `begin`. The other has a snapshot of each moment.
    let ([ada, charles], committed) = people(&first);
    let before = second.snapshot_with(Freshness::After(committed));
    let mut open = second.begin_with(after(committed));
    let mary = open.add_vertex("Person", &[("name", "Mary".into())]).unwrap();
    open.add_edge(mary, "KNOWS", ada, &[("since", 1840.into())]).unwrap();
    assert_eq!(open.edges(ada, Direction::Both, &["KNOWS"]).unwrap().len(), 2, "its own writes");
    assert_eq!(count(&first, "g.V().count()"), 2, "and nobody else's");
    let committed = open.commit().unwrap().timestamp;
    assert_eq!(before.find("Person", "name", "Mary").unwrap(), None, "it stays as it was");
    let now = first.snapshot_with(Freshness::After(committed));
    assert_eq!(now.get(mary, "name").unwrap(), Some("Mary".into()));
    assert_eq!(now.edges(ada, Direction::In, &["KNOWS"]).unwrap().len(), 1);

    // One that is dropped leaves nothing, and one of two that change the same is refused.
    let mut dropped = first.begin_with(fresh());
    dropped.delete_vertex(ada).unwrap();
    drop(dropped);
    let (mut one, mut other) = (first.begin_with(fresh()), second.begin_with(fresh()));
    one.set(charles, "born", 1792).unwrap();
    other.set(charles, "born", 1793).unwrap();
    one.commit().unwrap();
    assert!(other.commit().unwrap_err().is_conflict());
    let taken = second.transact_with(fresh(), |tx| tx.add_vertex("Person", &[("name", "Ada".into())]));
    assert_eq!(taken.unwrap_err().kind(), ErrorKind::Invalid, "the name is unique");
    for db in [&first, &second] {
        assert_eq!(names(db), ["Charles", "Mary"]);
        assert_eq!(count(db, "g.V().out('KNOWS').out('KNOWS').count()"), 1);
        assert_eq!(count(db, "g.V().values('born').sum()"), 1815 + 1792);
    }

    // Closed, both end their nodes; from their folders and the log everything is there again.
    for db in [&first, &second] {
        db.close().unwrap();
        assert_eq!(db.transact(|tx| tx.set(ada, "born", 1)).unwrap_err().kind(), ErrorKind::Io);
    }
    drop((before, now, first, second));
    let [first, second] = nodes.open();
    for db in [&second, &first] {
        assert_eq!(names(db), ["Charles", "Mary"]);
        assert_eq!(count(db, "g.E().count()"), 2);
        assert_eq!(count(db, "g.V().has('Person', 'born', 1792).count()"), 1);
    }
    let (grace, committed) = second
        .transact_committed(|tx| {
            let grace = tx.add_vertex("Person", &[("name", "Grace".into())])?;
            tx.add_edge(grace, "KNOWS", ada, &[]).map(|_| grace)
        })
        .unwrap();
    assert!(![ada, charles, mary].contains(&grace), "no id is given twice");
    let found = first.snapshot_with(Freshness::After(committed.timestamp)).find("Person", "name", "Grace");
    assert_eq!(found.unwrap(), Some(grace));
    assert_eq!(names(&first), ["Charles", "Grace", "Mary"]);
    [first, second].iter().for_each(|db| db.close().unwrap());
}
