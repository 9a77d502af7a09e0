//! Periodic thread: does the same again and again, until it is dropped.

use evergraph_storage::sync::thread::{JoinHandle, spawn};
use evergraph_storage::sync::{Condvar, Mutex};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The thread. Dropped, it ends it, and waits for that.
pub(super) struct PeriodicThread {
    end: Arc<EndSignal>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct EndSignal {
    has_come: Mutex<bool>,
    news: Condvar,
}

impl PeriodicThread {
    /// Starts the thread `name`, which does `work` at once, and waits for `interval` after each time.
    ///
    /// # Errors
    /// What the system says if it has no thread to give.
    pub(super) fn start(
        name: &str,
        interval: Duration,
        mut work: impl FnMut() + Send + 'static,
    ) -> io::Result<Self> {
        let end = Arc::<EndSignal>::default();
        let ended = Arc::clone(&end);
        let run = move || {
            loop {
                work();
                let has_come = ended.has_come.lock();
                if *has_come || *ended.news.wait_timeout(has_come, interval).0 {
                    return;
                }
            }
        };
        Ok(Self { end, thread: Some(spawn(name, run)?) })
    }
}

impl Drop for PeriodicThread {
    fn drop(&mut self) {
        *self.end.has_come.lock() = true;
        self.end.news.notify_all();
        // One that panicked has ended, too.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
