//! Replicated state: the certifier and the tables of a graph, and what becomes of each record: the same on every node.
//!
//! ```text
//! record ──certifier──> commit    ──> catalogue, and the mutations of each partition
//!            ▲    │     refusal, answer, part, double
//!            │    └───> accepted  ──> tables ──> rows, a number, ...; perhaps a change of the catalogue
//!            └── who is a member, which mutations can be installed: the tables, after the record before
//! ```
//!
//! Nothing here knows which partitions the node keeps, and nothing here fails: whatever a record says, it is decided, alike on
//! every node. One that commits was read on all of them: a store need not refuse it for anything that the log alone tells. A
//! message is applied whole: readers see it whole, or not at all.

use crate::certification::certifier::{Certifier, CertifierLimits};
use crate::certification::outcome::{CancelAnswer, DecidedRecord, Decision, Outcome, Refusal};
use crate::digest::SeenLog;
use crate::key_hash::graph_salt::GraphSalt;
use crate::log::reader::ReadMessage;
use crate::planted::{Bug, planted};
use crate::record_id::{Author, RecordId};
use crate::tables::cluster_tables::{ClusterTables, TableAnswer};
use crate::tables::payload_check::CheckedCommit;
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
    /// What every partition changes in its catalogue: see [`ClusterTables::partition_change`].
    pub schema: Vec<SchemaChange>,
    /// What it changed in partitions, by ascending partition, each once.
    pub partitions: Vec<(PartitionId, Vec<Mutation>)>,
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
    /// # Panics
    /// If the message does not lie behind all that were applied.
    pub fn apply(&mut self, read: ReadMessage) -> DecidedMessage {
        let ReadMessage { position, message, bytes } = read;
        let (head, author) = (self.certifier.begin(position, &message), message.author);
        let (mut records, mut commits) = (Vec::with_capacity(message.records.len()), Vec::new());
        for (place, record) in message.records.into_iter().enumerate() {
            let decided = self.certifier.decide(&head, place, record, &self.tables);
            records.push(self.follow(decided, &mut commits));
        }
        self.certifier.end(head, &bytes);
        DecidedMessage { seen: self.certifier.seen(), author, records, commits }
    }

    /// Does what was decided of a record, before the next one is decided.
    fn follow(
        &mut self,
        decided: DecidedRecord<CheckedCommit>,
        commits: &mut Vec<DecidedCommit>,
    ) -> AppliedRecord {
        let DecidedRecord { id, timestamp, decision } = decided;
        let result = match decision {
            Decision::Commit(CheckedCommit { schema: changes, partitions }) => {
                let mut schema = Vec::with_capacity(changes.len());
                for change in &changes {
                    schema.extend(self.tables.partition_change(change));
                    self.tables.commit(change).expect("it was checked against this catalogue, in this order");
                }
                for (partition, mutations) in &partitions {
                    self.tables.learn_vertices(self.salt, *partition, mutations);
                }
                commits.push(DecidedCommit { id, timestamp, schema, partitions });
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
                    let (schema, partitions) = (vec![change], Vec::new());
                    commits.push(DecidedCommit { id, timestamp, schema, partitions });
                }
                RecordResult::Table(decided.answer)
            }
        };
        AppliedRecord { id, timestamp, result }
    }
}

