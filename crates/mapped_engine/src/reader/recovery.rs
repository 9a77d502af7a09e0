//! Recovery of a reader: what a database holds that nobody writes, in the memory of this process.
//!
//! ```text
//! lock of a reader ──> nobody writes ──> manifest ──> places of bodies, runs ──> log after C ──> `live` on the heap
//! ```
//!
//! The lock comes first: a writer that opens the database meanwhile finds it held, and leaves files and log where they are. The caller
//! looks afterwards whether there was one, or files changed: then what was recovered may be of a checkpoint that nothing keeps.
//! Bodies stay in their files, and nothing is merged, since that would write there.

use crate::durable::opening::open_to_read;
use crate::engine::mapped_engine::MappedEngine;
use crate::engine::options::MappedOptions;
use crate::live::Live;
use evergraph_graph::error::Result;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::io::clock::Clock;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::recovered_graph::{RecoveredFiles, recover_to_read};
use evergraph_storage::timeline::clock::{Readable, Timeline};
use std::sync::Arc;

/// The graph that the files of `directory` come to, closed: nobody writes it. The lock of a reader is held; `files` were looked at behind
/// it, and are told where the log ends.
///
/// Cost: a look at each segment, the runs, and the log since the last checkpoint.
///
/// # Errors
/// As an opening; anything if a process opened the database to write meanwhile.
pub fn recover(
    directory: &Arc<dyn Directory>,
    clock: Arc<dyn Clock>,
    files: &mut RecoveredFiles,
) -> Result<Arc<Live>> {
    let manifest = Manifest::read(&**directory, MappedEngine::opens)?;
    let timeline = Timeline::new(manifest.covered_through, Readable::Published).with_clock(clock);
    let timeline = Arc::new(timeline);
    // Whatever is in the log stays as records: it is no more than what a checkpoint would be due for, and some.
    let options = MappedOptions { live_bytes_max: u64::MAX, ..MappedOptions::default() };
    let engine = open_to_read(directory, &manifest, &timeline, options)?.engine;
    recover_to_read(&**directory, &manifest, (&engine, &timeline), files)?;
    let live = Arc::clone(engine.graph().live());
    live.close();
    Ok(live)
}
