//! Monitor: what happened to a node, kept for whoever asks how it is, and told to whoever runs it.
//!
//! The thread of the node tells it, and never waits for anybody. Once the node has stopped, the reason is kept: it is part of
//! every error from there on.

use crate::log::reader::ReadError;
use crate::log_position::LogPosition;
use crate::node::checkpoint_steps::SaveError;
use crate::node::kept_partition::PartitionEvent;
use crate::node::node_error::NodeError;
use crate::node::node_loop::NodeEvent;
use crate::node::owned_node::NodeListener;
use crate::planted::{Bug, planted};
use crate::record_id::NodeId;
use crate::running::report::{NodeReport, OnReport, ReportSeverity};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::PartitionId;
use evergraph_storage::io::clock::Clock;
use evergraph_storage::sync::{Condvar, Mutex};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What happened to a node. Clones are the same.
///
/// # Concurrency
///
/// Any thread. One lock, held for a moment; nobody is called inside it.
#[derive(Clone)]
pub(super) struct NodeMonitor {
    shared: Arc<MonitorShared>,
}

struct MonitorShared {
    state: Mutex<MonitorState>,
    /// The node has joined, or has stopped.
    news: Condvar,
    on_report: Option<OnReport>,
}

#[derive(Default)]
struct MonitorState {
    has_joined: bool,
    stopped: Option<StopReason>,
    /// The newest failure of anything.
    last_failure: Option<String>,
    /// The partition that the last checkpoint was not made for.
    held_for: Option<PartitionId>,
}

/// Why a node does nothing any more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct StopReason {
    kind: ErrorKind,
    text: String,
    /// What joined with a later number than this process, if that is why.
    pub(super) known_incarnation: Option<u32>,
    /// Whether another process joined as this node while this one was starting, which goes on.
    pub(super) is_overtaken: bool,
    /// Whether the log begins behind what the node has applied: it copies that at its next start.
    pub(super) is_behind: bool,
}

/// What the log does not have any more.
pub(super) const AWAY_TOO_LONG: &str = "It was away for longer than the log is kept";

/// What a node came to that was waited for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum JoinOutcome {
    Joined,
    Stopped(StopReason),
    /// Neither, in time.
    Waits,
}

impl StopReason {
    /// The node was closed.
    pub(super) fn closed() -> Self {
        Self::io("the node was closed")
    }

    /// The thread of the node has ended, and nobody said why.
    pub(super) fn lost() -> Self {
        let text = "the thread of the node has panicked: start the node again, and please report this";
        Self::io(text)
    }

    fn io(text: &str) -> Self {
        let (known_incarnation, is_overtaken, is_behind) = (None, false, false);
        Self { kind: ErrorKind::Io, text: text.to_owned(), known_incarnation, is_overtaken, is_behind }
    }

    fn of(error: &NodeError) -> Self {
        let (kind, known_incarnation) = match error {
            NodeError::NotJoined { known, .. } | NodeError::Overtaken { known, .. } => {
                (ErrorKind::Busy, Some(*known))
            }
            NodeError::Replaced { .. } => (ErrorKind::Busy, None),
            NodeError::Left => (ErrorKind::Invalid, None),
            NodeError::Read(ReadError::LogChanged { .. } | ReadError::Corrupt { .. }) => {
                (ErrorKind::Corrupt, None)
            }
            _ => (ErrorKind::Io, None),
        };
        let advice = match error {
            NodeError::Read(ReadError::Behind { .. }) => {
                ". It was away for longer than the log is kept: start it again, and it copies what it lacks from other nodes"
            }
            NodeError::Read(ReadError::LogChanged { .. }) => {
                ". Do not restore the log from a copy: compare the nodes first, what this one has may be there nowhere else"
            }
            _ => "",
        };
        let is_behind = matches!(error, NodeError::Read(ReadError::Behind { .. }));
        let is_overtaken = matches!(error, NodeError::Overtaken { .. });
        Self { kind, text: format!("{error}{advice}"), known_incarnation, is_overtaken, is_behind }
    }

