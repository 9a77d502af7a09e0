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

/// A part of the graph that a commit makes newer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
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

/// The parts that a read depends on. What an index lost shows in the values of what was found.
pub fn parts_read(
    question: &Question,
    found: &Answer,
    fault: Fault,
    parts: &mut Vec<Part>,
    ranges: &mut Vec<Range>,
) {
    let vertices = found.iter().filter_map(|(cell, _)| match cell {
        Cell::Vertex(v) => Some(*v),
        _ => None,
    });
    match *question {
        Question::Vertex(v) => parts.extend([Part::Property(v), Part::Unique(v)]),
        Question::Out(v) => parts.push(Part::Out(v)),
        Question::In(v) => parts.push(Part::In(v)),
        Question::Members(_) if fault == Fault::Phantom => parts.extend(vertices.map(Part::Vertex)),
        Question::Members(partition) => parts.push(Part::Members(partition)),
        Question::Unique(unique) => {
            parts.push(Part::Entered(unique));
            parts.extend(vertices.map(Part::Unique));
        }
        Question::Range(low, high) => {
            if fault != Fault::RangeUnchecked {
                ranges.push((low, high));
            }
            parts.extend(vertices.map(Part::Property));
        }
    }
}

/// The parts that a commit makes newer, and the properties that enter the ordered index.
pub fn parts_written(writes: &Writes, members: &[(u32, bool)]) -> (Vec<Part>, Vec<u8>) {
    let (mut parts, mut entered) = (Vec::new(), Vec::new());
    for (cell, value) in writes {
        match *cell {
            Cell::Vertex(v) => {
                parts.extend([Part::Property(v), Part::Unique(v), Part::Record(v)]);
                if let Some((property, unique)) = value {
                    entered.push(*property);
                    parts.push(Part::Entered(*unique));
                }
            }
            Cell::Out(source, target, k) => {
                parts.extend([Part::Edge(source, target, k), Part::Out(source), Part::In(target)]);
                parts.extend([Part::Adjacency(source), Part::Adjacency(target)]);
            }
            Cell::In(..) => {}
        }
    }
    for (v, _) in members {
        parts.extend([Part::Vertex(*v), Part::Members(v % PARTITIONS)]);
    }
    (parts, entered)
}

/// Lists `parts` and `ranges` as a coordinator does.
pub fn list(parts: &BTreeSet<Part>, ranges: &[Range], checks: &mut Checks) {
    for part in parts {
        let key = match *part {
            Part::Vertex(v) => Key::Vertex(vertex_id(v)),
            Part::Property(v) => Key::VertexProperty(vertex_id(v), PROPERTY),
            Part::Unique(v) => Key::VertexProperty(vertex_id(v), UNIQUE),
            Part::Record(v) => Key::VertexRecord(vertex_id(v)),
            Part::Members(partition) => Key::Members(GroupId(partition)),
            Part::Out(v) => Key::List(vertex_id(v), TYPE, Direction::Out),
            Part::In(v) => Key::List(vertex_id(v), TYPE, Direction::In),
            Part::Adjacency(v) => Key::Adjacency(vertex_id(v)),
            Part::Edge(source, target, k) => Key::Edge(edge_id(source, target, k)),
            Part::Entered(unique) => {
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
