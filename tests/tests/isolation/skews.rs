//! Skews: interleavings of two and three transactions, step by step, that only serialisable ones refuse.
//!
//! Each test is one thread that holds several transactions, so that it always meets its case.

use crate::race::{CASES, name_types, race};
use evergraph::{Database, Direction, EngineKind, Error, IndexOptions, Isolation};
use evergraph::{Result, Transaction, Value, VertexId};
use evergraph_tests::store::in_memory;

/// Whether both of two transactions commit that do `first` and `second` side by side.
fn both_commit(
    database: &Database,
    isolation: Isolation,
    first: impl FnOnce(&mut Transaction) -> Result<()>,
    second: impl FnOnce(&mut Transaction) -> Result<()>,
) -> bool {
    let (mut one, mut other) = (database.begin_with(isolation), database.begin_with(isolation));
    first(&mut one).unwrap();
    second(&mut other).unwrap();
    one.commit().unwrap();
    other.commit().inspect_err(|error: &Error| assert!(error.is_conflict(), "{error}")).is_ok()
}

fn doctors(engine: EngineKind, on_call: &[bool]) -> (Database, Vec<VertexId>) {
    let database = in_memory(engine);
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
    (database, doctors)
}

/// Runs a case at both levels: by snapshots both commit, serialisable ones don't.
fn only_snapshots_allow(
    case: &str,
    look: impl Fn(&Transaction, &[VertexId]) -> usize,
    write: impl Fn(&mut Transaction, VertexId) -> Result<()>,
) {
    for (engine, isolation) in CASES {
        let allowed = isolation == Isolation::Snapshot;
        let (database, doctors) = doctors(engine, &[true, true, false]);
        let act = |own: usize| {
            let (look, write, doctors) = (&look, &write, &doctors);
            move |tx: &mut Transaction| {
                assert!(look(tx, doctors) >= 2, "{case}: both see two");
                write(tx, doctors[own])
            }
        };
        assert_eq!(both_commit(&database, isolation, act(0), act(1)), allowed, "{case}, {isolation:?}");
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
    for (engine, isolation) in CASES {
        let allowed = isolation == Isolation::Snapshot;
        let (database, _) = doctors(engine, &[]);
        let enter = |tx: &mut Transaction| {
            assert!(tx.find_all("Doctor", "on_call", true)?.is_empty());
            tx.add_vertex("Doctor", &[("on_call", true.into())]).map(drop)
        };
        assert_eq!(both_commit(&database, isolation, enter, enter), allowed, "{isolation:?}");
    }
}

#[test]
fn a_phantom_in_a_list_of_edges_is_refused() {
    for (engine, isolation) in CASES {
        let allowed = isolation == Isolation::Snapshot;
        let (database, doctors) = doctors(engine, &[true, true, true]);
        name_types(&database, &["FOLLOWS"]);
        let follow = |other: VertexId| {
            let first = doctors[0];
            move |tx: &mut Transaction| {
                assert!(tx.edges(first, Direction::Out, &["FOLLOWS"])?.is_empty());
                tx.add_edge(first, "FOLLOWS", other, &[]).map(drop)
            }
        };
        let commit = both_commit(&database, isolation, follow(doctors[1]), follow(doctors[2]));
        assert_eq!(commit, allowed, "{isolation:?}");
    }
}

#[test]
fn a_phantom_under_a_name_that_is_new_is_refused() {
    for (engine, isolation) in CASES {
        let allowed = isolation == Isolation::Snapshot;
        let (database, doctors) = doctors(engine, &[true, true]);
        // Each looks for what the other one is about to name.
        let note = |own: VertexId, other: VertexId, asked: &'static str, named: &'static str| {
            move |tx: &mut Transaction| {
                assert_eq!(tx.get(other, asked)?, None);
                tx.set(own, named, 1_i64)
            }
        };
        let first = note(doctors[0], doctors[1], "left", "right");
        let second = note(doctors[1], doctors[0], "right", "left");
        assert_eq!(both_commit(&database, isolation, first, second), allowed, "{isolation:?}");
    }
}

/// Fekete, O'Neil, O'Neil, "A Read-Only Transaction Anomaly Under Snapshot Isolation" (SIGMOD Record 2004):
/// a deposit and a withdrawal with a fee, and a reader that saw the deposit before the withdrawal, which
/// had not seen it.
#[test]
fn the_anomaly_of_a_reader_is_refused() {
    for (engine, isolation) in CASES {
        let allowed = isolation == Isolation::Snapshot;
        let database = in_memory(engine);
        let [checking, savings] = database
            .transact(|tx| {
                let mut account = || tx.add_vertex("Account", &[("held", 0_i64.into())]);
                Ok([account()?, account()?])
            })
            .unwrap();
        let held = |tx: &Transaction, account| tx.get(account, "held").unwrap().unwrap().as_i64().unwrap();
        let mut withdrawal = database.begin_with(isolation);
        assert_eq!(held(&withdrawal, checking) + held(&withdrawal, savings), 0);
        let mut deposit = database.begin_with(isolation);
        let more = held(&deposit, savings) + 20;
        deposit.set(savings, "held", more).unwrap();
        deposit.commit().unwrap();
        let reader = database.begin_with(isolation);
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
    for (engine, isolation) in CASES {
        let (database, doctors) = doctors(engine, &[false, false]);
        let seen = race(4, 300, |thread, round, _| {
            if thread < 2 {
                let written = database
                    .transact_with(isolation, |tx| tx.set(doctors[thread], "hours", round as i64 + 10));
                written.unwrap();
                return None;
            }
            let tx = database.begin_with(isolation);
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
