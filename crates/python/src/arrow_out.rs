//! Arrow out: columns of properties as arrays that any Arrow consumer reads.
//!
//! | property | Arrow |
//! |---|---|
//! | bool; byte to long; float, double | bool; int8 to int64; float32, float64 |
//! | string, char; bytes | large_string; large_binary |
//! | date; datetime | date32; timestamp in nanoseconds, UTC (the offset stays behind) |
//! | duration | month_day_nano_interval |
//! | uuid | fixed_size_binary(16), `arrow.uuid` |
//! | list, set | large_list of the one type that all items have |
//! | bigint, decimal, map; values of several types | their text, large_string |

use arrow_array::builder::{LargeBinaryBuilder, LargeStringBuilder};
use arrow_array::types::IntervalMonthDayNano;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, FixedSizeBinaryArray, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, LargeListArray, RecordBatch,
    TimestampNanosecondArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{Field, Schema};
use evergraph::graph::column::{Column, ColumnData};
use evergraph::graph::value::ValueType;
use evergraph::graph::value::datetime::DateTime;
use evergraph::{Error, ErrorKind, Result, Value};
use pyo3::prelude::*;
use pyo3_arrow::PyTable;
use std::collections::HashMap;
use std::sync::Arc;

/// Columns with their names, all of one length.
#[derive(Default)]
pub struct TableBuilder {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
    metadata: HashMap<String, String>,
}

impl TableBuilder {
    /// Adds an array without nulls.
    pub fn push(&mut self, name: &str, array: impl Array + 'static) {
        self.fields.push(Field::new(name, array.data_type().clone(), array.null_count() > 0));
        self.arrays.push(Arc::new(array));
    }

