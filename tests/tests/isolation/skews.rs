//! Skews: interleavings of two and three transactions, step by step, that only serialisable ones refuse.
//!
//! Each test is one thread that holds several transactions, so that it always meets its case.

use crate::deployment::{DeployedGraph, Deployment};
use crate::race::race;
use evergraph::graph::transaction::Transaction as _;
use evergraph::graph::value::ValueType;
use evergraph::{Direction, Error, IndexOptions, Isolation};
use evergraph::{ReadByName as _, Result, Transaction, Value, VertexId};

/// Whether each of two transactions commits, one after the other, that do `first` and `second` side by side, on different nodes of a
/// cluster.
fn commits(
    graph: &DeployedGraph,
    isolation: Isolation,
    first: impl FnOnce(&mut Transaction) -> Result<()>,
    second: impl FnOnce(&mut Transaction) -> Result<()>,
) -> [bool; 2] {
    let (mut one, mut other) = (graph.begin(0, isolation), graph.begin(1, isolation));
    first(&mut one).unwrap();
    second(&mut other).unwrap();
    [one, other].map(|tx| {
        let committed = tx.commit();
        committed.inspect_err(|error: &Error| assert!(error.is_conflict(), "{error}")).is_ok()
    })
}

fn doctors(deployment: Deployment, on_call: &[bool]) -> (DeployedGraph, Vec<VertexId>) {
    let graph = deployment.start();
    let database = graph.of(0);
    // The first value that a property without a type gets decides it, so that of two of them one conflicts on a cluster.
    let declared = database.transact(|tx| {
        let writer = tx.by_id();
        let label = writer.label("Doctor")?;
        [("on_call", ValueType::Bool), ("hours", ValueType::I64)].into_iter().try_for_each(
            |(key, value_type)| {
                let key = writer.key(key)?;
                writer.declare_vertex_property(label, key, value_type)
            },
        )
    });
    declared.unwrap();
    database.create_index(&IndexOptions::on_label("Doctor", "on_call")).unwrap();
    database.create_index(&IndexOptions::on_label("Doctor", "hours").ordered()).unwrap();
    let doctors = database
        .transact(|tx| {
            let add = |(at, on_call): (usize, &bool)| {
                let properties = [("on_call", (*on_call).into()), ("hours", (at as i64).into())];
                tx.add_vertex("Doctor", &properties)
            };
            on_call.iter().enumerate().map(add).collect()
        })
        .unwrap();
    graph.wait();
    (graph, doctors)
}

/// Runs a case at both levels: by snapshots both commit, serialisable ones don't.
fn only_snapshots_allow(
    case: &str,
    look: impl Fn(&Transaction, &[VertexId]) -> usize,
    write: impl Fn(&mut Transaction, VertexId) -> Result<()>,
) {
    for (deployment, isolation) in Deployment::cases() {
        let allowed = isolation == Isolation::Snapshot;
        let (graph, doctors) = doctors(deployment, &[true, true, false]);
        let act = |own: usize| {
            let (look, write, doctors) = (&look, &write, &doctors);
            move |tx: &mut Transaction| {
                assert!(look(tx, doctors) >= 2, "{case}: both see two");
                write(tx, doctors[own])
            }
        };
        assert_eq!(commits(&graph, isolation, act(0), act(1)), [true, allowed], "{case}, {isolation:?}");
    }
}

fn leave(tx: &mut Transaction, doctor: VertexId) -> Result<()> {
    tx.set(doctor, "on_call", false)
}

fn is_on_call(tx: &Transaction, doctor: &VertexId) -> bool {
    tx.get(*doctor, "on_call").unwrap() == Some(Value::Bool(true))
}

#[test]
fn a_skew_over_properties_is_refused() {
    only_snapshots_allow(
        "properties",
        |tx, doctors| doctors.iter().filter(|doctor| is_on_call(tx, doctor)).count(),
        leave,
    );
}

#[test]
fn a_skew_over_a_look_up_is_refused() {
    only_snapshots_allow("look-up", |tx, _| tx.find_all("Doctor", "on_call", true).unwrap().len(), leave);
}

#[test]
fn a_skew_over_a_range_is_refused() {
    only_snapshots_allow(
        "range",
        |tx, _| tx.range("Doctor", "hours", &evergraph::ValueRange::ALL, 100).unwrap().len(),
        |tx, doctor| tx.set(doctor, "hours", 99_i64),
    );
}

#[test]
fn a_phantom_in_a_look_up_is_refused() {
    // Each wants to be the only one of its kind, and comes in as another.
    for (deployment, isolation) in Deployment::cases() {
        let allowed = isolation == Isolation::Snapshot;
        let (graph, _) = doctors(deployment, &[]);
        let enter = |tx: &mut Transaction| {
            assert!(tx.find_all("Doctor", "on_call", true)?.is_empty());
            tx.add_vertex("Doctor", &[("on_call", true.into())]).map(drop)
        };
        assert_eq!(commits(&graph, isolation, enter, enter), [true, allowed], "{isolation:?}");
    }
}

