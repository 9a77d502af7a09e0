//! Log writer: a log of one author in memory. Each message is decided when it is full, so that the next one can say which log its author
//! had applied, and records can read at its end.

use evergraph_cluster::certification::certifier::CertifierLimits;
use evergraph_cluster::key_hash::graph_salt::{GraphSalt, KeyHash};
use evergraph_cluster::log::reader::ReadMessage;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::replicated_state::{AppliedRecord, RecordResult, ReplicatedState};
use evergraph_cluster::record::body::{Record, RecordBody};
use evergraph_cluster::record::message::{Message, MessageBuilder};
use evergraph_cluster::record::transaction_part::TransactionPart;
use evergraph_cluster::record_id::{Author, NodeId};
use evergraph_cluster::tables::cluster_tables::ClusterTables;
use evergraph_cluster::tables::members::Members;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::partition::PartitionCount;
use std::collections::HashSet;
use std::sync::Arc;

/// The salt of the graph.
pub const SALT: GraphSalt = GraphSalt(*b"salt of a bench.");
const AUTHOR: Author = Author { node: NodeId(0), incarnation: 0 };
const ADDRESS: &str = "node-0:1";

/// Messages that follow each other in a log.
#[derive(Clone, Debug)]
pub struct Messages {
    first: LogPosition,
    bytes: Vec<Arc<[u8]>>,
}

/// A log that grows.
#[derive(Debug)]
pub struct LogWriter {
    state: ReplicatedState,
    messages: Messages,
    open: MessageBuilder,
    /// What the transactions of the open message touch.
    touched: HashSet<KeyHash>,
    next_number: u64,
}

/// What a cluster of `nodes` is created with.
#[must_use]
pub fn first_state(partitions: PartitionCount, nodes: u16, copies: usize) -> ReplicatedState {
    let members = (0..nodes).map(|node| (NodeId(node), format!("node-{node}:1").into()));
    let tables = ClusterTables::new(partitions, Members::new(members), copies);
    ReplicatedState::new(SALT, CertifierLimits::default(), tables)
}

/// Reads a message as a node does.
///
/// # Errors
/// `corrupt` if it is none.
pub fn read_message(position: LogPosition, bytes: &Arc<[u8]>) -> Result<ReadMessage> {
    let message = Message::decode(bytes).map_err(|error| {
        let (offset, expected) = (error.offset, error.expected);
        Error::new(ErrorKind::Corrupt, format!("message {position:?} at byte {offset}: {expected}"))
    })?;
    Ok(ReadMessage { position, message, bytes: Arc::clone(bytes) })
}

impl Messages {
    /// Each with its position, in order.
    pub fn iter(&self) -> impl Iterator<Item = (LogPosition, &Arc<[u8]>)> {
        (self.first.0..).map(LogPosition).zip(&self.bytes)
    }

    /// Bytes of all.
    #[must_use]
    pub fn bytes_count(&self) -> usize {
        self.bytes.iter().map(|bytes| bytes.len()).sum()
    }
}

impl LogWriter {
    /// A log in which its author has joined.
    ///
    /// # Errors
    /// `corrupt` if it could not.
    pub fn create(partitions: PartitionCount) -> Result<Self> {
        let mut writer = Self::after(first_state(partitions, 1, 1), 1);
        writer.push(RecordBody::Join { address: ADDRESS.into() })?;
        writer.send()?;
        Ok(writer)
    }

    fn after(state: ReplicatedState, next_number: u64) -> Self {
        let first = state.seen().position.next();
        Self {
            state,
            messages: Messages { first, bytes: Vec::new() },
            open: MessageBuilder::new(AUTHOR),
            touched: HashSet::new(),
            next_number,
        }
    }

    /// Goes on behind this log, in messages of its own; nothing may be open.
    #[must_use]
    pub fn fork(&self) -> Self {
        debug_assert!(self.open.is_empty(), "what is open would be lost");
        Self::after(self.state.clone(), self.next_number)
    }

    /// What follows from the log, but for the open message.
    #[must_use]
    pub fn state(&self) -> &ReplicatedState {
        &self.state
    }

    /// What was sent since the log was created, or forked.
    #[must_use]
    pub fn messages(&self) -> &Messages {
        &self.messages
    }

    /// Whether a transaction of the open message touches `subject`: another one there that checks it would be refused.
    #[must_use]
    pub fn is_touched(&self, subject: KeyHash) -> bool {
        self.touched.contains(&subject)
    }

    /// Appends a transaction that reads all that is sent.
    ///
    /// # Errors
    /// As [`LogWriter::push`].
    pub fn push_transaction(&mut self, last: TransactionPart) -> Result<()> {
        let touches = last.touches.clone();
        let since = self.state.seen().position.end();
        self.push(RecordBody::Transaction { since, parts: 0, last })?;
        self.touched.extend(touches);
        Ok(())
    }

    /// Appends a record; what became of earlier ones, if they had to be sent for it.
    ///
    /// # Errors
    /// `limit` if it has no room in a message; as [`LogWriter::send`].
    pub fn push(&mut self, body: RecordBody) -> Result<Vec<AppliedRecord>> {
        let record = Record { number: self.next_number, body };
        let mut sent = Vec::new();
        if !self.open.push(&record) {
            sent = self.send()?;
            if !self.open.push(&record) {
                return Err(Error::new(ErrorKind::Limit, "the record has no room in a message"));
            }
        }
        self.next_number += 1;
        Ok(sent)
    }

    /// Sends the open message, if it has a record: what became of each.
    ///
    /// # Errors
    /// `corrupt` if a transaction is refused.
    pub fn send(&mut self) -> Result<Vec<AppliedRecord>> {
        if self.open.is_empty() {
            return Ok(Vec::new());
        }
        let open = std::mem::replace(&mut self.open, MessageBuilder::new(AUTHOR));
        self.touched.clear();
        let seen = self.state.seen();
        let bytes: Arc<[u8]> = open.finish(&seen).into();
        let decided = self.state.apply(read_message(seen.position.next(), &bytes)?);
        self.messages.bytes.push(bytes);
        for record in &decided.records {
            if !matches!(record.result, RecordResult::Committed | RecordResult::Table(_)) {
                let text = format!("record {}: {:?}", record.id.number, record.result);
                return Err(Error::new(ErrorKind::Corrupt, text));
            }
        }
        Ok(decided.records)
    }
}
