//! Node asker: asks for a reader, through the thread of its node, and waits for all answers.
//!
//! ```text
//! reader ── messages ──> call ──> thread of the node ──> asks, one a message; one frame a node
//!    ├── meanwhile does its own work, and answers messages about partitions of its node; what it cannot goes to that thread, too
//!    └── waits <── answers, or the first error ────────────┘        an error: the others are forgotten, and own work ends
//! ```
//!
//! It waits no longer than the limit of the reader's thread lasts ([`evergraph_graph::wait_limit`]): the deadline and the
//! cancellation of its query.

use crate::digest::SeenLog;
use crate::node::node_thread::{CallError, NodeHandle};
use crate::node::own_partitions::{OwnPartitions, PartitionReader};
use crate::node::owned_node::AskingNode;
use crate::node::readers::OpenReader;
use crate::node::shared_tables::TablesMoment;
use crate::node::snapshot_partitions::SnapshotPartitions;
use crate::planted::{Bug, planted};
use crate::remote::asking::{Ask, AskId, AskOutcome, AskRefusal};
use crate::remote::partition_view::PartitionView;
use crate::remote::question::RefusalReason;
use crate::remote::remote_snapshot::GraphMap as _;
use crate::remote::view_asking::{OwnWork, PartitionAsker};
use crate::travel::travel_run::SnapshotTravels;
use crate::travel::travelling_queries::TravellingQueries;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::PartitionId;
use evergraph_graph::travel::Travels;
use evergraph_graph::wait_limit::WaitLimit;
use evergraph_storage::io::clock::Clock;
use evergraph_storage::sync::{Condvar, Mutex};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// Asks for one snapshot, which is in use for as long as this is there.
pub struct NodeAsker<N> {
    node: NodeHandle<N>,
    reader: Arc<OpenReader>,
    patience: Duration,
    own: Option<OwnCopies>,
    opened: Option<SnapshotPartitions>,
    travelling: Option<TravellingQueries>,
}

/// How the partitions of the node are read without its thread.
struct OwnCopies {
    partitions: OwnPartitions,
    clock: Arc<dyn Clock>,
}

/// What comes of the messages of one reader.
///
/// # Concurrency
///
/// The lock orders what the thread of the node puts in with what the reader looks at: it waits until nothing is missing, or
/// something has failed.
struct Answers {
    state: Mutex<AnswersState>,
    news: Condvar,
}

struct AnswersState {
    answers: Vec<Option<Vec<u8>>>,
    missing: usize,
    /// The first.
    failure: Option<Error>,
    ids: Vec<AskId>,
    /// Nobody waits any more: what was not asked yet never is.
    is_over: bool,
}

/// A message, and where its answer goes.
struct OpenMessage {
    partition: PartitionId,
    asked: Vec<u8>,
    missing: MissingAnswer,
}

/// A message whose answer is missing. Dropped so, nothing comes of it: the node has stopped.
struct MissingAnswer {
    answers: Arc<Answers>,
    place: usize,
    is_told: bool,
}

impl<N: AskingNode> NodeAsker<N> {
    /// Asks as of where `reader` reads, and waits for each answer for as long as `patience` lasts.
    #[must_use]
    pub fn new(node: NodeHandle<N>, reader: OpenReader, patience: Duration) -> Self {
        Self { node, reader: Arc::new(reader), patience, own: None, opened: None, travelling: None }
    }

    /// Reads the partitions of the node in the thread that asks, where that is possible, if the reader begins at `moment`: then
    /// it reads the log that they are of. `clock` measures its patience.
    #[must_use]
    pub fn beside(mut self, partitions: OwnPartitions, moment: &TablesMoment, clock: Arc<dyn Clock>) -> Self {
        if moment.seen() == self.reader.at() || planted(Bug::OwnViewsOfOtherLog) {
            let (at, count) = (self.reader.at().position, moment.partitions());
            self.opened = Some(SnapshotPartitions::new(partitions.clone(), at, count));
            self.own = Some(OwnCopies { partitions, clock });
        }
        self
    }

    /// Its readers have stages of queries run where the vertices lie.
    #[must_use]
    pub fn travelling(self, queries: TravellingQueries) -> Self {
        Self { travelling: Some(queries), ..self }
    }

    /// The snapshot.
    #[must_use]
    pub fn at(&self) -> SeenLog {
        self.reader.at()
    }
}

impl<N: AskingNode> PartitionAsker for NodeAsker<N> {
    fn travels(&self) -> Option<Arc<dyn Travels>> {
        let queries = self.travelling.clone()?;
        Some(Arc::new(SnapshotTravels::new(queries, self.reader.at(), Arc::clone(&self.reader))))
    }

