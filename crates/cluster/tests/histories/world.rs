//! World: nodes, the log, messages under way, transactions; and what a node does with the next message.

use crate::chance::Chance;
use crate::driver::Driver;
use crate::fault::Fault;
use crate::graph::{VERTICES, writes_of};
use crate::node::{NODES, Node, SALT, position, snapshot};
use crate::run::{ClientOutcome, Draft, Run, Verdict};
use crate::tally::Tally;
use evergraph_cluster::certification::outcome::{CancelAnswer, Decision, Outcome, Refusal};
use evergraph_cluster::digest::{LogComparison, LogDigest, SeenLog};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record::body::{Record, RecordBody};
use evergraph_cluster::record::message::Message;
use evergraph_cluster::record::payload::{Destination, Payload};
use evergraph_cluster::record_id::{Author, NodeId, RecordId};
use evergraph_graph::timestamp::Timestamp;
use std::collections::BTreeMap;
use std::mem::discriminant;
use std::sync::Arc;

/// Messages that are read again.
const OVERLAP: usize = 4;

/// Which log a history has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogKind {
    /// Its own: messages reach it in any order, however late, one at each event that delivers one, without a clock. Records
    /// join others until then. What nodes do wrong when they read is planted here.
    Own,
    /// The crate's, in memory, through packers and readers.
    Crate,
}

/// A history while it runs.
pub struct World {
    pub chance: Chance,
    pub fault: Fault,
    /// The log; of the crate's, also what was trimmed.
    pub log: Vec<Arc<[u8]>>,
    /// The crate's log, if the history has it.
    pub driver: Option<Driver>,
    /// The first message that its own log still has.
    pub start: usize,
    /// What is under way to its own log.
    pub flight: Vec<Draft>,
    pub nodes: Vec<Node>,
    pub runs: Vec<Run>,
    pub jobs: usize,
    /// Whether the log may lose what it acknowledged, and whether it did.
    pub is_lossy: bool,
    pub is_lost: bool,
    /// The newest commit that a client was told of.
    pub acknowledged: Timestamp,
    pub tally: Tally,
    /// What nodes decided of transactions, by message and place.
    pub verdicts: BTreeMap<(usize, usize), Verdict>,
    /// What nodes decided of any record, until the log loses something.
    pub decisions: BTreeMap<(usize, usize), Decision>,
    pub wrong: Option<String>,
}

impl World {
    /// The history of `seed`.
    pub fn new(seed: u64, fault: Fault, needs_loss: bool, log: LogKind) -> Self {
        let mut chance = Chance::new(seed ^ 0xe7e2);
        let is_lossy = chance.one_in(8) || needs_loss;
        let driver = (log == LogKind::Crate).then(|| Driver::new(&mut chance));
        Self {
            chance,
            fault,
            log: Vec::new(),
            driver,
            start: 0,
            flight: Vec::new(),
            nodes: (0..NODES).map(Node::new).collect(),
            runs: Vec::new(),
            jobs: 0,
            is_lossy,
            is_lost: false,
            acknowledged: Timestamp::ZERO,
            tally: Tally::default(),
            verdicts: BTreeMap::new(),
            decisions: BTreeMap::new(),
            wrong: None,
        }
    }

    pub fn fail(&mut self, text: String) {
        self.wrong.get_or_insert(text);
    }

    pub fn is_alive(&self, node: usize) -> bool {
        self.nodes[node].is_up && !self.nodes[node].is_stopped
    }

    /// The nodes that answer.
    pub fn alive(&self) -> Vec<usize> {
        (0..NODES).filter(|node| self.is_alive(*node)).collect()
    }

    pub fn author(&self, node: usize) -> Author {
        Author { node: NodeId(node as u16), incarnation: self.nodes[node].incarnation }
    }

    pub fn new_id(&mut self, node: usize) -> RecordId {
        self.nodes[node].numbers += 1;
        RecordId { author: self.author(node), number: self.nodes[node].numbers }
    }

    pub fn seen(&self, node: usize) -> SeenLog {
        self.nodes[node].now.certifier.seen()
    }

    /// Puts a record on its way: to its own log alone in a message, to the crate's as its node packs it.
    pub fn send(&mut self, node: usize, number: u64, body: RecordBody) {
        let record = Record { number, body };
        match &mut self.driver {
            Some(driver) => driver.push(node, &record),
            None => {
                let draft = self.draft(node, record);
                self.flight.push(draft);
            }
        }
    }

    /// The same, before all that is under way.
    pub fn send_ahead(&mut self, node: usize, record: Record) {
        match &mut self.driver {
            Some(driver) => driver.push(node, &record),
            None => {
                let draft = self.draft(node, record);
                self.flight.insert(0, draft);
            }
        }
    }

