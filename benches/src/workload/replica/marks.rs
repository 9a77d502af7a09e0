//! `Marks`: when a reader saw each number of the source's clock first.

use evergraph_graph::error::{Error, ErrorKind, Result};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// When a reader saw each number of the clock first: numbers ascend, and one that is not here was seen with the next.
///
/// Concurrency: the reader notes, anybody waits.
#[derive(Debug, Default)]
pub struct Marks {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    seen: Vec<(u64, Instant)>,
    /// Why the reader sees nothing more.
    failure: Option<Error>,
}

impl Marks {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that `number` was seen at `moment`.
    pub fn note(&self, number: u64, moment: Instant) {
        let mut inner = self.lock();
        if inner.seen.last().is_none_or(|(newest, _)| *newest < number) {
            inner.seen.push((number, moment));
            self.changed.notify_all();
        }
    }

    /// Notes that the reader failed.
    pub fn fail(&self, error: Error) {
        self.lock().failure = Some(error);
        self.changed.notify_all();
    }

    /// When `number` was seen, if it was.
    #[must_use]
    pub fn moment(&self, number: u64) -> Option<Instant> {
        let inner = self.lock();
        let at = inner.seen.partition_point(|(seen, _)| *seen < number);
        inner.seen.get(at).map(|(_, moment)| *moment)
    }

    /// Waits until `number` was seen, for `time_max` at most; when that was.
    ///
    /// # Errors
    /// `limit` if it was not; what made the reader fail.
    pub fn wait(&self, number: u64, time_max: Duration) -> Result<Instant> {
        let began = Instant::now();
        loop {
            if let Some(moment) = self.moment(number) {
                return Ok(moment);
            }
            let mut inner = self.lock();
            if let Some(error) = inner.failure.take() {
                return Err(error);
            }
            let newest = inner.seen.last().map_or(0, |(newest, _)| *newest);
            let left = time_max.saturating_sub(began.elapsed());
            if left.is_zero() {
                let text =
                    format!("transaction {number} is not seen after {time_max:?}, the newest is {newest}");
                return Err(Error::new(ErrorKind::Limit, text));
            }
            if newest < number {
                drop(self.changed.wait_timeout(inner, left));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_was_passed_over_was_seen_with_the_next() {
        let (marks, now) = (Marks::default(), Instant::now());
        let later = now + Duration::from_secs(1);
        marks.note(3, now);
        marks.note(7, later);
        marks.note(5, now);
        assert_eq!((marks.moment(1), marks.moment(4), marks.moment(8)), (Some(now), Some(later), None));
        assert_eq!(marks.wait(7, Duration::ZERO).unwrap(), later);
        let error = marks.wait(8, Duration::from_millis(5)).unwrap_err().to_string();
        assert!(error.contains("transaction 8") && error.contains("the newest is 7"), "{error}");
        marks.fail(Error::invalid("it broke"));
        assert!(marks.wait(8, Duration::from_secs(60)).unwrap_err().to_string().contains("it broke"));
    }
}
