//! Cluster: nodes in this process, on a log and a network in memory, and databases on them.
//!
//! ```text
//! nodes      ClusterSetup ──> Cluster: the threads of its nodes, and one for which time passes
//! databases  ClusterSetup ──> Databases: one on each node, or the database of a whole cluster
//! ```

pub mod databases;
pub mod nodes;
