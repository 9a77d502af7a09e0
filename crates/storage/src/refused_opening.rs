//! Refused opening: an engine that lets go of its files, unless its database gets open.

use crate::durable_engine::DurableEngine;
use std::sync::Arc;

/// The engine, until the database is open. Dropped before the database's lock.
pub(crate) struct RefusedOpening<E: DurableEngine>(pub(crate) Option<Arc<E>>);

impl<E: DurableEngine> Drop for RefusedOpening<E> {
    fn drop(&mut self) {
        if let Some(engine) = self.0.take() {
            engine.let_go();
        }
    }
}
