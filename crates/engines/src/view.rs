//! `AnyView`: reads any engine at one timestamp.

use evergraph_graph::column::Column;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::look_up::Ranked;
use evergraph_graph::newest::{NewestEdges, Stamped};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_memory_engine::view::MemoryView;
use evergraph_storage::engine::{GroupBits, View};

/// An engine as a snapshot sees it. What has a default in [`View`] is forwarded too: engines do better.
#[derive(Debug)]
pub enum AnyView<'a> {
    /// The memory engine.
    Memory(MemoryView<'a>),
}

/// Does the same with whichever view it is.
macro_rules! with_view {
    ($any:expr, $view:ident => $call:expr) => {
        match $any {
            AnyView::Memory($view) => $call,
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
    fn group_label(&self, group: GroupId) -> Option<LabelId> {
        with_view!(self, view => view.group_label(group))
    }

    #[inline]
    fn live(&self, group: GroupId) -> Result<GroupBits> {
        with_view!(self, view => view.live(group))
    }

    #[inline]
    fn is_alive(&self, vertex: VertexId) -> Result<bool> {
        with_view!(self, view => view.is_alive(vertex))
    }

    #[inline]
    fn are_alive(&self, vertices: &[VertexId], alive: &mut Vec<bool>) -> Result<()> {
        with_view!(self, view => view.are_alive(vertices, alive))
    }

    #[inline]
    fn vertex_property(&self, vertex: VertexId, key: KeyId) -> Result<Option<Value>> {
        with_view!(self, view => view.vertex_property(vertex, key))
    }

    #[inline]
    fn vertex_column(&self, vertices: &[VertexId], key: KeyId, column: &mut Column) -> Result<()> {
        with_view!(self, view => view.vertex_column(vertices, key, column))
    }

    #[inline]
    fn vertex_properties(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>> {
        with_view!(self, view => view.vertex_properties(vertex))
    }

    #[inline]
    fn edge_types(&self, group: GroupId, side: Direction) -> Vec<TypeId> {
        with_view!(self, view => view.edge_types(group, side))
    }

    #[inline]
    fn rows_with_edges(&self, group: GroupId, edge_type: TypeId, side: Direction) -> Result<GroupBits> {
        with_view!(self, view => view.rows_with_edges(group, edge_type, side))
    }

    #[inline]
    fn neighbors(
        &self,
        vertex: VertexId,
        edge_type: TypeId,
        side: Direction,
        list: &mut Vec<(VertexId, u16)>,
    ) -> Result<()> {
        with_view!(self, view => view.neighbors(vertex, edge_type, side, list))
    }

    #[inline]
    fn neighbors_after(
        &self,
        vertex: VertexId,
        edge_type: TypeId,
        side: Direction,
        after: Option<(VertexId, u16)>,
        limit: usize,
        list: &mut Vec<(VertexId, u16)>,
    ) -> Result<()> {
        with_view!(self, view => view.neighbors_after(vertex, edge_type, side, after, limit, list))
    }

    #[inline]
    fn newest(
        &self,
        asked: &NewestEdges,
        after: Option<&Stamped>,
        limit: usize,
        ranked: &mut Ranked<EdgeId>,
    ) -> Result<bool> {
        with_view!(self, view => view.newest(asked, after, limit, ranked))
    }

    #[inline]
    fn degree(&self, vertex: VertexId, edge_type: TypeId, side: Direction) -> Result<u64> {
        with_view!(self, view => view.degree(vertex, edge_type, side))
    }

    #[inline]
    fn has_edge(&self, edge: EdgeId) -> Result<bool> {
        with_view!(self, view => view.has_edge(edge))
    }

    #[inline]
    fn has_edges(&self, edges: &[EdgeId], found: &mut Vec<bool>) -> Result<()> {
        with_view!(self, view => view.has_edges(edges, found))
    }

    #[inline]
    fn edges_between(
        &self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        discriminators: &mut Vec<u16>,
    ) -> Result<()> {
        with_view!(self, view => view.edges_between(source, edge_type, target, discriminators))
    }

    #[inline]
    fn taken_discriminators(
        &self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        taken: &mut Vec<u16>,
    ) -> Result<()> {
        with_view!(self, view => view.taken_discriminators(source, edge_type, target, taken))
    }

    #[inline]
    fn edge_property(&self, edge: EdgeId, key: KeyId) -> Result<Option<Value>> {
        with_view!(self, view => view.edge_property(edge, key))
    }

    #[inline]
    fn edge_column(&self, edges: &[EdgeId], key: KeyId, column: &mut Column) -> Result<()> {
        with_view!(self, view => view.edge_column(edges, key, column))
    }

    #[inline]
    fn edge_properties(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>> {
        with_view!(self, view => view.edge_properties(edge))
    }

    #[inline]
    fn group_edge_count(&self, group: GroupId, edge_type: TypeId) -> Result<u64> {
        with_view!(self, view => view.group_edge_count(group, edge_type))
    }
}
