//! Locks, atomics and threads: the only place that imports them, so that shuttle can control them.
//!
//! ```text
//! (nothing)       the standard library's
//! --cfg shuttle   shuttle's, all of them: tests explore schedules
//! --cfg loom      the atomics alone are loom's: `tests/weak_orders.rs` looks at what they publish, in every
//!                 order that the language allows
//! --cfg tsan      the locks are those of `instrumented_locks.rs`, through which the thread sanitizer sees
//! ```
//!
//! Locks here do not poison: a panic under the commit latch poisons the *store* (see `transaction::latch`),
//! which says more.
//!
//! Lock order, outermost first: what applies decided commits, commit latch, note versions, registry, index shard, merge
//! queue, log buffer. Whoever leads the log's group commit takes none of them but the log buffer.
//! Leaves, inside which nothing else is locked: the memory budget, the queue of a read pool, the list of indexes that are to
//! be filled, marks of the log.
//! Under the commit latch nobody waits, does I/O or frees large memory.

use std::ops::Deref;
use std::sync::{Arc, TryLockError};
use std::time::Duration;

#[cfg(tsan)]
use crate::instrumented_locks as base;
#[cfg(shuttle)]
use shuttle::sync as base;
#[cfg(not(any(shuttle, tsan)))]
use std::sync as base;

/// How many schedules a test explores where `make test` explores `all`: a tenth in CI, whose time is short.
#[cfg(shuttle)]
#[must_use]
pub fn schedules(all: usize) -> usize {
    if std::env::var_os("CI").is_some() { all.div_ceil(10) } else { all }
}

/// Atomics; each user says what it publishes and who reads it.
pub mod atomic {
    #[cfg(loom)]
    pub use loom::sync::atomic::{
        AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
    #[cfg(shuttle)]
    pub use shuttle::sync::atomic::{
        AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
    #[cfg(not(any(shuttle, loom)))]
    pub use std::sync::atomic::{
        AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}

/// Threads; a named thread is spawned with [`thread::spawn`].
pub mod thread {
    #[cfg(shuttle)]
    pub use shuttle::thread::{JoinHandle, Thread, current, park, yield_now};
    #[cfg(not(shuttle))]
    pub use std::thread::{JoinHandle, Thread, current, park, yield_now};

    /// Starts a named background thread.
    ///
    /// # Errors
    /// What the operating system says when it has no thread to give.
    #[cfg(not(shuttle))]
    pub fn spawn<F>(name: &str, body: F) -> std::io::Result<JoinHandle<()>>
    where
        F: FnOnce() + Send + 'static,
    {
        std::thread::Builder::new().name(name.to_owned()).spawn(body)
    }

    /// Starts a background thread that shuttle schedules.
    ///
    /// # Errors
    /// None under shuttle.
    #[cfg(shuttle)]
    pub fn spawn<F>(name: &str, body: F) -> std::io::Result<JoinHandle<()>>
    where
        F: FnOnce() + Send + 'static,
    {
        shuttle::thread::Builder::new().name(name.to_owned()).spawn(body)
    }
}

/// A mutual exclusion lock that does not poison.
#[derive(Debug, Default)]
#[allow(clippy::disallowed_types)]
pub struct Mutex<T>(base::Mutex<T>);

/// Holds a [`Mutex`]; gives it back when dropped.
#[allow(clippy::disallowed_types)]
pub type MutexGuard<'a, T> = base::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    /// A free lock around `value`.
    #[allow(clippy::disallowed_types)]
    pub fn new(value: T) -> Self {
        Self(base::Mutex::new(value))
    }

    /// Waits for the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Takes the lock if it is free now.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// A lock for many readers or one writer that does not poison.
#[derive(Debug, Default)]
#[allow(clippy::disallowed_types)]
pub struct RwLock<T>(base::RwLock<T>);

impl<T> RwLock<T> {
    /// A free lock around `value`.
    #[allow(clippy::disallowed_types)]
    pub fn new(value: T) -> Self {
        Self(base::RwLock::new(value))
    }

    /// Waits until no writer holds the lock.
    pub fn read(&self) -> base::RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits until the lock is free.
    pub fn write(&self) -> base::RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Waits for another thread's news, with a [`Mutex`] around what the news is about.
#[derive(Debug, Default)]
#[allow(clippy::disallowed_types)]
pub struct Condvar(base::Condvar);

impl Condvar {
    /// No thread waits yet.
    #[allow(clippy::disallowed_types)]
    #[inline]
    pub fn new() -> Self {
        Self(base::Condvar::new())
    }

    /// Releases `guard`, sleeps until notified (or woken for nothing), and locks again.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// As [`Condvar::wait`], for at most `timeout`; whether the time passed without a notification.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        let (guard, result) =
            self.0.wait_timeout(guard, timeout).unwrap_or_else(|poisoned| poisoned.into_inner());
        (guard, result.timed_out())
    }

    /// Wakes one waiter.
    #[inline]
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes every waiter.
    #[inline]
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// An `Arc` that readers load without waiting while a writer replaces it.
///
/// Concurrency: any thread loads; stores are ordered by whatever lock the owner names.
/// A store publishes everything written before it (Release); a load sees it (Acquire).
#[derive(Debug)]
pub struct ArcCell<T> {
    #[cfg(not(shuttle))]
    inner: arc_swap::ArcSwap<T>,
    #[cfg(shuttle)]
    inner: Mutex<Arc<T>>,
}

impl<T> ArcCell<T> {
    /// Holds `value`.
    pub fn new(value: Arc<T>) -> Self {
        Self {
            #[cfg(not(shuttle))]
            inner: arc_swap::ArcSwap::new(value),
            #[cfg(shuttle)]
            inner: Mutex::new(value),
        }
    }

    /// The present value, for a short look. Cost: about 20 ns, no reference count.
    pub fn load(&self) -> impl Deref<Target = Arc<T>> + '_ {
        #[cfg(not(shuttle))]
        return self.inner.load();
        #[cfg(shuttle)]
        return Loaded(self.load_full());
    }

    /// The present value, to keep.
    pub fn load_full(&self) -> Arc<T> {
        #[cfg(not(shuttle))]
        return self.inner.load_full();
        #[cfg(shuttle)]
        return self.inner.lock().clone();
    }

    /// Replaces the value and returns the old one, so that the caller chooses where it is freed.
    #[inline]
    pub fn swap(&self, value: Arc<T>) -> Arc<T> {
        #[cfg(not(shuttle))]
        return self.inner.swap(value);
        #[cfg(shuttle)]
        return std::mem::replace(&mut *self.inner.lock(), value);
    }
}

#[cfg(shuttle)]
struct Loaded<T>(Arc<T>);

#[cfg(shuttle)]
impl<T> Deref for Loaded<T> {
    type Target = Arc<T>;
    fn deref(&self) -> &Arc<T> {
        &self.0
    }
}
