//! Node document: how a node of a cluster is, as one document: in its folder, by HTTP, and printed with `--json`.

use evergraph_cluster::node::horizon::HorizonHolder;
use evergraph_cluster::node::kept_partition::PartitionCondition;
use evergraph_cluster::node::node_status::{LogStatus, NodeStatus, PartitionStatus};
use evergraph_cluster::node::record_counts::RecordCounts;
use evergraph_cluster::record_id::NodeId;
use evergraph_cluster::running::description::ClusterDescription;
use evergraph_cluster::running::status::{ClusterStatus, UnusablePartition};
use evergraph_cluster::tables::placement::CopyState;
use evergraph_cluster::transport::frame_counts::{FrameCounts, FrameTotal};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// After so long without a word another node counts as not reached. Nodes speak several times a second.
const SILENCE_MAX: Duration = Duration::from_secs(3);

/// A node at a moment. What nodes of earlier versions do not write has a default: a field that is added needs one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NodeDocument {
    /// The cluster's name.
    pub cluster: String,
    /// Which cluster it is, as the certificates of its nodes say.
    pub cluster_id: String,
    /// Which node.
    pub node: u16,
    /// How often it had started before.
    pub incarnation: u32,
    /// What it does.
    pub state: NodeState,
    /// Why it has stopped by itself; `null` if it has not.
    pub stopped: Option<String>,
    /// How old all this is, if the node does not say how it is; `null` if it does.
    pub silent_seconds: Option<f64>,
    /// The newest failure of anything; it may have passed.
    pub last_failure: Option<String>,
    /// How far it is in the log.
    pub log: LogSection,
    /// Records that it has applied since it started, by what became of them.
    pub records: BTreeMap<String, u64>,
    /// Those that it wrote itself.
    pub own_records: BTreeMap<String, u64>,
    /// Claims of another log, by whose they were.
    pub alarms: AlarmSection,
    /// The oldest snapshot in use.
    pub horizon: HorizonSection,
    /// All nodes of the cluster, ascending.
    pub members: Vec<MemberSection>,
    /// The partitions that it keeps.
    pub partitions: PartitionsSection,
    /// Its newest checkpoint.
    pub checkpoint: CheckpointSection,
    /// Messages between it and other nodes, by kind.
    pub network: NetworkSection,
    /// What it has done for queries whose stages run where the vertices lie, of all nodes, since it started.
    #[serde(default)]
    pub travelled: TravelledSection,
}

/// What a node does. Of several that are true the worst counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// It has not joined yet: it waits for the log, or applies what it has missed.
    Joining,
    /// It reads and commits.
    Serving,
    /// It reads and commits, and cannot use partitions that it should keep: other nodes answer for these.
    Degraded,
    /// It cannot read or write the log at present: reads go on.
    WithoutLog,
    /// It has no room for what it should apply.
    Stalled,
    /// It does not say how it is: what is known is old.
    Silent,
    /// It has ended by itself, and says why.
    Stopped,
}

/// How far a node is in the log. Positions grow, with gaps.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LogSection {
    /// The last message that it has applied.
    pub applied: u64,
    /// A hash of the log up to that message, in hexadecimal digits: nodes that have applied as much have the same.
    pub digest: String,
    /// The last one that it knows of.
    pub end: u64,
    /// The first one that it needs, should it start again.
    pub needed_from: u64,
    /// Messages that it has read.
    pub read_messages: u64,
    /// Their bytes.
    pub read_bytes: u64,
    /// Messages that it has appended.
    pub appended_messages: u64,
    /// Their bytes.
    pub appended_bytes: u64,
    /// Own records that the log has not taken yet.
    pub unanswered_records: usize,
    /// Why it cannot be read or written at present; `null` if it can.
    pub failure: Option<String>,
}

/// Claims of another log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AlarmSection {
    /// By authors of messages.
    pub authors: u64,
    /// By answers to appends: the log has lost what it had acknowledged.
    pub lost_appends: u64,
    /// By other nodes.
    pub nodes: u64,
}

/// The oldest snapshot that somebody reads.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HorizonSection {
    /// Its position.
    pub position: u64,
    /// Who reads it: `nobody`, `own_reader`, `answer` or `peer`.
    pub held_by: String,
    /// Which node, if it is another one.
    pub peer: Option<u16>,
}

/// A node of the cluster.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MemberSection {
    /// Which node.
    pub node: u16,
    /// Where the others reach it.
    pub address: String,
    /// How often it had started before it joined last; `null` if it never has.
    pub incarnation: Option<u32>,
    /// Whether it is the node that says all this, or has been heard of.
    pub reached: bool,
    /// How long it has said nothing; `null` for the node that says all this.
    pub silent_seconds: Option<f64>,
    /// The last message of the log that it said it has applied; `null` if it has said nothing.
    pub applied: Option<u64>,
}

