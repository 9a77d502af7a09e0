//! Tracked view: an engine's view that notes what a serialisable transaction reads.
//!
//! It stands below own writes and above the engine, so that whatever a reader asks for, of a single
//! property or a whole scan, is noted by what would change the answer, and nothing else is.

use crate::engine::Key;
use crate::index::entry_bound::EntryBound;
use crate::index::index_item::IndexItem;
use crate::planted::{Bug, planted};
use crate::transaction::reads::Reads;
use crate::view::{GroupBits, IndexAnswer, IndexSize, View};
use evergraph_graph::column::ValueSink;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::look_up::OrderedMatches;
use evergraph_graph::newest::{NewestEdges, Stamped};
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::travel::Travels;
use evergraph_graph::value::Value;
use std::sync::Arc;

/// A view whose reads are noted, if there is somewhere to note them.
pub struct TrackedView<'a, V> {
    view: V,
    reads: Option<&'a Reads>,
}

impl<'a, V: View> TrackedView<'a, V> {
    /// Reads `view` and notes it in `reads`.
    pub fn new(view: V, reads: Option<&'a Reads>) -> Self {
        Self { view, reads }
    }

    fn note(&self, key: impl FnOnce() -> Key) {
        if let Some(reads) = self.reads {
            reads.note(key());
        }
    }

    fn note_each<T>(&self, items: &[T], key: impl Fn(&T) -> Key) {
        if let Some(reads) = self.reads {
            items.iter().for_each(|item| reads.note(key(item)));
        }
    }

    /// Notes what the engine says of items without a read of their properties: that each has a value of `index`.
    /// The index's list of changes tells who gains one, the property who loses it.
    fn note_answer<I: IndexItem>(&self, answer: IndexAnswer, index: IndexId, items: impl Iterator<Item = I>) {
        if let Some(reads) = self.reads.filter(|_| answer == IndexAnswer::Exact) {
            items.for_each(|item| {
                reads.note(match item.item_id() {
                    ItemId::Vertex(vertex) => Key::VertexProperty(vertex, index.key),
                    ItemId::Edge(edge) => Key::EdgeProperty(edge, index.key),
                });
            });
        }
    }
}

