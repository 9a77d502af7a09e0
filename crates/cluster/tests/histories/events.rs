//! Events: what happens next in a history, and its end.

use crate::fault::Fault;
use crate::graph::{PARTITIONS, State};
use crate::node::{NODES, Node, snapshot};
use crate::run::{ClientOutcome, Run, Verdict};
use crate::tally::Tally;
use crate::world::World;
use evergraph_cluster::certification::outcome::Outcome;
use evergraph_cluster::log::memory::OpenStreams;
use evergraph_cluster::record::body::{Record, RecordBody};
use evergraph_graph::timestamp::Timestamp;
use std::time::Duration;

/// Messages of a log, at most: a history ends.
const MESSAGES: usize = 4000;

/// Rounds in which everybody catches up; of the crate's log nobody writes in the last ones, and a round has a length.
const ROUNDS: usize = 40;
const QUIET_ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_millis(100);

impl World {
    /// Plays so many events, then lets everybody catch up, and judges.
    ///
    /// # Errors
    /// What is wrong.
    pub fn run(mut self, events: usize) -> Result<Tally, String> {
        for _ in 0..events {
            self.event();
            self.settle()?;
        }
        // Everybody comes back, everything that is under way arrives.
        self.nodes.iter_mut().filter(|node| !node.is_up).for_each(Node::restart);
        if let Some(driver) = &self.driver {
            driver.end_faults();
        }
        let writing = if self.driver.is_some() { ROUNDS - QUIET_ROUNDS } else { ROUNDS };
        for round in 0..ROUNDS {
            while !self.flight.is_empty() && self.log.len() < MESSAGES {
                self.deliver();
            }
            if round < 3 || (self.is_lost && round < writing) {
                for n in self.alive() {
                    let number = self.new_id(n).number;
                    self.send(n, number, RecordBody::Barrier);
                }
            }
            if self.is_lost && round < writing {
                self.witness();
            }
            self.pass(ROUND);
            (0..NODES).for_each(|n| self.catch_up(n));
            self.ask_for(|_| true);
            self.settle()?;
        }
        if !self.is_lost {
            if self.nodes.iter().any(|node| node.is_stopped) {
                return Err("a node stopped, and the log had lost nothing".into());
            }
            // A node that starts anew from its checkpoint is as good as any.
            for n in 0..NODES {
                self.crash(n);
                self.nodes[n].restart();
                self.catch_up(n);
                self.settle()?;
            }
        }
        let last = self.judge()?;
        self.check_nodes(&last)?;
        Ok(self.counted())
    }

    fn settle(&mut self) -> Result<(), String> {
        self.wrong.take().map_or(Ok(()), Err)
    }

    fn counted(&self) -> Tally {
        let mut tally = self.tally;
        let is_undecided = |n: &usize| !self.nodes[*n].is_stopped && self.is_undecided(*n);
        tally.undecided = (0..NODES).filter(is_undecided).count() as u64;
        for verdict in self.verdicts.values() {
            match verdict {
                Verdict::Committed => tally.committed += 1,
                Verdict::Conflict => tally.conflicts += 1,
                Verdict::TooOld => tally.too_old += 1,
                Verdict::Incomplete => tally.incomplete += 1,
                Verdict::Cancelled => tally.cancelled += 1,
                Verdict::OtherLog | Verdict::Done => {}
            }
        }
        tally
    }

    fn event(&mut self) {
        let event = self.chance.below(100);
        self.tally.trace.add(&event);
        match event {
            0..=15 => self.begin(None),
            16..=55 => self.go_on(),
            56..=66 => self.deliver(),
            67..=85 => {
                let n = self.chance.below(NODES);
                for _ in 0..=self.chance.below(3) {
                    self.apply(n);
                }
            }
            86..=87 => self.send_again(),
            88..=89 => {
                let n = self.chance.below(NODES);
                if !self.nodes[n].is_up {
                    self.nodes[n].restart();
                } else if self.chance.one_in(3) {
                    self.crash(n);
                }
            }
            90..=91 => {
                let n = self.chance.below(NODES);
                if !self.nodes[n].is_up {
                    self.nodes[n].restart();
                }
            }
            92..=93 => {
                let n = self.chance.below(NODES);
                if self.is_alive(n) {
                    let with_certifier = self.fault != Fault::CheckpointWithoutCertifier;
                    self.nodes[n].saved = self.nodes[n].now.checkpoint(with_certifier);
                }
            }
            94 => self.trim(),
            95..=96 => self.merge(),
            97 => self.copy(),
            98 => self.ask_for(|run| run.is_orphan || run.resends > 0),
            _ => self.lose(),
        }
    }

    /// A transaction goes on.
    fn go_on(&mut self) {
        let is_ready = |r: &usize| {
            let run = &self.runs[*r];
            let is_here = self.is_alive(run.node) && self.author(run.node) == run.id.author;
            run.is_active && !run.is_orphan && run.sent.is_none() && run.barrier.is_none() && is_here
        };
        let ready: Vec<usize> = (0..self.runs.len()).filter(is_ready).collect();
        if ready.is_empty() {
            return;
        }
        let r = ready[self.chance.below(ready.len())];
        if self.runs[r].steps_left == 0 {
            return self.commit(r);
        }
        self.runs[r].steps_left -= 1;
        if self.step(r).is_none() {
            self.hear(r, ClientOutcome::Aborted);
        }
    }

