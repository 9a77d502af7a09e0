//! Ends: a query ends everywhere with its asker, its time and its memory; with a node that is lost it begins again at others, once; with
//! one that cannot go on its steps run where it was asked.

use crate::cluster::{start, stores, trusting};
use crate::gates::{EndlessStages, FailingStages, GatedStages, TestGate};
use crate::graphs::Described;
use crate::nodes::{Cluster, ClusterStore};
use crate::questions::{Way, ask, ask_within, plan};
use evergraph_cluster::planted::{Bug, with};
use evergraph_cluster::record_id::NodeId;
use evergraph_cluster::seeded::SeededChance;
use evergraph_cluster::transport::memory::NetworkFaults;
use evergraph_cluster::travel::travel_options::{OpenTravels, TravelOptions};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::stage_programs::StagePrograms;
use evergraph_query::execute::limits::QueryLimits;
use evergraph_storage::io::clock::Clock as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const TEXT: &str = ".V().out().out().count()";

fn gated(seed: u64, silence_max: Duration) -> (Cluster, Vec<ClusterStore>, TestGate, Vec<String>) {
    gated_with(seed, TravelOptions { suspect_after: silence_max, silence_max, ..TravelOptions::default() })
}

fn gated_with(seed: u64, options: TravelOptions) -> (Cluster, Vec<ClusterStore>, TestGate, Vec<String>) {
    let gate = TestGate::default();
    let programs: Arc<dyn StagePrograms> = Arc::new(GatedStages(Arc::clone(&gate.0)));
    let (cluster, stores, expected) = filled(seed, &programs, options);
    (cluster, stores, gate, expected)
}

/// A cluster with a graph, and what a query finds there.
fn filled(
    seed: u64,
    programs: &Arc<dyn StagePrograms>,
    options: TravelOptions,
) -> (Cluster, Vec<ClusterStore>, Vec<String>) {
    let faults = NetworkFaults { delay_max: Duration::from_micros(300), ..NetworkFaults::default() };
    let cluster = start(seed, faults, programs, options);
    let stores = stores(&cluster);
    let described = Described::random(&mut SeededChance::new(seed), 50, 200);
    described.on_cluster(&stores[0]);
    let (expected, _) = ask(&plan(TEXT, Way::Travelling), &described.in_one().store().snapshot()).unwrap();
    (cluster, stores, expected)
}

/// Nothing comes to a node or from it.
fn cut_off(cluster: &Cluster, node: u16) {
    for other in (0..3).filter(|other| *other != node) {
        cluster.network.cut(NodeId(node), NodeId(other));
        cluster.network.cut(NodeId(other), NodeId(node));
    }
}

fn mend(cluster: &Cluster, node: u16) {
    for other in (0..3).filter(|other| *other != node) {
        cluster.network.mend(NodeId(node), NodeId(other));
        cluster.network.mend(NodeId(other), NodeId(node));
    }
}

/// How many runs node 0 has asked for.
fn runs_asked(cluster: &Cluster) -> u64 {
    cluster.nodes[0].queries().counts().runs_asked
}

fn nothing_is_open(cluster: &Cluster) {
    cluster.wait_until("a query does not end", || {
        cluster.nodes.iter().all(|node| node.queries().open() == OpenTravels::default())
    });
}

/// Asks at node 0, where node 2 is lost meanwhile. `then` runs when the query has begun again, with its stages before the gate; it opens
/// the gate or loses another node.
fn ask_and_lose_a_node(
    (cluster, stores, gate): (&Cluster, &[ClusterStore], &TestGate),
    then: impl FnOnce(),
) -> (Vec<String>, Vec<String>) {
    gate.close();
    std::thread::scope(|scope| {
        let _open_on_panic = gate.open_on_panic();
        let asked = scope.spawn(|| ask(&plan(TEXT, Way::Travelling), &stores[0].snapshot()));
        cluster.wait_until("no node begins", || gate.waiting() == 3);
        cut_off(cluster, 2);
        cluster.wait_until("it does not begin again", || gate.waiting() == 5);
        then();
        asked.join().unwrap().unwrap()
    })
}

