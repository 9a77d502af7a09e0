//! `ServerLog`: a shared log on servers of an engine, as one node uses it, and the thread that waits for them.
//!
//! ```text
//! thread of the node                     thread of the log: tokio
//! append, end, trim ──a task each──────> requests ──> channel ──> any server
//! next_answer <──answer queue, waker────    │
//! read_from ──a task, ends the one before──> message stream ──> channel ──> one server
//! next_message <──bounded queue, waker──    │
//! ```

use crate::log::answer_queue::{AnswerQueue, OpenRequest};
use crate::log::shared_log::{AppendId, EndId, LogAnswer, LogError, LogMessage, SharedLog};
use crate::log_position::LogPosition;
use crate::record::message::MESSAGE_BYTES_MAX;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::task::Waker;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{self, Receiver, Sender};

/// Requests that are not answered yet; a packer has 32 at most. One more is refused.
const REQUESTS_MAX: usize = 256;

/// Messages of a stream that are fetched ahead, beside those of the response that they came in: 1 MiB.
const MESSAGES_AHEAD_MAX: usize = 16;

/// Threads that look names up, which the system does only by waiting.
const LOOKUP_THREADS_MAX: usize = 2;

/// What a stream gives: messages, then the error that ends it.
pub(super) type StreamItem = std::result::Result<LogMessage, LogError>;

/// Servers that keep a log, and how they are asked. Each method is a task; what it returns is the answer.
pub trait LogEngine: fmt::Debug + Send + Sync + 'static {
    /// What people call it; the name of its thread begins so.
    const NAME: &'static str;

    /// Appends a message.
    ///
    /// # Errors
    /// `Unavailable` if it is not in the log and will not be, else `UnknownOutcome`.
    fn append(
        &self,
        message: Arc<[u8]>,
    ) -> impl Future<Output = std::result::Result<LogPosition, LogError>> + Send;

    /// The newest message, or a position behind it.
    ///
    /// # Errors
    /// `Unavailable`, or `BarrierNeeded`.
    fn end(&self) -> impl Future<Output = std::result::Result<LogPosition, LogError>> + Send;

    /// Forgets what lies before `first`.
    ///
    /// # Errors
    /// `Unavailable`; it may be forgotten all the same.
    fn trim(&self, first: LogPosition) -> impl Future<Output = std::result::Result<(), LogError>> + Send;

    /// Reads from `first` on. It ends with an error, which is the last thing that `sender` takes, or when nobody reads any more.
    fn read(
        self: Arc<Self>,
        first: LogPosition,
        seen: LogPosition,
        sender: MessageSender,
    ) -> impl Future<Output = ()> + Send;
}

/// Where the messages of a stream go.
pub struct MessageSender {
    items: Sender<StreamItem>,
    waker: Waker,
}

/// A log on servers of an engine.
///
/// # Concurrency
///
/// One thread owns it. A thread of its own does all waiting, and ends with it; what is under way then may still happen,
/// and nobody learns of it.
pub struct ServerLog<E> {
    /// Taken when it is dropped.
    runtime: Option<Runtime>,
    engine: Arc<E>,
    answers: Arc<AnswerQueue>,
    waker: Waker,
    /// Requests whose answers were not taken yet.
    open: usize,
    stream: Option<Receiver<StreamItem>>,
}

impl<E: LogEngine> ServerLog<E> {
    /// A log whose news wakes `waker`. It waits for nobody: that servers cannot be reached, the answers to requests say.
    ///
    /// # Errors
    /// `io` if the system gives no thread.
    pub(super) fn start(engine: E, waker: Waker) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(LOOKUP_THREADS_MAX)
            .thread_name(format!("{}-log", E::NAME))
            .enable_all()
            .build()
            .map_err(|error| {
                let text = format!("start the thread of a log on {}: {error}", E::NAME);
                Error::new(ErrorKind::Io, text).because(error)
            })?;
        Ok(Self {
            runtime: Some(runtime),
            engine: Arc::new(engine),
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
        ask: impl FnOnce(Arc<E>) -> T,
    ) where
        T: Future<Output = LogAnswer> + Send + 'static,
    {
        self.open += 1;
        let request = OpenRequest::new(Arc::clone(&self.answers), unanswered);
        if self.open > REQUESTS_MAX {
            let reason = format!("{REQUESTS_MAX} requests to {} are under way", E::NAME);
            return request.answer(refused(LogError::Unavailable { reason }));
        }
        let asked = ask(Arc::clone(&self.engine));
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

impl<E: LogEngine> SharedLog for ServerLog<E> {
    fn append(&mut self, id: AppendId, message: Arc<[u8]>) {
        assert!(message.len() <= MESSAGE_BYTES_MAX, "a message of {} bytes is appended", message.len());
        let answer = move |result| LogAnswer::Append { id, result };
        self.request(
            answer(Err(LogError::UnknownOutcome)),
            |error| answer(Err(error)),
            |engine| async move { answer(engine.append(message).await) },
        );
    }

    fn end(&mut self, id: EndId) {
        let answer = move |result| LogAnswer::End { id, result };
        self.request(
            answer(Err(task_ended())),
            |error| answer(Err(error)),
            |engine| async move { answer(engine.end().await) },
        );
    }

    fn trim(&mut self, first: LogPosition) {
        let answer = move |result| LogAnswer::Trim { first, result };
        self.request(
            answer(Err(task_ended())),
            |error| answer(Err(error)),
            |engine| async move { answer(engine.trim(first).await) },
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
        let sender = MessageSender { items, waker: self.waker.clone() };
        self.spawn(Arc::clone(&self.engine).read(first, seen, sender));
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

impl MessageSender {
    /// Waits for room. If nobody reads any more, it is lost.
    pub(super) async fn give(&self, item: StreamItem) {
        if self.items.send(item).await.is_ok() {
            self.waker.wake_by_ref();
        }
    }

    /// Runs `read`, which gives messages, and gives the error that ends it. It is dropped once nobody reads any more.
    pub(super) async fn give_end_of(
        &self,
        read: impl Future<Output = std::result::Result<Infallible, LogError>>,
    ) {
        let error = tokio::select! {
            ended = read => {
                let Err(error) = ended;
                error
            }
            () = self.items.closed() => return,
        };
        self.give(Err(error)).await;
    }
}

impl<E> Drop for ServerLog<E> {
    fn drop(&mut self) {
        // Without waiting: a look-up of a name takes as long as it takes.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl<E: fmt::Debug> fmt::Debug for ServerLog<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("ServerLog");
        out.field("engine", &self.engine).field("open", &self.open).finish_non_exhaustive()
    }
}

impl fmt::Debug for MessageSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageSender").finish_non_exhaustive()
    }
}
