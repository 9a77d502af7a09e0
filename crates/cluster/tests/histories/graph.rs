//! Graph: a dozen vertices, each with a property and a unique value, and edges that may run parallel; as cells of a map, and
//! as mutations.
//!
//! Vertex v is row v / 3 of group v mod 3, so that its partition is v mod 3.

use evergraph_cluster::key_hash::touches::SnapshotFacts;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::{IndexId, IndexKind};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::owner::Owner;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::properties::Properties;
use evergraph_graph::value::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// Partitions.
pub const PARTITIONS: u32 = 3;
/// Vertices to begin with; more are given out, two at a time.
pub const VERTICES: u32 = 4;
/// The label of all vertices.
pub const LABEL: LabelId = LabelId(0);
/// The type of all edges.
pub const TYPE: TypeId = TypeId(0);
/// The property that ranges are read of.
pub const PROPERTY: KeyId = KeyId(0);
/// The property that is unique.
pub const UNIQUE: KeyId = KeyId(1);
/// The index of [`PROPERTY`].
pub const ORDERED_INDEX: IndexId =
    IndexId { owner: Owner::Label(LABEL), key: PROPERTY, kind: IndexKind::Ordered };
/// The index of [`UNIQUE`].
pub const UNIQUE_INDEX: IndexId = IndexId { owner: Owner::Label(LABEL), key: UNIQUE, kind: IndexKind::Hash };

/// A place of the graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cell {
    /// A vertex.
    Vertex(u32),
    /// The out side of an edge: source, target, discriminator.
    Out(u32, u32, u16),
    /// The in side of an edge: target, source, discriminator.
    In(u32, u32, u16),
}

impl Cell {
    /// The partition that it is in.
    pub fn partition(self) -> u32 {
        match self {
            Cell::Vertex(v) | Cell::Out(v, ..) | Cell::In(v, ..) => v % PARTITIONS,
        }
    }
}

/// Property and unique value of a vertex; two zeros of an edge.
pub type CellValue = (u8, u8);
/// What is there.
pub type State = BTreeMap<Cell, CellValue>;
/// What changes: new values, or none.
pub type Writes = Vec<(Cell, Option<CellValue>)>;

/// The graph that every history begins with.
pub fn first_state() -> State {
    let mut state: State = (0..VERTICES).map(|v| (Cell::Vertex(v), (v as u8 % 3, v as u8 + 1))).collect();
    for (source, target) in [(0, 1), (1, 2), (2, 0), (3, 1)] {
        state.insert(Cell::Out(source, target, 0), (0, 0));
        state.insert(Cell::In(target, source, 0), (0, 0));
    }
    state
}

/// Makes the changes.
pub fn put<'a>(state: &mut State, writes: impl IntoIterator<Item = &'a (Cell, Option<CellValue>)>) {
    for (cell, value) in writes {
        match value {
            Some(value) => state.insert(*cell, *value),
            None => state.remove(cell),
        };
    }
}

/// No dangling edge, no half edge, no unique value twice.
pub fn check_whole(state: &State) -> std::result::Result<(), String> {
    let mut unique = BTreeSet::new();
    for (cell, value) in state {
        match *cell {
            Cell::Vertex(v) if !unique.insert(value.1) => {
                return Err(format!("the unique value of vertex {v} is there twice"));
            }
            Cell::Vertex(_) => {}
            Cell::Out(source, target, k) => {
                if !state.contains_key(&Cell::In(target, source, k)) {
                    return Err(format!("half an edge: {cell:?}"));
                }
                if !state.contains_key(&Cell::Vertex(source)) || !state.contains_key(&Cell::Vertex(target)) {
                    return Err(format!("a dangling edge: {cell:?}"));
                }
            }
            Cell::In(target, source, k) if !state.contains_key(&Cell::Out(source, target, k)) => {
                return Err(format!("half an edge: {cell:?}"));
            }
            Cell::In(..) => {}
        }
    }
    Ok(())
}

/// A question to a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// A vertex with its values.
    Vertex(u32),
    /// The out-edges of a vertex.
    Out(u32),
    /// The in-edges of a vertex.
    In(u32),
    /// The vertices of a partition.
    Members(u32),
    /// The vertex with this unique value.
    Unique(u8),
    /// The vertices whose property lies between two values, both included.
    Range(u8, u8),
}

/// What is found, in order.
pub type Answer = Vec<(Cell, CellValue)>;

impl Question {
    /// The partitions that know the answer.
    pub fn partitions(&self) -> Vec<u32> {
        match *self {
            Question::Vertex(v) | Question::Out(v) | Question::In(v) => vec![v % PARTITIONS],
            Question::Members(partition) => vec![partition],
            Question::Unique(_) | Question::Range(..) => (0..PARTITIONS).collect(),
        }
    }

    /// The cells that may be in the answer.
    pub fn cells(&self) -> RangeInclusive<Cell> {
        match *self {
            Question::Vertex(v) => Cell::Vertex(v)..=Cell::Vertex(v),
            Question::Out(v) => Cell::Out(v, 0, 0)..=Cell::Out(v, u32::MAX, u16::MAX),
            Question::In(v) => Cell::In(v, 0, 0)..=Cell::In(v, u32::MAX, u16::MAX),
            Question::Members(_) | Question::Unique(_) | Question::Range(..) => {
                Cell::Vertex(0)..=Cell::Vertex(u32::MAX)
            }
        }
    }

