//! The graph of one commit, in maps, and random changes of it.

use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::value::Value;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The groups that vertices are in.
pub const GROUPS: [u32; 2] = [0, 3];
const ROWS: [u16; 6] = [0, 1, 2, 63, 64, 4095];
/// How many vertices there can be.
pub const VERTICES: u8 = (GROUPS.len() * ROWS.len()) as u8;
pub const TYPES: [TypeId; 2] = [TypeId(0), TypeId(7)];
/// A number, a text, a number with a fraction.
pub const KEYS: [KeyId; 3] = [KeyId(0), KeyId(1), KeyId(5)];

pub type Values = BTreeMap<KeyId, Value>;

/// The vertex with this number: those of one group come one after the other.
pub fn vertex(number: u8) -> VertexId {
    let (group, row) = (usize::from(number) / ROWS.len() % GROUPS.len(), usize::from(number) % ROWS.len());
    VertexId::new(GroupId(GROUPS[group]), ROWS[row])
}

pub fn label(group: GroupId) -> LabelId {
    LabelId(group.0 as u16 + 1)
}

/// What a commit wants to do; skipped where it isn't possible.
#[derive(Clone, Debug)]
pub enum Change {
    Vertex(u8, Vec<(u8, u8)>),
    DeleteVertex(u8),
    SetVertex(u8, Vec<(u8, Option<u8>)>),
    Edge(u8, u8, u8, u16, Vec<(u8, u8)>),
    ReplaceEdge(usize, Vec<(u8, u8)>),
    DeleteEdge(usize),
    SetEdge(usize, Vec<(u8, Option<u8>)>),
    /// A mutation, if it is possible.
    Exactly(Mutation),
}

impl Change {
    pub fn any() -> impl Strategy<Value = Self> {
        let fresh = || proptest::collection::vec((0u8..3, any::<u8>()), 0..3);
        let changes = || proptest::collection::vec((0u8..3, proptest::option::of(any::<u8>())), 1..3);
        let ends = (0..VERTICES, 0..VERTICES);
        let discriminator = prop_oneof![4 => Just(0u16), 1 => 0u16..4];
        prop_oneof![
            3 => (0..VERTICES, fresh()).prop_map(|(at, values)| Self::Vertex(at, values)),
            1 => (0..VERTICES).prop_map(Self::DeleteVertex),
            2 => (0..VERTICES, changes()).prop_map(|(at, values)| Self::SetVertex(at, values)),
            8 => (ends, 0u8..2, discriminator, fresh())
                .prop_map(|((from, to), of, own, values)| Self::Edge(from, to, of, own, values)),
            1 => (any::<usize>(), fresh()).prop_map(|(at, values)| Self::ReplaceEdge(at, values)),
            3 => any::<usize>().prop_map(Self::DeleteEdge),
            2 => (any::<usize>(), changes()).prop_map(|(at, values)| Self::SetEdge(at, values)),
        ]
    }

    pub fn vertex(number: u8) -> Self {
        Self::Vertex(number, vec![(0, number), (1, number)])
    }

    pub fn edge(from: u8, to: u8) -> Self {
        Self::Edge(from, to, 0, 0, vec![(2, from)])
    }

    pub fn set_vertex(number: u8, key: u8, value: u8) -> Self {
        Self::SetVertex(number, vec![(key, Some(value))])
    }

    pub fn delete_edge(from: u8, to: u8, discriminator: u16) -> Self {
        Self::Exactly(Mutation::DeleteEdge { edge: edge(from, to, discriminator) })
    }

    pub fn set_edge(from: u8, to: u8, discriminator: u16, value: u8) -> Self {
        let properties = Properties::new(vec![(KEYS[0], Some(value_of(KEYS[0], value)))]);
        Self::Exactly(Mutation::SetEdgeProperties { edge: edge(from, to, discriminator), properties })
    }
}

/// An edge of the first type.
pub fn edge(from: u8, to: u8, discriminator: u16) -> EdgeId {
    EdgeId { source: vertex(from), edge_type: TYPES[0], target: vertex(to), discriminator }
}

pub fn value_of(key: KeyId, number: u8) -> Value {
    match key.0 {
        0 => Value::I64(i64::from(number) - 100),
        1 => Value::String("ab".repeat(usize::from(number) % 20).into()),
        _ => Value::F64(f64::from(number) / 4.0),
    }
}

fn properties(values: &[(u8, Option<u8>)]) -> Properties {
    let change = |(key, value): &(u8, Option<u8>)| {
        let key = KEYS[usize::from(*key)];
        (key, value.map(|value| value_of(key, value)))
    };
    Properties::new(values.iter().map(change).collect())
}

fn fresh(values: &[(u8, u8)]) -> Properties {
    let some: Vec<_> = values.iter().map(|(key, value)| (*key, Some(*value))).collect();
    properties(&some)
}

/// A graph.
#[derive(Clone, Debug, Default)]
pub struct NaiveGraph {
    pub vertices: BTreeMap<VertexId, Values>,
    pub edges: BTreeMap<EdgeId, Values>,
}

