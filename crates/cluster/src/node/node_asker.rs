//! Node asker: asks for a reader, through the thread of its node, and waits for all answers.
//!
//! ```text
//! reader ── messages ──> call ──> thread of the node ──> asks, one a message
//!    └── waits <── answers, or the first error ────────────┘        an error: the others are forgotten
//! ```

use crate::digest::SeenLog;
use crate::node::node_thread::{CallError, NodeHandle};
use crate::node::owned_node::AskingNode;
use crate::node::readers::OpenReader;
use crate::remote::asking::{Ask, AskId, AskOutcome, AskRefusal};
use crate::remote::view_asking::PartitionAsker;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::PartitionId;
use evergraph_storage::sync::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Duration;

/// Asks for one snapshot, which is in use for as long as this is there.
#[derive(Debug)]
pub struct NodeAsker<N> {
    node: NodeHandle<N>,
    reader: OpenReader,
    patience: Duration,
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
        Self { node, reader, patience }
    }

    /// The snapshot.
    #[must_use]
    pub fn at(&self) -> SeenLog {
        self.reader.at()
    }
}

impl<N: AskingNode> PartitionAsker for NodeAsker<N> {
    fn ask(&self, messages: Vec<(PartitionId, Vec<u8>)>) -> Result<Vec<Vec<u8>>> {
        let answers = Arc::new(Answers::new(messages.len()));
        let (at, patience, of_call) = (self.reader.at(), self.patience, Arc::clone(&answers));
        // Each is missing already, so that one which is never asked is told, too.
        let missing: Vec<_> = (0..messages.len())
            .map(|place| MissingAnswer { answers: Arc::clone(&answers), place, is_told: false })
            .collect();
        let called = self.node.call(move |node, now| {
            for ((partition, asked), missing) in messages.into_iter().zip(missing) {
                match node.ask(now, Ask { partition, at, patience, asked }) {
                    Ok(id) => {
                        of_call.state.lock().ids.push(id);
                        let tell = move |outcome: AskOutcome| missing.tell(read(partition, outcome));
                        node.when_ended(id, Box::new(tell));
                    }
                    // The others are not asked.
                    Err(refusal) => return missing.tell(Err(refused(refusal))),
                }
            }
        });
        if let Err(error) = called {
            return Err(not_called(error));
        }
        match answers.wait() {
            Ok(answered) => Ok(answered),
            Err((error, ids)) => {
                // If the node does not take it, or has stopped, nothing need be forgotten that does not end by itself.
                let _ = self.node.call(move |node, now| ids.into_iter().for_each(|id| node.forget(now, id)));
                Err(error)
            }
        }
    }
}

impl Answers {
    fn new(count: usize) -> Self {
        let answers = (0..count).map(|_| None).collect();
        let state = AnswersState { answers, missing: count, failure: None, ids: Vec::new() };
        Self { state: Mutex::new(state), news: Condvar::new() }
    }

    fn fail(&self, error: Error) {
        let mut state = self.state.lock();
        state.failure.get_or_insert(error);
        self.news.notify_one();
    }

