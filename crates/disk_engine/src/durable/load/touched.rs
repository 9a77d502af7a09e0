//! Touched segments: what a load changed, for writers whose snapshots are older.
//!
//! A load leaves no records in a memory graph. While a writer has a snapshot before the load, conflict checks look here
//! too, by group and subject: a segment that the load touched counts as changed.

use crate::format::subject::{EdgeSide, Subject};
use evergraph_graph::id::{Direction, GroupId, TypeId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::engine::{ChangedSince, Key};
use evergraph_storage::sync::ArcCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The segments that a load changed: 8 bytes each.
#[derive(Clone, Debug, Default)]
pub struct TouchedSegments {
    /// Ascending.
    segments: Box<[(GroupId, Subject)]>,
}

impl TouchedSegments {
    /// These segments, in any order.
    pub(super) fn of(segments: BTreeSet<(GroupId, Subject)>) -> Self {
        Self { segments: segments.into_iter().collect() }
    }

    /// Whether the load may have changed `key`. Cost: a search among the load's segments; no I/O, no wait.
    #[must_use]
    pub fn touches(&self, key: &Key) -> bool {
        let edges = |group, edge_type: TypeId, side| self.has(group, Subject::edges(edge_type, side));
        match *key {
            Key::Vertex(vertex) | Key::VertexProperty(vertex, _) | Key::VertexRecord(vertex) => {
                self.has(vertex.group(), Subject::VERTICES)
            }
            Key::Members(group) | Key::Vertices(group) => self.has(group, Subject::VERTICES),
            Key::Adjacency(vertex) => {
                let group = vertex.group();
                let first_edges = Subject::edges(TypeId(0), EdgeSide::Out);
                let at = self.segments.partition_point(|segment| *segment < (group, first_edges));
                self.segments.get(at).is_some_and(|next| next.0 == group)
            }
            Key::Edge(edge) | Key::EdgeProperty(edge, _) | Key::EdgeMember(edge) => {
                edges(edge.source.group(), edge.edge_type, EdgeSide::Out)
            }
            Key::List(vertex, edge_type, side) => self.has_sides(vertex.group(), edge_type, side),
            Key::Edges(group, edge_type, side) => self.has_sides(group, edge_type, side),
            Key::ListProperty(vertex, edge_type, _) | Key::Between(vertex, edge_type, _) => {
                edges(vertex.group(), edge_type, EdgeSide::Out)
            }
        }
    }

    /// The groups and subjects of edges, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = (GroupId, Subject)> + '_ {
        self.segments.iter().copied()
    }

    fn has(&self, group: GroupId, subject: Subject) -> bool {
        self.segments.binary_search(&(group, subject)).is_ok()
    }

    fn has_sides(&self, group: GroupId, edge_type: TypeId, side: Direction) -> bool {
        EdgeSide::of(side).iter().any(|side| self.has(group, Subject::edges(edge_type, *side)))
    }
}

/// The loads whose changes conflict checks still know.
///
/// # Concurrency
/// Any thread asks; loads are added under the latch, one at a time.
#[derive(Debug)]
pub struct RecentLoads {
    /// A swap releases what it publishes; a load acquires it.
    recent: ArcCell<Recent>,
}

impl Default for RecentLoads {
    /// None yet.
    fn default() -> Self {
        Self { recent: ArcCell::new(Arc::default()) }
    }
}

#[derive(Clone, Debug, Default)]
struct Recent {
    /// Oldest first.
    loads: Vec<(Timestamp, Arc<TouchedSegments>)>,
    /// What older loads changed is forgotten.
    floor: Timestamp,
}

/// Loads that are remembered one by one.
const RECENT_LOADS_MAX: usize = 8;

impl RecentLoads {
    /// Adds the load of `timestamp`. Under the latch, before it is published. Cost: O(1).
    pub fn push(&self, timestamp: Timestamp, touched: &Arc<TouchedSegments>) {
        let mut recent = Recent::clone(&self.recent.load());
        recent.loads.push((timestamp, Arc::clone(touched)));
        if recent.loads.len() > RECENT_LOADS_MAX {
            recent.floor = recent.loads.remove(0).0;
        }
        self.recent.swap(Arc::new(recent));
    }

    /// Whether a load may have changed `key` after `since`. Under the latch, or ahead of it.
    #[must_use]
    pub fn newer(&self, key: &Key, since: Timestamp) -> ChangedSince {
        let recent = self.recent.load();
        let touches = |(at, touched): &(Timestamp, Arc<TouchedSegments>)| *at > since && touched.touches(key);
        if since < recent.floor || recent.loads.iter().any(touches) {
            ChangedSince::Forgotten
        } else {
            ChangedSince::No
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::{EdgeId, KeyId, VertexId};

    #[test]
    fn keys_of_other_segments_are_not_touched() {
        let (new, old, other) = (GroupId(7), GroupId(3), GroupId(4));
        let touched = [(new, Subject::VERTICES), (old, Subject::edges(TypeId(2), EdgeSide::Out))];
        let touched = TouchedSegments::of(touched.into());
        let vertex = |group| VertexId::new(group, 9);
        for key in [
            Key::Vertex(vertex(new)),
            Key::Members(new),
            Key::Adjacency(vertex(old)),
            Key::List(vertex(old), TypeId(2), Direction::Out),
            Key::Between(vertex(old), TypeId(2), vertex(other)),
            Key::ListProperty(vertex(old), TypeId(2), KeyId(0)),
        ] {
            assert!(touched.touches(&key), "{key}");
        }
        let edge = |edge_type, source| {
            let (edge_type, target) = (TypeId(edge_type), vertex(other));
            Key::Edge(EdgeId { source: vertex(source), edge_type, target, discriminator: 0 })
        };
        assert!(
            touched.touches(&edge(2, old))
                && !touched.touches(&edge(1, old))
                && !touched.touches(&edge(2, other))
        );
        for key in [
            Key::Vertex(vertex(old)),
            Key::Adjacency(vertex(other)),
            Key::Adjacency(vertex(new)),
            Key::List(vertex(old), TypeId(2), Direction::In),
            Key::Edges(new, TypeId(2), Direction::Out),
        ] {
            assert!(!touched.touches(&key), "{key}");
        }
    }

    #[test]
    fn a_writer_conflicts_with_loads_after_its_snapshot_and_with_all_that_were_forgotten() {
        let touched = TouchedSegments::of([(GroupId(7), Subject::VERTICES)].into());
        let (touched, loads) = (Arc::new(touched), RecentLoads::default());
        let (theirs, other) = (Key::Members(GroupId(7)), Key::Members(GroupId(8)));
        let newer = |key, since| loads.newer(key, Timestamp(since));
        assert_eq!(newer(&theirs, 0), ChangedSince::No);
        loads.push(Timestamp(10), &touched);
        assert_eq!([9, 10].map(|since| newer(&theirs, since)), [ChangedSince::Forgotten, ChangedSince::No]);
        assert_eq!(newer(&other, 9), ChangedSince::No);
        (11..20).for_each(|at| loads.push(Timestamp(at), &touched));
        assert_eq!([10, 11].map(|since| newer(&other, since)), [ChangedSince::Forgotten, ChangedSince::No]);
    }
}
