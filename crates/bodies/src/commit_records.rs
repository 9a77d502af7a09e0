//! Commit records: the mutations of a commit, sorted into one part for each segment.
//!
//! Only the timestamp is missing; [`CommitRecords::stamp`] fills it in. Commits that are replayed have theirs, and many of
//! them are sorted together.
//!
//! A store that keeps some groups of a graph only has records of these: of an edge to or from another store's group it
//! has one side.

use crate::edge_subject::EdgeSubject;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, GroupId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::record::{Operation, Record, RecordKey, Stamp};
use std::ops::Range;

/// Where a part of a commit goes: to the vertices of a group, or to its edges of one type and side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommitTarget {
    /// The group.
    pub group: GroupId,
    /// Type and side; `None` for the vertices themselves.
    pub subject: Option<EdgeSubject>,
}

/// The records of a commit, or of many from the log, by segment.
#[derive(Debug)]
pub struct CommitRecords {
    records: Vec<Record>,
    parts: Vec<(CommitTarget, Range<usize>)>,
}

/// Where a record goes, its key, and which mutation it comes from: what records are sorted by. Mutations come in the
/// order of time.
///
/// ```text
/// group:20 | vertices: 0, or 1 + (type and side):18 | key:64 | mutation:26
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RecordSortKey(u128);

impl RecordSortKey {
    const SUBJECT_BITS: u32 = 18;
    const MUTATION_BITS: u32 = 26;

    #[inline]
    fn new(vertex: VertexId, subject: Option<EdgeSubject>, key: RecordKey, mutation: usize) -> Self {
        let subject = subject.map_or(0, |subject| 1 + subject.number());
        let segment = u64::from(vertex.group().0) << Self::SUBJECT_BITS | u64::from(subject);
        let place = u128::from(segment) << 64 | u128::from(key.0);
        Self(place << Self::MUTATION_BITS | mutation as u128)
    }

    /// The segment: of its group, and what it is about if not vertices.
    #[inline]
    fn segment(self) -> u64 {
        (self.0 >> (64 + Self::MUTATION_BITS)) as u64
    }

    #[inline]
    fn key(self) -> RecordKey {
        RecordKey((self.0 >> Self::MUTATION_BITS) as u64)
    }

    #[inline]
    fn mutation(self) -> usize {
        self.0 as usize & ((1 << Self::MUTATION_BITS) - 1)
    }

    fn group(self) -> GroupId {
        GroupId((self.segment() >> Self::SUBJECT_BITS) as u32)
    }

    fn subject(self) -> Option<EdgeSubject> {
        let low = self.segment() as u32 & ((1 << Self::SUBJECT_BITS) - 1);
        low.checked_sub(1).map(EdgeSubject::numbered)
    }
}

/// What a mutation does to an edge, if it is about one.
#[inline]
fn of_edge(mutation: &Mutation) -> Option<(&EdgeId, Operation, &Properties)> {
    Some(match mutation {
        Mutation::InsertEdge { edge, properties } => (edge, Operation::Insert, properties),
        Mutation::ReplaceEdge { edge, properties } => (edge, Operation::Replace, properties),
        Mutation::DeleteEdge { edge } => (edge, Operation::Delete, &Properties::EMPTY),
        Mutation::SetEdgeProperties { edge, properties } => (edge, Operation::Set, properties),
        // Entries of indexes on disk among them: this engine keeps no indexes, and skips them.
        _ => return None,
    })
}

/// What a mutation does to a vertex, if it is about one.
fn of_vertex(mutation: &Mutation) -> Option<(VertexId, Operation, &Properties)> {
    Some(match mutation {
        Mutation::InsertVertex { vertex, properties, .. } => (*vertex, Operation::Insert, properties),
        Mutation::DeleteVertex { vertex } => (*vertex, Operation::Delete, &Properties::EMPTY),
        Mutation::SetVertexProperties { vertex, properties } => (*vertex, Operation::Set, properties),
        _ => return None,
    })
}

/// A mutation of a commit that has no timestamp yet.
fn undated(mutation: &Mutation) -> (Timestamp, &Mutation) {
    (Timestamp::ZERO, mutation)
}

fn dated(mutation: &(Timestamp, Mutation)) -> (Timestamp, &Mutation) {
    (mutation.0, &mutation.1)
}

impl CommitRecords {
    /// Sorts the records of `mutations`, which have no timestamp yet; with `own`, only those of these groups.
    ///
    /// # Errors
    /// `corrupt` if there are more than any commit has.
    pub fn new(mutations: &[Mutation], own: Option<OwnGroups>) -> Result<Self> {
        match own {
            // Compiled apart: who has all groups asks about none.
            None => Self::sorted(mutations, undated, |_| true),
            Some(own) => Self::sorted(mutations, undated, |vertex| own.contains(vertex.group())),
        }
    }

