//! Answer queue: what became of requests, on its way from their tasks to the thread of the node.

use crate::log::shared_log::LogAnswer;
use evergraph_storage::sync::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

/// Answers that nobody took yet: at most as many as requests.
///
/// # Concurrency
///
/// Tasks put answers in and wake the thread of the node, which takes them. The lock is held for a push or a pop.
pub(super) struct AnswerQueue {
    answers: Mutex<VecDeque<LogAnswer>>,
    waker: Waker,
}

impl AnswerQueue {
    /// An empty queue, whose thread `waker` wakes.
    pub(super) fn new(waker: Waker) -> Self {
        Self { answers: Mutex::default(), waker }
    }

    /// The oldest answer.
    pub(super) fn pop(&self) -> Option<LogAnswer> {
        self.answers.lock().pop_front()
    }

    fn push(&self, answer: LogAnswer) {
        self.answers.lock().push_back(answer);
        self.waker.wake_by_ref();
    }
}

/// A request, which is answered once whatever becomes of its task: one that ends early leaves the answer that says so.
pub(super) struct OpenRequest {
    answers: Arc<AnswerQueue>,
    /// What is said if nothing else is.
    unanswered: Option<LogAnswer>,
}

impl OpenRequest {
    /// A request that is answered with `unanswered` unless something else comes.
    pub(super) fn new(answers: Arc<AnswerQueue>, unanswered: LogAnswer) -> Self {
        Self { answers, unanswered: Some(unanswered) }
    }

    /// Answers it.
    pub(super) fn answer(mut self, answer: LogAnswer) {
        self.unanswered = Some(answer);
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        if let Some(answer) = self.unanswered.take() {
            self.answers.push(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::shared_log::{AppendId, LogError};
    use crate::log_position::LogPosition;
    use evergraph_storage::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn answer(id: u64, result: Result<LogPosition, LogError>) -> LogAnswer {
        LogAnswer::Append { id: AppendId(id), result }
    }

    #[test]
    fn every_request_is_answered_once_also_if_its_task_ends_early() {
        let wakes = Arc::new(Wakes(AtomicUsize::new(0)));
        let queue = Arc::new(AnswerQueue::new(Arc::clone(&wakes).into()));
        let unknown = |id| answer(id, Err(LogError::UnknownOutcome));
        let open = |id| OpenRequest::new(Arc::clone(&queue), unknown(id));
        let (first, second) = (open(1), open(2));
        assert_eq!(queue.pop(), None);
        second.answer(answer(2, Ok(LogPosition(9))));
        drop(first);
        assert_eq!([queue.pop(), queue.pop()], [Some(answer(2, Ok(LogPosition(9)))), Some(unknown(1))]);
        assert_eq!(queue.pop(), None);
        assert_eq!(wakes.0.load(Ordering::Relaxed), 2);
    }
}
