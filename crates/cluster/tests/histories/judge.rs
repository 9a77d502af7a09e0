//! Judge: replays the final log by itself, with keys listed as an honest coordinator would, and forgets nothing.
//!
//! It demands
//! - of every transaction that reads are those of its snapshot, and of a serialisable one also those of the moment before
//!   its commit, so that the order of the log is a serial order;
//! - that nobody's update is lost, at either level;
//! - after every commit: no dangling edge, no half of one, no unique value twice, no vertex twice;
//! - of every refusal a reason: a key that changed, an age, a part that is missing, another log;
//! - of rows that they are given once, though a double of their record comes when its id is forgotten;
//! - of a record that it is taken for a double if its id is remembered, and then only;
//! - of a cancel that its answer is what is remembered of the transaction, or *unknown* if that may be forgotten;
//! - that what was acknowledged is there, what was called off isn't, and nothing was done twice;
//! - of fresh readers that they saw all that was acknowledged before they began.

use crate::fault::Fault;
use crate::graph::{Cell, CellValue, State, Writes, check_whole, first_state, put};
use crate::keys::{GraphKey, keys_read, keys_written};
use crate::node::{GENERATION_SLOTS, SALT, position};
use crate::run::{ClientOutcome, Run, Verdict};
use crate::world::World;
use evergraph_cluster::certification::generation::{
    ENTERED_SLOTS, MESSAGE_SLOTS, OUTCOME_SLOTS, TOUCH_SLOTS,
};
use evergraph_cluster::certification::outcome::{CancelAnswer, Decision, Refusal};
use evergraph_cluster::certification::pending_parts::part_slots;
use evergraph_cluster::digest::{LogDigest, SeenLog};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record::body::RecordBody;
use evergraph_cluster::record::message::Message;
use evergraph_cluster::record::transaction_part::TransactionPart;
use evergraph_cluster::record_id::RecordId;
use evergraph_graph::timestamp::Timestamp;
use std::collections::BTreeMap;

/// How far back everybody remembers.
struct Window {
    floor: Timestamp,
    current: Timestamp,
    used_slots: u64,
}

impl Window {
    /// What a snapshot does not see is at the floor or behind it, unless the snapshot ends before.
    fn is_too_old(&self, snapshot: Timestamp) -> bool {
        snapshot.next() < self.floor
    }

    fn count(&mut self, slots: u64, at: Timestamp) {
        self.used_slots += slots;
        if self.used_slots >= GENERATION_SLOTS {
            *self = Self { floor: self.current, current: at.next(), used_slots: 0 };
        }
    }
}

fn slots_of(part: &TransactionPart) -> u64 {
    TOUCH_SLOTS * part.touches.len() as u64 + ENTERED_SLOTS * part.entered.len() as u64
}

/// What the judge knows of the log up to a record.
struct Judge<'a> {
    world: &'a World,
    state: State,
    /// The state after each commit.
    states: Vec<(Timestamp, State)>,
    changed: BTreeMap<GraphKey, Timestamp>,
    entered: Vec<(Timestamp, u8)>,
    decided: BTreeMap<RecordId, (Timestamp, Verdict)>,
    /// Parts that came, and the slots that their transaction will take for them.
    parts: BTreeMap<(RecordId, u16), (Timestamp, u64)>,
    jobs: BTreeMap<usize, usize>,
    digests: Vec<LogDigest>,
    window: Window,
}

/// A transaction's record.
struct Trial<'a> {
    id: RecordId,
    at: Timestamp,
    seen: SeenLog,
    since: Timestamp,
    parts: u16,
    run: &'a Run,
}

impl World {
    /// The graph after the whole log.
    ///
    /// # Errors
    /// What is wrong.
    pub fn judge(&self) -> Result<State, String> {
        let state = first_state();
        let mut judge = Judge {
            world: self,
            states: vec![(Timestamp::ZERO, state.clone())],
            state,
            changed: BTreeMap::new(),
            entered: Vec::new(),
            decided: BTreeMap::new(),
            parts: BTreeMap::new(),
            jobs: BTreeMap::new(),
            digests: vec![LogDigest::START],
            window: Window {
                floor: LogPosition::START.end().next(),
                current: LogPosition::START.end().next(),
                used_slots: 0,
            },
        };
        for (number, bytes) in self.log.iter().enumerate() {
            judge.message(number, bytes)?;
        }
        if !self.is_lost {
            self.runs.iter().try_for_each(|run| judge.client(run))?;
        }
        Ok(judge.state)
    }
}

