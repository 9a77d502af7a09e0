//! Column array: converts columns of properties to arrays that any Arrow consumer reads.
//!
//! | property | Arrow |
//! |---|---|
//! | bool; byte to long; float, double | bool; int8 to int64; float32, float64 |
//! | string, char; bytes | large_string; large_binary |
//! | date; datetime | date32; timestamp in nanoseconds, UTC (the offset stays behind) |
//! | duration | duration; month_day_nano_interval if one has months or days |
//! | uuid | fixed_size_binary(16), `arrow.uuid` |
//! | bigint | uint64 if all fit, else decimal128 without a fraction |
//! | decimal | decimal128 with the longest fraction |
//! | list, set | large_list of the one type that all items have |
//! | map | struct if all keys are texts, and not too many; else map, if all keys are of one type |
//! | numbers of several types | the narrowest type that holds each exactly |
//! | other values of several types, numbers of more than 38 digits | their text, large_string |
//!
//! Moments and durations are counted in nanoseconds, or in the next unit that holds all of them exactly.

use crate::time_array::{durations, moments};
use arrow_array::builder::{LargeBinaryBuilder, LargeStringBuilder};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, LargeListArray, MapArray, StructArray,
    UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{Field, Fields};
use evergraph_graph::column::{Column, ColumnData};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::collection::Map;
use evergraph_graph::value::{Value, ValueType};
use num_bigint::BigInt;
use std::collections::HashMap;
use std::sync::Arc;

/// Structs have so many fields at most: maps with more keys are no records, but say something by their keys.
const FIELDS_MAX: usize = 256;

/// Digits of a decimal128.
const DECIMAL_DIGITS_MAX: u8 = 38;

/// An array made of values.
pub struct ArrowArray {
    /// The array.
    pub array: ArrayRef,
    is_uuid: bool,
}

impl ArrowArray {
    /// What a column of it is called in a schema, `name` and its type.
    #[must_use]
    pub fn field(&self, name: &str) -> Field {
        let field = Field::new(name, self.array.data_type().clone(), true);
        if !self.is_uuid {
            return field;
        }
        field.with_metadata(HashMap::from([("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())]))
    }
}

impl<A: Array + 'static> From<A> for ArrowArray {
    fn from(array: A) -> Self {
        Self { array: Arc::new(array), is_uuid: false }
    }
}

/// `column` as an array.
///
/// # Errors
/// `limit` for moments and durations beyond 64 bits of any unit; `invalid` if Arrow refuses an array.
pub fn to_arrow(column: &Column) -> Result<ArrowArray> {
    Ok(match &column.data {
        ColumnData::Integers(rows) => integers(column.value_type, rows),
        ColumnData::Floats(rows) if column.value_type == ValueType::F32 => {
            rows.iter().map(|row| row.map(|number| number as f32)).collect::<Float32Array>().into()
        }
        ColumnData::Floats(rows) => rows.iter().copied().collect::<Float64Array>().into(),
        ColumnData::Values(rows) => {
            let rows: Vec<Option<&Value>> = rows.iter().map(Option::as_ref).collect();
            values(&rows, column.value_type)?
        }
    })
}

fn integers(value_type: ValueType, rows: &[Option<i64>]) -> ArrowArray {
    match value_type {
        ValueType::I8 => rows.iter().map(|row| row.map(|number| number as i8)).collect::<Int8Array>().into(),
        ValueType::I16 => {
            rows.iter().map(|row| row.map(|number| number as i16)).collect::<Int16Array>().into()
        }
        ValueType::I32 => {
            rows.iter().map(|row| row.map(|number| number as i32)).collect::<Int32Array>().into()
        }
        _ => rows.iter().copied().collect::<Int64Array>().into(),
    }
}

/// The type that all of `rows` have, or that holds each of these numbers exactly; `None` if there is none.
fn common_type(rows: &[Option<&Value>]) -> Option<ValueType> {
    let (mut types, mut exact_floats) = (Vec::new(), true);
    for value in rows.iter().flatten() {
        let value_type = value.value_type();
        if !types.contains(&value_type) {
            types.push(value_type);
        }
        exact_floats &= value.as_i64().is_none_or(|number| number.unsigned_abs() <= 1 << 53);
    }
    let all = |known: &[ValueType]| types.iter().all(|value_type| known.contains(value_type));
    let [first, rest @ ..] = types.as_slice() else { return None };
    let ladder = [ValueType::I8, ValueType::I16, ValueType::I32, ValueType::I64, ValueType::BigInteger];
    let has_big = types.contains(&ValueType::BigInteger);
    if rest.is_empty() {
        Some(*first)
    } else if all(&ladder) {
        ladder.into_iter().rev().find(|value_type| types.contains(value_type))
    } else if all(&[ValueType::F32, ValueType::F64]) || all(&NUMBERS) && exact_floats && !has_big {
        Some(ValueType::F64)
    } else if types.contains(&ValueType::Decimal) && all(&[&ladder[..], &[ValueType::Decimal]].concat()) {
        Some(ValueType::Decimal)
    } else {
        None
    }
}

/// Numbers of fixed widths.
const NUMBERS: [ValueType; 6] =
    [ValueType::I8, ValueType::I16, ValueType::I32, ValueType::I64, ValueType::F32, ValueType::F64];

/// The array of values; `declared` is the type of one without any.
fn values(rows: &[Option<&Value>], declared: ValueType) -> Result<ArrowArray> {
    let is_empty = rows.iter().all(Option::is_none);
    let common = if is_empty { Some(declared) } else { common_type(rows) };
    let made = match common {
        Some(ValueType::Bool) => each(rows, Value::as_bool).collect::<BooleanArray>().into(),
        Some(ValueType::Bytes) => {
            let mut bytes = LargeBinaryBuilder::new();
            for row in rows {
                match row {
                    Some(Value::Bytes(row)) => bytes.append_value(row),
                    _ => bytes.append_null(),
                }
            }
            bytes.finish().into()
        }
        Some(ValueType::Date) => {
            each(rows, |value| if let Value::Date(date) = value { Some(date.days()) } else { None })
                .collect::<Date32Array>()
                .into()
        }
        Some(ValueType::DateTime) => ArrowArray { array: moments(rows)?, is_uuid: false },
        Some(ValueType::Duration) => ArrowArray { array: durations(rows)?, is_uuid: false },
        Some(ValueType::Uuid) => {
            let uuids = rows.iter().map(|row| match row {
                Some(Value::Uuid(uuid)) => Some(*uuid.as_bytes()),
                _ => None,
            });
            let made = FixedSizeBinaryArray::try_from_sparse_iter_with_size(uuids, 16).map_err(wrong)?;
            ArrowArray { array: Arc::new(made), is_uuid: true }
        }
        Some(ValueType::List | ValueType::Set) => lists(rows)?,
        Some(ValueType::Map) => return Ok(maps(rows)?.unwrap_or_else(|| texts(rows))),
        Some(whole @ (ValueType::I8 | ValueType::I16 | ValueType::I32 | ValueType::I64)) => {
            integers(whole, &each(rows, Value::as_i64).collect::<Vec<_>>())
        }
        Some(ValueType::F32) => {
            each(rows, |value| value.as_f64().map(|number| number as f32)).collect::<Float32Array>().into()
        }
        Some(ValueType::F64) => each(rows, Value::as_f64).collect::<Float64Array>().into(),
        Some(ValueType::BigInteger) => {
            return Ok(unsigned(rows).or_else(|| decimals(rows)).unwrap_or_else(|| texts(rows)));
        }
        Some(ValueType::Decimal) => return Ok(decimals(rows).unwrap_or_else(|| texts(rows))),
        _ => texts(rows),
    };
    Ok(made)
}

fn each<'a, T>(
    rows: &'a [Option<&'a Value>],
    of: impl Fn(&Value) -> Option<T> + 'a,
) -> impl Iterator<Item = Option<T>> + 'a {
    rows.iter().map(move |row| row.and_then(&of))
}