/// The partitions that a node keeps, or should. Each is counted once.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PartitionsSection {
    /// All of them.
    pub kept: usize,
    /// Those that have everything that the node has applied.
    pub complete: usize,
    /// Those that are being copied.
    pub copying: usize,
    /// Those whose files hold more than the node has applied: it is catching up.
    pub ahead: usize,
    /// Those without room.
    pub stalled: usize,
    /// Those out of use.
    pub failed: usize,
    /// Those that it should keep, and could not use when it started.
    pub unusable: usize,
    /// Others that it should keep, and does not.
    pub missing: usize,
    /// Why some cannot be used, ascending.
    pub problems: Vec<PartitionProblem>,
}

/// Why a node cannot use a partition that it should keep.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PartitionProblem {
    /// Which partition.
    pub partition: u16,
    /// Why.
    pub reason: String,
}

/// The newest checkpoint of a node.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CheckpointSection {
    /// The last message of the log that it has; `null` if the node has made none since it started.
    pub position: Option<u64>,
    /// How many were made since the node started.
    pub made: u64,
    /// How many failed.
    pub failed: u64,
    /// Why the last one failed; `null` if it did not.
    pub failure: Option<String>,
}

/// Messages between a node and others, by kind.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NetworkSection {
    /// Sent.
    pub sent: BTreeMap<String, MessagesSection>,
    /// Received.
    pub received: BTreeMap<String, MessagesSection>,
    /// Those that had no room, or could not be sent.
    pub dropped: u64,
    /// Frames in which messages were sent: those that wait together travel in one.
    #[serde(default)]
    pub frames_sent: u64,
    /// Frames in which messages were received.
    #[serde(default)]
    pub frames_received: u64,
}

/// What a node has done for queries that travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TravelledSection {
    /// Edges of adjacency lists that stages have read on its partitions.
    pub edges_read: u64,
    /// Rows that it has sent to other nodes.
    pub rows_sent: u64,
    /// Runs of queries that were asked here: two of one that began again, since a node was lost.
    pub runs_asked: u64,
    /// Queries that were asked here, and have not ended.
    pub open_asked: u64,
    /// Those that run here, whichever node was asked.
    pub open_running: u64,
}

/// Messages, and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MessagesSection {
    /// Messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl NodeDocument {
    /// Of a node of the cluster that `description` describes, whose status at present is `status`.
    #[must_use]
    pub fn new(description: &ClusterDescription, status: &ClusterStatus) -> Self {
        let ClusterStatus { stopped, unusable, silent_for, last_failure, .. } = status;
        let status = &status.node;
        let partitions = PartitionsSection::of(&status.partitions, unusable);
        let log = &status.log;
        let (holder, peer) = match status.peers.horizon.holder {
            HorizonHolder::Nobody => ("nobody", None),
            HorizonHolder::OwnReader => ("own_reader", None),
            HorizonHolder::Answer => ("answer", None),
            HorizonHolder::Peer(node) => ("peer", Some(node.0)),
        };
        Self {
            cluster: description.name.clone(),
            cluster_id: description.id().to_string(),
            node: status.author.node.0,
            incarnation: status.author.incarnation,
            state: match (stopped, silent_for) {
                (Some(_), _) => NodeState::Stopped,
                (None, Some(_)) => NodeState::Silent,
                (None, None) => NodeState::of(&status.log, status.is_member, &partitions),
            },
            stopped: stopped.clone(),
            silent_seconds: silent_for.map(|age| age.as_secs_f64()),
            last_failure: last_failure.clone(),
            log: LogSection {
                applied: log.applied.position.0,
                digest: format!("{:?}", log.applied.digest),
                end: log.end.0,
                needed_from: log.needed_from.0,
                read_messages: log.read.messages,
                read_bytes: log.read.bytes,
                appended_messages: log.appended.messages,
                appended_bytes: log.appended.bytes,
                unanswered_records: log.unanswered,
                failure: log.failure.clone(),
            },
            records: counts(&status.records),
            own_records: counts(&status.own_records),
            alarms: AlarmSection {
                authors: status.alarms.authors,
                lost_appends: status.alarms.lost_appends,
                nodes: status.alarms.nodes,
            },
            horizon: HorizonSection {
                position: status.peers.horizon.horizon.0,
                held_by: holder.to_owned(),
                peer,
            },
            members: members(status),
            partitions,
            checkpoint: CheckpointSection {
                position: status.checkpoint.newest.map(|position| position.0),
                made: status.checkpoint.made,
                failed: status.checkpoint.failed,
                failure: status.checkpoint.failure.clone(),
            },
            network: NetworkSection {
                sent: messages(status.peers.sent),
                received: messages(status.peers.received),
                dropped: status.peers.dropped_frames,
                frames_sent: status.peers.sent.network_frames,
                frames_received: status.peers.received.network_frames,
            },
            travelled: TravelledSection {
                edges_read: status.peers.travelled.edges_read,
                rows_sent: status.peers.travelled.rows,
                runs_asked: status.peers.travelled.runs_asked,
                open_asked: status.peers.travelling.asked as u64,
                open_running: status.peers.travelling.running as u64,
            },
        }
    }

    /// Members that this node has not heard of for some seconds.
    pub fn lost_members(&self) -> impl Iterator<Item = &MemberSection> {
        self.members.iter().filter(|member| !member.reached)
    }
}

