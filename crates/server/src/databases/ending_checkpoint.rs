//! Ending checkpoint: how a database is left, so that its next opening has nothing to replay.

use crate::log::target;
use evergraph::Database;
use evergraph_graph::error::Result;
use std::time::Instant;

/// Writes a checkpoint of the database `name` if it has commits since its last one. If that fails nothing is lost: the next
/// opening replays the log, and the server's log says why.
pub(crate) fn write_ending_checkpoint(name: &str, database: &Database) {
    let began = Instant::now();
    match checkpoint(database) {
        Ok(None) => {}
        Ok(Some(bytes_written)) => tracing::info!(
            target: target::SERVER,
            database = name,
            bytes_written,
            time_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            "checkpoint written"
        ),
        Err(error) => tracing::error!(
            target: target::SERVER,
            database = name,
            "no checkpoint was written, and the next opening replays the log: {error}"
        ),
    }
}

/// The bytes of a checkpoint, if one was needed.
fn checkpoint(database: &Database) -> Result<Option<u64>> {
    let stats = database.statistics()?;
    let has_commits = database.has_own_log() && stats.checkpoints.covered_through < stats.store.published;
    has_commits.then(|| Ok(database.checkpoint()?.bytes_written)).transpose()
}
