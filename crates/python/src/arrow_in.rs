//! Arrow in: columns of any Arrow producer as packed columns of properties.
//!
//! | Arrow | property |
//! |---|---|
//! | bool; int8 to int64; float16, float32, float64 | the same; float16 is a float |
//! | uint8, uint16, uint32; uint64 up to 2^63 - 1 | short, int, long; long |
//! | strings, binaries of all forms; dictionaries of them | string, bytes |
//! | date32, date64; timestamps; durations | date; datetime (in UTC); duration |
//! | decimals; `arrow.uuid` | decimal; uuid |
//! | lists of these | list |
//!
//! A property that has a type already gets values of it: a whole number in another width if it fits, a number
//! as a float if that is exact. Nothing is ever rounded.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, DurationNanosecondType, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, SchemaRef, TimeUnit};
use evergraph::graph::catalogue::{Catalogue, Owner};
use evergraph::graph::load::BLOCK_ROWS;
use evergraph::graph::packed_column::{PackedColumn, PackedColumnBuilder, PackedData};
use evergraph::graph::value::ValueType;
use evergraph::graph::value::collection::List;
use evergraph::graph::value::date::Date;
use evergraph::graph::value::datetime::DateTime;
use evergraph::graph::value::duration::Duration;
use evergraph::{Error, Result, Value};
use rayon::prelude::*;
use uuid::Uuid;

/// Properties as columns in blocks of rows.
#[derive(Debug)]
pub struct Columns {
    /// Key and type of each.
    pub properties: Vec<(String, ValueType)>,
    /// Rows, and a column a property.
    pub blocks: Vec<(usize, Vec<Option<PackedColumn>>)>,
}

/// The columns of `batches` but for those in `left_out`, as properties of `owner`, which may be new.
///
/// # Errors
/// `invalid` for a type that no property can have, or that this one hasn't.
pub fn columns(
    catalogue: &Catalogue,
    owner: Option<Owner>,
    schema: &SchemaRef,
    batches: &[RecordBatch],
    left_out: &[&str],
) -> Result<Columns> {
    let taken: Vec<usize> = (0..schema.fields().len())
        .filter(|at| !left_out.contains(&schema.field(*at).name().as_str()))
        .collect();
    let mut properties: Vec<(String, ValueType)> = Vec::with_capacity(taken.len());
    for at in &taken {
        let field = schema.field(*at);
        let declared = owner.and_then(|owner| {
            let key = catalogue.key(field.name())?;
            catalogue.property_type(owner, key)
        });
        if properties.iter().any(|(name, _)| name == field.name()) {
            return Err(Error::invalid(format!("two columns are called {:?}", field.name())));
        }
        // A column of nothing but nulls has no type, and needs none.
        let natural = match field.data_type() {
            DataType::Null => declared.unwrap_or(ValueType::String),
            _ => natural(field)?,
        };
        let value_type = match declared {
            Some(declared) if becomes(natural, declared) => declared,
            Some(declared) => {
                let name = field.name();
                return Err(Error::invalid(format!("column {name:?}: {declared} expected, found {natural}")));
            }
            None => natural,
        };
        properties.push((field.name().clone(), value_type));
    }
    let starts = |batch: &RecordBatch| (0..batch.num_rows()).step_by(BLOCK_ROWS);
    let parts: Vec<_> =
        batches.iter().flat_map(|batch| starts(batch).map(move |start| (batch, start))).collect();
    // In order, so that the first error is the one that is told.
    let blocks: Vec<Result<_>> = parts
        .into_par_iter()
        .map(|(batch, start)| {
            let rows = BLOCK_ROWS.min(batch.num_rows() - start);
            let packed = taken.iter().zip(&properties).map(|(at, (name, value_type))| {
                let column = batch.column(*at).slice(start, rows);
                packed(&column, schema.field(*at), *value_type)
                    .map_err(|error| error.context(format!("column {name:?}")))
            });
            Ok((rows, packed.collect::<Result<Vec<_>>>()?))
        })
        .collect();
    Ok(Columns { properties, blocks: blocks.into_iter().collect::<Result<_>>()? })
}

/// The type of a property that is learned from `field`.
fn natural(field: &Field) -> Result<ValueType> {
    let uuid = field.metadata().get("ARROW:extension:name").is_some_and(|name| name == "arrow.uuid");
    type_of(field.data_type(), uuid).ok_or_else(|| {
        let (name, kind) = (field.name(), field.data_type());
        Error::invalid(format!("column {name:?}: a property can't hold Arrow's {kind}"))
    })
}

