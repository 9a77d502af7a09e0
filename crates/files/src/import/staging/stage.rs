//! Stage: the tables of a load while its files are read, block by block.
//!
//! ```text
//! a.csv  id name        properties  id  name  born
//! b.csv  id born   ──>  block 0      1  Ada
//!                       block 1      2  -     1791
//! ```
//!
//! Properties come with the files that have them: earlier blocks have no values of theirs. A column of
//! numbers of unstated type becomes one of doubles, in all blocks, with the first block that has
//! fractions. A property whose type is learned becomes one of any values with the first block of
//! another type: its blocks stay as they are.
//!
//! All blocks go through `Stage`'s `add`, `rewrite` and `finish` and nowhere else: those
//! that memory doesn't hold are put into a file (`spill`).

use crate::import::existing_graph::{ExistingGraph, ExistingVertices};
use crate::import::field::cell::{CellColumn, to_floats};
use crate::import::id_type::IdType;
use crate::import::staging::spill::{Slot, StagedBlocks, Staging, TableBlock};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::load::{Blocks, EdgeBlock, EdgeTable, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::value::{Value, ValueType};
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How the types of properties come about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Typing {
    /// They are declared; only numbers of unstated type may have two types.
    Declared,
    /// The values show them.
    Learned,
}

/// A vertex table in the making.
#[derive(Debug)]
pub struct StagedVertices {
    /// The label.
    pub label: String,
    /// The property that tells vertices apart.
    pub unique_key: Option<String>,
    /// The type of that property; `None`: it is learned.
    pub id_type: Option<IdType>,
    /// Vertices of the database that edges begin or end at.
    pub existing: Vec<VertexId>,
    /// The vertices so far.
    pub stage: Stage<VertexBlock>,
}

impl StagedVertices {
    /// A table of `label` without vertices.
    #[must_use]
    pub fn new(label: &str, unique_key: Option<&str>, staging: &Arc<Staging>) -> Self {
        let unique_key = unique_key.map(ToOwned::to_owned);
        Self {
            label: label.to_owned(),
            unique_key,
            id_type: None,
            existing: Vec::new(),
            stage: Stage::new(Arc::clone(staging)),
        }
    }

    /// Adds `rows` vertices. Properties that are not among `columns` have no values there.
    ///
    /// # Errors
    /// `invalid` if whole numbers meet fractions in a column of unstated type and don't survive as doubles;
    /// as [`Stage::add`].
    pub fn push(&mut self, rows: usize, columns: Vec<(String, CellColumn)>, typing: Typing) -> Result<()> {
        let columns = self.stage.arrange(columns, typing)?;
        self.stage.add(VertexBlock { rows, columns })
    }

    /// The table's vertices in the database, if that has any and knows them by their ids.
    #[must_use]
    pub fn known<'a>(&self, known: &'a ExistingGraph) -> Option<ExistingVertices<'a>> {
        known.by_key(&self.label, self.unique_key.as_deref()?)
    }

    /// Notes that edges begin or end at `vertex` of the database: by which number they name it.
    ///
    /// # Errors
    /// `limit` beyond 4,294,967,295 vertices of the label.
    pub fn add_existing(&mut self, vertex: VertexId) -> Result<u32> {
        let before = self.existing.len() as u64;
        if self.stage.rows() + before >= u64::from(u32::MAX) {
            let text = format!("more than 4,294,967,295 vertices of label {}", self.label);
            return Err(Error::new(ErrorKind::Limit, text));
        }
        self.existing.push(vertex);
        Ok(u32::MAX - before as u32)
    }

    /// The whole table.
    #[must_use]
    pub fn finish(self) -> VertexTable {
        let rows = self.stage.rows();
        let Self { label, unique_key, existing, stage, .. } = self;
        let (properties, blocks) = stage.finish();
        VertexTable { label, rows, existing, unique_key, properties, blocks }
    }
}

/// An edge table in the making.
#[derive(Debug)]
pub struct StagedEdges {
    /// The edge type.
    pub edge_type: String,
    /// Index of the label where the edges begin.
    pub source_label: usize,
    /// Index of the label where the edges end.
    pub target_label: usize,
    /// The edges so far.
    pub stage: Stage<EdgeBlock>,
}

impl StagedEdges {
    /// A table of `edge_type` without edges.
    #[must_use]
    pub fn new(edge_type: &str, source_label: usize, target_label: usize, staging: &Arc<Staging>) -> Self {
        let stage = Stage::new(Arc::clone(staging));
        Self { edge_type: edge_type.to_owned(), source_label, target_label, stage }
    }

