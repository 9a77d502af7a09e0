//! `BatchQueue`: batches from the thread that owns a socket to the one that uses them, within a limit of bytes.
//!
//! # Concurrency
//! One pushes, one pops. A lock guards all; it is held for moments. Who pushes into a full queue waits until a given moment
//! and keeps its batch, so that it can do something else meanwhile. Nobody is woken who does not wait: that is a call of the
//! system.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::source::batch::ChangeBatch;
use crate::source::error::SourceError;

/// Bytes in the queue at which it is full. A batch that is larger goes in alone.
pub const QUEUE_BYTES_MAX: usize = 4 << 20;

/// Batches that wait.
#[derive(Debug, Default)]
pub struct BatchQueue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    batches: VecDeque<ChangeBatch>,
    bytes: usize,
    end: Option<End>,
    /// Who waits for a change.
    waiting: usize,
}

#[derive(Debug)]
enum End {
    /// Its error was not taken yet; `None` for an end that was asked for.
    Untold(Option<SourceError>),
    Told,
}

/// What comes out of a queue.
#[derive(Debug)]
pub enum Popped {
    /// A batch.
    Batch(ChangeBatch),
    /// Nothing came in time.
    Nothing,
    /// No more will come; the error is told once.
    End(Option<SourceError>),
}

impl BatchQueue {
    /// Appends `batch`, waiting until `deadline` for space.
    ///
    /// # Errors
    /// The batch, if there was none.
    pub fn push(&self, batch: ChangeBatch, deadline: Instant) -> Result<(), ChangeBatch> {
        let mut state = self.lock();
        let bytes = batch.size_bytes();
        while !state.batches.is_empty() && state.bytes + bytes > QUEUE_BYTES_MAX {
            let now = Instant::now();
            if now >= deadline {
                return Err(batch);
            }
            state = self.wait(state, deadline - now);
        }
        state.bytes += bytes;
        state.batches.push_back(batch);
        self.tell(state);
        Ok(())
    }

    /// Takes the next batch, waiting `time_max` at most.
    pub fn pop(&self, time_max: Duration) -> Popped {
        let began = Instant::now();
        let mut state = self.lock();
        loop {
            if let Some(batch) = state.batches.pop_front() {
                state.bytes -= batch.size_bytes();
                self.tell(state);
                return Popped::Batch(batch);
            }
            if let Some(end) = &mut state.end {
                return match std::mem::replace(end, End::Told) {
                    End::Untold(error) => Popped::End(error),
                    End::Told => Popped::End(None),
                };
            }
            match time_max.checked_sub(began.elapsed()) {
                Some(left) if !left.is_zero() => state = self.wait(state, left),
                _ => return Popped::Nothing,
            }
        }
    }

    /// Says that no batch will come any more, and why.
    pub fn finish(&self, error: Option<SourceError>) {
        let mut state = self.lock();
        state.end = Some(End::Untold(error));
        self.tell(state);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn wait<'a>(&self, mut state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        state.waiting += 1;
        let mut state =
            self.changed.wait_timeout(state, time).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        state.waiting -= 1;
        state
    }

    /// Wakes who waits, behind the lock.
    fn tell(&self, state: MutexGuard<'_, State>) {
        let is_awaited = state.waiting > 0;
        drop(state);
        if is_awaited {
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsn::Lsn;
    use crate::postgres_time::PostgresTime;

    fn batch(bytes: usize) -> ChangeBatch {
        let mut batch = ChangeBatch::default();
        batch.push_message(Lsn::ZERO, Lsn::ZERO, PostgresTime::default(), &vec![0; bytes]);
        batch
    }

    #[test]
    fn a_full_queue_gives_the_batch_back_and_takes_it_when_there_is_space() {
        let queue = BatchQueue::default();
        let soon = || Instant::now() + Duration::from_millis(5);
        let mut pushed = 0;
        while queue.push(batch(100_000), soon()).is_ok() {
            pushed += 1;
        }
        assert_eq!(pushed, QUEUE_BYTES_MAX / batch(100_000).size_bytes());
        assert!(matches!(queue.pop(Duration::ZERO), Popped::Batch(_)));
        assert_eq!(queue.push(batch(100_000), soon()), Ok(()));
        while matches!(queue.pop(Duration::ZERO), Popped::Batch(_)) {}
        // One that is larger than the queue goes in alone.
        assert_eq!(queue.push(batch(2 * QUEUE_BYTES_MAX), soon()), Ok(()));
        assert!(queue.push(batch(1), soon()).is_err());
    }

    #[test]
    fn the_end_comes_behind_all_batches_and_is_told_once() {
        let queue = BatchQueue::default();
        queue.push(batch(1), Instant::now()).unwrap();
        queue.finish(Some(SourceError::Invalid("over".into())));
        assert!(matches!(queue.pop(Duration::ZERO), Popped::Batch(_)));
        assert!(matches!(queue.pop(Duration::ZERO), Popped::End(Some(_))));
        assert!(matches!(queue.pop(Duration::ZERO), Popped::End(None)));
    }
}
