//! Requests: appends, the end of the log, trims; each with a time limit, by whichever member answers.
//!
//! | request | etcd | answer |
//! |---|---|---|
//! | append | a put of the key | the put's revision |
//! | end | a read of the key that the cluster agrees on | the revision that wrote its newest version |
//! | trim | a compaction up to the revision before | none |
//!
//! An append goes out again only if it certainly did not go out before. What becomes of one that nobody answers is not
//! known, nor of one for which etcd says that it is full: from then on appends do not go out until etcd has room again.

use crate::log::channel::Channel;
use crate::log::etcd::etcd_cluster::EtcdCluster;
use crate::log::etcd::failure::{CallFailure, FailureKind, has_no_room, no_room};
use crate::log::etcd::wire::{
    COMPACT, CompactionRequest, CompactionResponse, PUT, PutRequest, PutResponse, RANGE, RangeRequest,
    RangeResponse, STATUS, StatusRequest, StatusResponse,
};
use crate::log::shared_log::LogError;
use crate::log_position::LogPosition;
use bytes::Bytes;
use evergraph_storage::sync::atomic::{AtomicBool, Ordering};
use prost::Message;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

/// Connections that a request tries: a new one, and another after a log-in that ran out meanwhile.
const CONNECTIONS_MAX: usize = 3;

/// What tasks ask etcd for a log.
///
/// # Concurrency
///
/// Any number of tasks ask at once, over one connection.
pub(super) struct Requests {
    cluster: Arc<EtcdCluster>,
    channel: Channel<EtcdCluster>,
    /// One compaction at a time.
    trimming: Semaphore,
    /// Whether etcd said that it is full, and took no append since. Publishes nothing else, so Relaxed.
    is_full: AtomicBool,
}

/// How often an append without an answer goes out, about, in the time limit of a request.
const APPEND_ATTEMPTS_PER_LIMIT: u32 = 8;

/// A shorter attempt would put each message twice into the log of a busy disk.
const APPEND_ATTEMPT_LIMIT_MIN: Duration = Duration::from_millis(250);

/// When a request ends without an answer, and how long it had.
#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    limit: Duration,
    /// How long a member may take to answer, once the question goes out.
    attempt_limit: Duration,
}

impl Deadline {
    fn within(limit: Duration) -> Self {
        Self { at: Instant::now() + limit, limit, attempt_limit: limit }
    }
}

impl Requests {
    /// Nothing is under way.
    pub(super) fn new(cluster: Arc<EtcdCluster>) -> Self {
        let channel = Channel::new(Arc::clone(&cluster));
        Self { cluster, channel, trimming: Semaphore::new(1), is_full: AtomicBool::new(false) }
    }

    /// Appends `message`.
    ///
    /// # Errors
    /// `Unavailable` if it is not in the log and will not be, else `UnknownOutcome`.
    pub(super) async fn append(&self, message: Arc<[u8]>) -> Result<LogPosition, LogError> {
        let deadline = self.append_deadline();
        if self.is_full.load(Ordering::Relaxed) {
            self.check_room(deadline).await?;
        }
        let question = PutRequest { key: self.cluster.key(), value: Bytes::from_owner(message) };
        let answer: Result<PutResponse, CallFailure> = self.call(PUT, question, deadline).await;
        match &answer {
            Ok(_) => self.is_full.store(false, Ordering::Relaxed),
            Err(failure) if failure.kind == FailureKind::NoRoom => {
                self.is_full.store(true, Ordering::Relaxed);
            }
            Err(_) => {}
        }
        let answer = answer.map_err(CallFailure::of_append)?;
        // One without a revision is none of etcd's, which always tells it.
        position_of(answer.header.map_or(0, |header| header.revision)).ok_or(LogError::UnknownOutcome)
    }

