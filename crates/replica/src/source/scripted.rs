//! `ScriptedSource`: recorded messages in place of a database, which may break off, repeat itself and lie.
//!
//! It keeps its slot as PostgreSQL does: what was confirmed comes no more, unless the source crashed meanwhile, since slots are
//! saved at its checkpoints alone. A new stream sends transactions from their beginning, whatever a broken one had sent of them.
//! Relations that an earlier stream described come first of all.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use evergraph_graph::cancel::CancelFlag;

use crate::lsn::Lsn;
use crate::pgoutput::decoder::Decoder;
use crate::pgoutput::message::{Message, Xid};
use crate::pgoutput::relation::Oid;
use crate::postgres_time::PostgresTime;
use crate::source::batch::{BATCH_BYTES, ChangeBatch, RowBatch};
use crate::source::catalogue::Catalogue;
use crate::source::contract::{ChangeStream, CopyRequest, RowStream, Source, SourceIdentity, StreamRequest};
use crate::source::error::{SourceError, SourceResult};
use crate::wire::server_error::ServerError;

/// What a scripted stream sends next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScriptStep {
    /// Messages, of whole transactions or of blocks.
    Messages(Vec<Vec<u8>>),
    /// A keepalive with this position.
    Keepalive(Lsn),
    /// Nothing, for one wait.
    Silence,
    /// The connection breaks; the next stream goes on behind this step, with what was not confirmed before it.
    Break,
    /// As [`ScriptStep::Break`], and the source forgets what was confirmed since its last checkpoint.
    Crash,
    /// The source makes a checkpoint: what was confirmed is remembered.
    Checkpoint,
    /// The source refuses with this SQLSTATE.
    Refuse(&'static str),
}

/// Recorded messages in place of a database.
#[derive(Clone, Debug)]
pub struct ScriptedSource {
    identity: SourceIdentity,
    catalogue: Catalogue,
    tables: Vec<ScriptedTable>,
    slot: Arc<Mutex<Slot>>,
}

/// A table to copy.
#[derive(Clone, Debug)]
struct ScriptedTable {
    schema: String,
    name: String,
    /// As COPY sends them.
    rows: Vec<Vec<u8>>,
}

#[derive(Debug, Default)]
struct Slot {
    steps: VecDeque<ScriptStep>,
    sent: SentTransactions,
    confirmed: Lsn,
    saved: Lsn,
    /// Every position that was confirmed, in order.
    confirmations: Vec<Lsn>,
}

impl ScriptedSource {
    /// A source that says of itself `identity` and `catalogue`, and whose streams send `steps`.
    #[must_use]
    pub fn new(
        identity: SourceIdentity,
        catalogue: Catalogue,
        steps: impl IntoIterator<Item = ScriptStep>,
    ) -> Self {
        let slot = Slot { steps: steps.into_iter().collect(), ..Slot::default() };
        Self { identity, catalogue, tables: Vec::new(), slot: Arc::new(Mutex::new(slot)) }
    }

    /// The same with a table to copy.
    #[must_use]
    pub fn with_rows(mut self, schema: &str, table: &str, rows: Vec<Vec<u8>>) -> Self {
        self.tables.push(ScriptedTable { schema: schema.to_owned(), name: table.to_owned(), rows });
        self
    }

    /// Every position that was confirmed, in order.
    #[must_use]
    pub fn confirmations(&self) -> Vec<Lsn> {
        lock(&self.slot).confirmations.clone()
    }
}

/// Transactions that were sent, for as long as they may come again.
#[derive(Debug, Default)]
struct SentTransactions {
    decoder: Decoder,
    transactions: Vec<SentTransaction>,
    /// The newest descriptions of tables, as they are outside of blocks.
    relations: BTreeMap<Oid, Vec<u8>>,
    /// The transaction that messages belong to.
    current: Option<Xid>,
}

#[derive(Debug)]
struct SentTransaction {
    xid: Xid,
    messages: Vec<Vec<u8>>,
    end: Option<Lsn>,
}

