//! Skips: tests that cannot run here say so, by their names and past what the test harness keeps for itself.
//!
//! Tests of crates that this one depends on have no dependency on it, and include the file by its path.

use std::io::Write as _;

/// Says that the test of this thread is skipped for what every machine can have, and how to get it.
///
/// # Panics
/// If the environment has `CI`: there nothing may be missing.
pub fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    skipped(why);
}

/// Says that the test of this thread is skipped for what this machine does not allow.
///
/// # Panics
/// If standard error is closed.
pub fn skipped(why: &str) {
    let thread = std::thread::current();
    let line = format!("skipped: {}: {why}\n", thread.name().unwrap_or("a test"));
    // Not by `eprintln!`, which a passing test keeps to itself.
    std::io::stderr().write_all(line.as_bytes()).expect("standard error is open");
}
