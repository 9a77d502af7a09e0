//! Skips: tests that cannot run here say so, by their names and past what the test harness keeps for itself.

use std::io::Write as _;

/// Says that the test of this thread is skipped for what every machine can have, and how to get it. With `CI` set that is a failure.
pub fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    skipped(why);
}

/// Says that the test of this thread is skipped for what this machine does not allow.
pub fn skipped(why: &str) {
    let thread = std::thread::current();
    let line = format!("skipped: {}: {why}\n", thread.name().unwrap_or("a test"));
    // Not by `println!`, which a passing test keeps to itself.
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}