    /// As [`CommitRecords::new`], of commits that have their timestamps: a part's records are sorted by key, then time.
    ///
    /// # Errors
    /// As [`CommitRecords::new`].
    pub fn replayed(mutations: &[(Timestamp, Mutation)], own: Option<OwnGroups>) -> Result<Self> {
        debug_assert!(mutations.is_sorted_by_key(|(timestamp, _)| *timestamp));
        match own {
            None => Self::sorted(mutations, dated, |_| true),
            Some(own) => Self::sorted(mutations, dated, |vertex| own.contains(vertex.group())),
        }
    }

    fn sorted<T>(
        mutations: &[T],
        mutation_of: impl Fn(&T) -> (Timestamp, &Mutation),
        is_own: impl Fn(VertexId) -> bool,
    ) -> Result<Self> {
        if mutations.len() > 1 << RecordSortKey::MUTATION_BITS {
            return Err(Error::new(
                ErrorKind::Corrupt,
                "a commit has more mutations than any that was written",
            ));
        }
        // Out sides apart: writes come by edge, so that these are sorted already, type by type.
        let mut out = Vec::with_capacity(mutations.len());
        let mut rest = Vec::with_capacity(mutations.len());
        for (number, mutation) in mutations.iter().enumerate() {
            let mutation = mutation_of(mutation).1;
            if let Some((edge, operation, _)) = of_edge(mutation) {
                if is_own(edge.source) {
                    let subject = EdgeSubject::new(edge.edge_type, Direction::Out);
                    let key = RecordKey::of_edge(edge);
                    out.push(RecordSortKey::new(edge.source, Some(subject), key, number));
                }
                // The in side keeps no properties: it finds them by a search in the out list.
                if matches!(operation, Operation::Insert | Operation::Delete)
                    && is_own(edge.target)
                    && !planted(Bug::ForgetInEdge)
                    && (is_own(edge.source) || !planted(Bug::HalfEdgeLost))
                {
                    let subject = EdgeSubject::new(edge.edge_type, Direction::In);
                    let key = RecordKey::edge(edge.target.row(), edge.source.0, edge.discriminator);
                    rest.push(RecordSortKey::new(edge.target, Some(subject), key, number));
                }
            } else if let Some((vertex, ..)) = of_vertex(mutation)
                && is_own(vertex)
            {
                rest.push(RecordSortKey::new(vertex, None, RecordKey::vertex(vertex.row()), number));
            }
        }
        let mut sorted = Self { records: Vec::with_capacity(out.len() + rest.len()), parts: Vec::new() };
        for places in [&mut out, &mut rest] {
            if !places.is_sorted() {
                places.sort_unstable();
            }
            for places in places.chunk_by(|a, b| a.segment() == b.segment()) {
                sorted.add_part(places, |number| mutation_of(&mutations[number]));
            }
        }
        Ok(sorted)
    }

    /// Adds the records of one segment.
    fn add_part<'a>(
        &mut self,
        places: &[RecordSortKey],
        mutation_at: impl Fn(usize) -> (Timestamp, &'a Mutation),
    ) {
        let target = CommitTarget { group: places[0].group(), subject: places[0].subject() };
        let first = self.records.len();
        let is_in_side = target.subject.is_some_and(|subject| subject.side() == Direction::In);
        self.records.extend(places.iter().map(|place| {
            let (timestamp, mutation) = mutation_at(place.mutation());
            let (operation, payload) = match of_edge(mutation) {
                Some((_, operation, _)) if is_in_side => (operation, &Properties::EMPTY),
                Some((_, operation, payload)) => (operation, payload),
                None => of_vertex(mutation).map(|of| (of.1, of.2)).expect("no other mutation has a place"),
            };
            Record { key: place.key(), stamp: Stamp::new(timestamp, operation), payload: payload.clone() }
        }));
        self.parts.push((target, first..self.records.len()));
    }

    /// Gives every record the commit's timestamp.
    pub fn stamp(&mut self, timestamp: Timestamp) {
        for record in &mut self.records {
            record.stamp = Stamp::new(timestamp, record.stamp.operation());
        }
    }

    /// Each segment with its records, sorted by key.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = (CommitTarget, &[Record])> {
        self.parts.iter().map(|(target, range)| (*target, &self.records[range.clone()]))
    }
}

