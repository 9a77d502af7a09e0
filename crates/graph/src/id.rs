//! Numbers that name vertices, edges, labels, edge types, property keys and partitions.
//!
//! ```text
//! inside a partition   VertexId   u32                       dense, given out in groups of 4,096
//! outside              GlobalId   partition:16 | generation:16 | local:32
//! group and row        VertexId = group:20 | row:12         one label a group, so the label follows
//! ```
//!
//! An edge has no number of its own: it is named by (source, type, target, discriminator), and the
//! discriminator is zero unless edges run parallel.

use std::fmt;

/// Vertices in one group: all have the same label.
pub const GROUP_SIZE: u32 = 4096;
const GROUP_BITS: u32 = GROUP_SIZE.trailing_zeros();

/// A vertex inside its partition. Dense: the row of a group of [`GROUP_SIZE`] vertices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct VertexId(pub u32);

impl VertexId {
    /// The vertex in row `row` of `group`.
    #[must_use]
    #[inline]
    pub const fn new(group: GroupId, row: u16) -> Self {
        Self((group.0 << GROUP_BITS) | row as u32)
    }

    /// The group that this vertex belongs to.
    #[must_use]
    #[inline]
    pub const fn group(self) -> GroupId {
        GroupId(self.0 >> GROUP_BITS)
    }

    /// The row of this vertex in its group, below [`GROUP_SIZE`].
    #[must_use]
    #[inline]
    pub const fn row(self) -> u16 {
        (self.0 & (GROUP_SIZE - 1)) as u16
    }

    /// The number that users see while there is one partition and no id was used twice.
    #[must_use]
    pub const fn global(self) -> GlobalId {
        GlobalId(self.0 as u64)
    }
}

impl fmt::Display for VertexId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

/// A vertex anywhere: `partition:16 | generation:16 | local:32`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GlobalId(pub u64);

impl GlobalId {
    /// The partition that the vertex lives in.
    #[must_use]
    pub const fn partition(self) -> PartitionId {
        PartitionId((self.0 >> 48) as u16)
    }

    /// The vertex inside this partition, if it can be one: partition and generation zero.
    #[must_use]
    pub const fn local(self) -> Option<VertexId> {
        if self.0 >> 32 == 0 { Some(VertexId(self.0 as u32)) } else { None }
    }
}

/// A part of a graph that lives in one place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PartitionId(pub u16);

/// 4,096 consecutive vertex ids of one label.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GroupId(pub u32);

impl GroupId {
    /// One more than the highest possible group.
    pub const END: u32 = 1 << (32 - GROUP_BITS);

    /// The first vertex id of the group.
    #[must_use]
    #[inline]
    pub const fn first(self) -> VertexId {
        VertexId(self.0 << GROUP_BITS)
    }
}

/// A vertex label: the table that a vertex belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LabelId(pub u16);

/// An edge type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TypeId(pub u16);

/// A property key. One name is one key, whichever labels and types use it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KeyId(pub u16);

/// The identity of an edge.
///
/// Ordered by source, type, target, discriminator: the order of the out lists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EdgeId {
    /// Where the edge starts.
    pub source: VertexId,
    /// Its type.
    pub edge_type: TypeId,
    /// Where the edge ends.
    pub target: VertexId,
    /// Zero unless edges of this type run parallel from `source` to `target`.
    pub discriminator: u16,
}

impl fmt::Display for EdgeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-[{}:{}]->{}", self.source, self.edge_type.0, self.discriminator, self.target)
    }
}

/// Which of a vertex' edges: those that leave it, those that reach it, or both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// From source to target.
    Out,
    /// From target to source.
    In,
    /// First out, then in. A self loop is seen twice.
    Both,
}

impl Direction {
    /// The one or two plain directions that this one stands for, out before in.
    #[must_use]
    #[inline]
    pub const fn sides(self) -> &'static [Direction] {
        match self {
            Self::Out => &[Self::Out],
            Self::In => &[Self::In],
            Self::Both => &[Self::Out, Self::In],
        }
    }

    /// The direction against this one.
    #[must_use]
    #[inline]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Out => Self::In,
            Self::In => Self::Out,
            Self::Both => Self::Both,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vertex_id_is_its_group_and_row() {
        let vertex = VertexId::new(GroupId(3), 4095);
        assert_eq!(vertex, VertexId(3 * 4096 + 4095));
        assert_eq!((vertex.group(), vertex.row()), (GroupId(3), 4095));
        let last = VertexId(u32::MAX);
        assert_eq!(VertexId::new(last.group(), last.row()), last);
        assert_eq!(last.group().0 + 1, GroupId::END);
    }

    #[test]
    fn a_global_id_of_another_partition_or_generation_is_not_local() {
        assert_eq!(VertexId(7).global().local(), Some(VertexId(7)));
        assert_eq!(GlobalId(1 << 48).local(), None);
        assert_eq!(GlobalId(1 << 32).local(), None);
        assert_eq!(GlobalId(5 << 48 | 9).partition(), PartitionId(5));
    }
}
