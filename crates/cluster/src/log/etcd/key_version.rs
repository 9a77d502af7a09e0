//! Key version: the version of the key as of a revision, from one member's own copy.

use crate::log::etcd::connection::Connection;
use crate::log::etcd::etcd_cluster::EtcdCluster;
use crate::log::etcd::failure::CallFailure;
use crate::log::etcd::wire::{KeyValue, RANGE, RangeRequest, RangeResponse};
use crate::log_position::LogPosition;

/// What is read of a version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Content {
    /// Where it is, and how many there were.
    Number,
    /// The message as well.
    Whole,
}

/// The newest version as of a revision, from 1 on; `None` if there was none.
///
/// # Errors
/// What the member says, or the connection.
pub(super) async fn version_as_of(
    connection: &Connection,
    cluster: &EtcdCluster,
    revision: i64,
    content: Content,
) -> Result<Option<KeyValue>, CallFailure> {
    let keys_only = content == Content::Number;
    let question = RangeRequest { key: cluster.key(), revision, serializable: true, keys_only };
    let answer = connection.call(RANGE, question, cluster.time_limit()).await;
    let answer: RangeResponse = answer.map_err(|status| CallFailure::of(&status))?;
    Ok(answer.kvs.into_iter().next())
}

/// The revision of a position.
pub(super) fn revision_of(position: LogPosition) -> i64 {
    i64::try_from(position.0).unwrap_or(i64::MAX)
}
