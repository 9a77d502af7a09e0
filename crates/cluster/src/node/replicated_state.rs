//! Replicated state: the certifier and the tables of a graph, and what becomes of each record: the same on every node.
//!
//! ```text
//! message ──certifier──> commit    ──> catalogue, and the payload of each partition
//!                        refusal, answer, part, double
//!                        accepted  ──> tables ──> rows, a number, ...; perhaps a change of the catalogue
//! ```
//!
//! Nothing here knows which partitions the node keeps. A message is applied whole: readers see it whole, or not at all.

use crate::certification::certifier::{Certifier, CertifierLimits};
use crate::certification::outcome::{CancelAnswer, DecidedRecord, Decision, Outcome, Refusal};
use crate::digest::SeenLog;
use crate::key_hash::graph_salt::GraphSalt;
use crate::log::reader::ReadMessage;
use crate::node::apply_error::ApplyError;
use crate::planted::{Bug, planted};
use crate::record::payload::{Destination, Payload};
use crate::record_id::{Author, RecordId};
use crate::tables::cluster_tables::{ClusterTables, TableAnswer};
use evergraph_graph::error::{Error, ErrorKind, Result as GraphResult};
use evergraph_graph::id::PartitionId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;

/// What follows from the log of a graph, on every node alike.
#[derive(Clone, Debug)]
pub struct ReplicatedState {
    salt: GraphSalt,
    certifier: Certifier,
    tables: ClusterTables,
}

/// What became of a record: its author learns it by applying the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordResult {
    /// The transaction committed, with the record's timestamp.
    Committed,
    /// It does not happen.
    Refused(Refusal),
    /// The transaction that it cancels.
    Cancel(CancelAnswer),
    /// The part waits for its transaction.
    PartKept,
    /// The part is gone.
    PartDropped,
    /// What a table says to it.
    Table(TableAnswer),
    /// It came before, with this outcome.
    Double(Outcome),
}

/// A record, applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AppliedRecord {
    /// Which record.
    pub id: RecordId,
    /// Its place in the log.
    pub timestamp: Timestamp,
    /// What became of it.
    pub result: RecordResult,
}

/// A message, decided: what its authors learn, and what partitions install.
#[derive(Clone, PartialEq, Debug)]
pub struct DecidedMessage {
    /// The log through this message.
    pub seen: SeenLog,
    /// Who wrote it.
    pub author: Author,
    /// Its records.
    pub records: Vec<AppliedRecord>,
    /// What they commit, by ascending timestamp.
    pub commits: Vec<DecidedCommit>,
}

/// What one record commits.
#[derive(Clone, PartialEq, Debug)]
pub struct DecidedCommit {
    /// Which record.
    pub id: RecordId,
    /// Its timestamp.
    pub timestamp: Timestamp,
    /// What it changed in the catalogue, for every partition.
    pub schema: Vec<SchemaChange>,
    /// What it changed in partitions, each once.
    pub payloads: Vec<Payload>,
}

impl ReplicatedState {
    /// Before the first message of the graph with `salt`, in a cluster with `tables`.
    #[must_use]
    pub fn new(salt: GraphSalt, limits: CertifierLimits, tables: ClusterTables) -> Self {
        Self { salt, certifier: Certifier::new(salt, limits, SeenLog::START), tables }
    }

    /// What a checkpoint kept.
    #[must_use]
    pub fn of(salt: GraphSalt, certifier: Certifier, tables: ClusterTables) -> Self {
        Self { salt, certifier, tables }
    }

    /// The salt of the graph.
    #[must_use]
    pub fn salt(&self) -> GraphSalt {
        self.salt
    }

    /// The newest message that was applied, and the digest of the log up to it.
    #[must_use]
    pub fn seen(&self) -> SeenLog {
        self.certifier.seen()
    }

    /// What is remembered of transactions and of the log.
    #[must_use]
    pub fn certifier(&self) -> &Certifier {
        &self.certifier
    }

