//! Model: random transactions on all kinds of tables; after each the graph is what the rows come to.

use crate::graph::{differences, of_database, of_rows};
use crate::replica::{Replica, SOURCE};
use crate::source::{Row, Source};
use crate::stream_bytes::{self as bytes, Field};
use crate::world::{Kind, World, everything, oid};
use evergraph::{Database, Durability, Options};
use evergraph_graph::view::GraphView as _;
use evergraph_replica::apply::limits::TransactionLimits;
use evergraph_replica::planted::{Bug, with};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use std::path::Path;

/// Values of the columns of a row, to be taken as their types say.
type Bytes = [u8; 6];

/// What a transaction does; rows are named by numbers that are taken modulo what is there.
#[derive(Clone, Debug)]
enum Op {
    Insert(u8, Bytes),
    /// The columns of the mask get other values.
    Update(u8, u8, u8, Bytes),
    Delete(u8, u8),
    /// A row is deleted, and another one gets its key.
    Replace(u8, u8, Bytes),
    /// Two rows exchange their keys.
    Swap(u8, u8, u8),
    /// The tables of the mask.
    Truncate(u16),
}

fn op() -> impl Strategy<Value = Op> {
    let bytes = any::<Bytes>;
    prop_oneof![
        8 => (any::<u8>(), bytes()).prop_map(|(table, values)| Op::Insert(table, values)),
        8 => (any::<u8>(), any::<u8>(), any::<u8>(), bytes())
            .prop_map(|(table, row, mask, values)| Op::Update(table, row, mask, values)),
        3 => (any::<u8>(), any::<u8>()).prop_map(|(table, row)| Op::Delete(table, row)),
        2 => (any::<u8>(), any::<u8>(), bytes()).prop_map(|(table, row, values)| Op::Replace(table, row, values)),
        2 => (any::<u8>(), any::<u8>(), any::<u8>()).prop_map(|(table, one, other)| Op::Swap(table, one, other)),
        1 => any::<u16>().prop_map(|mask| Op::Truncate(1 << (mask % 16) | 1 << (mask / 16 % 16))),
    ]
}

fn history() -> impl Strategy<Value = Vec<Vec<Op>>> {
    prop::collection::vec(prop::collection::vec(op(), 1..12), 1..14)
}

fn value(kind: Kind, is_nullable: bool, byte: u8) -> Option<String> {
    if is_nullable && byte.is_multiple_of(5) {
        return None;
    }
    Some(match kind {
        Kind::Int | Kind::Numeric => (byte % 6).to_string(),
        Kind::Text => ["a", "b", "hidden", "Long one", "Long two", "x|y\\"][usize::from(byte % 6)].to_owned(),
    })
}

/// Does `op`, unless PostgreSQL would refuse it.
fn run(world: &World, source: &mut Source, op: &Op) {
    let table_of = |table: &u8| usize::from(*table) % world.tables.len();
    let row_of = |source: &Source, table: usize, row: &u8| {
        let count = source.rows[table].len();
        (count > 0).then(|| usize::from(*row) % count)
    };
    let random_row = |table: usize, values: &Bytes| -> Row {
        let columns = world.tables[table].columns.iter().zip(values);
        columns.map(|((_, kind, is_nullable), byte)| value(*kind, *is_nullable, *byte)).collect()
    };
    match op {
        Op::Insert(table, values) => {
            let table = table_of(table);
            source.insert(table, random_row(table, values));
        }
        Op::Update(table, row, mask, values) => {
            let table = table_of(table);
            let Some(row) = row_of(source, table, row) else { return };
            let mut new = source.rows[table][row].clone();
            for (column, value) in random_row(table, values).into_iter().enumerate() {
                if mask >> column & 1 == 1 {
                    new[column] = value;
                }
            }
            source.update(table, row, new);
        }
        Op::Delete(table, row) => {
            let table = table_of(table);
            let Some(row) = row_of(source, table, row) else { return };
            source.delete(table, row);
        }
        Op::Replace(table, row, values) => {
            let table = table_of(table);
            let Some(row) = row_of(source, table, row) else { return };
            let mut new = random_row(table, values);
            let spec = &world.tables[table];
            for column in (0..new.len()).filter(|column| spec.is_key(*column)) {
                new[column].clone_from(&source.rows[table][row][column]);
            }
            source.delete(table, row);
            source.insert(table, new);
        }
        Op::Swap(table, one, other) => {
            let table = table_of(table);
            let (Some(one), Some(other)) = (row_of(source, table, one), row_of(source, table, other)) else {
                return;
            };
            if one == other {
                return;
            }
            let spec = &world.tables[table];
            let with_key = |row: &Row, key: &Row| {
                let mut new = row.clone();
                for column in (0..new.len()).filter(|column| spec.is_key(*column)) {
                    new[column].clone_from(&key[column]);
                }
                new
            };
            let (first, second) = (source.rows[table][one].clone(), source.rows[table][other].clone());
            if !spec.is_full {
                let mut free = first.clone();
                free[0] = Some("99".to_owned());
                source.update(table, one, free);
            }
            source.update(table, other, with_key(&second, &first));
            source.update(table, one, with_key(&first, &second));
        }
        Op::Truncate(mask) => {
            let tables: Vec<usize> = (0..world.tables.len()).filter(|table| mask >> table & 1 == 1).collect();
            if !tables.is_empty() {
                source.truncate(&tables);
            }
        }
    }
}

