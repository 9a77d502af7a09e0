//! Answering: what a node does with questions of others, from when they come until their answers go.
//!
//! ```text
//! question ──admission──> now ──> partition proved? ──> work ──> answer or refusal ──> outbox
//!                │                       │ no: not kept          ▲
//!                ├──> later: waits       └──────── refusal ──────┤   meanwhile S is in use here:
//!                └──> never: refusal ────────────────────────────┘   merges do not pass it
//! ```
//!
//! - A question that comes again while it waits or is being answered is dropped: it is answered once.
//! - Nothing is done for whoever waits no longer: at the end of the asker's patience, and when it forgets the question, work
//!   is told to stop, and what it still answers is dropped.
//! - Work is limited: more questions at once are refused as busy, so that their askers go elsewhere.
//! - A partition that has failed, or lacks something, is not kept as far as questions go: another copy answers.
//!
//! What is asked and answered are bytes here. [`AnswerQuestions`] knows what they mean, and has the threads.

use crate::digest::{DigestWindow, SeenLog};
use crate::log::shared_log::SharedLog;
use crate::log_position::LogPosition;
use crate::node::apply::Applier;
use crate::node::node_loop::NodeLoop;
use crate::node::partition_store::PartitionStore;
use crate::node::readers::{OpenReader, Readers};
use crate::record_id::{Author, NodeId};
use crate::remote::admission::{Admitted, ReadableLog, WaitingLimits, WaitingQuestions};
use crate::remote::question::{
    Answer, CONTENT_BYTES_MAX, Question, QuestionId, QuestionRefusal, RefusalReason,
};
use crate::tables::cluster_tables::ClusterTables;
use crate::transport::frame::Frame;
use evergraph_graph::id::PartitionId;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What a node may answer from.
pub trait ServedPartitions {
    /// The store of a partition.
    type Store;

    /// The log that the node has applied, as far back as it remembers it.
    fn applied(&self) -> &DigestWindow;

    /// Members, places and the rest of what follows from that log.
    fn tables(&self) -> &ClusterTables;

    /// The store of a partition, in which a snapshot may begin at the end of any message that the node has applied; `None` if it
    /// answers nothing, as [`Applier::proved`] has it.
    fn proved(&mut self, partition: PartitionId) -> Option<&Self::Store>;

    /// The first message of the log that the node needs, should it start from its newest checkpoint.
    fn needed_from(&self) -> LogPosition;

    /// Whether this process has joined as `author`. The table of members alone cannot tell it from another process that has
    /// joined as the same: an owner that knows which record it joined by says so.
    fn has_joined(&self, author: Author) -> bool {
        self.tables().members().is_current(author)
    }
}

/// Answers questions about the partitions of a node, whose stores are `P`.
///
/// # Concurrency
///
/// Its methods are called by the thread of the node and do not wait. Whoever has threads that work hands questions to them, takes
/// what they answer out of a queue, and wakes the thread of the node.
pub trait AnswerQuestions<P> {
    /// Begins to answer. Whatever is read from `store` is read at the end of the message `question.at`: a snapshot there can be
    /// taken now, and at any later time until the question is answered. A store that was opened or copied later than that
    /// refuses it as a conflict: the answer is [`RefusalReason::TooOld`] then, and another copy is asked.
    ///
    /// Each question is answered once, or refused, even if it is forgotten meanwhile.
    fn begin(&mut self, store: &P, question: AskedQuestion);

    /// Nobody waits for the answer any more: work on it may stop.
    fn forget(&mut self, id: QuestionId);

    /// The next question that is answered, or why it is not; `None` if there is none yet.
    fn next_answer(&mut self) -> Option<(QuestionId, Result<Vec<u8>, RefusalReason>)>;
}

/// A question that is being answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AskedQuestion {
    /// Which one.
    pub id: QuestionId,
    /// The partition that it is about.
    pub partition: PartitionId,
    /// The snapshot: everything through this message.
    pub at: SeenLog,
    /// Until when its asker waits.
    pub ends_at: Duration,
    /// What is asked.
    pub asked: Vec<u8>,
}

/// How much a node answers at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnsweringLimits {
    /// Questions that wait for more of the log.
    pub waiting: WaitingLimits,
    /// Questions that are being answered.
    pub working_max: usize,
    /// The longest patience of an asker that counts.
    pub patience_max: Duration,
}

impl Default for AnsweringLimits {
    fn default() -> Self {
        let patience_max = Duration::from_secs(3600);
        Self { waiting: WaitingLimits::default(), working_max: 1024, patience_max }
    }
}

/// What became of questions, by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AnsweringCounts {
    /// They were answered.
    pub answered: u64,
    /// The partition is not kept, or not proved.
    pub not_kept: u64,
    /// Their askers had applied another log.
    pub other_log: u64,
    /// Their snapshots were merged away.
    pub too_old: u64,
    /// Too many waited, or were being answered, or frames to the asker.
    pub busy: u64,
    /// The partition or the work failed.
    pub failed: u64,
    /// Nobody waited for them any more.
    pub dropped: u64,
}

