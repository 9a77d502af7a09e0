//! Cluster member: what a database that is a node of a cluster says of itself, for whoever runs the server.

use crate::metric_samples::DatabaseSample;

/// The node of a cluster that a served database is.
///
/// Concurrency: any thread but those of the network, since a node may take a moment to answer.
pub trait ClusterMember: Send + Sync {
    /// How it is, for administrators: a JSON object, which may name hosts.
    fn status(&self) -> serde_json::Value;

    /// What it cannot do at present, such as commits; `None` if it can do everything. Without names of hosts: strangers read it in
    /// `/readyz`.
    fn problem(&self) -> Option<&'static str>;

    /// What is counted of it.
    fn samples(&self) -> Vec<DatabaseSample>;
}
