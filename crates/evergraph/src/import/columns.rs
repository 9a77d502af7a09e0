//! Columns: tables that grow by blocks, whose columns come and go from file to file.
//!
//! ```text
//! a.csv  id name        id  name   born
//! b.csv  id born   ──>  1   Ada    -
//!                       2   -      1791
//! ```

use crate::import::cell::{CellType, to_floats};
use evergraph_graph::column::{Column, ColumnData};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::ValueType;
use std::collections::HashMap;

/// Appends `rows` rows to a table that has `rows_before`. Columns that either side lacks have no
/// values there.
///
/// # Errors
/// If whole numbers meet fractions in a column of unstated type and don't survive as doubles.
///
/// # Panics
/// If a column's type differs otherwise: [`Declared`] keeps that from happening.
pub fn append(
    table: &mut Vec<(String, Column)>,
    rows_before: usize,
    added: Vec<(String, Column)>,
    rows: usize,
) -> std::result::Result<(), String> {
    for (key, column) in added {
        assert_eq!(column.len(), rows, "column {key}");
        match table.iter_mut().find(|(name, _)| *name == key) {
            Some((_, existing)) if existing.is_empty() && rows_before == 0 => *existing = column,
            Some((_, existing)) => {
                append_column(existing, column).map_err(|why| format!("column {key}: {why}"))?;
            }
            None => {
                let mut padded = Column::new(column.value_type);
                pad(&mut padded, rows_before);
                append_column(&mut padded, column).expect("of one type");
                table.push((key, padded));
            }
        }
    }
    for (_, column) in table {
        pad(column, rows_before + rows);
    }
    Ok(())
}

/// The rows of `column` at `rows`, in that order.
///
/// # Panics
/// If there is no such row.
#[must_use]
pub fn select(column: &Column, rows: &[u32]) -> Column {
    let data = match &column.data {
        ColumnData::Integers(all) => {
            ColumnData::Integers(rows.iter().map(|row| all[*row as usize]).collect())
        }
        ColumnData::Floats(all) => ColumnData::Floats(rows.iter().map(|row| all[*row as usize]).collect()),
        ColumnData::Values(all) => {
            ColumnData::Values(rows.iter().map(|row| all[*row as usize].clone()).collect())
        }
    };
    Column { value_type: column.value_type, data }
}

fn append_column(column: &mut Column, mut added: Column) -> std::result::Result<(), String> {
    if added.value_type != column.value_type {
        if added.value_type == ValueType::F64 {
            let whole = std::mem::replace(column, Column::new(ValueType::F64));
            *column = to_floats(whole)?;
        } else {
            added = to_floats(added)?;
        }
    }
    assert_eq!(column.value_type, added.value_type, "declared alike");
    match (&mut column.data, added.data) {
        (ColumnData::Integers(rows), ColumnData::Integers(mut added)) => rows.append(&mut added),
        (ColumnData::Floats(rows), ColumnData::Floats(mut added)) => rows.append(&mut added),
        (ColumnData::Values(rows), ColumnData::Values(mut added)) => rows.append(&mut added),
        _ => unreachable!("columns of one type have one shape"),
    }
    Ok(())
}

fn pad(column: &mut Column, rows: usize) {
    match &mut column.data {
        ColumnData::Integers(values) => values.resize(rows, None),
        ColumnData::Floats(values) => values.resize(rows, None),
        ColumnData::Values(values) => values.resize(rows, None),
    }
}

/// What files say about the properties of labels and edge types. They must agree.
#[derive(Debug, Default)]
pub struct Declared {
    /// By label or type, and key: the type, and the file that says so.
    properties: HashMap<(String, String), (CellType, String)>,
}

impl Declared {
    /// Notes that `file` says the property `key` of `owner` ("label Person") is of `cell_type`.
    ///
    /// # Errors
    /// `invalid`, with both files and types, if another file says otherwise.
    pub fn declare(&mut self, owner: &str, key: &str, cell_type: CellType, file: &str) -> Result<()> {
        let (known, known_file) = self
            .properties
            .entry((owner.to_owned(), key.to_owned()))
            .or_insert_with(|| (cell_type, file.to_owned()));
        let agrees = known.value_type() == cell_type.value_type()
            && (*known == CellType::Number) == (cell_type == CellType::Number);
        if agrees {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "{file}: property {key} of {owner} is {cell_type} here and {known} in {known_file}; \
             give both one type"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::value::Value;

    fn whole(numbers: &[i64]) -> Column {
        let rows = numbers.iter().map(|number| Some(*number)).collect();
        Column { value_type: ValueType::I64, data: ColumnData::Integers(rows) }
    }

    fn text(words: &[&str]) -> Column {
        let rows = words.iter().map(|word| Some(Value::from(*word))).collect();
        Column { value_type: ValueType::String, data: ColumnData::Values(rows) }
    }

    #[test]
    fn rows_have_no_value_where_their_file_has_no_column() {
        let mut table = Vec::new();
        append(&mut table, 0, vec![("id".into(), whole(&[1])), ("name".into(), text(&["Ada"]))], 1).unwrap();
        append(&mut table, 1, vec![("born".into(), whole(&[1791])), ("id".into(), whole(&[2]))], 1).unwrap();
        append(&mut table, 2, Vec::new(), 1).unwrap();
        let rows: Vec<Vec<Option<Value>>> =
            (0..3).map(|row| table.iter().map(|(_, column)| column.get(row)).collect()).collect();
        assert_eq!(rows[0], [Some(Value::I64(1)), Some(Value::from("Ada")), None]);
        assert_eq!(rows[1], [Some(Value::I64(2)), None, Some(Value::I64(1791))]);
        assert_eq!(rows[2], [None, None, None]);
    }

    #[test]
    fn whole_numbers_become_doubles_where_a_block_has_fractions() {
        let halves = Column { value_type: ValueType::F64, data: ColumnData::Floats(vec![Some(0.5)]) };
        for blocks in [[whole(&[3]), halves.clone()], [halves, whole(&[3])]] {
            let mut table = Vec::new();
            for (row, block) in blocks.into_iter().enumerate() {
                append(&mut table, row, vec![("time".into(), block)], 1).unwrap();
            }
            assert_eq!(table[0].1.value_type, ValueType::F64);
            assert_eq!(table[0].1.len(), 2);
        }
    }

    #[test]
    fn rows_are_selected_in_the_order_asked_for() {
        assert_eq!(select(&text(&["a", "b", "c"]), &[2, 0]), text(&["c", "a"]));
    }

    #[test]
    fn files_that_disagree_about_a_type_are_both_named() {
        let mut declared = Declared::default();
        declared.declare("label Person", "age", CellType::Scalar(ValueType::I32), "a.csv").unwrap();
        declared.declare("label Dog", "age", CellType::Scalar(ValueType::I64), "b.csv").unwrap();
        let error =
            declared.declare("label Person", "age", CellType::Scalar(ValueType::I64), "b.csv").unwrap_err();
        assert_eq!(
            error.to_string(),
            "b.csv: property age of label Person is long here and int in a.csv; give both one type"
        );
    }
}
