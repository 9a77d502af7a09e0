//! A commit's mutations as records: one part for each segment they go to.
//!
//! Everything here happens before the latch: segments are found or made, records sorted by segment
//! and key. Only the timestamp is missing; [`Prepared::stamp`] fills it in. Commits that are replayed
//! have theirs, and many of them are prepared together.

use crate::memory::group::{EdgeSubject, Group, GroupTable};
use crate::planted::{Bug, planted};
use crate::segment::edge_body::EdgeBody;
use crate::segment::record::{Operation, Record, RecordKey, Stamp};
use crate::segment::version::Segment;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
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

/// Sorts records by where they go: `group | vertices, or type and side`.
fn place(vertex: VertexId, subject: Option<EdgeSubject>) -> u64 {
    let low = subject.map_or(0, |subject| {
        let side = u64::from(subject.side() == Direction::In);
        1 + (u64::from(subject.edge_type().0) << 1 | side)
    });
    u64::from(vertex.group().0) << 20 | low
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
        let mut entries: Vec<(u64, VertexId, Option<EdgeSubject>, Record)> =
            Vec::with_capacity(mutations.len() * 2);
        let mut push = |vertex: VertexId, subject, key, stamp, payload: Properties| {
            entries.push((place(vertex, subject), vertex, subject, Record { key, stamp, payload }));
        };
        // Out sides first: writes come by edge, so that these are sorted already, type by type.
        for (timestamp, mutation) in mutations.clone() {
            let Some((edge, operation, payload)) = of_edge(mutation) else { continue };
            let subject = EdgeSubject::new(edge.edge_type, Direction::Out);
            let key = RecordKey::edge(edge.source.row(), edge.target.0, edge.discriminator);
            push(edge.source, Some(subject), key, Stamp::new(timestamp, operation), payload.clone());
        }
        for (timestamp, mutation) in mutations {
            let (vertex, operation, payload) = match mutation {
                Mutation::InsertVertex { vertex, properties, .. } => (*vertex, Operation::Insert, properties),
                Mutation::DeleteVertex { vertex } => (*vertex, Operation::Delete, &Properties::EMPTY),
                Mutation::SetVertexProperties { vertex, properties } => (*vertex, Operation::Set, properties),
                _ => {
                    // The in side keeps no properties: it finds them by a search in the out list.
                    let moves = |operation| matches!(operation, Operation::Insert | Operation::Delete);
                    let edge = of_edge(mutation).filter(|(_, operation, _)| moves(*operation));
                    if let Some((edge, operation, _)) = edge.filter(|_| !planted(Bug::ForgetInEdge)) {
                        let subject = EdgeSubject::new(edge.edge_type, Direction::In);
                        let key = RecordKey::edge(edge.target.row(), edge.source.0, edge.discriminator);
                        let stamp = Stamp::new(timestamp, operation);
                        push(edge.target, Some(subject), key, stamp, Properties::EMPTY);
                    }
                    continue;
                }
            };
            let stamp = Stamp::new(timestamp, operation);
            push(vertex, None, RecordKey::vertex(vertex.row()), stamp, payload.clone());
        }
        if entries.len() > 1 {
            // Stable: it makes use of what is sorted already.
            entries.sort_by_key(|(place, _, _, record)| (*place, record.key, record.stamp));
        }
        let mut records = Vec::with_capacity(entries.len());
        let mut parts: Vec<(Target, Range<usize>)> = Vec::new();
        let mut last = None;
        for (place, vertex, subject, record) in entries {
            let member = matches!(record.stamp.operation(), Operation::Insert | Operation::Delete);
            let at = records.len();
            records.push(record);
            if last == Some(place) {
                let (target, range) = parts.last_mut().expect("a last place has a part");
                range.end = at + 1;
                if let Target::Vertices(_, members) = target {
                    *members |= member;
                }
                continue;
            }
            last = Some(place);
            let group = groups.get(vertex.group()).ok_or_else(|| {
                Error::new(ErrorKind::Corrupt, format!("vertex {vertex} is in a group that was never opened"))
            })?;
            let target = match subject {
                None => Target::Vertices(Arc::clone(group), member),
                Some(subject) => Target::Edges(group.edge_segment_or_new(subject)),
            };
            parts.push((target, at..at + 1));
        }
        Ok(Self { records, parts })
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
