//! Bell: wakes a background thread of the log that sleeps without a timeout.

use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Condvar, Mutex};
use std::time::Duration;

/// Wakes one background thread.
///
/// Concurrency: anybody rings; rings while the thread is awake are one. A ring happens before
/// the return of the [`Bell::wait`] that it ends, and one that finds `rung` set is seen by the
/// thread when it looks at the state that the ringer changed before (under that state's lock).
#[derive(Debug)]
pub(crate) struct Bell {
    /// Set by a ring, cleared by the thread as it wakes. Release and Acquire; changed from false
    /// to true only with `stopped` locked, so that no ring falls between look and sleep.
    rung: AtomicBool,
    stopped: Mutex<bool>,
    wake: Condvar,
    /// Apart from `wake`, so that a ring does not end a pause.
    stop: Condvar,
}

impl Bell {
    /// A bell that has not rung.
    pub(crate) fn new() -> Self {
        Self {
            rung: AtomicBool::new(false),
            stopped: Mutex::new(false),
            wake: Condvar::new(),
            stop: Condvar::new(),
        }
    }

    /// Wakes the thread. Cost: one load if it was rung already.
    pub(crate) fn ring(&self) {
        if !self.rung.load(Ordering::Acquire) {
            let _stopped = self.stopped.lock();
            self.rung.store(true, Ordering::Release);
            self.wake.notify_one();
        }
    }

    /// Tells the thread to end.
    pub(crate) fn stop(&self) {
        *self.stopped.lock() = true;
        self.wake.notify_one();
        self.stop.notify_one();
    }

    /// Sleeps until the bell rings; false if the thread shall end.
    pub(crate) fn wait(&self) -> bool {
        let mut stopped = self.stopped.lock();
        while !*stopped && !self.rung.load(Ordering::Acquire) {
            stopped = self.wake.wait(stopped);
        }
        self.rung.store(false, Ordering::Release);
        !*stopped
    }

    /// As [`Bell::wait`], without sleeping: whether the bell has rung.
    pub(crate) fn was_rung(&self) -> bool {
        let _stopped = self.stopped.lock();
        self.rung.swap(false, Ordering::AcqRel)
    }

    /// Sleeps for about `time`, whoever rings; false if the thread shall end.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        let stopped = self.stopped.lock();
        let stopped = if *stopped { stopped } else { self.stop.wait_timeout(stopped, time).0 };
        !*stopped
    }
}