impl DecidedCommit {
    /// Takes out what `partition` installs: first the changes of the catalogue, which all partitions get. Nothing, if the commit
    /// does not concern it.
    pub fn take_mutations_of(&mut self, partition: PartitionId) -> Vec<Mutation> {
        let own = self.partitions.binary_search_by_key(&partition, |(of, _)| *of);
        let own = own.map_or_else(|_| Vec::new(), |at| std::mem::take(&mut self.partitions[at].1));
        if self.schema.is_empty() || planted(Bug::SchemaKeptFromPartitions) {
            return own;
        }
        self.schema.iter().cloned().map(Mutation::Schema).chain(own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certification::outcome::{Malformation, PayloadProblem};
    use crate::key_hash::graph_salt::KeyHash;
    use crate::log_position::LogPosition;
    use crate::node::incarnation::{NodeStart, count_start};
    use crate::planted::assert_found;
    use crate::record::body::{NewName, Record, RecordBody};
    use crate::record::message::{Message, MessageBuilder};
    use crate::record::payload::{Destination, Payload};
    use crate::record::transaction_part::TransactionPart;
    use crate::record_id::NodeId;
    use crate::tables::members::{MemberRefusal, Members};
    use evergraph_graph::id::{EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
    use evergraph_graph::partition::PartitionCount;
    use evergraph_graph::properties::Properties;
    use evergraph_storage::io::memory::MemoryDirectory;
    use evergraph_storage::io::random::SplitMix64;
    use evergraph_storage::transaction::payload::encode;
    use std::sync::Arc;

    const FENCED: RecordResult = RecordResult::Refused(Refusal::Fenced);

    fn author(node: u16, incarnation: u32) -> Author {
        Author { node: NodeId(node), incarnation }
    }

    /// A log of two nodes, and what follows from it.
    struct Log {
        state: ReplicatedState,
    }

    impl Log {
        /// Nobody has joined yet; rows of groups 0 and 1 were given.
        fn new() -> Self {
            let members = Members::new([(NodeId(0), "a:1".into()), (NodeId(1), "b:1".into())]);
            let mut tables = ClusterTables::new(PartitionCount::new(2).unwrap(), members, 1);
            let name = RecordBody::Name { name: NewName::Label("Person".into()), touches: Vec::new() };
            let rows = [0, 1].map(PartitionId).map(|partition| RecordBody::Rows {
                label: LabelId(0),
                partition,
                touches: Vec::new(),
            });
            for (number, body) in (1..).zip([name].into_iter().chain(rows)) {
                tables.apply(RecordId { author: author(7, 0), number }, Timestamp::ZERO, body);
            }
            let limits = CertifierLimits { generation_slots: 40, parts_bytes: 4000 };
            Self { state: ReplicatedState::new(GraphSalt([7; 16]), limits, tables) }
        }

        /// Node 0 has joined.
        fn joined() -> Self {
            let mut log = Self::new();
            log.append(author(0, 0), vec![join(90)]);
            log
        }

        /// What is remembered of a record, also in a checkpoint.
        fn outcome(&self, author: Author, number: u64) -> Option<Outcome> {
            let id = RecordId { author, number };
            let outcome = self.state.certifier().outcome(id);
            let saved = self.state.certifier().encode();
            let again = Certifier::decode(self.state.salt(), &saved).unwrap();
            assert_eq!(again.outcome(id), outcome);
            outcome
        }

        fn since(&self) -> Timestamp {
            self.state.seen().position.end()
        }

        fn message(&self, author: Author, records: Vec<Record>) -> Arc<[u8]> {
            let mut builder = MessageBuilder::new(author);
            records.iter().for_each(|record| assert!(builder.push(record)));
            builder.finish(&self.state.seen()).into()
        }

        fn read(&mut self, bytes: &Arc<[u8]>) -> DecidedMessage {
            let (message, bytes) = (Message::decode(bytes).unwrap(), Arc::clone(bytes));
            let position = LogPosition(self.state.seen().position.0 + 1);
            self.state.apply(ReadMessage { position, message, bytes })
        }

        fn append(&mut self, author: Author, records: Vec<Record>) -> Vec<RecordResult> {
            let bytes = self.message(author, records);
            results(&self.read(&bytes))
        }
    }

    fn results(decided: &DecidedMessage) -> Vec<RecordResult> {
        decided.records.iter().map(|record| record.result).collect()
    }

    fn member(answer: Result<(), MemberRefusal>) -> RecordResult {
        RecordResult::Table(TableAnswer::Member(answer))
    }

    fn join(number: u64) -> Record {
        Record { number, body: RecordBody::Join { address: format!("host-{number}:1").into() } }
    }

    fn name(number: u64, text: &str) -> Record {
        let name = NewName::Label(text.into());
        Record { number, body: RecordBody::Name { name, touches: Vec::new() } }
    }

    fn is_named(result: RecordResult) -> bool {
        matches!(result, RecordResult::Table(TableAnswer::Name(Ok(_))))
    }

    fn barriers(numbers: std::ops::Range<u64>) -> Vec<Record> {
        numbers.map(|number| Record { number, body: RecordBody::Barrier }).collect()
    }

    fn transaction(number: u64, since: Timestamp, last: TransactionPart) -> Record {
        Record { number, body: RecordBody::Transaction { since, parts: 0, last } }
    }

    fn payload(destination: Destination, mutations: Vec<u8>) -> TransactionPart {
        let payloads = vec![Payload { destination, mutations }];
        TransactionPart { payloads, ..TransactionPart::default() }
    }

    /// Between group 1, of partition 1, and group 0, of partition 0.
    fn edge(discriminator: u16) -> Mutation {
        let vertex = |group| VertexId::new(GroupId(group), 0);
        let (source, target) = (vertex(1), vertex(0));
        let edge = EdgeId { source, edge_type: TypeId(0), target, discriminator };
        Mutation::InsertEdge { edge, properties: Properties::EMPTY }
    }

    fn add_key(id: u16, name: &str) -> SchemaChange {
        SchemaChange::AddKey { id: KeyId(id), name: name.into() }
    }

    #[test]
    fn of_two_processes_from_one_directory_the_one_whose_record_comes_first_joins() {
        let (directory, mut random) = (MemoryDirectory::new("node"), SplitMix64::new(3));
        let copy = directory.power_cut();
        let starts = [&directory, &copy].map(|it| count_start(it, NodeId(1), &mut random).unwrap());
        for (first, second) in [(0, 1), (1, 0)] {
            let mut log = Log::new();
            let asks = |start: NodeStart| vec![join(start.first_number())];
            let bytes = log.message(starts[first].author, asks(starts[first]));
            assert_eq!(results(&log.read(&bytes)), [member(Ok(()))]);
            // Its packer had no answer, and sent the same bytes again.
            assert_eq!(results(&log.read(&bytes)), [RecordResult::Double(Outcome::Done)]);
            let known = MemberRefusal::KnownIncarnation { known: 0 };
            let refused = log.append(starts[second].author, asks(starts[second]));
            assert_eq!(refused, [member(Err(known))], "two have joined");
            let address = format!("host-{}:1", starts[first].first_number());
            assert_eq!(log.state.tables().members().address(NodeId(1)), Some(&*address));
        }
    }

    #[test]
    fn records_count_of_the_incarnation_that_joined_last_and_of_nobody_else() {
        let (mut log, old, new) = (Log::new(), author(1, 0), author(1, 1));
        assert_eq!(log.append(old, vec![name(1, "a")]), [FENCED], "it has not joined");
        log.append(old, vec![join(90)]);
        assert!(is_named(log.append(old, vec![name(2, "a")])[0]));
        assert_eq!(log.append(new, vec![join(90)]), [member(Ok(()))]);

        // The old process goes on.
        let since = log.since();
        let of = RecordId { author: old, number: 90 };
        let others = [
            RecordBody::Part { of: 4, place: 0, part: TransactionPart::default() },
            RecordBody::Cancel { of, since },
            RecordBody::Barrier,
        ];
        let others = others.into_iter().zip(5..).map(|(body, number)| Record { number, body });
        let records = [name(3, "b"), transaction(4, since, TransactionPart::default())];
        assert_eq!(log.append(old, records.into_iter().chain(others).collect()), [FENCED; 5]);
        let double = log.append(old, vec![transaction(4, since, TransactionPart::default())]);
        assert_eq!(double, [RecordResult::Double(Outcome::Fenced)]);
        assert_eq!(log.outcome(old, 4), Some(Outcome::Fenced));
        let known = MemberRefusal::KnownIncarnation { known: 1 };
        assert_eq!(log.append(old, vec![join(91)]), [member(Err(known))]);
        assert!(is_named(log.append(new, vec![name(1, "b")])[0]));

        // Within a message it counts from the next record on.
        let newest = log.append(author(1, 2), vec![name(1, "c"), join(90), name(2, "c")]);
        assert_eq!(newest[..2], [FENCED, member(Ok(()))]);
        assert!(is_named(newest[2]));
    }

    /// What is too old may have committed, and be forgotten: an entry would say that it never did.
    #[test]
    fn what_is_too_old_leaves_no_entry_though_its_author_is_fenced() {
        let mut log = Log::joined();
        let (since, old) = (log.since(), author(1, 0));
        log.append(author(0, 0), barriers(100..150));
        log.append(author(0, 0), barriers(200..250));
        let late = log.append(old, vec![transaction(1, since, TransactionPart::default())]);
        assert!(matches!(late[0], RecordResult::Refused(Refusal::TooOld { .. })), "{late:?}");
        assert_eq!(log.outcome(old, 1), None);
    }

    #[test]
    fn what_nobody_could_install_is_refused_and_touches_nothing() {
        let (mut log, author) = (Log::joined(), author(0, 0));
        let (since, subject) = (log.since(), KeyHash(5));
        let destination = Destination::Partition(PartitionId(0));
        let mut bytes = encode(&[edge(0)]);
        bytes.pop();
        let offset = bytes.len();
        let bad = TransactionPart { touches: vec![subject], ..payload(destination, bytes) };
        let bad = || transaction(1, since, bad.clone());
        let problem = PayloadProblem::Unreadable { offset };
        let refusal = Refusal::Malformed(Malformation { destination, problem });
        let before = log.state.tables().clone();
        assert_eq!(log.append(author, vec![bad()]), [RecordResult::Refused(refusal)]);
        assert_eq!(log.append(author, vec![bad()]), [RecordResult::Double(Outcome::Malformed)]);
        assert_eq!(log.outcome(author, 1), Some(Outcome::Malformed));
        let good = TransactionPart { checks: vec![subject], ..payload(destination, encode(&[edge(0)])) };
        let committed = log.append(author, vec![transaction(2, since, good)]);
        assert_eq!(committed, [RecordResult::Committed], "it touched something");
        assert_eq!(*log.state.tables(), before);
    }

    #[test]
    fn records_of_one_message_change_the_catalogue_one_after_the_other() {
        let (mut log, author) = (Log::joined(), author(0, 0));
        let since = log.since();
        let changes = |changes: &[SchemaChange]| {
            let mutations: Vec<_> = changes.iter().cloned().map(Mutation::Schema).collect();
            payload(Destination::EveryNode, encode(&mutations))
        };
        let records = vec![
            transaction(1, since, changes(&[add_key(3, "name")])),
            transaction(2, since, changes(&[add_key(9, "city"), add_key(3, "age")])),
            transaction(3, since, changes(&[add_key(3, "name"), add_key(4, "age")])),
        ];
        let bytes = log.message(author, records);
        let decided = log.read(&bytes);
        let (destination, problem) = (Destination::EveryNode, PayloadProblem::OtherCatalogue);
        let refusal = Refusal::Malformed(Malformation { destination, problem });
        let committed = RecordResult::Committed;
        assert_eq!(results(&decided), [committed, RecordResult::Refused(refusal), committed]);
        assert_eq!(decided.commits[1].schema, [add_key(3, "name"), add_key(4, "age")]);
        let catalogue = log.state.tables().catalogue();
        let keys = ["name", "age", "city"].map(|name| catalogue.key(name));
        assert_eq!(keys, [Some(KeyId(3)), Some(KeyId(4)), None], "of what is refused nothing is done");
    }

    #[test]
    fn payloads_in_pieces_are_read_whole_and_given_to_each_partition_once() {
        let (mut log, author) = (Log::joined(), author(0, 0));
        let since = log.since();
        let bytes = encode(&[edge(1), edge(2)]);
        let of = |partition| Destination::Partition(PartitionId(partition));
        // The first piece ends within a mutation.
        let part = payload(of(0), bytes[..5].to_vec());
        let mut last = payload(of(0), bytes[5..].to_vec());
        last.payloads.push(Payload { destination: of(1), mutations: encode(&[edge(1)]) });
        let label = SchemaChange::AddLabel { id: LabelId(1), name: "a".into() };
        let mutations = encode(&[Mutation::Schema(label.clone())]);
        last.payloads.push(Payload { destination: Destination::EveryNode, mutations });
        let records = vec![
            Record { number: 1, body: RecordBody::Part { of: 2, place: 0, part } },
            Record { number: 2, body: RecordBody::Transaction { since, parts: 1, last } },
        ];
        let bytes = log.message(author, records);
        let mut decided = log.read(&bytes);
        assert_eq!(results(&decided), [RecordResult::PartKept, RecordResult::Committed]);
        let commit = &mut decided.commits[0];
        let label = Mutation::Schema(label);
        assert_eq!(commit.take_mutations_of(PartitionId(0)), [label.clone(), edge(1), edge(2)]);
        assert_eq!(commit.take_mutations_of(PartitionId(1)), [label, edge(1)]);
    }

    #[test]
    fn planted_bugs_are_found() {
        let fence = records_count_of_the_incarnation_that_joined_last_and_of_nobody_else;
        let malformed = what_nobody_could_install_is_refused_and_touches_nothing;
        let twice = of_two_processes_from_one_directory_the_one_whose_record_comes_first_joins;
        assert_found(Bug::ZombieAccepted, fence, "it has not joined");
        assert_found(Bug::MalformedTouches, malformed, "it touched something");
        assert_found(Bug::IncarnationTwice, twice, "two have joined");
    }
}
