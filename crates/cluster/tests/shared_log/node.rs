//! Node: a packer, a reader and a certifier, as one thread of a node drives them.

use crate::model::{AppliedMessage, Model};
use crate::tally::Tally;
use evergraph_cluster::certification::certifier::{Certifier, CertifierLimits};
use evergraph_cluster::certification::outcome::Decision;
use evergraph_cluster::digest::SeenLog;
use evergraph_cluster::key_hash::graph_salt::GraphSalt;
use evergraph_cluster::log::memory::{MemoryLog, MemoryLogClient};
use evergraph_cluster::log::packer::{Packer, PackerLimits, PushError};
use evergraph_cluster::log::reader::{LogReader, ReadError, ReadEvent, ReadMessage};
use evergraph_cluster::log::shared_log::{EndId, LogAnswer, LogError, SharedLog};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record::body::{Record, RecordBody};
use evergraph_cluster::record::payload::{Destination, Payload};
use evergraph_cluster::record::transaction_part::TransactionPart;
use evergraph_cluster::record_id::{Author, NodeId, RecordId};
use std::collections::BTreeMap;
use std::time::Duration;

const SALT: GraphSalt = GraphSalt(*b"salt of a graph.");

/// Few, so that packers become full.
const MESSAGES_MAX: usize = 4;

/// A node.
pub struct Node {
    pub author: Author,
    /// Numbers that it gave to records, and to questions for the end.
    records: u64,
    questions: u64,
    /// Appends that were not answered yet.
    under_way: usize,
    client: MemoryLogClient,
    packer: Packer,
    reader: LogReader,
    certifier: Certifier,
    /// Everything that it applied, from the beginning of the log.
    pub applied: Vec<AppliedMessage>,
    saved: Checkpoint,
    /// Why it stopped.
    pub stopped: Option<ReadError>,
    /// The newest position that was acknowledged when it asked for the end.
    asked: BTreeMap<EndId, LogPosition>,
}

struct Checkpoint {
    certifier: Vec<u8>,
    messages: usize,
    needed_from: LogPosition,
}

impl Checkpoint {
    fn of(certifier: &Certifier, messages: usize) -> Self {
        let needed_from = LogReader::needed_from(certifier.digests());
        Self { certifier: certifier.encode(), messages, needed_from }
    }
}

fn packer(author: Author) -> Packer {
    Packer::new(author, PackerLimits { messages_max: MESSAGES_MAX, ..PackerLimits::default() })
}

impl Node {
    pub fn new(number: usize, log: &MemoryLog) -> Self {
        let author = Author { node: NodeId(number as u16), incarnation: 0 };
        let certifier = Certifier::new(SALT, CertifierLimits::default(), SeenLog::START);
        Self {
            author,
            records: 0,
            questions: 0,
            under_way: 0,
            client: log.connect(),
            packer: packer(author),
            reader: LogReader::new(SALT),
            saved: Checkpoint::of(&certifier, 0),
            certifier,
            applied: Vec::new(),
            stopped: None,
            asked: BTreeMap::new(),
        }
    }

