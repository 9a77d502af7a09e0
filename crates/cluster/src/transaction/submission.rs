//! Submission: appends what a coordinator sends through the thread of its node, and waits for what becomes of it.
//!
//! ```text
//! transaction ──> would it be refused now? ── yes ──> conflict, and nothing is appended
//!                     │ no
//!                     v
//!                 parts, if it is large ── all kept ──> record ── applied here ──> committed, or why not
//!                                                         │ nothing in time, or whoever waits must end
//!                                                         v
//!                                                       cancel ── applied here ──> committed, or never will
//!                                                         │ nothing in time, or the node has stopped
//!                                                         v
//!                                                       unknown: any node may be asked
//! ```

use crate::certification::outcome::{CancelAnswer, Outcome, PayloadProblem, Refusal};
use crate::key_hash::graph_salt::GraphSalt;
use crate::log::packer::PushError;
use crate::node::node_error::NodePushError;
use crate::node::node_thread::{CallError, NodeHandle};
use crate::node::owned_node::{CoordinatingNode, DecisionCallback};
use crate::node::replicated_state::{AppliedRecord, RecordResult};
use crate::record::body::RecordBody;
use crate::record::large_transaction::parts;
use crate::record::transaction_part::TransactionPart;
use crate::record_id::RecordId;
use crate::transaction::one_answer::{AnswerWaiter, Waited, one_answer, pause};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::unknown_commit::UnknownCommit;
use evergraph_graph::wait_limit::WaitLimit;
use evergraph_storage::io::clock::Clock;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Parts of one transaction that are under way at once.
const PARTS_UNDER_WAY: usize = 8;

/// How long to wait before something is handed to a node again that had no room for it.
const FULL_WAIT: Duration = Duration::from_millis(1);

/// How long whoever must end still waits for what becomes of its record: the log mostly answers within a few milliseconds, and
/// an outcome that is known is worth more than a second.
const ENDING_WAIT: Duration = Duration::from_secs(1);

/// Whether a transaction is certified by its own node before it is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AheadCheck {
    /// One that would be refused now is not sent.
    #[default]
    Asked,
    /// Every one is sent, and the log alone decides: to measure what the check is worth.
    Skipped,
}

/// Sends through a node. Made for each use.
pub struct Submitter<'a, N> {
    /// The node.
    pub node: &'a NodeHandle<N>,
    /// The clock of its thread.
    pub clock: &'a dyn Clock,
    /// How long the log may take; a cancel again as long.
    pub patience: Duration,
    /// The graph's: names of transactions are proved by it.
    pub salt: GraphSalt,
    /// Whether transactions are certified before they are sent.
    pub ahead: AheadCheck,
    /// Ends every wait before that, but for the one for what became of a transaction that was sent.
    pub limit: WaitLimit,
}