    /// Whether etcd, which was full, has room again. An append that does not go out certainly never happens, and its
    /// answer can say what to do.
    ///
    /// # Errors
    /// `Unavailable`.
    async fn check_room(&self, deadline: Deadline) -> Result<(), LogError> {
        let status: StatusResponse =
            self.call(STATUS, StatusRequest {}, deadline).await.map_err(unavailable)?;
        if has_no_room(&status) { Err(LogError::Unavailable { reason: no_room() }) } else { Ok(()) }
    }

    /// The newest message, or a position behind it.
    ///
    /// # Errors
    /// `Unavailable`.
    pub(super) async fn end(&self) -> Result<LogPosition, LogError> {
        let answer: RangeResponse =
            self.call(RANGE, end_question(&self.cluster), self.deadline()).await.map_err(unavailable)?;
        end_of(&answer).map_err(|reason| LogError::Unavailable { reason })
    }

    /// Forgets what lies before `first`.
    ///
    /// # Errors
    /// `Unavailable`; it may be forgotten all the same.
    pub(super) async fn trim(&self, first: LogPosition) -> Result<(), LogError> {
        let Ok(_turn) = self.trimming.try_acquire() else {
            return Err(LogError::Unavailable { reason: "another trim is under way".to_owned() });
        };
        let deadline = self.deadline();
        let last = i64::try_from(first.0.saturating_sub(1)).unwrap_or(i64::MAX);
        if last == 0 {
            return Ok(());
        }
        match self.compact(last, deadline).await {
            Err(failure) if failure.kind == FailureKind::FutureRevision => {
                // `first` lies behind the end: everything goes but the newest message, which etcd keeps.
                let question = end_question(&self.cluster);
                let answer: RangeResponse =
                    self.call(RANGE, question, deadline).await.map_err(unavailable)?;
                let newest = answer.header.map_or(0, |header| header.revision);
                // Since the first attempt the log may have grown beyond `first`: that stays.
                self.compact(newest.min(last), deadline).await.map_err(unavailable)
            }
            done => done.map_err(unavailable),
        }
    }

    async fn compact(&self, revision: i64, deadline: Deadline) -> Result<(), CallFailure> {
        let done: Result<CompactionResponse, _> =
            self.call(COMPACT, CompactionRequest { revision }, deadline).await;
        match done {
            Err(failure) if failure.kind == FailureKind::Compacted => Ok(()),
            done => done.map(|_| ()),
        }
    }

    fn deadline(&self) -> Deadline {
        Deadline::within(self.cluster.time_limit())
    }

    /// As long, in shorter attempts: an append may go out again as it is, and what a leader took and did not commit is never
    /// answered. Until the members have noticed that it is gone, a second or two, what they hand on to it is lost as well.
    fn append_deadline(&self) -> Deadline {
        let deadline = self.deadline();
        Deadline { attempt_limit: append_attempt_limit(deadline.limit), ..deadline }
    }

    /// Asks by the present connection, and again by others while the question did not go out.
    async fn call<Q, A>(
        &self,
        method: &'static str,
        question: Q,
        deadline: Deadline,
    ) -> Result<A, CallFailure>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let Deadline { at, limit, attempt_limit } = deadline;
        let mut last = CallFailure::not_sent(format!("no member could be reached within {limit:?}"));
        for _ in 0..CONNECTIONS_MAX {
            let connection = match timeout_at(at, self.channel.connection()).await {
                Ok(Ok(connection)) => connection,
                Ok(Err(reason)) => return Err(CallFailure::not_sent(reason)),
                Err(_) => return Err(last),
            };
            let ends_at = at.min(Instant::now() + attempt_limit);
            let answer = timeout_at(ends_at, connection.call(method, question.clone(), attempt_limit)).await;
            let failure = match answer {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(status)) => CallFailure::of(&status),
                Err(_) => CallFailure::unknown(format!("no answer within {attempt_limit:?}")),
            };
            if failure.is_of_connection() {
                connection.abandon();
            }
            if failure.kind != FailureKind::NotTaken {
                return Err(failure);
            }
            last = failure;
        }
        Err(last)
    }
}

