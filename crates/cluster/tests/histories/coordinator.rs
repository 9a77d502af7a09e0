//! Coordinator: a transaction begins, reads at its snapshot, and is sent.

use crate::fault::Fault;
use crate::graph::{Answer, Cell, Facts, Question, State, Writes, mutations_of, partition_count};
use crate::keys::{GraphKey, Range, keys_read, list};
use crate::node::SALT;
use crate::run::{ClientOutcome, Draft, Run};
use crate::world::World;
use evergraph_cluster::key_hash::checks::Checks;
use evergraph_cluster::key_hash::touches::Touches;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record::body::{Record, RecordBody};
use evergraph_cluster::record::payload::payloads;
use evergraph_cluster::record::transaction_part::TransactionPart;
use evergraph_graph::mutation::Mutation;
use std::collections::BTreeSet;

/// Records of a message, at most.
const MESSAGE_RECORDS: usize = 8;
/// Transactions of a history, at most.
const RUNS: usize = 60;

impl World {
    /// A client begins a transaction at a node; `job` if it does again what was aborted.
    pub fn begin(&mut self, job: Option<usize>) {
        let alive = self.alive();
        if alive.is_empty() || self.runs.len() > RUNS {
            return;
        }
        let node = alive[self.chance.below(alive.len())];
        let id = self.new_id(node);
        let job = job.unwrap_or_else(|| {
            self.jobs += 1;
            self.jobs
        });
        let is_read_only = self.chance.one_in(5);
        let (since, digest) = (self.nodes[node].snapshot(), self.seen(node).digest);
        let is_fresh = is_read_only && self.chance.one_in(2) && !self.is_lossy;
        let fresh = is_fresh.then_some(self.acknowledged);
        let barrier = (is_fresh && self.fault != Fault::FreshAtApplied).then(|| self.new_id(node));
        if let Some(barrier) = barrier {
            self.send(node, barrier.number, RecordBody::Barrier);
        }
        let steps_left = 1 + self.chance.below(4);
        self.tally.begun += 1;
        self.runs.push(Run {
            id,
            names: vec![id],
            node,
            is_serializable: !self.chance.one_in(3),
            since,
            digest,
            is_read_only,
            fresh,
            barrier,
            steps_left,
            reads: Vec::new(),
            own: State::new(),
            gone: BTreeSet::new(),
            members: Vec::new(),
            checks: Vec::new(),
            writes: Writes::new(),
            sent: None,
            message: None,
            resends: 0,
            is_active: true,
            is_orphan: false,
            known: ClientOutcome::Nothing,
            job,
            cancel: None,
        });
    }

    /// Reads at the snapshot, of whoever has the partitions; own writes on top. `None`: too old, or nobody there.
    pub fn read(&mut self, r: usize, question: Question) -> Option<Answer> {
        let (since, digest) = (self.runs[r].since, self.runs[r].digest);
        let (mut whole, cells) = (State::new(), question.cells());
        for partition in question.partitions() {
            let mut holders = self.alive();
            holders.retain(|node| self.nodes[*node].now.partitions.contains_key(&partition));
            if holders.is_empty() {
                return None;
            }
            let n = holders[self.chance.below(holders.len())];
            if self.fault != Fault::ServeBeforeApplied && !self.has_reached(n, since) {
                return None;
            }
            // The question names the log that its snapshot is of: a holder that has another one doesn't answer.
            let at = LogPosition::of(since);
            let is_same = self.nodes[n].now.certifier.digest_at(at) == Some(digest);
            let any_log = [Fault::ReadWithoutDigest, Fault::ServeBeforeApplied, Fault::TrimTooFar];
            if !is_same && !any_log.contains(&self.fault) {
                return None;
            }
            let kept = self.nodes[n].now.partitions.get(&partition)?;
            if kept.base > since && self.fault != Fault::ReadBelowBase {
                return None;
            }
            whole.extend(kept.cells_at(since, &cells));
        }
        let found = question.answer(&whole);
        self.tally.trace.add(&(r, &found));
        let run = &mut self.runs[r];
        whole.retain(|cell, _| !run.gone.contains(cell));
        whole.extend(run.own.iter().map(|(cell, value)| (*cell, *value)));
        let answer = question.answer(&whole);
        run.reads.push((question, found));
        Some(answer)
    }