    /// The error of whatever is asked of the node.
    pub(super) fn error(&self) -> Error {
        Error::new(self.kind, format!("the node has stopped: {}", self.text))
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl NodeMonitor {
    /// Of a node that has not started.
    pub(super) fn new(on_report: Option<OnReport>) -> Self {
        let shared = MonitorShared { state: Mutex::default(), news: Condvar::new(), on_report };
        Self { shared: Arc::new(shared) }
    }

    /// What the thread of the node tells.
    pub(super) fn listener(&self) -> Box<dyn NodeListener> {
        Box::new(MonitorListener(self.clone()))
    }

    /// Tells whoever runs the node.
    pub(super) fn report(&self, report: &NodeReport) {
        if report.severity == ReportSeverity::Failure {
            self.shared.state.lock().last_failure = Some(report.text.clone());
        }
        if let Some(on_report) = &self.shared.on_report {
            on_report(report);
        }
    }

    /// The node does nothing any more. The first reason counts.
    pub(super) fn stop(&self, reason: StopReason) {
        self.shared.state.lock().stopped.get_or_insert(reason);
        self.shared.news.notify_all();
    }

    /// Why the node does nothing any more, if so.
    pub(super) fn stopped(&self) -> Option<StopReason> {
        self.shared.state.lock().stopped.clone()
    }

    /// The newest failure of anything.
    pub(super) fn last_failure(&self) -> Option<String> {
        self.shared.state.lock().last_failure.clone()
    }

    /// Waits until the node has joined, or has stopped, or `clock` says `until`.
    pub(super) fn wait_for_joining(&self, until: Duration, clock: &dyn Clock) -> JoinOutcome {
        let mut state = self.shared.state.lock();
        loop {
            if let Some(reason) = &state.stopped {
                return JoinOutcome::Stopped(reason.clone());
            }
            if state.has_joined {
                return JoinOutcome::Joined;
            }
            let left = until.saturating_sub(clock.now());
            if left.is_zero() {
                return JoinOutcome::Waits;
            }
            (state, _) = self.shared.news.wait_timeout(state, left);
        }
    }

    /// The error of something that the node was asked for: if it has stopped, that is why.
    pub(super) fn explain<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| {
            // Others say what became of the transaction, and that is true whatever came later.
            let is_of_node = matches!(error.kind(), ErrorKind::Io | ErrorKind::Busy);
            let is_of_node = is_of_node && !planted(Bug::StopUnexplained);
            let reason = is_of_node.then(|| self.stopped()).flatten();
            reason.map_or(error, |reason| reason.error())
        })
    }
}

/// What the thread of a node tells its monitor.
struct MonitorListener(NodeMonitor);

impl NodeListener for MonitorListener {
    fn node_event(&mut self, event: NodeEvent) {
        let report = match event {
            NodeEvent::Joined => {
                self.0.shared.state.lock().has_joined = true;
                self.0.shared.news.notify_all();
                NodeReport::notice("the node has joined its cluster")
            }
            NodeEvent::Alarm(alarm) => NodeReport::failure(alarm),
            NodeEvent::Partition(PartitionEvent::Stalled { partition, cause }) => {
                NodeReport::failure(format!(
                    "partition {} has no room, and the node reads no further before it has: {cause}",
                    partition.0
                ))
            }
            NodeEvent::Partition(PartitionEvent::Resumed { partition }) => {
                NodeReport::notice(format!("partition {} has room again", partition.0))
            }
            NodeEvent::Partition(PartitionEvent::Failed { cause, .. }) => NodeReport::failure(cause),
            NodeEvent::Partition(PartitionEvent::Lost { partition }) => NodeReport::failure(format!(
                "partition {} was out of use for too long, and the log is not kept for it any more: it is copied from \
                 another node when this one is started again",
                partition.0
            )),
            NodeEvent::Applied(_) | NodeEvent::Appended(_) | NodeEvent::End { .. } => return,
        };
        self.0.report(&report);
    }

    fn horizon_rose(&mut self, _: LogPosition) {}

    fn other_log(&mut self, node: NodeId, position: LogPosition) {
        self.0.report(&NodeReport::failure(format!(
            "node {} has applied another log than this one, up to {position}: this node reads its own again",
            node.0
        )));
    }

    fn left_behind(&mut self, node: NodeId) {
        self.0.report(&NodeReport::failure(format!(
            "node {} is 2 GiB of the log behind, and the log is not kept for it any more: when it is started it copies what \
             it lacks from other nodes",
            node.0
        )));
    }

    fn checkpoint_ended(&mut self, result: std::result::Result<LogPosition, &SaveError>) {
        let held_for = match result {
            Err(SaveError::Held { partition, .. }) => Some(*partition),
            _ => None,
        };
        let was_held_for = std::mem::replace(&mut self.0.shared.state.lock().held_for, held_for);
        // One that waits for a partition may do so for hours.
        if let Err(error) = result
            && (held_for.is_none() || held_for != was_held_for)
        {
            self.0.report(&NodeReport::failure(format!("a checkpoint failed, and is tried again: {error}")));
        }
    }

