//! Run: a transaction as its client sees it, and the message that it is sent in.

use crate::graph::{Answer, Cell, Question, State, Writes};
use crate::keys::GraphKey;
use evergraph_cluster::digest::{LogDigest, SeenLog};
use evergraph_cluster::record::body::Record;
use evergraph_cluster::record::message::MessageBuilder;
use evergraph_cluster::record_id::{Author, RecordId};
use evergraph_graph::timestamp::Timestamp;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What the judge calls what became of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Committed,
    Conflict,
    TooOld,
    OtherLog,
    Incomplete,
    Cancelled,
    Done,
}

/// What a client knows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ClientOutcome {
    Nothing,
    Committed,
    Aborted,
    Unknown,
}

/// A transaction as its client sees it.
pub struct Run {
    pub id: RecordId,
    /// All ids that it was sent under.
    pub names: Vec<RecordId>,
    pub node: usize,
    pub is_serializable: bool,
    pub since: Timestamp,
    /// The log that `since` is of.
    pub digest: LogDigest,
    pub is_read_only: bool,
    /// Of a fresh reader: the newest commit that was acknowledged before it began.
    pub fresh: Option<Timestamp>,
    /// Its barrier, until it has come.
    pub barrier: Option<RecordId>,
    pub steps_left: usize,
    pub reads: Vec<(Question, Answer)>,
    /// Own writes: what is there, and what isn't any more.
    pub own: State,
    pub gone: BTreeSet<Cell>,
    /// Vertices that it inserts (true) or deletes.
    pub members: Vec<(u32, bool)>,
    /// What its writes check.
    pub checks: Vec<GraphKey>,
    /// What it sent.
    pub writes: Writes,
    pub sent: Option<Record>,
    /// The message that has it, once that is on its way and takes no more records.
    pub message: Option<Draft>,
    pub resends: usize,
    pub is_active: bool,
    /// Its node died, or somebody asked elsewhere.
    pub is_orphan: bool,
    pub known: ClientOutcome,
    /// What the client wants done once: it tries again under the same number.
    pub job: usize,
    /// Who cancels it, and by which record.
    pub cancel: Option<(usize, RecordId)>,
}

/// A message that is under way.
#[derive(Clone)]
pub struct Draft {
    pub node: usize,
    pub author: Author,
    pub seen: SeenLog,
    pub records: Vec<Record>,
    /// It was sent: it takes no more records, and goes again in the same bytes.
    pub is_sealed: bool,
}

impl Draft {
    /// Whether one of its records is `id`.
    pub fn has(&self, id: RecordId) -> bool {
        self.author == id.author && self.records.iter().any(|record| record.number == id.number)
    }

    /// As the log gets it.
    pub fn bytes(&self) -> Arc<[u8]> {
        let mut builder = MessageBuilder::new(self.author);
        self.records.iter().for_each(|record| assert!(builder.push(record), "records are small"));
        builder.finish(&self.seen).into()
    }
}
