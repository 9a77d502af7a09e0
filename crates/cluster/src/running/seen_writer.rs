//! Seen writer: the thread that says on disk up to where a node has applied the log ([`crate::node::seen_file`]).
//!
//! ```text
//! thread of the node ── publishes ──> tables ── newest, twice a second ──> writer ──> node_seen
//! ```
//!
//! Nobody waits for it: the thread of the node does not, nor does a checkpoint. While nothing is applied, nothing is written.

use crate::digest::SeenLog;
use crate::key_hash::graph_salt::GraphSalt;
use crate::node::seen_file;
use crate::node::shared_tables::SharedTables;
use crate::running::monitor::NodeMonitor;
use crate::running::periodic_thread::PeriodicThread;
use crate::running::report::NodeReport;
use evergraph_storage::io::directory::Directory;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How often it writes at most: so what was applied for a second is on disk, unless that takes half of one.
const WRITE_INTERVAL: Duration = Duration::from_millis(500);

/// Starts the thread `name`, which writes into `directory` what `tables` say. The file has `written` now.
///
/// # Errors
/// What the system says if it has no thread to give.
pub(super) fn write_seen(
    name: &str,
    directory: Arc<dyn Directory>,
    salt: GraphSalt,
    tables: SharedTables,
    mut written: SeenLog,
    monitor: NodeMonitor,
) -> io::Result<PeriodicThread> {
    let mut has_failed = false;
    PeriodicThread::start(name, WRITE_INTERVAL, move || {
        let seen = tables.newest().seen();
        // Less is applied at a start than was before: that stays known until it is found again, or missing.
        if seen.position <= written.position {
            return;
        }
        match seen_file::write(&*directory, salt, &seen) {
            Ok(()) => (written, has_failed) = (seen, false),
            Err(error) if !has_failed => {
                has_failed = true;
                monitor.report(&NodeReport::failure(format!(
                    "what the node has applied is not on disk before its next checkpoint, and is tried again: {error}"
                )));
            }
            Err(_) => {}
        }
    })
}
