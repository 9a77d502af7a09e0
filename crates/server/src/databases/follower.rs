//! Follower: what a database that follows a source says of itself, for whoever runs the server.

use crate::metric_samples::DatabaseSample;
use evergraph::Database;
use evergraph_graph::error::Result;
use std::sync::Arc;

/// What keeps a database equal to a source while it is served.
pub trait DatabaseFollower: Send + Sync {
    /// Makes the folder of its database ready to be opened, as after a crash.
    ///
    /// # Errors
    /// `io`.
    fn prepare(&self) -> Result<()>;

    /// Follows in `database`, which was opened. A copy goes on in the background.
    ///
    /// # Errors
    /// `io` if the system refuses a thread.
    fn begin(self: Arc<Self>, database: &Database) -> Result<()>;

    /// Ends following, and a copy that is under way, and lets the database go, which is about to be closed. Nothing if it does not
    /// follow.
    ///
    /// # Errors
    /// `io` if what is here cannot be made durable: the source sends it again.
    fn end(&self) -> Result<()>;

    /// How far it is, for administrators: a JSON object, which may name tables and hosts.
    fn status(&self) -> serde_json::Value;

    /// Why the database does not follow its source now, without names; `None` if it does. Strangers read it in `/readyz`.
    fn problem(&self) -> Option<String>;

    /// What is counted of it.
    fn samples(&self) -> Vec<DatabaseSample>;
}
