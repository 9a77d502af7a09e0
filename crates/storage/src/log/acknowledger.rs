//! Acknowledger: the commits for which one thread waits for the disk, because their callers do not.
//!
//! ```text
//! commits     ──> queue ──> the thread takes all, waits for the newest, calls each
//! more commits ──> queue meanwhile: they share the next sync
//! ```
//!
//! To the group commit this thread is one more committer: it leads, or waits for a leader, as any other.
//! It starts with the first commit that needs it, so that a program whose callers wait has none.

use std::fmt;

use crate::log::error::LogError;
use crate::log::wake_signal::Bell;
use crate::sync::Mutex;

/// Called once when a commit may be acknowledged, or when the write or sync of it failed.
pub type Acknowledged = Box<dyn FnOnce(Result<(), LogError>) + Send>;

/// Commits that wait for the disk without a thread of their own.
///
/// Concurrency: any thread enters commits, one thread takes them out. `queue` is a leaf; callbacks run without it.
#[derive(Debug)]
pub(crate) struct Acknowledger {
    pub(crate) bell: Bell,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<(u64, Acknowledged)>,
    has_thread: bool,
    is_closed: bool,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

impl Acknowledger {
    pub(crate) fn new() -> Self {
        Self { bell: Bell::new(), queue: Mutex::default() }
    }

    /// Has the thread, which `start` starts if it isn't there yet, call `done` once commit `ts` is durable.
    /// Gives `done` back if there is no thread for it: then the caller waits.
    pub(crate) fn enter(
        &self,
        ts: u64,
        done: Acknowledged,
        start: impl FnOnce() -> Result<(), LogError>,
    ) -> Result<(), Acknowledged> {
        let mut queue = self.queue.lock();
        if queue.is_closed || (!queue.has_thread && start().is_err()) {
            return Err(done);
        }
        queue.has_thread = true;
        queue.waiting.push((ts, done));
        drop(queue);
        self.bell.ring();
        Ok(())
    }

    /// Lets no commit enter any more, and has the thread end when all that entered are done.
    pub(crate) fn close(&self) {
        self.queue.lock().is_closed = true;
        self.bell.stop();
    }

    /// All commits that wait, which this forgets.
    pub(crate) fn take(&self) -> Vec<(u64, Acknowledged)> {
        std::mem::take(&mut self.queue.lock().waiting)
    }
}
