//! Shown: everything that a snapshot shows, and which part of it each partition does.

use evergraph_graph::id::{Direction, EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::value::Value;
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor, VertexCursor};
use std::collections::{BTreeMap, BTreeSet};

/// What a snapshot shows.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Shown {
    pub vertices: BTreeMap<VertexId, (LabelId, Vec<(KeyId, Value)>)>,
    /// Out sides.
    pub out: BTreeMap<EdgeId, Vec<(KeyId, Value)>>,
    /// In sides.
    pub into: BTreeSet<EdgeId>,
}

fn edges_of(view: &impl GraphView, vertices: &[VertexId], side: Direction) -> Vec<EdgeId> {
    let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
    while !cursor.done {
        view.neighbors(vertices, None, side, &mut cursor, 100, &mut batch).unwrap();
    }
    batch.edges
}

impl Shown {
    pub fn of(view: &impl GraphView) -> Self {
        let (mut shown, mut cursor) = (Self::default(), VertexCursor::default());
        let (mut vertices, mut labels) = (Vec::new(), Vec::new());
        while !cursor.done {
            view.scan_vertices(None, &mut cursor, 100, &mut vertices).unwrap();
        }
        view.labels(&vertices, &mut labels).unwrap();
        for (vertex, label) in vertices.iter().zip(labels) {
            let properties = view.vertex_property_map(*vertex).unwrap();
            shown.vertices.insert(*vertex, (label.unwrap(), properties));
        }
        for edge in edges_of(view, &vertices, Direction::Out) {
            let before = shown.out.insert(edge, view.edge_property_map(edge).unwrap());
            assert!(before.is_none(), "{edge} is there twice");
        }
        for edge in edges_of(view, &vertices, Direction::In) {
            assert!(shown.into.insert(edge), "{edge} is there twice at its target");
        }
        let counts = view.statistics().unwrap();
        let sum = |counts: Vec<u64>| counts.into_iter().sum::<u64>() as usize;
        assert_eq!(sum(counts.vertices.iter().map(|(_, count)| *count).collect()), shown.vertices.len());
        assert_eq!(sum(counts.edges.iter().map(|(_, count)| *count).collect()), shown.out.len());
        shown
    }

    /// What of this a partition shows.
    pub fn part(&self, own: OwnGroups) -> Self {
        let Self { vertices, out, into } = self.clone();
        Self {
            vertices: vertices.into_iter().filter(|(vertex, _)| own.contains(vertex.group())).collect(),
            out: out.into_iter().filter(|(edge, _)| own.contains(edge.source.group())).collect(),
            into: into.into_iter().filter(|edge| own.contains(edge.target.group())).collect(),
        }
    }

    /// The vertices of `label` with each value of `key`.
    pub fn holders(&self, label: LabelId, key: KeyId) -> BTreeSet<(i64, VertexId)> {
        let of_label = self.vertices.iter().filter(|(_, (of, _))| *of == label);
        of_label.filter_map(|(vertex, (_, all))| Some((value_of(all, key)?, *vertex))).collect()
    }

    /// The edges of a type with each value of `key`.
    pub fn edge_holders(&self, edge_type: TypeId, key: KeyId) -> BTreeSet<(i64, EdgeId)> {
        let of_type = self.out.iter().filter(|(edge, _)| edge.edge_type == edge_type);
        of_type.filter_map(|(edge, all)| Some((value_of(all, key)?, *edge))).collect()
    }
}

/// The value of one property, a number.
pub fn value_of(all: &[(KeyId, Value)], key: KeyId) -> Option<i64> {
    let value = all.iter().find(|(of, _)| *of == key);
    value.map(|(_, value)| match value {
        Value::I64(value) => *value,
        other => panic!("{other:?} was never written"),
    })
}
