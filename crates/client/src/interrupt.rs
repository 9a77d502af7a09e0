//! `Interrupt`: what asks a call to stop that waits for a server: a flag, or a question that the waiting thread asks.

use evergraph_graph::cancel::CancelFlag;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the question is asked at most.
const INTERVAL: Duration = Duration::from_millis(50);

/// Asks waiting calls to stop. Copies share one state.
///
/// ```
/// use evergraph_client::interrupt::Interrupt;
/// use evergraph_graph::cancel::CancelFlag;
///
/// let flag = CancelFlag::default();
/// let interrupt = Interrupt::from(&flag);
/// flag.cancel();
/// assert!(interrupt.is_set());
/// ```
///
/// Concurrency: any thread. The question is asked by the thread that waits, every 50 ms at most, while nothing is locked
/// but other askers.
#[derive(Clone, Default)]
pub struct Interrupt {
    flag: CancelFlag,
    question: Option<Arc<Question>>,
}

struct Question {
    ask: Box<dyn Fn() -> bool + Send + Sync>,
    /// When it was asked last.
    asked_at: Mutex<Option<Instant>>,
}

impl Interrupt {
    /// Set once `ask` answers true. Whoever waits asks: so signals are looked for on the thread that gets them.
    #[must_use]
    pub fn asking(ask: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let question = Question { ask: Box::new(ask), asked_at: Mutex::new(None) };
        Self { flag: CancelFlag::default(), question: Some(Arc::new(question)) }
    }

    /// Whether a call shall stop.
    #[must_use]
    pub fn is_set(&self) -> bool {
        if self.flag.is_cancelled() {
            return true;
        }
        let Some(question) = &self.question else { return false };
        {
            let mut asked_at = question.asked_at.lock().unwrap_or_else(PoisonError::into_inner);
            if asked_at.is_some_and(|asked_at| asked_at.elapsed() < INTERVAL) {
                return false;
            }
            *asked_at = Some(Instant::now());
        }
        let is_set = (question.ask)();
        if is_set {
            self.flag.cancel();
        }
        is_set
    }
}

impl From<&CancelFlag> for Interrupt {
    fn from(flag: &CancelFlag) -> Self {
        Self { flag: flag.clone(), question: None }
    }
}

impl From<&Interrupt> for Interrupt {
    fn from(interrupt: &Interrupt) -> Self {
        interrupt.clone()
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupt").field("flag", &self.flag).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn the_question_is_asked_now_and_then_until_it_is_answered() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let interrupt = Interrupt::asking(move || count.fetch_add(1, Ordering::Relaxed) == 1);
        let began = Instant::now();
        let is_unset = !interrupt.is_set() && !interrupt.is_set();
        // On a busy machine the time may be over between the two.
        if began.elapsed() < INTERVAL {
            assert!(is_unset && asked.load(Ordering::Relaxed) == 1, "not so soon");
        }
        std::thread::sleep(INTERVAL);
        assert!(interrupt.is_set() && interrupt.is_set());
        assert_eq!(asked.load(Ordering::Relaxed), 2, "once set it stays so");
    }
}
