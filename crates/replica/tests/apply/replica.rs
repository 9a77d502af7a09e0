//! Replica: a database that is brought along with a source, transaction by transaction.

use crate::source::Source;
use crate::world::World;
use evergraph::Database;
use evergraph::ownership::Ownership;
use evergraph_replica::apply::applier::{Applied, Applier};
use evergraph_replica::apply::fold::TransactionFold;
use evergraph_replica::apply::limits::TransactionLimits;
use evergraph_replica::lsn::Lsn;
use evergraph_replica::pgoutput::decoder::Decoder;
use evergraph_replica::pgoutput::message::Message;
use evergraph_replica::position::{POSITION_NOTE, Position};
use evergraph_replica::postgres_time::PostgresTime;
use evergraph_replica::translate::row_change::RowChanges;
use evergraph_replica::translate::translator::Translator;
use std::collections::BTreeMap;

/// What the database follows.
pub const SOURCE: &str = "a source of tests";

pub struct Replica {
    pub database: Database,
    pub ownership: Ownership,
    pub applier: Applier,
    translator: Translator,
    fold: TransactionFold,
    number: u64,
}

impl Replica {
    pub fn new(world: &World, source: &Source) -> Self {
        Self::of(Database::in_memory().unwrap(), world, source)
    }

    /// The same, with other limits for one transaction.
    pub fn within(limits: TransactionLimits, world: &World, source: &Source) -> Self {
        Self::new(world, source).with_limits(limits)
    }

    /// The same, with other limits for one transaction.
    pub fn with_limits(self, limits: TransactionLimits) -> Self {
        Self { fold: TransactionFold::of_rules(self.translator.rules(), limits), ..self }
    }

    /// Follows with a database that may have followed before.
    pub fn of(database: Database, world: &World, source: &Source) -> Self {
        let mut ownership = database.own(SOURCE).unwrap();
        let applier = Applier::open(&mut ownership, world.plan.clone()).unwrap();
        let mut translator = Translator::new(world.plan.clone());
        for bytes in source.relations() {
            let Message::Relation { relation, .. } = Decoder::new().decode(&bytes).unwrap() else { panic!() };
            translator.describe(&relation).unwrap();
        }
        let fold = TransactionFold::of_rules(translator.rules(), TransactionLimits::default());
        Self { database, ownership, applier, translator, fold, number: 0 }
    }

    /// Reads all notes again, as after a restart.
    pub fn reopen(&mut self, world: &World) {
        self.applier = Applier::open(&mut self.ownership, world.plan.clone()).unwrap();
    }

    /// What `messages` change.
    pub fn translate(&self, messages: &[Vec<u8>]) -> Result<RowChanges, String> {
        let mut changes = RowChanges::new();
        for bytes in messages {
            let message = Decoder::new().decode(bytes).unwrap();
            self.translator.translate(&message, &mut changes).map_err(|halt| halt.to_string())?;
        }
        Ok(changes)
    }

    /// Applies what `source` has done since the last time, in pieces of `piece` messages.
    pub fn apply(&mut self, source: &mut Source, piece: usize) -> Result<Applied, String> {
        let messages = std::mem::take(&mut source.messages);
        self.fold.clear();
        for messages in messages.chunks(piece) {
            let changes = self.translate(messages)?;
            self.fold.push(changes).map_err(|halt| halt.to_string())?;
        }
        self.number += 1;
        let position = self.position();
        let applied = self.applier.apply(&mut self.ownership, &self.fold, &position);
        applied.map_err(|error| error.to_string())
    }

    /// How many rows and foreign keys wait, by the place of their rule in the mapping.
    pub fn waiting(&self) -> BTreeMap<usize, u64> {
        self.applier.waiting().collect()
    }

    /// The position of the newest transaction.
    pub fn position(&self) -> Position {
        Position { timeline: 1, end: Lsn::new(self.number * 8), xid: 7, committed_at: PostgresTime::new(0) }
    }

    /// The position of the next transaction.
    pub fn next_position(&self) -> Position {
        Position { end: Lsn::new((self.number + 1) * 8), ..self.position() }
    }

    /// The position that the database names.
    pub fn noted(&self) -> Option<Position> {
        self.database.snapshot().note(POSITION_NOTE).map(|bytes| Position::decode(&bytes).unwrap())
    }
}
