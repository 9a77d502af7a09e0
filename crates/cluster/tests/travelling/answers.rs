//! Answers: random queries on random graphs find the same in one store, by the remote view, and by stages that travel.

use crate::cluster::{start, stores, trusting};
use crate::gates::PausingStages;
use crate::graphs::Described;
use crate::questions::{Way, ask, plan, random};
use evergraph_cluster::seeded::{OneIn, SeededChance};
use evergraph_cluster::transport::memory::NetworkFaults;
use evergraph_cluster::travel::travel_options::{OpenTravels, TravelOptions};
use evergraph_graph::stage_programs::StagePrograms;
use evergraph_graph::transaction::{Freshness, Isolation, Transaction as _, TransactionOptions};
use evergraph_graph::view::{GraphView, VertexCursor};
use evergraph_query::travel::runner::QueryStages;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Ids of up to twenty vertices, some of them twice.
fn some_ids(view: &impl GraphView, chance: &mut SeededChance) -> String {
    let (mut cursor, mut all) = (VertexCursor::default(), Vec::new());
    while !cursor.done {
        view.scan_vertices(None, &mut cursor, 1000, &mut all).unwrap();
    }
    let ids = (0..1 + chance.below(20)).map(|_| all[chance.below(all.len() as u64) as usize].0.to_string());
    ids.collect::<Vec<_>>().join(", ")
}

/// What a run has shown.
#[derive(Default, Debug)]
struct Tally {
    travelled: usize,
    /// Those that began at some vertices, and went on to other nodes from there.
    from_some: usize,
    fell_back: usize,
    again: u64,
}

fn play(seed: u64, faults: NetworkFaults, options: TravelOptions, queries: usize) -> Tally {
    play_by(&(Arc::new(QueryStages) as Arc<dyn StagePrograms>), seed, faults, options, queries)
}

fn play_by(
    programs: &Arc<dyn StagePrograms>,
    seed: u64,
    faults: NetworkFaults,
    options: TravelOptions,
    queries: usize,
) -> Tally {
    // What the others ask is not what is tried.
    let calm = NetworkFaults { delay_max: faults.delay_max, ..NetworkFaults::default() };
    let cluster = start(seed, calm, programs, options);
    let stores = stores(&cluster);
    let mut chance = SeededChance::new(seed);
    let described = Described::random(&mut chance, 60, 260);
    let seen = described.on_cluster(&stores[0]);
    let one = described.in_one();
    let mut tally = Tally::default();
    for number in 0..queries {
        let text = random(&mut chance);
        let options = TransactionOptions::default().freshness(Freshness::After(seen));
        let snapshot = stores[number % 3].begin_with(options);
        let (expected, _) = ask(&plan(&text, Way::Travelling), &one.store().snapshot()).unwrap();
        let (remote, notes) = ask(&plan(&text, Way::Remote), &snapshot).unwrap();
        assert_eq!(remote, expected, "seed {seed}, query {number}, g{text}, by the remote view");
        assert!(notes.is_empty(), "{notes:?}");
        cluster.network.set_faults(faults);
        let (found, notes) = ask(&plan(&text, Way::Travelling), &snapshot).unwrap();
        cluster.network.set_faults(calm);
        assert_eq!(found, expected, "seed {seed}, query {number}, g{text}, by stages that travel: {notes:?}");
        tally.travelled += usize::from(notes.iter().any(|note| note.starts_with("node ")));
        tally.fell_back += usize::from(notes.iter().any(|note| note.starts_with("all steps")));
        // The same from some vertices, which the node that was asked looks up.
        let some = text.replacen("V()", &format!("V({})", some_ids(&snapshot, &mut chance)), 1);
        let (expected, _) = ask(&plan(&some, Way::Remote), &snapshot).unwrap();
        let (found, notes) = ask(&plan(&some, Way::Travelling), &snapshot).unwrap();
        assert_eq!(found, expected, "seed {seed}, query {number}, g{some}: {notes:?}");
        assert!(!notes.iter().any(|note| note.starts_with("all steps")), "g{some}: {notes:?}");
        tally.from_some += usize::from(!notes.is_empty());
        drop(snapshot);
    }
    cluster.check();
    cluster.wait_until("a query does not end", || {
        cluster.nodes.iter().all(|node| node.queries().open() == OpenTravels::default())
    });
    tally.again = cluster.nodes.iter().map(|node| node.queries().counts().again).sum();
    tally
}

#[test]
fn stages_that_travel_find_what_one_store_finds() {
    let faults = NetworkFaults { delay_max: Duration::from_micros(300), ..NetworkFaults::default() };
    let mut from_some = 0;
    for seed in 1..=3 {
        let tally = play(seed, faults, trusting(), 60);
        assert_eq!((tally.travelled, tally.fell_back, tally.again), (60, 0, 0), "{tally:?}");
        from_some += tally.from_some;
    }
    assert!((90..180).contains(&from_some), "{from_some}");
}

