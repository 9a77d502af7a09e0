//! Session: a timestamp in use, kept in the registry until the session is dropped.

use crate::engine::Engine;
use crate::timeline::registry::Access;
use crate::transaction::front::Front;
use evergraph_graph::timestamp::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// A registered reader or writer of a store.
///
/// Nothing that its timestamp needs is dropped while it lives, so keep it for as short as possible.
pub struct Session<E: Engine> {
    /// Dropped first, while the engine that it holds files of is there for certain.
    pin: E::Pin,
    front: Arc<Front<E>>,
    timestamp: Timestamp,
    access: Access,
    /// When a reader began. A writer is short, and a look at the clock would be a part of it.
    begun: Option<Duration>,
}

impl<E: Engine> Session<E> {
    /// Begins at the newest commit (to write), or at the newest that snapshots see (to read).
    #[must_use]
    pub fn begin(front: &Arc<Front<E>>, access: Access) -> Self {
        let begun = (access == Access::Read).then(|| front.timeline.clock().now());
        let pin = |timestamp| {
            let pin = front.engine.pin(timestamp);
            // With the registry locked: the newest one stays.
            if let Some(catalogue) = front.shared_catalogue(&pin)
                && !Arc::ptr_eq(&catalogue, &front.catalogue.load())
            {
                front.catalogue.swap(catalogue);
            }
            pin
        };
        let (timestamp, pin) = front.timeline.begin_at(access, begun, pin);
        Self { pin, front: Arc::clone(front), timestamp, access, begun }
    }

    /// The moment that is read.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// The store's shared state.
    #[must_use]
    pub fn front(&self) -> &Arc<Front<E>> {
        &self.front
    }

    /// What the engine holds for this session.
    #[must_use]
    pub fn pin(&self) -> &E::Pin {
        &self.pin
    }

    /// The engine's view of this moment.
    #[must_use]
    pub fn view(&self) -> E::View<'_> {
        self.front.engine.view(&self.pin, self.timestamp)
    }
}

impl<E: Engine> Drop for Session<E> {
    fn drop(&mut self) {
        if self.front.timeline.end_at(self.timestamp, self.access, self.begun) {
            self.front.engine.snapshot_ended();
        }
    }
}
