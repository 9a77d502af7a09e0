//! Node asker: asks for a reader, through the thread of its node, and waits for all answers.
//!
//! ```text
//! reader ── messages ──> call ──> thread of the node ──> asks, one a message; one frame a node
//!    ├── answers those about partitions of its node, meanwhile; what it cannot goes to that thread, too
//!    └── waits <── answers, or the first error ────────────┘        an error: the others are forgotten
//! ```

use crate::digest::SeenLog;
use crate::node::node_thread::{CallError, NodeHandle};
use crate::node::own_partitions::{OwnPartitions, PartitionReader};
use crate::node::owned_node::AskingNode;
use crate::node::readers::OpenReader;
use crate::node::shared_tables::TablesMoment;
use crate::remote::asking::{Ask, AskId, AskOutcome, AskRefusal};
use crate::remote::question::RefusalReason;
use crate::remote::view_asking::PartitionAsker;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::PartitionId;
use evergraph_storage::io::clock::Clock;
use evergraph_storage::sync::{Condvar, Mutex};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Asks for one snapshot, which is in use for as long as this is there.
pub struct NodeAsker<N> {
    node: NodeHandle<N>,
    reader: OpenReader,
    patience: Duration,
    own: Option<OwnReads>,
}

/// How the partitions of the node are read without its thread.
struct OwnReads {
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
        Self { node, reader, patience, own: None }
    }

    /// Reads the partitions of the node in the thread that asks, where that is possible, if the reader begins at `moment`: then
    /// it reads the log that they are of. `clock` measures its patience.
    #[must_use]
    pub fn beside(mut self, partitions: OwnPartitions, moment: &TablesMoment, clock: Arc<dyn Clock>) -> Self {
        self.own = (moment.seen() == self.reader.at()).then_some(OwnReads { partitions, clock });
        self
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
        // Other nodes work meanwhile.
        let asked = self.ask_node(&answers, others).and_then(|()| {
            let left = self.answer_own(own);
            self.ask_node(&answers, left)
        });
        let waited = match asked {
            Ok(()) => answers.wait(),
            Err(error) => Err((error, answers.open_asks())),
        };
        waited.map_err(|(error, ids)| {
            // If the node does not take it, or has stopped, nothing need be forgotten that does not end by itself.
            let _ = self.node.call(move |node, now| ids.into_iter().for_each(|id| node.forget(now, id)));
            error
        })
    }
}

impl<N: AskingNode> NodeAsker<N> {
    fn own_reader(&self, partition: PartitionId) -> Option<Arc<dyn PartitionReader>> {
        self.own.as_ref()?.partitions.reader(partition, self.reader.at().position)
    }

    /// Has the thread of the node ask, one message after the other.
    fn ask_node(&self, answers: &Arc<Answers>, messages: Vec<OpenMessage>) -> Result<()> {
        if messages.is_empty() {
            return Ok(());
        }
        let (at, patience, of_call) = (self.reader.at(), self.patience, Arc::clone(answers));
        let called = self.node.call(move |node, now| {
            for OpenMessage { partition, asked, missing } in messages {
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
        called.map_err(not_called)
    }

    /// Answers messages about own partitions in this thread. Returns those that it could not answer: the thread of the node
    /// waits for the log, or asks another copy.
    fn answer_own(&self, messages: Vec<(Arc<dyn PartitionReader>, OpenMessage)>) -> Vec<OpenMessage> {
        let Some(OwnReads { clock, .. }) = &self.own else { return Vec::new() };
        let (at, ends_at) = (self.reader.at().position, clock.now().saturating_add(self.patience));
        let check_time = || match clock.now() < ends_at {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Cancelled, "the reader waits no longer")),
        };
        let mut left = Vec::new();
        for (reader, message) in messages {
            match reader.answer(at, &message.asked, &check_time) {
                Ok(answered) => message.missing.tell(Ok(answered)),
                Err(error) if error.kind() == ErrorKind::Cancelled => {
                    let reason = Some(RefusalReason::TooLate);
                    message.missing.tell(read(message.partition, AskOutcome::NotAnswered { reason }));
                }
                Err(_) => left.push(message),
            }
        }
        left
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

    /// The asks that may still be open.
    fn open_asks(&self) -> Vec<AskId> {
        std::mem::take(&mut self.state.lock().ids)
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
mod tests {
    use super::*;
    use crate::log_position::LogPosition;
    use crate::node::node_thread::{NodeBell, NodeStep, NodeThread, ThreadedNode};
    use crate::node::owned_node::AskCallback;
    use crate::node::readers::Readers;
    use evergraph_storage::io::clock::SystemClock;
    use evergraph_storage::snapshot::index_entries::CheckTime;
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

    /// Says where it reads and what was asked, or refuses.
    struct OwnReader(Option<ErrorKind>);

    impl PartitionReader for OwnReader {
        fn answer(&self, at: LogPosition, asked: &[u8], check_time: CheckTime<'_>) -> Result<Vec<u8>> {
            check_time()?;
            match self.0 {
                Some(kind) => Err(Error::new(kind, "not here")),
                None => Ok([&[at.0 as u8], asked].concat()),
            }
        }
    }

    #[test]
    fn own_partitions_are_read_without_the_thread_and_what_fails_there_goes_to_it() {
        let (thread, mut asker) = started();
        let readers = [(1, None), (2, Some(ErrorKind::Conflict)), (3, Some(ErrorKind::Busy))];
        let readers = readers.map(|(partition, refusal)| {
            (PartitionId(partition), Arc::new(OwnReader(refusal)) as Arc<dyn PartitionReader>)
        });
        let partitions = OwnPartitions::of(LogPosition(7), readers.clone());
        asker.own = Some(OwnReads { partitions, clock: Arc::new(SystemClock::new()) });
        let ask = |asker: &NodeAsker<ToyNode>, partitions: &[u16]| {
            asker.ask(partitions.iter().map(|partition| message(PartitionId(*partition))).collect())
        };
        let answers = ask(&asker, &[5, 1, 2, 1, 3]).unwrap();
        assert_eq!(answers, [vec![5], vec![7, 1], vec![2], vec![7, 1], vec![3]]);
        let (told, asked) = std::sync::mpsc::channel();
        let call = move |node: &mut ToyNode, _: Duration| told.send(node.count).unwrap();
        thread.handle().call(call).unwrap();
        assert_eq!(asked.recv().unwrap(), 3, "two are answered here");
        // A failure elsewhere ends it all the same.
        assert_eq!(ask(&asker, &[1, TOO_OLD.0]).unwrap_err().kind(), ErrorKind::Conflict);
        // The node has not applied as much.
        let partitions = OwnPartitions::of(LogPosition(6), readers.clone());
        asker.own = Some(OwnReads { partitions, clock: Arc::new(SystemClock::new()) });
        assert_eq!(ask(&asker, &[1]).unwrap(), [[1]]);
        // Whoever waits no longer is told so.
        let partitions = OwnPartitions::of(LogPosition(7), readers);
        asker.own = Some(OwnReads { partitions, clock: Arc::new(SystemClock::new()) });
        asker.patience = Duration::ZERO;
        assert_eq!(ask(&asker, &[1]).unwrap_err().kind(), ErrorKind::Busy);
        asker.patience = Duration::from_secs(9);
        // What needs nobody else needs no thread.
        drop(thread);
        assert_eq!(ask(&asker, &[1]).unwrap(), [[7, 1]]);
        assert_eq!(ask(&asker, &[1, 2]).unwrap_err().kind(), ErrorKind::Io);
    }
}
