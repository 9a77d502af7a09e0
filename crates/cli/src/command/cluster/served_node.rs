//! Served node: the node that this process runs, as the server, its log and other processes see it.

use crate::command::cluster::node_document::{MemberSection, NodeDocument, NodeState};
use crate::command::cluster::node_samples::samples;
use crate::command::cluster::status_file::StatusDocument;
use crate::command::service::serving::Companion;
use evergraph_cluster::running::cluster_node::ClusterNode;
use evergraph_cluster::running::report::{OnReport, ReportSeverity};
use evergraph_server::databases::cluster_member::ClusterMember;
use evergraph_server::log::target;
use evergraph_server::metric_samples::DatabaseSample;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Tells the log of the server what a node reports, from now on; and `progress` how far its start is.
#[must_use]
pub fn reporting(progress: Sender<String>) -> OnReport {
    Arc::new(move |report| match report.severity {
        ReportSeverity::Progress => {
            tracing::info!(target: target::SERVER, "{}", report.text);
            // Nobody listens once the node has joined.
            let _ = progress.send(report.text.clone());
        }
        ReportSeverity::Notice => tracing::info!(target: target::SERVER, "{}", report.text),
        ReportSeverity::Warning => tracing::warn!(target: target::SERVER, "{}", report.text),
        ReportSeverity::Failure => tracing::error!(target: target::SERVER, "{}", report.text),
    })
}

/// How often its status is looked at, for its file and the log of the server.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);

/// After so long in its cluster a node is told of others that it has never heard of. Before that their connections are being made.
const GREETING_TIME: Duration = Duration::from_secs(5);

/// A node, and what was told of it last.
pub struct ServedNode {
    node: Arc<ClusterNode>,
    folder: PathBuf,
    told: Mutex<Told>,
}

/// What was told last.
#[derive(Default)]
struct Told {
    /// When its status was looked at.
    looked_at: Option<Instant>,
    /// Where it serves drivers.
    url: Option<String>,
    state: Option<NodeState>,
    /// Since when it has been a member.
    joined_at: Option<Instant>,
    lost_members: BTreeSet<u16>,
    file_failure: Option<String>,
}

impl ServedNode {
    /// The node with this folder.
    #[must_use]
    pub fn new(node: Arc<ClusterNode>, folder: &Path) -> Self {
        Self { node, folder: folder.to_owned(), told: Mutex::default() }
    }

    /// How it is now.
    #[must_use]
    pub fn document(&self) -> NodeDocument {
        NodeDocument::new(self.node.description(), &self.node.status())
    }

    /// Says where it serves drivers, from now on.
    pub fn serves_at(&self, url: &str) {
        let mut told = self.told();
        told.url = Some(url.to_owned());
        told.looked_at = None;
    }

    /// Tells how it is: writes its file, and to the log what changed. Nothing within a second of the last time.
    pub fn tell(&self) {
        let mut told = self.told();
        if told.looked_at.is_some_and(|at| at.elapsed() < STATUS_INTERVAL) {
            return;
        }
        told.looked_at = Some(Instant::now());
        let report = self.document();
        told.log_changes(&report);
        let written = StatusDocument::new(report, told.url.clone()).write(&self.folder);
        let failure = written.err().map(|error| error.to_string());
        if let Some(why) = failure.as_ref().filter(|why| told.file_failure.as_ref() != Some(why)) {
            tracing::warn!(target: target::SERVER, "other processes do not see how the node is: {why}");
        }
        told.file_failure = failure;
    }

    /// Tells how it is in the end.
    pub fn tell_end(&self) {
        self.told().looked_at = None;
        self.tell();
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Told {
    fn log_changes(&mut self, report: &NodeDocument) {
        let NodeDocument { node, state, .. } = *report;
        if self.state != Some(state) {
            let why = report.log.failure.as_deref().unwrap_or_default();
            let nodes = report.members.len();
            match state {
                NodeState::Joining => {
                    tracing::info!(target: target::SERVER, "node {node} of {nodes} reads the log")
                }
                NodeState::Serving => {
                    tracing::info!(target: target::SERVER, "node {node} of {nodes} is a member")
                }
                NodeState::WithoutLog => {
                    tracing::warn!(target: target::SERVER, "the log does not answer, and commits wait: {why}");
                }
                NodeState::Silent => {
                    let seconds = report.silent_seconds.unwrap_or_default();
                    tracing::error!(
                        target: target::SERVER,
                        "the node has not said for {seconds:.0} s how it is: what others see of it is old"
                    );
                }
                // Told by the node itself, with the reason.
                NodeState::Degraded | NodeState::Stalled | NodeState::Stopped => {}
            }
            self.state = Some(state);
        }
        if state != NodeState::Joining {
            let joined_at = *self.joined_at.get_or_insert_with(Instant::now);
            let lost = lost_members(report, joined_at.elapsed());
            for member in &report.members {
                let (was_lost, is_lost) =
                    (self.lost_members.contains(&member.node), lost.contains(&member.node));
                let (other, address) = (member.node, &*member.address);
                match (was_lost, is_lost) {
                    (false, true) => {
                        tracing::warn!(target: target::SERVER, "node {other} at {address} is not reached");
                    }
                    (true, false) => {
                        tracing::info!(target: target::SERVER, "node {other} at {address} is reached")
                    }
                    _ => {}
                }
            }
            self.lost_members = lost;
        }
    }
}

/// Members that are told as lost by a node that has been one for so long.
fn lost_members(report: &NodeDocument, joined_for: Duration) -> BTreeSet<u16> {
    let is_lost = |member: &&MemberSection| member.applied.is_some() || joined_for >= GREETING_TIME;
    report.lost_members().filter(is_lost).map(|member| member.node).collect()
}

impl ClusterMember for ServedNode {
    fn status(&self) -> Json {
        let document = StatusDocument::new(self.document(), self.told().url.clone());
        serde_json::to_value(document).expect("a report has text keys and finite numbers")
    }

    fn problem(&self) -> Option<&'static str> {
        problem_of(self.document().state)
    }

    fn samples(&self) -> Vec<DatabaseSample> {
        samples(&self.document())
    }
}

/// What a node in this state cannot do.
fn problem_of(state: NodeState) -> Option<&'static str> {
    match state {
        // Of a node that has stopped the health of its database says so.
        NodeState::Serving | NodeState::Stopped => None,
        NodeState::Joining => Some("a node of a cluster has not joined it"),
        NodeState::Degraded => Some("a node of a cluster lacks partitions that it should keep"),
        NodeState::WithoutLog => Some("the log of a cluster does not answer: commits wait"),
        NodeState::Stalled => Some("a disk is full: a node of a cluster falls behind"),
        NodeState::Silent => Some("a node of a cluster does not answer"),
    }
}

impl Companion for ServedNode {
    fn begin_again(&self) {}

    fn look_after(&self) {
        self.tell();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::cluster::node_document::example;

    #[test]
    fn a_member_is_not_told_as_lost_while_connections_are_first_made() {
        let mut report = example();
        assert_eq!(lost_members(&report, Duration::ZERO), [2].into(), "it was heard of before");
        report.members[2].applied = None;
        assert!(lost_members(&report, GREETING_TIME / 2).is_empty());
        assert_eq!(lost_members(&report, GREETING_TIME), [2].into());
    }

    #[test]
    fn each_state_but_serving_is_a_problem_that_the_health_of_the_server_tells() {
        for state in NodeState::ALL {
            let is_told_elsewhere = matches!(state, NodeState::Serving | NodeState::Stopped);
            assert_eq!(problem_of(state).is_none(), is_told_elsewhere, "{state:?}");
        }
    }
}
