//! Transactions of a stream: interleaved, rolled back in parts, kept in files, cut anywhere, beside a naive model.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod messages;
mod model;
mod script;

use evergraph_replica::lsn::Lsn;
use evergraph_replica::pgoutput::message::Message;
use evergraph_replica::pgoutput::relation::Relation;
use evergraph_replica::pgoutput::tuple::Cell;
use evergraph_replica::postgres_time::PostgresTime;
use evergraph_replica::source::batch::ChangeBatch;
use evergraph_replica::source::error::{SourceError, SourceResult};
use evergraph_replica::stream::event::StreamEvent;
use evergraph_replica::stream::pipeline::{Pipeline, PipelineOptions};
use evergraph_replica::stream::row_translator::RowTranslator;
use evergraph_replica::stream::transaction_reader::{ReaderOptions, TransactionReader};
use evergraph_replica::stream::translated::Translated;
use messages::end;
use model::{Found, expected};
use proptest::prelude::*;
use script::{Item, Sent, Step, position, script, sent};
use std::collections::BTreeMap;

/// Texts of rows, each behind the name of its table as it was described before.
#[derive(Clone, Debug, Default)]
struct Naming {
    tables: BTreeMap<u32, String>,
}

impl RowTranslator for Naming {
    type Changes = Vec<String>;
    type Drift = String;
    type Halt = String;

    fn describe(&mut self, relation: &Relation) -> Result<(), String> {
        self.tables.insert(relation.id, relation.name.to_string());
        Ok(())
    }

    fn translate(&self, message: &Message<'_>, out: &mut Vec<String>) -> Result<(), String> {
        let Message::Insert { relation, new, .. } = message else { return Err(format!("{message:?}")) };
        let Some(Cell::Text(text)) = new.cells().next() else { return Err(format!("{message:?}")) };
        let name = self.tables.get(relation).map_or("?", String::as_str);
        out.push(format!("{name} {}", std::str::from_utf8(text).unwrap()));
        Ok(())
    }

    fn room(messages: usize) -> Vec<String> {
        Vec::with_capacity(messages)
    }

    fn heap_bytes(changes: &Vec<String>) -> usize {
        changes.iter().map(String::len).sum()
    }
}

/// A batch of what was sent.
fn batch(all: &[Sent]) -> ChangeBatch {
    let (mut batch, time) = (ChangeBatch::default(), PostgresTime::new(0));
    for sent in all {
        match sent {
            Sent::Message(message) => batch.push_message(Lsn::new(7), Lsn::new(9), time, message),
            Sent::Keepalive(position) => batch.push_keepalive(Lsn::new(*position), time),
        }
    }
    batch
}

/// Reads what was sent, so many changes a batch, with so much memory.
fn events(all: &[Sent], changes: usize, memory_bytes: usize) -> (Vec<StreamEvent>, SourceResult<()>) {
    let options = ReaderOptions { memory_bytes, ..ReaderOptions::default() };
    let (mut reader, mut events) = (TransactionReader::new(options), Vec::new());
    for part in all.chunks(changes) {
        if let Err(error) = reader.push(&batch(part), &mut events) {
            return (events, Err(error));
        }
        assert!(!reader.is_between_transactions() || reader.memory_bytes() == 0, "{reader:?}");
    }
    (events, Ok(()))
}

/// What the events say.
fn found(events: Vec<StreamEvent>) -> Vec<Found> {
    let mut naming = Naming::default();
    let translate = |event: StreamEvent| match event {
        StreamEvent::Idle { position } => Found::Idle(position.get()),
        StreamEvent::Transaction(transaction) => {
            let (mut rows, end) = (Vec::new(), transaction.end);
            for piece in transaction.pieces {
                piece.relations().iter().for_each(|relation| naming.describe(relation).unwrap());
                let messages = piece.read().unwrap();
                messages.decode().for_each(|message| naming.translate(&message, &mut rows).unwrap());
            }
            Found::Transaction { xid: end.xid, end: end.commit.end_lsn.get(), rows }
        }
    };
    events.into_iter().map(translate).collect()
}

/// The same by a pipeline.
fn piped(events: Vec<StreamEvent>, options: PipelineOptions) -> Vec<Found> {
    let mut pipeline = Pipeline::new(Naming::default(), options).unwrap();
    let (mut found, mut rows) = (Vec::new(), Vec::new());
    events.into_iter().for_each(|event| pipeline.push(event));
    while let Some(next) = pipeline.take_next().unwrap() {
        match next {
            Translated::Changes(changes) => rows.extend(changes),
            Translated::Early(_) => panic!("nothing was handed out"),
            Translated::Commit(end) => {
                let rows = std::mem::take(&mut rows);
                found.push(Found::Transaction { xid: end.xid, end: end.commit.end_lsn.get(), rows });
            }
            Translated::Idle { position } => found.push(Found::Idle(position.get())),
        }
    }
    found
}

fn row(text: &str) -> Item {
    Item::Row { table: 1, text: text.to_owned() }
}

fn block(xid: u32, is_first: bool, items: &[(u32, &str)]) -> Step {
    Step::Block { xid, is_first, items: items.iter().map(|(xid, text)| (*xid, row(text))).collect() }
}

