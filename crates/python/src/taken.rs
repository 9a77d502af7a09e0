//! Shared snapshot: a snapshot that Python objects share, with the database that it keeps open.

use crate::handle::Open;
use std::sync::Arc;

/// A snapshot and the database that it keeps open.
pub struct Taken {
    // First: it is dropped before the database may close.
    snapshot: evergraph::Snapshot,
    open: Arc<Open>,
}

impl Taken {
    /// Takes one.
    #[must_use]
    pub fn new(open: Arc<Open>) -> Arc<Self> {
        let snapshot = open.database().snapshot();
        Arc::new(Self { snapshot, open })
    }

    /// The snapshot.
    #[must_use]
    pub fn snapshot(&self) -> &evergraph::Snapshot {
        &self.snapshot
    }

    /// Lets go of this share; the last one may close the database, which may wait for the disk.
    ///
    /// # Errors
    /// Those of [`Open::let_go`].
    pub fn let_go(self: Arc<Self>) -> evergraph::Result<()> {
        let Some(Self { snapshot, open }) = Arc::into_inner(self) else { return Ok(()) };
        drop(snapshot);
        Open::let_go(open)
    }
}
