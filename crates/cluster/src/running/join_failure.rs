//! Join failure: why a node has not joined its cluster in time, for whoever started it.

use crate::node::kept_partition::PartitionCondition;
use crate::node::node_status::{LogStatus, NodeStatus, PartitionStatus};
use evergraph_graph::error::ErrorKind;

/// Why the node whose status this is has not joined. `last_failure` is the newest failure of anything that it has reported.
///
/// A partition without room comes first: the node reads nothing before it has some, so its own joining is not read either.
pub(super) fn join_failure(status: &NodeStatus, last_failure: Option<&str>) -> (ErrorKind, String) {
    explain(&status.log, &status.partitions, last_failure)
}

fn explain(
    log: &LogStatus,
    partitions: &[PartitionStatus],
    last_failure: Option<&str>,
) -> (ErrorKind, String) {
    let position = log.applied.position;
    if log.is_stalled {
        let stalled =
            partitions.iter().filter(|status| matches!(status.condition, Some(PartitionCondition::Stalled)));
        let stalled: Vec<String> = stalled.map(|status| status.partition.0.to_string()).collect();
        let last_failure =
            last_failure.map_or_else(String::new, |failure| format!("; last failure: {failure}"));
        let why = format!(
            "partitions without room for what the log has: {}. It reads nothing behind message {position} before they have some: \
             make room on the disk, or give it more memory{last_failure}",
            stalled.join(", ")
        );
        return (ErrorKind::Limit, why);
    }
    match &log.failure {
        Some(failure) => (ErrorKind::Io, format!("its log cannot be used: {failure}")),
        None => (ErrorKind::Busy, format!("its log has not taken it in; it has applied message {position}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::SeenLog;
    use crate::log_position::LogPosition;
    use crate::node::node_status::MessageTotal;
    use evergraph_graph::id::PartitionId;

    fn log(is_stalled: bool, failure: Option<&str>) -> LogStatus {
        LogStatus {
            applied: SeenLog { position: LogPosition(42), ..SeenLog::START },
            end: LogPosition(50),
            needed_from: LogPosition(40),
            read: MessageTotal::default(),
            appended: MessageTotal::default(),
            unanswered: 0,
            is_stalled,
            failure: failure.map(str::to_owned),
        }
    }

    #[test]
    fn a_node_without_room_blames_its_partition_and_not_the_log() {
        let partition = |number, condition| PartitionStatus {
            partition: PartitionId(number),
            copy: None,
            condition: Some(condition),
        };
        let partitions =
            [partition(3, PartitionCondition::Complete), partition(7, PartitionCondition::Stalled)];
        let (kind, why) = explain(&log(true, Some("no member answers")), &partitions, Some("disk full"));
        assert_eq!(kind, ErrorKind::Limit);
        for part in ["without room for what the log has: 7.", "message 42", "last failure: disk full"] {
            assert!(why.contains(part), "{part}: {why}");
        }
        assert!(!why.contains("taken it in"), "{why}");
        let (kind, why) = explain(&log(false, Some("no member answers")), &partitions, Some("disk full"));
        assert_eq!((kind, why.as_str()), (ErrorKind::Io, "its log cannot be used: no member answers"));
        let (kind, why) = explain(&log(false, None), &partitions, None);
        assert!(kind == ErrorKind::Busy && why.contains("has not taken it in"), "{why}");
    }
}