/// Runs a history in a database in memory; what went wrong first. `check_each` compares after each transaction.
fn follow(world: &World, history: &[Vec<Op>]) -> Result<(), String> {
    follow_within(TransactionLimits::default(), world, history)
}

fn follow_within(limits: TransactionLimits, world: &World, history: &[Vec<Op>]) -> Result<(), String> {
    let mut source = Source::new(world);
    let mut replica = Replica::within(limits, world, &source);
    for (number, transaction) in history.iter().enumerate() {
        if number % 3 == 2 {
            let losses = replica.applier.losses().clone();
            replica.reopen(world);
            if *replica.applier.losses() != losses {
                return Err(format!("{losses:?} before a restart, {:?} after it", replica.applier.losses()));
            }
        }
        step(world, &mut source, &mut replica, number, transaction)?;
    }
    Ok(())
}

fn step(
    world: &World,
    source: &mut Source,
    replica: &mut Replica,
    number: usize,
    transaction: &[Op],
) -> Result<(), String> {
    let before = source.clone();
    transaction.iter().for_each(|op| run(world, source, op));
    if !source.may_commit() {
        *source = before;
        return Ok(());
    }
    let commits = replica.database.snapshot().timestamp();
    let piece = if number.is_multiple_of(2) { 1 } else { usize::MAX };
    let applied = replica.apply(source, piece).map_err(|error| format!("transaction {number}: {error}"))?;
    if applied.timestamp.0 != commits.0 + 1 {
        return Err(format!("transaction {number} took more than one commit"));
    }
    if replica.noted() != Some(replica.position()) {
        return Err(format!("transaction {number}: another position is noted"));
    }
    let ((expected, expected_waiting), found) =
        (of_rows(world, source), of_database(world, &replica.database));
    if let Some(text) = differences(&expected, &found) {
        return Err(format!("transaction {number}: {text}"));
    }
    let waiting = replica.waiting();
    if waiting != expected_waiting {
        return Err(format!("transaction {number}: {expected_waiting:?} wait, and {waiting:?} are counted"));
    }
    Ok(())
}

fn on_disk(path: &Path) -> Database {
    let options = Options { durability: Durability::None, ..Options::default() };
    Database::open_with(path, &options).unwrap()
}

proptest! {
    #![proptest_config(Config { cases: 256, ..Config::default() })]

    #[test]
    fn after_every_transaction_the_graph_is_what_the_rows_come_to(history in history()) {
        follow(&everything(), &history).map_err(TestCaseError::fail)?;
    }
}

proptest! {
    #![proptest_config(Config { cases: 64, ..Config::default() })]

    #[test]
    fn rows_that_are_loaded_in_bulk_come_to_the_same_graph(
        inserted in prop::collection::vec(prop::collection::vec((any::<u8>(), any::<Bytes>()), 1..40), 1..4),
        history in history(),
    ) {
        let insert = |(table, values): (u8, Bytes)| Op::Insert(table, values);
        let inserted = inserted.into_iter().map(|rows| rows.into_iter().map(insert).collect());
        let history: Vec<Vec<Op>> = inserted.chain(history).collect();
        let limits = TransactionLimits { bulk_bytes_min: 0, bulk_memory_bytes: 1 << 10, ..Default::default() };
        follow_within(limits, &everything(), &history).map_err(TestCaseError::fail)?;
    }
}

proptest! {
    #![proptest_config(Config { cases: 12, ..Config::default() })]

    #[test]
    fn rows_that_wait_are_there_again_when_the_database_is_opened_again(history in history()) {
        let world = everything();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db.eg");
        let mut source = Source::new(&world);
        for (number, transaction) in history.iter().enumerate() {
            let mut replica = Replica::of(on_disk(&path), &world, &source);
            let followed = replica.database.source();
            prop_assert_eq!(followed.as_deref(), Some(SOURCE));
            step(&world, &mut source, &mut replica, number, transaction).map_err(TestCaseError::fail)?;
            let Replica { database, ownership, .. } = replica;
            drop(ownership);
            database.close().unwrap();
        }
    }
}