/// How long a member may take for an append, where a request may take `limit`.
fn append_attempt_limit(limit: Duration) -> Duration {
    (limit / APPEND_ATTEMPTS_PER_LIMIT).max(APPEND_ATTEMPT_LIMIT_MIN).min(limit)
}

/// Asks for the newest version of the key, without its value, as the cluster agrees on it.
pub(super) fn end_question(cluster: &EtcdCluster) -> RangeRequest {
    RangeRequest { key: cluster.key(), revision: 0, serializable: false, keys_only: true }
}

/// The newest revision of a store that nobody has written anything into.
const UNWRITTEN: i64 = 1;

/// Where the log ends, by the answer to that question. If there is no version, because nobody wrote one or somebody
/// deleted the key, it is the store's newest revision: none was acknowledged behind it. In a store without any revision of its own the
/// log is empty, and whoever starts there need not wait for a message.
///
/// # Errors
/// An answer that etcd does not give.
pub(super) fn end_of(answer: &RangeResponse) -> Result<LogPosition, String> {
    let newest = answer.kvs.first().map(|version| version.mod_revision);
    let of_store = answer.header.as_ref().map(|header| header.revision);
    if newest.is_none() && of_store == Some(UNWRITTEN) {
        return Ok(LogPosition::START);
    }
    newest.or(of_store).and_then(position_of).ok_or_else(|| "etcd did not say where the log ends".to_owned())
}

/// The position that a revision is: they begin at 1.
pub(super) fn position_of(revision: i64) -> Option<LogPosition> {
    u64::try_from(revision).ok().filter(|revision| *revision > 0).map(LogPosition)
}

fn unavailable(failure: CallFailure) -> LogError {
    LogError::Unavailable { reason: failure.reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::etcd::options::EtcdOptions;
    use crate::log::etcd::wire::{KeyValue, ResponseHeader};

    #[test]
    fn an_append_may_go_out_again_before_other_requests_end() {
        let options = EtcdOptions {
            time_limit: Duration::from_secs(3),
            ..EtcdOptions::new(vec!["http://a".parse().unwrap()], "log")
        };
        let requests = Requests::new(Arc::new(EtcdCluster::new(options).unwrap()));
        let (append, other) = (requests.append_deadline(), requests.deadline());
        let limits = [append.attempt_limit, other.attempt_limit];
        assert_eq!(limits, [Duration::from_millis(375), Duration::from_secs(3)]);
        assert_eq!(append.limit, other.limit, "a connection may take as long");
    }

    #[test]
    fn a_short_time_limit_leaves_a_busy_disk_the_time_for_an_append() {
        let ms = Duration::from_millis;
        let limits = [ms(100), ms(500), ms(2000), ms(4000), ms(60_000)].map(append_attempt_limit);
        assert_eq!(limits, [ms(100), ms(250), ms(250), ms(500), ms(7500)]);
    }

    #[test]
    fn the_log_ends_at_its_newest_message_or_at_the_newest_revision_of_all() {
        let header = Some(ResponseHeader { cluster_id: 1, revision: 9 });
        let newest = KeyValue { mod_revision: 7, version: 3, ..KeyValue::default() };
        let answer = RangeResponse { header: header.clone(), kvs: vec![newest] };
        assert_eq!(end_of(&answer), Ok(LogPosition(7)), "others wrote other keys since");
        assert_eq!(end_of(&RangeResponse { header, kvs: Vec::new() }), Ok(LogPosition(9)));
        let unwritten = Some(ResponseHeader { cluster_id: 1, revision: 1 });
        assert_eq!(end_of(&RangeResponse { header: unwritten, kvs: Vec::new() }), Ok(LogPosition::START));
        assert!(end_of(&RangeResponse::default()).is_err());
    }

    #[test]
    fn revisions_are_positions_from_one_on() {
        assert_eq!(position_of(1), Some(LogPosition(1)));
        assert_eq!([position_of(0), position_of(-1)], [None, None]);
        assert_eq!(position_of(i64::MAX), Some(LogPosition(i64::MAX as u64)));
    }
}