    /// The answer of `state`, or of the cells of it that may be in the answer.
    pub fn answer(&self, state: &State) -> Answer {
        let cells = state.range(self.cells()).map(|(cell, value)| (*cell, *value));
        match *self {
            Question::Vertex(_) | Question::Out(_) | Question::In(_) => cells.collect(),
            Question::Members(partition) => {
                let found = cells.filter(|(cell, _)| cell.partition() == partition);
                found.map(|(cell, _)| (cell, (0, 0))).collect()
            }
            Question::Unique(unique) => {
                let found = cells.filter(|(_, value)| value.1 == unique);
                found.map(|(cell, value)| (cell, (0, value.1))).collect()
            }
            Question::Range(low, high) => {
                let found = cells.filter(|(_, value)| (low..=high).contains(&value.0));
                found.map(|(cell, value)| (cell, (value.0, 0))).collect()
            }
        }
    }
}

/// The id of vertex `v`.
pub fn vertex_id(v: u32) -> VertexId {
    VertexId::new(GroupId(v % PARTITIONS), (v / PARTITIONS) as u16)
}

fn number_of(vertex: VertexId) -> u32 {
    u32::from(vertex.row()) * PARTITIONS + vertex.group().0
}

/// The id of an edge.
pub fn edge_id(source: u32, target: u32, discriminator: u16) -> EdgeId {
    EdgeId { source: vertex_id(source), edge_type: TYPE, target: vertex_id(target), discriminator }
}

/// The graph's partitions.
pub fn partition_count() -> PartitionCount {
    PartitionCount::new(PARTITIONS as u16).expect("three are possible")
}

/// The mutations of `writes`; the vertices in `inserted` were not there.
pub fn mutations_of(writes: &Writes, inserted: &BTreeSet<u32>) -> Vec<Mutation> {
    let (mut ends, mut begins, mut sets, mut deletes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (cell, value) in writes {
        match (*cell, value) {
            (Cell::Out(source, target, k), None) => {
                ends.push(Mutation::DeleteEdge { edge: edge_id(source, target, k) });
            }
            (Cell::Out(source, target, k), Some(_)) => {
                let edge = edge_id(source, target, k);
                begins.push(Mutation::InsertEdge { edge, properties: Properties::EMPTY });
            }
            // One mutation is both sides.
            (Cell::In(..), _) => {}
            (Cell::Vertex(v), None) => deletes.push(Mutation::DeleteVertex { vertex: vertex_id(v) }),
            (Cell::Vertex(v), Some((property, unique))) => {
                let number = |number: u8| Some(Value::I64(i64::from(number)));
                let values = vec![(PROPERTY, number(*property)), (UNIQUE, number(*unique))];
                let (vertex, properties) = (vertex_id(v), Properties::new(values));
                sets.push(match inserted.contains(&v) {
                    true => Mutation::InsertVertex { vertex, label: LABEL, properties },
                    false => Mutation::SetVertexProperties { vertex, properties },
                });
            }
        }
    }
    [ends, sets, begins, deletes].concat()
}

/// What a partition's store installs of `mutations`: the cells that are its own.
pub fn writes_of(mutations: &[Mutation], partition: u32) -> Writes {
    let mut writes = Writes::new();
    for mutation in mutations {
        match mutation {
            Mutation::InsertVertex { vertex, properties, .. }
            | Mutation::SetVertexProperties { vertex, properties } => {
                let number = |key| match properties.get(key) {
                    Some(Some(Value::I64(number))) => *number as u8,
                    other => panic!("{key:?} of {vertex} is {other:?}"),
                };
                let value = (number(PROPERTY), number(UNIQUE));
                writes.push((Cell::Vertex(number_of(*vertex)), Some(value)));
            }
            Mutation::DeleteVertex { vertex } => writes.push((Cell::Vertex(number_of(*vertex)), None)),
            Mutation::InsertEdge { edge, .. } => {
                writes.extend(sides_of(edge).map(|side| (side, Some((0, 0)))))
            }
            Mutation::DeleteEdge { edge } => writes.extend(sides_of(edge).map(|side| (side, None))),
            other => panic!("no history has {other:?}"),
        }
    }
    writes.retain(|(cell, _)| cell.partition() == partition);
    writes
}

fn sides_of(edge: &EdgeId) -> [Cell; 2] {
    let (source, target) = (number_of(edge.source), number_of(edge.target));
    [Cell::Out(source, target, edge.discriminator), Cell::In(target, source, edge.discriminator)]
}

/// What touches need to know of this graph.
pub struct Facts;

impl SnapshotFacts for Facts {
    fn label(&self, _: GroupId) -> Result<LabelId> {
        Ok(LABEL)
    }

    fn indexes(&self, _: Owner, key: KeyId, visit: &mut dyn FnMut(IndexId)) {
        visit(if key == PROPERTY { ORDERED_INDEX } else { UNIQUE_INDEX });
    }

    fn has_edge_type(&self, _: GroupId, _: TypeId, _: Direction) -> Result<bool> {
        Ok(true)
    }
}