    /// Waits for all answers, or for the first error; with it come the asks that may still be open.
    fn wait(&self) -> std::result::Result<Vec<Vec<u8>>, (Error, Vec<AskId>)> {
        let mut state = self.state.lock();
        while state.missing > 0 && state.failure.is_none() {
            state = self.news.wait(state);
        }
        match state.failure.take() {
            Some(error) => Err((error, std::mem::take(&mut state.ids))),
            None => Ok(std::mem::take(&mut state.answers).into_iter().flatten().collect()),
        }
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
                self.answers.news.notify_one();
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
mod tests {
    use super::*;
    use crate::log_position::LogPosition;
    use crate::node::node_thread::{NodeBell, NodeStep, NodeThread, ThreadedNode};
    use crate::node::owned_node::AskCallback;
    use crate::node::readers::Readers;
    use crate::remote::question::RefusalReason;
    use evergraph_storage::io::clock::SystemClock;
    use std::collections::BTreeMap;

    /// Answers in the next step: with what was asked, or as the partition says.
    #[derive(Default)]
    struct ToyNode {
        asked: Vec<(AskId, Ask)>,
        callbacks: BTreeMap<AskId, AskCallback>,
        count: u64,
        forgotten: Vec<AskId>,
    }

    const TOO_OLD: PartitionId = PartitionId(90);
    const SILENT: PartitionId = PartitionId(91);
    const FULL: PartitionId = PartitionId(92);
    const STOPS: PartitionId = PartitionId(93);
    const NEVER: PartitionId = PartitionId(94);

    impl ThreadedNode for ToyNode {
        fn step(&mut self, _now: Duration) -> NodeStep {
            for (id, ask) in std::mem::take(&mut self.asked) {
                let outcome = match ask.partition {
                    TOO_OLD => AskOutcome::TooOld,
                    SILENT => AskOutcome::NotAnswered { reason: Some(RefusalReason::NotKept) },
                    NEVER => continue,
                    STOPS => return NodeStep::End,
                    _ => AskOutcome::Answered(ask.asked),
                };
                self.callbacks.remove(&id).unwrap()(outcome);
            }
            NodeStep::Sleep(None)
        }
    }

    impl AskingNode for ToyNode {
        fn ask(&mut self, _now: Duration, ask: Ask) -> std::result::Result<AskId, AskRefusal> {
            assert_eq!((ask.at.position, ask.patience), (LogPosition(7), Duration::from_secs(9)));
            if ask.partition == FULL {
                return Err(AskRefusal::Full);
            }
            self.count += 1;
            self.asked.push((AskId(self.count), ask));
            Ok(AskId(self.count))
        }

        fn when_ended(&mut self, id: AskId, callback: AskCallback) {
            self.callbacks.insert(id, callback);
        }

        fn forget(&mut self, _now: Duration, id: AskId) {
            self.forgotten.push(id);
        }
    }

    fn started() -> (NodeThread<ToyNode>, NodeAsker<ToyNode>) {
        let thread = NodeBell::new().start("toy", Arc::new(SystemClock::new()), ToyNode::default()).unwrap();
        let readers = Readers::new(SeenLog { position: LogPosition(7), ..SeenLog::START });
        readers.joined();
        let asker = NodeAsker::new(thread.handle(), readers.begin().unwrap(), Duration::from_secs(9));
        (thread, asker)
    }

    fn message(partition: PartitionId) -> (PartitionId, Vec<u8>) {
        (partition, vec![partition.0 as u8])
    }

    #[test]
    fn answers_come_in_the_order_of_the_messages() {
        let (_thread, asker) = started();
        let messages: Vec<_> = (0..50).map(|partition| message(PartitionId(partition % 7))).collect();
        let expected: Vec<_> = messages.iter().map(|(_, asked)| asked.clone()).collect();
        assert_eq!(asker.ask(messages).unwrap(), expected);
        assert_eq!(asker.ask(Vec::new()).unwrap(), Vec::<Vec<u8>>::new());
        assert_eq!(asker.at().position, LogPosition(7));
    }

    #[test]
    fn the_first_error_ends_it_and_the_others_are_forgotten() {
        let (thread, asker) = started();
        let kind_of = |partition| {
            let messages = [PartitionId(1), NEVER, partition].map(message).to_vec();
            asker.ask(messages).unwrap_err().kind()
        };
        let kinds = [TOO_OLD, SILENT, FULL].map(kind_of);
        assert_eq!(kinds, [ErrorKind::Conflict, ErrorKind::Busy, ErrorKind::Busy]);
        let (told, forgotten) = std::sync::mpsc::channel();
        let call = move |node: &mut ToyNode, _: Duration| told.send(node.forgotten.clone()).unwrap();
        thread.handle().call(call).unwrap();
        let forgotten: Vec<_> = forgotten.recv().unwrap().into_iter().map(|AskId(id)| id).collect();
        assert_eq!(forgotten, [1, 2, 3, 4, 5, 6, 7, 8], "two of the last were asked");
    }

    #[test]
    fn whoever_waits_learns_that_the_node_has_stopped() {
        let (thread, asker) = started();
        let messages = [PartitionId(1), STOPS, PartitionId(2)].map(message).to_vec();
        assert_eq!(asker.ask(messages).unwrap_err().kind(), ErrorKind::Io);
        drop(thread);
        assert_eq!(asker.ask(vec![message(PartitionId(1))]).unwrap_err().kind(), ErrorKind::Io);
    }
}
