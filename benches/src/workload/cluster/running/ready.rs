//! Ready: waits until servers of a log do what is waited for.

use evergraph_graph::error::{Error, ErrorKind, Result};
use std::thread;
use std::time::{Duration, Instant};

/// How long servers may take until they serve, or one of them leads.
const READY_TIME: Duration = Duration::from_secs(60);
/// How often readiness is looked for.
const READY_INTERVAL: Duration = Duration::from_millis(10);

/// What `look` finds, once it finds something.
///
/// # Errors
/// `io`, which begins with `otherwise`, if it finds nothing in time.
pub(super) fn wait<T>(otherwise: &str, look: impl Fn() -> Option<T>) -> Result<T> {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        if began.elapsed() > READY_TIME {
            return Err(Error::new(ErrorKind::Io, format!("{otherwise}, after {READY_TIME:?}")));
        }
        thread::sleep(READY_INTERVAL);
    }
}
