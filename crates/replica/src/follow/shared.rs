//! `Shared`: what the threads of a replica and its handle share.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use evergraph::Database;

use crate::apply::applier::Applier;
use crate::epochs::{EpochLimits, Epochs};
use crate::follow::connect::Followed;
use crate::follow::options::ReplicaOptions;
use crate::follow::progress::Progress;

/// What the threads of a replica and its handle share.
///
/// # Concurrency
/// Each lock is held for moments, and no other is taken under it.
pub struct Shared {
    /// The database.
    pub database: Database,
    /// How it follows.
    pub options: ReplicaOptions,
    /// How far it is.
    pub progress: Progress,
    epochs: Mutex<Epochs>,
    /// What is followed, as the stream that runs knows it.
    followed: Mutex<Followed>,
}

impl Shared {
    /// A replica that begins with `followed`.
    #[must_use]
    pub fn new(database: Database, options: ReplicaOptions, progress: Progress, followed: Followed) -> Self {
        Self { database, options, progress, epochs: Mutex::default(), followed: Mutex::new(followed) }
    }

    /// The snapshots that stay open.
    pub fn epochs(&self) -> MutexGuard<'_, Epochs> {
        self.epochs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a snapshot of what is new, if it is time.
    pub fn advance_epochs(&self) {
        let limits = EpochLimits { count: self.options.epochs, interval: self.options.intervals.epoch };
        self.epochs().advance(&self.database, limits, Instant::now());
    }

    /// What is followed, as the stream that runs knows it.
    #[must_use]
    pub fn followed(&self) -> Followed {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Another stream knows more.
    pub fn set_followed(&self, followed: &Followed) {
        *self.followed.lock().unwrap_or_else(PoisonError::into_inner) = followed.clone();
    }

    /// Tells what `applier` has lost so far, and what waits.
    pub fn count(&self, applier: &Applier) {
        self.progress.count(applier.waiting().map(|(_, count)| count).sum(), applier.losses());
    }
}
