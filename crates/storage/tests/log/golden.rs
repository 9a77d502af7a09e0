//! Golden file of log format version 1: what this version writes, byte for byte, and reads.
//!
//! `EVERGRAPH_WRITE_GOLDEN=1` writes it anew: a new format needs a new file beside the old one.

use std::path::Path;
use std::time::Duration;

use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::{Durability, LogOptions};

use crate::support::{commit, open, timestamps};

const NAME: &str = "log-0000000000000001";

#[test]
fn log_format_version_1_is_written_as_it_was_and_read() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/log-1.golden");
    let directory = MemoryDirectory::new("db");
    let options = LogOptions {
        durability: Durability::Sync,
        first_file_bytes: 12 * 4096,
        // Only closing seals, so that the bytes don't depend on how fast the test runs.
        seal_after: Duration::from_secs(3600),
        ..LogOptions::default()
    };
    let log = open(&directory, options).unwrap();
    (1..=5).for_each(|ts| commit(&log, ts).unwrap());
    log.close().unwrap();
    let bytes = directory.read_all(NAME, 1 << 20).unwrap();
    if std::env::var_os("EVERGRAPH_WRITE_GOLDEN").is_some() {
        std::fs::write(&golden, &bytes).unwrap();
    }
    let expected = std::fs::read(&golden).unwrap();
    let first = bytes.iter().zip(&expected).position(|(found, expected)| found != expected);
    assert!(bytes == expected, "log-1.golden differs from byte {first:?} on");

    let other = MemoryDirectory::new("golden");
    other.write_all_new(NAME, &expected).unwrap();
    assert_eq!(timestamps(&other), [1, 2, 3, 4, 5]);
}
