//! Node status: how a node is and what it has done since it started, for metrics and for `cluster status`.
//!
//! ```text
//! log          applied ──lag──> end, as far as anybody told this node          messages, bytes, alarms
//! records      what became of them, by cause: all, and the node's own
//! partitions   what the log says of the node's copies, and how each of them is
//! checkpoint   the newest, and why the last try failed
//! network      horizon and who holds it, questions and answers, frames by kind          [`PeerLoopStatus`]
//! ```
//!
//! Counts begin at zero when a node starts, and only grow. Every node applies every record: counts of all records are the same on
//! nodes that started together, and a sum over nodes counts those of [`NodeStatus::own_records`].

use crate::digest::SeenLog;
use crate::log::packer::AppendedMessage;
use crate::log::reader::LogAlarm;
use crate::log::shared_log::SharedLog;
use crate::log_position::LogPosition;
use crate::node::apply::{AppliedMessage, Applier};
use crate::node::checkpoint_steps::SaveError;
use crate::node::kept_partition::PartitionCondition;
use crate::node::node_loop::NodeLoop;
use crate::node::partition_store::PartitionStore;
use crate::node::peer_loop::PeerLoopStatus;
use crate::node::record_counts::RecordCounts;
use crate::record_id::{Author, NodeId};
use crate::tables::members::Members;
use crate::tables::placement::CopyState;
use evergraph_graph::id::PartitionId;
use std::collections::BTreeMap;
use std::time::Duration;

/// A node at a moment.
#[derive(Clone, Debug)]
pub struct NodeStatus {
    /// Which node, and which start of it.
    pub author: Author,
    /// Whether its records are taken.
    pub is_member: bool,
    /// Its log.
    pub log: LogStatus,
    /// All records that it has applied.
    pub records: RecordCounts,
    /// Those of this start of the node.
    pub own_records: RecordCounts,
    /// Claims of another log.
    pub alarms: AlarmCounts,
    /// The members of the cluster, ascending, as far as the node has applied.
    pub members: Vec<MemberStatus>,
    /// The partitions that it keeps, or should, ascending.
    pub partitions: Vec<PartitionStatus>,
    /// Its checkpoints.
    pub checkpoint: CheckpointStatus,
    /// Its network.
    pub peers: PeerLoopStatus,
}

impl NodeStatus {
    /// Of a node on its log and its network, whose owner has counted this.
    pub(super) fn of<P: PartitionStore, L: SharedLog>(
        node: &NodeLoop<P, L>,
        peers: PeerLoopStatus,
        counts: &NodeCounts,
    ) -> Self {
        Self {
            author: node.author(),
            is_member: node.is_member(),
            log: LogStatus::of(node, &peers, counts),
            records: counts.records,
            own_records: counts.own_records,
            alarms: counts.alarms,
            members: MemberStatus::all(node.applier().state().tables().members()),
            partitions: PartitionStatus::all(node.applier(), node.author().node),
            checkpoint: counts.checkpoint.clone(),
            peers,
        }
    }
}

/// How far a node is in its log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogStatus {
    /// What it has applied.
    pub applied: SeenLog,
    /// The furthest message that the node knows of: as the log, or another node, has told it.
    pub end: LogPosition,
    /// The first message that a start from the newest checkpoint needs.
    pub needed_from: LogPosition,
    /// Messages that were applied.
    pub read: MessageTotal,
    /// Messages of this node that the log took.
    pub appended: MessageTotal,
    /// Own records that the log has not taken yet.
    pub unanswered: usize,
    /// Whether a partition has no room, so that no message is read.
    pub is_stalled: bool,
    /// Why the log cannot be read or written at present.
    pub failure: Option<String>,
}

impl LogStatus {
    fn of<P: PartitionStore, L: SharedLog>(
        node: &NodeLoop<P, L>,
        peers: &PeerLoopStatus,
        counts: &NodeCounts,
    ) -> Self {
        let applied = node.applier().state().seen();
        let told = peers.horizon.peers.iter().filter_map(|peer| Some(peer.said?.applied.position));
        Self {
            applied,
            end: told.fold(applied.position.max(counts.end), LogPosition::max),
            needed_from: node.applier().needed_from(),
            read: counts.read,
            appended: counts.appended,
            unanswered: node.unanswered(),
            is_stalled: node.applier().is_stalled(),
            failure: node.failure().map(ToString::to_string),
        }
    }

    /// How far the node is behind, in positions: as many messages, or fewer where the log has gaps.
    #[must_use]
    pub fn lag(&self) -> u64 {
        self.end.0.saturating_sub(self.applied.position.0)
    }
}

