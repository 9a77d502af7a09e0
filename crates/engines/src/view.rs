//! `AnyView`: reads any engine at one timestamp.

#[cfg(feature = "cluster")]
use evergraph_cluster::remote::remote_view::RemoteView;
use evergraph_disk_engine::view::disk_view::DiskView;
use evergraph_graph::column::{Column, ValueSink};
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::look_up::OrderedMatches;
use evergraph_graph::newest::{NewestEdges, Stamped};
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::travel::Travels;
use evergraph_graph::value::Value;
use evergraph_mapped_engine::view::mapped_view::MappedView;
use evergraph_memory_engine::view::MemoryView;
use evergraph_storage::index::entry_bound::EntryBound;
use evergraph_storage::index::index_item::IndexItem;
use evergraph_storage::view::{GroupBits, IndexAnswer, IndexSize, View};
use std::sync::Arc;

/// An engine as a snapshot sees it. What has a default in [`View`] is forwarded too: engines do better.
#[derive(Debug)]
pub enum AnyView<'a> {
    /// The memory engine.
    Memory(MemoryView<'a>),
    /// The disk engine.
    Disk(DiskView<'a>),
    /// The mapped engine.
    Mapped(MappedView<'a>),
    /// The nodes of a cluster.
    #[cfg(feature = "cluster")]
    Cluster(RemoteView<'a>),
}

/// Does the same with whichever view it is.
macro_rules! with_view {
    ($any:expr, $view:ident => $call:expr) => {
        match $any {
            AnyView::Memory($view) => $call,
            AnyView::Disk($view) => $call,
            AnyView::Mapped($view) => $call,
            #[cfg(feature = "cluster")]
            AnyView::Cluster($view) => $call,
        }
    };
}

impl View for AnyView<'_> {
    #[inline]
    fn timestamp(&self) -> Timestamp {
        with_view!(self, view => view.timestamp())
    }

    #[inline]
    fn group_count(&self) -> u32 {
        with_view!(self, view => view.group_count())
    }

    #[inline]
    fn group_label(&self, group: GroupId) -> Result<Option<LabelId>> {
        with_view!(self, view => view.group_label(group))
    }

    #[inline]
    fn edge_types(&self, group: GroupId, side: Direction) -> Result<Vec<TypeId>> {
        with_view!(self, view => view.edge_types(group, side))
    }

    #[inline]
    fn live(&self, group: GroupId) -> Result<GroupBits> {
        with_view!(self, view => view.live(group))
    }

    #[inline]
    fn rows_with_edges(&self, group: GroupId, edge_type: TypeId, side: Direction) -> Result<GroupBits> {
        with_view!(self, view => view.rows_with_edges(group, edge_type, side))
    }

    #[inline]
    fn group_edge_count(&self, group: GroupId, edge_type: TypeId) -> Result<u64> {
        with_view!(self, view => view.group_edge_count(group, edge_type))
    }

    #[inline]
    fn labels(&self, vertices: &[VertexId], labels: &mut [Option<LabelId>]) -> Result<()> {
        with_view!(self, view => view.labels(vertices, labels))
    }

    #[inline]
    fn vertex_properties(&self, vertices: &[VertexId], key: KeyId, values: &mut dyn ValueSink) -> Result<()> {
        with_view!(self, view => view.vertex_properties(vertices, key, values))
    }

    #[inline]
    fn vertex_property(&self, vertex: VertexId, key: KeyId) -> Result<Option<Value>> {
        with_view!(self, view => view.vertex_property(vertex, key))
    }

    #[inline]
    fn vertex_property_map(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>> {
        with_view!(self, view => view.vertex_property_map(vertex))
    }

    #[inline]
    fn is_remote(&self) -> bool {
        with_view!(self, view => view.is_remote())
    }

    #[inline]
    fn heeds_ahead(&self) -> bool {
        with_view!(self, view => view.heeds_ahead())
    }

    #[inline]
    fn read_ahead(&self, vertices: &[VertexId], edge_type: TypeId, side: Direction) {
        with_view!(self, view => view.read_ahead(vertices, edge_type, side));
    }

    #[inline]
    fn ahead(&self, next: NextReads<'_>) {
        with_view!(self, view => view.ahead(next));
    }

    #[inline]
    fn travels(&self) -> Option<Arc<dyn Travels>> {
        with_view!(self, view => view.travels())
    }

    #[inline]
    fn neighbors(
        &self,
        vertex: VertexId,
        edge_type: TypeId,
        side: Direction,
        after: Option<(VertexId, u16)>,
        limit: usize,
        list: &mut Vec<(VertexId, u16)>,
    ) -> Result<()> {
        with_view!(self, view => view.neighbors(vertex, edge_type, side, after, limit, list))
    }

    #[inline]
    fn degrees(
        &self,
        vertices: &[VertexId],
        edge_type: TypeId,
        side: Direction,
        degrees: &mut [u64],
    ) -> Result<()> {
        with_view!(self, view => view.degrees(vertices, edge_type, side, degrees))
    }

    #[inline]
    fn newest(
        &self,
        asked: &NewestEdges,
        after: Option<&Stamped>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
    ) -> Result<bool> {
        with_view!(self, view => view.newest(asked, after, limit, ranked))
    }

    #[inline]
    fn newest_with_properties(
        &self,
        asked: &NewestEdges,
        after: Option<&Stamped>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
        keys: &[KeyId],
        columns: &mut [Column],
    ) -> Result<bool> {
        with_view!(self, view => view.newest_with_properties(asked, after, limit, ranked, keys, columns))
    }

    #[inline]
    fn has_edges(&self, edges: &[EdgeId], found: &mut [bool]) -> Result<()> {
        with_view!(self, view => view.has_edges(edges, found))
    }

    #[inline]
    fn count_edges_between(
        &self,
        pairs: &[(VertexId, VertexId)],
        edge_type: TypeId,
        counts: &mut [u32],
    ) -> Result<()> {
        with_view!(self, view => view.count_edges_between(pairs, edge_type, counts))
    }

    #[inline]
    fn edge_properties(&self, edges: &[EdgeId], key: KeyId, values: &mut dyn ValueSink) -> Result<()> {
        with_view!(self, view => view.edge_properties(edges, key, values))
    }

    #[inline]
    fn edge_property(&self, edge: EdgeId, key: KeyId) -> Result<Option<Value>> {
        with_view!(self, view => view.edge_property(edge, key))
    }

    #[inline]
    fn edge_property_map(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>> {
        with_view!(self, view => view.edge_property_map(edge))
    }

    #[inline]
    fn answers_for(&self, index: IndexId) -> bool {
        with_view!(self, view => view.answers_for(index))
    }

    #[inline]
    fn index_size(&self, index: IndexId) -> Option<IndexSize> {
        with_view!(self, view => view.index_size(index))
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
        with_view!(self, view => view.candidates(index, value, after, limit, items))
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
        with_view!(self, view => view.between(index, places, descending, limit, pairs))
    }
}
