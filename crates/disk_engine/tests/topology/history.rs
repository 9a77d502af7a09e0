//! Histories: commits of vertices and edges with properties, and the state that each leaves.

use evergraph_disk_engine::format::subject::EdgeSide;
use evergraph_disk_engine::groups::GroupTable;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::value::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A key of numbers, mostly, and one of numbers alone.
pub const KEYS: [KeyId; 2] = [KeyId(3), KeyId(5)];
/// Labels of the groups 0 to 4; there is no group 2.
pub const LABELS: [Option<u16>; 5] = [Some(1), Some(2), None, Some(1), Some(4)];
pub const TYPES: [TypeId; 2] = [TypeId(0), TypeId(7)];

pub type Values = BTreeMap<KeyId, Value>;

/// What there is.
#[derive(Clone, Default, Debug)]
pub struct State {
    pub vertices: BTreeSet<u32>,
    pub edges: BTreeMap<EdgeId, Values>,
}

/// A change that somebody wants, if it can be.
#[derive(Clone, Debug)]
pub struct Action {
    /// 0: a vertex goes, if it can; else of an edge, which comes if it is not there: 1 to 3 delete it, 4 replaces its
    /// properties, others change them.
    pub choice: u8,
    pub source: u32,
    pub target: u32,
    pub edge_type: usize,
    pub discriminator: u16,
    /// By key: removed, a number, or a text.
    pub properties: [Option<Option<i32>>; 2],
}

/// Commits, the first at timestamp 1, and the state after each; before the first there is nothing.
#[derive(Clone, Default, Debug)]
pub struct History {
    pub commits: Vec<Vec<Mutation>>,
    pub states: Vec<State>,
}

pub fn label_of(vertex: u32) -> LabelId {
    LabelId(LABELS[VertexId(vertex).group().0 as usize].unwrap())
}

fn value(key: KeyId, number: i32) -> Value {
    match key == KEYS[0] && number % 9 == 8 {
        true => Value::from("text"),
        false => Value::I64(i64::from(number)),
    }
}

fn changes(properties: &[Option<Option<i32>>; 2]) -> Properties {
    let keys = KEYS.into_iter().zip(properties);
    let given = |(key, change): (KeyId, &Option<Option<i32>>)| {
        change.map(|one| (key, one.map(|one| value(key, one))))
    };
    Properties::new(keys.filter_map(given).collect())
}

fn apply(values: &mut Values, changes: &Properties) {
    for (key, change) in changes.as_slice() {
        match change {
            Some(value) => values.insert(*key, value.clone()),
            None => values.remove(key),
        };
    }
}

impl History {
    pub fn new(commits: &[Vec<Action>]) -> Self {
        let mut history = Self { commits: Vec::new(), states: vec![State::default()] };
        for actions in commits {
            let mut state = history.states.last().unwrap().clone();
            let mut mutations = Vec::new();
            let mut touched = BTreeSet::new();
            for action in actions {
                act(action, &mut state, &mut mutations, &mut touched);
            }
            history.commits.push(mutations);
            history.states.push(state);
        }
        history
    }

    /// The groups, and the edge types that they had at any time.
    pub fn groups(&self) -> GroupTable {
        let table = GroupTable::new();
        for (group, label) in (0..).map(GroupId).zip(LABELS) {
            if let Some(label) = label {
                table.open(group, LabelId(label));
            }
        }
        for edge in self.states.iter().flat_map(|state| state.edges.keys()) {
            table.add_edge_type(edge.source.group(), EdgeSide::Out, edge.edge_type);
            table.add_edge_type(edge.target.group(), EdgeSide::In, edge.edge_type);
        }
        table
    }

