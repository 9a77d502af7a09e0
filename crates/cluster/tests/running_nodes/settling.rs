//! Settling: a transaction ends with its time, though the log is silent; any node says later what became of it.

use crate::cluster::{Cluster, coordinators, stores};
use evergraph_cluster::log::memory::LogFaults;
use evergraph_cluster::seeded::OneIn;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::transaction::{Freshness, Transaction as _, TransactionOptions};
use evergraph_graph::unknown_commit::UnknownCommit;
use evergraph_graph::view::GraphView as _;
use evergraph_storage::io::clock::Clock as _;
use std::time::Duration;

/// How long coordinators wait: a test that waits for it fails.
const PATIENCE: Duration = Duration::from_secs(300);

#[test]
fn a_commit_ends_with_its_time_and_any_node_settles_it() {
    let cluster = Cluster::start(21, LogFaults::default());
    let stores = stores(&cluster, &coordinators(&cluster, PATIENCE));
    let mut transaction =
        stores[0].begin_with(TransactionOptions::default().timeout(Duration::from_millis(300)));
    let label = transaction.label("Order").unwrap();
    let vertex = transaction.add_vertex(label, &[]).unwrap();
    cluster.log.set_faults(LogFaults { lost: OneIn(1), ..LogFaults::default() });
    let begun = cluster.clock.now();
    let error = transaction.commit().unwrap_err();
    assert!(cluster.clock.now() - begun < PATIENCE / 4, "it waits beyond its time");
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error}");
    let unknown = *error.cause::<UnknownCommit>().expect("it is named");
    // Nothing new is begun at the log either for whoever has no time.
    let fresh = TransactionOptions::default().timeout(Duration::ZERO).freshness(Freshness::Fresh);
    let mut late = stores[0].begin_with(fresh);
    assert_eq!(late.label("Other").unwrap_err().kind(), ErrorKind::Limit);
    cluster.log.set_faults(LogFaults::default());
    let guess = UnknownCommit { number: unknown.number + 1, ..unknown };
    assert_eq!(stores[1].settle(guess).unwrap_err().kind(), ErrorKind::Invalid, "it can be guessed");
    let settled = stores[1].settle(unknown).unwrap();
    assert_eq!(stores[2].settle(unknown).unwrap(), settled, "all nodes say the same");
    let mut labels = Vec::new();
    stores[2].snapshot_with(Freshness::Fresh).labels(&[vertex], &mut labels).unwrap();
    assert_eq!(labels[0].is_some(), settled.is_some(), "what was said is so");
    cluster.check();
}