impl SentTransactions {
    fn add(&mut self, message: Vec<u8>) {
        // A lying script may send what is no message: it comes once.
        let Ok(decoded) = self.decoder.decode(&message) else { return };
        let (xid, end, goes_on) = match &decoded {
            Message::Begin(begin) => (Some(begin.xid), None, true),
            Message::StreamStart { xid, .. } => (Some(*xid), None, true),
            Message::StreamStop => (self.current, None, false),
            Message::Commit(commit) => (self.current, Some(commit.end_lsn), false),
            Message::StreamCommit { xid, commit } => (Some(*xid), Some(commit.end_lsn), false),
            Message::StreamAbort { xid, subtransaction } => {
                if xid == subtransaction {
                    self.transactions.retain(|sent| sent.xid != *xid);
                    return;
                }
                (Some(*xid), None, false)
            }
            _ => (self.current, None, true),
        };
        if let Message::Relation { xid, relation } = &decoded {
            let fields = if xid.is_some() { &message[5..] } else { &message[1..] };
            self.relations.insert(relation.id, [b"R", fields].concat());
        }
        self.current = xid.filter(|_| goes_on);
        let Some(xid) = xid else { return };
        let at = self.transactions.iter().position(|sent| sent.xid == xid && sent.end.is_none());
        // The newest is the last, and a commit keeps its place behind the commits before it.
        let mut sent = match at {
            Some(at) => self.transactions.remove(at),
            None => SentTransaction { xid, messages: Vec::new(), end: None },
        };
        sent.messages.push(message);
        sent.end = end;
        self.transactions.push(sent);
    }

    /// What a stream from `start` on begins with: whole transactions by their commits, then those in progress.
    fn again(&self, start: Lsn) -> Vec<Vec<u8>> {
        let (committed, open): (Vec<_>, Vec<_>) =
            self.transactions.iter().partition(|sent| sent.end.is_some());
        let committed = committed.into_iter().filter(|sent| sent.end > Some(start));
        let transactions = committed.chain(open).flat_map(|sent| sent.messages.iter().cloned());
        self.relations.values().cloned().chain(transactions).collect()
    }

    fn forget(&mut self, saved: Lsn) {
        self.transactions.retain(|sent| sent.end.is_none_or(|end| end > saved));
    }
}

fn lock(slot: &Mutex<Slot>) -> MutexGuard<'_, Slot> {
    slot.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn broken() -> SourceError {
    SourceError::Io {
        doing: "read the scripted stream".to_owned(),
        error: io::Error::new(io::ErrorKind::ConnectionReset, "the script breaks the connection here"),
    }
}

impl Source for ScriptedSource {
    fn identity(&mut self) -> SourceResult<SourceIdentity> {
        Ok(self.identity.clone())
    }

    fn catalogue(&mut self) -> SourceResult<Catalogue> {
        Ok(self.catalogue.clone())
    }

    fn copy(&mut self, request: &CopyRequest, _: &CancelFlag) -> SourceResult<Box<dyn RowStream>> {
        let (schema, table) = (&request.schema, &request.table);
        let is_asked = |known: &&ScriptedTable| known.schema == *schema && known.name == *table;
        let Some(found) = self.tables.iter().find(is_asked) else {
            return Err(SourceError::Invalid(format!("the script has no table {schema}.{table}")));
        };
        Ok(Box::new(ScriptedRows(found.rows.clone().into())))
    }

    fn stream(&mut self, request: &StreamRequest) -> SourceResult<Box<dyn ChangeStream>> {
        let slot = lock(&self.slot);
        let start = request.start.max(slot.confirmed);
        let again = slot.sent.again(start);
        drop(slot);
        Ok(Box::new(ScriptedStream { slot: Arc::clone(&self.slot), again, is_over: false }))
    }
}

struct ScriptedRows(VecDeque<Vec<u8>>);

impl RowStream for ScriptedRows {
    fn next_batch(&mut self, batch: &mut RowBatch) -> SourceResult<bool> {
        batch.clear();
        while batch.size_bytes() < BATCH_BYTES {
            match self.0.pop_front() {
                Some(row) => batch.push(&row),
                None => break,
            }
        }
        Ok(!batch.is_empty())
    }
}

struct ScriptedStream {
    slot: Arc<Mutex<Slot>>,
    /// What is sent again before the script goes on.
    again: Vec<Vec<u8>>,
    is_over: bool,
}

