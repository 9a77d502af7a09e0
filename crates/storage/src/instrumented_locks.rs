//! Instrumented locks: the standard library's interface over locks that the thread sanitizer understands.
//!
//! The library comes compiled, without the sanitizer's instructions. Where its locks wait, the sanitizer
//! misses what orders two threads and reports races that are none. Those of `parking_lot` are compiled
//! with everything else. Only `crate::sync` uses them, only with `--cfg tsan`, which `make sanitizers` sets.

use std::sync::{LockResult, TryLockError, TryLockResult};
use std::time::Duration;

/// As [`std::sync::Mutex`]; never poisoned.
#[derive(Debug, Default)]
pub struct Mutex<T>(parking_lot::Mutex<T>);

/// As [`std::sync::MutexGuard`].
pub type MutexGuard<'a, T> = parking_lot::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    /// A free lock around `value`.
    pub fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }

    /// Waits for the lock.
    ///
    /// # Errors
    /// None.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        Ok(self.0.lock())
    }

    /// Takes the lock if it is free now.
    ///
    /// # Errors
    /// [`TryLockError::WouldBlock`] if it isn't.
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        self.0.try_lock().ok_or(TryLockError::WouldBlock)
    }
}

/// As [`std::sync::RwLock`]; never poisoned.
#[derive(Debug, Default)]
pub struct RwLock<T>(parking_lot::RwLock<T>);

/// As [`std::sync::RwLockReadGuard`].
pub type RwLockReadGuard<'a, T> = parking_lot::RwLockReadGuard<'a, T>;

/// As [`std::sync::RwLockWriteGuard`].
pub type RwLockWriteGuard<'a, T> = parking_lot::RwLockWriteGuard<'a, T>;

impl<T> RwLock<T> {
    /// A free lock around `value`.
    pub fn new(value: T) -> Self {
        Self(parking_lot::RwLock::new(value))
    }

    /// Waits until no writer holds the lock.
    ///
    /// # Errors
    /// None.
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        Ok(self.0.read())
    }

    /// Waits until the lock is free.
    ///
    /// # Errors
    /// None.
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        Ok(self.0.write())
    }
}

/// As [`std::sync::Condvar`].
#[derive(Debug, Default)]
pub struct Condvar(parking_lot::Condvar);

impl Condvar {
    /// No thread waits yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Releases `guard`, sleeps until notified, and locks again.
    ///
    /// # Errors
    /// None.
    pub fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.0.wait(&mut guard);
        Ok(guard)
    }

    /// As [`Condvar::wait`], for at most `timeout`.
    ///
    /// # Errors
    /// None.
    pub fn wait_timeout<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, parking_lot::WaitTimeoutResult)> {
        let result = self.0.wait_for(&mut guard, timeout);
        Ok((guard, result))
    }

    /// Wakes one waiter.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes every waiter.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
