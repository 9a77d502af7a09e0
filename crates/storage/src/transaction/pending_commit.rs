//! Pending commit: a commit that is published, and perhaps not durable yet.
//!
//! ```text
//! publish ──> others build on it ──┬─ wait               this thread, until it may be acknowledged
//!                                  └─ when_acknowledged  a callback; no thread is held
//! ```
//!
//! A blocking commit is the first of the two.

use crate::engine::Engine;
use crate::log::writer::Log;
use crate::transaction::front::{Front, LogAccess};
use evergraph_graph::error::Result;
use evergraph_graph::transaction::Committed;
use std::fmt;
use std::sync::Arc;

/// A published commit whose acknowledgement is outstanding: later transactions see it, snapshots as the log's mode
/// says, and whoever asked for it must not be told yet.
///
/// Dropping it takes nothing back: the log makes it durable by itself within its usual time, and nobody is told.
#[must_use = "a commit is acknowledged by `wait` or `when_acknowledged`"]
pub struct PendingCommit<E: Engine> {
    front: Arc<Front<E>>,
    /// Until somebody waits for it.
    committed: Option<Committed>,
}

impl<E: Engine> fmt::Debug for PendingCommit<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingCommit").field("committed", &self.committed).finish_non_exhaustive()
    }
}

impl<E: Engine> PendingCommit<E> {
    pub(super) fn new(front: Arc<Front<E>>, committed: Committed) -> Self {
        Self { front, committed: Some(committed) }
    }

    /// The log that has it, if it is this store's. None in a store that only reads, where nothing but an empty commit is made, of
    /// what is durable; nor where a shared log has decided, which keeps what it decides.
    fn log(&self) -> Option<&Log> {
        match &self.front.log_access {
            LogAccess::Writes(log) => Some(log),
            LogAccess::Applies(_) | LogAccess::Reads(_) | LogAccess::Shared(_) => None,
        }
    }

    fn take(&mut self) -> Committed {
        self.committed.take().expect("it is there until somebody waits, who takes all of this")
    }

    /// Its timestamp, and the edges that it renamed: not to be told before it is acknowledged.
    ///
    /// # Panics
    /// Never: whoever takes them takes all of this.
    #[must_use]
    pub fn committed(&self) -> &Committed {
        self.committed.as_ref().expect("it is there until somebody waits, who takes all of this")
    }

    /// Returns when it may be acknowledged: in mode `Sync` when it is durable, in others at once.
    ///
    /// # Errors
    /// `io` if the log failed: the outcome is unknown until the database is opened again.
    pub fn wait(mut self) -> Result<Committed> {
        let committed = self.take();
        if let Some(log) = self.log() {
            log.acknowledge(committed.timestamp.0)?;
        }
        Ok(committed)
    }

    /// Calls `done` when it may be acknowledged, with what [`PendingCommit::wait`] would return: at once if it may be
    /// now, else on the thread that waits for the disk in place of all such commits, which `done` must not hold up.
    /// Closing the database calls all that are outstanding.
    ///
    /// Cost: one lock; a sync is shared as it is by blocking commits.
    pub fn when_acknowledged(mut self, done: impl FnOnce(Result<Committed>) + Send + 'static) {
        let committed = self.take();
        let timestamp = committed.timestamp.0;
        let done = move |outcome: std::result::Result<(), _>| {
            done(outcome.map(|()| committed).map_err(Into::into));
        };
        match self.log() {
            Some(log) => log.when_acknowledged(timestamp, Box::new(done)),
            None => done(Ok(())),
        }
    }
}

impl<E: Engine> Drop for PendingCommit<E> {
    fn drop(&mut self) {
        if self.committed.is_some()
            && let Some(log) = self.log()
        {
            log.sync_later();
        }
    }
}
