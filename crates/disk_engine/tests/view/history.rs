//! History: commits that people could make, and the graph after each of them.

use evergraph_graph::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// In three groups; most edges are of the first vertex.
pub const VERTICES: [u32; 8] = [0, 1, 2, 4095, 4096, 4100, 8191, 9000];
/// Groups that exist; the last one never has a vertex.
pub const GROUPS: [u32; 4] = [0, 1, 2, 4];
pub const KEYS: [KeyId; 4] = [KeyId(0), KeyId(1), KeyId(2), KeyId(3)];
pub const TYPES: [TypeId; 3] = [TypeId(0), TypeId(1), TypeId(2)];

pub type Values = BTreeMap<KeyId, Value>;

/// A graph.
#[derive(Clone, Debug, Default)]
pub struct State {
    pub vertices: BTreeMap<VertexId, Values>,
    pub edges: BTreeMap<EdgeId, Values>,
}

#[derive(Clone, Debug)]
pub struct Commit {
    pub timestamp: Timestamp,
    pub mutations: Vec<Mutation>,
    /// The graph after it.
    pub after: State,
}

/// Commits, oldest first.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub commits: Vec<Commit>,
    before: State,
}

impl History {
    /// The graph at a moment.
    pub fn at(&self, timestamp: Timestamp) -> &State {
        let newest = self.commits.iter().rev().find(|commit| commit.timestamp.visible_at(timestamp));
        newest.map_or(&self.before, |commit| &commit.after)
    }

    fn newest(&self) -> &State {
        self.commits.last().map_or(&self.before, |commit| &commit.after)
    }

    /// Commits what `wishes` come to in the graph as it is, an item once.
    pub fn commit(&mut self, wishes: &[Wish]) {
        let mut after = self.newest().clone();
        let timestamp = Timestamp(
            self.commits.last().map_or(3, |commit| commit.timestamp.0 + 1 + commit.timestamp.0 % 2),
        );
        let (mut vertices, mut edges, mut mutations) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        for wish in wishes {
            match wish {
                Wish::Vertex { vertex, choice, properties } => {
                    if vertices.insert(*vertex) {
                        mutations.push(after.wished_vertex(*vertex, *choice, properties));
                    }
                }
                Wish::Edge { edge, choice, properties } => {
                    if edges.insert(*edge) {
                        mutations.push(after.wished_edge(*edge, *choice, properties));
                    }
                }
                Wish::Edges { source, edge_type, targets, step, deletes } => {
                    for target in (0..*targets).map(|at| VertexId(at * step)) {
                        let edge =
                            EdgeId { source: *source, edge_type: *edge_type, target, discriminator: 0 };
                        if after.edges.contains_key(&edge) == *deletes && edges.insert(edge) {
                            let properties = [(KeyId(0), Some(Value::I64(i64::from(target.0))))];
                            mutations.push(after.wished_edge(edge, Choice::Delete, &properties));
                        }
                    }
                }
            }
        }
        mutations.iter().for_each(|mutation| after.apply(mutation));
        self.commits.push(Commit { timestamp, mutations, after });
    }
}

fn fresh(properties: &[(KeyId, Option<Value>)]) -> Properties {
    Properties::new(properties.to_vec()).without_removals()
}

impl State {
    fn wished_vertex(&self, vertex: VertexId, choice: Choice, wished: &[(KeyId, Option<Value>)]) -> Mutation {
        if !self.vertices.contains_key(&vertex) {
            let label = label_of(vertex.group().0);
            return Mutation::InsertVertex { vertex, label, properties: fresh(wished) };
        }
        match choice {
            Choice::Delete => Mutation::DeleteVertex { vertex },
            Choice::Replace | Choice::Set => {
                Mutation::SetVertexProperties { vertex, properties: Properties::new(wished.to_vec()) }
            }
        }
    }

    fn wished_edge(&self, edge: EdgeId, choice: Choice, wished: &[(KeyId, Option<Value>)]) -> Mutation {
        match choice {
            _ if !self.edges.contains_key(&edge) => Mutation::InsertEdge { edge, properties: fresh(wished) },
            Choice::Delete => Mutation::DeleteEdge { edge },
            Choice::Replace => Mutation::ReplaceEdge { edge, properties: fresh(wished) },
            Choice::Set => Mutation::SetEdgeProperties { edge, properties: Properties::new(wished.to_vec()) },
        }
    }

