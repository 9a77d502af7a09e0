//! Node: a packer, a reader and a certifier on a log of whichever engine, as one thread of a node drives them.

use crate::log_promises::model::{AppliedMessage, Model};
use evergraph_cluster::certification::certifier::{Certifier, CertifierLimits};
use evergraph_cluster::certification::outcome::Decision;
use evergraph_cluster::digest::SeenLog;
use evergraph_cluster::key_hash::graph_salt::GraphSalt;
use evergraph_cluster::log::packer::{Packer, PackerLimits};
use evergraph_cluster::log::reader::{LogReader, ReadEvent};
use evergraph_cluster::log::shared_log::{LogAnswer, SharedLog};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record::body::{Record, RecordBody};
use evergraph_cluster::record::payload::{Destination, Payload};
use evergraph_cluster::record::transaction_part::TransactionPart;
use evergraph_cluster::record_id::{Author, NodeId, RecordId};
use std::time::Duration;

const SALT: GraphSalt = GraphSalt(*b"salt of a graph.");

/// A node, which applies what it reads and trims nothing by itself.
pub struct Node<L> {
    pub author: Author,
    records: u64,
    log: L,
    packer: Packer,
    reader: LogReader,
    certifier: Certifier,
    /// Everything that it applied, from the beginning of the log.
    pub applied: Vec<AppliedMessage>,
    /// Trims that were answered.
    pub trims: usize,
}

impl<L: SharedLog> Node<L> {
    /// One whose log wakes this thread.
    pub fn new(number: u16, log: L) -> Self {
        let author = Author { node: NodeId(number), incarnation: 0 };
        Self {
            author,
            records: 0,
            log,
            packer: Packer::new(author, PackerLimits::default()),
            reader: LogReader::new(SALT),
            certifier: Certifier::new(SALT, CertifierLimits::default(), SeenLog::START),
            applied: Vec::new(),
            trims: 0,
        }
    }

    /// Pushes a record of about so many bytes, if the packer has room.
    pub fn push(&mut self, bytes: usize, now: Duration, model: &mut Model) {
        let number = self.records + 1;
        let payload = Payload { destination: Destination::EveryNode, mutations: vec![7; bytes] };
        let last = TransactionPart { payloads: vec![payload], ..TransactionPart::default() };
        let since = self.certifier.seen().position.end();
        let record = Record { number, body: RecordBody::Transaction { since, parts: 0, last } };
        if self.packer.push(&record, now).is_ok() {
            self.records = number;
            model.push(RecordId { author: self.author, number });
        }
    }

    /// Where the log must begin for it.
    pub fn needed_from(&self) -> LogPosition {
        LogReader::needed_from(self.certifier.digests())
    }

    pub fn trim(&mut self, first: LogPosition) {
        self.log.trim(first);
    }

    /// Does what is due: takes answers, applies what it reads, sends what waits.
    pub fn step(&mut self, now: Duration, model: &mut Model) {
        while let Some(answer) = self.log.next_answer() {
            match answer {
                LogAnswer::Append { id, result } => {
                    if let Some(appended) = self.packer.answered(now, id, result) {
                        let applied = self.certifier.digests();
                        self.reader.check_answer(appended.position, &appended.message, applied, now);
                        model.acknowledge(self.author, &appended);
                    }
                }
                LogAnswer::Trim { .. } => self.trims += 1,
                LogAnswer::End { id, .. } => panic!("nobody asked for {id:?}"),
            }
        }
        while let Some(event) = self.reader.read(now, self.certifier.digests(), &mut self.log).unwrap() {
            let ReadEvent::Message(read) = event else { panic!("{event:?}, and the log lost nothing") };
            self.packer.arrived(&read.message);
            let decided = self.certifier.apply(read.position, read.message, &read.bytes);
            let new = decided.into_iter().filter(|decided| !matches!(decided.decision, Decision::Double(_)));
            let new = new.map(|decided| decided.id).collect();
            self.applied.push(AppliedMessage { position: read.position, bytes: read.bytes, new });
        }
        while let Some(due) = self.packer.next_append(now, &self.certifier.seen()) {
            self.log.append(due.id, due.message);
        }
    }

    /// Records of which its packer waits for an answer.
    pub fn unanswered(&self) -> usize {
        self.packer.unanswered().count()
    }
}
