//! Sums: what all files say together of live vertices, of both sides of edges, and of their ends.
//!
//! ```text
//! live     a bit a vertex, turned over by each Insert and Delete            524 bytes a group
//! sides    (type, source's group): hashes of out edges - those of in edges  16 bytes each
//! dead     (list's subject, vertex not alive): edges at it                   where that isn't zero
//! ```

use crate::format::lists::record::ListRecord;
use crate::format::operation::RecordOperation;
use crate::format::subject::{EdgeSide, Subject, SubjectKind};
use crate::format::vertices::VertexRecord;
use evergraph_graph::id::{EdgeId, GroupId, TypeId, VertexId};
use evergraph_graph::split_mix::mix;
use evergraph_storage::view::GroupBits;
use std::collections::{BTreeMap, BTreeSet};

/// The edge that a record of `subject`'s lists is about; `None` if those are no lists of edges.
#[inline]
pub(super) fn edge_of(subject: Subject, record: &ListRecord) -> Option<(EdgeId, EdgeSide)> {
    let SubjectKind::Edges { edge_type, side } = subject.kind() else { return None };
    let ListRecord { vertex, neighbor, discriminator, .. } = *record;
    let (source, target) = match side {
        EdgeSide::Out => (vertex, neighbor),
        EdgeSide::In => (neighbor, vertex),
    };
    Some((EdgeId { source, edge_type, target, discriminator }, side))
}

/// Sums over the records of files, in any order.
#[derive(Debug)]
pub(super) struct GraphSums {
    key: [u64; 2],
    live: BTreeMap<GroupId, Box<GroupBits>>,
    /// Inserts less Deletes of vertices.
    vertices: BTreeMap<GroupId, i64>,
    /// Whether all vertices' records were read.
    pub knows_live: bool,
    sides: BTreeMap<(TypeId, GroupId), u128>,
    dead_lists: BTreeMap<(Subject, VertexId), i64>,
    dead_ends: BTreeMap<(Subject, VertexId), i64>,
    /// Subjects of which not every record was read.
    pub unread: BTreeSet<Subject>,
    /// Whether not even the subjects of what wasn't read are known.
    pub is_unread: bool,
}

impl GraphSums {
    /// No records; hashes depend on `key`.
    pub(super) fn new(key: [u64; 2]) -> Self {
        Self {
            key,
            live: BTreeMap::new(),
            vertices: BTreeMap::new(),
            knows_live: true,
            sides: BTreeMap::new(),
            dead_lists: BTreeMap::new(),
            dead_ends: BTreeMap::new(),
            unread: BTreeSet::new(),
            is_unread: false,
        }
    }

    /// Adds a record of a vertex.
    pub(super) fn add_vertex(&mut self, record: &VertexRecord) {
        let difference = record.operation.difference();
        if difference != 0 {
            let (group, row) = (record.vertex.group(), usize::from(record.vertex.row()));
            self.live.entry(group).or_insert_with(|| Box::new([0; 64]))[row / 64] ^= 1 << (row % 64);
            *self.vertices.entry(group).or_default() += difference;
        }
    }

    /// Each group with live vertices or records of some: its live vertices, and Inserts less Deletes.
    pub(super) fn groups(&self) -> impl Iterator<Item = (GroupId, &GroupBits, i64)> + '_ {
        self.live.iter().map(|(group, live)| {
            let vertices = self.vertices.get(group).copied().unwrap_or(0);
            (*group, &**live, vertices)
        })
    }

    /// Whether the vertex is alive, by the records that were added.
    #[inline]
    fn is_alive(&self, vertex: VertexId) -> bool {
        let row = usize::from(vertex.row());
        self.live.get(&vertex.group()).is_some_and(|live| live[row / 64] >> (row % 64) & 1 == 1)
    }

    /// Adds a record of an edge, when all vertices were added.
    pub(super) fn add_edge(&mut self, subject: Subject, record: &ListRecord) {
        let Some((edge, side)) = edge_of(subject, record) else { return };
        let difference = record.operation.difference();
        if difference == 0 {
            return;
        }
        let hash = hash(self.key, &edge);
        let is_added = (side == EdgeSide::Out) == (record.operation == RecordOperation::Insert);
        let sum = self.sides.entry((edge.edge_type, edge.source.group())).or_default();
        *sum = if is_added { sum.wrapping_add(hash) } else { sum.wrapping_sub(hash) };
        if !self.is_alive(record.vertex) {
            *self.dead_lists.entry((subject, record.vertex)).or_default() += difference;
        }
        if !self.is_alive(record.neighbor) {
            *self.dead_ends.entry((subject, record.neighbor)).or_default() += difference;
        }
    }

    /// Whether every record of `subject` was read.
    pub(super) fn is_whole(&self, subject: Subject) -> bool {
        !self.is_unread && !self.unread.contains(&subject)
    }

    /// Types and groups of sources whose two sides differ, though both were read whole.
    pub(super) fn different_sides(&self) -> Vec<(TypeId, GroupId)> {
        let is_whole = |edge_type: TypeId| {
            [EdgeSide::Out, EdgeSide::In].iter().all(|side| self.is_whole(Subject::edges(edge_type, *side)))
        };
        let differ = self.sides.iter().filter(|((edge_type, _), sum)| **sum != 0 && is_whole(*edge_type));
        differ.map(|(place, _)| *place).collect()
    }

    /// Vertices that are not alive and have edges in their own lists of a subject, with how many.
    pub(super) fn dead_lists(&self) -> impl Iterator<Item = (Subject, VertexId, i64)> + '_ {
        self.dead(&self.dead_lists)
    }

    /// Vertices that are not alive and stand in others' lists of a subject, with how often.
    pub(super) fn dead_ends(&self) -> impl Iterator<Item = (Subject, VertexId, i64)> + '_ {
        self.dead(&self.dead_ends)
    }

    fn dead<'s>(
        &'s self,
        sums: &'s BTreeMap<(Subject, VertexId), i64>,
    ) -> impl Iterator<Item = (Subject, VertexId, i64)> + 's {
        let found = sums
            .iter()
            .filter(|((subject, _), count)| **count != 0 && self.knows_live && self.is_whole(*subject));
        found.map(|((subject, vertex), count)| (*subject, *vertex, *count))
    }
}

/// 128 bits that depend on every bit of the edge and of the key.
fn hash(key: [u64; 2], edge: &EdgeId) -> u128 {
    let ends = u64::from(edge.source.0) << 32 | u64::from(edge.target.0);
    let half =
        |key: u64| mix(mix(ends ^ key).wrapping_add(u64::from(edge.discriminator)) ^ key.rotate_left(32));
    u128::from(half(key[0])) << 64 | u128::from(half(key[1]))
}