    /// Adds edges. Properties that are not among `columns` have no values there.
    ///
    /// # Errors
    /// `invalid` if whole numbers meet fractions in a column of unstated type and don't survive as doubles;
    /// as [`Stage::add`].
    pub fn push(
        &mut self,
        sources: Vec<u32>,
        targets: Vec<u32>,
        columns: Vec<(String, CellColumn)>,
        typing: Typing,
    ) -> Result<()> {
        let columns = self.stage.arrange(columns, typing)?;
        self.stage.add(EdgeBlock { sources, targets, columns })
    }

    /// The whole table.
    #[must_use]
    pub fn finish(self) -> EdgeTable {
        let rows = self.stage.rows();
        let (properties, blocks) = self.stage.finish();
        let Self { edge_type, source_label, target_label, .. } = self;
        EdgeTable { edge_type, source_label, target_label, rows, properties, blocks }
    }
}

/// The blocks and properties of one table.
#[derive(Debug)]
pub struct Stage<B> {
    rows: u64,
    properties: Vec<(String, ValueType)>,
    /// Where in `properties` each key is: a file may have very many columns.
    places: HashMap<String, usize>,
    slots: Vec<Slot<B>>,
    staging: Arc<Staging>,
}

impl<B: TableBlock> Stage<B> {
    /// A table without rows, whose blocks go where `staging` says.
    #[must_use]
    pub fn new(staging: Arc<Staging>) -> Self {
        Self { rows: 0, properties: Vec::new(), places: HashMap::new(), slots: Vec::new(), staging }
    }

    /// Rows so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The properties so far, each with its type.
    #[must_use]
    pub fn properties(&self) -> &[(String, ValueType)] {
        &self.properties
    }

    /// Declares the type of a property. A new property comes after the existing ones.
    pub fn set_property(&mut self, key: &str, value_type: ValueType) -> usize {
        if let Some(&at) = self.places.get(key) {
            self.properties[at].1 = value_type;
            return at;
        }
        let at = self.properties.len();
        self.places.insert(key.to_owned(), at);
        self.properties.push((key.to_owned(), value_type));
        at
    }

    /// Gives the property `key` the name `name`, which none has.
    pub fn rename_property(&mut self, key: &str, name: &str) {
        if let Some(at) = self.places.remove(key) {
            name.clone_into(&mut self.properties[at].0);
            self.places.insert(name.to_owned(), at);
        }
    }

    /// Whether all values of the property at `at` are numbers that a double holds exactly.
    ///
    /// # Errors
    /// That of the file where blocks lie.
    pub fn holds_doubles(&mut self, at: usize) -> Result<bool> {
        let others = AtomicBool::new(false);
        self.rewrite(|_, block| {
            if let Some(column) = block.columns_mut().get(at).and_then(Option::as_ref) {
                others.fetch_or(as_doubles(column).is_none(), Ordering::Relaxed);
            }
            Ok(())
        })?;
        Ok(!others.into_inner())
    }

    /// Turns all values of the property at `at` into doubles, where they are numbers that these hold exactly.
    ///
    /// # Errors
    /// That of the file where blocks lie.
    pub fn make_doubles(&mut self, at: usize) -> Result<()> {
        self.properties[at].1 = ValueType::F64;
        self.rewrite(|_, block| {
            if let Some(column) = block.columns_mut().get_mut(at).and_then(Option::as_mut)
                && let Some(doubles) = as_doubles(column)
            {
                *column = doubles;
            }
            Ok(())
        })
    }

    /// Adds a block whose columns stand in the order of the properties. One without rows is nothing.
    ///
    /// # Errors
    /// As [`Slot::new`].
    pub fn add(&mut self, block: B) -> Result<()> {
        if block.rows() > 0 {
            self.rows += block.rows() as u64;
            self.slots.push(Slot::new(block, &self.staging)?);
        }
        Ok(())
    }

    /// Changes every block on all threads of the current pool; `change` gets the row where it begins
    /// and leaves the number of its rows as it is.
    ///
    /// # Errors
    /// That of the first block that has one, or of the file where blocks lie.
    pub fn rewrite(&mut self, change: impl Fn(u64, &mut B) -> Result<()> + Send + Sync) -> Result<()> {
        self.rewrite_between(0..self.rows, change)
    }

    /// As [`Stage::rewrite`], of the blocks that begin in `rows`.
    ///
    /// # Errors
    /// As [`Stage::rewrite`].
    pub fn rewrite_between(
        &mut self,
        rows: Range<u64>,
        change: impl Fn(u64, &mut B) -> Result<()> + Send + Sync,
    ) -> Result<()> {
        let firsts = first_rows(&self.slots);
        let staging = &self.staging;
        let slots = self.slots.par_iter_mut().zip(firsts).filter(|(_, first)| rows.contains(first));
        let changed = slots.map(|(slot, first)| slot.change(staging, |block| change(first, block)));
        // All are gathered, so that it is the first error with any number of threads.
        changed.collect::<Vec<_>>().into_iter().collect()
    }