/// The error of a commit to a group that isn't there: the front opens groups before it uses them, so only a damaged log can
/// ask for this.
#[must_use]
pub fn never_opened(target: CommitTarget, records: &[Record]) -> Error {
    let row = records.first().map_or(0, |record| record.key.row());
    let vertex = VertexId::new(target.group, row);
    Error::new(ErrorKind::Corrupt, format!("vertex {vertex} is in a group that was never opened"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::{LabelId, PartitionId, TypeId};
    use evergraph_graph::index_entry::{ItemId, LeavingEntry};
    use evergraph_graph::partition::PartitionCount;
    use evergraph_graph::value::order_bytes::value_bytes::ValueBytes;

    fn edge(source: u32, target: u32) -> EdgeId {
        let (source, target) = (VertexId(source), VertexId(target));
        EdgeId { source, edge_type: TypeId(0), target, discriminator: 0 }
    }

    #[test]
    fn an_entry_that_leaves_an_index_on_disk_is_skipped() {
        let entry = LeavingEntry {
            subject: 1 << 24,
            value: ValueBytes::of(&7_i64.into()),
            item: ItemId::Vertex(VertexId(9000)),
        };
        let commit = [Mutation::LeaveIndex(Box::new(entry))];
        assert_eq!(CommitRecords::new(&commit, None).unwrap().parts().len(), 0);
    }

    #[test]
    fn an_insert_goes_to_both_sides_and_a_property_to_the_out_side_only() {
        let insert = |s, t| Mutation::InsertEdge { edge: edge(s, t), properties: Properties::EMPTY };
        let set = Mutation::SetEdgeProperties { edge: edge(3, 4), properties: Properties::EMPTY };
        let mut commit = CommitRecords::new(&[insert(1, 5000), insert(1, 9), set], None).unwrap();
        commit.stamp(Timestamp(7));
        let counts: Vec<_> = commit.parts().map(|(_, records)| records.len()).collect();
        assert_eq!(counts, [3, 1, 1], "group 0 out, group 0 in, group 1 in");
        for (_, records) in commit.parts() {
            assert!(records.is_sorted_by_key(|record| record.key));
            assert!(records.iter().all(|record| record.stamp.timestamp() == Timestamp(7)));
        }
    }

    /// Group, side and number of records of each part that a store of `partition` of two has.
    fn parts_of(partition: u16, commit: &[Mutation]) -> Vec<(u32, Option<Direction>, usize)> {
        let own = OwnGroups::new(PartitionId(partition), PartitionCount::new(2).unwrap());
        let sorted = CommitRecords::new(commit, own).unwrap();
        let dated: Vec<_> = commit.iter().map(|mutation| (Timestamp(7), mutation.clone())).collect();
        let replayed = CommitRecords::replayed(&dated, own).unwrap();
        let parts = |records: &CommitRecords| -> Vec<_> {
            let parts = records.parts();
            parts
                .map(|(target, records)| {
                    (target.group.0, target.subject.map(EdgeSubject::side), records.len())
                })
                .collect()
        };
        assert_eq!(parts(&sorted), parts(&replayed), "a commit has the same records when it is replayed");
        parts(&sorted)
    }

    #[test]
    fn a_store_of_some_groups_has_the_sides_of_edges_that_lie_in_them() {
        let none = Properties::EMPTY;
        let insert = |s, t| Mutation::InsertEdge { edge: edge(s, t), properties: Properties::EMPTY };
        let vertex = |id| Mutation::InsertVertex {
            vertex: VertexId(id),
            label: LabelId(0),
            properties: Properties::EMPTY,
        };
        // Vertices 1 and 2 are in group 0, 5000 in group 1.
        let commit = [
            vertex(1),
            vertex(5000),
            insert(1, 2),
            insert(1, 5000),
            insert(5000, 2),
            Mutation::SetEdgeProperties { edge: edge(5000, 1), properties: none.clone() },
            Mutation::ReplaceEdge { edge: edge(2, 5000), properties: none },
            Mutation::DeleteEdge { edge: edge(2, 5001) },
        ];
        let (out, into) = (Some(Direction::Out), Some(Direction::In));
        assert_eq!(parts_of(0, &commit), [(0, out, 4), (0, None, 1), (0, into, 2)]);
        assert_eq!(parts_of(1, &commit), [(1, out, 2), (1, None, 1), (1, into, 2)]);
        let all = OwnGroups::new(PartitionId(0), PartitionCount::new(1).unwrap());
        assert!(all.is_some());
        let alone = CommitRecords::new(&commit, all).unwrap();
        let whole = CommitRecords::new(&commit, None).unwrap();
        assert!(alone.parts().eq(whole.parts()), "one partition has all of them");
    }
}
