//! Columns: batches of optional values of one type, as returned by views; and what else takes such values.

use crate::packed_column::column::{PackedColumn, PackedData};
use crate::value::Value;
use crate::value::ValueType;
use std::ops::Range;

/// Takes the values of one property, item by item: a [`Column`], a list, or for a single item an `Option`.
pub trait ValueSink {
    /// Takes the value of the next item.
    fn put(&mut self, value: Option<Value>);

    /// Takes the values of the next items from the places `range` of `stored`; none where it has none, ends before,
    /// or isn't there. Cost, of numbers put into a column of their type: a copy.
    fn put_stored(&mut self, stored: Option<&PackedColumn>, range: Range<usize>) {
        range.for_each(|at| self.put(stored.and_then(|stored| stored.get(at))));
    }
}

/// The value of the only item.
impl ValueSink for Option<Value> {
    #[inline]
    fn put(&mut self, value: Option<Value>) {
        *self = value;
    }
}

/// Values one by one.
impl ValueSink for Vec<Option<Value>> {
    fn put(&mut self, value: Option<Value>) {
        self.push(value);
    }
}

/// A batch of optional values.
///
/// Numbers of one width lie in a plain array beside their validity; everything else is a list of
/// values. The shape follows the property's declared type, so a reader can branch once a batch.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// The declared type of the property; `Any` when values differ.
    pub value_type: ValueType,
    /// The values.
    pub data: ColumnData,
}

/// The values of a [`Column`], one entry a row.
#[derive(Clone, PartialEq, Debug)]
pub enum ColumnData {
    /// Whole numbers of at most 64 bits; a row without a value is `None`.
    Integers(Vec<Option<i64>>),
    /// Floating-point numbers.
    Floats(Vec<Option<f64>>),
    /// Values of any other type.
    Values(Vec<Option<Value>>),
}

impl Column {
    /// An empty column of the shape that fits `value_type`.
    #[must_use]
    #[inline]
    pub fn new(value_type: ValueType) -> Self {
        let data = match value_type {
            ValueType::I8 | ValueType::I16 | ValueType::I32 | ValueType::I64 => {
                ColumnData::Integers(Vec::new())
            }
            ValueType::F32 | ValueType::F64 => ColumnData::Floats(Vec::new()),
            _ => ColumnData::Values(Vec::new()),
        };
        Self { value_type, data }
    }

    /// Rows in the column.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        match &self.data {
            ColumnData::Integers(rows) => rows.len(),
            ColumnData::Floats(rows) => rows.len(),
            ColumnData::Values(rows) => rows.len(),
        }
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a row. A value that isn't of the column's type turns the column into `Any`.
    pub fn push(&mut self, value: Option<Value>) {
        match (&mut self.data, value) {
            (ColumnData::Integers(rows), None) => rows.push(None),
            (ColumnData::Floats(rows), None) => rows.push(None),
            (ColumnData::Values(rows), value) => rows.push(value),
            (ColumnData::Integers(rows), Some(value)) if value.value_type() == self.value_type => {
                rows.push(value.as_i64());
            }
            (ColumnData::Floats(rows), Some(value)) if value.value_type() == self.value_type => {
                rows.push(value.as_f64());
            }
            (_, Some(value)) => {
                let mut rows: Vec<Option<Value>> = (0..self.len()).map(|row| self.get(row)).collect();
                rows.push(Some(value));
                *self = Self { value_type: ValueType::Any, data: ColumnData::Values(rows) };
            }
        }
    }

    /// The value of `row`, if it has one.
    ///
    /// # Panics
    /// If there is no such row: the caller's error.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<Value> {
        match &self.data {
            ColumnData::Integers(rows) => rows[row].map(|value| match self.value_type {
                ValueType::I8 => Value::I8(value as i8),
                ValueType::I16 => Value::I16(value as i16),
                ValueType::I32 => Value::I32(value as i32),
                _ => Value::I64(value),
            }),
            ColumnData::Floats(rows) => rows[row].map(|value| match self.value_type {
                ValueType::F32 => Value::F32(value as f32),
                _ => Value::F64(value),
            }),
            ColumnData::Values(rows) => rows[row].clone(),
        }
    }
}

impl ValueSink for Column {
    #[inline]
    fn put(&mut self, value: Option<Value>) {
        self.push(value);
    }

    fn put_stored(&mut self, stored: Option<&PackedColumn>, range: Range<usize>) {
        let value_type = self.value_type;
        let same = stored.filter(|stored| stored.value_type() == value_type);
        match (&mut self.data, same.map(PackedColumn::data)) {
            (ColumnData::Integers(rows), Some(PackedData::Integers(values))) => {
                let has = |at| same.is_some_and(|stored| stored.has(at));
                extend_numbers(rows, values, has, range);
            }
            (ColumnData::Floats(rows), Some(PackedData::Floats(values))) => {
                let has = |at| same.is_some_and(|stored| stored.has(at));
                extend_numbers(rows, values, has, range);
            }
            _ => range.for_each(|at| self.push(stored.and_then(|stored| stored.get(at)))),
        }
    }
}

fn extend_numbers<T: Copy>(
    rows: &mut Vec<Option<T>>,
    values: &[T],
    has: impl Fn(usize) -> bool,
    range: Range<usize>,
) {
    let stored = range.start.min(values.len())..range.end.min(values.len());
    let missing = range.len() - stored.len();
    rows.extend(stored.map(|at| has(at).then_some(values[at])));
    rows.resize(rows.len() + missing, None);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_copied_as_if_pushed_item_by_item() {
        let texts = [Some(Value::from("a")), None, Some(Value::from("b"))];
        let longs = [Some(Value::I64(5)), None, Some(Value::I64(-7))];
        let floats = [None, Some(Value::F32(0.5)), Some(Value::F32(2.0))];
        let full = [Some(Value::I64(1)), Some(Value::I64(2)), Some(Value::I64(3))];
        for values in [texts, longs, floats, full] {
            let stored = PackedColumn::from_values(values.iter().map(Option::as_ref)).unwrap();
            for value_type in [stored.value_type(), ValueType::I32, ValueType::String] {
                for range in [0..3, 1..2, 2..5, 7..9] {
                    let (mut copied, mut pushed) = (Column::new(value_type), Column::new(value_type));
                    copied.put_stored(Some(&stored), range.clone());
                    range.clone().for_each(|at| pushed.push(stored.get(at)));
                    copied.put_stored(None, 0..2);
                    (0..2).for_each(|_| pushed.push(None));
                    assert_eq!(copied, pushed, "{range:?} of {stored:?}");
                    let (mut listed, mut last) = (Vec::new(), None);
                    listed.put_stored(Some(&stored), range.clone());
                    last.put_stored(Some(&stored), range.clone());
                    assert!(listed.iter().cloned().eq(range.clone().map(|at| stored.get(at))));
                    assert_eq!(Some(last), listed.pop());
                }
            }
        }
    }

    #[test]
    fn widths_are_kept_and_a_stranger_turns_the_column_into_any() {
        let mut column = Column::new(ValueType::I32);
        column.push(Some(Value::I32(-5)));
        column.push(None);
        assert_eq!((column.get(0), column.get(1)), (Some(Value::I32(-5)), None));
        assert!(matches!(column.data, ColumnData::Integers(_)));
        column.push(Some(Value::F32(0.5)));
        assert_eq!(column.value_type, ValueType::Any);
        assert_eq!((column.get(0), column.get(2)), (Some(Value::I32(-5)), Some(Value::F32(0.5))));
        assert_eq!(column.len(), 3);
    }
}
