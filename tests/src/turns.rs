//! Turns: processes that a test kills at random work in the same moments and rest in between, so that they meet as often as if they
//! never rested, and other tests have the processor meanwhile.
//!
//! ```text
//! calendar's clock, which processes share    |work|       rest       |work|       rest       | ...
//! ```
//!
//! Tests of crates that this one depends on have no dependency on it, and include the file by its path.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often all processes begin to work.
pub const TURN_MS: u64 = 300;
/// How long they then work.
pub const WORK_MS: u64 = 50;

/// Returns when all processes work: at once, or when the next turn begins.
pub fn rest() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let since = now.as_millis() as u64 % TURN_MS;
    if since >= WORK_MS {
        std::thread::sleep(Duration::from_millis(TURN_MS - since));
    }
}
