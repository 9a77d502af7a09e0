//! Checkpoint writer: the thread that makes the checkpoints of a node.
//!
//! ```text
//! writer              call: begin ──> waits ──> sync, write, rename ──> call: end      every 30 s, or when somebody asks
//! thread of the node        └── at C ──┘              applies on                └──> the log is trimmed
//! ```
//!
//! A checkpoint is made if something was applied since the last one, or a partition kept or given up. If not, the log is trimmed
//! all the same: other nodes may need less of it by now. One that fails is told ([`NodeListener::checkpoint_ended`]) and tried
//! again after a while; until then the log is kept for the one before.
//!
//! Partitions make checkpoints of their own, by their stores' rules ([`crate::node::store_steps`]): nothing here waits for them.
//!
//! [`NodeListener::checkpoint_ended`]: crate::node::owned_node::NodeListener::checkpoint_ended

use crate::log::shared_log::SharedLog;
use crate::log_position::LogPosition;
use crate::node::answering::AnswerQuestions;
use crate::node::checkpoint_steps::{BegunCheckpoint, SaveError, WrittenCheckpoint};
use crate::node::node_thread::{CallError, NodeHandle, ThreadedNode};
use crate::node::own_partitions::ReadableStore;
use crate::node::owned_node::{MergingStore, OwnedNode};
use crate::node::partition_store::{PartitionStore, PartitionSync};
use crate::transport::interface::Transport;
use evergraph_graph::error::{Error, ErrorKind, Result as GraphResult};
use evergraph_storage::io::clock::Clock;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::sync::thread::{JoinHandle, spawn};
use evergraph_storage::sync::{Condvar, Mutex};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// When a node is called again that had too many calls.
const CALL_RETRY_WAIT: Duration = Duration::from_millis(10);

/// When checkpoints are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckpointOptions {
    /// From the end of one to the next, if something was applied since. A start applies the log of about so long again. Default:
    /// 30 seconds.
    pub interval: Duration,
    /// From one that failed to the next. Default: 10 seconds.
    pub retry_wait: Duration,
}

impl Default for CheckpointOptions {
    fn default() -> Self {
        Self { interval: Duration::from_secs(30), retry_wait: Duration::from_secs(10) }
    }
}

/// A node whose checkpoints are written beside its thread.
pub trait CheckpointedNode: ThreadedNode {
    /// Makes a partition durable.
    type PendingSync: PartitionSync + Send + 'static;

    /// Whether the newest checkpoint lacks something. If not, the log is trimmed as far as other nodes allow by now.
    fn has_unsaved(&mut self) -> bool;

    /// As [`OwnedNode::begin_checkpoint`].
    ///
    /// # Errors
    /// As there.
    fn begin_checkpoint(&mut self, now: Duration) -> Result<BegunCheckpoint<Self::PendingSync>, SaveError>;

    /// As [`OwnedNode::end_checkpoint`].
    ///
    /// # Errors
    /// As there.
    fn end_checkpoint(
        &mut self,
        now: Duration,
        result: Result<WrittenCheckpoint, SaveError>,
    ) -> Result<LogPosition, SaveError>;
}

impl<P, L, T, A> CheckpointedNode for OwnedNode<P, L, T, A>
where
    P: PartitionStore<PendingSync: Send + 'static> + MergingStore + ReadableStore + Send + 'static,
    L: SharedLog + Send + 'static,
    T: Transport + Send + 'static,
    A: AnswerQuestions<P> + Send + 'static,
{
    type PendingSync = P::PendingSync;

    fn has_unsaved(&mut self) -> bool {
        let has_unsaved = self.node().applier().has_unsaved();
        if !has_unsaved {
            self.trim_log();
        }
        has_unsaved
    }

    fn begin_checkpoint(&mut self, now: Duration) -> Result<BegunCheckpoint<P::PendingSync>, SaveError> {
        Self::begin_checkpoint(self, now)
    }

    fn end_checkpoint(
        &mut self,
        now: Duration,
        result: Result<WrittenCheckpoint, SaveError>,
    ) -> Result<LogPosition, SaveError> {
        Self::end_checkpoint(self, now, result)
    }
}

/// Makes the checkpoints of a node in a thread. Dropped, it ends the thread, and waits for a checkpoint that is being written:
/// not in the thread of the node, which that needs.
#[derive(Debug)]
pub struct CheckpointWriter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Hears how a checkpoint ended that was asked for.
type CheckpointCallback = Sender<Result<LogPosition, FailedCheckpoint>>;

/// # Concurrency
///
/// The lock orders requests and the end with the sleep of the thread. Nothing is done inside.
struct Shared {
    clock: Arc<dyn Clock>,
    state: Mutex<WriterState>,
    news: Condvar,
}

#[derive(Default)]
struct WriterState {
    requests: Vec<CheckpointCallback>,
    has_ended: bool,
}

/// Why there is no checkpoint, for everybody who waits for it.
#[derive(Clone)]
struct FailedCheckpoint {
    kind: ErrorKind,
    text: String,
}

/// Why one is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CheckpointReason {
    /// It is time.
    Due,
    /// Somebody waits for it.
    Asked,
}