impl ChangeStream for ScriptedStream {
    fn next_batch(&mut self, _: Duration) -> SourceResult<Option<ChangeBatch>> {
        if self.is_over {
            return Err(broken());
        }
        let mut slot = lock(&self.slot);
        let mut batch = ChangeBatch::default();
        if !self.again.is_empty() {
            for message in self.again.drain(..) {
                batch.push_message(Lsn::ZERO, Lsn::ZERO, PostgresTime::default(), &message);
            }
            return Ok(Some(batch));
        }
        match slot.steps.pop_front() {
            None | Some(ScriptStep::Silence) => return Ok(None),
            Some(ScriptStep::Messages(messages)) => {
                for message in messages {
                    batch.push_message(Lsn::ZERO, Lsn::ZERO, PostgresTime::default(), &message);
                    slot.sent.add(message);
                }
            }
            Some(ScriptStep::Keepalive(position)) => batch.push_keepalive(position, PostgresTime::default()),
            Some(ScriptStep::Break) => {
                self.is_over = true;
                return Err(broken());
            }
            Some(ScriptStep::Crash) => {
                slot.confirmed = slot.saved;
                self.is_over = true;
                return Err(broken());
            }
            Some(ScriptStep::Checkpoint) => {
                slot.saved = slot.confirmed;
                let saved = slot.saved;
                slot.sent.forget(saved);
                return Ok(None);
            }
            Some(ScriptStep::Refuse(sqlstate)) => {
                self.is_over = true;
                return Err(SourceError::Server {
                    doing: "read the scripted stream".to_owned(),
                    error: Box::new(ServerError {
                        severity: "ERROR".into(),
                        sqlstate: sqlstate.into(),
                        message: "the script refuses here".into(),
                        ..ServerError::default()
                    }),
                });
            }
        }
        Ok(Some(batch))
    }

    fn confirm(&self, position: Lsn) {
        let mut slot = lock(&self.slot);
        slot.confirmations.push(position);
        slot.confirmed = slot.confirmed.max(position);
    }

    fn stop(self: Box<Self>) -> SourceResult<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::batch::Change;

    fn begin(xid: u8) -> Vec<u8> {
        let mut message = vec![b'B'];
        message.extend([0; 16]);
        message.extend([0, 0, 0, xid]);
        message
    }

    fn commit(end: u8) -> Vec<u8> {
        let mut message = vec![b'C', 0];
        message.extend([0; 15]);
        message.push(end);
        message.extend([0; 8]);
        message
    }

    fn source(steps: Vec<ScriptStep>) -> ScriptedSource {
        let identity = SourceIdentity {
            system: "1".into(),
            timeline: 1,
            database: "shop".into(),
            log_end: Lsn::ZERO,
            server_version: 150_000,
        };
        ScriptedSource::new(identity, Catalogue::default(), steps)
    }

    fn request(start: u64) -> StreamRequest {
        StreamRequest {
            slot: "s".into(),
            publications: vec!["p".into()],
            start: Lsn::new(start),
            logical_messages: Default::default(),
        }
    }

    /// The first letters of all messages until the stream breaks, and the error.
    fn letters(stream: &mut dyn ChangeStream) -> String {
        let mut letters = String::new();
        loop {
            match stream.next_batch(Duration::ZERO) {
                Ok(Some(batch)) => letters.extend(batch.changes().map(|change| match change {
                    Change::Message { bytes, .. } => char::from(bytes[0]),
                    Change::Keepalive { .. } => 'k',
                })),
                Ok(None) | Err(_) => return letters,
            }
        }
    }

    #[test]
    fn a_crash_sends_again_what_was_confirmed_since_the_checkpoint() {
        let relation = b"R\0\0\0\x07\0t\0d\0\0".to_vec();
        let first = vec![begin(1), relation, commit(10)];
        let half = vec![begin(3)];
        let mut source = source(vec![
            ScriptStep::Messages(first),
            ScriptStep::Messages(vec![begin(2), commit(20)]),
            ScriptStep::Messages(half),
            ScriptStep::Break,
            ScriptStep::Messages(vec![commit(30)]),
            ScriptStep::Crash,
        ]);
        let mut stream = source.stream(&request(0)).unwrap();
        assert_eq!(letters(&mut *stream), "BRCBCB");
        stream.confirm(Lsn::new(10));
        assert!(stream.next_batch(Duration::ZERO).is_err());
        // Behind 10: the description, the second transaction, and the third from its beginning.
        let mut stream = source.stream(&request(0)).unwrap();
        stream.confirm(Lsn::new(20));
        assert_eq!(letters(&mut *stream), "RBCBC");
        // The crash forgot both; the reader's own position makes up for it.
        assert!(letters(&mut *source.clone().stream(&request(0)).unwrap()).starts_with("RBRCBCBC"));
        let mut stream = source.stream(&request(30)).unwrap();
        assert_eq!(stream.next_batch(Duration::ZERO).unwrap().unwrap().changes().count(), 1);
        assert_eq!(source.confirmations(), [Lsn::new(10), Lsn::new(20)]);
    }
}