/// go-pq-cdc#166: a rolled back savepoint took all of its streamed transaction with it.
#[test]
fn rolling_back_to_a_savepoint_keeps_the_rest_of_its_transaction() {
    let steps = [
        block(8, true, &[(8, "before"), (9, "within"), (10, "nested")]),
        Step::RollBack { xid: 8, subtransaction: 10 },
        Step::RollBack { xid: 8, subtransaction: 9 },
        block(8, false, &[(8, "behind"), (11, "another savepoint")]),
        Step::Commit { xid: 8 },
    ];
    let (events, result) = events(&sent(&steps), 1, usize::MAX);
    assert!(result.is_ok(), "the rest of the transaction is gone: {result:?}");
    let rows = ["? before", "? behind", "? another savepoint"].map(str::to_owned).to_vec();
    let wanted = [Found::Transaction { xid: 8, end: end(position(4)), rows }];
    assert_eq!(found(events), wanted, "the rest of the transaction is there");
}

/// kaptanto#70: the commits of streamed transactions were never confirmed.
#[test]
fn the_commit_of_a_streamed_transaction_has_an_end_to_confirm() {
    let steps = [
        Step::Whole { xid: 1, items: vec![row("a")] },
        block(8, true, &[(8, "b")]),
        Step::Whole { xid: 2, items: vec![row("c")] },
        Step::Keepalive,
        Step::Commit { xid: 8 },
        Step::Keepalive,
    ];
    let (events, result) = events(&sent(&steps), 3, usize::MAX);
    result.unwrap();
    let ends = found(events).into_iter().map(|found| match found {
        Found::Transaction { xid, end, .. } => (xid, end),
        Found::Idle(position) => (0, position),
    });
    // An open streamed transaction commits behind the keepalive that comes between its blocks.
    let (first, second, streamed) = (end(position(0)), end(position(2)), end(position(4)));
    assert!(ends.eq([(1, first), (2, second), (0, position(3)), (8, streamed), (0, position(5))]));
}

#[test]
fn a_table_that_is_described_in_a_streamed_transaction_means_that_for_others_when_it_commits() {
    let relation = |name: &str| Item::Relation { table: 1, name: name.to_owned() };
    let whole = |xid, text: &str| Step::Whole { xid, items: vec![row(text)] };
    let steps = [
        Step::Whole { xid: 1, items: vec![relation("old"), row("a")] },
        Step::Block { xid: 8, is_first: true, items: vec![(9, relation("new")), (9, row("b"))] },
        whole(2, "c"),
        Step::RollBack { xid: 8, subtransaction: 9 },
        // PostgreSQL describes it again.
        Step::Block { xid: 8, is_first: false, items: vec![(8, relation("newer")), (8, row("d"))] },
        whole(3, "e"),
        Step::Commit { xid: 8 },
        whole(4, "f"),
    ];
    let (events, result) = events(&sent(&steps), 2, usize::MAX);
    result.unwrap();
    let rows: Vec<String> = found(events)
        .into_iter()
        .flat_map(|found| match found {
            Found::Transaction { rows, .. } => rows,
            Found::Idle(_) => Vec::new(),
        })
        .collect();
    assert_eq!(rows, ["old a", "old c", "old e", "newer d", "newer f"]);
}

#[test]
fn a_folder_that_is_not_there_is_named_when_memory_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let options = ReaderOptions { memory_bytes: 0, folder: folder.path().join("gone") };
    let steps = [Step::Whole { xid: 1, items: vec![row("a")] }];
    let error = TransactionReader::new(options).push(&batch(&sent(&steps)), &mut Vec::new()).unwrap_err();
    assert!(matches!(error, SourceError::Local(_)) && !error.is_transient());
    assert!(error.to_string().contains("gone"), "{error}");
}

fn choices() -> impl Strategy<Value = Vec<(u8, u8, u8)>> {
    prop::collection::vec(any::<(u8, u8, u8)>(), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// However it is cut, and wherever its messages wait.
    #[test]
    fn every_script_gives_the_transactions_of_the_model(choices in choices()) {
        let steps = script(&choices);
        let (all, wanted) = (sent(&steps), expected(&steps));
        for (changes, memory_bytes) in [(1, usize::MAX), (2, 1000), (7, 200), (all.len() + 1, 0)] {
            let (events, result) = events(&all, changes, memory_bytes);
            prop_assert!(result.is_ok(), "{:?}", result);
            if memory_bytes == 0 {
                let is_spilled = |event: &StreamEvent| match event {
                    StreamEvent::Transaction(transaction) => transaction.pieces.iter().all(|piece| piece.is_spilled()),
                    StreamEvent::Idle { .. } => true,
                };
                prop_assert!(events.iter().all(is_spilled));
            }
            prop_assert_eq!(&found(events), &wanted, "{} changes a batch, {} bytes", changes, memory_bytes);
        }
        for options in [PipelineOptions { threads: 1, memory_bytes: 1 }, PipelineOptions { threads: 3, memory_bytes: 100 }] {
            let (events, _) = events(&all, 3, 500);
            prop_assert_eq!(&piped(events, options), &wanted);
        }
    }

    /// A message that is lost, that comes twice or too late: an error or transactions, and all of them that were before.
    #[test]
    fn a_script_that_is_damaged_gives_what_was_before_the_damage(
        choices in choices(), place in any::<prop::sample::Index>(), damage in 0..3_u8, memory_bytes in prop::sample::select(vec![0, 300, usize::MAX]),
    ) {
        let mut all = sent(&script(&choices));
        prop_assume!(all.len() > 1);
        let place = place.index(all.len() - 1);
        let before = all[..place].to_vec();
        match damage {
            0 => drop(all.remove(place)),
            1 => all.insert(place, all[place].clone()),
            _ => all.swap(place, place + 1),
        }
        let (whole, result) = events(&before, 5, memory_bytes);
        prop_assert!(result.is_ok());
        let (damaged, result) = events(&all, 1, memory_bytes);
        prop_assert!(!matches!(result, Err(SourceError::Local(_))), "{:?}", result);
        prop_assert!(found(damaged).starts_with(&found(whole)));
    }
}
