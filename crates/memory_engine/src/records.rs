//! Records of a commit: its mutations, sorted into one part for each segment.
//!
//! Everything here happens before the latch: segments are found or made, records sorted by segment
//! and key. Only the timestamp is missing; [`Prepared::stamp`] fills it in. Commits that are replayed
//! have theirs, and many of them are prepared together.

use crate::group::{EdgeSubject, Group, GroupTable};
use crate::segment::edge_body::EdgeBody;
use crate::segment::record::{NO_PROPERTIES, Operation, Record, RecordKey, Stamp};
use crate::segment::version::Segment;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, GroupId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::planted::{Bug, planted};
use std::ops::Range;
use std::sync::Arc;

/// Where a part of a commit goes.
#[derive(Debug)]
pub enum Target {
    /// To the vertices of a group; whether one is inserted or deleted.
    Vertices(Arc<Group>, bool),
    /// To a segment of edges.
    Edges(Arc<Segment<EdgeBody>>),
}

/// A commit, or many from the log, sorted by segment.
#[derive(Debug)]
pub struct Prepared {
    records: Vec<Record>,
    parts: Vec<(Target, Range<usize>)>,
}

/// Where a record goes, and its key: what records are sorted by.
///
/// ```text
/// group:32 | vertices: 0, or 1 + (type and side):20 | key:64
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RecordSortKey(u128);

impl RecordSortKey {
    const SUBJECT_BITS: u32 = 20;

    fn new(vertex: VertexId, subject: Option<EdgeSubject>, key: RecordKey) -> Self {
        let subject = subject.map_or(0, |subject| 1 + subject.number());
        let segment = u64::from(vertex.group().0) << Self::SUBJECT_BITS | u64::from(subject);
        Self(u128::from(segment) << 64 | u128::from(key.0))
    }

    /// The segment: of its group, and what it is about if not vertices.
    fn segment(self) -> u64 {
        (self.0 >> 64) as u64
    }

    fn key(self) -> RecordKey {
        RecordKey(self.0 as u64)
    }

    fn group(self) -> GroupId {
        GroupId((self.segment() >> Self::SUBJECT_BITS) as u32)
    }

    fn subject(self) -> Option<EdgeSubject> {
        let low = self.segment() as u32 & ((1 << Self::SUBJECT_BITS) - 1);
        low.checked_sub(1).map(EdgeSubject::numbered)
    }
}

/// A record that waits to be sorted; what it carries stays with its mutation meanwhile.
struct Entry<'a> {
    place: RecordSortKey,
    stamp: Stamp,
    payload: &'a Properties,
}

/// What a mutation does to an edge, if it is about one.
fn of_edge(mutation: &Mutation) -> Option<(&EdgeId, Operation, &Properties)> {
    Some(match mutation {
        Mutation::InsertEdge { edge, properties } => (edge, Operation::Insert, properties),
        Mutation::ReplaceEdge { edge, properties } => (edge, Operation::Replace, properties),
        Mutation::DeleteEdge { edge } => (edge, Operation::Delete, &Properties::EMPTY),
        Mutation::SetEdgeProperties { edge, properties } => (edge, Operation::Set, properties),
        _ => return None,
    })
}

impl Prepared {
    /// Finds or makes the segments of `mutations` and sorts their records.
    ///
    /// # Errors
    /// `corrupt` if a vertex is in no group: the front opens groups before it uses them, so only a
    /// damaged log can ask for this.
    pub fn new(groups: &GroupTable, mutations: &[Mutation]) -> Result<Self> {
        Self::sorted(groups, mutations.iter().map(|mutation| (Timestamp::ZERO, mutation)))
    }

    /// As [`Prepared::new`], of commits that have their timestamps: a part's records are sorted by key,
    /// then time.
    ///
    /// # Errors
    /// As [`Prepared::new`].
    pub fn replayed(groups: &GroupTable, mutations: &[(Timestamp, Mutation)]) -> Result<Self> {
        Self::sorted(groups, mutations.iter().map(|(timestamp, mutation)| (*timestamp, mutation)))
    }

