//! `Feedback`: when a server hears of our progress.
//!
//! ```text
//! once a second           so that the connection survives wal_sender_timeout, and the slot advances
//! when the server asks    at once, but not within 100 ms of the last time
//! ```
//!
//! A server that waits for a position answers every update that lacks it with a keepalive: who answers each keepalive gets
//! thousands a second. So only those that ask are answered.

use std::time::{Duration, Instant};

use crate::lsn::Lsn;
use crate::postgres_time::PostgresTime;
use crate::wire::replication_frame::StatusUpdate;

/// Between two updates that nobody asked for.
const INTERVAL: Duration = Duration::from_secs(1);
/// Between two updates, at least.
const ANSWER_INTERVAL: Duration = Duration::from_millis(100);

/// What the server was told, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Feedback {
    written: Lsn,
    sent_at: Option<Instant>,
    is_asked: bool,
}

impl Feedback {
    /// Bytes up to `position` were received.
    pub fn received(&mut self, position: Lsn) {
        self.written = self.written.max(position);
    }

    /// The server asked for an update.
    pub fn asked(&mut self) {
        self.is_asked = true;
    }

    /// When the next update is due; `now` if one is.
    #[must_use]
    pub fn due_at(&self, now: Instant) -> Instant {
        let interval = if self.is_asked { ANSWER_INTERVAL } else { INTERVAL };
        self.sent_at.map_or(now, |sent_at| (sent_at + interval).max(now))
    }

    /// The update to send now, if one is due; `confirmed` is what is safe here.
    pub fn take(&mut self, now: Instant, confirmed: Lsn, clock: PostgresTime) -> Option<StatusUpdate> {
        (self.due_at(now) <= now).then(|| self.update(now, confirmed, clock))
    }

    /// The update to send now, due or not.
    pub fn update(&mut self, now: Instant, confirmed: Lsn, clock: PostgresTime) -> StatusUpdate {
        (self.sent_at, self.is_asked) = (Some(now), false);
        StatusUpdate {
            written: self.written.max(confirmed),
            flushed: confirmed,
            applied: confirmed,
            sent_at: clock,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_comes_each_second_and_when_asked_but_not_for_each_keepalive() {
        let (mut feedback, begin) = (Feedback::default(), Instant::now());
        let mut sent = 0;
        // A server that asks for an answer each millisecond, for a second.
        for millisecond in 0..1000 {
            feedback.asked();
            let now = begin + Duration::from_millis(millisecond);
            sent += u32::from(feedback.take(now, Lsn::ZERO, PostgresTime::default()).is_some());
        }
        assert_eq!(sent, 10);
        // One that asks for none.
        let (mut feedback, mut sent) = (Feedback::default(), 0);
        for millisecond in 0..10_000 {
            let now = begin + Duration::from_millis(millisecond);
            sent += u32::from(feedback.take(now, Lsn::ZERO, PostgresTime::default()).is_some());
        }
        assert_eq!(sent, 10);
    }

    #[test]
    fn an_update_tells_what_was_received_and_what_is_safe() {
        let mut feedback = Feedback::default();
        feedback.received(Lsn::new(7));
        feedback.received(Lsn::new(5));
        let clock = PostgresTime::new(1);
        let update = feedback.update(Instant::now(), Lsn::new(3), clock);
        let expected =
            StatusUpdate { written: Lsn::new(7), flushed: Lsn::new(3), applied: Lsn::new(3), sent_at: clock };
        assert_eq!(update, expected);
        assert_eq!(feedback.update(Instant::now(), Lsn::new(9), clock).written, Lsn::new(9));
    }
}
