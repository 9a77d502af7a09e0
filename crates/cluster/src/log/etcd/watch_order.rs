//! Watch order: what etcd sends of a key, as messages in order, each once and none left out.
//!
//! ```text
//! revision   12   15   16   19        position of a message
//! version     4    5    6    7        etcd counts them: one that is missing shows
//! ```
//!
//! etcd promises the order, and has had defects: before 3.4.31 a watch could leave versions out when the store was
//! compacted (#17610), and before 3.4.38 one that begins in the future could give old versions (#20291). So both are
//! checked here. A version that comes again is left out; one that is missing ends the stream.

use crate::log::etcd::requests::position_of;
use crate::log::etcd::wire::{DELETED, KeyValue, WatchResponse};
use crate::log::shared_log::{LogError, LogMessage};
use crate::log_position::LogPosition;
use crate::planted::{Bug, planted};
use std::sync::Arc;

/// How far a stream has come.
pub(super) struct WatchOrder {
    /// Where the next message lies, or behind it.
    next: LogPosition,
    /// How many versions the key had up to there; `None` if nobody knows yet.
    version: Option<i64>,
}

impl WatchOrder {
    /// A stream that begins at `first`, before which the key had `version` versions.
    pub(super) fn new(first: LogPosition, version: Option<i64>) -> Self {
        Self { next: first, version }
    }

    /// The messages of a response.
    ///
    /// # Errors
    /// [`LogError::Trimmed`] or [`LogError::Unavailable`], if etcd ends the watch or leaves a version out. Messages
    /// before that are lost with it: a stream that begins anew has them.
    pub(super) fn take(&mut self, response: WatchResponse) -> Result<Vec<LogMessage>, LogError> {
        if response.canceled {
            return Err(cancelled(response));
        }
        let mut messages = Vec::with_capacity(response.events.len());
        for event in response.events {
            let Some(version) = event.kv else { return Err(wrong("an event without a key".to_owned())) };
            if event.kind == DELETED {
                self.delete(&version)?;
            } else if let Some(message) = self.put(version)? {
                messages.push(message);
            }
        }
        Ok(messages)
    }

    /// The message that a version is; `None` for one that came before.
    ///
    /// # Errors
    /// As [`WatchOrder::take`].
    pub(super) fn put(&mut self, version: KeyValue) -> Result<Option<LogMessage>, LogError> {
        let KeyValue { create_revision, mod_revision, version, value } = version;
        let Some(position) = self.position(mod_revision)? else { return Ok(None) };
        if create_revision == mod_revision {
            // Somebody deleted the key before, if it was there.
            self.version = Some(0);
        }
        if let Some(before) = self.version
            && version != before + 1
            && !planted(Bug::MissingVersionIgnored)
        {
            return Err(wrong(format!("version {version} at revision {position} after version {before}")));
        }
        (self.next, self.version) = (position.next(), Some(version));
        Ok(Some(LogMessage { position, bytes: Arc::from(&value[..]) }))
    }

    /// Somebody deleted the key. No message goes with that, and the next one is counted as the first.
    fn delete(&mut self, version: &KeyValue) -> Result<(), LogError> {
        if let Some(position) = self.position(version.mod_revision)? {
            (self.next, self.version) = (position.next(), Some(0));
        }
        Ok(())
    }

    /// Where a revision lies, if the stream has not come past it.
    fn position(&self, revision: i64) -> Result<Option<LogPosition>, LogError> {
        match position_of(revision) {
            Some(position) if position > LogPosition::MAX => {
                Err(wrong(format!("revision {revision}, and a log ends at {}", LogPosition::MAX)))
            }
            Some(position) => {
                Ok(Some(position).filter(|at| *at >= self.next || planted(Bug::OldVersionGiven)))
            }
            None => Err(wrong(format!("revision {revision}"))),
        }
    }
}

/// Why etcd ended a watch.
fn cancelled(response: WatchResponse) -> LogError {
    match position_of(response.compact_revision) {
        // What lies at it may be there still, and what lies behind it is.
        Some(compacted) if compacted < LogPosition::MAX => LogError::Trimmed { first: compacted.next() },
        _ if response.cancel_reason.is_empty() => wrong("the end of the watch, without a reason".to_owned()),
        _ => LogError::Unavailable { reason: format!("etcd ended the watch: {}", response.cancel_reason) },
    }
}

