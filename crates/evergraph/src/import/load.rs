//! Load: a graph in columns, as importers and generators hand it to the store's bulk loader.
//!
//! ```text
//! vertices[0]  label Person    row  id   name          edges[0]  type KNOWS   source 0  target 0
//!                              0    17   Ada                     sources  targets  since
//!                              1    4    Charles                 0        1        1833
//! ```
//!
//! An edge names its ends by their rows in the vertex tables. Parallel edges are rows of their own.
//!
//! Invariants: every column has as many rows as its table; every end is a row of its table; no two
//! rows of a table share a value of its unique key, and every row has one.

use evergraph_graph::column::Column;

/// A graph in columns, ready for the store's bulk loader.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Load {
    /// The vertices, a table a label.
    pub vertices: Vec<VertexTable>,
    /// The edges, a table for each edge type and pair of labels that it joins.
    pub edges: Vec<EdgeTable>,
}

/// The vertices of one label.
#[derive(Clone, PartialEq, Debug)]
pub struct VertexTable {
    /// The label. No other table has it.
    pub label: String,
    /// How many vertices.
    pub rows: u64,
    /// The property that tells vertices of the label apart: a unique index belongs on it. `None`
    /// where a file had ids and no name for them.
    pub unique_key: Option<String>,
    /// The properties by key, each with `rows` entries.
    pub columns: Vec<(String, Column)>,
}

/// The edges of one type between two labels.
#[derive(Clone, PartialEq, Debug)]
pub struct EdgeTable {
    /// The edge type.
    pub edge_type: String,
    /// Index in [`Load::vertices`] of the label where the edges begin.
    pub source_label: usize,
    /// Index in [`Load::vertices`] of the label where the edges end.
    pub target_label: usize,
    /// Row in the source label's table, an entry an edge.
    pub sources: Vec<u32>,
    /// Row in the target label's table, an entry an edge.
    pub targets: Vec<u32>,
    /// The properties by key, each with an entry an edge.
    pub columns: Vec<(String, Column)>,
}

impl Load {
    /// How many vertices all tables have together.
    #[must_use]
    pub fn vertices_count(&self) -> u64 {
        self.vertices.iter().map(|table| table.rows).sum()
    }

    /// How many edges all tables have together.
    #[must_use]
    pub fn edges_count(&self) -> u64 {
        self.edges.iter().map(|table| table.sources.len() as u64).sum()
    }

    /// The table of `label`, if there is one.
    #[must_use]
    pub fn vertex_table(&self, label: &str) -> Option<&VertexTable> {
        self.vertices.iter().find(|table| table.label == label)
    }
}

impl VertexTable {
    /// The column of `key`, if there is one.
    #[must_use]
    pub fn column(&self, key: &str) -> Option<&Column> {
        find_column(&self.columns, key)
    }
}

impl EdgeTable {
    /// The column of `key`, if there is one.
    #[must_use]
    pub fn column(&self, key: &str) -> Option<&Column> {
        find_column(&self.columns, key)
    }
}

fn find_column<'a>(columns: &'a [(String, Column)], key: &str) -> Option<&'a Column> {
    columns.iter().find(|(name, _)| name == key).map(|(_, column)| column)
}