    /// Pushes records of about so many bytes each, until the packer is full.
    pub fn push(
        &mut self,
        records: usize,
        bytes: usize,
        now: Duration,
        model: &mut Model,
        tally: &mut Tally,
    ) {
        for _ in 0..records {
            let number = self.records + 1;
            match self.packer.push(&self.record(number, bytes), now) {
                Ok(()) => {
                    self.records = number;
                    model.push(RecordId { author: self.author, number });
                }
                Err(PushError::Full) => {
                    tally.full += 1;
                    return;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn record(&self, number: u64, bytes: usize) -> Record {
        if bytes == 0 {
            return Record { number, body: RecordBody::Barrier };
        }
        let payload = Payload { destination: Destination::EveryNode, mutations: vec![7; bytes] };
        let last = TransactionPart { payloads: vec![payload], ..TransactionPart::default() };
        let since = self.certifier.seen().position.end();
        Record { number, body: RecordBody::Transaction { since, parts: 0, last } }
    }

    /// Does what is due: takes answers, applies what it reads, sends what waits.
    ///
    /// # Errors
    /// An answer that cannot be.
    pub fn step(&mut self, now: Duration, model: &mut Model, tally: &mut Tally) -> Result<(), String> {
        if self.stopped.is_some() {
            return Ok(());
        }
        while let Some(answer) = self.client.next_answer() {
            tally.trace.note(format_args!("{answer:?}"));
            self.answered(now, answer, model, tally)?;
        }
        loop {
            match self.reader.read(now, self.certifier.digests(), &mut self.client) {
                Ok(None) => break,
                Ok(Some(ReadEvent::Message(read))) => self.apply(read, tally),
                Ok(Some(ReadEvent::Alarm(alarm))) => {
                    tally.trace.note(format_args!("{alarm:?}"));
                    tally.alarms += 1;
                    // Whoever made the claim learns which log there is.
                    self.push(1, 0, now, model, tally);
                }
                Err(error) => {
                    tally.trace.note(format_args!("{error:?}"));
                    self.stopped = Some(error);
                    self.say_what_was_read(model);
                    return Ok(());
                }
            }
        }
        while let Some(due) = self.packer.next_append(now, &self.certifier.seen()) {
            tally.trace.add(&due.message);
            self.client.append(due.id, due.message);
            self.under_way += 1;
        }
        match self.under_way {
            0..=MESSAGES_MAX => Ok(()),
            count => Err(format!("{count} messages are under way")),
        }
    }

    /// It stops: those who applied the same read their logs again.
    fn say_what_was_read(&mut self, model: &mut Model) {
        if let Some(changed) = self.reader.changed_log() {
            self.records += 1;
            model.push(RecordId { author: self.author, number: self.records });
            let last = self.packer.last_append(self.records, &changed);
            self.client.append(last.id, last.message);
        }
    }

    fn answered(
        &mut self,
        now: Duration,
        answer: LogAnswer,
        model: &mut Model,
        tally: &mut Tally,
    ) -> Result<(), String> {
        match answer {
            LogAnswer::Append { id, result } => {
                self.under_way -= 1;
                match &result {
                    Err(LogError::UnknownOutcome) => tally.unknown += 1,
                    Err(_) => tally.refused += 1,
                    Ok(_) => {}
                }
                if let Some(appended) = self.packer.answered(now, id, result) {
                    let applied = self.certifier.digests();
                    self.reader.check_answer(appended.position, &appended.message, applied, now);
                    tally.acknowledged += appended.records.len() as u64;
                    model.acknowledge(self.author, &appended);
                }
            }
            LogAnswer::End { id, result } => {
                let least = self.asked.remove(&id).ok_or("an end came that nobody asked for")?;
                if let Ok(end) = result
                    && end < least
                    && !model.is_lost
                {
                    return Err(format!("the end is {end}, and {least} was acknowledged before"));
                }
            }
            LogAnswer::Trim { result, .. } => tally.trims += u64::from(result.is_ok()),
        }
        Ok(())
    }

    fn apply(&mut self, read: ReadMessage, tally: &mut Tally) {
        let ReadMessage { position, message, bytes } = read;
        tally.trace.add(&(position.0, &bytes));
        self.packer.arrived(&message);
        let mut new = Vec::new();
        for decided in self.certifier.apply(position, message, &bytes) {
            match decided.decision {
                Decision::Double(_) => tally.doubled += 1,
                _ => new.push(decided.id),
            }
        }
        self.applied.push(AppliedMessage { position, bytes, new });
    }

    /// Asks for the end of the log.
    pub fn ask_for_end(&mut self, model: &Model) {
        self.questions += 1;
        self.asked.insert(EndId(self.questions), model.newest);
        self.client.end(EndId(self.questions));
    }

    pub fn take_checkpoint(&mut self) {
        self.saved = Checkpoint::of(&self.certifier, self.applied.len());
    }

    /// Where the log must begin for it, should it be killed.
    pub fn needed_from(&self) -> LogPosition {
        self.saved.needed_from
    }

    pub fn trim(&mut self, first: LogPosition) {
        self.client.trim(first);
    }

    /// Loses its memory, and starts from its checkpoint.
    pub fn kill(&mut self, log: &MemoryLog) {
        self.author.incarnation += 1;
        (self.records, self.questions, self.under_way) = (0, 0, 0);
        self.client = log.connect();
        self.packer = packer(self.author);
        self.reader = LogReader::new(SALT);
        self.certifier = Certifier::decode(SALT, &self.saved.certifier).unwrap();
        self.applied.truncate(self.saved.messages);
        self.asked.clear();
    }

    /// Records of which its packer waits for an answer.
    pub fn unanswered(&self) -> usize {
        self.packer.unanswered().count()
    }
}
