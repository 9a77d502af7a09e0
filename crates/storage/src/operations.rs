//! Operations: counts operations on the files of an open database, so that closing can wait for them.
//!
//! ```text
//! checkpoint, load, backup, check, index build   begin ........................ end
//! close                                                refuse new ones, wait ......|  give the lock back
//! ```
//!
//! Without the wait, whoever opens the database next would remove the files of a checkpoint that is still
//! being written, and that checkpoint would then rename a manifest which names them. An index build, which may write
//! files too, ends early.
//!
//! Concurrency: one mutex, held for a few instructions; any thread begins, one at a time closes. An operation
//! never waits for another one, so that closing ends when they do.

use crate::sync::thread::{self, Thread};
use crate::sync::{Condvar, Mutex};
use evergraph_graph::error::{Error, ErrorKind, Result};

/// The operations of one open database.
#[derive(Debug, Default)]
pub struct Operations {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_closed: bool,
    /// The threads of the operations under way.
    threads: Vec<Thread>,
}

/// An operation under way; it ends when dropped.
#[derive(Debug)]
#[must_use = "an operation ends when this is dropped"]
pub struct Operation<'a> {
    operations: &'a Operations,
}

impl Operations {
    /// Begins an operation on the calling thread, which ends it too.
    ///
    /// # Errors
    /// `invalid` if the database is closed, or about to be.
    pub fn begin(&self) -> Result<Operation<'_>> {
        let mut state = self.state.lock();
        if state.is_closed {
            return Err(closed());
        }
        state.threads.push(thread::current());
        Ok(Operation { operations: self })
    }

    /// Asked by an operation that need not run to its end when the database is about to be closed.
    ///
    /// # Errors
    /// `invalid` then.
    pub fn check_open(&self) -> Result<()> {
        if self.state.lock().is_closed { Err(closed()) } else { Ok(()) }
    }

    /// Lets no operation begin any more.
    ///
    /// # Errors
    /// `invalid` if the calling thread is in the midst of an operation, for which it would wait for ever.
    pub fn refuse_more(&self) -> Result<()> {
        let mut state = self.state.lock();
        let own = thread::current().id();
        if state.threads.iter().any(|thread| thread.id() == own) {
            return Err(Error::new(
                ErrorKind::Invalid,
                "the database can't be closed from inside one of its checkpoints, loads, backups, checks or \
                 index builds: close it when that has ended",
            ));
        }
        state.is_closed = true;
        Ok(())
    }

    /// Returns when every operation has ended.
    pub fn wait(&self) {
        let mut state = self.state.lock();
        while !state.threads.is_empty() {
            state = self.ended.wait(state);
        }
    }
}

fn closed() -> Error {
    Error::invalid("the database is closed: open it again")
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        let own = thread::current().id();
        let mut state = self.operations.state.lock();
        let at = state.threads.iter().position(|thread| thread.id() == own);
        state.threads.swap_remove(at.expect("an operation ends on the thread that began it, once"));
        self.operations.ended.notify_all();
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn nothing_begins_once_more_are_refused_and_waiting_lasts_until_the_last_has_ended() {
        let operations = Operations::default();
        let (first, second) = (operations.begin().unwrap(), operations.begin().unwrap());
        assert!(operations.refuse_more().is_err(), "this thread would wait for itself");
        std::thread::scope(|scope| {
            let closing = scope.spawn(|| {
                operations.refuse_more().unwrap();
                operations.wait();
            });
            while operations.begin().is_ok() {
                std::thread::yield_now();
            }
            drop(first);
            assert!(!closing.is_finished());
            drop(second);
        });
        operations.refuse_more().unwrap();
        operations.wait();
    }
}
