//! One answer: a thread waits for what another one tells once, or for the end of its patience, or of its limit.

use evergraph_graph::wait_limit::WaitLimit;
use evergraph_storage::io::clock::Clock;
use evergraph_storage::sync::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Duration;

/// Tells the answer. Dropped before that, it tells that there is none.
#[derive(Debug)]
pub struct AnswerTeller<T> {
    shared: Arc<Shared<T>>,
}

/// Waits for the answer.
#[derive(Debug)]
pub struct AnswerWaiter<T> {
    shared: Arc<Shared<T>>,
}

/// What came of waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waited<T> {
    /// The answer.
    Came(T),
    /// Nobody will tell it.
    Never,
    /// It has not come in time, or the limit has ended. It may still come.
    TimedOut,
}

/// # Concurrency
///
/// The lock orders the answer with the sleep of who waits for it.
#[derive(Debug)]
struct Shared<T> {
    state: Mutex<AnswerState<T>>,
    news: Condvar,
}

#[derive(Debug)]
enum AnswerState<T> {
    Missing,
    Told(T),
    /// It was taken, or will not come.
    Over,
}

/// Both sides of an answer.
#[must_use]
pub fn one_answer<T>() -> (AnswerTeller<T>, AnswerWaiter<T>) {
    let shared = Arc::new(Shared { state: Mutex::new(AnswerState::Missing), news: Condvar::new() });
    (AnswerTeller { shared: Arc::clone(&shared) }, AnswerWaiter { shared })
}

impl<T> AnswerTeller<T> {
    /// Tells it, and does not wait.
    pub fn tell(self, answer: T) {
        *self.shared.state.lock() = AnswerState::Told(answer);
    }
}

impl<T> Drop for AnswerTeller<T> {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        if matches!(*state, AnswerState::Missing) {
            *state = AnswerState::Over;
        }
        drop(state);
        self.shared.news.notify_one();
    }
}

impl<T> AnswerWaiter<T> {
    /// Waits for as long as it takes: for what the other thread does at once. `None` if nobody will tell it.
    #[must_use]
    pub fn wait_long(&self) -> Option<T> {
        let mut state = self.shared.state.lock();
        loop {
            match std::mem::replace(&mut *state, AnswerState::Over) {
                AnswerState::Told(answer) => return Some(answer),
                AnswerState::Over => return None,
                AnswerState::Missing => *state = AnswerState::Missing,
            }
            state = self.shared.news.wait(state);
        }
    }

    /// Waits until `clock` says `until`, at most, and no longer than `limit` lasts. After [`Waited::TimedOut`] it may be asked
    /// again.
    pub fn wait(&self, until: Duration, clock: &dyn Clock, limit: &WaitLimit) -> Waited<T> {
        let mut state = self.shared.state.lock();
        loop {
            match std::mem::replace(&mut *state, AnswerState::Over) {
                AnswerState::Told(answer) => return Waited::Came(answer),
                AnswerState::Over => return Waited::Never,
                AnswerState::Missing => *state = AnswerState::Missing,
            }
            let left = until.saturating_sub(clock.now());
            if left.is_zero() || limit.has_ended() {
                return Waited::TimedOut;
            }
            (state, _) = self.shared.news.wait_timeout(state, limit.until_next_look(left));
        }
    }
}

/// Lets `time` pass.
pub fn pause(time: Duration, clock: &dyn Clock) {
    let (_silent, waiter) = one_answer::<()>();
    let _ = waiter.wait(clock.now().saturating_add(time), clock, &WaitLimit::default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::cancel::CancelFlag;
    use evergraph_storage::io::clock::{ManualClock, SystemClock};
    use evergraph_storage::sync::thread::spawn;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn an_answer_comes_once_never_or_too_late() {
        let clock = ManualClock::new(0);
        let endless = WaitLimit::default();
        let (teller, waiter) = one_answer();
        assert_eq!(waiter.wait(Duration::ZERO, &clock, &endless), Waited::TimedOut);
        teller.tell(7);
        assert_eq!(waiter.wait(Duration::ZERO, &clock, &endless), Waited::Came(7));
        assert_eq!(waiter.wait(LONG, &clock, &endless), Waited::Never);
        let (teller, waiter) = one_answer::<u8>();
        drop(teller);
        assert_eq!(waiter.wait(LONG, &clock, &endless), Waited::Never);
    }

    #[test]
    fn whoever_waits_is_woken() {
        let clock = SystemClock::new();
        for is_told in [true, false] {
            let (teller, waiter) = one_answer();
            let telling = spawn("tells", move || {
                if is_told {
                    teller.tell(1)
                }
            })
            .expect("there is a thread");
            let expected = if is_told { Waited::Came(1) } else { Waited::Never };
            assert_eq!(waiter.wait(LONG, &clock, &WaitLimit::default()), expected);
            telling.join().expect("it only tells");
        }
        pause(Duration::from_millis(1), &clock);
    }

    #[test]
    fn a_wait_ends_with_its_limit() {
        let (clock, flag) = (SystemClock::new(), CancelFlag::default());
        let (teller, waiter) = one_answer::<u8>();
        let limit = WaitLimit::default().and(flag.clone());
        let waiting = spawn("waits", move || {
            assert_eq!(waiter.wait(LONG, &clock, &limit), Waited::TimedOut);
        });
        flag.cancel();
        waiting.expect("there is a thread").join().expect("it ends with its limit");
        drop(teller);
    }
}
