//! Context: what reading any file needs of the import that it belongs to.

use crate::import::faults::FaultCollector;
use crate::import::meter::Meter;
use crate::import::options::ImportOptions;
use rayon::ThreadPool;

/// What reading a file needs of its import.
pub struct Context<'a> {
    /// What was asked for.
    pub options: &'a ImportOptions,
    /// Threads to parse on.
    pub pool: &'a ThreadPool,
    /// Where progress goes.
    pub meter: Meter<'a>,
    /// Where bad rows go.
    pub faults: FaultCollector,
    /// Bytes of a block, about.
    pub block_bytes: usize,
}
