//! A view for tests that is walked, not frozen: it answers from plain lists, in small batches.
//!
//! | what | is |
//! |---|---|
//! | label of a vertex | its number modulo 2 |
//! | its property `age` | ten times its number |
//! | type of an edge | 0 |
//! | its property `weight` | its weight; none where that is infinite |

use crate::graphs::Graph;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_graph::view::{EdgeCursor, GraphView, NeighborBatch, NeighborCursor, Statistics, VertexCursor};
use std::sync::Arc;

pub(crate) const LABELS: [LabelId; 2] = [LabelId(0), LabelId(1)];
pub(crate) const AGE: KeyId = KeyId(0);
pub(crate) const WEIGHT: KeyId = KeyId(1);

/// Fewer than anybody asks for, so that batches end inside lists.
const LIMIT: usize = 3;

pub(crate) struct Walkable {
    pub(crate) graph: Graph,
}

impl Walkable {
    pub(crate) fn new(graph: Graph) -> Self {
        Self { graph }
    }

    fn alive(&self, vertex: VertexId) -> bool {
        self.graph.vertices.contains(vertex.0)
    }

    /// The edges as they are named: parallel ones by their order.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (EdgeId, f64)> + '_ {
        let edges = &self.graph.edges;
        (0..edges.len()).filter_map(|at| {
            let (source, target) = (VertexId(edges[at].0), VertexId(edges[at].1));
            let discriminator = edges[..at].iter().filter(|edge| **edge == edges[at]).count() as u16;
            let edge = EdgeId { source, edge_type: TypeId(0), target, discriminator };
            (self.alive(source) && self.alive(target)).then_some((edge, self.graph.weights[at]))
        })
    }

    fn list(
        &self,
        vertex: VertexId,
        types: Option<&[TypeId]>,
        direction: Direction,
    ) -> Vec<(VertexId, EdgeId)> {
        let mut list = Vec::new();
        if types.is_some_and(|types| !types.contains(&TypeId(0))) {
            return list;
        }
        for side in direction.sides() {
            let start = list.len();
            list.extend(self.edges().filter_map(|(edge, _)| match side {
                Direction::Out => (edge.source == vertex).then_some((edge.target, edge)),
                _ => (edge.target == vertex).then_some((edge.source, edge)),
            }));
            list[start..].sort_unstable();
        }
        list
    }
}

fn not_asked<A>() -> Result<A> {
    Err(Error::invalid("algorithms don't ask this of a view"))
}

impl GraphView for Walkable {
    fn timestamp(&self) -> Timestamp {
        Timestamp::default()
    }

    fn catalogue(&self) -> Arc<Catalogue> {
        let mut catalogue = Catalogue::default();
        catalogue.apply(&SchemaChange::AddEdgeType { id: TypeId(0), name: "LINK".into(), simple: false });
        catalogue.apply(&SchemaChange::AddKey { id: AGE, name: "age".into() });
        catalogue.apply(&SchemaChange::AddKey { id: WEIGHT, name: "weight".into() });
        Arc::new(catalogue)
    }

    fn scan_vertices(
        &self,
        labels: Option<&[LabelId]>,
        cursor: &mut VertexCursor,
        limit: usize,
        vertices: &mut Vec<VertexId>,
    ) -> Result<()> {
        let wanted =
            |vertex: &u32| labels.is_none_or(|labels| labels.contains(&LABELS[*vertex as usize % 2]));
        let found = self.graph.vertices.range(cursor.next..u32::MAX).filter(wanted);
        let before = vertices.len();
        vertices.extend(found.take(limit.min(LIMIT)).map(VertexId));
        cursor.done = vertices.len() == before;
        cursor.next = vertices.last().map_or(0, |last| last.0 + 1);
        Ok(())
    }

    fn labels(&self, vertices: &[VertexId], labels: &mut Vec<Option<LabelId>>) -> Result<()> {
        let label = |vertex: &VertexId| self.alive(*vertex).then_some(LABELS[vertex.0 as usize % 2]);
        labels.extend(vertices.iter().map(label));
        Ok(())
    }