/// A frame that answers, or refuses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// To whom it goes.
    pub to: NodeId,
    /// The frame.
    pub frame: Frame,
    /// Until when its asker waits.
    pub ends_at: Duration,
}

/// The questions that a node was asked.
#[derive(Debug)]
pub struct Answering<A> {
    limits: AnsweringLimits,
    readers: Readers,
    waiting: WaitingQuestions,
    work: A,
    /// Questions that wait or are being answered.
    taken: BTreeMap<QuestionId, TakenQuestion>,
    /// When their askers' patience ends.
    ends: BTreeSet<(Duration, QuestionId)>,
    working: usize,
    counts: AnsweringCounts,
}

#[derive(Debug)]
struct TakenQuestion {
    ends_at: Duration,
    /// While it is being answered: its snapshot is in use.
    reader: Option<OpenReader>,
    is_forgotten: bool,
}

impl<A> Answering<A> {
    /// On a node with these readers, by `work`.
    #[must_use]
    pub fn new(limits: AnsweringLimits, readers: Readers, work: A) -> Self {
        Self {
            waiting: WaitingQuestions::new(limits.waiting),
            limits,
            readers,
            work,
            taken: BTreeMap::new(),
            ends: BTreeSet::new(),
            working: 0,
            counts: AnsweringCounts::default(),
        }
    }

    /// A question came at `now` from the node that asks it. `log` is what `node` has applied.
    pub fn take<N>(
        &mut self,
        now: Duration,
        mut question: Question,
        log: &ReadableLog<'_>,
        node: &mut N,
        replies: &mut Vec<Reply>,
    ) where
        N: ServedPartitions + ?Sized,
        A: AnswerQuestions<N::Store>,
    {
        let id = question.id;
        if self.taken.contains_key(&id) {
            return;
        }
        question.patience = question.patience.min(self.limits.patience_max);
        let ends_at = now.saturating_add(question.patience);
        self.taken.insert(id, TakenQuestion { ends_at, reader: None, is_forgotten: false });
        self.ends.insert((ends_at, id));
        if let Some(admitted) = self.waiting.take(now, question, log) {
            self.go_on(admitted, node, replies);
        }
    }

    /// A question came from a node to which nothing more can be sent: it is refused at once.
    pub fn refuse_as_busy(&mut self, now: Duration, question: &Question, replies: &mut Vec<Reply>) {
        let ends_at = now.saturating_add(question.patience.min(self.limits.patience_max));
        self.refuse(question.id, ends_at, RefusalReason::Busy, replies);
    }

    /// The node `from` does not wait for an answer any more. Nobody forgets a question of another node.
    pub fn forget<P>(&mut self, from: NodeId, id: QuestionId)
    where
        A: AnswerQuestions<P>,
    {
        if id.asker.node != from {
            return;
        }
        if self.waiting.forget(from, id).is_some() {
            self.drop_taken(id);
            self.counts.dropped += 1;
        } else if let Some(taken) = self.taken.get_mut(&id).filter(|taken| taken.reader.is_some())
            && !std::mem::replace(&mut taken.is_forgotten, true)
        {
            self.work.forget(id);
        }
    }

