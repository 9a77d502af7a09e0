//! Ends: a query ends everywhere with its asker, its time and its memory; with a node that is lost it begins again at others.

use crate::cluster::{Cluster, ClusterStore, stores, trusting};
use crate::gates::{EndlessStages, Gate, GatedStages};
use crate::graphs::Described;
use crate::questions::{Way, ask, ask_within, plan};
use evergraph_cluster::record_id::NodeId;
use evergraph_cluster::seeded::SeededChance;
use evergraph_cluster::transport::memory::NetworkFaults;
use evergraph_cluster::travel::travel_options::TravelOptions;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::stage_programs::StagePrograms;
use evergraph_query::execute::limits::QueryLimits;
use evergraph_storage::io::clock::Clock as _;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

const TEXT: &str = ".V().out().out().count()";

fn gated(seed: u64, silence_max: Duration) -> (Cluster, Vec<ClusterStore>, Arc<Gate>, Vec<String>) {
    let gate = Arc::new(Gate::default());
    let programs: Arc<dyn StagePrograms> = Arc::new(GatedStages(Arc::clone(&gate)));
    let faults = NetworkFaults { delay_max: Duration::from_micros(300), ..NetworkFaults::default() };
    let options = TravelOptions { suspect_after: silence_max, silence_max, ..TravelOptions::default() };
    let cluster = Cluster::start(seed, faults, &programs, options);
    let stores = stores(&cluster);
    let described = Described::random(&mut SeededChance::new(seed), 50, 200);
    described.on_cluster(&stores[0]);
    let (expected, _) = ask(&plan(TEXT, Way::Travelling), &described.in_one().store().snapshot()).unwrap();
    (cluster, stores, gate, expected)
}

fn nothing_is_open(cluster: &Cluster) {
    cluster.wait_until("a query does not end", || {
        cluster.nodes.iter().all(|node| node.queries.open() == (0, 0))
    });
}

#[test]
fn a_query_that_is_cancelled_ends_everywhere() {
    let (cluster, stores, gate, _) = gated(41, Duration::from_secs(30));
    gate.close();
    let cancel = CancelFlag::default();
    std::thread::scope(|scope| {
        let of_query = cancel.clone();
        let asked = scope.spawn(|| {
            ask_within(&plan(TEXT, Way::Travelling), &stores[0].snapshot(), QueryLimits::default(), of_query)
        });
        cluster.wait_until("no node begins", || gate.waiting() == 3);
        cancel.cancel();
        assert_eq!(asked.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
        // Stages that run still have not ended, and nobody waits for them.
        nothing_is_open(&cluster);
        gate.open();
    });
    cluster.wait_until("a stage goes on", || gate.waiting() == 0);
    let (found, notes) = ask(&plan(TEXT, Way::Travelling), &stores[1].snapshot()).unwrap();
    assert!(found.len() == 1 && notes.len() == 3, "{notes:?}");
}

#[test]
fn a_query_ends_with_its_time() {
    let (cluster, stores, gate, _) = gated(42, Duration::from_secs(30));
    gate.close();
    let limits = QueryLimits { timeout: Duration::from_millis(300), ..QueryLimits::default() };
    let began = cluster.clock.now();
    let late = ask_within(&plan(TEXT, Way::Travelling), &stores[0].snapshot(), limits, CancelFlag::default());
    let late = late.unwrap_err();
    assert!(late.kind() == ErrorKind::Limit && late.to_string().contains("timeout of 0.3 s"), "{late}");
    assert!(cluster.clock.now() - began < Duration::from_secs(20));
    nothing_is_open(&cluster);
    gate.open();
}

#[test]
fn a_query_whose_asker_is_gone_ends_with_its_time() {
    let (cluster, stores, gate, _) = gated(43, Duration::from_secs(30));
    gate.close();
    let limits = QueryLimits { timeout: Duration::from_millis(500), ..QueryLimits::default() };
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| {
            ask_within(&plan(TEXT, Way::Travelling), &stores[0].snapshot(), limits, CancelFlag::default())
        });
        cluster.wait_until("no node begins", || gate.waiting() == 3);
        // The end does not come to the others.
        for other in [1, 2] {
            cluster.network.cut(NodeId(0), NodeId(other));
        }
        asked.join().unwrap().unwrap_err();
    });
    nothing_is_open(&cluster);
    gate.open();
}