impl CheckpointWriter {
    /// Makes checkpoints of `node` in `directory`, where its next start looks for them, in the thread `name`.
    ///
    /// # Errors
    /// What the system says if it has no thread to give.
    pub fn start<N: CheckpointedNode>(
        name: &str,
        node: NodeHandle<N>,
        directory: Arc<dyn Directory>,
        options: CheckpointOptions,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared { clock, state: Mutex::default(), news: Condvar::new() });
        let of_thread = EndedWriter(Arc::clone(&shared));
        let thread = spawn(name, move || run(&of_thread.0, &node, &*directory, options))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Makes a checkpoint of everything that was applied when this was called, or more, and waits for it. Returns the newest
    /// message that it has.
    ///
    /// # Errors
    /// As those of [`SaveError`]: the checkpoint before is in place. `busy` if the node has too much to do; `invalid` if it has
    /// stopped.
    pub fn checkpoint(&self) -> GraphResult<LogPosition> {
        let (told, ended) = channel();
        self.shared.ask(told);
        match ended.recv() {
            Ok(outcome) => outcome.map_err(|FailedCheckpoint { kind, text }| Error::new(kind, text)),
            // Nobody is left who would tell.
            Err(_) => Err(Error::invalid(CallError::Ended.to_string())),
        }
    }
}

impl Drop for CheckpointWriter {
    fn drop(&mut self) {
        self.shared.end();
        // One that panicked has ended, too.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Says that the thread has ended, also if it panics.
struct EndedWriter(Arc<Shared>);

impl Drop for EndedWriter {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Shared {
    /// Dropped, the callback tells that the writer has ended.
    fn ask(&self, callback: CheckpointCallback) {
        let mut state = self.state.lock();
        if !state.has_ended {
            state.requests.push(callback);
            self.news.notify_one();
        }
    }

    /// Waits until `due_at`, or until somebody asks; `None` at the end.
    fn wait(&self, due_at: Duration) -> Option<Vec<CheckpointCallback>> {
        let mut state = self.state.lock();
        loop {
            let wait = due_at.saturating_sub(self.clock.now());
            if state.has_ended {
                return None;
            }
            if wait.is_zero() || !state.requests.is_empty() {
                return Some(std::mem::take(&mut state.requests));
            }
            (state, _) = self.news.wait_timeout(state, wait);
        }
    }

    /// Waits a moment. Whether the writer goes on.
    fn pause(&self) -> bool {
        let (state, _) = self.news.wait_timeout(self.state.lock(), CALL_RETRY_WAIT);
        !state.has_ended
    }

    fn end(&self) {
        let mut state = self.state.lock();
        state.has_ended = true;
        state.requests.clear();
        self.news.notify_one();
    }
}

fn run<N: CheckpointedNode>(
    shared: &Shared,
    node: &NodeHandle<N>,
    directory: &dyn Directory,
    options: CheckpointOptions,
) {
    let mut due_at = shared.clock.now() + options.interval;
    while let Some(requests) = shared.wait(due_at) {
        let reason = if requests.is_empty() { CheckpointReason::Due } else { CheckpointReason::Asked };
        let made = match begin(node, reason) {
            Begun::Yes(begun) => end(shared, node, begun.write(directory)),
            Begun::Unneeded => None,
            Begun::No(failed) => Some(Err(failed)),
            Begun::NodeEnded => return,
        };
        let has_failed = matches!(made, Some(Err(_)));
        due_at = shared.clock.now() + if has_failed { options.retry_wait } else { options.interval };
        let Some(outcome) = made else { continue };
        for request in requests {
            // Whoever waited may have gone.
            let _ = request.send(outcome.clone());
        }
    }
}

/// What came of a begin.
enum Begun<S> {
    Yes(Box<BegunCheckpoint<S>>),
    /// The newest checkpoint has everything.
    Unneeded,
    No(FailedCheckpoint),
    NodeEnded,
}

fn begin<N: CheckpointedNode>(node: &NodeHandle<N>, reason: CheckpointReason) -> Begun<N::PendingSync> {
    let begin = move |node: &mut N, now: Duration| {
        if !node.has_unsaved() && reason == CheckpointReason::Due {
            return Begun::Unneeded;
        }
        match node.begin_checkpoint(now) {
            Ok(begun) => Begun::Yes(Box::new(begun)),
            Err(error) => Begun::No(failed(error)),
        }
    };
    match call(node, begin) {
        Ok(begun) => begun,
        Err(CallError::Ended) => Begun::NodeEnded,
        Err(CallError::Full) => Begun::No(failed(Error::new(ErrorKind::Busy, CallError::Full.to_string()))),
    }
}

/// Tells the node how a checkpoint ended. `None` if it has ended itself.
fn end<N: CheckpointedNode>(
    shared: &Shared,
    node: &NodeHandle<N>,
    written: Result<WrittenCheckpoint, SaveError>,
) -> Option<Result<LogPosition, FailedCheckpoint>> {
    // A call that is not taken is dropped with what it holds.
    let written = Arc::new(Mutex::new(Some(written)));
    loop {
        let of_call = Arc::clone(&written);
        let end = move |node: &mut N, now: Duration| {
            let written = of_call.lock().take()?;
            Some(node.end_checkpoint(now, written))
        };
        match call(node, end) {
            Ok(ended) => return ended.map(|ended| ended.map_err(failed)),
            // It does what it has before each step, and has room then.
            Err(CallError::Full) if shared.pause() => {}
            Err(CallError::Full | CallError::Ended) => return None,
        }
    }
}

/// Has the node do something, and waits for what comes of it.
fn call<N: CheckpointedNode, T: Send + 'static>(
    node: &NodeHandle<N>,
    call: impl FnOnce(&mut N, Duration) -> T + Send + 'static,
) -> Result<T, CallError> {
    let (told, done) = channel();
    node.call(move |node, now| {
        // The writer waits, unless it panics.
        let _ = told.send(call(node, now));
    })?;
    done.recv().map_err(|_| CallError::Ended)
}

fn failed(error: impl Into<Error>) -> FailedCheckpoint {
    let error = error.into();
    FailedCheckpoint { kind: error.kind(), text: error.to_string() }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        f.debug_struct("Shared")
            .field("requests", &state.requests.len())
            .field("has_ended", &state.has_ended)
            .finish_non_exhaustive()
    }
}