    fn apply(&mut self, mutation: &Mutation) {
        match mutation {
            Mutation::InsertVertex { vertex, properties, .. } => {
                assert!(self.vertices.insert(*vertex, changed(Values::new(), properties)).is_none());
            }
            Mutation::DeleteVertex { vertex } => assert!(self.vertices.remove(vertex).is_some()),
            Mutation::SetVertexProperties { vertex, properties } => {
                let values = self.vertices.get_mut(vertex).unwrap();
                *values = changed(std::mem::take(values), properties);
            }
            Mutation::InsertEdge { edge, properties } => {
                assert!(self.edges.insert(*edge, changed(Values::new(), properties)).is_none());
            }
            Mutation::ReplaceEdge { edge, properties } => {
                assert!(self.edges.insert(*edge, changed(Values::new(), properties)).is_some());
            }
            Mutation::DeleteEdge { edge } => assert!(self.edges.remove(edge).is_some()),
            Mutation::SetEdgeProperties { edge, properties } => {
                let values = self.edges.get_mut(edge).unwrap();
                *values = changed(std::mem::take(values), properties);
            }
            Mutation::Schema(_) | Mutation::LeaveIndex(_) | Mutation::Note(_) => {
                unreachable!("nobody wishes for it")
            }
        }
    }
}

fn changed(mut values: Values, changes: &Properties) -> Values {
    for (key, value) in changes.as_slice() {
        match value {
            Some(value) => values.insert(*key, value.clone()),
            None => values.remove(key),
        };
    }
    values
}

/// The label of each group.
pub fn label_of(group: u32) -> LabelId {
    LabelId(group as u16 % 2 + 5)
}

/// What is to happen to something that is there.
#[derive(Clone, Copy, Debug)]
pub enum Choice {
    Delete,
    Replace,
    Set,
}

/// A change that somebody wants. What is not there is inserted.
#[derive(Clone, Debug)]
pub enum Wish {
    Vertex {
        vertex: VertexId,
        choice: Choice,
        properties: Vec<(KeyId, Option<Value>)>,
    },
    Edge {
        edge: EdgeId,
        choice: Choice,
        properties: Vec<(KeyId, Option<Value>)>,
    },
    /// Many edges of a hub: those that are not there are inserted, or those that are there are deleted.
    Edges {
        source: VertexId,
        edge_type: TypeId,
        targets: u32,
        step: u32,
        deletes: bool,
    },
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i8>().prop_map(|number| Value::I64(i64::from(number))),
        "[a-c]{0,20}".prop_map(|text| Value::from(text.as_str())),
        Just(Value::F64(0.5)),
    ]
}

fn any_properties() -> impl Strategy<Value = Vec<(KeyId, Option<Value>)>> {
    let value = prop_oneof![3 => any_value().prop_map(Some), 1 => Just(None)];
    proptest::collection::vec(((0..3u16).prop_map(KeyId), value), 0..3)
}

fn any_choice() -> impl Strategy<Value = Choice> {
    prop_oneof![2 => Just(Choice::Delete), 1 => Just(Choice::Replace), 2 => Just(Choice::Set)]
}

fn any_vertex() -> impl Strategy<Value = VertexId> {
    prop_oneof![2 => Just(0), 3 => prop::sample::select(&VERTICES[..])].prop_map(VertexId)
}

fn any_type() -> impl Strategy<Value = TypeId> {
    prop_oneof![4 => Just(TypeId(0)), 1 => Just(TypeId(1))]
}

fn any_edge() -> impl Strategy<Value = EdgeId> {
    let target = prop_oneof![3 => prop::sample::select(&VERTICES[..]), 1 => 0..40u32].prop_map(VertexId);
    let discriminator = prop_oneof![3 => Just(0), 2 => 0..3u16, 1 => Just(u16::MAX)];
    (any_vertex(), any_type(), target, discriminator).prop_map(
        |(source, edge_type, target, discriminator)| EdgeId { source, edge_type, target, discriminator },
    )
}

fn any_wish() -> impl Strategy<Value = Wish> {
    let many = (any_vertex(), any_type(), 1..400u32, 1..30u32, any::<bool>());
    prop_oneof![
        8 => (any_vertex(), any_choice(), any_properties())
            .prop_map(|(vertex, choice, properties)| Wish::Vertex { vertex, choice, properties }),
        16 => (any_edge(), any_choice(), any_properties())
            .prop_map(|(edge, choice, properties)| Wish::Edge { edge, choice, properties }),
        1 => many.prop_map(|(source, edge_type, targets, step, deletes)| {
            Wish::Edges { source, edge_type, targets, step, deletes }
        }),
    ]
}

/// Histories of up to `commits` commits.
pub fn any_history(commits: usize) -> impl Strategy<Value = History> {
    let wishes = prop_oneof![3 => 1..6usize, 1 => 20..60usize]
        .prop_flat_map(|count| proptest::collection::vec(any_wish(), count));
    proptest::collection::vec(wishes, 0..commits).prop_map(|commits| {
        let mut history = History::default();
        commits.iter().for_each(|wishes| history.commit(wishes));
        history
    })
}