/// A message that no source sends: kind, table, and what each field is.
type Nonsense = (u8, u8, Vec<u8>);

fn nonsense(world: &World, (kind, table, values): &Nonsense) -> Vec<u8> {
    let table = usize::from(*table) % world.tables.len();
    let count = world.tables[table].columns.len();
    let field = |byte: u8| match byte % 8 {
        0 => Field::Null,
        1 | 2 => Field::Unchanged,
        3 => Field::Text("no number".to_owned()),
        _ => Field::Text((byte % 3).to_string()),
    };
    let fields = |from: usize| -> Vec<Field> {
        (0..count).map(|column| field(values[(from + column) % values.len()])).collect()
    };
    let (old, new) = (fields(0), fields(3));
    match kind % 6 {
        0 => bytes::insert(oid(table), &new),
        1 => bytes::update(oid(table), None, &new),
        2 => bytes::update(oid(table), Some((b'K', &old)), &new),
        3 => bytes::update(oid(table), Some((b'O', &old)), &new),
        4 => bytes::delete(oid(table), if values[0] % 2 == 0 { b'K' } else { b'O' }, &old),
        _ => bytes::insert(oid(table), &new[1..]),
    }
}

proptest! {
    #[test]
    fn what_no_source_sends_is_an_error_or_a_change_and_an_error_changes_nothing(
        history in history(),
        transactions in prop::collection::vec(
            prop::collection::vec((any::<u8>(), any::<u8>(), prop::collection::vec(any::<u8>(), 1..9)), 1..6),
            1..6,
        ),
    ) {
        let world = everything();
        let mut source = Source::new(&world);
        let mut replica = Replica::new(&world, &source);
        history[0].iter().for_each(|op| run(&world, &mut source, op));
        if source.may_commit() {
            replica.apply(&mut source, usize::MAX).map_err(TestCaseError::fail)?;
        }
        for transaction in transactions {
            let before = of_database(&world, &replica.database);
            source.messages = transaction.iter().map(|it| nonsense(&world, it)).collect();
            if replica.apply(&mut source, 2).is_err() {
                prop_assert_eq!(before, of_database(&world, &replica.database));
            }
        }
    }
}

/// What a runner with a seed of its own, always the same, finds with `bug`, or without one.
fn found_with(bug: Option<Bug>) -> Option<String> {
    let config = Config { cases: 400, max_shrink_iters: 0, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let world = everything();
    let test = |history: Vec<Vec<Op>>| follow(&world, &history).map_err(TestCaseError::fail);
    let mut run = || runner.run(&history(), test);
    let result = match bug {
        Some(bug) => with(bug, run),
        None => run(),
    };
    match result {
        Ok(()) => None,
        Err(TestError::Fail(reason, _)) => Some(reason.to_string()),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}

#[test]
fn planted_bugs_are_found() {
    assert_eq!(found_with(None), None, "without a bug");
    let bugs: [(Bug, &[&str]); 4] = [
        // Whichever comes first: see the test below.
        (Bug::KeysInStreamOrder, &[UNSENT, "missing"]),
        (Bug::UnchangedAsAbsent, &["missing"]),
        (Bug::NoteApart, &["more than one commit"]),
        (Bug::OrphansForgotten, &[" wait, and "]),
    ];
    for (bug, says) in bugs {
        let found = found_with(Some(bug)).unwrap_or_else(|| panic!("{bug:?} is not found"));
        assert!(says.iter().any(|part| found.contains(part)), "{bug:?}: {found}");
    }
}

/// What is said of a row whose value was not sent, where the graph has nothing under the key at which it is looked for.
const UNSENT: &str = "a row that enters the graph needs it";

/// Long documents that updates leave alone: under a key that a row gets there is none, or another row's.
#[test]
fn keys_in_stream_order_lose_values_that_were_not_sent_or_take_another_rows() {
    let world = everything();
    let person = u8::try_from(world.table("person")).unwrap();
    // Keys 1 and 2, names, documents, no flag, and no boss or home.
    let [one, other]: [Bytes; 2] = [[1, 1, 3, 0, 5, 5], [2, 1, 4, 0, 5, 5]];
    let inserted = vec![Op::Insert(person, one), Op::Insert(person, other)];
    // The key alone, to 3.
    let moved = vec![Op::Update(person, 0, 1, [3, 0, 0, 0, 0, 0])];
    for (change, says) in [(moved, UNSENT), (vec![Op::Swap(person, 0, 1)], "missing")] {
        let history = [inserted.clone(), change];
        assert_eq!(follow(&world, &history), Ok(()));
        let found = with(Bug::KeysInStreamOrder, || follow(&world, &history)).unwrap_err();
        assert!(found.contains(says), "{history:?}: {found}");
    }
}