    pub fn draft(&self, node: usize, record: Record) -> Draft {
        Draft {
            node,
            author: self.author(node),
            seen: self.seen(node),
            records: vec![record],
            is_sealed: false,
        }
    }

    /// The log gets a message.
    pub fn append(&mut self, draft: &Draft) {
        let bytes = draft.bytes();
        self.tally.trace.add(&bytes);
        self.log.push(bytes);
    }

    /// The digest of the log as it can be read now, after `messages`.
    pub fn digest_of_log(&self, messages: usize) -> Option<LogDigest> {
        // Before the trim a node relies on its own; here it looks at all of it.
        let read = self.log.get(..messages)?.iter().enumerate();
        Some(read.fold(LogDigest::START, |digest, (at, bytes)| digest.after(SALT, position(at), bytes)))
    }

    /// A node applies the next message.
    pub fn apply(&mut self, n: usize) {
        if !self.is_alive(n) {
            return;
        }
        if self.driver.is_some() {
            return self.read_log(n);
        }
        if self.nodes[n].now.messages >= self.log.len() {
            return;
        }
        let next = self.nodes[n].now.messages;
        if next < self.start {
            match self.fault {
                // Goes on as if nothing were missing.
                Fault::TrimTooFar => self.nodes[n].now.messages = self.start,
                _ => self.fail("a node needs messages that were trimmed".into()),
            }
            return;
        }
        let bytes = Arc::clone(&self.log[next]);
        let message = Message::decode(&bytes).expect("the log has messages only");
        if self.has_log_changed(n, &message.seen) {
            self.nodes[n].is_stopped = true;
            self.tally.stops += 1;
            return;
        }
        self.take(n, message, &bytes);
    }

    /// A node decides a message, the next one of its log.
    pub fn take(&mut self, n: usize, message: Message, bytes: &[u8]) {
        let next = self.nodes[n].now.messages;
        let decided = self.nodes[n].now.certifier.apply(position(next), message, bytes);
        let (mut verdicts, mut answers) = (Vec::new(), Vec::new());
        for (place, decided) in decided.into_iter().enumerate() {
            let (id, timestamp) = (decided.id, decided.timestamp);
            let author = (id.author.node.0, id.author.incarnation);
            self.tally.trace.add(&(n, author, id.number, timestamp, discriminant(&decided.decision)));
            self.compare_decisions((next, place), &decided.decision);
            let verdict = match decided.decision {
                Decision::Double(_) => {
                    self.tally.doubled += u64::from(n == 0);
                    continue;
                }
                Decision::Commit(payloads) => {
                    self.install(n, timestamp, &payloads);
                    Verdict::Committed
                }
                Decision::Refuse(refusal) => verdict_of(refusal),
                Decision::Answer(answer) => {
                    // The transaction itself is called a double of this if it comes.
                    if matches!(answer, CancelAnswer::Cancelled) && !self.is_lost {
                        self.verdicts.entry((next, place)).or_insert(Verdict::Cancelled);
                    }
                    answers.push((id, answer));
                    Verdict::Done
                }
                Decision::Accept(RecordBody::Rows { .. }) => {
                    self.give_rows(n, id);
                    Verdict::Done
                }
                Decision::Accept(_) | Decision::KeepPart | Decision::DropPart => Verdict::Done,
            };
            if verdict != Verdict::Done && !self.is_lost {
                self.verdicts.entry((next, place)).or_insert(verdict);
            }
            self.tally.refused += u64::from(verdict == Verdict::OtherLog);
            verdicts.push((id, verdict, timestamp));
        }
        self.nodes[n].now.messages = next + 1;
        self.nodes[n].prove(self.fault == Fault::CopyWithoutDigest);
        for (id, verdict, timestamp) in verdicts {
            self.tell(n, id, verdict, timestamp);
        }
        self.answer_cancels(n, &answers);
    }

    /// Every node decides alike, parts, cancels and doubles included, or the protocol is wrong.
    fn compare_decisions(&mut self, at: (usize, usize), decision: &Decision) {
        if self.is_lost {
            return;
        }
        let before = self.decisions.entry(at).or_insert_with(|| decision.clone());
        if before != decision {
            let text = format!("nodes differ about record {}.{}: {before:?}, {decision:?}", at.0, at.1);
            self.fail(text);
        }
    }

    /// Whether node `n` finds that the log which it reads is not the one that it has read.
    fn has_log_changed(&self, n: usize, seen: &SeenLog) -> bool {
        let (certifier, next) = (&self.nodes[n].now.certifier, self.nodes[n].now.messages);
        // Reading begins with the last messages that were read before.
        let mut again = self.start.max(next.saturating_sub(OVERLAP))..next;
        let is_changed = |at: usize| certifier.is_unchanged(position(at), &self.log[at]) == Some(false);
        // A log that loses nothing is the same again. That nodes find it so is seen with the crate's log, by its readers.
        if self.is_lossy && self.fault != Fault::NoOverlap && again.any(is_changed) {
            return true;
        }
        if certifier.compare(seen) != LogComparison::Other {
            return false;
        }
        // One of us two is wrong: read the log again.
        let messages = (seen.position.0 as usize).min(next);
        self.digest_of_log(messages) != certifier.digest_at(LogPosition(messages as u64))
    }