fn texts(rows: &[Option<&Value>]) -> ArrowArray {
    let mut texts = LargeStringBuilder::new();
    for row in rows {
        match row {
            None => texts.append_null(),
            Some(Value::String(text)) => texts.append_value(text),
            Some(other) => texts.append_value(other.to_string()),
        }
    }
    texts.finish().into()
}

/// Whole numbers as uint64, if each is one.
fn unsigned(rows: &[Option<&Value>]) -> Option<ArrowArray> {
    let number = |value: &Value| match value {
        Value::BigInteger(number) => u64::try_from(number.as_inner()).ok(),
        other => other.as_i64().and_then(|number| number.try_into().ok()),
    };
    let numbers = rows.iter().map(|row| match row {
        None => Some(None),
        Some(value) => number(value).map(Some),
    });
    numbers.collect::<Option<UInt64Array>>().map(ArrowArray::from)
}

/// Whole numbers and decimals as decimal128, if they have few enough digits.
fn decimals(rows: &[Option<&Value>]) -> Option<ArrowArray> {
    let parts = |value: &Value| match value {
        Value::Decimal(number) => {
            let (digits, scale) = number.as_parts();
            Some((digits.into_owned(), scale))
        }
        Value::BigInteger(number) => Some((number.as_inner().clone(), 0)),
        other => other.as_i64().map(|number| (BigInt::from(number), 0)),
    };
    let rows: Vec<Option<(BigInt, i64)>> = rows
        .iter()
        .map(|row| row.map_or(Some(None), |value| parts(value).map(Some)))
        .collect::<Option<_>>()?;
    let scale = rows.iter().flatten().map(|(_, scale)| *scale).max().unwrap_or(0).max(0);
    let fraction_digits = i8::try_from(scale).ok().filter(|digits| *digits <= DECIMAL_DIGITS_MAX as i8)?;
    let bound = 10_i128.pow(DECIMAL_DIGITS_MAX.into());
    let digits = |(digits, own): &(BigInt, i64)| {
        // A decimal of few digits may have many zeros behind them.
        let zeros = u32::try_from(scale - own).ok().filter(|zeros| *zeros <= DECIMAL_DIGITS_MAX.into())?;
        let digits = i128::try_from(digits * BigInt::from(10).pow(zeros)).ok()?;
        (digits.abs() < bound).then_some(digits)
    };
    let digits = rows.iter().map(|row| row.as_ref().map_or(Some(None), |row| digits(row).map(Some)));
    let array = digits.collect::<Option<Decimal128Array>>()?;
    array.with_precision_and_scale(DECIMAL_DIGITS_MAX, fraction_digits).ok().map(ArrowArray::from)
}

