//! Watch: what one member says of the key from a revision on, and whether it lives.
//!
//! ```text
//! create ────────────> member
//!        <──────────── created, with the store's newest revision
//!        <──────────── events ... events ...
//! progress? ─────────> member                     three times within the time limit
//!        <──────────── a response without events: it lives
//! ```
//!
//! A member without a leader ends the watch after some seconds, because the request demands one. A member that is
//! stopped, or that nobody reaches, says nothing.

use crate::log::etcd::connection::Connection;
use crate::log::etcd::etcd_cluster::EtcdCluster;
use crate::log::etcd::failure::reason_of;
use crate::log::etcd::requests::position_of;
use crate::log::etcd::wire::{WATCH, WatchCreateRequest, WatchProgressRequest, WatchRequest, WatchResponse};
use crate::log::shared_log::LogError;
use crate::log_position::LogPosition;
use futures_util::stream::unfold;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until, timeout};
use tonic::Streaming;

/// Requests on their way: the first one, and one that asks whether the member lives.
const REQUESTS_MAX: usize = 2;

/// How often the member is asked whether it lives within the time that it may be silent.
const QUESTIONS_PER_SILENCE: u32 = 3;

/// Where a watch begins.
#[derive(Clone, Copy)]
pub(super) enum WatchStart {
    /// Behind everything that the member has. etcd then sends events as they are written.
    Now,
    /// There. etcd looks for events that are written already every 100 ms, and reads all of them into memory each time: for
    /// what it has forgotten, which the watch says, and else for nothing that is much.
    At(LogPosition),
}

/// A watch of the key.
pub(super) struct Watch {
    requests: mpsc::Sender<WatchRequest>,
    responses: Streaming<WatchResponse>,
    questions: Interval,
    silence_max: Duration,
}

impl Watch {
    /// Begins to watch. Returns the store's newest revision as well: what begins now begins behind it.
    ///
    /// # Errors
    /// [`LogError::Unavailable`]. That it began too early, a later response says.
    pub(super) async fn begin(
        connection: &Connection,
        cluster: &EtcdCluster,
        start: WatchStart,
    ) -> Result<(Self, LogPosition), LogError> {
        let start_revision = match start {
            WatchStart::Now => 0,
            WatchStart::At(first) => i64::try_from(first.0.max(1)).unwrap_or(i64::MAX),
        };
        // Fragments, since a watch that is behind would send 1,000 messages at once.
        let create = WatchCreateRequest { key: cluster.key(), start_revision, fragment: true };
        let (requests, queue) = mpsc::channel(REQUESTS_MAX);
        let sent = requests.try_send(WatchRequest { create: Some(create), progress: None });
        sent.expect("the queue is new, and has room");
        let queue = unfold(queue, |mut queue: mpsc::Receiver<WatchRequest>| async move {
            let request = queue.recv().await?;
            Some((request, queue))
        });
        let silence_max = cluster.time_limit();
        let answered = timeout(silence_max, connection.stream(WATCH, queue)).await;
        let responses = answered
            .map_err(|_| silent(silence_max))?
            .map_err(|status| LogError::Unavailable { reason: reason_of(&status) })?;
        let every = silence_max / QUESTIONS_PER_SILENCE;
        let mut questions = interval_at(Instant::now() + every, every);
        questions.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut watch = Self { requests, responses, questions, silence_max };
        let created = watch.response().await?;
        let newest = created.header.as_ref().and_then(|header| position_of(header.revision));
        match newest {
            Some(newest) if created.created && !created.canceled => Ok((watch, newest)),
            _ if created.canceled => {
                let reason = format!("etcd refused to watch the key: {}", created.cancel_reason);
                Err(LogError::Unavailable { reason })
            }
            _ => Err(LogError::Unavailable { reason: "etcd did not begin to watch the key".to_owned() }),
        }
    }

    /// The next response, perhaps without events. Only the time that this waits counts as silence. Nothing is lost if
    /// it is not waited for to the end.
    ///
    /// # Errors
    /// [`LogError::Unavailable`] if the watch ends, or the member is silent for too long.
    pub(super) async fn response(&mut self) -> Result<WatchResponse, LogError> {
        let silent_at = Instant::now() + self.silence_max;
        loop {
            tokio::select! {
                // After this process was stopped for a while, what came meanwhile counts before the time that passed.
                biased;
                response = self.responses.message() => {
                    let reason = match response {
                        Ok(Some(response)) => return Ok(response),
                        Ok(None) => "etcd ended the watch".to_owned(),
                        Err(status) => reason_of(&status),
                    };
                    return Err(LogError::Unavailable { reason });
                }
                () = sleep_until(silent_at) => return Err(silent(self.silence_max)),
                _ = self.questions.tick() => {
                    // One that did not go out yet is enough.
                    let progress = Some(WatchProgressRequest {});
                    let _ = self.requests.try_send(WatchRequest { create: None, progress });
                }
            }
        }
    }
}

fn silent(time: Duration) -> LogError {
    LogError::Unavailable { reason: format!("the member that is read from was silent for {time:?}") }
}