    /// The catalogue, with every pair of labels that edges ever joined.
    pub fn catalogue(&self) -> Catalogue {
        let mut catalogue = Catalogue::default();
        for id in LABELS.into_iter().flatten().collect::<BTreeSet<_>>() {
            catalogue.apply(&SchemaChange::AddLabel { id: LabelId(id), name: format!("L{id}").into() });
        }
        for id in TYPES {
            let name = format!("T{}", id.0).into();
            catalogue.apply(&SchemaChange::AddEdgeType { id, name, simple: false });
        }
        for id in KEYS {
            catalogue.apply(&SchemaChange::AddKey { id, name: format!("k{}", id.0).into() });
        }
        for edge in self.states.iter().flat_map(|state| state.edges.keys()) {
            let (source, target) = (label_of(edge.source.0), label_of(edge.target.0));
            catalogue.apply(&SchemaChange::Join { edge_type: edge.edge_type, source, target });
        }
        catalogue
    }
}

/// Does what an action wants, unless it cannot be or something of the same commit was there before.
fn act(action: &Action, state: &mut State, mutations: &mut Vec<Mutation>, touched: &mut BTreeSet<EdgeId>) {
    let Action { source, target, choice, .. } = *action;
    if choice == 0 {
        let vertex = VertexId(source);
        let is_alive = state.vertices.contains(&source);
        let has_edges = state.edges.keys().any(|edge| edge.source == vertex || edge.target == vertex);
        // A vertex that comes and goes in one commit is none; edges of this commit need their ends.
        let is_used = mutations.iter().any(|mutation| names(mutation, vertex));
        if is_alive && !has_edges && !is_used {
            state.vertices.remove(&source);
            mutations.push(Mutation::DeleteVertex { vertex });
        }
        return;
    }
    for vertex in [source, target] {
        let is_deleted = mutations.contains(&Mutation::DeleteVertex { vertex: VertexId(vertex) });
        if is_deleted {
            return;
        }
    }
    let edge_type = TYPES[action.edge_type];
    let (source, target) = (VertexId(source), VertexId(target));
    let edge = EdgeId { source, edge_type, target, discriminator: action.discriminator };
    if !touched.insert(edge) {
        return;
    }
    for vertex in [source, target] {
        if state.vertices.insert(vertex.0) {
            let label = label_of(vertex.0);
            mutations.push(Mutation::InsertVertex { vertex, label, properties: Properties::EMPTY });
        }
    }
    let properties = changes(&action.properties);
    let all = properties.without_removals();
    match (state.edges.get_mut(&edge), choice) {
        (None, _) => {
            let mut values = Values::new();
            apply(&mut values, &all);
            state.edges.insert(edge, values);
            mutations.push(Mutation::InsertEdge { edge, properties: all });
        }
        (Some(_), 1..=3) => {
            state.edges.remove(&edge);
            mutations.push(Mutation::DeleteEdge { edge });
        }
        (Some(values), 4) => {
            values.clear();
            apply(values, &all);
            mutations.push(Mutation::ReplaceEdge { edge, properties: all });
        }
        (Some(values), _) => {
            apply(values, &properties);
            mutations.push(Mutation::SetEdgeProperties { edge, properties });
        }
    }
}

fn names(mutation: &Mutation, vertex: VertexId) -> bool {
    match mutation {
        Mutation::InsertVertex { vertex: named, .. } | Mutation::DeleteVertex { vertex: named } => {
            *named == vertex
        }
        Mutation::InsertEdge { edge, .. }
        | Mutation::ReplaceEdge { edge, .. }
        | Mutation::DeleteEdge { edge }
        | Mutation::SetEdgeProperties { edge, .. } => edge.source == vertex || edge.target == vertex,
        _ => false,
    }
}

/// The edges of one side of a state: vertex, other end and values.
pub fn side(state: &State, side: Direction) -> impl Iterator<Item = (u32, u32, &EdgeId, &Values)> {
    state.edges.iter().map(move |(edge, values)| match side {
        Direction::In => (edge.target.0, edge.source.0, edge, values),
        _ => (edge.source.0, edge.target.0, edge, values),
    })
}
