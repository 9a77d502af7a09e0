//! Shared snapshot: a snapshot that Python objects share, with the database that it keeps open.

use crate::handle::OpenDatabase;
use evergraph::Freshness;
use std::sync::Arc;

/// A snapshot and the database that it keeps open.
pub struct SharedSnapshot {
    // First: it is dropped before the database may close.
    snapshot: Arc<evergraph::Snapshot>,
    open: Arc<OpenDatabase>,
}

impl SharedSnapshot {
    /// Takes one that has at least what `freshness` says.
    #[must_use]
    pub fn new(open: Arc<OpenDatabase>, freshness: Freshness) -> Arc<Self> {
        let snapshot = Arc::new(open.database().snapshot_with(freshness));
        Arc::new(Self { snapshot, open })
    }

    /// One that is shared with others.
    #[must_use]
    pub fn of(open: Arc<OpenDatabase>, snapshot: Arc<evergraph::Snapshot>) -> Arc<Self> {
        Arc::new(Self { snapshot, open })
    }

    /// The snapshot.
    #[must_use]
    pub fn snapshot(&self) -> &evergraph::Snapshot {
        &self.snapshot
    }

    /// The snapshot for results, which are dropped before whoever holds this lets go of it.
    #[must_use]
    pub fn share(&self) -> Arc<evergraph::Snapshot> {
        Arc::clone(&self.snapshot)
    }

    /// Lets go of this share; the last one may close the database, which may wait for the disk.
    ///
    /// # Errors
    /// Those of [`OpenDatabase::let_go`].
    pub fn let_go(self: Arc<Self>) -> evergraph::Result<()> {
        let Some(Self { snapshot, open }) = Arc::into_inner(self) else { return Ok(()) };
        drop(snapshot);
        OpenDatabase::let_go(open)
    }
}