fn type_of(data_type: &DataType, uuid: bool) -> Option<ValueType> {
    Some(match data_type {
        DataType::Boolean => ValueType::Bool,
        DataType::Int8 => ValueType::I8,
        DataType::Int16 | DataType::UInt8 => ValueType::I16,
        DataType::Int32 | DataType::UInt16 => ValueType::I32,
        DataType::Int64 | DataType::UInt32 | DataType::UInt64 => ValueType::I64,
        DataType::Float16 | DataType::Float32 => ValueType::F32,
        DataType::Float64 => ValueType::F64,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ValueType::String,
        DataType::FixedSizeBinary(16) if uuid => ValueType::Uuid,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            ValueType::Bytes
        }
        DataType::Date32 | DataType::Date64 => ValueType::Date,
        DataType::Timestamp(_, _) => ValueType::DateTime,
        DataType::Duration(_) => ValueType::Duration,
        DataType::Decimal128(_, _) => ValueType::Decimal,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            type_of(item.data_type(), false)?;
            ValueType::List
        }
        DataType::Dictionary(_, values) => type_of(values, false)?,
        _ => return None,
    })
}

/// Whether values of type `natural` may be tried as `declared`.
fn becomes(natural: ValueType, declared: ValueType) -> bool {
    let whole = |kind| matches!(kind, ValueType::I8 | ValueType::I16 | ValueType::I32 | ValueType::I64);
    let float = |kind| matches!(kind, ValueType::F32 | ValueType::F64);
    natural == declared
        || declared == ValueType::Any
        || whole(natural) && (whole(declared) || float(declared))
        || float(natural) && float(declared)
}

/// `array` in another form of the same; a value that has none is an error.
fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, to, &strict).map_err(|error| Error::invalid(error.to_string()))
}

/// One bit a row: whether it has a value. Empty if all have.
fn present(array: &dyn Array) -> Box<[u64]> {
    if array.null_count() == 0 {
        return Box::default();
    }
    let mut words = vec![0_u64; array.len().div_ceil(64)];
    (0..array.len()).filter(|row| array.is_valid(*row)).for_each(|row| words[row / 64] |= 1 << (row % 64));
    words.into()
}

fn numbers<T: ArrowPrimitiveType, N: Default + Clone>(
    array: &ArrayRef,
    number: impl Fn(T::Native) -> N,
) -> Box<[N]> {
    let array = array.as_primitive::<T>();
    match array.null_count() {
        0 => array.values().iter().map(|value| number(*value)).collect(),
        _ => array.iter().map(|value| value.map(&number).unwrap_or_default()).collect(),
    }
}

/// `array` as a column of `value_type`; `None` if no row has a value.
fn packed(array: &ArrayRef, field: &Field, value_type: ValueType) -> Result<Option<PackedColumn>> {
    if array.null_count() == array.len() || field.data_type() == &DataType::Null {
        return Ok(None);
    }
    let data = match value_type {
        ValueType::I8 | ValueType::I16 | ValueType::I32 => {
            let narrow = match value_type {
                ValueType::I8 => DataType::Int8,
                ValueType::I16 => DataType::Int16,
                _ => DataType::Int32,
            };
            let whole = cast(array, &narrow)?;
            PackedData::Integers(match narrow {
                DataType::Int8 => numbers::<Int8Type, i64>(&whole, i64::from),
                DataType::Int16 => numbers::<Int16Type, i64>(&whole, i64::from),
                _ => numbers::<Int32Type, i64>(&whole, i64::from),
            })
        }
        ValueType::I64 => {
            PackedData::Integers(numbers::<Int64Type, i64>(&cast(array, &DataType::Int64)?, |n| n))
        }
        ValueType::Bool => {
            let truths = array.as_boolean();
            PackedData::Integers(truths.iter().map(|truth| i64::from(truth == Some(true))).collect())
        }
        ValueType::Date => {
            PackedData::Integers(numbers::<Date32Type, i64>(&cast(array, &DataType::Date32)?, i64::from))
        }
        ValueType::F32 | ValueType::F64 => PackedData::Floats(floats(array, value_type)?),
        _ => return values(array, field, value_type),
    };
    let made = PackedColumn::from_parts(value_type, array.len(), present(array), data);
    made.map(Some).map_err(Error::invalid)
}

/// Numbers as floats of `value_type`, each exactly.
fn floats(array: &ArrayRef, value_type: ValueType) -> Result<Box<[f64]>> {
    let floats = numbers::<Float64Type, f64>(&cast(array, &DataType::Float64)?, |number| number);
    let inexact = |what: String| Error::invalid(format!("{what} has no exact {value_type}"));
    if array.data_type().is_integer() {
        for (row, float) in floats.iter().enumerate() {
            if float.abs() > (1_u64 << 53) as f64 {
                return Err(inexact(format!("the whole number of row {row}")));
            }
        }
    }
    if value_type == ValueType::F32 && !matches!(array.data_type(), DataType::Float16 | DataType::Float32) {
        for (row, float) in floats.iter().enumerate() {
            if !float.is_nan() && f64::from(*float as f32) != *float {
                return Err(inexact(format!("{float:?} of row {row}")));
            }
        }
    }
    Ok(floats)
}