    fn sorted<'a>(
        groups: &GroupTable,
        mutations: impl ExactSizeIterator<Item = (Timestamp, &'a Mutation)> + Clone,
    ) -> Result<Self> {
        // Out sides apart: writes come by edge, so that these are sorted already, type by type.
        let mut out = Vec::with_capacity(mutations.len());
        let mut rest = Vec::with_capacity(mutations.len());
        for (timestamp, mutation) in mutations {
            if let Some((edge, operation, payload)) = of_edge(mutation) {
                let stamp = Stamp::new(timestamp, operation);
                let subject = EdgeSubject::new(edge.edge_type, Direction::Out);
                let key = RecordKey::of_edge(edge);
                out.push(Entry {
                    place: RecordSortKey::new(edge.source, Some(subject), key),
                    stamp,
                    payload,
                });
                // The in side keeps no properties: it finds them by a search in the out list.
                if matches!(operation, Operation::Insert | Operation::Delete) && !planted(Bug::ForgetInEdge) {
                    let subject = EdgeSubject::new(edge.edge_type, Direction::In);
                    let key = RecordKey::edge(edge.target.row(), edge.source.0, edge.discriminator);
                    let place = RecordSortKey::new(edge.target, Some(subject), key);
                    rest.push(Entry { place, stamp, payload: &NO_PROPERTIES });
                }
                continue;
            }
            let (vertex, operation, payload) = match mutation {
                Mutation::InsertVertex { vertex, properties, .. } => (*vertex, Operation::Insert, properties),
                Mutation::DeleteVertex { vertex } => (*vertex, Operation::Delete, &NO_PROPERTIES),
                Mutation::SetVertexProperties { vertex, properties } => (*vertex, Operation::Set, properties),
                _ => continue,
            };
            let place = RecordSortKey::new(vertex, None, RecordKey::vertex(vertex.row()));
            rest.push(Entry { place, stamp: Stamp::new(timestamp, operation), payload });
        }
        let mut prepared = Self { records: Vec::with_capacity(out.len() + rest.len()), parts: Vec::new() };
        for entries in [&mut out, &mut rest] {
            let order = |entry: &Entry<'_>| (entry.place, entry.stamp);
            if !entries.is_sorted_by_key(order) {
                entries.sort_unstable_by_key(order);
            }
            for entries in entries.chunk_by(|a, b| a.place.segment() == b.place.segment()) {
                prepared.add_part(groups, entries)?;
            }
        }
        Ok(prepared)
    }

    /// Adds the records of one segment.
    fn add_part(&mut self, groups: &GroupTable, entries: &[Entry<'_>]) -> Result<()> {
        let place = entries[0].place;
        let group = groups.get(place.group()).ok_or_else(|| {
            let vertex = VertexId::new(place.group(), place.key().row());
            Error::new(ErrorKind::Corrupt, format!("vertex {vertex} is in a group that was never opened"))
        })?;
        let target = match place.subject() {
            None => {
                let member = |entry: &Entry<'_>| entry.stamp.difference() != 0;
                Target::Vertices(Arc::clone(group), entries.iter().any(member))
            }
            Some(subject) => Target::Edges(group.edge_segment_or_new(subject)),
        };
        let first = self.records.len();
        self.records.extend(entries.iter().map(|entry| Record {
            key: entry.place.key(),
            stamp: entry.stamp,
            payload: entry.payload.clone(),
        }));
        self.parts.push((target, first..self.records.len()));
        Ok(())
    }

    /// Gives every record the commit's timestamp.
    pub fn stamp(&mut self, timestamp: Timestamp) {
        for record in &mut self.records {
            record.stamp = Stamp::new(timestamp, record.stamp.operation());
        }
    }

    /// Each segment with its records, sorted by key.
    pub fn parts(&self) -> impl Iterator<Item = (&Target, &[Record])> {
        self.parts.iter().map(|(target, range)| (target, &self.records[range.clone()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::body::Body;
    use crate::segment::vertex_body::VertexBody;
    use evergraph_graph::id::{GroupId, LabelId, TypeId};

    fn edge(source: u32, target: u32) -> EdgeId {
        let (source, target) = (VertexId(source), VertexId(target));
        EdgeId { source, edge_type: TypeId(0), target, discriminator: 0 }
    }

    #[test]
    fn an_insert_goes_to_both_sides_and_a_property_to_the_out_side_only() {
        let groups = GroupTable::default();
        for id in [0, 1] {
            groups.insert(Arc::new(Group::new(
                GroupId(id),
                LabelId(0),
                Timestamp::ZERO,
                VertexBody::empty(),
            )));
        }
        let insert = |s, t| Mutation::InsertEdge { edge: edge(s, t), properties: Properties::EMPTY };
        let set = Mutation::SetEdgeProperties { edge: edge(3, 4), properties: Properties::EMPTY };
        let mut prepared = Prepared::new(&groups, &[insert(1, 5000), insert(1, 9), set]).unwrap();
        prepared.stamp(Timestamp(7));
        let counts: Vec<_> = prepared.parts().map(|(_, records)| records.len()).collect();
        assert_eq!(counts, [3, 1, 1], "group 0 out, group 0 in, group 1 in");
        for (_, records) in prepared.parts() {
            assert!(records.is_sorted_by_key(|record| record.key));
            assert!(records.iter().all(|record| record.stamp.timestamp() == Timestamp(7)));
        }
        assert_eq!(Prepared::new(&groups, &[insert(1, 9000)]).unwrap_err().kind(), ErrorKind::Corrupt);
    }
}
