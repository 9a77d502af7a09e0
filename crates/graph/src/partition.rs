//! Partition: the vertex groups that one store keeps, of a graph that is divided among several stores.
//!
//! ```text
//! group g   in partition g mod P; P is fixed when the graph is created
//! vertex    in the partition of its group
//! edge      its out side, with its properties, in the partition of its source; its in side in that of its target
//! ```
//!
//! Vertex ids are those of the whole graph, so that an id says in which partition its vertex is.

use crate::id::{GroupId, PartitionId};
use crate::mutation::Mutation;
use std::fmt;

/// The most partitions of a graph.
pub const PARTITIONS_MAX: u16 = 4096;

/// The number of a graph's partitions, 1 to [`PARTITIONS_MAX`]; fixed when the graph is created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartitionCount(u16);

impl PartitionCount {
    /// `None` if no graph may have so many.
    #[must_use]
    pub const fn new(count: u16) -> Option<Self> {
        if count > 0 && count <= PARTITIONS_MAX { Some(Self(count)) } else { None }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// The partition that a group belongs to.
    #[must_use]
    #[inline]
    pub const fn of_group(self, group: GroupId) -> PartitionId {
        PartitionId((group.0 % self.0 as u32) as u16)
    }
}

/// The groups of one partition: those that a store of it keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnGroups {
    partition: PartitionId,
    partitions: PartitionCount,
}

impl OwnGroups {
    /// The groups of `partition`, one of `partitions`; `None` if there is no such partition.
    #[must_use]
    pub const fn new(partition: PartitionId, partitions: PartitionCount) -> Option<Self> {
        if partition.0 < partitions.0 { Some(Self { partition, partitions }) } else { None }
    }

    /// The partition.
    #[must_use]
    pub const fn partition(self) -> PartitionId {
        self.partition
    }

    /// How many partitions the graph has.
    #[must_use]
    pub const fn partitions(self) -> PartitionCount {
        self.partitions
    }

    /// Whether `group` is one of them.
    #[must_use]
    #[inline]
    pub const fn contains(self, group: GroupId) -> bool {
        self.partitions.of_group(group).0 == self.partition.0
    }

    /// Whether a store of these groups installs something of `mutation`: of an edge it may be one side. What is about no
    /// vertex and no edge concerns every store.
    #[must_use]
    pub fn concerns(self, mutation: &Mutation) -> bool {
        match mutation {
            Mutation::InsertVertex { vertex, .. }
            | Mutation::DeleteVertex { vertex }
            | Mutation::SetVertexProperties { vertex, .. } => self.contains(vertex.group()),
            Mutation::InsertEdge { edge, .. } | Mutation::DeleteEdge { edge } => {
                self.contains(edge.source.group()) || self.contains(edge.target.group())
            }
            // The in side has no properties.
            Mutation::ReplaceEdge { edge, .. } | Mutation::SetEdgeProperties { edge, .. } => {
                self.contains(edge.source.group())
            }
            Mutation::Schema(_) | Mutation::LeaveIndex(_) | Mutation::Note(_) => true,
        }
    }
}

impl fmt::Display for OwnGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "partition {} of {}", self.partition.0, self.partitions.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{EdgeId, LabelId, TypeId, VertexId};
    use crate::properties::Properties;
    use crate::schema_change::SchemaChange;

    fn own(partition: u16) -> OwnGroups {
        OwnGroups::new(PartitionId(partition), PartitionCount::new(3).unwrap()).unwrap()
    }

    #[test]
    fn a_graph_has_one_partition_at_least_and_4096_at_most() {
        assert_eq!(
            [0, 1, 4096, 4097].map(|count| PartitionCount::new(count).is_some()),
            [false, true, true, false]
        );
    }

    #[test]
    fn every_group_belongs_to_one_partition_and_consecutive_ones_to_different_ones() {
        for group in (0..12).chain([GroupId::END - 1]).map(GroupId) {
            let owners: Vec<u16> = (0..3).filter(|partition| own(*partition).contains(group)).collect();
            assert_eq!(owners, [(group.0 % 3) as u16]);
        }
        assert_eq!(OwnGroups::new(PartitionId(3), PartitionCount::new(3).unwrap()), None);
        assert_eq!(own(2).to_string(), "partition 2 of 3");
    }

    #[test]
    fn a_mutation_concerns_the_stores_that_install_something_of_it() {
        let (source, target) = (VertexId::new(GroupId(4), 9), VertexId::new(GroupId(2), 9));
        let edge = EdgeId { source, edge_type: TypeId(0), target, discriminator: 0 };
        let properties = Properties::EMPTY;
        let of = |mutation: Mutation| -> Vec<u16> {
            (0..3).filter(|partition| own(*partition).concerns(&mutation)).collect()
        };
        assert_eq!(
            of(Mutation::InsertVertex { vertex: target, label: LabelId(0), properties: properties.clone() }),
            [2]
        );
        assert_eq!(of(Mutation::DeleteVertex { vertex: source }), [1]);
        assert_eq!(of(Mutation::InsertEdge { edge, properties: properties.clone() }), [1, 2]);
        assert_eq!(of(Mutation::DeleteEdge { edge }), [1, 2]);
        assert_eq!(of(Mutation::ReplaceEdge { edge, properties: properties.clone() }), [1]);
        assert_eq!(of(Mutation::SetEdgeProperties { edge, properties }), [1]);
        let label = SchemaChange::AddLabel { id: LabelId(0), name: "a".into() };
        assert_eq!(of(Mutation::Schema(label)), [0, 1, 2]);
    }
}