#[test]
fn a_query_that_is_cancelled_ends_everywhere() {
    let (cluster, stores, gate, _) = gated(41, Duration::from_secs(30));
    gate.close();
    let cancel = CancelFlag::default();
    std::thread::scope(|scope| {
        let _open_on_panic = gate.open_on_panic();
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
        let _open_on_panic = gate.open_on_panic();
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
    let (found, notes) = ask_and_lose_a_node((&cluster, &stores, &gate), || gate.open());
    assert_eq!(found, expected);
    let again = "begun again, since node 2 has said nothing for ";
    assert!(notes.len() == 3 && notes[0].contains(again), "{notes:?}");
    assert!(notes[1..].iter().all(|note| !note.contains("node 2")), "{notes:?}");
    // From then on others are asked.
    let (found, notes) = ask(&plan(TEXT, Way::Travelling), &stores[0].snapshot()).unwrap();
    assert_eq!(found, expected);
    assert!(notes.len() == 2 && notes.iter().all(|note| !note.starts_with("node 2")), "{notes:?}");
    mend(&cluster, 2);
    nothing_is_open(&cluster);
}

#[test]
fn a_query_begins_again_once_and_then_its_steps_run_where_it_was_asked() {
    let (cluster, stores, gate, expected) = gated(48, Duration::from_secs(3));
    let (found, notes) = ask_and_lose_a_node((&cluster, &stores, &gate), || {
        cut_off(&cluster, 1);
        cluster.wait_until("the second run does not end", || {
            runs_asked(&cluster) >= 2 && cluster.nodes[0].queries().open() == OpenTravels::default()
        });
        // What both others keep is read when one is back.
        mend(&cluster, 1);
        mend(&cluster, 2);
    });
    assert_eq!(found, expected);
    let again = "begun again, since node 2 has said nothing for ";
    let here = "all steps ran here, and not where the vertices lie: node 1 has said nothing for ";
    assert!(notes.len() == 2 && notes[0].contains(again) && notes[1].contains(here), "{notes:?}");
    assert_eq!(runs_asked(&cluster), 2, "once again, and no more");
    gate.open();
    nothing_is_open(&cluster);
    cluster.check();
}

/// A query that nodes have no room for, as another one runs there. It is asked where that one was not asked.
#[test]
fn a_run_that_nodes_have_no_room_for_is_not_begun_again() {
    let (cluster, stores, gate, expected) = gated_with(49, TravelOptions { queries_max: 1, ..trusting() });
    gate.close();
    let asked = |node: usize| ask(&plan(TEXT, Way::Travelling), &stores[node].snapshot());
    let (here, there, other) = std::thread::scope(|scope| {
        let _open_on_panic = gate.open_on_panic();
        let other = scope.spawn(|| asked(1));
        cluster.wait_until("no node begins", || gate.waiting() == 3);
        let (here, there) = (asked(0), asked(1));
        gate.open();
        (here.unwrap(), there.unwrap(), other.join().unwrap().unwrap())
    });
    assert_eq!((&here.0, &there.0, &other.0), (&expected, &expected, &expected));
    let [note] = &here.1[..] else { panic!("other notes: {:?}", here.1) };
    assert!(note.starts_with("all steps ran here, and not where the vertices lie: node "), "{note}");
    assert!(note.ends_with(": too many queries run on the node"), "{note}");
    assert_eq!(runs_asked(&cluster), 1, "no second run");
    // Where the other one was asked, none begins.
    let [note] = &there.1[..] else { panic!("other notes: {:?}", there.1) };
    assert!(note.contains("vertices lie: too many queries run on several nodes: try again"), "{note}");
    assert_eq!(cluster.nodes[1].queries().counts().runs_asked, 1, "that of the other one");
    nothing_is_open(&cluster);
    cluster.check();
}

#[test]
fn a_run_whose_stages_fail_on_a_node_is_not_begun_again() {
    let failing = Arc::new(FailingStages::default());
    let programs: Arc<dyn StagePrograms> = Arc::<FailingStages>::clone(&failing);
    let (cluster, stores, expected) = filled(50, &programs, trusting());
    let (found, notes) = ask(&plan(TEXT, Way::Travelling), &stores[0].snapshot()).unwrap();
    assert_eq!(found, expected);
    let [note] = &notes[..] else { panic!("other notes: {notes:?}") };
    assert!(note.starts_with("all steps ran here, and not where the vertices lie: node "), "{note}");
    assert!(note.ends_with(": the disk is lost"), "{note}");
    nothing_is_open(&cluster);
    assert_eq!(runs_asked(&cluster), 1, "no second run");
    let begun = failing.begun.load(Ordering::Relaxed);
    assert!((1..=3).contains(&begun), "{begun} programs were to begin at three nodes");
    cluster.check();
}

#[test]
fn a_planted_second_run_is_found() {
    for test in [
        a_run_that_nodes_have_no_room_for_is_not_begun_again,
        a_run_whose_stages_fail_on_a_node_is_not_begun_again,
    ] {
        let found = std::panic::catch_unwind(|| with(Bug::FailureTakenForLoss, test)).unwrap_err();
        let said = found.downcast_ref::<String>().expect("an assertion");
        assert!(said.contains("other notes: [\"begun again, since node "), "{said}");
    }
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
    let gate = TestGate::default();
    // The first query, on each node.
    let programs = EndlessStages { gate: Arc::clone(&gate.0), endless: AtomicUsize::new(3) };
    let programs: Arc<dyn StagePrograms> = Arc::new(programs);
    let options = TravelOptions { threads: 1, ..trusting() };
    let cluster = start(47, NetworkFaults::default(), &programs, options);
    let stores = stores(&cluster);
    let described = Described::random(&mut SeededChance::new(47), 50, 200);
    described.on_cluster(&stores[0]);
    let (expected, _) = ask(&plan(TEXT, Way::Travelling), &described.in_one().store().snapshot()).unwrap();
    gate.close();
    std::thread::scope(|scope| {
        let _open_on_panic = gate.open_on_panic();
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