impl Judge<'_> {
    fn message(&mut self, number: usize, bytes: &[u8]) -> Result<(), String> {
        let message = Message::decode(bytes).map_err(|error| error.to_string())?;
        let position = position(number);
        for (place, record) in message.records.iter().enumerate() {
            let id = RecordId { author: message.author, number: record.number };
            let at = position.timestamp(place);
            let is_known = self.known(id);
            if let Some(decision) = self.decision((number, place))
                && matches!(decision, Decision::Double(_)) != is_known
            {
                return Err(format!("{id} is a double: {is_known}, and was decided: {decision:?}"));
            }
            if is_known {
                continue;
            }
            let floor = self.window.floor;
            self.parts.retain(|_, (at, _)| *at >= floor);
            match &record.body {
                RecordBody::Transaction { since, parts, last } => {
                    let world = self.world;
                    let Some(run) = world.runs.iter().find(|run| run.names.contains(&id)) else { continue };
                    let trial = Trial { id, at, seen: message.seen, since: *since, parts: *parts, run };
                    self.transaction(&trial, (number, place), last)?;
                }
                body => {
                    self.cancel((number, place), body)?;
                    self.other(id, at, (number, place), &message.seen, body)?;
                }
            }
        }
        let digest = self.digests[number].after(SALT, position, bytes);
        self.digests.push(digest);
        self.window.count(MESSAGE_SLOTS, position.end());
        Ok(())
    }

    /// Whether the id is remembered.
    fn known(&self, id: RecordId) -> bool {
        self.decided.get(&id).is_some_and(|(at, _)| *at >= self.window.floor)
    }

    /// What nodes decided of a record, while the log has lost nothing.
    fn decision(&self, at: (usize, usize)) -> Option<&Decision> {
        self.world.decisions.get(&at).filter(|_| !self.world.is_lost)
    }

    /// A cancel is answered by *unknown* only where nobody may say more.
    fn cancel(&self, at: (usize, usize), body: &RecordBody) -> Result<(), String> {
        let RecordBody::Cancel { of, since } = body else { return Ok(()) };
        let Some(Decision::Answer(answer)) = self.decision(at) else { return Ok(()) };
        let is_right = match answer {
            CancelAnswer::Decided(_) => self.known(*of),
            CancelAnswer::Cancelled => !self.known(*of) && !self.window.is_too_old(*since),
            CancelAnswer::Unknown => !self.known(*of) && self.window.is_too_old(*since),
        };
        if !is_right {
            return Err(format!("the cancel of {of} was answered by {answer:?}"));
        }
        Ok(())
    }

    /// Whether the author of a record saw the log that the judge has.
    fn has_seen_this_log(&self, seen: &SeenLog) -> bool {
        self.digests.get(seen.position.0 as usize) == Some(&seen.digest)
    }

    fn other(
        &mut self,
        id: RecordId,
        at: Timestamp,
        place: (usize, usize),
        seen: &SeenLog,
        body: &RecordBody,
    ) -> Result<(), String> {
        let (mut slots, mut verdict) = (OUTCOME_SLOTS, Verdict::Done);
        match body {
            RecordBody::Part { of, place, part } => {
                let of = RecordId { author: id.author, number: *of };
                self.parts.insert((of, *place), (at, slots_of(part)));
                slots += part_slots(part);
            }
            RecordBody::Cancel { of, since } if !self.known(*of) && !self.window.is_too_old(*since) => {
                self.decided.insert(*of, (at, Verdict::Cancelled));
                slots += OUTCOME_SLOTS;
            }
            RecordBody::Rows { touches, .. } => {
                verdict = self.rows(id, place, seen)?;
                match verdict {
                    Verdict::Done => slots += TOUCH_SLOTS * touches.len() as u64,
                    // Leaves no trace.
                    Verdict::TooOld => return Ok(()),
                    _ => {}
                }
            }
            _ => {}
        }
        self.decided.insert(id, (at, verdict));
        self.window.count(slots, at);
        Ok(())
    }

    /// Rows are given to an author who saw this log, and no longer ago than ids are remembered.
    fn rows(&self, id: RecordId, place: (usize, usize), seen: &SeenLog) -> Result<Verdict, String> {
        let expected = if self.window.is_too_old(seen.position.end()) {
            Verdict::TooOld
        } else if !self.has_seen_this_log(seen) {
            Verdict::OtherLog
        } else {
            Verdict::Done
        };
        let Some(decision) = self.decision(place) else { return Ok(expected) };
        let is_right = match decision {
            Decision::Accept(_) => expected == Verdict::Done,
            Decision::Refuse(Refusal::TooOld { .. }) => expected == Verdict::TooOld,
            Decision::Refuse(Refusal::OtherLog) => expected == Verdict::OtherLog,
            _ => false,
        };
        match is_right {
            true => Ok(expected),
            false => Err(format!("rows {id} are {expected:?}, and were decided: {decision:?}")),
        }
    }

    /// What the protocol says must come out, from the keys that an honest coordinator would list.
    fn expected(&self, trial: &Trial<'_>) -> Verdict {
        let Trial { seen, since, run, .. } = trial;
        let is_of_this_log = self.has_seen_this_log(seen);
        let (mut keys, mut ranges) = (run.checks.clone(), Vec::new());
        if run.is_serializable {
            for (question, found) in &run.reads {
                keys_read(question, found, Fault::None, &mut keys, &mut ranges);
            }
        }
        let is_news = |at: &Timestamp| !at.visible_at(*since);
        let has_entered = |low: u8, high: u8| {
            self.entered.iter().any(|(at, value)| is_news(at) && (low..=high).contains(value))
        };
        let is_conflict = keys.iter().any(|key| self.changed.get(key).is_some_and(is_news))
            || ranges.iter().any(|(low, high)| has_entered(*low, *high));
        if self.window.is_too_old(*since) {
            Verdict::TooOld
        } else if !is_of_this_log || *since > seen.position.end() {
            Verdict::OtherLog
        } else if is_conflict {
            Verdict::Conflict
        } else if !self.is_complete(trial) {
            Verdict::Incomplete
        } else {
            Verdict::Committed
        }
    }

    fn is_complete(&self, trial: &Trial<'_>) -> bool {
        (0..trial.parts).all(|place| self.parts.contains_key(&(trial.id, place)))
    }

    fn transaction(
        &mut self,
        trial: &Trial<'_>,
        (number, place): (usize, usize),
        last: &TransactionPart,
    ) -> Result<(), String> {
        let (id, at) = (trial.id, trial.at);
        let expected = self.expected(trial);
        let verdict = match self.world.is_lost {
            true => expected,
            false => self.world.verdicts.get(&(number, place)).copied().unwrap_or(expected),
        };
        let differs = |verdict_of: Verdict| verdict == verdict_of && expected != verdict_of;
        if verdict == Verdict::Conflict && expected == Verdict::Committed {
            return Err(format!("{id} was refused without a conflict"));
        }
        if differs(Verdict::Incomplete) {
            return Err(format!("{id} was called incomplete and isn't"));
        }
        if differs(Verdict::TooOld) {
            return Err(format!("{id} was called too old and isn't"));
        }
        if differs(Verdict::OtherLog) {
            return Err(format!("{id} was refused for another log, and its author saw this one"));
        }
        if verdict == Verdict::Committed && [Verdict::TooOld, Verdict::OtherLog].contains(&expected) {
            return Err(format!("{id} committed and should be {expected:?}"));
        }
        if verdict != Verdict::Committed {
            // What is too old leaves no trace.
            if verdict != Verdict::TooOld {
                self.decided.insert(id, (at, verdict));
                self.window.count(OUTCOME_SLOTS, at);
            }
            return Ok(());
        }
        if !self.is_complete(trial) {
            return Err(format!("{id} committed without all of its parts"));
        }
        self.reads(trial)?;
        self.writes(trial)?;
        let ahead = (0..trial.parts).filter_map(|place| self.parts.get(&(id, place))).map(|(_, slots)| slots);
        let slots = OUTCOME_SLOTS + slots_of(last) + ahead.sum::<u64>();
        self.decided.insert(id, (at, verdict));
        self.window.count(slots, at);
        self.states.push((at, self.state.clone()));
        check_whole(&self.state)?;
        let done = self.jobs.entry(trial.run.job).or_default();
        *done += 1;
        if *done > 1 {
            return Err(format!("job {} was done twice", trial.run.job));
        }
        Ok(())
    }

    /// Serial order is log order: reads must give the same just before the commit, or at the snapshot.
    fn reads(&self, trial: &Trial<'_>) -> Result<(), String> {
        let (id, since) = (trial.id, trial.since);
        for (question, found) in &trial.run.reads {
            if question.answer(self.state_at(since)) != *found {
                return Err(format!("{id} read {question:?} at {since} and saw another moment"));
            }
            if trial.run.is_serializable && question.answer(&self.state) != *found {
                return Err(format!("{id} is not serialisable: {question:?}"));
            }
        }
        Ok(())
    }

    fn writes(&mut self, trial: &Trial<'_>) -> Result<(), String> {
        let (id, run) = (trial.id, trial.run);
        let writes: &Writes = &run.writes;
        for (cell, value) in writes {
            self.fits(run, *cell, *value).map_err(|wrong| format!("{id} {wrong}"))?;
            // First committer wins, at both levels.
            if self.state_at(trial.since).get(cell) != self.state.get(cell) {
                return Err(format!("{id} lost an update of {cell:?}"));
            }
        }
        put(&mut self.state, writes);
        let (keys, entered) = keys_written(writes, &run.members);
        self.changed.extend(keys.into_iter().map(|key| (key, trial.at)));
        self.entered.extend(entered.into_iter().map(|value| (trial.at, value)));
        Ok(())
    }

    fn fits(&self, run: &Run, cell: Cell, value: Option<CellValue>) -> Result<(), String> {
        let is_there = self.state.contains_key(&cell);
        match (cell, value) {
            (_, None) if !is_there => Err(format!("deletes {cell:?}, which isn't there")),
            (Cell::Vertex(v), Some(_)) if is_there == run.members.contains(&(v, true)) => {
                Err(format!("writes {cell:?}, and it is there: {is_there}"))
            }
            (Cell::Out(..) | Cell::In(..), Some(_)) if is_there => Err(format!("adds {cell:?} twice")),
            _ => Ok(()),
        }
    }

    fn state_at(&self, snapshot: Timestamp) -> &State {
        let after = self.states.partition_point(|(at, _)| at.visible_at(snapshot));
        &self.states[after - 1].1
    }

    /// What the client of a transaction was told is true.
    fn client(&self, run: &Run) -> Result<(), String> {
        let id = run.id;
        if let Some(sent) = &run.sent {
            let id = RecordId { author: id.author, number: sent.number };
            let verdict = self.decided.get(&id).map(|(_, verdict)| *verdict);
            if run.known == ClientOutcome::Committed && verdict != Some(Verdict::Committed) {
                return Err(format!("{id} was acknowledged and is lost"));
            }
            if run.known == ClientOutcome::Aborted && verdict == Some(Verdict::Committed) {
                return Err(format!("{id} was called off and is there"));
            }
        } else if run.known == ClientOutcome::Committed {
            let then = self.state_at(run.since);
            if run.reads.iter().any(|(question, found)| question.answer(then) != *found) {
                return Err(format!("reader {id} saw no single moment"));
            }
            if run.fresh.is_some_and(|acknowledged| run.since < acknowledged) {
                return Err(format!("fresh reader {id} missed what was acknowledged"));
            }
        }
        Ok(())
    }
}