#[test]
fn a_network_that_loses_doubles_and_turns_round_changes_nothing() {
    let faults = NetworkFaults {
        delay_max: Duration::from_micros(500),
        lost: OneIn(12),
        doubled: OneIn(8),
        late: OneIn(10),
    };
    let options = TravelOptions { want_after: Duration::from_millis(20), ..trusting() };
    let mut again = 0;
    for seed in 11..=13 {
        let tally = play(seed, faults, options, 40);
        assert_eq!((tally.travelled, tally.fell_back), (40, 0), "{tally:?}");
        again += tally.again;
    }
    assert!(again > 20, "{again} messages were sent again");
}

#[test]
fn what_has_no_room_is_asked_for_later() {
    let faults = NetworkFaults { delay_max: Duration::from_micros(300), ..NetworkFaults::default() };
    // One message at a time waits.
    let options = TravelOptions { inbound_bytes_max: 1, early_bytes_max: 0, ..trusting() };
    let tally = play(21, faults, options, 30);
    assert_eq!((tally.travelled, tally.fell_back), (30, 0), "{tally:?}");
}

#[test]
fn stages_that_pause_after_each_call_of_a_step_find_the_same() {
    let faults = NetworkFaults { delay_max: Duration::from_micros(300), ..NetworkFaults::default() };
    let stages = PausingStages::default();
    let pauses = Arc::clone(&stages.pauses);
    let programs: Arc<dyn StagePrograms> = Arc::new(stages);
    let tally = play_by(&programs, 25, faults, trusting(), 40);
    assert_eq!((tally.travelled, tally.fell_back), (40, 0), "{tally:?}");
    let pauses = pauses.load(Ordering::Relaxed);
    assert!(pauses > 40 * 3 * 4, "{pauses} pauses");
}

#[test]
fn own_writes_are_seen_and_reads_are_noted_where_they_are_read_from_here() {
    let programs: Arc<dyn StagePrograms> = Arc::new(QueryStages);
    let cluster = start(22, NetworkFaults::default(), &programs, trusting());
    let stores = stores(&cluster);
    let described = Described::random(&mut SeededChance::new(22), 20, 40);
    let after = TransactionOptions::default().freshness(Freshness::After(described.on_cluster(&stores[0])));
    let (count, notes) = (plan(".V().out().count()", Way::Travelling), |notes: &[String]| notes.len());
    let mut transaction = stores[1].begin_with(after);
    let (before, travelled) = ask(&count, &transaction).unwrap();
    assert_eq!(notes(&travelled), 3, "{travelled:?}");
    let label = transaction.label("person").unwrap();
    let ends = [(); 2].map(|()| transaction.add_vertex(label, &[]).unwrap());
    let edge_type = transaction.edge_type("knows").unwrap();
    transaction.add_edge(ends[0], edge_type, ends[1], &[]).unwrap();
    let (with_own, stayed) = ask(&count, &transaction).unwrap();
    assert!(with_own != before && stayed.is_empty(), "{with_own:?} {before:?} {stayed:?}");
    drop(transaction);
    let serializable = stores[2].begin_with(after.isolation(Isolation::Serializable));
    let (noted, stayed) = ask(&count, &serializable).unwrap();
    assert!(noted == before && stayed.is_empty(), "{noted:?} {before:?} {stayed:?}");
}

#[test]
fn rows_that_come_in_any_order_do_not_choose_which_of_the_same_goes_on() {
    let programs: Arc<dyn StagePrograms> = Arc::new(QueryStages);
    let cluster = start(24, NetworkFaults::default(), &programs, trusting());
    let stores = stores(&cluster);
    let seen = Described::random(&mut SeededChance::new(24), 60, 260).on_cluster(&stores[0]);
    let options = TransactionOptions::default().freshness(Freshness::After(seen));
    for end in ["groupCount().by('name')", "dedup().count()"] {
        // Which end of an edge goes on is that of its first row.
        let text = format!(".V().out().bothE().dedup().otherV().{end}");
        for store in &stores {
            let snapshot = store.begin_with(options);
            let (expected, _) = ask(&plan(&text, Way::Remote), &snapshot).unwrap();
            let (found, notes) = ask(&plan(&text, Way::Travelling), &snapshot).unwrap();
            assert_eq!(found, expected, "g{text}");
            assert!(notes.is_empty(), "g{text}: {notes:?}");
        }
    }
}

#[test]
fn an_explanation_says_what_runs_where() {
    let programs: Arc<dyn StagePrograms> = Arc::new(QueryStages);
    let cluster = start(23, NetworkFaults::default(), &programs, trusting());
    let stores = stores(&cluster);
    Described::random(&mut SeededChance::new(23), 20, 40).on_cluster(&stores[0]);
    let text = ".V().out().out().groupCount().by('name').explain()";
    let (told, _) = ask(&plan(text, Way::Travelling), &stores[0].snapshot()).unwrap();
    for line in ["on every node, each with its own vertices", "rows go to the nodes of their elements"] {
        assert!(told.concat().contains(line), "{told:?}");
    }
    let (told, _) = ask(&plan(text, Way::Remote), &stores[0].snapshot()).unwrap();
    assert!(!told.concat().contains("on every node"), "{told:?}");
}