/// Messages of the log, and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MessageTotal {
    /// Messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl MessageTotal {
    fn add(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes as u64;
    }
}

/// Claims of another log that a node has looked into, by whose they were. Its own log was the one that it had applied, or it has
/// stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AlarmCounts {
    /// Authors of messages.
    pub authors: u64,
    /// Answers of the log to appends: it has lost what it had acknowledged.
    pub lost_appends: u64,
    /// Other nodes, by heartbeat or refusal.
    pub nodes: u64,
}

/// A member of the cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberStatus {
    /// Which node.
    pub node: NodeId,
    /// Where it answers.
    pub address: Box<str>,
    /// The start that joined last; `None` if it never has.
    pub incarnation: Option<u32>,
}

impl MemberStatus {
    fn all(members: &Members) -> Vec<Self> {
        let status = |node| {
            let address = members.address(node)?.into();
            Some(Self { node, address, incarnation: members.incarnation(node) })
        };
        members.all().filter_map(status).collect()
    }
}

/// A partition that a node keeps.
#[derive(Clone, Debug)]
pub struct PartitionStatus {
    /// Which one.
    pub partition: PartitionId,
    /// What the node does with it, as the log says; `None` if it does not say that the node keeps it.
    pub copy: Option<CopyState>,
    /// How it is; `None` if the node does not keep it.
    pub condition: Option<PartitionCondition>,
}

impl PartitionStatus {
    /// Those that `node` keeps or should, ascending.
    fn all<P: PartitionStore>(applier: &Applier<P>, node: NodeId) -> Vec<Self> {
        let kept = applier.conditions().map(|(partition, condition)| {
            (partition, Self { partition, copy: None, condition: Some(condition) })
        });
        let mut statuses: BTreeMap<PartitionId, Self> = kept.collect();
        for (partition, copy) in applier.state().tables().placement().kept_by(node) {
            let missing = Self { partition, copy: None, condition: None };
            statuses.entry(partition).or_insert(missing).copy = Some(copy);
        }
        statuses.into_values().collect()
    }
}

/// The checkpoints of a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CheckpointStatus {
    /// The newest that this start of the node made: it has everything through this message.
    pub newest: Option<LogPosition>,
    /// When that was, by the clock of the node.
    pub made_at: Option<Duration>,
    /// How many were made.
    pub made: u64,
    /// How many failed.
    pub failed: u64,
    /// Why the last one failed; `None` if it was made.
    pub failure: Option<String>,
    /// Whether one is being written.
    pub is_being_written: bool,
}

/// What the owner of a node counts.
#[derive(Debug, Default)]
pub(super) struct NodeCounts {
    pub(super) records: RecordCounts,
    pub(super) own_records: RecordCounts,
    pub(super) read: MessageTotal,
    pub(super) appended: MessageTotal,
    pub(super) alarms: AlarmCounts,
    pub(super) checkpoint: CheckpointStatus,
    /// The furthest message that the log has told of.
    end: LogPosition,
}

impl NodeCounts {
    pub(super) fn applied(&mut self, message: &AppliedMessage, own: Author) {
        self.read.add(message.bytes);
        self.end = self.end.max(message.seen.position);
        for record in &message.records {
            self.records.add(&record.result);
            if message.author == own {
                self.own_records.add(&record.result);
            }
        }
    }

    pub(super) fn appended(&mut self, appended: &AppendedMessage) {
        self.appended.add(appended.message.len());
        self.end = self.end.max(appended.position);
    }

    /// The log said that it ends here.
    pub(super) fn ends_at(&mut self, end: LogPosition) {
        self.end = self.end.max(end);
    }

    pub(super) fn alarm(&mut self, alarm: &LogAlarm) {
        let count = match alarm {
            LogAlarm::OtherAuthor { .. } => &mut self.alarms.authors,
            LogAlarm::LostAppend { .. } => &mut self.alarms.lost_appends,
            LogAlarm::OtherNode { .. } => &mut self.alarms.nodes,
        };
        *count += 1;
    }

    pub(super) fn checkpoint_ended(&mut self, now: Duration, result: Result<LogPosition, &SaveError>) {
        let status = &mut self.checkpoint;
        status.is_being_written = false;
        match result {
            Ok(position) => {
                (status.newest, status.made_at) = (Some(position), Some(now));
                status.made += 1;
                status.failure = None;
            }
            Err(error) => {
                status.failed += 1;
                status.failure = Some(error.to_string());
            }
        }
    }
}