    /// Names, groups, members, places.
    #[must_use]
    pub fn tables(&self) -> &ClusterTables {
        &self.tables
    }

    /// Decides the next message of the log.
    ///
    /// # Errors
    /// [`ApplyError::Record`]. The state is not one that other nodes have: the node starts again from its checkpoint.
    ///
    /// # Panics
    /// If the message does not lie behind all that were applied.
    pub fn apply(&mut self, read: ReadMessage) -> Result<DecidedMessage, ApplyError> {
        let ReadMessage { position, message, bytes } = read;
        let author = message.author;
        let decided = self.certifier.apply(position, message, &bytes);
        let (mut records, mut commits) = (Vec::with_capacity(decided.len()), Vec::new());
        for DecidedRecord { id, timestamp, decision } in decided {
            let result = match decision {
                Decision::Commit(payloads) => {
                    commits.push(self.commit(id, timestamp, payloads)?);
                    RecordResult::Committed
                }
                Decision::Refuse(refusal) => RecordResult::Refused(refusal),
                Decision::Answer(answer) => RecordResult::Cancel(answer),
                Decision::KeepPart => RecordResult::PartKept,
                Decision::DropPart => RecordResult::PartDropped,
                Decision::Double(outcome) => RecordResult::Double(outcome),
                Decision::Accept(body) => {
                    let decided = self.tables.apply(id, timestamp, body);
                    if let Some(change) = decided.schema {
                        let (schema, payloads) = (vec![change], Vec::new());
                        commits.push(DecidedCommit { id, timestamp, schema, payloads });
                    }
                    RecordResult::Table(decided.answer)
                }
            };
            records.push(AppliedRecord { id, timestamp, result });
        }
        Ok(DecidedMessage { seen: self.certifier.seen(), author, records, commits })
    }

    /// Takes what concerns every node out of the payloads of a transaction, and does it.
    fn commit(
        &mut self,
        id: RecordId,
        timestamp: Timestamp,
        payloads: Vec<Payload>,
    ) -> Result<DecidedCommit, ApplyError> {
        let mut commit = DecidedCommit { id, timestamp, schema: Vec::new(), payloads: Vec::new() };
        for payload in payloads {
            match payload.destination {
                Destination::Partition(_) => commit.payloads.push(payload),
                Destination::EveryNode => {
                    let changes = self.change_catalogue(timestamp, &payload);
                    commit.schema = changes.map_err(|cause| ApplyError::Record { id, timestamp, cause })?;
                }
            }
        }
        Ok(commit)
    }

    fn change_catalogue(&mut self, at: Timestamp, payload: &Payload) -> GraphResult<Vec<SchemaChange>> {
        let mut changes = Vec::new();
        for mutation in payload.decode_mutations(at)? {
            let Mutation::Schema(change) = mutation else {
                let text = "what concerns every node is a change of the catalogue";
                return Err(Error::new(ErrorKind::Corrupt, text));
            };
            self.tables.commit(&change)?;
            changes.push(change);
        }
        Ok(changes)
    }
}

impl DecidedCommit {
    /// What `partition` installs: first the changes of the catalogue. Nothing, if the commit does not concern it.
    ///
    /// # Errors
    /// [`ApplyError::Record`] if the bytes are no mutations.
    pub fn mutations_of(&self, partition: PartitionId) -> Result<Vec<Mutation>, ApplyError> {
        let changes = self.schema.iter().filter(|_| !planted(Bug::SchemaKeptFromPartitions));
        let mut mutations: Vec<_> = changes.cloned().map(Mutation::Schema).collect();
        let own = Destination::Partition(partition);
        if let Some(payload) = self.payloads.iter().find(|payload| payload.destination == own) {
            let (id, timestamp) = (self.id, self.timestamp);
            let decoded = payload.decode_mutations(timestamp);
            mutations.extend(decoded.map_err(|cause| ApplyError::Record { id, timestamp, cause })?);
        }
        Ok(mutations)
    }
}
