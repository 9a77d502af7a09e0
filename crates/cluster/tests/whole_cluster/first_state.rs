//! First state: the cluster as it is created, and what its graph is made of.

use evergraph_cluster::certification::certifier::CertifierLimits;
use evergraph_cluster::key_hash::graph_salt::GraphSalt;
use evergraph_cluster::node::replicated_state::ReplicatedState;
use evergraph_cluster::record_id::NodeId;
use evergraph_cluster::tables::cluster_tables::ClusterTables;
use evergraph_cluster::tables::members::Members;
use evergraph_graph::id::{KeyId, LabelId, PartitionId, TypeId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
use evergraph_graph::owner::Owner;
use evergraph_graph::partition::{OwnGroups, PartitionCount};

pub const SALT: GraphSalt = GraphSalt(*b"salt of a graph.");
pub const PERSON: LabelId = LabelId(0);
pub const KNOWS: TypeId = TypeId(0);
pub const WEIGHT: KeyId = KeyId(0);
/// Nodes of a cluster: so many at least, and at most.
pub const NODES: (u16, u16) = (3, 5);
/// Partitions of the graph.
pub const PARTITIONS: u16 = 4;
const COPIES: usize = 2;

pub fn partitions() -> PartitionCount {
    PartitionCount::new(PARTITIONS).unwrap()
}

pub fn own_groups(partition: PartitionId) -> OwnGroups {
    OwnGroups::new(partition, partitions()).unwrap()
}

/// Where a node is reached.
pub fn address(node: NodeId) -> Box<str> {
    format!("node-{}:1", node.0).into()
}

/// The index on weights.
pub fn index() -> IndexDefinition {
    let id = IndexId { owner: Owner::Label(PERSON), key: WEIGHT, kind: IndexKind::Hash };
    IndexDefinition { id, unique: false }
}

/// The state that a cluster of so many nodes is created with. The certifier remembers little of the log.
pub fn first_state(nodes: u16) -> ReplicatedState {
    let members = Members::new((0..nodes).map(|node| (NodeId(node), address(NodeId(node)))));
    let tables = ClusterTables::new(partitions(), members, COPIES);
    let limits = CertifierLimits { generation_slots: 250, parts_bytes: 1 << 20 };
    ReplicatedState::new(SALT, limits, tables)
}
