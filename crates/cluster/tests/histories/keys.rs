//! Keys: what reads and writes depend on, said naively for the judge; and the same for the crate's own checks.

use crate::fault::Fault;
use crate::graph::{
    Answer, Cell, ORDERED_INDEX, PARTITIONS, PROPERTY, Question, TYPE, UNIQUE, UNIQUE_INDEX, Writes, edge_id,
    vertex_id,
};
use evergraph_cluster::key_hash::checks::Checks;
use evergraph_graph::id::{Direction, GroupId};
use evergraph_graph::look_up::ValueRange;
use evergraph_graph::value::Value;
use evergraph_storage::engine::Key;
use std::collections::BTreeSet;
use std::ops::Bound;

/// What a commit makes newer: a key of the graph, as the judge lists it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum GraphKey {
    /// Whether a vertex is there.
    Vertex(u32),
    /// The property of a vertex.
    Property(u32),
    /// The unique value of a vertex.
    Unique(u32),
    /// A vertex with its values.
    Record(u32),
    /// The vertices of a partition.
    Members(u32),
    /// The out-edges of a vertex.
    Out(u32),
    /// The in-edges of a vertex.
    In(u32),
    /// All edges of a vertex.
    Adjacency(u32),
    /// An edge.
    Edge(u32, u32, u16),
    /// A unique value.
    Entered(u8),
}

/// A range of properties that was read.
pub type Range = (u8, u8);

/// The keys that a read depends on. What an index lost shows in the values of what was found.
pub fn keys_read(
    question: &Question,
    found: &Answer,
    fault: Fault,
    keys: &mut Vec<GraphKey>,
    ranges: &mut Vec<Range>,
) {
    let vertices = found.iter().filter_map(|(cell, _)| match cell {
        Cell::Vertex(v) => Some(*v),
        _ => None,
    });
    match *question {
        Question::Vertex(v) => keys.extend([GraphKey::Property(v), GraphKey::Unique(v)]),
        Question::Out(v) => keys.push(GraphKey::Out(v)),
        Question::In(v) => keys.push(GraphKey::In(v)),
        Question::Members(_) if fault == Fault::Phantom => keys.extend(vertices.map(GraphKey::Vertex)),
        Question::Members(partition) => keys.push(GraphKey::Members(partition)),
        Question::Unique(unique) => {
            keys.push(GraphKey::Entered(unique));
            keys.extend(vertices.map(GraphKey::Unique));
        }
        Question::Range(low, high) => {
            if fault != Fault::RangeUnchecked {
                ranges.push((low, high));
            }
            keys.extend(vertices.map(GraphKey::Property));
        }
    }
}

/// The keys that a commit makes newer, and the properties that enter the ordered index.
pub fn keys_written(writes: &Writes, members: &[(u32, bool)]) -> (Vec<GraphKey>, Vec<u8>) {
    let (mut keys, mut entered) = (Vec::new(), Vec::new());
    for (cell, value) in writes {
        match *cell {
            Cell::Vertex(v) => {
                keys.extend([GraphKey::Property(v), GraphKey::Unique(v), GraphKey::Record(v)]);
                if let Some((property, unique)) = value {
                    entered.push(*property);
                    keys.push(GraphKey::Entered(*unique));
                }
            }
            Cell::Out(source, target, k) => {
                keys.extend([GraphKey::Edge(source, target, k), GraphKey::Out(source), GraphKey::In(target)]);
                keys.extend([GraphKey::Adjacency(source), GraphKey::Adjacency(target)]);
            }
            Cell::In(..) => {}
        }
    }
    for (v, _) in members {
        keys.extend([GraphKey::Vertex(*v), GraphKey::Members(v % PARTITIONS)]);
    }
    (keys, entered)
}

/// Lists `keys` and `ranges` as a coordinator does.
pub fn list(keys: &BTreeSet<GraphKey>, ranges: &[Range], checks: &mut Checks) {
    for key in keys {
        let key = match *key {
            GraphKey::Vertex(v) => Key::Vertex(vertex_id(v)),
            GraphKey::Property(v) => Key::VertexProperty(vertex_id(v), PROPERTY),
            GraphKey::Unique(v) => Key::VertexProperty(vertex_id(v), UNIQUE),
            GraphKey::Record(v) => Key::VertexRecord(vertex_id(v)),
            GraphKey::Members(partition) => Key::Members(GroupId(partition)),
            GraphKey::Out(v) => Key::List(vertex_id(v), TYPE, Direction::Out),
            GraphKey::In(v) => Key::List(vertex_id(v), TYPE, Direction::In),
            GraphKey::Adjacency(v) => Key::Adjacency(vertex_id(v)),
            GraphKey::Edge(source, target, k) => Key::Edge(edge_id(source, target, k)),
            GraphKey::Entered(unique) => {
                checks.add_value(UNIQUE_INDEX, &Value::I64(i64::from(unique)));
                continue;
            }
        };
        checks.add_key(&key);
    }
    for (low, high) in ranges {
        let bound = |number: u8| Bound::Included(Value::I64(i64::from(number)));
        checks.add_range(ORDERED_INDEX, &ValueRange::new(bound(*low), bound(*high)));
    }
}
