//! `Shared`: what the threads of a replica and its handle share.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use evergraph::Database;

use crate::apply::applier::Applier;
use crate::epochs::{EpochLimits, Epochs};
use crate::follow::connect::Followed;
use crate::follow::options::ReplicaOptions;
use crate::follow::progress::Progress;
use crate::translate::loss::LossCounts;

/// Losses by rule and cause.
type Losses = BTreeMap<(usize, &'static str), u64>;

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
    /// What was lost by the copy and by appliers that are gone.
    earlier_losses: Mutex<Losses>,
    /// What is followed, as the stream that runs knows it.
    followed: Mutex<Followed>,
}

impl Shared {
    /// A replica that begins with `followed`; `losses` are those of its copy.
    #[must_use]
    pub fn new(
        database: Database,
        options: ReplicaOptions,
        progress: Progress,
        followed: Followed,
        losses: &LossCounts,
    ) -> Self {
        let mut earlier = Losses::default();
        add_losses(&mut earlier, losses);
        Self {
            database,
            options,
            progress,
            epochs: Mutex::default(),
            earlier_losses: Mutex::new(earlier),
            followed: Mutex::new(followed),
        }
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
        let mut losses = self.earlier_losses().clone();
        add_losses(&mut losses, applier.losses());
        let losses = losses.into_iter().map(|((rule, cause), count)| (rule, cause, count));
        let waiting: usize = applier.waiting().map(|(_, count)| count).sum();
        self.progress.count(waiting as u64, losses);
    }

    /// Remembers what `applier` has lost, which goes.
    pub fn forget_applier(&self, applier: &Applier) {
        self.add_losses(applier.losses());
    }

    /// Counts what was lost without an applier.
    pub fn add_losses(&self, losses: &LossCounts) {
        add_losses(&mut self.earlier_losses(), losses);
    }

    fn earlier_losses(&self) -> MutexGuard<'_, Losses> {
        self.earlier_losses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn add_losses(losses: &mut Losses, more: &LossCounts) {
    for (rule, cause, count) in more.iter() {
        *losses.entry((rule, cause.name())).or_default() += count;
    }
}
