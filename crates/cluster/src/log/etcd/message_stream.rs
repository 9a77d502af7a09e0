//! Message stream: reads the log from a position on, by one member, until that fails or nobody reads any more.
//!
//! ```text
//! end of the log, as the cluster agrees on it     does it reach what was read before?
//!      └─> watch, behind what the member has      new messages wait
//!            ├─> backlog: the messages before       a few
//!            │     └─> messages of the watch
//!            └─> catch-up: many messages          without the watch; then another one
//! ```
//!
//! All of it by the same member. After it has answered for the cluster it has everything that was acknowledged before,
//! so its watch begins nowhere in the future. A stream never goes on elsewhere: it ends, and the next one asks the next
//! member.

use crate::log::channel::Channel;
use crate::log::etcd::backlog::read_backlog;
use crate::log::etcd::catch_up::CatchUp;
use crate::log::etcd::connection::Connection;
use crate::log::etcd::etcd_cluster::EtcdCluster;
use crate::log::etcd::failure::{CallFailure, FailureKind};
use crate::log::etcd::key_version::version_as_of;
use crate::log::etcd::requests::{end_of, end_question};
use crate::log::etcd::watch::{Watch, WatchStart};
use crate::log::etcd::watch_order::WatchOrder;
use crate::log::etcd::wire::{KeyValue, RANGE, RangeResponse};
use crate::log::server_log::MessageSender;
use crate::log::shared_log::LogError;
use crate::log_position::LogPosition;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How often the cluster is asked for an end that seems to lie before what was read. Before 3.4.42 a leader that was
/// paused may answer for a moment as if nothing had happened since.
const END_QUESTIONS: usize = 4;

/// Between two of these questions.
const END_QUESTION_WAIT: Duration = Duration::from_millis(300);

/// A stream, as a task.
pub(super) struct MessageStream {
    pub(super) cluster: Arc<EtcdCluster>,
    pub(super) channel: Arc<Channel<EtcdCluster>>,
    /// Where it begins.
    pub(super) first: LogPosition,
    /// What was read of the log before.
    pub(super) seen: LogPosition,
    /// Where messages go. It is closed when nobody reads any more.
    pub(super) sender: MessageSender,
}

impl MessageStream {
    /// Reads until there is an error, which is the last thing that it gives, or nobody reads any more.
    pub(super) async fn run(self) {
        self.sender.give_end_of(self.read()).await;
    }

    async fn read(&self) -> Result<Infallible, LogError> {
        let mut connection = self.connection().await?;
        let mut end = self.end(&connection).await;
        // A connection of the stream before may be closed, or its log-in may have run out.
        if end.as_ref().is_err_and(|failure| failure.kind == FailureKind::NotTaken) {
            connection.abandon();
            connection = self.connection().await?;
            end = self.end(&connection).await;
        }
        let ended = self.read_from_member(&connection, end).await;
        if matches!(ended, Err(LogError::Unavailable { .. })) {
            connection.abandon();
        }
        ended
    }

    async fn connection(&self) -> Result<Connection, LogError> {
        let limit = self.cluster.time_limit();
        let found = timeout(limit, self.channel.connection()).await;
        let found = found.unwrap_or_else(|_| Err(format!("no member could be reached within {limit:?}")));
        found.map_err(|reason| LogError::Unavailable { reason })
    }

    async fn read_from_member(
        &self,
        connection: &Connection,
        end: Result<LogPosition, CallFailure>,
    ) -> Result<Infallible, LogError> {
        self.check_end(connection, end).await?;
        let (mut watch, mut order) = self.begin(connection).await?;
        loop {
            for message in order.take(watch.response().await?)? {
                self.sender.give(Ok(message)).await;
            }
        }
    }

    /// Whether the log reaches what was read before.
    async fn check_end(
        &self,
        connection: &Connection,
        first_answer: Result<LogPosition, CallFailure>,
    ) -> Result<(), LogError> {
        let mut answer = first_answer;
        let mut questions = 1;
        loop {
            let end = answer.map_err(|failure| LogError::Unavailable { reason: failure.reason })?;
            if end >= self.seen {
                return Ok(());
            }
            if questions == END_QUESTIONS {
                return Err(LogError::LostSuffix { position: self.seen, end });
            }
            sleep(END_QUESTION_WAIT).await;
            answer = self.end(connection).await;
            questions += 1;
        }
    }

    /// Where the log ends, as the cluster agrees on it. The member has everything up to there when it answers.
    async fn end(&self, connection: &Connection) -> Result<LogPosition, CallFailure> {
        let limit = self.cluster.time_limit();
        let answer = timeout(limit, connection.call(RANGE, end_question(&self.cluster), limit)).await;
        let answer: RangeResponse = answer
            .map_err(|_| CallFailure::unknown(format!("no answer within {limit:?}")))?
            .map_err(|status| CallFailure::of(&status))?;
        end_of(&answer).map_err(CallFailure::unknown)
    }

    /// Begins to watch, and gives what lies before that. What is much is read forwards first, up to where the watch began;
    /// meanwhile more may have come.
    async fn begin(&self, connection: &Connection) -> Result<(Watch, WatchOrder), LogError> {
        let (mut first, mut order) = (self.first, None);
        loop {
            let (watch, newest) = Watch::begin(connection, &self.cluster, WatchStart::Now).await?;
            if let Some(backlog) = read_backlog(connection, &self.cluster, first, newest).await? {
                let mut order =
                    order.unwrap_or_else(|| WatchOrder::new(first, Some(backlog.versions_before)));
                self.give_versions(&mut order, backlog.messages).await?;
                return Ok((watch, order));
            }
            drop(watch);
            if let Some(forgotten) = self.catch_up(connection, first, newest, &mut order).await? {
                // The watch says what was forgotten, which an answer to a read does not. It costs the member nothing.
                let start = WatchStart::At(forgotten);
                let (watch, _) = Watch::begin(connection, &self.cluster, start).await?;
                return Ok((watch, order.unwrap_or_else(|| WatchOrder::new(first, None))));
            }
            first = LogPosition(newest.0.saturating_add(1)).max(first);
        }
    }

    /// Reads `first..=last` forwards, and gives it. Returns a position that the member has forgotten, if it has.
    async fn catch_up(
        &self,
        connection: &Connection,
        first: LogPosition,
        last: LogPosition,
        order: &mut Option<WatchOrder>,
    ) -> Result<Option<LogPosition>, LogError> {
        let limit = self.cluster.time_limit();
        let late = |_| LogError::Unavailable { reason: format!("older messages took more than {limit:?}") };
        let failed = |failure: CallFailure| LogError::Unavailable { reason: failure.reason };
        let version = |revision, content| version_as_of(connection, &self.cluster, revision, content);
        let begun = timeout(limit, CatchUp::begin(first, last, &version)).await.map_err(late)?;
        let mut catch_up = begun.map_err(failed)?;
        let order = order.get_or_insert_with(|| WatchOrder::new(first, catch_up.versions_before()));
        loop {
            let read = timeout(limit, catch_up.read(&version)).await.map_err(late)?;
            match read {
                Ok(Some(messages)) => self.give_versions(order, messages).await?,
                Ok(None) => return Ok(None),
                Err(failure) if failure.kind == FailureKind::Compacted => return Ok(Some(catch_up.next())),
                Err(failure) => return Err(failed(failure)),
            }
        }
    }

    async fn give_versions(&self, order: &mut WatchOrder, versions: Vec<KeyValue>) -> Result<(), LogError> {
        for version in versions {
            if let Some(message) = order.put(version)? {
                self.sender.give(Ok(message)).await;
            }
        }
        Ok(())
    }
}