    fn neighbors(
        &self,
        vertices: &[VertexId],
        types: Option<&[TypeId]>,
        direction: Direction,
        cursor: &mut NeighborCursor,
        limit: usize,
        batch: &mut NeighborBatch,
    ) -> Result<()> {
        let mut room = limit.min(LIMIT);
        while !cursor.done && room > 0 {
            let Some(vertex) = vertices.get(cursor.row) else {
                cursor.done = true;
                break;
            };
            let list = self.list(*vertex, types, direction);
            let passed = cursor.after.map_or(0, |(side, after)| {
                let mut places = (0..list.len()).filter(|at| list[*at].1 == after);
                // A self loop of both directions is there twice.
                let place = if side == Direction::Out { places.next() } else { places.next_back() };
                1 + place.expect("nothing is deleted here")
            });
            let part = list[passed..].iter().take(room);
            part.clone().for_each(|(neighbor, edge)| {
                batch.rows.push(cursor.row as u32);
                batch.neighbors.push(*neighbor);
                batch.edges.push(*edge);
            });
            room -= part.len();
            let passed = passed + part.len();
            cursor.after = passed.checked_sub(1).map(|last| {
                let is_second = list[..last].iter().any(|(_, edge)| *edge == list[last].1);
                (if is_second { Direction::In } else { Direction::Out }, list[last].1)
            });
            if passed == list.len() {
                *cursor = NeighborCursor { row: cursor.row + 1, ..NeighborCursor::default() };
            }
        }
        Ok(())
    }

    fn degrees(
        &self,
        vertices: &[VertexId],
        types: Option<&[TypeId]>,
        direction: Direction,
        degrees: &mut Vec<u64>,
    ) -> Result<()> {
        degrees.extend(vertices.iter().map(|vertex| self.list(*vertex, types, direction).len() as u64));
        Ok(())
    }

    fn count_edges_between(&self, _: &[(VertexId, VertexId)], _: TypeId, _: &mut Vec<u32>) -> Result<()> {
        not_asked()
    }

    fn has_edges(&self, _: &[EdgeId], _: &mut Vec<bool>) -> Result<()> {
        not_asked()
    }

    fn vertex_properties(&self, vertices: &[VertexId], key: KeyId, column: &mut Column) -> Result<()> {
        for vertex in vertices {
            let age = Value::I64(i64::from(vertex.0) * 10);
            column.push((key == AGE && self.alive(*vertex)).then_some(age));
        }
        Ok(())
    }

    fn vertex_property_map(&self, _: VertexId) -> Result<Vec<(KeyId, Value)>> {
        not_asked()
    }

    fn edge_properties(&self, edges: &[EdgeId], key: KeyId, column: &mut Column) -> Result<()> {
        for wanted in edges {
            let weight = self.edges().find(|(edge, _)| edge == wanted).map(|(_, weight)| weight);
            column.push(weight.filter(|weight| key == WEIGHT && *weight != f64::INFINITY).map(Value::F64));
        }
        Ok(())
    }

    fn edge_property_map(&self, _: EdgeId) -> Result<Vec<(KeyId, Value)>> {
        not_asked()
    }

    fn look_up(&self, _: LabelId, _: KeyId, _: &[Value], _: &mut Vec<Option<VertexId>>) -> Result<()> {
        not_asked()
    }

    fn statistics(&self) -> Result<Statistics> {
        not_asked()
    }
}

#[test]
fn a_scan_of_edges_gives_each_once_in_order_whatever_the_batches() {
    let links = [(0, 5), (0, 5), (0, 1), (0, 2), (0, 9), (3, 0), (7, 7), (9, 0), (9, 1), (9, 2), (9, 3)];
    let view = Walkable::new(Graph::new(12, &links).without(&[2]));
    let mut wanted: Vec<EdgeId> = view.edges().map(|(edge, _)| edge).collect();
    wanted.sort();
    for limit in [1, 2, 4, 100] {
        let (mut cursor, mut found) = (EdgeCursor::default(), Vec::new());
        while !cursor.done {
            let before = found.len();
            view.scan_edges(Some(&[TypeId(0)]), &mut cursor, limit, &mut found).unwrap();
            assert!(found.len() - before <= limit);
        }
        assert_eq!(found, wanted, "{limit} at once");
    }
    let (mut cursor, mut found) = (EdgeCursor::default(), Vec::new());
    view.scan_edges(Some(&[TypeId(1)]), &mut cursor, 9, &mut found).unwrap();
    assert!(cursor.done && found.is_empty());
}