    fn stopped(&mut self, error: NodeError) {
        let reason = StopReason::of(&error);
        self.0.report(&NodeReport::failure(format!("the node has stopped: {reason}")));
        self.0.stop(reason);
    }
}

impl Drop for MonitorListener {
    /// The thread of the node ends, and has said why, or has panicked.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.report(&NodeReport::failure(StopReason::lost()));
            self.0.stop(StopReason::lost());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::reader::LogChange;
    use crate::planted::assert_found;
    use crate::record_id::Author;
    use evergraph_storage::io::clock::SystemClock;

    fn monitor() -> (NodeMonitor, Arc<Mutex<Vec<NodeReport>>>) {
        let reports = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&reports);
        let monitor =
            NodeMonitor::new(Some(Arc::new(move |report: &NodeReport| told.lock().push(report.clone()))));
        (monitor, reports)
    }

    fn io() -> Result<()> {
        Err(Error::new(ErrorKind::Io, "the node has stopped"))
    }

    #[test]
    fn whoever_waits_for_joining_learns_what_came_first() {
        let (monitor, _) = monitor();
        let mut listener = monitor.listener();
        let clock = SystemClock::new();
        let wait = || monitor.wait_for_joining(clock.now() + Duration::from_millis(1), &clock);
        assert_eq!(wait(), JoinOutcome::Waits);
        listener.node_event(NodeEvent::Joined);
        assert_eq!(wait(), JoinOutcome::Joined);
        listener.stopped(NodeError::Left);
        assert!(matches!(wait(), JoinOutcome::Stopped(reason) if reason.to_string().contains("no member")));
    }

    #[test]
    fn errors_of_a_node_that_has_stopped_say_why_and_outcomes_stay_what_they_are() {
        let (monitor, reports) = monitor();
        assert_eq!(monitor.explain(io()).unwrap_err().to_string(), "the node has stopped");
        let author = Author { node: NodeId(2), incarnation: 4 };
        monitor.listener().stopped(NodeError::NotJoined { author, known: 7 });
        assert_eq!(monitor.stopped().unwrap().known_incarnation, Some(7));
        let error = monitor.explain(io()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "the reason is missing");
        assert!(error.to_string().contains("another process is this node"), "{error}");
        for kind in [ErrorKind::Unknown, ErrorKind::Conflict, ErrorKind::Limit] {
            let error = monitor.explain::<()>(Err(Error::new(kind, "as it was"))).unwrap_err();
            assert_eq!((error.kind(), error.to_string().as_str()), (kind, "as it was"));
        }
        // What comes later is not why.
        monitor.stop(StopReason::closed());
        assert!(monitor.explain(io()).unwrap_err().to_string().contains("another process"));
        let reports = reports.lock();
        assert_eq!((reports.len(), reports[0].severity), (1, ReportSeverity::Failure));
        assert!(monitor.last_failure().unwrap().contains("another process is this node"));
    }

    #[test]
    fn a_checkpoint_that_waits_for_a_partition_is_told_once_and_who_is_left_behind_by_its_number() {
        let (monitor, reports) = monitor();
        let mut listener = monitor.listener();
        for (bytes, partition) in (0..).zip([3, 3, 3, 4, 4].map(PartitionId)) {
            let held = SaveError::Held { partition, bytes: bytes << 20, bytes_max: 1792 << 20 };
            listener.checkpoint_ended(Err(&held));
        }
        listener.left_behind(NodeId(7));
        listener.node_event(NodeEvent::Partition(PartitionEvent::Lost { partition: PartitionId(3) }));
        let told: Vec<String> = reports.lock().iter().map(|report| report.text.clone()).collect();
        assert_eq!(told.len(), 4, "{told:?}");
        assert!(told[1].contains("3 of at most 1792 MiB"), "{told:?}");
        for (text, said) in
            told.iter().zip(["partition 3", "partition 4", "node 7 is 2 GiB", "partition 3 was out of use"])
        {
            assert!(text.contains(said), "{text}");
        }
    }

    #[test]
    fn planted_bugs_are_found() {
        let test = errors_of_a_node_that_has_stopped_say_why_and_outcomes_stay_what_they_are;
        assert_found(Bug::StopUnexplained, test, "the reason is missing");
    }

    #[test]
    fn a_log_that_changed_is_damage() {
        let (monitor, _) = monitor();
        let (position, change) = (LogPosition(3), LogChange::Missing);
        monitor.listener().stopped(NodeError::Read(ReadError::LogChanged { position, change }));
        assert_eq!(monitor.explain(io()).unwrap_err().kind(), ErrorKind::Corrupt);
    }
}