    /// The transaction is sent, some of it ahead; a reader is done.
    pub fn commit(&mut self, r: usize) {
        let node = self.runs[r].node;
        let run = &mut self.runs[r];
        let inserted: BTreeSet<u32> =
            run.members.iter().filter(|(_, is_new)| *is_new).map(|(v, _)| *v).collect();
        let removed = run.gone.iter().map(|cell| (*cell, None));
        let removed = removed.filter(|(cell, _)| !matches!(cell, Cell::Vertex(v) if inserted.contains(v)));
        let set = run.own.iter().map(|(cell, value)| (*cell, Some(*value)));
        let mut writes: Writes = removed.chain(set).collect();
        if run.is_read_only || writes.is_empty() {
            (run.is_active, run.known) = (false, ClientOutcome::Committed);
            return;
        }
        run.writes = writes.clone();
        let (id, since) = (run.id, run.since);
        let mut last = self.listed(r, &mutations_of(&writes, &inserted));
        // A large one sends writes ahead.
        let mut parts = 0;
        while writes.len() > 1 && self.chance.one_in(4) {
            let ahead = writes.split_off(writes.len() / 2);
            let part = written(&ahead, &inserted, TransactionPart::default());
            let record = self.new_id(node).number;
            let body = RecordBody::Part { of: id.number, place: parts, part };
            self.send_ahead(node, Record { number: record, body });
            parts += 1;
        }
        last = written(&writes, &inserted, last);
        let record = Record { number: id.number, body: RecordBody::Transaction { since, parts, last } };
        self.runs[r].sent = Some(record.clone());
        self.enqueue(node, record);
    }

    /// Some wait for others and go in one message.
    fn enqueue(&mut self, node: usize, record: Record) {
        if let Some(driver) = &mut self.driver {
            return driver.push(node, &record);
        }
        let (author, seen) = (self.author(node), self.seen(node));
        let takes_more = |draft: &Draft| {
            let are_transactions =
                draft.records.iter().all(|record| matches!(record.body, RecordBody::Transaction { .. }));
            let has_room = draft.records.len() < MESSAGE_RECORDS - 1;
            draft.author == author && has_room && are_transactions && !draft.is_sealed
        };
        let joined = self.flight.iter().rposition(takes_more).filter(|_| self.chance.one_in(2));
        match joined {
            Some(at) => {
                let draft = &mut self.flight[at];
                draft.records.push(record);
                draft.seen = seen;
            }
            None => {
                let draft = self.draft(node, record);
                self.flight.push(draft);
            }
        }
    }

    /// What the transaction checks.
    fn listed(&self, r: usize, mutations: &[Mutation]) -> TransactionPart {
        let run = &self.runs[r];
        let mut keys = run.checks.clone();
        let mut ranges: Vec<Range> = Vec::new();
        if self.fault == Fault::WritesUnchecked {
            let is_written = |key: &GraphKey| {
                matches!(key, GraphKey::Property(_) | GraphKey::Unique(_) | GraphKey::Edge(..))
            };
            keys.retain(|key| !is_written(key));
        }
        if run.is_serializable && self.fault != Fault::ReadsUnchecked {
            for (question, found) in &run.reads {
                keys_read(question, found, self.fault, &mut keys, &mut ranges);
            }
        }
        let mut checks = Checks::new(SALT);
        list(&keys.into_iter().collect(), &ranges, &mut checks);
        checks.add_mutations(mutations, &Facts).expect("everything is known");
        let (checks, ranges) = checks.finish();
        TransactionPart { checks, ranges, ..TransactionPart::default() }
    }
}

/// `part` with what `writes` touch and install.
fn written(writes: &Writes, inserted: &BTreeSet<u32>, part: TransactionPart) -> TransactionPart {
    let mutations = mutations_of(writes, inserted);
    let touches = Touches::of(&mutations, &Facts, SALT).expect("everything is known");
    let payloads = payloads(&mutations, partition_count()).expect("a cluster keeps all of them");
    TransactionPart { touches: touches.hashes, entered: touches.entered, payloads, ..part }
}