    fn own_view(&self, partition: PartitionId) -> Option<Arc<dyn PartitionView>> {
        self.opened.as_ref().filter(|_| !planted(Bug::OwnViewsUnread))?.view(partition)
    }

    fn keeps_all(&self) -> bool {
        self.opened.as_ref().is_some_and(SnapshotPartitions::are_all)
    }

    fn ask_beside(
        &self,
        messages: Vec<(PartitionId, Vec<u8>)>,
        own_work: OwnWork<'_>,
    ) -> Result<Vec<Vec<u8>>> {
        if messages.is_empty() {
            return own_work(&|| Ok(())).map(|()| Vec::new());
        }
        let limit = WaitLimit::of_thread();
        limit.check()?;
        let answers = Arc::new(Answers::new(messages.len()));
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for (place, (partition, asked)) in messages.into_iter().enumerate() {
            // Each is missing already, so that one which is never asked is told, too.
            let missing = MissingAnswer { answers: Arc::clone(&answers), place, is_told: false };
            let message = OpenMessage { partition, asked, missing };
            match self.own_reader(partition) {
                Some(reader) => own.push((reader, message)),
                None => others.push(message),
            }
        }
        let patience = limit.patience(self.patience);
        // Other nodes work meanwhile.
        let asked = self.ask_node(&answers, others, patience).and_then(|()| {
            own_work(&|| answers.check())?;
            let left = self.answer_own(own, &limit, &answers)?;
            self.ask_node(&answers, left, patience)
        });
        asked.and_then(|()| answers.wait(&limit)).inspect_err(|_| {
            let ids = answers.give_up();
            // If the node does not take it, or has stopped, nothing need be forgotten that does not end by itself.
            let _ = self.node.call(move |node, now| ids.into_iter().for_each(|id| node.forget(now, id)));
        })
    }
}

impl<N: AskingNode> NodeAsker<N> {
    fn own_reader(&self, partition: PartitionId) -> Option<Arc<dyn PartitionReader>> {
        self.own.as_ref()?.partitions.reader(partition, self.reader.at().position)
    }

    /// Has the thread of the node ask, one message after the other.
    fn ask_node(&self, answers: &Arc<Answers>, messages: Vec<OpenMessage>, patience: Duration) -> Result<()> {
        if messages.is_empty() {
            return Ok(());
        }
        let (at, of_call) = (self.reader.at(), Arc::clone(answers));
        let called = self.node.call(move |node, now| {
            for OpenMessage { partition, asked, missing } in messages {
                match node.ask(now, Ask { partition, at, patience, asked }) {
                    Ok(id) if !of_call.opened(id) => return node.forget(now, id),
                    Ok(id) => {
                        let tell = move |outcome: AskOutcome| missing.tell(read(partition, outcome));
                        node.when_ended(id, Box::new(tell));
                    }
                    // The others are not asked.
                    Err(refusal) => return missing.tell(Err(refused(refusal))),
                }
            }
        });
        called.map_err(not_called)
    }

    /// Answers messages about own partitions in this thread. Returns those that it could not answer: the thread of the node
    /// waits for the log, or asks another copy. A panic counts as a failure of the copy, as with
    /// [`AnswerWorkers`](crate::node::answer_workers::AnswerWorkers).
    ///
    /// # Errors
    /// `cancelled` if the limit has ended; that of another message.
    fn answer_own(
        &self,
        messages: Vec<(Arc<dyn PartitionReader>, OpenMessage)>,
        limit: &WaitLimit,
        answers: &Answers,
    ) -> Result<Vec<OpenMessage>> {
        let Some(OwnCopies { clock, .. }) = &self.own else { return Ok(Vec::new()) };
        let (at, ends_at) = (self.reader.at().position, clock.now().saturating_add(self.patience));
        let check_time = || {
            limit.check()?;
            answers.check()?;
            match clock.now() < ends_at {
                true => Ok(()),
                false => Err(Error::new(ErrorKind::Cancelled, "the reader waits no longer")),
            }
        };
        let mut left = Vec::new();
        for (reader, message) in messages {
            // What unwinds was this message's alone: it only reads.
            let answer = AssertUnwindSafe(|| reader.answer(at, &message.asked, &check_time));
            let answered = catch_unwind(answer);
            if !matches!(answered, Ok(Ok(_))) {
                limit.check()?;
                answers.check()?;
            }
            match answered {
                Ok(Ok(answered)) => message.missing.tell(Ok(answered)),
                Ok(Err(error)) if error.kind() == ErrorKind::Cancelled => {
                    let reason = Some(RefusalReason::TooLate);
                    message.missing.tell(read(message.partition, AskOutcome::NotAnswered { reason }));
                }
                Ok(Err(_)) | Err(_) => left.push(message),
            }
        }
        Ok(left)
    }
}