impl<V: View> View for TrackedView<'_, V> {
    fn timestamp(&self) -> Timestamp {
        self.view.timestamp()
    }

    fn group_count(&self) -> u32 {
        let count = self.view.group_count();
        if let Some(reads) = self.reads {
            reads.note_groups(count);
        }
        count
    }

    fn group_label(&self, group: GroupId) -> Result<Option<LabelId>> {
        let label = self.view.group_label(group)?;
        if label.is_none() {
            self.note(|| Key::Members(group));
        }
        Ok(label)
    }

    fn live(&self, group: GroupId) -> Result<GroupBits> {
        if !planted(Bug::Phantom) {
            self.note(|| Key::Members(group));
        }
        self.view.live(group)
    }

    fn labels(&self, vertices: &[VertexId], labels: &mut [Option<LabelId>]) -> Result<()> {
        self.note_each(vertices, |vertex| Key::Vertex(*vertex));
        self.view.labels(vertices, labels)
    }

    fn vertex_properties(&self, vertices: &[VertexId], key: KeyId, values: &mut dyn ValueSink) -> Result<()> {
        self.note_each(vertices, |vertex| Key::VertexProperty(*vertex, key));
        self.view.vertex_properties(vertices, key, values)
    }

    fn vertex_property(&self, vertex: VertexId, key: KeyId) -> Result<Option<Value>> {
        self.note(|| Key::VertexProperty(vertex, key));
        self.view.vertex_property(vertex, key)
    }

    fn vertex_property_map(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>> {
        self.note(|| Key::VertexRecord(vertex));
        self.view.vertex_property_map(vertex)
    }

    fn edge_types(&self, group: GroupId, side: Direction) -> Result<Vec<TypeId>> {
        let types = self.view.edge_types(group, side)?;
        if let Some(reads) = self.reads {
            reads.note_edge_types(group, side, &types);
        }
        Ok(types)
    }

    #[inline]
    fn is_remote(&self) -> bool {
        self.view.is_remote()
    }

    #[inline]
    fn heeds_ahead(&self) -> bool {
        self.view.heeds_ahead()
    }

    #[inline]
    fn read_ahead(&self, vertices: &[VertexId], edge_type: TypeId, side: Direction) {
        self.view.read_ahead(vertices, edge_type, side);
    }

    /// Notes nothing: what is announced is noted when it is read.
    #[inline]
    fn ahead(&self, next: NextReads<'_>) {
        self.view.ahead(next);
    }

    /// Not where reads are noted: nobody notes them elsewhere.
    #[inline]
    fn travels(&self) -> Option<Arc<dyn Travels>> {
        if self.reads.is_none() { self.view.travels() } else { None }
    }

    fn neighbors(
        &self,
        vertex: VertexId,
        edge_type: TypeId,
        side: Direction,
        after: Option<(VertexId, u16)>,
        limit: usize,
        list: &mut Vec<(VertexId, u16)>,
    ) -> Result<()> {
        self.note(|| Key::List(vertex, edge_type, side));
        self.view.neighbors(vertex, edge_type, side, after, limit, list)
    }

    fn newest(
        &self,
        asked: &NewestEdges,
        after: Option<&Stamped>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
    ) -> Result<bool> {
        self.note(|| match planted(Bug::NewestNotNoted) {
            true => Key::List(asked.source, asked.edge_type, Direction::Out),
            false => Key::ListProperty(asked.source, asked.edge_type, asked.key),
        });
        self.view.newest(asked, after, limit, ranked)
    }

    fn degrees(
        &self,
        vertices: &[VertexId],
        edge_type: TypeId,
        side: Direction,
        degrees: &mut [u64],
    ) -> Result<()> {
        self.note_each(vertices, |vertex| Key::List(*vertex, edge_type, side));
        self.view.degrees(vertices, edge_type, side, degrees)
    }

    fn has_edges(&self, edges: &[EdgeId], found: &mut [bool]) -> Result<()> {
        self.note_each(edges, |edge| Key::EdgeMember(*edge));
        self.view.has_edges(edges, found)
    }

    fn count_edges_between(
        &self,
        pairs: &[(VertexId, VertexId)],
        edge_type: TypeId,
        counts: &mut [u32],
    ) -> Result<()> {
        self.note_each(pairs, |(source, target)| Key::Between(*source, edge_type, *target));
        self.view.count_edges_between(pairs, edge_type, counts)
    }

    fn edge_properties(&self, edges: &[EdgeId], key: KeyId, values: &mut dyn ValueSink) -> Result<()> {
        self.note_each(edges, |edge| Key::EdgeProperty(*edge, key));
        self.view.edge_properties(edges, key, values)
    }

    fn edge_property(&self, edge: EdgeId, key: KeyId) -> Result<Option<Value>> {
        self.note(|| Key::EdgeProperty(edge, key));
        self.view.edge_property(edge, key)
    }

    fn edge_property_map(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>> {
        self.note(|| Key::Edge(edge));
        self.view.edge_property_map(edge)
    }

    #[inline]
    fn answers_for(&self, index: IndexId) -> bool {
        self.view.answers_for(index)
    }

    fn index_size(&self, index: IndexId) -> Option<IndexSize> {
        self.view.index_size(index)
    }

    #[inline]
    fn candidates<I: IndexItem>(
        &self,
        index: IndexId,
        value: &Value,
        after: Option<I>,
        limit: usize,
        items: &mut Vec<I>,
    ) -> Result<IndexAnswer> {
        let before = items.len();
        let answer = self.view.candidates(index, value, after, limit, items)?;
        self.note_answer(answer, index, items[before..].iter().copied());
        Ok(answer)
    }

    #[inline]
    fn between<I: IndexItem>(
        &self,
        index: IndexId,
        places: (&EntryBound<I>, &EntryBound<I>),
        descending: bool,
        limit: usize,
        pairs: &mut Vec<(Value, I)>,
    ) -> Result<IndexAnswer> {
        let before = pairs.len();
        let answer = self.view.between(index, places, descending, limit, pairs)?;
        self.note_answer(answer, index, pairs[before..].iter().map(|(_, item)| *item));
        Ok(answer)
    }

    fn group_edge_count(&self, group: GroupId, edge_type: TypeId) -> Result<u64> {
        self.note(|| Key::Edges(group, edge_type, Direction::Out));
        self.view.group_edge_count(group, edge_type)
    }
}
