//! Current status: how a node of this process is now, and never how it was when it answered last.

use evergraph_cluster::running::cluster_node::ClusterNode;
use evergraph_cluster::running::status::ClusterStatus;
use evergraph_graph::error::{Error, ErrorKind, Result};

/// How `node` is: a figure from an older answer would be too small.
///
/// # Errors
/// `io` if its thread does not answer in time, or has ended.
pub(super) fn current_status(node: &ClusterNode) -> Result<ClusterStatus> {
    let status = node.status();
    match status.silent_for {
        None => Ok(status),
        Some(age) => {
            let number = node.author().node.0;
            let text = format!("node {number} did not say in time how it is: its last answer is {age:?} old");
            Err(Error::new(ErrorKind::Io, text))
        }
    }
}