    /// The log gets a message, or two of it, or none.
    fn deliver(&mut self) {
        if self.driver.is_some() {
            return self.pass_a_little();
        }
        if self.flight.is_empty() {
            return;
        }
        let at = self.chance.below(self.flight.len());
        self.seal(at);
        let draft = match self.chance.one_in(16) {
            true => self.flight[at].clone(),
            false => self.flight.swap_remove(at),
        };
        if self.chance.one_in(12) {
            return;
        }
        let place = self.log.len();
        self.append(&draft);
        if self.fault == Fault::AckOnAppend {
            for record in &draft.records {
                let is_waiting = |run: &Run| {
                    (run.id.author, run.id.number) == (draft.author, record.number)
                        && run.is_active
                        && !run.is_orphan
                };
                let found = self.runs.iter().position(is_waiting);
                if let Some(r) = found.filter(|_| !self.chance.one_in(4)) {
                    self.hear(r, ClientOutcome::Committed);
                }
            }
        }
        // The log's answer names the position. It was applied already: the log lost something.
        let n = draft.node;
        if self.is_alive(n) && self.nodes[n].now.messages > place && !self.chance.one_in(4) {
            self.nodes[n].is_stopped = true;
            self.tally.stops += 1;
        }
    }

    /// A message under way takes no more records; whoever waits for one of them keeps it.
    fn seal(&mut self, at: usize) {
        self.flight[at].is_sealed = true;
        let draft = &self.flight[at];
        for run in self.runs.iter_mut().filter(|run| run.sent.is_some()) {
            if draft.has(run.id) {
                run.message = Some(draft.clone());
            }
        }
    }

    /// No acknowledgement came: the same message is sent again. Packers do so by themselves.
    fn send_again(&mut self) {
        if self.driver.is_some() {
            return self.pass_in_silence();
        }
        let is_waiting = |r: &usize| {
            let run = &self.runs[*r];
            run.is_active && !run.is_orphan && run.sent.is_some() && run.resends < 2
        };
        let waiting: Vec<usize> = (0..self.runs.len()).filter(is_waiting).collect();
        if waiting.is_empty() {
            return;
        }
        let r = waiting[self.chance.below(waiting.len())];
        self.runs[r].resends += 1;
        if self.fault == Fault::RetryUnderNewId {
            return self.send_under_new_id(r);
        }
        let id = self.runs[r].id;
        if let Some(at) = self.flight.iter().position(|draft| draft.has(id)) {
            self.seal(at);
        }
        self.flight.extend(self.runs[r].message.clone());
    }

    fn send_under_new_id(&mut self, r: usize) {
        let Some(Record { body, .. }) = self.runs[r].sent.clone() else { return };
        let node = self.runs[r].node;
        let id = self.new_id(node);
        let run = &mut self.runs[r];
        run.id = id;
        run.names.push(id);
        run.sent = Some(Record { number: id.number, body: body.clone() });
        run.message = None;
        self.send(node, id.number, body);
    }

    /// The log is trimmed to what every checkpoint has; the judge needs what was written after a loss.
    fn trim(&mut self) {
        if self.is_lost {
            return;
        }
        if let Some(driver) = &mut self.driver {
            // After a loss somebody reads it from the beginning.
            let needed = self.nodes.iter().map(|node| node.saved.needed_from).min();
            if let Some(first) = needed
                && !self.is_lossy
            {
                driver.trim(first);
            }
            return;
        }
        let saved = || self.nodes.iter().map(|node| node.saved.messages);
        let to = if self.fault == Fault::TrimTooFar { saved().max() } else { saved().min() };
        self.start = self.start.max(to.unwrap_or(0)).min(self.log.len());
    }

    /// Old versions go: below the horizons that nodes published.
    fn merge(&mut self) {
        for n in 0..NODES {
            if self.is_alive(n) && self.chance.one_in(2) {
                let author = self.author(n);
                let open = self.runs.iter().filter(|run| {
                    run.is_active && run.node == n && !run.is_orphan && run.id.author == author
                });
                let newest = self.nodes[n].snapshot();
                let oldest = open.map(|run| run.since).min().unwrap_or(newest).min(newest);
                self.nodes[n].horizon = self.nodes[n].horizon.max(oldest);
            }
        }
        // A node that is silent loses its say: its readers are refused, not lied to.
        let has_expired = self.chance.one_in(3);
        let counts = |n: &usize| self.is_alive(*n) || !has_expired;
        let least = (0..NODES).filter(counts).map(|n| self.nodes[n].horizon).min();
        let most = self.nodes.iter().map(|node| node.horizon).max();
        let horizon = if has_expired && self.chance.one_in(2) { most } else { least };
        let n = self.chance.below(NODES);
        let to = horizon.unwrap_or(Timestamp::ZERO).min(self.nodes[n].snapshot());
        if self.is_alive(n) {
            self.nodes[n].now.partitions.values_mut().for_each(|partition| partition.merge(to));
        }
    }

