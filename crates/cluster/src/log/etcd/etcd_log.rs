//! `EtcdLog`: a shared log on etcd, as one node uses it, and the thread that waits for it.
//!
//! ```text
//! thread of the node                     thread of the log: tokio
//! append, end, trim ──a task each──────> requests ──> channel ──> etcd, any member
//! next_answer <──answer queue, waker────    │
//! read_from ──a task, ends the one before──> message stream ──> channel ──> etcd, one member
//! next_message <──bounded queue, waker──    │
//! ```

use crate::log::etcd::answer_queue::{AnswerQueue, OpenRequest};
use crate::log::etcd::channel::Channel;
use crate::log::etcd::etcd_cluster::EtcdCluster;
use crate::log::etcd::message_stream::{MessageStream, StreamItem};
use crate::log::etcd::options::EtcdOptions;
use crate::log::etcd::requests::Requests;
use crate::log::shared_log::{AppendId, EndId, LogAnswer, LogError, LogMessage, SharedLog};
use crate::log_position::LogPosition;
use crate::record::message::MESSAGE_BYTES_MAX;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::fmt;
use std::sync::Arc;
use std::task::Waker;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{self, Receiver};

/// Requests that are not answered yet; a packer has 32 at most. One more is refused.
const REQUESTS_MAX: usize = 256;

/// Messages of a stream that are fetched ahead, beside those of the response that they came in: 1 MiB.
const MESSAGES_AHEAD_MAX: usize = 16;

/// Threads that look names up, which the system does only by waiting.
const LOOKUP_THREADS_MAX: usize = 2;

/// A log on etcd: the versions of one key.
///
/// The cluster of etcd is for this log alone. A trim forgets old versions of all of its keys; somebody else's
/// compaction, or `--auto-compaction-retention`, would trim the log. Members are reached directly: behind a proxy
/// nobody would know which member a stream reads from.
///
/// # Concurrency
///
/// One thread owns it. A thread of its own does all waiting, and ends with it; what is under way then may still happen,
/// and nobody learns of it.
pub struct EtcdLog {
    /// Taken when it is dropped.
    runtime: Option<Runtime>,
    cluster: Arc<EtcdCluster>,
    requests: Arc<Requests>,
    streams: Arc<Channel>,
    answers: Arc<AnswerQueue>,
    waker: Waker,
    /// Requests whose answers were not taken yet.
    open: usize,
    stream: Option<Receiver<StreamItem>>,
}

impl EtcdLog {
    /// A log whose news wakes `waker`. It waits for nobody: that etcd cannot be reached, the answers to requests say.
    ///
    /// # Errors
    /// `invalid` for options that cannot work; `not_found`, `io` for files that they name, and if the system gives no
    /// thread.
    pub fn open(options: EtcdOptions, waker: Waker) -> Result<Self> {
        let cluster = Arc::new(EtcdCluster::new(options)?);
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(LOOKUP_THREADS_MAX)
            .thread_name("etcd-log")
            .enable_all()
            .build()
            .map_err(|error| {
                Error::new(ErrorKind::Io, format!("start the thread of a log on etcd: {error}"))
                    .because(error)
            })?;
        Ok(Self {
            runtime: Some(runtime),
            requests: Arc::new(Requests::new(Arc::clone(&cluster))),
            streams: Arc::new(Channel::new(Arc::clone(&cluster))),
            cluster,
            answers: Arc::new(AnswerQueue::new(waker.clone())),
            waker,
            open: 0,
            stream: None,
        })
    }

    /// Begins a request, as a task that `ask` makes of it; refuses it with what `refused` makes of the reason, if too
    /// many are open already. A task that ends early leaves the answer `unanswered`.
    fn request<T>(
        &mut self,
        unanswered: LogAnswer,
        refused: impl FnOnce(LogError) -> LogAnswer,
        ask: impl FnOnce(Arc<Requests>) -> T,
    ) where
        T: Future<Output = LogAnswer> + Send + 'static,
    {
        self.open += 1;
        let request = OpenRequest::new(Arc::clone(&self.answers), unanswered);
        if self.open > REQUESTS_MAX {
            let reason = format!("{REQUESTS_MAX} requests to etcd are under way");
            return request.answer(refused(LogError::Unavailable { reason }));
        }
        let asked = ask(Arc::clone(&self.requests));
        self.spawn(async move { request.answer(asked.await) });
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            drop(runtime.spawn(task));
        }
    }
}

fn task_ended() -> LogError {
    LogError::Unavailable { reason: "the thread of the log ended".to_owned() }
}

impl SharedLog for EtcdLog {
    fn append(&mut self, id: AppendId, message: Arc<[u8]>) {
        assert!(message.len() <= MESSAGE_BYTES_MAX, "a message of {} bytes is appended", message.len());
        let answer = move |result| LogAnswer::Append { id, result };
        self.request(
            answer(Err(LogError::UnknownOutcome)),
            |error| answer(Err(error)),
            |requests| async move { answer(requests.append(message).await) },
        );
    }

    fn end(&mut self, id: EndId) {
        let answer = move |result| LogAnswer::End { id, result };
        self.request(
            answer(Err(task_ended())),
            |error| answer(Err(error)),
            |requests| async move { answer(requests.end().await) },
        );
    }

    fn trim(&mut self, first: LogPosition) {
        let answer = move |result| LogAnswer::Trim { first, result };
        self.request(
            answer(Err(task_ended())),
            |error| answer(Err(error)),
            |requests| async move { answer(requests.trim(first).await) },
        );
    }

    fn next_answer(&mut self) -> Option<LogAnswer> {
        let answer = self.answers.pop()?;
        self.open -= 1;
        Some(answer)
    }

    fn read_from(&mut self, first: LogPosition, seen: LogPosition) {
        let (items, stream) = mpsc::channel(MESSAGES_AHEAD_MAX);
        // The task of the stream before notices that nobody reads it.
        self.stream = Some(stream);
        let task = MessageStream {
            cluster: Arc::clone(&self.cluster),
            channel: Arc::clone(&self.streams),
            first,
            seen,
            items,
            waker: self.waker.clone(),
        };
        self.spawn(task.run());
    }

    fn next_message(&mut self) -> std::result::Result<Option<LogMessage>, LogError> {
        let Some(stream) = &mut self.stream else { return Ok(None) };
        let error = match stream.try_recv() {
            Ok(Ok(message)) => return Ok(Some(message)),
            Err(TryRecvError::Empty) => return Ok(None),
            Ok(Err(error)) => error,
            Err(TryRecvError::Disconnected) => task_ended(),
        };
        self.stream = None;
        Err(error)
    }
}

impl Drop for EtcdLog {
    fn drop(&mut self) {
        // Without waiting: a look-up of a name takes as long as it takes.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for EtcdLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoints: Vec<String> = self.cluster.endpoints().iter().map(ToString::to_string).collect();
        f.debug_struct("EtcdLog")
            .field("endpoints", &endpoints)
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}
