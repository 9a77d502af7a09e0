//! Cells: converts the arrays of a record batch to packed columns and ids.

use crate::import::assembly::id_column::IdColumn;
use crate::import::field::cell::{CellColumn, CellType, Cells};
use crate::import::id_type::{IdKind, IdType};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalDayTimeType,
    IntervalMonthDayNanoType, IntervalYearMonthType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::value::collection::{List, Map};
use evergraph_graph::value::date::Date;
use evergraph_graph::value::datetime::DateTime;
use evergraph_graph::value::duration::Duration;
use evergraph_graph::value::{Value, ValueType};

const MILLISECONDS_PER_DAY: i64 = 86_400_000;

/// The values of `array` as a column of `value_type`. `note` is told of each row whose value can't be
/// kept; it has none then.
#[must_use]
pub fn property(array: &dyn Array, value_type: ValueType, note: &mut dyn FnMut(usize, String)) -> CellColumn {
    let mut column = PackedColumnBuilder::default();
    match array.data_type() {
        DataType::Int64 => {
            for number in array.as_primitive::<Int64Type>() {
                match number {
                    Some(number) => column.push_i64(number),
                    None => column.push_nothing(),
                }
            }
        }
        DataType::Float64 => {
            for number in array.as_primitive::<Float64Type>() {
                match number {
                    Some(number) => column.push_f64(number),
                    None => column.push_nothing(),
                }
            }
        }
        DataType::Utf8 => {
            for text in array.as_string::<i32>() {
                match text {
                    Some(text) => column.push_text(text),
                    None => column.push_nothing(),
                }
            }
        }
        _ => {
            for row in 0..array.len() {
                let value = value_at(array, row, value_type == ValueType::Uuid).unwrap_or_else(|why| {
                    note(row, why);
                    None
                });
                column.push(value.as_ref());
            }
        }
    }
    CellColumn { value_type, column: column.finish() }
}

/// The values of `array`, whose strings are cells of `cell_type`. `note` is told of each row with one
/// that isn't; it has no value then.
#[must_use]
pub fn texts(array: &dyn Array, cell_type: CellType, note: &mut dyn FnMut(usize, String)) -> CellColumn {
    let mut cells = Cells::new(cell_type);
    for (row, text) in array.as_string::<i32>().iter().enumerate() {
        if let Err(why) = cells.push(text.unwrap_or_default().as_bytes()) {
            note(row, why);
        }
    }
    cells.finish()
}

/// The ids in `array`, as ones of `id_type`. `note` is told of each row without one, or with one that is
/// none of that type; it has one of no meaning then.
#[must_use]
pub fn ids(
    array: &dyn Array,
    is_uuid: bool,
    id_type: IdType,
    note: &mut dyn FnMut(usize, String),
) -> IdColumn {
    let mut ids = IdColumn::new(id_type.kind());
    for row in 0..array.len() {
        let id = match value_at(array, row, is_uuid) {
            Ok(Some(Value::String(text))) if text.is_empty() => Err("the id is missing".to_owned()),
            Ok(Some(id)) => {
                id_type.of_value(&id).ok_or_else(|| format!("{id} is not a valid {id_type}, as ids are here"))
            }
            Ok(None) => Err("the id is missing".to_owned()),
            Err(why) => Err(why),
        };
        let nothing = || if id_type.kind() == IdKind::Integers { Value::I64(0) } else { Value::from("") };
        ids.push_value(&id.unwrap_or_else(|why| {
            note(row, why);
            nothing()
        }));
    }
    ids
}