#[test]
fn a_query_ends_with_its_memory() {
    let (cluster, stores, _gate, _) = gated(44, Duration::from_secs(30));
    let limits = QueryLimits { memory_bytes: 60, ..QueryLimits::default() };
    let over = ask_within(&plan(TEXT, Way::Travelling), &stores[0].snapshot(), limits, CancelFlag::default());
    let over = over.unwrap_err();
    assert!(over.kind() == ErrorKind::Limit && over.to_string().contains("memory"), "{over}");
    nothing_is_open(&cluster);
}

#[test]
fn a_query_begins_again_at_other_nodes_if_one_is_lost_meanwhile() {
    let (cluster, stores, gate, expected) = gated(45, Duration::from_secs(3));
    gate.close();
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| ask(&plan(TEXT, Way::Travelling), &stores[0].snapshot()));
        cluster.wait_until("no node begins", || gate.waiting() == 3);
        for other in [0, 1] {
            cluster.network.cut(NodeId(2), NodeId(other));
            cluster.network.cut(NodeId(other), NodeId(2));
        }
        cluster.wait_until("it does not begin again", || gate.waiting() == 5);
        gate.open();
        let (found, notes) = asked.join().unwrap().unwrap();
        assert_eq!(found, expected);
        let again = "begun again, since node 2 has said nothing for ";
        assert!(notes.len() == 3 && notes[0].contains(again), "{notes:?}");
        assert!(notes[1..].iter().all(|note| !note.contains("node 2")), "{notes:?}");
    });
    // From then on others are asked.
    let (found, notes) = ask(&plan(TEXT, Way::Travelling), &stores[0].snapshot()).unwrap();
    assert_eq!(found, expected);
    assert!(notes.len() == 2 && notes.iter().all(|note| !note.starts_with("node 2")), "{notes:?}");
    for other in [0, 1] {
        cluster.network.mend(NodeId(2), NodeId(other));
        cluster.network.mend(NodeId(other), NodeId(2));
    }
    nothing_is_open(&cluster);
}

#[test]
fn an_error_of_a_stage_is_that_of_the_query() {
    let (cluster, stores, _gate, _) = gated(46, Duration::from_secs(30));
    let text = ".V().out().values('name').max()";
    let (found, _) = ask(&plan(text, Way::Travelling), &stores[0].snapshot()).unwrap();
    assert_eq!(found.len(), 1);
    // Texts and numbers cannot be compared.
    let text = ".V().out().values('name', 'w').max()";
    let (travelling, remote) = (
        ask(&plan(text, Way::Travelling), &stores[0].snapshot()),
        ask(&plan(text, Way::Remote), &stores[0].snapshot()),
    );
    assert_eq!(travelling.is_err(), remote.is_err());
    if let (Err(travelling), Err(remote)) = (travelling, remote) {
        assert_eq!(travelling.kind(), remote.kind());
    }
    nothing_is_open(&cluster);
}

#[test]
fn a_query_that_scans_for_long_leaves_its_threads_to_others() {
    let gate = Arc::new(Gate::default());
    // The first query, on each node.
    let programs = EndlessStages { gate: Arc::clone(&gate), endless: AtomicUsize::new(3) };
    let programs: Arc<dyn StagePrograms> = Arc::new(programs);
    let options = TravelOptions { threads: 1, ..trusting() };
    let cluster = Cluster::start(47, NetworkFaults::default(), &programs, options);
    let stores = stores(&cluster);
    let described = Described::random(&mut SeededChance::new(47), 50, 200);
    described.on_cluster(&stores[0]);
    let (expected, _) = ask(&plan(TEXT, Way::Travelling), &described.in_one().store().snapshot()).unwrap();
    gate.close();
    std::thread::scope(|scope| {
        let long = scope.spawn(|| ask(&plan(TEXT, Way::Travelling), &stores[0].snapshot()));
        cluster.wait_until("the first query does not scan", || gate.waiting() == 3);
        for store in &stores {
            let (found, notes) = ask(&plan(TEXT, Way::Travelling), &store.snapshot()).unwrap();
            assert_eq!(found, expected);
            assert!(notes.len() == 3 && notes.iter().all(|note| note.starts_with("node ")), "{notes:?}");
        }
        assert!(!long.is_finished());
        gate.open();
        assert_eq!(long.join().unwrap().unwrap().0, expected);
    });
    nothing_is_open(&cluster);
}
