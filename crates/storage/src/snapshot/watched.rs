//! Watched view: an engine's view that notes what a serialisable transaction reads.
//!
//! It stands below own writes and above the engine, so that whatever a reader asks for, of a single
//! property or a whole scan, is noted by what would change the answer, and nothing else is.

use crate::engine::{GroupBits, Key, View};
use crate::planted::{Bug, planted};
use crate::transaction::reads::Reads;
use evergraph_graph::column::Column;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::look_up::Ranked;
use evergraph_graph::newest::{NewestEdges, Stamped};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;

/// A view whose reads are noted, if there is somewhere to note them.
pub struct Watched<'a, V> {
    view: V,
    reads: Option<&'a Reads>,
}

impl<'a, V: View> Watched<'a, V> {
    /// Reads `view` and notes it in `reads`.
    pub fn new(view: V, reads: Option<&'a Reads>) -> Self {
        Self { view, reads }
    }

    fn note(&self, key: impl FnOnce() -> Key) {
        if let Some(reads) = self.reads {
            reads.note(key());
        }
    }
}

impl<V: View> View for Watched<'_, V> {
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

    fn group_label(&self, group: GroupId) -> Option<LabelId> {
        let label = self.view.group_label(group);
        if label.is_none() {
            self.note(|| Key::Members(group));
        }
        label
    }

    fn live(&self, group: GroupId) -> Result<GroupBits> {
        if !planted(Bug::Phantom) {
            self.note(|| Key::Members(group));
        }
        self.view.live(group)
    }

    fn is_alive(&self, vertex: VertexId) -> Result<bool> {
        self.note(|| Key::Vertex(vertex));
        self.view.is_alive(vertex)
    }

    fn are_alive(&self, vertices: &[VertexId], alive: &mut Vec<bool>) -> Result<()> {
        vertices.iter().for_each(|vertex| self.note(|| Key::Vertex(*vertex)));
        self.view.are_alive(vertices, alive)
    }

    fn vertex_property(&self, vertex: VertexId, key: KeyId) -> Result<Option<Value>> {
        self.note(|| Key::VertexProperty(vertex, key));
        self.view.vertex_property(vertex, key)
    }

    fn vertex_column(&self, vertices: &[VertexId], key: KeyId, column: &mut Column) -> Result<()> {
        vertices.iter().for_each(|vertex| self.note(|| Key::VertexProperty(*vertex, key)));
        self.view.vertex_column(vertices, key, column)
    }

    fn vertex_properties(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>> {
        self.note(|| Key::VertexRecord(vertex));
        self.view.vertex_properties(vertex)
    }

    fn edge_types(&self, group: GroupId, side: Direction) -> Vec<TypeId> {
        let types = self.view.edge_types(group, side);
        if let Some(reads) = self.reads {
            reads.note_edge_types(group, side, &types);
        }
        types
    }

    fn neighbors(
        &self,
        vertex: VertexId,
        edge_type: TypeId,
        side: Direction,
        list: &mut Vec<(VertexId, u16)>,
    ) -> Result<()> {
        self.note(|| Key::List(vertex, edge_type, side));
        self.view.neighbors(vertex, edge_type, side, list)
    }

    fn neighbors_after(
        &self,
        vertex: VertexId,
        edge_type: TypeId,
        side: Direction,
        after: Option<(VertexId, u16)>,
        limit: usize,
        list: &mut Vec<(VertexId, u16)>,
    ) -> Result<()> {
        self.note(|| Key::List(vertex, edge_type, side));
        self.view.neighbors_after(vertex, edge_type, side, after, limit, list)
    }

    fn newest(
        &self,
        asked: &NewestEdges,
        after: Option<&Stamped>,
        limit: usize,
        ranked: &mut Ranked<EdgeId>,
    ) -> Result<bool> {
        self.note(|| match planted(Bug::NewestNotNoted) {
            true => Key::List(asked.source, asked.edge_type, Direction::Out),
            false => Key::ListProperty(asked.source, asked.edge_type, asked.key),
        });
        self.view.newest(asked, after, limit, ranked)
    }

    fn degree(&self, vertex: VertexId, edge_type: TypeId, side: Direction) -> Result<u64> {
        self.note(|| Key::List(vertex, edge_type, side));
        self.view.degree(vertex, edge_type, side)
    }

    fn has_edge(&self, edge: EdgeId) -> Result<bool> {
        self.note(|| Key::EdgeMember(edge));
        self.view.has_edge(edge)
    }

    fn has_edges(&self, edges: &[EdgeId], found: &mut Vec<bool>) -> Result<()> {
        edges.iter().for_each(|edge| self.note(|| Key::EdgeMember(*edge)));
        self.view.has_edges(edges, found)
    }

    fn edges_between(
        &self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        discriminators: &mut Vec<u16>,
    ) -> Result<()> {
        self.note(|| Key::Between(source, edge_type, target));
        self.view.edges_between(source, edge_type, target, discriminators)
    }

    /// Not noted: which discriminators are free decides a name, which the commit may change.
    fn taken_discriminators(
        &self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        taken: &mut Vec<u16>,
    ) -> Result<()> {
        self.view.taken_discriminators(source, edge_type, target, taken)
    }

    fn edge_property(&self, edge: EdgeId, key: KeyId) -> Result<Option<Value>> {
        self.note(|| Key::EdgeProperty(edge, key));
        self.view.edge_property(edge, key)
    }

    fn edge_column(&self, edges: &[EdgeId], key: KeyId, column: &mut Column) -> Result<()> {
        edges.iter().for_each(|edge| self.note(|| Key::EdgeProperty(*edge, key)));
        self.view.edge_column(edges, key, column)
    }

    fn edge_properties(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>> {
        self.note(|| Key::Edge(edge));
        self.view.edge_properties(edge)
    }

    fn group_edge_count(&self, group: GroupId, edge_type: TypeId) -> Result<u64> {
        self.note(|| Key::Edges(group, edge_type, Direction::Out));
        self.view.group_edge_count(group, edge_type)
    }
}
