//! Writer thread: writes while something is measured.

use evergraph_graph::error::Result;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Measures while `write` runs on a thread of its own; gives both results. The writer begins `head_start` before the
/// measurement, and its flag is set when that is over.
///
/// # Errors
/// Those of `write`, else those of `measure`.
pub fn beside_writer<T, W: Send>(
    head_start: Duration,
    write: impl FnOnce(&AtomicBool) -> Result<W> + Send,
    measure: impl FnOnce() -> Result<T>,
) -> Result<(T, W)> {
    // Relaxed: it publishes nothing but itself.
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let writer = scope.spawn(|| write(&is_over));
        thread::sleep(head_start);
        let measured = measure();
        is_over.store(true, Ordering::Relaxed);
        let written = writer.join().expect("a panic was printed by its thread")?;
        Ok((measured?, written))
    })
}