    /// A partition is copied to one more node, or dropped from one of several.
    fn copy(&mut self) {
        let partition = self.chance.below(PARTITIONS as usize) as u32;
        let (to, from) = (self.chance.below(NODES), self.chance.below(NODES));
        if !self.is_alive(to) || !self.is_alive(from) || to == from {
            return;
        }
        let holds = |node: &&Node| {
            node.now.partitions.contains_key(&partition) && node.saved.partitions.contains_key(&partition)
        };
        let holders = self.nodes.iter().filter(holds).count();
        if self.nodes[to].now.partitions.contains_key(&partition) {
            if holders > 2 {
                self.nodes[to].now.partitions.remove(&partition);
                self.nodes[to].saved.partitions.remove(&partition);
            }
            return;
        }
        let (theirs, ours) = (self.nodes[from].now.messages, self.nodes[to].now.messages);
        let is_wrong_way = if self.fault == Fault::CopyFromBehind { theirs > ours } else { theirs < ours };
        let Some(kept) = self.nodes[from].now.partitions.get(&partition).filter(|_| !is_wrong_way) else {
            return;
        };
        let mut copied = kept.clone();
        copied.merge(snapshot(theirs));
        // A copy says the digest at its position: whoever takes it compares when it comes there.
        copied.proof = Some((theirs, self.seen(from)));
        self.nodes[to].now.partitions.insert(partition, copied);
        let any_log = self.fault == Fault::CopyWithoutDigest;
        self.nodes[to].prove(any_log);
        self.tally.copies += 1;
    }

    /// Clients without an answer ask somewhere else, those that do so already apart.
    fn ask_for(&mut self, is_lonely: impl Fn(&Run) -> bool) {
        let is_asking = |r: &usize| {
            let run = &self.runs[*r];
            let is_unanswered = run.is_active && run.sent.is_some() && run.known == ClientOutcome::Nothing;
            is_unanswered && run.cancel.is_none() && is_lonely(run)
        };
        let asking: Vec<usize> = (0..self.runs.len()).filter(is_asking).collect();
        asking.into_iter().for_each(|r| self.ask_elsewhere(r));
    }

    fn ask_elsewhere(&mut self, r: usize) {
        let alive = self.alive();
        if alive.is_empty() {
            return;
        }
        let n = alive[self.chance.below(alive.len())];
        let (of, since) = (self.runs[r].id, self.runs[r].since);
        if self.fault == Fault::NoFence {
            let found = self.nodes[n].now.certifier.outcome(of);
            let known = match found {
                Some(Outcome::Committed(_)) => ClientOutcome::Committed,
                _ => ClientOutcome::Aborted,
            };
            return self.hear(r, known);
        }
        let id = self.new_id(n);
        self.runs[r].is_orphan = true;
        self.runs[r].cancel = Some((n, id));
        self.send(n, id.number, RecordBody::Cancel { of, since });
    }

    fn crash(&mut self, n: usize) {
        self.tally.crashes += 1;
        let author = self.author(n);
        for run in &mut self.runs {
            if run.is_active && run.node == n && run.id.author == author {
                run.is_orphan = true;
                if run.sent.is_none() {
                    (run.is_active, run.known) = (false, ClientOutcome::Aborted);
                }
            }
            run.cancel = run.cancel.filter(|(at, _)| *at != n);
        }
        let node = &mut self.nodes[n];
        node.is_up = false;
        node.incarnation += 1;
        node.free_rows.clear();
        let author = self.author(n);
        if let Some(driver) = &mut self.driver {
            driver.reconnect(n, author);
        }
    }

    /// The log engine loses what it acknowledged.
    fn lose(&mut self) {
        if self.is_lossy && !self.is_lost && self.log.len() > self.start + 4 {
            let kept = (self.log.len() - 1 - self.chance.below(3)).max(self.start);
            if let Some(driver) = &mut self.driver {
                let streams = if self.chance.one_in(2) { OpenStreams::GoOn } else { OpenStreams::BreakOff };
                driver.lose(kept, self.log.len() - kept, streams);
            }
            self.log.truncate(kept);
            self.is_lost = true;
            self.tally.lost_suffixes += 1;
        }
    }

    fn check_nodes(&self, last: &State) -> Result<(), String> {
        let running = self.nodes.iter().enumerate().filter(|(_, node)| !node.is_stopped);
        for (n, node) in running.filter(|(n, _)| !self.is_undecided(*n)) {
            if node.now.messages != self.log.len() {
                return Err(format!("node {n} ended at {} of {}", node.now.messages, self.log.len()));
            }
            for (number, partition) in &node.now.partitions {
                let expected: State = last
                    .iter()
                    .filter(|(cell, _)| cell.partition() == *number)
                    .map(|(c, v)| (*c, *v))
                    .collect();
                if partition.at(Timestamp::MAX) != expected {
                    return Err(format!("node {n} differs in partition {number}"));
                }
            }
        }
        Ok(())
    }
}
