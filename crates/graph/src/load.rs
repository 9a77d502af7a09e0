//! Load: a graph in tables of blocks, the form in which importers and generators pass it to a bulk loader.
//!
//! ```text
//! vertices[0]  label Person    properties id, name      edges[0]  type KNOWS   source 0  target 0
//!              block 0   row  id   name                           properties since
//!                         0   17   Ada                  block 0   sources  targets  since
//!                         1    4   Charles                        0        2        1833
//!              block 1    2    9   -                    block 1   1        MAX      -
//! ```
//!
//! A block has some rows and their packed columns, in the order of the table's properties: a number
//! takes 8 bytes and a string its text and 5 bytes. Blocks are read in order, some times over, and so
//! may lie in memory or in a file ([`Blocks`]).
//!
//! An edge names its ends by numbers: below the label's rows it is one of them, `u32::MAX - i` is
//! vertex `existing[i]` of its label, which is in the database already ([`VertexTable::end`]).
//! Parallel edges are rows of their own.
//!
//! Invariants: blocks have as many rows together as their table says; every column has an entry a row
//! and is of its property's type; every end is one of its label; no two rows of a table share a value
//! of its unique key, and every row has one.

use crate::error::Result;
use crate::id::VertexId;
use crate::packed_column::builder::PackedColumnBuilder;
use crate::packed_column::column::PackedColumn;
use crate::properties::Properties;
use crate::value::ValueType;
use std::fmt;

/// Rows that a block should have at most: whoever reads blocks holds one in memory at a time.
pub const BLOCK_ROWS: usize = 1 << 16;

/// A graph in tables of blocks, ready for the store's bulk loader.
#[derive(Debug, Default)]
pub struct Load {
    /// The vertices, a table a label.
    pub vertices: Vec<VertexTable>,
    /// The edges, a table for each edge type and pair of labels that it joins.
    pub edges: Vec<EdgeTable>,
}

/// How far the files are read that become a load.
#[derive(Clone, Debug)]
pub struct ReadProgress<'a> {
    /// The file that is being read.
    pub file: &'a str,
    /// Bytes read of all files, packed ones where a file is packed.
    pub bytes_read: u64,
    /// Bytes of all files; `None` if one of them doesn't tell its size, as standard input.
    pub bytes_total: Option<u64>,
    /// Rows taken from all files.
    pub rows: u64,
}

/// The vertices of one label.
#[derive(Debug)]
pub struct VertexTable {
    /// The label. No other table has it.
    pub label: String,
    /// How many new vertices.
    pub rows: u64,
    /// Vertices of the label that are in the database and that edges of the load begin or end at.
    pub existing: Vec<VertexId>,
    /// The property that tells vertices of the label apart: a unique index belongs on it. `None`
    /// where a file had ids and no name for them.
    pub unique_key: Option<String>,
    /// Key and type of each property.
    pub properties: Vec<(String, ValueType)>,
    /// The new vertices.
    pub blocks: Box<dyn Blocks<VertexBlock>>,
}

/// Some new vertices of one label.
#[derive(Clone, PartialEq, Debug)]
pub struct VertexBlock {
    /// How many.
    pub rows: usize,
    /// A column for each property of the table, in its order. `None`, or nothing at the end, for a
    /// property that no row has.
    pub columns: Vec<Option<PackedColumn>>,
}

/// The edges of one type between two labels.
#[derive(Debug)]
pub struct EdgeTable {
    /// The edge type.
    pub edge_type: String,
    /// Index in [`Load::vertices`] of the label where the edges begin.
    pub source_label: usize,
    /// Index in [`Load::vertices`] of the label where the edges end.
    pub target_label: usize,
    /// How many edges.
    pub rows: u64,
    /// Key and type of each property.
    pub properties: Vec<(String, ValueType)>,
    /// The edges.
    pub blocks: Box<dyn Blocks<EdgeBlock>>,
}

