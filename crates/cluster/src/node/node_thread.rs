//! Node thread: the thread that owns a node, and how others reach it.
//!
//! ```text
//! log, network, workers ── wake ──┐
//! callers ── call ──> calls ──────┴──> bell ──> thread: calls, then a step ──> sleeps until the bell, or the next step is due
//! ```
//!
//! Nothing of a node is locked: one thread has it, and whoever wants something of it hands over a call. Log and network are built
//! with the bell's waker, before the node is there.
//!
//! Calls that wait are limited. When the thread ends, by a step, on demand, or since it panicked, calls that wait are dropped, and
//! later ones are refused.

use evergraph_storage::io::clock::Clock;
use evergraph_storage::sync::thread::{JoinHandle, spawn};
use evergraph_storage::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

/// Calls that may wait for the thread.
const CALLS_MAX: usize = 4096;

/// A node, as its thread drives it.
pub trait ThreadedNode: Send + 'static {
    /// Does what is due at `now`.
    fn step(&mut self, now: Duration) -> NodeStep;
}

/// What comes after a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeStep {
    /// The next step, when the bell rings; or at this time, if it has not rung before.
    Sleep(Option<Duration>),
    /// Nothing: the thread ends.
    End,
}

/// What the thread is asked to do with its node at a time.
type Call<N> = Box<dyn FnOnce(&mut N, Duration) + Send>;

/// What wakes the thread of a node that is not there yet.
#[derive(Debug)]
pub struct NodeBell<N> {
    shared: Arc<Shared<N>>,
}

/// The thread of a node. Dropped, it ends the thread, and waits for that.
#[derive(Debug)]
pub struct NodeThread<N> {
    shared: Arc<Shared<N>>,
    thread: Option<JoinHandle<()>>,
}

/// Reaches a node from any thread, as long as its own runs.
#[derive(Debug)]
pub struct NodeHandle<N> {
    shared: Arc<Shared<N>>,
}

/// Why a call is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CallError {
    /// Too many wait: call again in a moment.
    Full,
    /// The thread has ended.
    Ended,
}

/// # Concurrency
///
/// The lock orders calls and rings with the thread's sleep: what is put in before the thread looks is done, and what is put in
/// later wakes it. Calls run outside of it.
struct Shared<N> {
    inbox: Mutex<Inbox<N>>,
    news: Condvar,
}

struct Inbox<N> {
    calls: VecDeque<Call<N>>,
    /// Something has news since the thread looked last.
    is_rung: bool,
    phase: ThreadPhase,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ThreadPhase {
    Runs,
    /// It was asked to end.
    Ends,
    HasEnded,
}

impl<N> Shared<N> {
    fn ring(&self) {
        let mut inbox = self.inbox.lock();
        if !inbox.is_rung {
            inbox.is_rung = true;
            self.news.notify_one();
        }
    }

    fn call(&self, call: Call<N>) -> Result<(), CallError> {
        let mut inbox = self.inbox.lock();
        if inbox.phase != ThreadPhase::Runs {
            return Err(CallError::Ended);
        }
        if inbox.calls.len() >= CALLS_MAX {
            return Err(CallError::Full);
        }
        inbox.calls.push_back(call);
        self.news.notify_one();
        Ok(())
    }

    /// The calls that wait; `None` if the thread is asked to end.
    fn take(&self) -> Option<VecDeque<Call<N>>> {
        let mut inbox = self.inbox.lock();
        inbox.is_rung = false;
        (inbox.phase == ThreadPhase::Runs).then(|| std::mem::take(&mut inbox.calls))
    }

    /// Sleeps until there is news, or `next` comes.
    fn sleep(&self, next: Option<Duration>, clock: &dyn Clock) {
        let mut inbox = self.inbox.lock();
        while !inbox.is_rung && inbox.calls.is_empty() && inbox.phase == ThreadPhase::Runs {
            match next.map(|next| next.saturating_sub(clock.now())) {
                None => inbox = self.news.wait(inbox),
                Some(wait) if wait.is_zero() => return,
                Some(wait) => (inbox, _) = self.news.wait_timeout(inbox, wait),
            }
        }
    }

    fn end(&self) {
        let mut inbox = self.inbox.lock();
        inbox.phase = ThreadPhase::HasEnded;
        let dropped = std::mem::take(&mut inbox.calls);
        // What a call holds may reach the node when it is dropped.
        drop(inbox);
        drop(dropped);
    }
}

impl<N: 'static> Wake for Shared<N> {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

impl<N: ThreadedNode> NodeBell<N> {
    /// Of a node that is built next.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a bell without a node is nothing by itself")]
    pub fn new() -> Self {
        let inbox = Inbox { calls: VecDeque::new(), is_rung: false, phase: ThreadPhase::Runs };
        Self { shared: Arc::new(Shared { inbox: Mutex::new(inbox), news: Condvar::new() }) }
    }

    /// Wakes the thread of the node, from any thread, and does not wait.
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.shared))
    }

    /// Reaches the node once its thread has started; calls wait until then.
    #[must_use]
    pub fn handle(&self) -> NodeHandle<N> {
        NodeHandle { shared: Arc::clone(&self.shared) }
    }

    /// Starts the thread `name`, which has the node from here on.
    ///
    /// # Errors
    /// What the system says if it has no thread to give.
    pub fn start(self, name: &str, clock: Arc<dyn Clock>, node: N) -> io::Result<NodeThread<N>> {
        let shared = Arc::clone(&self.shared);
        let body = move || {
            let ended = EndedThread { shared };
            run(&ended.shared, &*clock, node);
        };
        match spawn(name, body) {
            Ok(thread) => Ok(NodeThread { shared: self.shared, thread: Some(thread) }),
            Err(error) => {
                self.shared.end();
                Err(error)
            }
        }
    }
}

