//! Element: a vertex or an edge as written in a file, before a database assigns it a number.
//!
//! ```text
//! Vertex  id 1   labels [person]   properties  name      [ marko ]
//!                                              location  [ san diego {startTime: 1997}, brussels ]
//! Edge    id 9   type created      source 1    target 3  properties  weight 0.4
//! ```
//!
//! Ids are values of whatever type the file has; an edge names its ends by the ids of its vertices.
//! Whether those vertices exist, and whether an id stands twice, is not known here: a stream is read
//! once and nothing of it is kept.
//!
//! A vertex may have several labels and, under one key, several properties with properties of their
//! own, because GraphSON says so. Who loads it into a graph without them decides what to do.

use std::fmt;

use evergraph_graph::value::Value;

/// A vertex of a file.
#[derive(Clone, PartialEq, Debug)]
pub struct Vertex {
    /// What the file calls it.
    pub id: Value,
    /// Its labels in the file's order; empty if the file gives none.
    pub labels: Vec<String>,
    /// Its properties in the file's order; no key stands twice, and no list is empty.
    pub properties: Vec<(String, Vec<VertexProperty>)>,
}

/// One of the values that a vertex has under one key.
#[derive(Clone, PartialEq, Debug)]
pub struct VertexProperty {
    /// What the file calls it, where properties have names of their own.
    pub id: Option<Value>,
    /// The value.
    pub value: Value,
    /// Meta-properties: what is known of this value. No key stands twice.
    pub properties: Vec<(String, Value)>,
}

/// An edge of a file.
#[derive(Clone, PartialEq, Debug)]
pub struct Edge {
    /// What the file calls it, if it does.
    pub id: Option<Value>,
    /// Its edge type, which TinkerPop calls its label.
    pub edge_type: String,
    /// The id of the vertex where it begins.
    pub source: Value,
    /// The id of the vertex where it ends.
    pub target: Value,
    /// Its properties in the file's order; no key stands twice.
    pub properties: Vec<(String, Value)>,
}

/// What a stream of elements carries.
#[derive(Clone, PartialEq, Debug)]
pub enum Element {
    /// A vertex.
    Vertex(Vertex),
    /// An edge.
    Edge(Edge),
}

impl From<Value> for VertexProperty {
    /// A property without an id and without meta-properties.
    fn from(value: Value) -> Self {
        Self { id: None, value, properties: Vec::new() }
    }
}

/// A place in a file, for people: both parts count from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Position {
    /// The line.
    pub line: u64,
    /// The byte in the line, of its UTF-8 form.
    pub column: u64,
}

impl Position {
    /// Where a file begins.
    pub const START: Self = Self { line: 1, column: 1 };

    /// The place behind `bytes`, if they begin here. Cost: one pass over them.
    #[must_use]
    pub fn after(self, bytes: &[u8]) -> Self {
        let lines = memchr::memchr_iter(b'\n', bytes).count() as u64;
        match memchr::memrchr(b'\n', bytes) {
            Some(last) => Self { line: self.line + lines, column: (bytes.len() - last) as u64 },
            None => Self { line: self.line, column: self.column + bytes.len() as u64 },
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}, column {}", self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_moves_by_lines_and_bytes() {
        let at = |line, column| Position { line, column };
        assert_eq!(Position::START.after(b""), at(1, 1));
        assert_eq!(Position::START.after(b"ab"), at(1, 3));
        assert_eq!(Position::START.after(b"ab\n"), at(2, 1));
        assert_eq!(at(3, 7).after(b"a\r\n\nxy"), at(5, 3));
        assert_eq!(at(3, 7).to_string(), "line 3, column 7");
    }
}
