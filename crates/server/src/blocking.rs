//! Blocking: threads for work that waits for disks or counts for long, and must not hold up a network thread.

use crate::failure::Failure;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::wait_limit::WaitLimit;
use std::sync::Arc;
use std::thread;
use tokio::sync::{Semaphore, oneshot};

/// Threads at once, for each server.
const THREADS_MAX: usize = 8;

/// Room for threads that each do one piece of work, and end with it.
pub struct BlockingThreads {
    room: Arc<Semaphore>,
}

impl Default for BlockingThreads {
    fn default() -> Self {
        Self { room: Arc::new(Semaphore::new(THREADS_MAX)) }
    }
}

impl BlockingThreads {
    /// Does `work` on a thread of its own, and waits for what comes of it. If nobody waits any more, because the client is
    /// gone, the flag that `work` has is cancelled, which also ends its waits for other machines.
    ///
    /// # Errors
    /// 596 if all threads are taken, or the system refuses one: nothing was done. 500 if `work` panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CancelFlag) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let permit = Arc::clone(&self.room).try_acquire_owned();
        let permit = permit.map_err(|_| {
            Failure::busy(format!(
                "{THREADS_MAX} requests that administer or count are being answered: try again later"
            ))
        })?;
        let cancel = CancelFlag::default();
        let _abandoned = CancelOnDrop(cancel.clone());
        let (answer, outcome) = oneshot::channel();
        let thread = thread::Builder::new().name("server-admin".to_owned()).spawn(move || {
            let waits = WaitLimit::default().and(cancel.clone()).enter();
            let done = work(&cancel);
            drop(waits);
            // Before anybody hears of it.
            drop(permit);
            let _ = answer.send(done);
        });
        thread.map_err(|error| Failure::busy(format!("start a thread: {error}")))?;
        outcome.await.map_err(|_| Failure::internal())
    }
}

/// Cancels work that nobody waits for.
struct CancelOnDrop(CancelFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    /// So long work waits at most, and a test for it.
    const LONG: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn waits_for_other_machines_end_when_nobody_waits_for_the_work() {
        let (threads, (ended, was_ended)) = (BlockingThreads::default(), mpsc::channel());
        let running = threads.run(move |_| {
            let (limit, begun) = (WaitLimit::of_thread(), Instant::now());
            while !limit.has_ended() && begun.elapsed() < LONG {
                thread::yield_now();
            }
            ended.send(limit.has_ended()).unwrap();
        });
        let abandoned = tokio::time::timeout(Duration::from_millis(10), running).await;
        assert!(abandoned.is_err(), "it waits");
        assert_eq!(was_ended.recv_timeout(LONG), Ok(true));
    }
}