fn wrong(what: String) -> LogError {
    LogError::Unavailable { reason: format!("etcd sent {what}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::etcd::wire::Event;
    use crate::planted::assert_found;
    use bytes::Bytes;

    fn version(mod_revision: i64, version: i64) -> KeyValue {
        let value = Bytes::from(format!("m{mod_revision}"));
        KeyValue { create_revision: 1, mod_revision, version, value }
    }

    fn puts(versions: &[(i64, i64)]) -> WatchResponse {
        let puts =
            versions.iter().map(|(revision, count)| Event { kind: 0, kv: Some(version(*revision, *count)) });
        WatchResponse { events: puts.collect(), ..WatchResponse::default() }
    }

    fn positions(taken: Result<Vec<LogMessage>, LogError>) -> Vec<u64> {
        taken.unwrap().iter().map(|message| message.position.0).collect()
    }

    #[test]
    fn messages_come_in_order_with_gaps_between_their_positions() {
        let mut order = WatchOrder::new(LogPosition(12), None);
        assert_eq!(positions(order.take(WatchResponse::default())), [0; 0], "the server lives");
        assert_eq!(positions(order.take(puts(&[(12, 4), (15, 5)]))), [12, 15]);
        assert_eq!(positions(order.take(puts(&[(16, 6)]))), [16]);
        let message = order.put(version(19, 7)).unwrap().unwrap();
        assert_eq!((message.position, &message.bytes[..]), (LogPosition(19), b"m19".as_slice()));
    }

    #[test]
    fn what_came_before_is_left_out() {
        let mut order = WatchOrder::new(LogPosition(12), None);
        assert_eq!(positions(order.take(puts(&[(9, 3), (12, 4)]))), [12], "from where it began");
        assert_eq!(positions(order.take(puts(&[(12, 4), (15, 5), (15, 5)]))), [15]);
        assert_eq!(positions(order.take(puts(&[(15, 5), (16, 6)]))), [16]);
    }

    #[test]
    fn a_version_that_is_missing_ends_the_stream() {
        let mut order = WatchOrder::new(LogPosition(12), None);
        assert_eq!(positions(order.take(puts(&[(12, 4)]))), [12]);
        let missing = order.take(puts(&[(16, 6)]));
        assert!(missing.is_err(), "version 5 is missing");
        assert!(missing.unwrap_err().to_string().contains("version 6 at revision 16 after version 4"));
        // Also before the first one, if it is known how many there were.
        assert!(WatchOrder::new(LogPosition(12), Some(3)).take(puts(&[(15, 5)])).is_err());
    }

    #[test]
    fn after_a_deletion_versions_are_counted_anew() {
        let mut order = WatchOrder::new(LogPosition(1), Some(0));
        let mut response = puts(&[(2, 1)]);
        let deletion = KeyValue { mod_revision: 3, ..KeyValue::default() };
        response.events.push(Event { kind: DELETED, kv: Some(deletion) });
        response.events.extend(puts(&[(5, 1), (6, 2)]).events);
        assert_eq!(positions(order.take(response)), [2, 5, 6]);
    }

    #[test]
    fn a_version_that_is_the_first_of_its_life_tells_of_a_deletion() {
        let mut order = WatchOrder::new(LogPosition(12), Some(3));
        let first =
            |version| KeyValue { create_revision: 15, mod_revision: 15, version, ..KeyValue::default() };
        assert!(order.put(first(2)).is_err(), "no life begins so");
        let mut order = WatchOrder::new(LogPosition(12), Some(3));
        assert_eq!(order.put(first(1)).unwrap().unwrap().position, LogPosition(15));
        let second = KeyValue { create_revision: 15, mod_revision: 16, version: 2, ..KeyValue::default() };
        assert!(order.put(second).unwrap().is_some());
    }

    #[test]
    fn a_watch_that_etcd_ends_says_why() {
        let ended = |compact_revision, reason: &str| {
            let cancel_reason = reason.to_owned();
            let response =
                WatchResponse { canceled: true, compact_revision, cancel_reason, ..Default::default() };
            WatchOrder::new(LogPosition(3), None).take(response).unwrap_err()
        };
        assert_eq!(ended(7, ""), LogError::Trimmed { first: LogPosition(8) });
        let denied = ended(0, "etcdserver: permission denied");
        assert!(denied.to_string().contains("permission denied"), "{denied}");
        assert!(matches!(ended(0, ""), LogError::Unavailable { .. }));
        assert!(matches!(ended(-1, "odd"), LogError::Unavailable { .. }));
    }

    #[test]
    fn what_etcd_never_sends_ends_the_stream() {
        let take = |response| WatchOrder::new(LogPosition(1), None).take(response);
        assert!(take(puts(&[(0, 1)])).is_err() && take(puts(&[(-3, 1)])).is_err());
        assert!(take(puts(&[(i64::MAX, 1)])).is_err(), "no timestamp is so high");
        let headless = WatchResponse { events: vec![Event::default()], ..WatchResponse::default() };
        assert!(take(headless).is_err());
    }

    #[test]
    fn planted_bugs_are_found() {
        assert_found(
            Bug::MissingVersionIgnored,
            a_version_that_is_missing_ends_the_stream,
            "version 5 is missing",
        );
        assert_found(Bug::OldVersionGiven, what_came_before_is_left_out, "from where it began");
    }
}
