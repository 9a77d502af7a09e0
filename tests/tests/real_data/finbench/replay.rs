//! Replay: the streams on a database and on the model, then both compared; once more after the log is
//! replayed, and after a checkpoint is read.

use super::model::Model;
use super::stream::{Action, Operation, operations};
use super::transactions::{Outcome, create_indexes, run};
use crate::imported::Imported;
use evergraph::EngineKind;
use evergraph_tests::data::data_set;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

const THREADS: usize = 4;

fn assert_is(bank: Imported, model: &Model) {
    model.assert_shown_by(&bank.db.snapshot());
    let bank = bank.reopened();
    model.assert_shown_by(&bank.db.snapshot());
    let bank = bank.reopened_from_checkpoint();
    model.assert_shown_by(&bank.db.snapshot());
    bank.assert_healthy();
}

/// Runs `operations` on several threads, each taking the next one that nobody took.
fn run_at_once(bank: &Imported, operations: &[&Operation]) -> BTreeMap<Outcome, usize> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut outcomes: BTreeMap<Outcome, usize> = BTreeMap::new();
        while let Some(operation) = operations.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = run(&bank.db, operation).unwrap_or_else(|error| panic!("{operation:?}: {error}"));
            *outcomes.entry(outcome).or_default() += 1;
        }
        outcomes
    };
    let mut all: BTreeMap<Outcome, usize> = BTreeMap::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        for (outcome, count) in threads.into_iter().flat_map(|thread| thread.join().unwrap()) {
            *all.entry(outcome).or_default() += count;
        }
    });
    all
}

#[test]
fn the_streams_hold_what_their_publisher_says() {
    let Some(folder) = data_set("finbench-writes") else { return };
    let operations = operations(&folder);
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    operations.iter().for_each(|operation| *kinds.entry(&operation.kind).or_default() += 1);
    assert_eq!(operations.len(), 55_378);
    assert!(operations.is_sorted_by_key(|operation| operation.time));
    let known = [
        ("Write12", 9546),
        ("Write13", 13_453),
        ("Write15", 9843),
        ("Write14", 9516),
        ("Write16", 6181),
        ("Write17", 1354),
    ];
    known.into_iter().for_each(|(kind, count)| assert_eq!(kinds[kind], count, "{kind}"));
    assert_eq!(kinds.len(), 16, "the other files have no rows");
}

fn a_bank_in_the_order_of_time_is_its_model_on(engine: EngineKind) {
    let Some(folder) = data_set("finbench-writes") else { return };
    let (bank, mut model) = (Imported::empty(engine), Model::default());
    create_indexes(&bank.db);
    let mut outcomes: BTreeMap<(bool, Outcome), usize> = BTreeMap::new();
    for operation in operations(&folder) {
        let wanted = model.apply(&operation);
        let found = run(&bank.db, &operation).unwrap_or_else(|error| panic!("{operation:?}: {error}"));
        assert_eq!(found, wanted, "{operation:?}");
        *outcomes.entry((matches!(operation.action, Action::Checked(..)), found)).or_default() += 1;
    }
    let counted = [
        ((false, Outcome::Done), 52_506),
        ((false, Outcome::NotFound), 429),
        ((true, Outcome::Done), 2123),
        ((true, Outcome::Refused), 115),
        ((true, Outcome::Blocked), 205),
    ];
    assert_eq!(outcomes, BTreeMap::from(counted));
    assert_is(bank, &model);
}

#[test]
fn a_bank_in_the_order_of_time_is_its_model() {
    a_bank_in_the_order_of_time_is_its_model_on(EngineKind::Memory);
}

#[test]
fn a_bank_in_the_order_of_time_is_its_model_on_disk() {
    a_bank_in_the_order_of_time_is_its_model_on(EngineKind::Disk);
}

/// Additions commute, whoever adds a vertex that two of them name; so do deletes of vertices that were
/// added before. What is read to decide what is written doesn't, and runs between them on one thread.
fn a_bank_of_many_writers_is_its_model_on(engine: EngineKind) {
    let Some(folder) = data_set("finbench-writes") else { return };
    let (bank, mut model) = (Imported::empty(engine), Model::default());
    create_indexes(&bank.db);
    let operations = operations(&folder);
    let (mut additions, mut checked, mut deletes) = (Vec::new(), Vec::new(), Vec::new());
    for operation in &operations {
        match operation.action {
            Action::Delete(_) => deletes.push(operation),
            Action::Checked(..) => checked.push(operation),
            _ => additions.push(operation),
        }
    }
    for operation in &additions {
        assert_eq!(model.apply(operation), Outcome::Done);
    }
    let done = run_at_once(&bank, &additions);
    assert_eq!(done, BTreeMap::from([(Outcome::Done, additions.len())]));
    for operation in checked {
        assert_eq!(run(&bank.db, operation).unwrap(), model.apply(operation), "{operation:?}");
    }
    let mut wanted: BTreeMap<Outcome, usize> = BTreeMap::new();
    deletes.iter().for_each(|operation| *wanted.entry(model.apply(operation)).or_default() += 1);
    assert_eq!(run_at_once(&bank, &deletes), wanted);
    assert_is(bank, &model);
}

#[test]
fn a_bank_of_many_writers_is_its_model() {
    a_bank_of_many_writers_is_its_model_on(EngineKind::Memory);
}

#[test]
fn a_bank_of_many_writers_is_its_model_on_disk() {
    a_bank_of_many_writers_is_its_model_on(EngineKind::Disk);
}