/// Each wants to be the only one, and comes in beside another, whoever is first.
fn only_snapshots_allow_phantoms(case: &str, count: impl Fn(&Transaction) -> Result<usize>) {
    for (deployment, isolation) in Deployment::cases() {
        let allowed = isolation == Isolation::Snapshot;
        let (graph, _) = doctors(deployment, &[]);
        let enter = |tx: &mut Transaction| {
            assert_eq!(count(tx)?, 0, "{case}: nobody is there");
            tx.add_vertex("Doctor", &[("hours", 8_i64.into())]).map(drop)
        };
        let [one, other] = commits(&graph, isolation, enter, enter);
        assert_eq!(other, allowed, "{case}, {deployment:?}, {isolation:?}");
        // Whoever scans a label on a cluster meets ids that it has been given since, its own among them.
        let may_conflict = !allowed && deployment.is_cluster() && case == "scan";
        assert!(one || may_conflict, "{case}, {deployment:?}, {isolation:?}");
    }
}

#[test]
fn a_phantom_in_a_scan_is_refused() {
    only_snapshots_allow_phantoms("scan", |tx| Ok(tx.by_id_ref().vertices(Some("Doctor"))?.len()));
}

#[test]
fn a_phantom_in_a_range_is_refused() {
    only_snapshots_allow_phantoms("range", |tx| {
        Ok(tx.range("Doctor", "hours", &evergraph::ValueRange::ALL, 100)?.len())
    });
}

#[test]
fn a_phantom_in_a_list_of_edges_is_refused() {
    for (deployment, isolation) in Deployment::cases() {
        let allowed = isolation == Isolation::Snapshot;
        let (graph, doctors) = doctors(deployment, &[true, true, true]);
        graph.name_types(&["FOLLOWS"]);
        let follow = |other: VertexId| {
            let first = doctors[0];
            move |tx: &mut Transaction| {
                assert!(tx.edges(first, Direction::Out, &["FOLLOWS"])?.is_empty());
                tx.add_edge(first, "FOLLOWS", other, &[]).map(drop)
            }
        };
        let committed = commits(&graph, isolation, follow(doctors[1]), follow(doctors[2]));
        assert_eq!(committed, [true, allowed], "{isolation:?}");
    }
}

#[test]
fn a_phantom_under_a_name_that_is_new_is_refused() {
    for (deployment, isolation) in Deployment::cases() {
        let allowed = isolation == Isolation::Snapshot;
        let (graph, doctors) = doctors(deployment, &[true, true]);
        // Each looks for what the other one is about to name.
        let note = |own: VertexId, other: VertexId, asked: &'static str, named: &'static str| {
            move |tx: &mut Transaction| {
                assert_eq!(tx.get(other, asked)?, None);
                tx.set(own, named, 1_i64)
            }
        };
        let first = note(doctors[0], doctors[1], "left", "right");
        let second = note(doctors[1], doctors[0], "right", "left");
        let [one, other] = commits(&graph, isolation, first, second);
        assert_eq!(other, allowed, "{deployment:?}, {isolation:?}");
        // The log of a cluster has both names before either of the two commits.
        assert!(one || !allowed && deployment.is_cluster(), "{deployment:?}, {isolation:?}");
    }
}

/// Fekete, O'Neil, O'Neil, "A Read-Only Transaction Anomaly Under Snapshot Isolation" (SIGMOD Record 2004):
/// a deposit and a withdrawal with a fee, and a reader that saw the deposit before the withdrawal, which
/// had not seen it.
#[test]
fn the_anomaly_of_a_reader_is_refused() {
    for (deployment, isolation) in Deployment::cases() {
        let allowed = isolation == Isolation::Snapshot;
        let graph = deployment.start();
        let [checking, savings] = graph
            .of(0)
            .transact(|tx| {
                let mut account = || tx.add_vertex("Account", &[("held", 0_i64.into())]);
                Ok([account()?, account()?])
            })
            .unwrap();
        let held = |tx: &Transaction, account| tx.get(account, "held").unwrap().unwrap().as_i64().unwrap();
        let mut withdrawal = graph.begin(0, isolation);
        assert_eq!(held(&withdrawal, checking) + held(&withdrawal, savings), 0);
        let mut deposit = graph.begin(1, isolation);
        let more = held(&deposit, savings) + 20;
        deposit.set(savings, "held", more).unwrap();
        deposit.commit().unwrap();
        let reader = graph.begin(2, isolation);
        assert_eq!((held(&reader, checking), held(&reader, savings)), (0, 20));
        reader.commit().unwrap();
        // 10, and a fee of 1, since there was nothing.
        withdrawal.set(checking, "held", -11_i64).unwrap();
        assert_eq!(withdrawal.commit().is_ok(), allowed, "{isolation:?}");
    }
}

#[test]
fn two_readers_never_see_two_writes_in_opposite_orders() {
    // The long fork: excluded at both levels, since there is one order of commits.
    for (deployment, isolation) in Deployment::cases() {
        let (graph, doctors) = doctors(deployment, &[false, false]);
        let seen = race(4, 300, |thread, round, _| {
            if thread < 2 {
                let written = graph
                    .of(thread)
                    .transact_with(isolation, |tx| tx.set(doctors[thread], "hours", round as i64 + 10));
                written.unwrap();
                return None;
            }
            let tx = graph.of(thread).begin_with(isolation);
            let hours = |doctor| tx.get(doctor, "hours").unwrap().unwrap().as_i64().unwrap();
            Some((hours(doctors[0]), hours(doctors[1])))
        });
        let seen: Vec<(i64, i64)> = seen.into_iter().flatten().flatten().collect();
        for first in &seen {
            let forked = |second: &&(i64, i64)| first.0 < second.0 && first.1 > second.1;
            assert!(!seen.iter().any(|second| forked(&second)), "{isolation:?}: {first:?} and another fork");
        }
    }
}
