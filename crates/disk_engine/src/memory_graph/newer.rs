//! Conflict checks: whether something in a memory graph is newer than a writer's snapshot.
//!
//! Whole groups are answered by their segment's timestamps, all other keys by the records of one list, newest first,
//! down to the first that the writer saw.
//!
//! Source: core-protocol, section 2 (write and read checks); disk-engine, section 5 (`newer` reads graphs only).

use crate::format::subject::{EdgeSide, Subject};
use crate::format::tree_key::{ItemKey, ListId};
use crate::memory_graph::graph::MemoryGraph;
use crate::memory_graph::record::GraphRecord;
use evergraph_graph::id::{EdgeId, GroupId, TypeId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::engine::Key;

impl MemoryGraph {
    /// Whether a record of this graph that concerns `key` is newer than `since`. Under the latch, or ahead of it: then for
    /// every commit that was published before. No I/O, no lock.
    ///
    /// Cost: a look-up, and the records of the list, or of the neighbour in a long one, that are newer than `since`; for
    /// `Adjacency` this for each type and side that the vertex' group has.
    #[must_use]
    pub fn newer(&self, key: &Key, since: Timestamp) -> bool {
        if self.last().is_none_or(|last| last.visible_at(since)) {
            return false;
        }
        let any = |_: &GraphRecord<'_>| true;
        match *key {
            Key::Vertex(vertex) => {
                self.newer_in(ListId::vertex(vertex), since, |record| record.changes_membership())
            }
            Key::VertexProperty(vertex, key) => {
                self.newer_in(ListId::vertex(vertex), since, |record| record.changes_property(key))
            }
            Key::VertexRecord(vertex) => self.newer_in(ListId::vertex(vertex), since, any),
            Key::Adjacency(vertex) => self.newer_edges_of(vertex, since),
            Key::Edge(edge) => self.newer_edge(edge, since, any),
            Key::EdgeProperty(edge, key) => {
                self.newer_edge(edge, since, |record| record.changes_property(key))
            }
            Key::EdgeMember(edge) => self.newer_edge(edge, since, |record| record.changes_membership()),
            Key::Members(group) => {
                let segment = self.arenas.segment(Subject::VERTICES, group);
                self.is_newer(segment.and_then(|segment| segment.members_changed()), since)
            }
            Key::Vertices(group) => self.newer_segment(Subject::VERTICES, group, since),
            Key::List(vertex, edge_type, direction) => EdgeSide::of(direction).iter().any(|side| {
                let list = ListId::edges(vertex, edge_type, *side);
                self.newer_in(list, since, |record| record.changes_membership())
            }),
            Key::ListProperty(vertex, edge_type, key) => {
                let list = ListId::edges(vertex, edge_type, EdgeSide::Out);
                self.newer_in(list, since, |record| record.changes_property(key))
            }
            Key::Between(source, edge_type, target) => {
                let list = self.at(Timestamp::MAX).list(ListId::edges(source, edge_type, EdgeSide::Out));
                list.is_some_and(|list| {
                    newer_than(list.between(target), since).any(|record| record.changes_membership())
                })
            }
            Key::Edges(group, edge_type, direction) => EdgeSide::of(direction)
                .iter()
                .any(|side| self.newer_segment(Subject::edges(edge_type, *side), group, since)),
        }
    }

    /// Appends the discriminators that records between two vertices name, with repeats: a new edge must not take them.
    pub fn taken_discriminators(
        &self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        taken: &mut Vec<u16>,
    ) {
        if let Some(list) = self.at(Timestamp::MAX).list(ListId::edges(source, edge_type, EdgeSide::Out)) {
            taken.extend(list.between(target).map(|record| record.item.discriminator()));
        }
    }

    fn newer_in(&self, list: ListId, since: Timestamp, matches: impl Fn(&GraphRecord<'_>) -> bool) -> bool {
        let list = self.at(Timestamp::MAX).list(list);
        list.is_some_and(|list| newer_than(list.newest_first(), since).any(|record| matches(&record)))
    }

    fn newer_edge(&self, edge: EdgeId, since: Timestamp, matches: impl Fn(&GraphRecord<'_>) -> bool) -> bool {
        let item = ItemKey::edge(edge.target, edge.discriminator);
        let list = self.at(Timestamp::MAX).list(ListId::out_list(&edge));
        list.is_some_and(|list| newer_than(list.of_item(item), since).any(|record| matches(&record)))
    }

    /// Any record in any list of edges of `vertex`.
    fn newer_edges_of(&self, vertex: VertexId, since: Timestamp) -> bool {
        self.arenas.edge_segments(vertex.group()).any(|segment| {
            self.is_newer(segment.changed(), since)
                && self.newer_in(ListId { subject: segment.subject(), vertex }, since, |_| true)
        })
    }

    fn newer_segment(&self, subject: Subject, group: GroupId, since: Timestamp) -> bool {
        let segment = self.arenas.segment(subject, group);
        self.is_newer(segment.and_then(|segment| segment.changed()), since)
    }

    /// Whether a commit at this offset is newer.
    fn is_newer(&self, offset: Option<u64>, since: Timestamp) -> bool {
        let timestamp = |offset| self.first().map(|first: Timestamp| Timestamp(first.0 + offset));
        offset.and_then(timestamp).is_some_and(|changed| !changed.visible_at(since))
    }
}

/// The first ones of `newest_first` that a writer at `since` did not see.
fn newer_than<'g>(
    newest_first: impl Iterator<Item = GraphRecord<'g>>,
    since: Timestamp,
) -> impl Iterator<Item = GraphRecord<'g>> {
    newest_first.take_while(move |record| !record.timestamp.visible_at(since))
}