    /// Adds a property.
    ///
    /// # Errors
    /// Those of [`to_arrow`].
    pub fn push_column(&mut self, name: &str, column: &Column) -> Result<()> {
        let (array, uuid) = to_arrow(column).map_err(|error| error.context(format!("property {name}")))?;
        let field = Field::new(name, array.data_type().clone(), true);
        let extension = || HashMap::from([("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())]);
        self.fields.push(if uuid { field.with_metadata(extension()) } else { field });
        self.arrays.push(array);
        Ok(())
    }

    /// Says something about all of it.
    pub fn note(&mut self, name: &str, what: impl ToString) {
        self.metadata.insert(name.to_owned(), what.to_string());
    }

    /// The table.
    ///
    /// # Errors
    /// `invalid` if columns are of different lengths.
    pub fn finish(self) -> Result<RecordBatch> {
        let schema = Arc::new(Schema::new_with_metadata(self.fields, self.metadata));
        RecordBatch::try_new(schema, self.arrays).map_err(|error| Error::invalid(error.to_string()))
    }
}

/// `batch` as a `pyarrow.Table`, without a copy.
///
/// # Errors
/// What pyarrow raises.
pub fn into_pyarrow(py: Python<'_>, batch: RecordBatch) -> PyResult<Bound<'_, PyAny>> {
    let schema = batch.schema();
    PyTable::try_new(vec![batch], schema)?.into_pyarrow(py)
}

/// `column` as an array, and whether its values are UUIDs.
fn to_arrow(column: &Column) -> Result<(ArrayRef, bool)> {
    Ok(match &column.data {
        ColumnData::Integers(rows) => (integers(column.value_type, rows), false),
        ColumnData::Floats(rows) if column.value_type == ValueType::F32 => {
            let array: Float32Array = rows.iter().map(|row| row.map(|number| number as f32)).collect();
            (Arc::new(array), false)
        }
        ColumnData::Floats(rows) => (Arc::new(rows.iter().copied().collect::<Float64Array>()), false),
        ColumnData::Values(rows) => {
            let (array, value_type) = values(rows)?;
            (array, value_type == Some(ValueType::Uuid))
        }
    })
}

fn integers(value_type: ValueType, rows: &[Option<i64>]) -> ArrayRef {
    match value_type {
        ValueType::I8 => {
            Arc::new(rows.iter().map(|row| row.map(|number| number as i8)).collect::<Int8Array>())
        }
        ValueType::I16 => {
            Arc::new(rows.iter().map(|row| row.map(|number| number as i16)).collect::<Int16Array>())
        }
        ValueType::I32 => {
            Arc::new(rows.iter().map(|row| row.map(|number| number as i32)).collect::<Int32Array>())
        }
        _ => Arc::new(rows.iter().copied().collect::<Int64Array>()),
    }
}

/// The array of values, and their type if all have one.
fn values(rows: &[Option<Value>]) -> Result<(ArrayRef, Option<ValueType>)> {
    let mut types = rows.iter().flatten().map(Value::value_type);
    let first = types.next();
    let one = first.filter(|first| types.all(|other| other == *first));
    let array: ArrayRef = match one {
        Some(ValueType::Bool) => Arc::new(each(rows, Value::as_bool).collect::<BooleanArray>()),
        Some(ValueType::Bytes) => {
            let mut bytes = LargeBinaryBuilder::new();
            for row in rows {
                match row {
                    Some(Value::Bytes(row)) => bytes.append_value(row),
                    _ => bytes.append_null(),
                }
            }
            Arc::new(bytes.finish())
        }
        Some(ValueType::Date) => Arc::new(
            each(rows, |value| if let Value::Date(date) = value { Some(date.days()) } else { None })
                .collect::<Date32Array>(),
        ),
        Some(ValueType::DateTime) => {
            let moments = rows.iter().map(|row| match row {
                Some(Value::DateTime(moment)) => nanoseconds(*moment).map(Some),
                _ => Ok(None),
            });
            let array: TimestampNanosecondArray = moments.collect::<Result<Vec<_>>>()?.into();
            Arc::new(array.with_timezone("UTC"))
        }
        Some(ValueType::Duration) => {
            let durations = rows.iter().map(|row| match row {
                Some(Value::Duration(duration)) => {
                    let nanos =
                        i128::from(duration.seconds()) * 1_000_000_000 + i128::from(duration.nanoseconds());
                    let nanos = i64::try_from(nanos).map_err(|_| beyond(&Value::Duration(*duration)))?;
                    Ok(Some(IntervalMonthDayNano::new(duration.months(), duration.days(), nanos)))
                }
                _ => Ok(None),
            });
            Arc::new(IntervalMonthDayNanoArray::from(durations.collect::<Result<Vec<_>>>()?))
        }
        Some(ValueType::Uuid) => {
            let uuids = rows.iter().map(|row| match row {
                Some(Value::Uuid(uuid)) => Some(*uuid.as_bytes()),
                _ => None,
            });
            let made = FixedSizeBinaryArray::try_from_sparse_iter_with_size(uuids, 16);
            Arc::new(made.map_err(|error| Error::invalid(error.to_string()))?)
        }
        Some(ValueType::List | ValueType::Set) => lists(rows)?,
        Some(ValueType::I8 | ValueType::I16 | ValueType::I32 | ValueType::I64) => {
            let whole: Vec<_> = each(rows, Value::as_i64).collect();
            integers(one.unwrap_or(ValueType::I64), &whole)
        }
        Some(ValueType::F32) => {
            Arc::new(each(rows, |value| value.as_f64().map(|number| number as f32)).collect::<Float32Array>())
        }
        Some(ValueType::F64) => Arc::new(each(rows, Value::as_f64).collect::<Float64Array>()),
        _ => texts(rows),
    };
    Ok((array, one))
}

fn each<'a, T>(
    rows: &'a [Option<Value>],
    of: impl Fn(&Value) -> Option<T> + 'a,
) -> impl Iterator<Item = Option<T>> + 'a {
    rows.iter().map(move |row| row.as_ref().and_then(&of))
}

fn texts(rows: &[Option<Value>]) -> ArrayRef {
    let mut texts = LargeStringBuilder::new();
    for row in rows {
        match row {
            None => texts.append_null(),
            Some(Value::String(text)) => texts.append_value(text),
            Some(other) => texts.append_value(other.to_string()),
        }
    }
    Arc::new(texts.finish())
}

fn lists(rows: &[Option<Value>]) -> Result<ArrayRef> {
    let items_of = |row: &Option<Value>| match row {
        Some(Value::List(list)) => list.as_slice().to_vec(),
        Some(Value::Set(set)) => set.as_slice().to_vec(),
        _ => Vec::new(),
    };
    let items: Vec<Option<Value>> = rows.iter().flat_map(items_of).map(Some).collect();
    let (items, _) = values(&items)?;
    let offsets = OffsetBuffer::from_lengths(rows.iter().map(|row| items_of(row).len()));
    let nulls: NullBuffer = rows.iter().map(Option::is_some).collect::<Vec<bool>>().into();
    let item = Arc::new(Field::new("item", items.data_type().clone(), true));
    let made = LargeListArray::try_new(item, offsets, items, Some(nulls));
    Ok(Arc::new(made.map_err(|error| Error::invalid(error.to_string()))?))
}

fn beyond(value: &Value) -> Error {
    let text =
        format!("{value} has more nanoseconds than 64 bits, which is what a table holds: read it alone");
    Error::new(ErrorKind::Limit, text)
}

fn nanoseconds(moment: DateTime) -> Result<i64> {
    let whole = moment.seconds().checked_mul(1_000_000_000);
    let nanos = whole.and_then(|nanos| nanos.checked_add(moment.nanoseconds().into()));
    nanos.ok_or_else(|| beyond(&Value::DateTime(moment)))
}