impl<N: CoordinatingNode> Submitter<'_, N> {
    /// Appends a transaction that reads at `since`, and waits. Its timestamp, once this node has applied it.
    ///
    /// # Errors
    /// `conflict` if it did not and never will commit, and may be run again. `busy` if it was not sent. `cancelled` if the limit
    /// has ended, and it did not and never will commit. `invalid` for what no
    /// node can install. `unknown`, with an [`UnknownCommit`] as its cause, if nobody knows: [`Submitter::settle`] of any node
    /// can be asked, as long as the log is remembered. `io` if it did not commit, since the node has stopped or must start again.
    pub fn submit(&self, since: Timestamp, part: TransactionPart) -> Result<Timestamp> {
        self.limit.check()?;
        let until = self.clock.now().saturating_add(self.patience);
        let part = match self.ahead {
            AheadCheck::Asked => self.check_ahead(since, part)?,
            AheadCheck::Skipped => part,
        };
        let mut ahead = parts(part);
        let last = ahead.pop().expect("a transaction has a part at least");
        let (count, reserved) = (ahead.len() as u16, self.send_ahead(until, ahead)?);
        let body = RecordBody::Transaction { since, parts: count, last };
        let (id, decision) = self.push(until, body, reserved)?;
        match decision.wait(until, self.clock, &self.limit) {
            Waited::Came(record) => of_result(record),
            Waited::Never => Err(id.unknown_commit(since, self.salt).into()),
            Waited::TimedOut => {
                let patience = if self.limit.has_ended() { ENDING_WAIT } else { self.patience };
                let ending = Submitter { limit: WaitLimit::default(), patience, ..*self };
                let settled = ending.settle(id.unknown_commit(since, self.salt));
                self.forget(id);
                match settled {
                    // Whoever must end does not run it again.
                    Err(conflict) if conflict.is_conflict() => {
                        Err(self.limit.check().err().unwrap_or(conflict))
                    }
                    settled => settled,
                }
            }
        }
    }

    /// Sees to it that a transaction has committed or never will: its timestamp if it has.
    ///
    /// # Errors
    /// `conflict` if it did not commit, and never will. `unknown`, with the same cause, if that is still not known. `invalid` if it
    /// is not the name of a transaction, but made up.
    pub fn settle(&self, unknown: UnknownCommit) -> Result<Timestamp> {
        let Some(of) = RecordId::of_unknown(unknown, self.salt) else {
            let text = format!(
                "no node of this cluster has named a transaction {unknown}: settle what a commit returned"
            );
            return Err(Error::invalid(text));
        };
        let until = self.clock.now().saturating_add(self.patience);
        let body = RecordBody::Cancel { of, since: unknown.since };
        let Ok((id, decision)) = self.push(until, body, None) else { return Err(unknown.into()) };
        let waited = decision.wait(until, self.clock, &self.limit);
        self.forget(id);
        match waited {
            Waited::Came(AppliedRecord { result: RecordResult::Cancel(answer), .. }) => match answer {
                CancelAnswer::Decided(outcome) => of_outcome(outcome),
                CancelAnswer::Cancelled => Err(cancelled()),
                CancelAnswer::Unknown => Err(unknown.into()),
            },
            _ => Err(unknown.into()),
        }
    }

    /// Appends a record that is no transaction, and waits until this node has applied it.
    ///
    /// # Errors
    /// `busy` if it was not sent, or nothing came of it in time: it may still come; `cancelled` likewise, if the limit has ended;
    /// `io` if the node has stopped.
    pub fn ask(&self, body: RecordBody) -> Result<RecordResult> {
        self.limit.check()?;
        let until = self.clock.now().saturating_add(self.patience);
        let (id, decision) = self.push(until, body, None)?;
        match decision.wait(until, self.clock, &self.limit) {
            Waited::Came(record) => Ok(record.result),
            Waited::Never => Err(stopped()),
            Waited::TimedOut => {
                self.forget(id);
                self.limit.check()?;
                Err(Error::new(ErrorKind::Busy, "the log has not answered in time: try again in a moment"))
            }
        }
    }

    /// Does something with the node and waits for its answer; tries again while the node has no room for calls.
    ///
    /// # Errors
    /// `busy` if it has none until `until`; `cancelled` if it has none until the limit ends; `io` if it has stopped.
    pub(super) fn call<T: Send + 'static>(
        &self,
        until: Duration,
        mut call: impl FnMut() -> Box<dyn FnOnce(&mut N, Duration) -> T + Send>,
    ) -> Result<T> {
        loop {
            let (teller, waiter) = one_answer();
            let called = call();
            match self.node.call(move |node, now| teller.tell(called(node, now))) {
                Ok(()) => return waiter.wait_long().ok_or_else(stopped),
                Err(CallError::Full) if self.clock.now() < until => {
                    self.limit.check()?;
                    pause(FULL_WAIT, self.clock);
                }
                Err(CallError::Full) => return Err(busy()),
                Err(CallError::Ended) => return Err(stopped()),
            }
        }
    }

    /// Asks the certifier of the node, so that few doomed transactions reach the log.
    fn check_ahead(&self, since: Timestamp, part: TransactionPart) -> Result<TransactionPart> {
        let until = self.clock.now().saturating_add(self.patience);
        let part = Arc::new(part);
        let refusal = self.call(until, || {
            let part = Arc::clone(&part);
            Box::new(move |node: &mut N, _: Duration| node.would_refuse(since, &part))
        })?;
        match refusal {
            Some(refusal) => Err(refused(refusal)),
            None => Ok(Arc::unwrap_or_clone(part)),
        }
    }

    /// Sends parts, and waits until all are kept. The id that their transaction has to have; none without parts.
    fn send_ahead(&self, until: Duration, parts: Vec<TransactionPart>) -> Result<Option<RecordId>> {
        if parts.is_empty() {
            return Ok(None);
        }
        let id = self
            .call(until, || Box::new(|node: &mut N, _: Duration| node.reserve()))?
            .map_err(|error| not_sent(&error))?;
        let mut under_way = VecDeque::new();
        for (place, part) in (0..).zip(parts) {
            if under_way.len() >= PARTS_UNDER_WAY {
                self.wait_for_part(until, under_way.pop_front())?;
            }
            let body = RecordBody::Part { of: id.number, place, part };
            under_way.push_back(self.push(until, body, None)?);
        }
        while let Some(part) = under_way.pop_front() {
            self.wait_for_part(until, Some(part))?;
        }
        Ok(Some(id))
    }

    fn wait_for_part(
        &self,
        until: Duration,
        part: Option<(RecordId, AnswerWaiter<AppliedRecord>)>,
    ) -> Result<()> {
        let Some((id, decision)) = part else { return Ok(()) };
        match decision.wait(until, self.clock, &self.limit) {
            Waited::Came(AppliedRecord { result: RecordResult::PartKept, .. }) => Ok(()),
            Waited::Came(AppliedRecord { result: RecordResult::Refused(refusal), .. }) => {
                Err(refused(refusal))
            }
            Waited::Came(_) => Err(Error::conflict(
                "too many large transactions wait for their last parts: run this one again later",
            )),
            Waited::Never => Err(stopped()),
            Waited::TimedOut => {
                self.forget(id);
                self.limit.check()?;
                Err(busy())
            }
        }
    }

    /// Hands a record to the packer of the node, as soon as it has room. What becomes of the record comes later.
    fn push(
        &self,
        until: Duration,
        body: RecordBody,
        reserved: Option<RecordId>,
    ) -> Result<(RecordId, AnswerWaiter<AppliedRecord>)> {
        let body = Arc::new(body);
        loop {
            let mut decision = None;
            let pushed = self.call(until, || {
                let (decides, waiter) = one_answer();
                decision = Some(waiter);
                let body = Arc::clone(&body);
                Box::new(move |node: &mut N, now: Duration| {
                    let callback: DecisionCallback = Box::new(move |record| decides.tell(record));
                    let body = RecordBody::clone(&body);
                    match reserved {
                        Some(id) => node.push_reserved(now, id, body, callback).map(|()| id),
                        None => node.push(now, body, callback),
                    }
                })
            })?;
            match (pushed, decision) {
                (Ok(id), Some(decision)) => return Ok((id, decision)),
                (Err(NodePushError::Packer(PushError::Full)), _) if self.clock.now() < until => {
                    self.limit.check()?;
                    pause(FULL_WAIT, self.clock);
                }
                (Err(error), _) => return Err(not_sent(&error)),
                (Ok(_), None) => unreachable!("the call was made"),
            }
        }
    }

    /// Nobody waits for a record any more.
    fn forget(&self, id: RecordId) {
        // A node that has stopped has forgotten all, and one without room for the call keeps a callback that tells nobody.
        let _ = self.node.call(move |node, _| node.forget_record(id));
    }
}