    /// Hands out every block in order, with the row where it begins.
    ///
    /// # Errors
    /// That of `visit`, or of the file where blocks lie.
    pub fn visit(&self, mut visit: impl FnMut(u64, &B) -> Result<()>) -> Result<()> {
        let mut form = Vec::new();
        let mut slots = self.slots.iter().zip(first_rows(&self.slots));
        slots.try_for_each(|(slot, first)| slot.visit(&self.staging, &mut form, |block| visit(first, block)))
    }

    /// Takes out the rows `gone`, which ascend; those behind them move up.
    ///
    /// # Errors
    /// That of the file where blocks lie.
    pub fn remove_rows(&mut self, gone: impl Iterator<Item = u64>) -> Result<()> {
        let mut first = 0;
        let mut gone = gone.peekable();
        for slot in &mut self.slots {
            let count = slot.rows() as u64;
            let mut keep = vec![true; slot.rows()];
            while let Some(row) = gone.next_if(|row| *row < first + count) {
                keep[(row - first) as usize] = false;
            }
            first += count;
            if keep.contains(&false) {
                slot.change(&self.staging, |block| {
                    block.retain(&keep);
                    Ok(())
                })?;
            }
        }
        self.slots.retain(|slot| slot.rows() > 0);
        self.rows = self.slots.iter().map(|slot| slot.rows() as u64).sum();
        Ok(())
    }

    /// The properties and the blocks of the table.
    fn finish(self) -> (Vec<(String, ValueType)>, Box<dyn Blocks<B>>) {
        (self.properties, Box::new(StagedBlocks { slots: self.slots, staging: self.staging }))
    }

    /// The columns of a block in the order of the properties.
    fn arrange(
        &mut self,
        added: Vec<(String, CellColumn)>,
        typing: Typing,
    ) -> Result<Vec<Option<PackedColumn>>> {
        let mut columns = Vec::new();
        for (key, CellColumn { mut value_type, mut column }) in added {
            if typing == Typing::Learned {
                // Without a value there is nothing to be learned.
                let Some(learned) = &column else { continue };
                value_type = learned.value_type();
            }
            let known = self.places.get(&key).copied();
            let at = known.unwrap_or_else(|| self.set_property(&key, value_type));
            let in_column = |error: Error| error.context(format!("column {key}"));
            let known_type = self.properties[at].1;
            if known_type != value_type && typing == Typing::Learned {
                self.properties[at].1 = ValueType::Any;
            } else if known_type != value_type {
                let of_numbers = [known_type, value_type];
                let of_numbers = of_numbers.iter().all(|of| matches!(of, ValueType::I64 | ValueType::F64));
                assert!(of_numbers, "column {key}: files that disagree are refused by `DeclaredTypes`");
                if value_type == ValueType::F64 {
                    self.widen(at).map_err(in_column)?;
                } else {
                    column = column
                        .as_ref()
                        .map(to_floats)
                        .transpose()
                        .map_err(Error::invalid)
                        .map_err(in_column)?;
                }
            }
            if columns.len() <= at {
                columns.resize(at + 1, None);
            }
            columns[at] = column;
        }
        Ok(columns)
    }

    /// Turns whole numbers into doubles.
    fn widen(&mut self, at: usize) -> Result<()> {
        self.properties[at].1 = ValueType::F64;
        self.rewrite(|_, block| {
            if let Some(column) = block.columns_mut().get_mut(at).and_then(Option::as_mut) {
                *column = to_floats(column).map_err(Error::invalid)?;
            }
            Ok(())
        })
    }
}

/// The row where each of `slots` begins.
fn first_rows<B: TableBlock>(slots: &[Slot<B>]) -> Vec<u64> {
    let mut next = 0;
    let first = |slot: &Slot<B>| {
        next += slot.rows() as u64;
        next - slot.rows() as u64
    };
    slots.iter().map(first).collect()
}

