//! Keep-alive: in which phase a connection by HTTP is, and when it is cut.
//!
//! ```text
//!          head is whole           response begins              it is sent
//! Head ──────────────────> Working ───────────────> Answering ─────────────> Idle
//!  ^                                                                           │
//!  └────────────────────────── the next request's first byte ──────────────────┘
//! ```
//!
//! | phase | limit |
//! |---|---|
//! | Head | the head of a request is whole in time, TLS included for the first one |
//! | Working | none here: whoever works has limits |
//! | Answering | bytes go out now and then: the client reads |
//! | Idle | the next request comes in time |

use crate::message_meter::MessageMeter;
use evergraph_storage::planted::{Bug, planted};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

/// How long a connection may stay in a phase.
#[derive(Clone, Copy, Debug)]
pub struct PhaseLimits {
    /// Until the head of a request is whole.
    pub head_time_max: Duration,
    /// Until bytes of an answer go out.
    pub answer_idle_max: Duration,
    /// Until the next request begins.
    pub idle_max: Duration,
}

/// What a connection does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectionPhase {
    /// The head of a request is being read.
    Head,
    /// A request is being answered, and nothing was sent of it.
    Working,
    /// The answer is being sent.
    Answering,
    /// There is no request.
    Idle,
    /// It is no HTTP any more.
    Upgraded,
}

/// The phase of one connection.
///
/// Concurrency: one lock, held for a moment. `changed` is notified when the phase changes.
pub struct KeepAlive {
    limits: PhaseLimits,
    state: Mutex<(ConnectionPhase, Instant)>,
    changed: Notify,
}

impl KeepAlive {
    /// Of a connection that was accepted at `accepted`, and has sent no request.
    #[must_use]
    pub fn new(limits: PhaseLimits, accepted: Instant) -> Arc<Self> {
        let state = Mutex::new((ConnectionPhase::Head, accepted));
        Arc::new(Self { limits, state, changed: Notify::new() })
    }

    /// Enters that the connection is in `phase` from now on.
    pub fn enter(&self, phase: ConnectionPhase) {
        *self.state() = (phase, Instant::now());
        self.changed.notify_one();
    }

    /// Waits until the connection has been in a phase for too long; returns the phase.
    pub async fn overdue(&self) -> ConnectionPhase {
        loop {
            let changed = self.changed.notified();
            let (phase, since) = *self.state();
            let time_max = match phase {
                ConnectionPhase::Head if planted(Bug::EndlessHandshakes) => None,
                ConnectionPhase::Head => Some(self.limits.head_time_max),
                ConnectionPhase::Answering => Some(self.limits.answer_idle_max),
                ConnectionPhase::Idle if planted(Bug::EndlessIdleConnections) => None,
                ConnectionPhase::Idle => Some(self.limits.idle_max),
                ConnectionPhase::Working | ConnectionPhase::Upgraded => None,
            };
            let Some(end) = time_max.and_then(|time| since.checked_add(time)) else {
                changed.await;
                continue;
            };
            if end <= Instant::now() {
                return phase;
            }
            let _ = tokio::time::timeout_at(end.into(), changed).await;
        }
    }

    /// Bytes came in.
    fn received(&self) {
        let mut state = self.state();
        if state.0 == ConnectionPhase::Idle {
            *state = (ConnectionPhase::Head, Instant::now());
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Bytes went out.
    fn sent(&self) {
        let mut state = self.state();
        if matches!(state.0, ConnectionPhase::Answering | ConnectionPhase::Idle) {
            state.1 = Instant::now();
        }
    }

    fn state(&self) -> MutexGuard<'_, (ConnectionPhase, Instant)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection whose bytes are noticed.
pub struct WatchedStream<S> {
    stream: S,
    keep_alive: Arc<KeepAlive>,
    messages: Arc<MessageMeter>,
}

impl<S> WatchedStream<S> {
    /// Tells `keep_alive` of the bytes of `stream`, and `messages` once it is a WebSocket.
    #[must_use]
    pub fn new(stream: S, keep_alive: Arc<KeepAlive>, messages: Arc<MessageMeter>) -> Self {
        Self { stream, keep_alive, messages }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WatchedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let received = buffer.filled().len() - before;
        if received > 0 {
            self.keep_alive.received();
        }
        match self.messages.received(received) {
            Ok(()) => read,
            Err(refused) => Poll::Ready(Err(refused)),
        }
    }
}

impl<S: AsyncWrite + Unpin> WatchedStream<S> {
    fn wrote(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if matches!(written, Poll::Ready(Ok(1..))) {
            self.keep_alive.sent();
        }
        written
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WatchedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.wrote(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// An answer that is under way; when this is dropped, the connection is idle.
pub struct AnswerPhase(Arc<KeepAlive>);

impl AnswerPhase {
    /// The answer begins now.
    #[must_use]
    pub fn enter(keep_alive: Arc<KeepAlive>) -> Self {
        keep_alive.enter(ConnectionPhase::Answering);
        Self(keep_alive)
    }
}

impl Drop for AnswerPhase {
    fn drop(&mut self) {
        self.0.enter(ConnectionPhase::Idle);
    }
}
