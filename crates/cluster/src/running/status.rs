//! Status: how a node of a running cluster is, for its operator.

use crate::node::node_status::NodeStatus;
use crate::transport::tcp::statistics::{ListenerStatistics, PeerStatistics};
use evergraph_graph::id::PartitionId;
use evergraph_storage::sync::Mutex;
use std::time::Duration;

/// A node at a moment.
#[derive(Clone, Debug)]
pub struct ClusterStatus {
    /// What the node says; of one that does not answer or has stopped, what it said last.
    pub node: NodeStatus,
    /// How old `node` is, if the thread of the node did not answer in time, or has ended; `None` if it answered.
    pub silent_for: Option<Duration>,
    /// Why the node does nothing any more; `None` if it runs.
    pub stopped: Option<String>,
    /// Partitions that the node should keep, and could not when it started, nor copy from another node, and why.
    pub unusable: Vec<UnusablePartition>,
    /// Connections with the other members, and why there is none.
    pub links: Vec<PeerStatistics>,
    /// Connections of others that did not prove whose they are.
    pub listener: ListenerStatistics,
    /// The newest failure of anything; it may have passed.
    pub last_failure: Option<String>,
}

/// The last answer to a question that is asked again and again.
///
/// # Concurrency
///
/// Any thread. One lock, held for a moment.
pub(super) struct LastAnswer<T> {
    /// With the time of the answer, by the clock of whoever asks.
    answer: Mutex<(T, Duration)>,
}

impl<T: Clone> LastAnswer<T> {
    /// The first one, of `now`.
    pub(super) fn new(answer: T, now: Duration) -> Self {
        Self { answer: Mutex::new((answer, now)) }
    }

    /// The newest answer, after a question that was answered by `answered`, or by nobody; and how old it is in that case.
    pub(super) fn after(&self, answered: Option<T>, now: Duration) -> (T, Option<Duration>) {
        let mut last = self.answer.lock();
        match answered {
            Some(answer) => {
                *last = (answer.clone(), now);
                (answer, None)
            }
            None => (last.0.clone(), Some(now.saturating_sub(last.1))),
        }
    }
}

/// A partition that a node should keep, and does not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnusablePartition {
    /// Which one.
    pub partition: PartitionId,
    /// Why.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_missing_is_the_one_before_and_its_age() {
        let second = Duration::from_secs;
        let last = LastAnswer::new("first", second(10));
        assert_eq!(last.after(None, second(15)), ("first", Some(second(5))));
        assert_eq!(last.after(Some("second"), second(20)), ("second", None));
        assert_eq!(last.after(None, second(21)), ("second", Some(second(1))));
        assert_eq!(
            last.after(None, second(26)),
            ("second", Some(second(6))),
            "silence makes nothing younger"
        );
    }
}