/// Some edges of one type between two labels.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EdgeBlock {
    /// Where each begins: see [`VertexTable::end`].
    pub sources: Vec<u32>,
    /// Where each ends.
    pub targets: Vec<u32>,
    /// As in a [`VertexBlock`].
    pub columns: Vec<Option<PackedColumn>>,
}

/// The blocks of one table, wherever they lie. A list of blocks is the simplest one.
pub trait Blocks<B>: fmt::Debug + Send + Sync {
    /// Hands out every block, in the same order each time.
    ///
    /// # Errors
    /// The first of `visit`; errors of reading, if they are not in memory.
    fn for_each(&self, visit: &mut dyn FnMut(&B) -> Result<()>) -> Result<()>;
}

impl<B: fmt::Debug + Send + Sync> Blocks<B> for Vec<B> {
    fn for_each(&self, visit: &mut dyn FnMut(&B) -> Result<()>) -> Result<()> {
        self.iter().try_for_each(visit)
    }
}

/// Which vertex an edge of a load begins or ends at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeEnd {
    /// The new one in this row of its label's table.
    New(u32),
    /// One that is in the database already.
    Existing(VertexId),
}

/// What a load changes of a vertex that the database has already.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VertexChange {
    /// The vertex.
    pub vertex: VertexId,
    /// The properties that get another value, or none.
    pub properties: Properties,
}

impl Load {
    /// How many new vertices all tables have together.
    #[must_use]
    pub fn vertices_count(&self) -> u64 {
        self.vertices.iter().map(|table| table.rows).sum()
    }

    /// How many edges all tables have together.
    #[must_use]
    pub fn edges_count(&self) -> u64 {
        self.edges.iter().map(|table| table.rows).sum()
    }

    /// The table of `label`, if there is one.
    #[must_use]
    #[inline]
    pub fn vertex_table(&self, label: &str) -> Option<&VertexTable> {
        self.vertices.iter().find(|table| table.label == label)
    }
}

impl VertexTable {
    /// A table of `label` with `blocks` in memory and without a unique key.
    #[must_use]
    pub fn new(
        label: impl Into<String>,
        properties: Vec<(String, ValueType)>,
        blocks: Vec<VertexBlock>,
    ) -> Self {
        Self {
            label: label.into(),
            rows: blocks.iter().map(|block| block.rows as u64).sum(),
            existing: Vec::new(),
            unique_key: None,
            properties,
            blocks: Box::new(blocks),
        }
    }

    /// The same, with `key` for a unique key.
    #[must_use]
    pub fn unique_key(self, key: impl Into<String>) -> Self {
        Self { unique_key: Some(key.into()), ..self }
    }

    /// The vertex that the number `end` stands for in an edge; `None` if it stands for none.
    #[must_use]
    #[inline]
    pub fn end(&self, end: u32) -> Option<EdgeEnd> {
        if u64::from(end) < self.rows {
            return Some(EdgeEnd::New(end));
        }
        let at = usize::try_from(u32::MAX - end).ok()?;
        self.existing.get(at).map(|vertex| EdgeEnd::Existing(*vertex))
    }

    /// All values of `key` in one column; `None` if there are none.
    ///
    /// Cost: a pass over the table, and memory for the column.
    ///
    /// # Errors
    /// As [`Blocks::for_each`].
    pub fn column(&self, key: &str) -> Result<Option<PackedColumn>> {
        let Some(at) = position(&self.properties, key) else { return Ok(None) };
        let mut column = PackedColumnBuilder::default();
        self.blocks.for_each(&mut |block| {
            column.copy(block.column(at), 0..block.rows);
            Ok(())
        })?;
        Ok(column.finish())
    }
}

impl VertexBlock {
    /// `rows` vertices without properties.
    #[must_use]
    #[inline]
    pub fn bare(rows: usize) -> Self {
        Self { rows, columns: Vec::new() }
    }

    /// The column of property `at` of the table, if a row has a value.
    #[must_use]
    #[inline]
    pub fn column(&self, at: usize) -> Option<&PackedColumn> {
        self.columns.get(at)?.as_ref()
    }
}