    /// Goes on with what waits, and takes what was answered.
    pub fn step<N>(&mut self, now: Duration, log: &ReadableLog<'_>, node: &mut N, replies: &mut Vec<Reply>)
    where
        N: ServedPartitions + ?Sized,
        A: AnswerQuestions<N::Store>,
    {
        for admitted in self.waiting.next(now, log) {
            self.go_on(admitted, node, replies);
        }
        while let Some((ends_at, id)) = self.ends.first().copied().filter(|(ends_at, _)| *ends_at <= now) {
            self.ends.remove(&(ends_at, id));
            // Those that wait end above.
            if let Some(taken) = self.taken.get_mut(&id).filter(|taken| taken.reader.is_some())
                && !std::mem::replace(&mut taken.is_forgotten, true)
            {
                self.work.forget(id);
            }
        }
        while let Some((id, result)) = self.work.next_answer() {
            self.worked(id, result, replies);
        }
    }

    /// When the next asker loses its patience.
    #[must_use]
    pub fn next_step_at(&self) -> Option<Duration> {
        self.ends.first().map(|(ends_at, _)| *ends_at)
    }

    /// What became of questions so far.
    #[must_use]
    pub fn counts(&self) -> AnsweringCounts {
        self.counts
    }

    /// Questions that wait for more of the log, and those that are being answered.
    #[must_use]
    pub fn open(&self) -> (usize, usize) {
        (self.waiting.count(), self.working)
    }

    /// Who answers.
    pub fn work_mut(&mut self) -> &mut A {
        &mut self.work
    }

    /// A question waits no longer.
    fn go_on<N>(&mut self, admitted: Admitted, node: &mut N, replies: &mut Vec<Reply>)
    where
        N: ServedPartitions + ?Sized,
        A: AnswerQuestions<N::Store>,
    {
        let (id, reason) = match admitted {
            Admitted::Now(question) => match self.begin(question, node) {
                Ok(()) => return,
                Err(refused) => refused,
            },
            Admitted::Refused(question, reason) => (question.id, reason),
        };
        let ends_at = self.drop_taken(id);
        match reason {
            // Its asker has given up.
            RefusalReason::TooLate => self.counts.dropped += 1,
            reason => self.refuse(id, ends_at, reason, replies),
        }
    }

    /// Begins to answer, or says why not.
    fn begin<N>(&mut self, question: Question, node: &mut N) -> Result<(), (QuestionId, RefusalReason)>
    where
        N: ServedPartitions + ?Sized,
        A: AnswerQuestions<N::Store>,
    {
        let Question { id, partition, at, asked, .. } = question;
        if self.working >= self.limits.working_max {
            return Err((id, RefusalReason::Busy));
        }
        let Some(store) = node.proved(partition) else { return Err((id, RefusalReason::NotKept)) };
        let Some(taken) = self.taken.get_mut(&id) else { return Ok(()) };
        let Some(reader) = self.readers.begin_answer(at) else { return Err((id, RefusalReason::TooOld)) };
        taken.reader = Some(reader);
        self.working += 1;
        let ends_at = taken.ends_at;
        self.work.begin(store, AskedQuestion { id, partition, at, ends_at, asked });
        Ok(())
    }

    /// Work on a question has ended. From here on its snapshot is not in use any more.
    fn worked(&mut self, id: QuestionId, result: Result<Vec<u8>, RefusalReason>, replies: &mut Vec<Reply>) {
        let Some(taken) = self.taken.get(&id).filter(|taken| taken.reader.is_some()) else { return };
        let is_forgotten = taken.is_forgotten;
        self.working -= 1;
        let ends_at = self.drop_taken(id);
        if is_forgotten {
            self.counts.dropped += 1;
            return;
        }
        match result {
            Ok(answered) if answered.len() <= CONTENT_BYTES_MAX => {
                self.counts.answered += 1;
                let frame = Frame::Answer(Answer { id, answered });
                replies.push(Reply { to: id.asker.node, frame, ends_at });
            }
            Ok(answered) => {
                let reason = format!("an answer of {} bytes is too large", answered.len());
                self.refuse(id, ends_at, RefusalReason::Failed { reason }, replies);
            }
            Err(reason) => self.refuse(id, ends_at, reason, replies),
        }
    }

    fn refuse(&mut self, id: QuestionId, ends_at: Duration, reason: RefusalReason, replies: &mut Vec<Reply>) {
        let counts = &mut self.counts;
        let count = match reason {
            RefusalReason::NotKept => &mut counts.not_kept,
            RefusalReason::OtherLog => &mut counts.other_log,
            RefusalReason::TooOld => &mut counts.too_old,
            RefusalReason::Busy => &mut counts.busy,
            _ => &mut counts.failed,
        };
        *count += 1;
        let frame = Frame::Refusal(QuestionRefusal { id, reason });
        replies.push(Reply { to: id.asker.node, frame, ends_at });
    }

    /// Takes a question out. Returns when its asker's patience ends.
    fn drop_taken(&mut self, id: QuestionId) -> Duration {
        let ends_at = self.taken.remove(&id).map_or(Duration::ZERO, |taken| taken.ends_at);
        self.ends.remove(&(ends_at, id));
        ends_at
    }
}

impl<P: PartitionStore> ServedPartitions for Applier<P> {
    type Store = P;

    fn applied(&self) -> &DigestWindow {
        self.state().certifier().digests()
    }

    fn tables(&self) -> &ClusterTables {
        self.state().tables()
    }

    fn proved(&mut self, partition: PartitionId) -> Option<&P> {
        Self::proved(self, partition)
    }

    fn needed_from(&self) -> LogPosition {
        Self::needed_from(self)
    }
}

impl<P: PartitionStore, L: SharedLog> ServedPartitions for NodeLoop<P, L> {
    type Store = P;

    fn applied(&self) -> &DigestWindow {
        self.applier().state().certifier().digests()
    }

    fn tables(&self) -> &ClusterTables {
        self.applier().state().tables()
    }

    fn proved(&mut self, partition: PartitionId) -> Option<&P> {
        Self::proved(self, partition)
    }

    fn needed_from(&self) -> LogPosition {
        self.applier().needed_from()
    }

    fn has_joined(&self, _author: Author) -> bool {
        self.is_member()
    }
}

#[cfg(test)]
mod tests;
