//! Engine listener: tells an engine that R may have grown, when the log's leader has made more durable.
//!
//! The log doesn't keep the engine: whoever drops a store ends its engine, while threads of the log may still run.

use crate::engine::Engine;
use crate::log::options::DurableListener;
use std::fmt;
use std::sync::{Arc, Weak};

struct EngineListener<E>(Weak<E>);

/// What a log is opened with, so that `engine` learns what is durable.
pub fn engine_listener<E: Engine>(engine: &Arc<E>) -> Arc<dyn DurableListener> {
    Arc::new(EngineListener(Arc::downgrade(engine)))
}

impl<E> fmt::Debug for EngineListener<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EngineListener").finish_non_exhaustive()
    }
}

impl<E: Engine> DurableListener for EngineListener<E> {
    fn durable_grew(&self) {
        if let Some(engine) = self.0.upgrade() {
            engine.readable_grew();
        }
    }
}