/// What a transaction's record came to.
fn of_result(record: AppliedRecord) -> Result<Timestamp> {
    match record.result {
        RecordResult::Committed => Ok(record.timestamp),
        RecordResult::Refused(refusal) => Err(refused(refusal)),
        RecordResult::Double(outcome) => of_outcome(outcome),
        other => {
            Err(Error::new(ErrorKind::Io, format!("{} was taken for another record: {other:?}", record.id)))
        }
    }
}

/// What is remembered of a transaction.
fn of_outcome(outcome: Outcome) -> Result<Timestamp> {
    match outcome {
        Outcome::Committed(timestamp) => Ok(timestamp),
        Outcome::Conflict | Outcome::Incomplete => {
            Err(Error::conflict("something that the transaction rests on was changed first: run it again"))
        }
        Outcome::Cancelled => Err(cancelled()),
        Outcome::OtherLog | Outcome::Fenced | Outcome::Done => {
            let text = "the transaction did not commit, since its node must start again";
            Err(Error::new(ErrorKind::Io, text))
        }
        Outcome::Malformed => Err(Error::invalid("no node can install what the transaction changes")),
    }
}

fn refused(refusal: Refusal) -> Error {
    match refusal {
        Refusal::Malformed(malformation) if malformation.problem != PayloadProblem::OtherCatalogue => {
            Error::invalid(refusal.to_string())
        }
        Refusal::TooOld { .. }
        | Refusal::Conflict { .. }
        | Refusal::Incomplete { .. }
        | Refusal::Malformed(_) => Error::conflict(format!("{refusal}: run the transaction again")),
        Refusal::OtherLog | Refusal::Fenced => Error::new(ErrorKind::Io, refusal.to_string()),
    }
}

fn cancelled() -> Error {
    Error::conflict("the log did not take the transaction in time, and it was called off: run it again")
}

fn not_sent(error: &NodePushError) -> Error {
    let kind = match error {
        NodePushError::Joining | NodePushError::Packer(PushError::Full) => ErrorKind::Busy,
        NodePushError::Stopped => ErrorKind::Io,
        NodePushError::Packer(PushError::TooLarge) => ErrorKind::Limit,
    };
    Error::new(kind, error.to_string())
}

fn busy() -> Error {
    Error::new(ErrorKind::Busy, "the node has too much to do: try again in a moment")
}

pub(super) fn stopped() -> Error {
    Error::new(ErrorKind::Io, CallError::Ended.to_string())
}

#[cfg(test)]
mod tests;