impl Answers {
    fn new(count: usize) -> Self {
        let answers = (0..count).map(|_| None).collect();
        let (failure, ids) = (None, Vec::new());
        let state = AnswersState { answers, missing: count, failure, ids, is_over: false };
        Self { state: Mutex::new(state), news: Condvar::new() }
    }

    fn fail(&self, error: Error) {
        let mut state = self.state.lock();
        state.failure.get_or_insert(error);
        self.news.notify_one();
    }

    /// Fails once something has failed, as the wait does then.
    ///
    /// # Errors
    /// The same.
    fn check(&self) -> Result<()> {
        match &self.state.lock().failure {
            Some(failure) if !planted(Bug::OwnWorkDeaf) => {
                Err(Error::new(failure.kind(), failure.to_string()))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Something was asked; whether somebody still waits for it.
    fn opened(&self, id: AskId) -> bool {
        let mut state = self.state.lock();
        if state.is_over {
            return false;
        }
        state.ids.push(id);
        true
    }

    /// Waits for all answers, or for the first error.
    ///
    /// # Errors
    /// That; `cancelled` if the limit ends before.
    fn wait(&self, limit: &WaitLimit) -> Result<Vec<Vec<u8>>> {
        let mut state = self.state.lock();
        while state.missing > 0 && state.failure.is_none() {
            limit.check()?;
            (state, _) = self.news.wait_timeout(state, limit.until_next_look(Duration::MAX));
        }
        match state.failure.take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut state.answers).into_iter().flatten().collect()),
        }
    }

    /// Nobody waits any more. The asks that may still be open.
    fn give_up(&self) -> Vec<AskId> {
        let mut state = self.state.lock();
        state.is_over = !planted(Bug::AskedAfterTheEnd);
        std::mem::take(&mut state.ids)
    }
}

impl MissingAnswer {
    fn tell(mut self, answer: Result<Vec<u8>>) {
        self.is_told = true;
        match answer {
            Ok(answered) => {
                let mut state = self.answers.state.lock();
                if let Some(place) = state.answers.get_mut(self.place) {
                    *place = Some(answered);
                    state.missing -= 1;
                }
                // One wake-up for all answers, not one for each.
                if state.missing == 0 {
                    self.answers.news.notify_one();
                }
            }
            Err(error) => self.answers.fail(error),
        }
    }
}

impl Drop for MissingAnswer {
    fn drop(&mut self) {
        if !self.is_told {
            self.answers.fail(not_called(CallError::Ended));
        }
    }
}

impl<N> fmt::Debug for NodeAsker<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("NodeAsker");
        out.field("reader", &self.reader).field("patience", &self.patience);
        out.field("own", &self.own.as_ref().map(|own| &own.partitions)).finish_non_exhaustive()
    }
}

/// What an outcome is to a reader.
fn read(partition: PartitionId, outcome: AskOutcome) -> Result<Vec<u8>> {
    let partition = partition.0;
    match outcome {
        AskOutcome::Answered(answered) => Ok(answered),
        AskOutcome::TooOld => Err(Error::conflict(format!(
            "the transaction began too long ago: what it reads in partition {partition} is not kept any more; run it again"
        ))),
        AskOutcome::OtherLog => Err(Error::new(
            ErrorKind::Io,
            format!("every node that keeps partition {partition} has applied another log than this one"),
        )),
        AskOutcome::NotAnswered { reason } => {
            let why = reason.map_or_else(|| "no node has answered".to_owned(), |reason| reason.to_string());
            Err(Error::new(ErrorKind::Busy, format!("partition {partition} was not read in time: {why}")))
        }
    }
}

fn refused(refusal: AskRefusal) -> Error {
    let kind = match refusal {
        AskRefusal::Full => ErrorKind::Busy,
        AskRefusal::TooLarge => ErrorKind::Limit,
    };
    Error::new(kind, refusal.to_string())
}

fn not_called(error: CallError) -> Error {
    let kind = match error {
        CallError::Full => ErrorKind::Busy,
        CallError::Ended => ErrorKind::Io,
    };
    Error::new(kind, error.to_string())
}

#[cfg(test)]
mod tests;
