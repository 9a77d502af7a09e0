//! Sums: what all files say together of live vertices, of both sides of edges, and of their ends.
//!
//! ```text
//! live     a bit a vertex, turned over by each Insert and Delete            524 bytes a group
//! sides    (type, source's group): hashes of out edges - those of in edges  16 bytes each, in pieces of 64 groups
//! dead     (list's subject, vertex not alive): edges at it                   where that isn't zero
//! ```
//!
//! Every edge is added twice, and its group's bits and sum lie anywhere: they are found by the group's number in a flat
//! table, not by a search. (That search was four fifths of a check of 500 million edges.)

use crate::format::lists::buffer::ListBuffer;
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

/// The live vertices of a group.
#[derive(Debug)]
struct LiveVertices {
    bits: GroupBits,
    /// Inserts less Deletes.
    difference: i64,
}

/// Groups of a piece of sums.
const PIECE_GROUPS: usize = 64;

/// Hashes of a type's out edges less those of its in edges, by the source's group.
#[derive(Debug, Default)]
struct SideSums {
    /// Types that have edges in few groups take few pieces.
    pieces: Vec<Option<Box<[u128; PIECE_GROUPS]>>>,
}

impl SideSums {
    #[inline]
    fn sum(&mut self, group: GroupId) -> &mut u128 {
        let (piece, at) = (group.0 as usize / PIECE_GROUPS, group.0 as usize % PIECE_GROUPS);
        if piece >= self.pieces.len() {
            self.pieces.resize_with(piece + 1, || None);
        }
        &mut self.pieces[piece].get_or_insert_with(|| Box::new([0; PIECE_GROUPS]))[at]
    }

    /// Groups whose sum is not zero, ascending.
    fn different(&self) -> impl Iterator<Item = GroupId> + '_ {
        let pieces = self.pieces.iter().enumerate();
        pieces.flat_map(|(piece, sums)| {
            let sums = sums.iter().flat_map(|sums| sums.iter().enumerate());
            let differ = sums.filter(|(_, sum)| **sum != 0);
            differ.map(move |(at, _)| GroupId((piece * PIECE_GROUPS + at) as u32))
        })
    }
}

/// Sums over the records of files, in any order.
#[derive(Debug)]
pub(super) struct GraphSums {
    key: [u64; 2],
    /// By group.
    live: Vec<Option<Box<LiveVertices>>>,
    /// Whether all vertices' records were read.
    pub knows_live: bool,
    sides: BTreeMap<TypeId, SideSums>,
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
            live: Vec::new(),
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
            let (group, row) = (record.vertex.group().0 as usize, usize::from(record.vertex.row()));
            if group >= self.live.len() {
                self.live.resize_with(group + 1, || None);
            }
            let live = self.live[group]
                .get_or_insert_with(|| Box::new(LiveVertices { bits: [0; 64], difference: 0 }));
            live.bits[row / 64] ^= 1 << (row % 64);
            live.difference += difference;
        }
    }

    /// Each group with live vertices or records of some: its live vertices, and Inserts less Deletes.
    pub(super) fn groups(&self) -> impl Iterator<Item = (GroupId, &GroupBits, i64)> + '_ {
        let groups = self.live.iter().enumerate();
        groups.filter_map(|(group, live)| {
            let LiveVertices { bits, difference } = live.as_deref()?;
            Some((GroupId(group as u32), bits, *difference))
        })
    }

    /// Whether the vertex is alive, by the records that were added.
    #[inline]
    fn is_alive(&self, vertex: VertexId) -> bool {
        let row = usize::from(vertex.row());
        let live = self.live.get(vertex.group().0 as usize).and_then(Option::as_deref);
        live.is_some_and(|live| live.bits[row / 64] >> (row % 64) & 1 == 1)
    }

    /// Adds a page of `subject`'s lists, when all vertices were added.
    pub(super) fn add_edges(&mut self, subject: Subject, lists: &ListBuffer) {
        let SubjectKind::Edges { edge_type, .. } = subject.kind() else { return };
        let sides = self.sides.entry(edge_type).or_default();
        for record in lists.records() {
            let Some((edge, side)) = edge_of(subject, &record) else { continue };
            if record.operation.difference() != 0 {
                let hash = hash(self.key, &edge);
                let is_added = (side == EdgeSide::Out) == (record.operation == RecordOperation::Insert);
                let sum = sides.sum(edge.source.group());
                *sum = if is_added { sum.wrapping_add(hash) } else { sum.wrapping_sub(hash) };
            }
        }
        // In loops of their own: bits of neighbours lie anywhere, and short loops have many loads under way at once. (Among the
        // hashes that one load was a quarter of a check.)
        let are_alive = lists.neighbors().iter().all(|neighbor| self.is_alive(VertexId(*neighbor)))
            && lists.lists().all(|(vertex, _)| self.is_alive(vertex));
        if !are_alive {
            self.add_dead(subject, lists);
        }
    }

    /// Adds the records of a page that are at vertices that are not alive.
    #[cold]
    fn add_dead(&mut self, subject: Subject, lists: &ListBuffer) {
        for record in lists.records() {
            let difference = record.operation.difference();
            if difference != 0 && !self.is_alive(record.vertex) {
                *self.dead_lists.entry((subject, record.vertex)).or_default() += difference;
            }
            if difference != 0 && !self.is_alive(record.neighbor) {
                *self.dead_ends.entry((subject, record.neighbor)).or_default() += difference;
            }
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
        let whole = self.sides.iter().filter(|(edge_type, _)| is_whole(**edge_type));
        whole.flat_map(|(edge_type, sides)| sides.different().map(|group| (*edge_type, group))).collect()
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
