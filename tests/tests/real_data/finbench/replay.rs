//! Replay: the streams on a database and on the model, then both compared; once more after the log is
//! replayed, and after a checkpoint is read.

use super::model::Model;
use super::stream::{Action, Operation, operations};
use super::transactions::{Outcome, create_indexes, run};
use crate::imported::Imported;
use evergraph::EngineKind;
use evergraph_tests::data_folder::data_set;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

const THREADS: usize = 4;
/// So many operations, the first in the order of time, have many writers.
const AT_ONCE: usize = 20_000;

fn assert_is(bank: Imported, model: &Model) {
    model.assert_shown_by(&bank.db.snapshot());
    let bank = bank.reopened();
    model.assert_shown_by(&bank.db.snapshot());
    let bank = bank.reopened_from_checkpoint();
    model.assert_shown_by(&bank.db.snapshot());
    bank.assert_healthy();
}

/// Runs `operations` on several threads, each taking the next one that nobody took.
fn run_at_once(bank: &Imported, operations: &[Operation]) -> BTreeMap<Outcome, usize> {
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
    let Some(Streams { in_time: operations, .. }) = streams() else { return };
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

/// All operations, in the order of time, and the first of them in that of several writers: additions, checks, deletes.
struct Streams {
    in_time: Vec<Operation>,
    by_kind: [Vec<Operation>; 3],
}

fn streams() -> Option<&'static Streams> {
    static STREAMS: OnceLock<Streams> = OnceLock::new();
    let folder = data_set("finbench-writes")?;
    Some(STREAMS.get_or_init(|| {
        let in_time = operations(&folder);
        let mut by_kind = <[Vec<Operation>; 3]>::default();
        for operation in &in_time[..AT_ONCE] {
            let kind = match operation.action {
                Action::Checked(..) => 1,
                Action::Delete(_) => 2,
                _ => 0,
            };
            by_kind[kind].push(operation.clone());
        }
        Streams { in_time, by_kind }
    }))
}

/// What becomes of operations, and what they leave. It takes as long as on a database, so engines share it.
struct Played {
    outcomes: Vec<Outcome>,
    model: Model,
}

impl Played {
    fn of(operations: impl Iterator<Item = &'static Operation>) -> Self {
        let mut model = Model::default();
        let outcomes = operations.map(|operation| model.apply(operation)).collect();
        Self { outcomes, model }
    }
}

#[test]
fn a_bank_in_the_order_of_time_is_its_model() {
    let Some(Streams { in_time, .. }) = streams() else { return };
    let played = Played::of(in_time.iter());
    let bank = Imported::empty(EngineKind::Memory);
    create_indexes(&bank.db);
    let mut outcomes: BTreeMap<(bool, Outcome), usize> = BTreeMap::new();
    for (operation, wanted) in in_time.iter().zip(&played.outcomes) {
        let found = run(&bank.db, operation).unwrap_or_else(|error| panic!("{operation:?}: {error}"));
        assert_eq!(found, *wanted, "{operation:?}");
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
    assert_is(bank, &played.model);
}

/// Additions commute, whoever adds a vertex that two of them name; so do deletes of vertices that were
/// added before. What is read to decide what is written doesn't, and runs between them on one thread.
fn a_bank_of_many_writers_is_its_model_on(engine: EngineKind) {
    static PLAYED: OnceLock<Played> = OnceLock::new();
    let Some(Streams { by_kind, .. }) = streams() else { return };
    let played = PLAYED.get_or_init(|| Played::of(by_kind.iter().flatten()));
    let [additions, checked, deletes] = by_kind;
    let (wanted, later) = played.outcomes.split_at(additions.len());
    let (of_checked, of_deletes) = later.split_at(checked.len());
    assert!(wanted.iter().all(|outcome| *outcome == Outcome::Done));
    let bank = Imported::empty(engine);
    create_indexes(&bank.db);
    assert_eq!(run_at_once(&bank, additions), counted(wanted));
    for (operation, wanted) in checked.iter().zip(of_checked) {
        assert_eq!(run(&bank.db, operation).unwrap(), *wanted, "{operation:?}");
    }
    assert_eq!(run_at_once(&bank, deletes), counted(of_deletes));
    assert_is(bank, &played.model);
}

fn counted(outcomes: &[Outcome]) -> BTreeMap<Outcome, usize> {
    let mut counted = BTreeMap::new();
    outcomes.iter().for_each(|outcome| *counted.entry(*outcome).or_default() += 1);
    counted
}

#[test]
fn a_bank_of_many_writers_is_its_model() {
    a_bank_of_many_writers_is_its_model_on(EngineKind::Memory);
}

#[test]
fn a_bank_of_many_writers_is_its_model_on_disk() {
    a_bank_of_many_writers_is_its_model_on(EngineKind::Disk);
}