/// The value at `row`, which must exist; `None` if there is none.
///
/// # Errors
/// Why we can't keep it.
pub fn value_at(array: &dyn Array, row: usize, is_uuid: bool) -> Result<Option<Value>, String> {
    if array.is_null(row) {
        return Ok(None);
    }
    macro_rules! number {
        ($type:ty) => {
            array.as_primitive::<$type>().value(row)
        };
    }
    macro_rules! decimal {
        ($type:ty) => {
            parsed(&array.as_primitive::<$type>().value_as_string(row), ValueType::Decimal)?
        };
    }
    Ok(Some(match array.data_type() {
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Int8 => Value::I8(number!(Int8Type)),
        DataType::Int16 => Value::I16(number!(Int16Type)),
        DataType::Int32 => Value::I32(number!(Int32Type)),
        DataType::Int64 => Value::I64(number!(Int64Type)),
        DataType::UInt8 => Value::I16(number!(UInt8Type).into()),
        DataType::UInt16 => Value::I32(number!(UInt16Type).into()),
        DataType::UInt32 => Value::I64(number!(UInt32Type).into()),
        DataType::UInt64 => parsed(&number!(UInt64Type).to_string(), ValueType::BigInteger)?,
        DataType::Float16 => Value::F32(number!(Float16Type).to_f32()),
        DataType::Float32 => Value::F32(number!(Float32Type)),
        DataType::Float64 => Value::F64(number!(Float64Type)),
        DataType::Decimal32(..) => decimal!(Decimal32Type),
        DataType::Decimal64(..) => decimal!(Decimal64Type),
        DataType::Decimal128(..) => decimal!(Decimal128Type),
        DataType::Decimal256(..) => decimal!(Decimal256Type),
        DataType::Date32 => Value::Date(Date::from_days(number!(Date32Type))),
        DataType::Date64 => date(number!(Date64Type))?,
        DataType::Timestamp(unit, zone) => {
            let count = match unit {
                TimeUnit::Second => number!(TimestampSecondType),
                TimeUnit::Millisecond => number!(TimestampMillisecondType),
                TimeUnit::Microsecond => number!(TimestampMicrosecondType),
                TimeUnit::Nanosecond => number!(TimestampNanosecondType),
            };
            let (seconds, nanoseconds) = in_seconds(count, *unit);
            let offset = zone.as_deref().map_or(0, offset_seconds);
            let moment = DateTime::new(seconds, nanoseconds, offset);
            Value::DateTime(moment.map_err(|error| error.to_string())?)
        }
        DataType::Duration(unit) => {
            let count = match unit {
                TimeUnit::Second => number!(DurationSecondType),
                TimeUnit::Millisecond => number!(DurationMillisecondType),
                TimeUnit::Microsecond => number!(DurationMicrosecondType),
                TimeUnit::Nanosecond => number!(DurationNanosecondType),
            };
            let (seconds, nanoseconds) = in_seconds(count, *unit);
            duration(0, 0, seconds, nanoseconds)?
        }
        DataType::Interval(IntervalUnit::YearMonth) => duration(number!(IntervalYearMonthType), 0, 0, 0)?,
        DataType::Interval(IntervalUnit::DayTime) => {
            let interval = number!(IntervalDayTimeType);
            let (seconds, nanoseconds) = in_seconds(interval.milliseconds.into(), TimeUnit::Millisecond);
            duration(0, interval.days, seconds, nanoseconds)?
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let interval = number!(IntervalMonthDayNanoType);
            let (seconds, nanoseconds) = in_seconds(interval.nanoseconds, TimeUnit::Nanosecond);
            duration(interval.months, interval.days, seconds, nanoseconds)?
        }
        DataType::Utf8 => Value::from(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Value::from(array.as_string::<i64>().value(row)),
        DataType::Utf8View => Value::from(array.as_string_view().value(row)),
        DataType::Binary => bytes(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => bytes(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => bytes(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => {
            let found = array.as_fixed_size_binary().value(row);
            if is_uuid { uuid(found)? } else { bytes(found) }
        }
        DataType::List(_) => list(&array.as_list::<i32>().value(row))?,
        DataType::LargeList(_) => list(&array.as_list::<i64>().value(row))?,
        DataType::ListView(_) => list(&array.as_list_view::<i32>().value(row))?,
        DataType::LargeListView(_) => list(&array.as_list_view::<i64>().value(row))?,
        DataType::FixedSizeList(..) => list(&array.as_fixed_size_list().value(row))?,
        DataType::Struct(_) => {
            let fields = array.as_struct();
            let mut entries = Vec::with_capacity(fields.num_columns());
            for (name, column) in fields.column_names().into_iter().zip(fields.columns()) {
                if let Some(value) = value_at(column, row, false)? {
                    entries.push((Value::from(name), value));
                }
            }
            map(entries)?
        }
        DataType::Map(..) => {
            let pairs = array.as_map().value(row);
            let mut entries = Vec::with_capacity(pairs.len());
            for pair in 0..pairs.len() {
                let (key, value) =
                    (value_at(pairs.column(0), pair, false)?, value_at(pairs.column(1), pair, false)?);
                entries.extend(key.zip(value));
            }
            map(entries)?
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let Some(Value::I64(key)) = value_at(dictionary.keys(), row, false)?.map(widened) else {
                return Err("the number of an entry in a dictionary is missing".to_owned());
            };
            let values = dictionary.values();
            let key = usize::try_from(key).ok().filter(|key| *key < values.len());
            let Some(key) = key else { return Err("a dictionary lacks one of its entries".to_owned()) };
            return value_at(values, key, is_uuid);
        }
        other => return Err(format!("values of type {other} can't be kept")),
    }))
}

fn widened(number: Value) -> Value {
    number.as_i64().map_or(number, Value::I64)
}

fn parsed(text: &str, value_type: ValueType) -> Result<Value, String> {
    Value::parse(text, value_type).map_err(|error| error.to_string())
}

fn date(milliseconds: i64) -> Result<Value, String> {
    if milliseconds % MILLISECONDS_PER_DAY != 0 {
        return Err(format!("{milliseconds} ms is not the beginning of a day"));
    }
    let days = i32::try_from(milliseconds / MILLISECONDS_PER_DAY);
    days.map(|days| Value::Date(Date::from_days(days)))
        .map_err(|_| format!("{milliseconds} ms is beyond all dates"))
}

fn duration(months: i32, days: i32, seconds: i64, nanoseconds: u32) -> Result<Value, String> {
    Duration::new(months, days, seconds, nanoseconds).map(Value::Duration).map_err(|error| error.to_string())
}

/// A count of `unit` in seconds, and nanoseconds that go forward.
fn in_seconds(count: i64, unit: TimeUnit) -> (i64, u32) {
    let per_second: i64 = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let rest = count.rem_euclid(per_second) * (1_000_000_000 / per_second);
    (count.div_euclid(per_second), rest as u32)
}

/// The offset that a zone such as `+05:30` states; 0 for those with names, whose moments are in UTC.
fn offset_seconds(zone: &str) -> i32 {
    let (sign, digits) = match zone.split_at_checked(1) {
        Some(("+", digits)) => (1, digits),
        Some(("-", digits)) => (-1, digits),
        _ => return 0,
    };
    let (hours, minutes) = digits.split_once(':').unwrap_or(if digits.len() == 4 {
        digits.split_at_checked(2).unwrap_or((digits, "0"))
    } else {
        (digits, "0")
    });
    match (hours.parse::<i32>(), minutes.parse::<i32>()) {
        (Ok(hours @ 0..=18), Ok(minutes @ 0..=59)) => sign * (hours * 3600 + minutes * 60),
        _ => 0,
    }
}

fn bytes(bytes: &[u8]) -> Value {
    Value::Bytes(bytes.into())
}

fn uuid(bytes: &[u8]) -> Result<Value, String> {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    parsed(&hex, ValueType::Uuid)
}

fn list(elements: &dyn Array) -> Result<Value, String> {
    let mut values = Vec::with_capacity(elements.len());
    for row in 0..elements.len() {
        let value = value_at(elements, row, false)?;
        values.push(value.ok_or_else(|| format!("element {} of the list has no value", row + 1))?);
    }
    List::new(values).map(Value::List).map_err(|error| error.to_string())
}

fn map(entries: Vec<(Value, Value)>) -> Result<Value, String> {
    Map::new(entries).map(Value::Map).map_err(|error| error.to_string())
}
