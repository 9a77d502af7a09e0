//! Memory limit: what memory graphs, the page cache, compactions, algorithms and queries may take together.
//!
//! There is always a limit: without one, the page cache would grow into all memory. The default is half of the memory
//! of the machine or of the process's control group.
//!
//! Source: disk-engine, section 7 (Memory).

use evergraph_graph::error::{Error, Result};
use evergraph_storage::io::machine_memory::available_bytes;

/// The lowest limit: two memory graphs of 16 MiB, a compaction, an algorithm's windows and some pages.
pub const MEMORY_LIMIT_MIN_BYTES: u64 = 64 << 20;

/// The limit where `asked_bytes` were asked for: those, or with [`u64::MAX`] half of what this process can have.
///
/// # Errors
/// `invalid` for less than [`MEMORY_LIMIT_MIN_BYTES`].
pub fn memory_limit(asked_bytes: u64) -> Result<u64> {
    match asked_bytes {
        u64::MAX => Ok((available_bytes() / 2).max(MEMORY_LIMIT_MIN_BYTES)),
        MEMORY_LIMIT_MIN_BYTES.. => Ok(asked_bytes),
        _ => Err(Error::invalid(format!(
            "a memory limit of {:.1} MiB is too low for the disk engine: the newest commits, the page cache and compactions \
             take at least {} MiB; raise the limit to that or more",
            asked_bytes as f64 / f64::from(1 << 20),
            MEMORY_LIMIT_MIN_BYTES >> 20
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::error::ErrorKind;

    #[test]
    fn a_limit_below_64_mib_is_refused_and_none_is_half_of_the_machines_memory() {
        let refused = memory_limit(61 << 20).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        for part in ["61.0 MiB", "disk engine", "64 MiB"] {
            assert!(refused.to_string().contains(part), "{refused}");
        }
        assert_eq!(memory_limit(64 << 20).unwrap(), 64 << 20);
        assert_eq!(memory_limit(u64::MAX - 1).unwrap(), u64::MAX - 1);
        let chosen = memory_limit(u64::MAX).unwrap();
        assert_eq!(chosen, (available_bytes() / 2).max(64 << 20));
    }
}
