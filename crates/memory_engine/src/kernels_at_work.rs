//! Kernels at work: how many algorithms have frozen lists, for merges to give way to.

use evergraph_storage::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// Counts them.
#[derive(Debug, Default)]
pub struct KernelsAtWork {
    /// Relaxed: it publishes nothing, and merges only choose their time by it.
    count: Arc<AtomicUsize>,
}

impl KernelsAtWork {
    /// One more, as long as the answer lives.
    pub fn begin(&self) -> KernelAtWork {
        self.count.fetch_add(1, Ordering::Relaxed);
        KernelAtWork { count: Arc::clone(&self.count) }
    }

    /// Whether there is any.
    pub fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }
}

/// One kernel; it has ended when this is dropped.
#[derive(Debug)]
pub struct KernelAtWork {
    count: Arc<AtomicUsize>,
}

impl Drop for KernelAtWork {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}