impl LogSection {
    /// How far the node is behind, in positions: as many messages, or fewer where the log has gaps.
    #[must_use]
    pub fn lag(&self) -> u64 {
        self.end.saturating_sub(self.applied)
    }
}

impl NodeState {
    /// All of them, by name.
    pub const ALL: [Self; 7] = [
        Self::Joining,
        Self::Serving,
        Self::Degraded,
        Self::WithoutLog,
        Self::Stalled,
        Self::Silent,
        Self::Stopped,
    ];

    /// Of a node that answers. Before it has joined it serves no reads, so it is not merely without a log then.
    fn of(log: &LogStatus, is_member: bool, partitions: &PartitionsSection) -> Self {
        if log.is_stalled {
            Self::Stalled
        } else if !is_member {
            Self::Joining
        } else if log.failure.is_some() {
            Self::WithoutLog
        } else if partitions.lost() > 0 {
            Self::Degraded
        } else {
            Self::Serving
        }
    }

    /// Its name in documents and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Joining => "joining",
            Self::Serving => "serving",
            Self::Degraded => "degraded",
            Self::WithoutLog => "without_log",
            Self::Stalled => "stalled",
            Self::Silent => "silent",
            Self::Stopped => "stopped",
        }
    }
}

impl PartitionsSection {
    /// `unusable` are those that were left out when the node started, which may have changed since.
    fn of(partitions: &[PartitionStatus], unusable: &[UnusablePartition]) -> Self {
        let mut report = Self::default();
        for PartitionStatus { partition, copy, condition } in partitions {
            report.kept += 1;
            let left_out = unusable.iter().find(|unusable| unusable.partition == *partition);
            let (count, reason) = match (copy, condition, left_out) {
                (_, Some(PartitionCondition::Failed { cause }), _) => {
                    (&mut report.failed, Some(cause.to_string()))
                }
                (_, Some(PartitionCondition::Stalled), _) => (&mut report.stalled, None),
                (_, None, Some(left_out)) => (&mut report.unusable, Some(left_out.reason.clone())),
                (_, None, None) => (&mut report.missing, None),
                (Some(CopyState::Copies), Some(_), _) => (&mut report.copying, None),
                (_, Some(PartitionCondition::Ahead { .. }), _) => (&mut report.ahead, None),
                (_, Some(PartitionCondition::Complete), _) => (&mut report.complete, None),
            };
            *count += 1;
            report.problems.extend(reason.map(|reason| PartitionProblem { partition: partition.0, reason }));
        }
        report
    }

    /// Those that the node should keep, and cannot use.
    #[must_use]
    pub fn lost(&self) -> usize {
        self.failed + self.unusable + self.missing
    }
}

fn members(status: &NodeStatus) -> Vec<MemberSection> {
    let own = status.author.node;
    let peer_of = |node: NodeId| status.peers.horizon.peers.iter().find(|peer| peer.node == node);
    let members = status.members.iter().map(|member| {
        let peer = peer_of(member.node).filter(|_| member.node != own);
        let said = peer.and_then(|peer| peer.said.as_ref());
        let is_heard = said.is_some() && peer.is_some_and(|peer| peer.silent_for <= SILENCE_MAX);
        MemberSection {
            node: member.node.0,
            address: member.address.to_string(),
            incarnation: member.incarnation,
            reached: member.node == own || is_heard,
            silent_seconds: peer.map(|peer| peer.silent_for.as_secs_f64()),
            applied: match member.node == own {
                true => Some(status.log.applied.position.0),
                false => said.map(|heartbeat| heartbeat.applied.position.0),
            },
        }
    });
    members.collect()
}

