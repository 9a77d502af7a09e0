//! Context: what reading any file needs of its import.

use crate::import::faults::FaultCollector;
use crate::import::known::Known;
use crate::import::meter::Meter;
use crate::import::options::ImportOptions;
use crate::import::staging::spill::Staging;
use rayon::ThreadPool;
use std::sync::Arc;

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
    /// What the database has already.
    pub known: Arc<Known>,
    /// Where the blocks of tables go.
    pub staging: Arc<Staging>,
    /// Bytes of a block, about.
    pub block_bytes: usize,
}
