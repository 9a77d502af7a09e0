//! Ending: how a server leaves its databases, so that the next opening has nothing to replay.

use evergraph::Database;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_server::databases::catalogue::DatabaseCatalogue;
use evergraph_server::log::target;
use std::time::Instant;

/// Writes a checkpoint of each open database that has commits since its last one. If that fails nothing is lost: the
/// next opening replays the log, and the log says why.
pub fn write_checkpoints(databases: &DatabaseCatalogue) {
    for served in databases.all().iter().filter(|served| served.is_open()) {
        let began = Instant::now();
        let database = &**served.name();
        let written = served.begin(CancelFlag::default()).and_then(|using| checkpoint(using.database()));
        match written {
            Ok(None) => {}
            Ok(Some(bytes_written)) => tracing::info!(
                target: target::SERVER,
                database,
                bytes_written,
                time_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
                "checkpoint written"
            ),
            Err(error) => tracing::error!(
                target: target::SERVER,
                database,
                "no checkpoint was written, and the next opening replays the log: {error}"
            ),
        }
    }
}

/// The bytes of a checkpoint, if one was needed.
fn checkpoint(database: &Database) -> Result<Option<u64>> {
    let stats = database.statistics()?;
    let has_commits = stats.checkpoints.covered_through < stats.store.published;
    has_commits.then(|| Ok(database.checkpoint()?.bytes_written)).transpose()
}