    fn install(&mut self, n: usize, timestamp: Timestamp, payloads: &[Payload]) {
        for (number, partition) in &mut self.nodes[n].now.partitions {
            // A copy has this already.
            if timestamp.visible_at(partition.base) && self.fault != Fault::CopyFromBehind {
                continue;
            }
            for payload in payloads {
                let is_own = match payload.destination {
                    Destination::Partition(destination) => u32::from(destination.0) == *number,
                    Destination::EveryNode => false,
                };
                if is_own {
                    let mutations = payload.decode_mutations(timestamp).expect("a payload is whole");
                    partition.install(timestamp, writes_of(&mutations, *number));
                }
            }
        }
    }

    fn give_rows(&mut self, n: usize, id: RecordId) {
        let is_own = id.author == self.author(n) && self.fault != Fault::LocalIds;
        let node = &mut self.nodes[n];
        let first = VERTICES + node.now.rows_given;
        node.now.rows_given += 2;
        if is_own {
            node.free_rows.extend([first, first + 1]);
        }
    }

    /// Clients that wait for a cancel by node `n` hear what became of their transactions.
    fn answer_cancels(&mut self, n: usize, answers: &[(RecordId, CancelAnswer)]) {
        for r in 0..self.runs.len() {
            let Some((_, id)) = self.runs[r].cancel.filter(|(at, _)| *at == n) else { continue };
            let Some((_, answer)) = answers.iter().find(|(of, _)| *of == id) else { continue };
            self.runs[r].cancel = None;
            let known = match answer {
                CancelAnswer::Decided(Outcome::Committed(_)) => ClientOutcome::Committed,
                CancelAnswer::Decided(_) | CancelAnswer::Cancelled => ClientOutcome::Aborted,
                CancelAnswer::Unknown => ClientOutcome::Unknown,
            };
            self.hear(r, known);
        }
    }

    pub fn hear(&mut self, r: usize, known: ClientOutcome) {
        self.tally.trace.add(&(r, known));
        let run = &mut self.runs[r];
        run.is_active = false;
        if run.known == ClientOutcome::Nothing {
            run.known = known;
        }
        if known == ClientOutcome::Aborted && self.chance.one_in(2) {
            // The client does the same again.
            let job = self.runs[r].job;
            self.begin(Some(job));
        }
    }

    /// A coordinator learns what became of its record by applying it.
    fn tell(&mut self, n: usize, id: RecordId, verdict: Verdict, timestamp: Timestamp) {
        let author = self.author(n);
        let is_waiting = |run: &Run| {
            (run.id == id || run.barrier == Some(id)) && run.node == n && run.is_active && !run.is_orphan
        };
        let Some(r) = self.runs.iter().position(is_waiting).filter(|_| id.author == author) else { return };
        if self.runs[r].barrier == Some(id) {
            let seen = self.seen(n);
            let run = &mut self.runs[r];
            (run.barrier, run.since, run.digest) = (None, seen.position.end(), seen.digest);
            return;
        }
        if verdict == Verdict::Committed {
            self.acknowledged = self.acknowledged.max(timestamp);
        }
        let known = match verdict {
            Verdict::Committed => ClientOutcome::Committed,
            _ => ClientOutcome::Aborted,
        };
        self.hear(r, known);
    }

    /// The node has applied everything that it may.
    pub fn catch_up(&mut self, n: usize) {
        while self.is_alive(n) && self.nodes[n].now.messages < self.log.len() {
            let before = self.nodes[n].now.messages;
            self.apply(n);
            if self.wrong.is_some() || self.nodes[n].now.messages == before {
                break;
            }
        }
    }

    /// Whether the node has come as far as `since`, waiting for it.
    pub fn has_reached(&mut self, n: usize, since: Timestamp) -> bool {
        while snapshot(self.nodes[n].now.messages) < since {
            let before = self.nodes[n].now.messages;
            self.apply(n);
            if self.nodes[n].now.messages == before {
                return false;
            }
        }
        true
    }
}

fn verdict_of(refusal: Refusal) -> Verdict {
    match refusal {
        Refusal::TooOld { .. } => Verdict::TooOld,
        Refusal::OtherLog => Verdict::OtherLog,
        Refusal::Conflict { .. } => Verdict::Conflict,
        Refusal::Incomplete { .. } => Verdict::Incomplete,
        Refusal::Fenced | Refusal::Malformed(_) => unreachable!("no tables are asked here: {refusal}"),
    }
}