impl EdgeTable {
    /// A table of `edge_type` with `blocks` in memory.
    #[must_use]
    pub fn new(
        edge_type: impl Into<String>,
        source_label: usize,
        target_label: usize,
        properties: Vec<(String, ValueType)>,
        blocks: Vec<EdgeBlock>,
    ) -> Self {
        Self {
            edge_type: edge_type.into(),
            source_label,
            target_label,
            rows: blocks.iter().map(|block| block.rows() as u64).sum(),
            properties,
            blocks: Box::new(blocks),
        }
    }

    /// Source and target of every edge.
    ///
    /// Cost: a pass over the table, and 8 bytes an edge.
    ///
    /// # Errors
    /// As [`Blocks::for_each`].
    pub fn ends(&self) -> Result<Vec<(u32, u32)>> {
        let mut ends = Vec::new();
        self.blocks.for_each(&mut |block| {
            ends.extend(block.sources.iter().copied().zip(block.targets.iter().copied()));
            Ok(())
        })?;
        Ok(ends)
    }

    /// As [`VertexTable::column`].
    ///
    /// # Errors
    /// As [`Blocks::for_each`].
    pub fn column(&self, key: &str) -> Result<Option<PackedColumn>> {
        let Some(at) = position(&self.properties, key) else { return Ok(None) };
        let mut column = PackedColumnBuilder::default();
        self.blocks.for_each(&mut |block| {
            column.copy(block.column(at), 0..block.rows());
            Ok(())
        })?;
        Ok(column.finish())
    }
}

impl EdgeBlock {
    /// Edges without properties, from their sources and targets.
    #[must_use]
    pub fn bare(ends: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let (sources, targets) = ends.into_iter().unzip();
        Self { sources, targets, columns: Vec::new() }
    }

    /// How many edges.
    #[must_use]
    #[inline]
    pub fn rows(&self) -> usize {
        self.sources.len()
    }

    /// As [`VertexBlock::column`].
    #[must_use]
    #[inline]
    pub fn column(&self, at: usize) -> Option<&PackedColumn> {
        self.columns.get(at)?.as_ref()
    }
}

fn position(properties: &[(String, ValueType)], key: &str) -> Option<usize> {
    properties.iter().position(|(name, _)| name == key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    #[test]
    fn an_end_is_a_new_row_from_below_or_an_existing_vertex_from_above() {
        let mut table = VertexTable::new("V", Vec::new(), vec![VertexBlock::bare(2), VertexBlock::bare(1)]);
        table.existing = vec![VertexId(40), VertexId(41)];
        assert_eq!(table.end(2), Some(EdgeEnd::New(2)));
        assert_eq!(table.end(3), None);
        assert_eq!(table.end(u32::MAX - 2), None);
        assert_eq!(table.end(u32::MAX - 1), Some(EdgeEnd::Existing(VertexId(41))));
        assert_eq!(table.end(u32::MAX), Some(EdgeEnd::Existing(VertexId(40))));
    }

    #[test]
    fn a_column_has_gaps_where_a_block_lacks_it() {
        let packed = |number| PackedColumn::from_values([Some(&Value::I64(number))]);
        let block = |columns| EdgeBlock { columns, ..EdgeBlock::bare([(0, 1)]) };
        let blocks = vec![block(vec![packed(7)]), block(Vec::new()), block(vec![None, packed(8)])];
        let properties = ["a", "b"].map(|key| (key.to_owned(), ValueType::I64)).to_vec();
        let table = EdgeTable::new("E", 0, 0, properties, blocks);
        assert_eq!((table.rows, table.ends().unwrap()), (3, vec![(0, 1); 3]));
        let values = |key| {
            let column = table.column(key).unwrap()?;
            Some([0, 1, 2].map(|row| column.get(row).map(|value| value.as_i64().unwrap())))
        };
        assert_eq!(values("a"), Some([Some(7), None, None]));
        assert_eq!(values("b"), Some([None, None, Some(8)]));
        assert_eq!(values("c"), None);
    }
}