fn run<N: ThreadedNode>(shared: &Shared<N>, clock: &dyn Clock, mut node: N) {
    while let Some(calls) = shared.take() {
        let now = clock.now();
        calls.into_iter().for_each(|call| call(&mut node, now));
        match node.step(now) {
            NodeStep::Sleep(next) => shared.sleep(next, clock),
            NodeStep::End => return,
        }
    }
}

/// Says that the thread has ended, also if it panics.
struct EndedThread<N> {
    shared: Arc<Shared<N>>,
}

impl<N> Drop for EndedThread<N> {
    fn drop(&mut self) {
        self.shared.end();
    }
}

impl<N> NodeThread<N> {
    /// Reaches the node.
    #[must_use]
    pub fn handle(&self) -> NodeHandle<N> {
        NodeHandle { shared: Arc::clone(&self.shared) }
    }

    /// Whether the thread has ended by itself.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.shared.inbox.lock().phase == ThreadPhase::HasEnded
    }
}

impl<N> Drop for NodeThread<N> {
    fn drop(&mut self) {
        let mut inbox = self.shared.inbox.lock();
        if inbox.phase == ThreadPhase::Runs {
            inbox.phase = ThreadPhase::Ends;
            self.shared.news.notify_one();
        }
        drop(inbox);
        // One that panicked has ended, too.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl<N> NodeHandle<N> {
    /// Has the thread do something with the node, before its next step. Does not wait for that.
    ///
    /// # Errors
    /// [`CallError`]; it is not done. One that is taken is dropped if the thread ends first.
    pub fn call(&self, call: impl FnOnce(&mut N, Duration) + Send + 'static) -> Result<(), CallError> {
        self.shared.call(Box::new(call))
    }
}

impl<N> Clone for NodeHandle<N> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<N> fmt::Debug for Shared<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inbox = self.inbox.lock();
        f.debug_struct("Shared").field("calls", &inbox.calls.len()).field("phase", &inbox.phase).finish()
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the node has too much to do: try again in a moment",
            Self::Ended => "the node has stopped",
        })
    }
}

impl std::error::Error for CallError {}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_storage::io::clock::SystemClock;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// Tells of each step, and ends at the last one.
    struct Counter {
        steps: u64,
        last: u64,
        next: Option<Duration>,
        told: Sender<u64>,
    }

    impl ThreadedNode for Counter {
        fn step(&mut self, now: Duration) -> NodeStep {
            self.steps += 1;
            // Whoever listened may have gone.
            let _ = self.told.send(self.steps);
            match self.steps == self.last {
                true => NodeStep::End,
                false => NodeStep::Sleep(self.next.map(|wait| now + wait)),
            }
        }
    }

    fn started(last: u64, next: Option<Duration>) -> (NodeThread<Counter>, Waker, Receiver<u64>) {
        let (told, steps) = channel();
        let bell = NodeBell::new();
        let waker = bell.waker();
        let node = Counter { steps: 0, last, next, told };
        (bell.start("counter", Arc::new(SystemClock::new()), node).unwrap(), waker, steps)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_node_steps_when_its_bell_rings_and_when_something_is_due() {
        let (_thread, waker, steps) = started(u64::MAX, None);
        assert_eq!(steps.recv_timeout(LONG), Ok(1));
        assert!(steps.recv_timeout(Duration::from_millis(30)).is_err(), "nothing is due");
        waker.wake_by_ref();
        assert_eq!(steps.recv_timeout(LONG), Ok(2));
        let (_thread, _waker, steps) = started(u64::MAX, Some(Duration::from_millis(1)));
        for number in 1..=5 {
            assert_eq!(steps.recv_timeout(LONG), Ok(number));
        }
    }

    #[test]
    fn calls_are_done_in_order_before_the_next_step() {
        let (thread, _waker, steps) = started(u64::MAX, None);
        assert_eq!(steps.recv_timeout(LONG), Ok(1));
        let (said, answers) = channel();
        for number in 0..100 {
            let said = said.clone();
            let call = move |node: &mut Counter, _: Duration| {
                node.steps += 1000;
                said.send(number).unwrap();
            };
            thread.handle().call(call).unwrap();
        }
        let numbers: Vec<_> = (0..100).map(|_| answers.recv_timeout(LONG).unwrap()).collect();
        assert!(numbers.iter().copied().eq(0..100));
        assert!(steps.recv_timeout(LONG).unwrap() > 1000);
    }

    #[test]
    fn a_thread_that_has_ended_takes_no_calls_and_drops_those_that_wait() {
        let (thread, waker, steps) = started(2, None);
        let handle = thread.handle();
        assert_eq!(steps.recv_timeout(LONG), Ok(1));
        waker.wake();
        assert_eq!(steps.recv_timeout(LONG), Ok(2));
        assert!(steps.recv_timeout(LONG).is_err(), "the node is dropped");
        drop(thread);
        assert_eq!(handle.call(|_, _| ()), Err(CallError::Ended));
        // By a panic.
        let (thread, _waker, steps) = started(u64::MAX, None);
        let handle = thread.handle();
        handle.call(|_, _| panic!("on purpose")).unwrap();
        while steps.recv_timeout(LONG).is_ok() {}
        drop(thread);
        assert_eq!(handle.call(|_, _| ()), Err(CallError::Ended));
    }

    #[test]
    fn what_waits_for_a_node_that_is_not_there_yet_is_limited() {
        let bell = NodeBell::<Counter>::new();
        let handle = bell.handle();
        for _ in 0..CALLS_MAX {
            handle.call(|_, _| ()).unwrap();
        }
        assert_eq!(handle.call(|_, _| ()), Err(CallError::Full));
    }
}