fn present<T>(rows: &[Option<T>]) -> NullBuffer {
    rows.iter().map(Option::is_some).collect::<Vec<bool>>().into()
}

fn items_of<'a>(row: &Option<&'a Value>) -> &'a [Value] {
    match row {
        Some(Value::List(list)) => list.as_slice(),
        Some(Value::Set(set)) => set.as_slice(),
        _ => &[],
    }
}

fn lists(rows: &[Option<&Value>]) -> Result<ArrowArray> {
    let items: Vec<Option<&Value>> = rows.iter().flat_map(|row| items_of(row).iter().map(Some)).collect();
    let items = values(&items, ValueType::String)?;
    let offsets = OffsetBuffer::from_lengths(rows.iter().map(|row| items_of(row).len()));
    let item = Arc::new(items.field("item"));
    Ok(LargeListArray::try_new(item, offsets, items.array, Some(present(rows))).map_err(wrong)?.into())
}

fn map_of<'a>(row: &Option<&'a Value>) -> Option<&'a Map> {
    match row {
        Some(Value::Map(map)) => Some(map),
        _ => None,
    }
}

/// Maps as structs or as Arrow's maps; `None` if their keys don't allow it.
fn maps(rows: &[Option<&Value>]) -> Result<Option<ArrowArray>> {
    let entries = || rows.iter().filter_map(map_of).flat_map(Map::as_slice);
    let (mut names, mut places): (Vec<&str>, HashMap<&str, usize>) = Default::default();
    for (key, _) in entries() {
        let Value::String(name) = key else { return arrow_maps(rows) };
        if !places.contains_key(&**name) {
            if names.len() == FIELDS_MAX {
                return arrow_maps(rows);
            }
            places.insert(name, names.len());
            names.push(name);
        }
    }
    let mut columns = vec![vec![None; rows.len()]; names.len()];
    for (at, map) in rows.iter().map(map_of).enumerate() {
        for (key, value) in map.into_iter().flat_map(Map::as_slice) {
            if let Value::String(name) = key {
                columns[places[&**name]][at] = Some(value);
            }
        }
    }
    let nulls = Some(present(rows));
    if names.is_empty() {
        return Ok(Some(StructArray::new_empty_fields(rows.len(), nulls).into()));
    }
    let columns =
        columns.iter().map(|column| values(column, ValueType::String)).collect::<Result<Vec<_>>>()?;
    let fields: Fields = names.iter().zip(&columns).map(|(name, column)| column.field(name)).collect();
    let arrays = columns.into_iter().map(|column| column.array).collect();
    Ok(Some(StructArray::try_new(fields, arrays, nulls).map_err(wrong)?.into()))
}

/// Maps with keys of one type.
fn arrow_maps(rows: &[Option<&Value>]) -> Result<Option<ArrowArray>> {
    let entries = || rows.iter().filter_map(map_of).flat_map(Map::as_slice);
    let keys: Vec<Option<&Value>> = entries().map(|(key, _)| Some(key)).collect();
    let first = keys.first().copied().flatten().map(Value::value_type);
    let is_one_type = keys.iter().flatten().all(|key| Some(key.value_type()) == first);
    // Arrow counts the entries of maps in 31 bits.
    if !is_one_type || i32::try_from(keys.len()).is_err() {
        return Ok(None);
    }
    let keys = values(&keys, ValueType::String)?;
    let contents = values(&entries().map(|(_, value)| Some(value)).collect::<Vec<_>>(), ValueType::String)?;
    let fields = Fields::from(vec![keys.field("key").with_nullable(false), contents.field("value")]);
    let entries = StructArray::try_new(fields, vec![keys.array, contents.array], None).map_err(wrong)?;
    let lengths = rows.iter().map(|row| map_of(row).map_or(0, |map| map.as_slice().len()));
    let field = Arc::new(Field::new("entries", entries.data_type().clone(), false));
    let offsets = OffsetBuffer::from_lengths(lengths);
    let made = MapArray::try_new(field, offsets, entries, Some(present(rows)), false);
    Ok(Some(made.map_err(wrong)?.into()))
}

fn wrong<E: std::fmt::Display>(error: E) -> Error {
    Error::invalid(error.to_string())
}