fn set(values: &mut Values, changes: &Properties) {
    for (key, value) in changes.as_slice() {
        match value {
            Some(value) => values.insert(*key, value.clone()),
            None => values.remove(key),
        };
    }
}

impl NaiveGraph {
    /// What of `changes` is possible, one after the other, at most one mutation an item, as a resolved commit.
    pub fn resolve(&self, changes: &[Change]) -> Vec<Mutation> {
        let (mut after, mut mutations) = (self.clone(), Vec::new());
        let (mut vertices, mut edges) = (BTreeSet::new(), BTreeSet::new());
        for change in changes {
            let Some(mutation) = after.mutation(change) else { continue };
            let is_first = match &mutation {
                Mutation::InsertVertex { vertex, .. }
                | Mutation::DeleteVertex { vertex }
                | Mutation::SetVertexProperties { vertex, .. } => vertices.insert(*vertex),
                Mutation::InsertEdge { edge, .. }
                | Mutation::ReplaceEdge { edge, .. }
                | Mutation::DeleteEdge { edge }
                | Mutation::SetEdgeProperties { edge, .. } => edges.insert(*edge),
                _ => false,
            };
            if is_first && after.apply(&mutation) {
                mutations.push(mutation);
            }
        }
        mutations
    }

    fn mutation(&self, change: &Change) -> Option<Mutation> {
        let some_edge = |at: usize| self.edges.keys().nth(at % self.edges.len().max(1)).copied();
        Some(match change {
            Change::Vertex(at, values) => Mutation::InsertVertex {
                vertex: vertex(*at),
                label: label(vertex(*at).group()),
                properties: fresh(values),
            },
            Change::DeleteVertex(at) => Mutation::DeleteVertex { vertex: vertex(*at) },
            Change::SetVertex(at, values) => {
                Mutation::SetVertexProperties { vertex: vertex(*at), properties: properties(values) }
            }
            Change::Edge(from, to, of, discriminator, values) => {
                let edge_type = TYPES[usize::from(*of)];
                let (source, target) = (vertex(*from), vertex(*to));
                let edge = EdgeId { source, edge_type, target, discriminator: *discriminator };
                Mutation::InsertEdge { edge, properties: fresh(values) }
            }
            Change::ReplaceEdge(at, values) => {
                Mutation::ReplaceEdge { edge: some_edge(*at)?, properties: fresh(values) }
            }
            Change::DeleteEdge(at) => Mutation::DeleteEdge { edge: some_edge(*at)? },
            Change::SetEdge(at, values) => {
                Mutation::SetEdgeProperties { edge: some_edge(*at)?, properties: properties(values) }
            }
            Change::Exactly(mutation) => mutation.clone(),
        })
    }

    /// Does it, if it is possible; whether it was.
    pub fn apply(&mut self, mutation: &Mutation) -> bool {
        let touches = |edge: &EdgeId, vertex: &VertexId| edge.source == *vertex || edge.target == *vertex;
        match mutation {
            Mutation::InsertVertex { vertex, properties, .. } if !self.vertices.contains_key(vertex) => {
                set(self.vertices.entry(*vertex).or_default(), properties);
                true
            }
            Mutation::DeleteVertex { vertex } if !self.edges.keys().any(|edge| touches(edge, vertex)) => {
                self.vertices.remove(vertex).is_some()
            }
            Mutation::SetVertexProperties { vertex, properties } => match self.vertices.get_mut(vertex) {
                Some(values) => {
                    set(values, properties);
                    true
                }
                None => false,
            },
            Mutation::InsertEdge { edge, properties }
                if self.vertices.contains_key(&edge.source)
                    && self.vertices.contains_key(&edge.target)
                    && !self.edges.contains_key(edge) =>
            {
                set(self.edges.entry(*edge).or_default(), properties);
                true
            }
            Mutation::ReplaceEdge { edge, properties } => match self.edges.get_mut(edge) {
                Some(values) => {
                    values.clear();
                    set(values, properties);
                    true
                }
                None => false,
            },
            Mutation::DeleteEdge { edge } => self.edges.remove(edge).is_some(),
            Mutation::SetEdgeProperties { edge, properties } => match self.edges.get_mut(edge) {
                Some(values) => {
                    set(values, properties);
                    true
                }
                None => false,
            },
            _ => false,
        }
    }

    /// (neighbour, discriminator) of a vertex' edges, ascending.
    pub fn list(&self, vertex: VertexId, edge_type: TypeId, side: Direction) -> Vec<(VertexId, u16)> {
        let of_side = |edge: &EdgeId| match side {
            Direction::In => (edge.target, edge.source),
            _ => (edge.source, edge.target),
        };
        let edges = self.edges.keys().filter(|edge| edge.edge_type == edge_type);
        let own = edges.filter(|edge| of_side(edge).0 == vertex);
        let mut list: Vec<_> = own.map(|edge| (of_side(edge).1, edge.discriminator)).collect();
        list.sort_unstable();
        list
    }
}
