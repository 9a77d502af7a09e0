//! `TransactionLimits`: how much memory one transaction of the source may take, and what becomes of more.

use std::path::PathBuf;

/// Memory of one transaction's changed rows, unless the options say something else: 1 GiB.
pub const TRANSACTION_BYTES_MAX: u64 = 1 << 30;

/// Of the memory of a transaction, the part from which on inserted rows are loaded in bulk: writes one by one would take
/// several times as much, and some times longer.
const BULK_PART: usize = 16;

/// How much memory one transaction of the source may take, and what becomes of more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransactionLimits {
    /// Bytes of its changed rows. Inserted rows alone go to a temporary file beyond that; a transaction that does anything
    /// else is refused.
    pub bytes_max: usize,
    /// Bytes beyond which rows are loaded in bulk, in a transaction that only inserts some.
    pub bulk_bytes_min: usize,
    /// Memory in which inserted rows that are loaded in bulk are put together, in addition to the finished graph.
    pub bulk_memory_bytes: u64,
    /// The folder of temporary files, which have no names.
    pub folder: PathBuf,
}

impl Default for TransactionLimits {
    /// [`TRANSACTION_BYTES_MAX`], half of it for loading, and the system's folder for temporary files.
    fn default() -> Self {
        Self::new(TRANSACTION_BYTES_MAX, TRANSACTION_BYTES_MAX / 2, std::env::temp_dir())
    }
}

impl TransactionLimits {
    /// `bytes_max` for changed rows, and a sixteenth of it before rows are loaded in bulk, in `bulk_memory_bytes` and `folder`.
    #[must_use]
    pub fn new(bytes_max: u64, bulk_memory_bytes: u64, folder: PathBuf) -> Self {
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        Self { bytes_max, bulk_bytes_min: bytes_max / BULK_PART, bulk_memory_bytes, folder }
    }
}
