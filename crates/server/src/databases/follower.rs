//! Follower: what a database that follows a source says of itself, for whoever runs the server.

use crate::metric_samples::DatabaseSample;

/// What keeps a database equal to a source while it is served.
pub trait DatabaseFollower: Send + Sync {
    /// How far it is, for administrators: a JSON object, which may name tables and hosts.
    fn status(&self) -> serde_json::Value;

    /// Why the database does not follow its source now, without names; `None` if it does. Strangers read it in `/readyz`.
    fn problem(&self) -> Option<String>;

    /// What is counted of it.
    fn samples(&self) -> Vec<DatabaseSample>;
}