fn counts(records: &RecordCounts) -> BTreeMap<String, u64> {
    records.by_outcome().into_iter().map(|(outcome, count)| (outcome.to_owned(), count)).collect()
}

fn messages(frames: FrameCounts) -> BTreeMap<String, MessagesSection> {
    let kinds = frames.by_kind().into_iter();
    let report = |total: FrameTotal| MessagesSection { messages: total.frames, bytes: total.bytes };
    kinds.map(|(kind, total)| (kind.to_owned(), report(total))).collect()
}

/// A node of three that serves, hears of one other and has lost the third.
#[cfg(test)]
#[must_use]
pub fn example() -> NodeDocument {
    let counts =
        |counts: &[(&str, u64)]| counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    let member = |node: u16, reached, silent_seconds, applied| MemberSection {
        node,
        address: format!("10.0.0.{node}:7400"),
        incarnation: Some(u32::from(node)),
        reached,
        silent_seconds,
        applied,
    };
    NodeDocument {
        cluster: "shop".to_owned(),
        cluster_id: "0".repeat(32),
        node: 0,
        incarnation: 0,
        state: NodeState::Serving,
        stopped: None,
        silent_seconds: None,
        last_failure: None,
        log: LogSection {
            applied: 1_234,
            digest: "0".repeat(32),
            end: 1_241,
            needed_from: 1_100,
            read_messages: 900,
            read_bytes: 90_000,
            appended_messages: 300,
            appended_bytes: 3 << 20,
            unanswered_records: 2,
            failure: None,
        },
        records: counts(&[("committed", 5_000), ("conflict", 7), ("too_old", 0)]),
        own_records: counts(&[("committed", 2_000), ("conflict", 3)]),
        alarms: AlarmSection { authors: 0, lost_appends: 0, nodes: 0 },
        horizon: HorizonSection { position: 1_200, held_by: "peer".to_owned(), peer: Some(1) },
        members: vec![
            member(0, true, None, Some(1_234)),
            member(1, true, Some(0.2), Some(1_230)),
            member(2, false, Some(90.0), Some(980)),
        ],
        partitions: PartitionsSection { kept: 43, complete: 42, copying: 1, ..PartitionsSection::default() },
        checkpoint: CheckpointSection { position: Some(1_099), made: 12, failed: 0, failure: None },
        network: NetworkSection {
            sent: BTreeMap::from([("question".to_owned(), MessagesSection { messages: 5, bytes: 500 })]),
            received: BTreeMap::new(),
            dropped: 1,
            frames_sent: 3,
            frames_received: 2,
        },
        travelled: TravelledSection {
            edges_read: 7_000,
            rows_sent: 80,
            runs_asked: 21,
            open_asked: 1,
            open_running: 3,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_cluster::digest::SeenLog;
    use evergraph_cluster::log_position::LogPosition;
    use evergraph_cluster::node::apply_error::ApplyError;
    use evergraph_cluster::node::node_status::MessageTotal;
    use evergraph_graph::id::PartitionId;
    use std::sync::Arc;

    fn partition(
        number: u16,
        copy: Option<CopyState>,
        condition: Option<PartitionCondition>,
    ) -> PartitionStatus {
        PartitionStatus { partition: PartitionId(number), copy, condition }
    }

    fn log(is_stalled: bool, failure: Option<&str>) -> LogStatus {
        LogStatus {
            applied: SeenLog::START,
            end: LogPosition(7),
            needed_from: LogPosition(1),
            read: MessageTotal::default(),
            appended: MessageTotal::default(),
            unanswered: 0,
            is_stalled,
            failure: failure.map(str::to_owned),
        }
    }

    #[test]
    fn each_partition_is_counted_once_and_those_out_of_use_have_reasons() {
        use PartitionCondition::{Complete, Failed, Stalled};
        let (serves, copies) = (Some(CopyState::Serves), Some(CopyState::Copies));
        let cause = ApplyError::Kept { partition: PartitionId(2) };
        let failure = cause.to_string();
        let partitions = [
            partition(0, serves, Some(Complete)),
            partition(1, serves, Some(Stalled)),
            partition(2, serves, Some(Failed { cause: Arc::new(cause) })),
            partition(3, serves, None),
            partition(4, serves, None),
            partition(5, copies, None),
            partition(6, copies, Some(Complete)),
            // Left out at the start, and there again.
            partition(7, serves, Some(Complete)),
        ];
        let unusable = [4, 7, 9].map(|number| UnusablePartition {
            partition: PartitionId(number),
            reason: "no manifest".to_owned(),
        });
        let section = PartitionsSection::of(&partitions, &unusable);
        let problem = |partition, reason: &str| PartitionProblem { partition, reason: reason.to_owned() };
        let expected = PartitionsSection {
            kept: 8,
            complete: 2,
            copying: 1,
            ahead: 0,
            stalled: 1,
            failed: 1,
            unusable: 1,
            missing: 2,
            problems: vec![problem(2, &failure), problem(4, "no manifest")],
        };
        assert_eq!((section.lost(), section), (4, expected));
    }

    #[test]
    fn the_worst_of_several_states_counts() {
        let whole = PartitionsSection { kept: 1, complete: 1, ..PartitionsSection::default() };
        let lacking = [
            PartitionsSection { failed: 1, ..whole.clone() },
            PartitionsSection { unusable: 1, ..whole.clone() },
            PartitionsSection { missing: 1, ..whole.clone() },
        ];
        let (well, cut_off) = (log(false, None), log(false, Some("no member answers")));
        assert_eq!(NodeState::of(&well, true, &whole), NodeState::Serving);
        for partitions in &lacking {
            assert_eq!(NodeState::of(&well, true, partitions), NodeState::Degraded);
            assert_eq!(NodeState::of(&cut_off, true, partitions), NodeState::WithoutLog);
        }
        assert_eq!(NodeState::of(&cut_off, false, &whole), NodeState::Joining, "it reads nothing yet");
        let full = log(true, Some("no member answers"));
        assert_eq!(
            [true, false].map(|is_member| NodeState::of(&full, is_member, &whole)),
            [NodeState::Stalled; 2]
        );
    }

    #[test]
    fn states_are_called_alike_in_documents_and_metrics() {
        for state in NodeState::ALL {
            assert_eq!(serde_json::to_value(state).unwrap(), state.name());
        }
    }

    /// As a node wrote it before queries travelled.
    const EARLIER: &str = r#"{
        "cluster": "shop", "cluster_id": "00000000000000000000000000000000", "node": 0, "incarnation": 0, "state": "serving",
        "stopped": null, "silent_seconds": null, "last_failure": null,
        "log": {
            "applied": 1234, "digest": "00000000000000000000000000000000", "end": 1241, "needed_from": 1100,
            "read_messages": 900, "read_bytes": 90000, "appended_messages": 300, "appended_bytes": 3145728,
            "unanswered_records": 2, "failure": null
        },
        "records": {"committed": 5000, "conflict": 7, "too_old": 0}, "own_records": {"committed": 2000, "conflict": 3},
        "alarms": {"authors": 0, "lost_appends": 0, "nodes": 0},
        "horizon": {"position": 1200, "held_by": "peer", "peer": 1},
        "members": [
            {"node": 0, "address": "10.0.0.0:7400", "incarnation": 0, "reached": true, "silent_seconds": null, "applied": 1234},
            {"node": 1, "address": "10.0.0.1:7400", "incarnation": 1, "reached": true, "silent_seconds": 0.2, "applied": 1230},
            {"node": 2, "address": "10.0.0.2:7400", "incarnation": 2, "reached": false, "silent_seconds": 90.0, "applied": 980}
        ],
        "partitions": {
            "kept": 43, "complete": 42, "copying": 1, "ahead": 0, "stalled": 0, "failed": 0, "unusable": 0, "missing": 0,
            "problems": []
        },
        "checkpoint": {"position": 1099, "made": 12, "failed": 0, "failure": null},
        "network": {"sent": {"question": {"messages": 5, "bytes": 500}}, "received": {}, "dropped": 1}
    }"#;

    #[test]
    fn documents_of_earlier_nodes_are_read() {
        let read: NodeDocument = serde_json::from_str(EARLIER).unwrap();
        let network = NetworkSection { frames_sent: 0, frames_received: 0, ..example().network };
        let travelled = TravelledSection::default();
        assert_eq!(read, NodeDocument { network: network.clone(), travelled, ..example() });
        // As the section was at first.
        let mut document: serde_json::Value = serde_json::from_str(EARLIER).unwrap();
        document["travelled"] = serde_json::json!({"edges_read": 7_000, "rows_sent": 80});
        let read: NodeDocument = serde_json::from_value(document).unwrap();
        let travelled =
            TravelledSection { runs_asked: 0, open_asked: 0, open_running: 0, ..example().travelled };
        assert_eq!(read, NodeDocument { network, travelled, ..example() });
    }

    #[test]
    fn a_document_is_read_as_it_was_written() {
        let text = serde_json::to_string(&example()).unwrap();
        assert_eq!(serde_json::from_str::<NodeDocument>(&text).unwrap(), example());
        assert_eq!(example().lost_members().map(|member| member.node).collect::<Vec<_>>(), [2]);
    }
}