/// `column` as doubles; `None` if a value is no number that one holds exactly.
fn as_doubles(column: &PackedColumn) -> Option<PackedColumn> {
    match column.value_type() {
        ValueType::F64 => Some(column.clone()),
        ValueType::I64 => to_floats(column).ok(),
        ValueType::Any => {
            let double = |row| match column.get(row) {
                None => Some(None),
                Some(value @ Value::F64(_)) => Some(Some(value)),
                Some(Value::I64(number)) => {
                    let double = number as f64;
                    (double as i128 == i128::from(number)).then_some(Some(Value::F64(double)))
                }
                Some(_) => None,
            };
            let doubles: Vec<Option<Value>> = (0..column.len()).map(double).collect::<Option<_>>()?;
            PackedColumn::from_values(doubles.iter().map(Option::as_ref))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(numbers: &[i64]) -> CellColumn {
        let values: Vec<Value> = numbers.iter().map(|number| Value::I64(*number)).collect();
        CellColumn { value_type: ValueType::I64, column: PackedColumn::from_values(values.iter().map(Some)) }
    }

    fn text(word: &str) -> CellColumn {
        let word = Value::from(word);
        CellColumn { value_type: ValueType::String, column: PackedColumn::from_values([Some(&word)]) }
    }

    #[test]
    fn rows_have_no_value_where_their_file_has_no_column() {
        let mut staged = StagedVertices::new("V", None, &Arc::default());
        let declared = Typing::Declared;
        staged.push(1, vec![("id".into(), whole(&[1])), ("name".into(), text("Ada"))], declared).unwrap();
        staged.push(1, vec![("born".into(), whole(&[1791])), ("id".into(), whole(&[2]))], declared).unwrap();
        staged.push(1, Vec::new(), declared).unwrap();
        let table = staged.finish();
        assert_eq!(table.rows, 3);
        let keys: Vec<&str> = table.properties.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["id", "name", "born"]);
        let columns: Vec<PackedColumn> = keys.iter().map(|key| table.column(key).unwrap().unwrap()).collect();
        let row = |row| columns.iter().map(|column| column.get(row)).collect::<Vec<_>>();
        assert_eq!(row(0), [Some(Value::I64(1)), Some(Value::from("Ada")), None]);
        assert_eq!(row(1), [Some(Value::I64(2)), None, Some(Value::I64(1791))]);
        assert_eq!(row(2), [None, None, None]);
    }

    #[test]
    fn rows_are_taken_out_of_the_blocks_that_have_them() {
        let mut staged = StagedVertices::new("V", None, &Arc::default());
        for numbers in [[0, 1, 2].as_slice(), &[3], &[4, 5]] {
            staged.push(numbers.len(), vec![("n".into(), whole(numbers))], Typing::Declared).unwrap();
        }
        staged.stage.remove_rows([0, 2, 3, 5].into_iter()).unwrap();
        let table = staged.finish();
        assert_eq!(table.rows, 2);
        let column = table.column("n").unwrap().unwrap();
        assert_eq!([0, 1].map(|row| column.get(row)), [Some(Value::I64(1)), Some(Value::I64(4))]);
    }

    #[test]
    fn whole_numbers_become_doubles_where_a_block_has_fractions() {
        let half = Some(&Value::F64(0.5));
        let halves = CellColumn { value_type: ValueType::F64, column: PackedColumn::from_values([half]) };
        let nothing = CellColumn { value_type: ValueType::I64, column: None };
        for blocks in [
            [whole(&[3]), nothing.clone(), halves.clone()],
            [halves.clone(), nothing.clone(), whole(&[3])],
            [nothing.clone(), halves.clone(), whole(&[3])],
        ] {
            let mut staged = StagedEdges::new("E", 0, 0, &Arc::default());
            for block in blocks {
                staged.push(vec![0], vec![0], vec![("time".into(), block)], Typing::Declared).unwrap();
            }
            let table = staged.finish();
            assert_eq!(table.properties, [("time".to_owned(), ValueType::F64)]);
            let column = table.column("time").unwrap().unwrap();
            assert_eq!((column.value_type(), column.len()), (ValueType::F64, 3));
        }
    }

    #[test]
    fn whole_numbers_that_are_no_doubles_are_named_in_whichever_order_they_come() {
        let half = Some(&Value::F64(0.5));
        let halves = CellColumn { value_type: ValueType::F64, column: PackedColumn::from_values([half]) };
        let inexact = || whole(&[9_007_199_254_740_993]);
        for blocks in [[inexact(), halves.clone()], [halves, inexact()]] {
            let mut staged = StagedEdges::new("E", 0, 0, &Arc::default());
            let pushed: Result<Vec<()>> = blocks
                .into_iter()
                .map(|block| staged.push(vec![0], vec![0], vec![("time".into(), block)], Typing::Declared))
                .collect();
            assert_eq!(
                pushed.unwrap_err().to_string(),
                "column time: 9007199254740993 stands beside fractions and has no exact double: state the type"
            );
        }
    }

    #[test]
    fn a_learned_property_of_two_types_is_one_of_any_values_and_one_without_values_is_none() {
        let mut staged = StagedVertices::new("V", None, &Arc::default());
        let nothing = CellColumn { value_type: ValueType::F64, column: None };
        for (cells, other) in [(whole(&[7]), nothing.clone()), (text("seven"), nothing)] {
            staged.push(1, vec![("x".into(), cells), ("y".into(), other)], Typing::Learned).unwrap();
        }
        let table = staged.finish();
        assert_eq!(table.properties, [("x".to_owned(), ValueType::Any)]);
        let column = table.column("x").unwrap().unwrap();
        assert_eq!([0, 1].map(|row| column.get(row).unwrap()), [Value::I64(7), Value::from("seven")]);
    }
}
