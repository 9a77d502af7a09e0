//! G-Tran: A High Performance Distributed Graph Database with a Decentralized Architecture (Chen et al., VLDB 2022): which
//! version others read of a property while a transaction changes it.

use evergraph::{
    Database, Freshness, GraphView as _, Isolation, Options, Result, Transaction, TransactionOptions, Value,
    VertexId,
};
use evergraph_cluster::log::memory::LogFaults;
use evergraph_cluster::seeded::OneIn;
use evergraph_tests::cluster::nodes::{Cluster, ClusterSetup, coordinators_with};
use std::thread::scope;

/// The versions of the figure.
const V1: Value = Value::I64(1);
const V2: Value = Value::I64(2);

/// Section 4.3, figure 6: T reads a property whose version V1 is about to be ended by TxID, which has written V2. "TxID is in
/// execution: [...] T reads V1"; "in validation: [...] T directly pre-reads V2"; "in commit: T directly reads V2 as TxID has
/// committed"; "in abort: T ignores the new version V2, and reads the current version V1". Whoever read what turns out
/// otherwise aborts in its own validation.
///
/// Differs: validation takes from the append to the log until a node applies it, and T reads V1 all that time. It depends on nobody's
/// outcome: V2 is read by those who begin when TxID has committed, and by nobody if it is refused. A serialisable T that read V1
/// and writes is refused if TxID committed before it, which snapshot isolation allows.
#[test]
fn the_version_of_another_transaction_is_read_once_that_is_applied_and_never_if_it_is_refused() {
    for isolation in [Isolation::Snapshot, Isolation::Serializable] {
        for commits in [true, false] {
            play(isolation, commits);
        }
    }
}

/// TxID changes a property on one node, which others read there and on a second one; whether it commits or is refused.
fn play(isolation: Isolation, commits: bool) {
    let setup = ClusterSetup::default();
    let cluster = Cluster::start_with(&setup);
    let nodes = coordinators_with(&cluster, setup.coordinator).into_iter();
    let databases: Vec<Database> =
        nodes.map(|node| Database::of_node(node, &Options::default(), || Ok(())).unwrap()).collect();
    let [here, there] = [&databases[0], &databases[1]];
    let vertices: Result<Vec<VertexId>> =
        here.transact(|tx| (0..7).map(|_| tx.add_vertex("V", &[("value", V1)])).collect());
    let [property, beside, elsewhere, others @ ..]: [VertexId; 7] = vertices.unwrap().try_into().unwrap();
    there.snapshot_with(Freshness::Fresh).check_begun().unwrap();

    // In execution: nobody knows of it.
    let mut tx_id = here.begin_with(isolation);
    tx_id.set(property, "value", V2).unwrap();
    tx_id.set(beside, "value", V2).unwrap();
    let mut readers = Vec::from([here, there].map(|db| db.begin_with(isolation)));

    // In validation: the log has it, behind another one that may have changed the same, and no node has applied either.
    let mut first = there.begin_with(isolation);
    first.set(if commits { elsewhere } else { beside }, "value", V2).unwrap();
    cluster.log.set_faults(LogFaults { lag: OneIn(1), ..LogFaults::default() });
    let appended = cluster.log.messages().len();
    let is_committed = scope(|scope| {
        let first = scope.spawn(|| first.commit());
        cluster.wait_until("the first one is not appended", || cluster.log.messages().len() > appended);
        let tx_id = scope.spawn(|| tx_id.commit());
        cluster.wait_until("TxID is not appended", || cluster.log.messages().len() > appended + 1);
        readers.extend([here, there].map(|db| db.begin_with(isolation)));
        readers.iter().for_each(|reader| assert_eq!(version(reader, property), V1, "{isolation:?}"));
        assert!(!tx_id.is_finished(), "it is not decided");
        cluster.log.set_faults(LogFaults::default());
        first.join().unwrap().unwrap();
        has_committed(tx_id.join().unwrap())
    });
    assert_eq!(is_committed, commits);

    // In commit, or in abort: who begins now reads what came of it, and who began before reads V1.
    for db in [here, there] {
        let begun = db.begin_with(TransactionOptions::from(isolation).freshness(Freshness::Fresh));
        assert_eq!(version(&begun, property), if commits { V2 } else { V1 }, "{isolation:?}");
    }
    for (mut reader, other) in readers.into_iter().zip(others) {
        assert_eq!(version(&reader, property), V1, "{isolation:?}");
        reader.set(other, "value", V2).unwrap();
        let is_refused = commits && isolation == Isolation::Serializable;
        assert_eq!(has_committed(reader.commit()), !is_refused, "{isolation:?}, TxID commits: {commits}");
    }
    cluster.check();
}

fn version(reader: &Transaction, property: VertexId) -> Value {
    reader.get(property, "value").unwrap().unwrap()
}

/// Whether a transaction has committed, and conflicts otherwise.
fn has_committed<T>(committed: Result<T>) -> bool {
    committed.inspect_err(|error| assert!(error.is_conflict(), "{error}")).is_ok()
}