fn values(array: &ArrayRef, field: &Field, value_type: ValueType) -> Result<Option<PackedColumn>> {
    let mut builder = PackedColumnBuilder::default();
    let natural = if value_type == ValueType::Any { natural(field)? } else { value_type };
    if natural == ValueType::String {
        let texts = cast(array, &DataType::LargeUtf8)?;
        for text in texts.as_string::<i64>() {
            match text {
                Some(text) => builder.push_text(text),
                None => builder.push_nothing(),
            }
        }
        return Ok(builder.finish());
    }
    let one = reader(array, natural)?;
    for row in 0..array.len() {
        match array.is_null(row) {
            true => builder.push_nothing(),
            false => builder.push(Some(&one(row)?)),
        }
    }
    Ok(builder.finish())
}

/// Reads a row that has a value.
type RowReader = Box<dyn Fn(usize) -> Result<Value>>;

fn wrong<E: std::fmt::Display>(error: E) -> Error {
    Error::invalid(error.to_string())
}

fn reader(array: &ArrayRef, value_type: ValueType) -> Result<RowReader> {
    let plain = |data_type: DataType| cast(array, &data_type);
    Ok(match value_type {
        ValueType::Bool => {
            let array = array.as_boolean().clone();
            Box::new(move |row| Ok(Value::Bool(array.value(row))))
        }
        ValueType::I8 => number::<Int8Type>(&plain(DataType::Int8)?, Value::I8),
        ValueType::I16 => number::<Int16Type>(&plain(DataType::Int16)?, Value::I16),
        ValueType::I32 => number::<Int32Type>(&plain(DataType::Int32)?, Value::I32),
        ValueType::I64 => number::<Int64Type>(&plain(DataType::Int64)?, Value::I64),
        ValueType::F32 => number::<Float32Type>(&plain(DataType::Float32)?, Value::F32),
        ValueType::F64 => number::<Float64Type>(&plain(DataType::Float64)?, Value::F64),
        ValueType::Date => {
            number::<Date32Type>(&plain(DataType::Date32)?, |days| Value::Date(Date::from_days(days)))
        }
        ValueType::String => {
            let texts = plain(DataType::LargeUtf8)?;
            Box::new(move |row| Ok(Value::from(texts.as_string::<i64>().value(row))))
        }
        ValueType::Bytes => {
            let bytes = plain(DataType::LargeBinary)?;
            Box::new(move |row| Ok(Value::from(bytes.as_binary::<i64>().value(row))))
        }
        ValueType::Uuid => {
            let bytes = array.as_fixed_size_binary().clone();
            Box::new(move |row| Uuid::from_slice(bytes.value(row)).map(Value::Uuid).map_err(wrong))
        }
        ValueType::DateTime => moment(array)?,
        ValueType::Duration => {
            let whole = plain(DataType::Duration(TimeUnit::Nanosecond))?;
            let array = whole.as_primitive::<DurationNanosecondType>().clone();
            Box::new(move |row| {
                let nanos = array.value(row);
                let (seconds, rest) = (nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000));
                Duration::new(0, 0, seconds, rest as u32).map(Value::Duration).map_err(wrong)
            })
        }
        ValueType::Decimal => {
            let decimals = array.as_primitive::<Decimal128Type>().clone();
            Box::new(move |row| decimals.value_as_string(row).parse().map(Value::Decimal).map_err(wrong))
        }
        ValueType::List => list(array)?,
        other => return Err(Error::invalid(format!("a property of type {other} can't come from a column"))),
    })
}

fn number<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    value: impl Fn(T::Native) -> Value + 'static,
) -> RowReader {
    let array = array.as_primitive::<T>().clone();
    Box::new(move |row| Ok(value(array.value(row))))
}

/// Seconds where the unit is seconds, which reach farther than nanoseconds do; else nanoseconds.
fn moment(array: &ArrayRef) -> Result<RowReader> {
    if let DataType::Timestamp(TimeUnit::Second, _) = array.data_type() {
        let array = array.as_primitive::<TimestampSecondType>().clone();
        return Ok(Box::new(move |row| {
            DateTime::new(array.value(row), 0, 0).map(Value::DateTime).map_err(wrong)
        }));
    }
    let whole = cast(array, &DataType::Timestamp(TimeUnit::Nanosecond, None))?;
    let array = whole.as_primitive::<TimestampNanosecondType>().clone();
    Ok(Box::new(move |row| {
        let nanos = array.value(row);
        let (seconds, rest) = (nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000));
        DateTime::new(seconds, rest as u32, 0).map(Value::DateTime).map_err(wrong)
    }))
}

fn list(array: &ArrayRef) -> Result<RowReader> {
    let (DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _)) =
        array.data_type()
    else {
        return Err(Error::invalid(format!("a list expected, found {}", array.data_type())));
    };
    let item_type = natural(item)?;
    let lists = cast(array, &DataType::LargeList(item.clone()))?;
    Ok(Box::new(move |row| {
        let items = lists.as_list::<i64>().value(row);
        if items.null_count() > 0 {
            return Err(Error::invalid(format!("the list of row {row} holds a null, and lists hold values")));
        }
        let one = reader(&items, item_type)?;
        let values = (0..items.len()).map(one).collect::<Result<Vec<_>>>()?;
        List::new(values).map(Value::List).map_err(wrong)
    }))
}
