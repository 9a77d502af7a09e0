//! Arrow in: converts columns of any Arrow producer to packed columns of properties.
//!
//! | Arrow | property |
//! |---|---|
//! | bool; int8 to int64; float16, float32, float64 | the same; float16 is a float |
//! | uint8, uint16, uint32 | short, int, long |
//! | uint64 | long if all of the column's numbers are below 2^63, else bigint |
//! | strings, binaries of all forms; dictionaries of them | string, bytes |
//! | date32, date64; timestamps; durations, intervals | date; datetime; duration |
//! | decimals; `arrow.uuid` | decimal; uuid |
//! | lists; structs, maps | list; map (fields and entries without a value are left out) |
//!
//! But for uint64 these are the types of a Parquet file, by the same code. A property that has a type already gets values
//! of it: a number as another type of number if that holds exactly this one. Nothing is ever rounded.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Date32Type, Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, FieldRef, Fields, SchemaRef};
use evergraph::graph::catalogue::{Catalogue, Owner};
use evergraph::graph::load::BLOCK_ROWS;
use evergraph::graph::packed_column::{PackedColumn, PackedColumnBuilder, PackedData};
use evergraph::graph::value::ValueType;
use evergraph::import::parquet::cells::value_at;
use evergraph::import::parquet::types::value_type_of;
use evergraph::storage::transaction::fitting::fitted;
use evergraph::{Error, Result};
use rayon::prelude::*;
use std::sync::Arc;

/// Properties as columns in blocks of rows.
#[derive(Debug)]
pub struct Columns {
    /// Key and type of each.
    pub properties: Vec<(String, ValueType)>,
    /// Rows, and a column a property.
    pub blocks: Vec<(usize, Vec<Option<PackedColumn>>)>,
}

/// How a column of a table is read.
struct ColumnReader {
    /// Its place in the table.
    place: usize,
    name: String,
    /// The type that it is read as: its own, with int64 in place of uint64 where all numbers fit.
    data_type: DataType,
    is_uuid: bool,
    /// The property's type.
    value_type: ValueType,
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
    let mut readers: Vec<ColumnReader> = Vec::with_capacity(schema.fields().len());
    for (place, field) in schema.fields().iter().enumerate() {
        if left_out.contains(&field.name().as_str()) {
            continue;
        }
        if readers.iter().any(|reader| reader.name == *field.name()) {
            return Err(Error::invalid(format!("two columns are called {:?}", field.name())));
        }
        let declared = owner.and_then(|owner| {
            let key = catalogue.key(field.name())?;
            catalogue.property_type(owner, key)
        });
        readers.push(ColumnReader::new(place, field, batches, declared)?);
    }
    let mut first_row = 0;
    let mut parts = Vec::new();
    for batch in batches {
        parts
            .extend((0..batch.num_rows()).step_by(BLOCK_ROWS).map(|start| (batch, start, first_row + start)));
        first_row += batch.num_rows();
    }
    // In order, so that the first error is the one that is told.
    let blocks: Vec<Result<_>> = parts
        .into_par_iter()
        .map(|(batch, start, first_row)| {
            let rows = BLOCK_ROWS.min(batch.num_rows() - start);
            let packed = readers.iter().map(|reader| {
                let array = batch.column(reader.place).slice(start, rows);
                reader
                    .pack(&array, first_row)
                    .map_err(|error| error.context(format!("column {:?}", reader.name)))
            });
            Ok((rows, packed.collect::<Result<Vec<_>>>()?))
        })
        .collect();
    let blocks = blocks.into_iter().collect::<Result<_>>()?;
    let properties = readers.into_iter().map(|reader| (reader.name, reader.value_type)).collect();
    Ok(Columns { properties, blocks })
}

/// Whether values of type `natural` may be tried as `declared`.
fn becomes(natural: ValueType, declared: ValueType) -> bool {
    let float = |kind| matches!(kind, ValueType::F32 | ValueType::F64);
    let whole = |kind| {
        matches!(
            kind,
            ValueType::I8 | ValueType::I16 | ValueType::I32 | ValueType::I64 | ValueType::BigInteger
        )
    };
    natural == declared
        || declared == ValueType::Any
        || whole(natural) && (whole(declared) || float(declared) || declared == ValueType::Decimal)
        || float(natural) && float(declared)
}

/// `data_type` with int64 in place of uint64, wherever that is in it.
fn signed(data_type: &DataType) -> DataType {
    let inside = |field: &FieldRef| -> FieldRef {
        Arc::new(Field::clone(field).with_data_type(signed(field.data_type())))
    };
    match data_type {
        DataType::UInt64 => DataType::Int64,
        DataType::List(item) => DataType::List(inside(item)),
        DataType::LargeList(item) => DataType::LargeList(inside(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(inside(item), *length),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inside).collect::<Fields>()),
        DataType::Map(entries, sorted) => DataType::Map(inside(entries), *sorted),
        DataType::Dictionary(keys, values) => DataType::Dictionary(keys.clone(), Box::new(signed(values))),
        other => other.clone(),
    }
}

/// Whether all numbers of uint64 in `array` are below 2^63.
fn fits_signed(array: &dyn Array) -> bool {
    match array.data_type() {
        DataType::UInt64 => {
            let numbers = array.as_primitive::<UInt64Type>();
            let fits = |number: u64| i64::try_from(number).is_ok();
            match numbers.null_count() {
                0 => numbers.values().iter().all(|number| fits(*number)),
                _ => numbers.iter().flatten().all(fits),
            }
        }
        DataType::List(_) => fits_signed(array.as_list::<i32>().values()),
        DataType::LargeList(_) => fits_signed(array.as_list::<i64>().values()),
        DataType::FixedSizeList(..) => fits_signed(array.as_fixed_size_list().values()),
        DataType::Struct(_) => array.as_struct().columns().iter().all(|column| fits_signed(column)),
        DataType::Map(..) => array.as_map().entries().columns().iter().all(|column| fits_signed(column)),
        DataType::Dictionary(..) => fits_signed(array.as_any_dictionary().values()),
        _ => true,
    }
}

/// `array` in another form of the same; a value that has none is an error.
fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
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

impl ColumnReader {
    fn new(
        place: usize,
        field: &Field,
        batches: &[RecordBatch],
        declared: Option<ValueType>,
    ) -> Result<Self> {
        let name = field.name().clone();
        let is_uuid = field.metadata().get("ARROW:extension:name").is_some_and(|name| name == "arrow.uuid");
        let mut data_type = signed(field.data_type());
        if data_type != *field.data_type() && !batches.iter().all(|batch| fits_signed(batch.column(place))) {
            data_type = field.data_type().clone();
        }
        // A column of nothing but nulls has no type, and needs none.
        let natural = match &data_type {
            DataType::Null => declared.unwrap_or(ValueType::String),
            _ => value_type_of(&data_type, is_uuid).ok_or_else(|| {
                let text = format!("column {name:?}: a property can't hold Arrow's {}", field.data_type());
                Error::invalid(text)
            })?,
        };
        let value_type = match declared {
            Some(declared) if becomes(natural, declared) => declared,
            Some(declared) => {
                return Err(Error::invalid(format!("column {name:?}: {declared} expected, found {natural}")));
            }
            None => natural,
        };
        Ok(Self { place, name, data_type, is_uuid, value_type })
    }

    /// `array` as a column of the property; `None` if no row has a value. Its first row is number `first_row`.
    fn pack(&self, array: &ArrayRef, first_row: usize) -> Result<Option<PackedColumn>> {
        if array.null_count() == array.len() || self.data_type == DataType::Null {
            return Ok(None);
        }
        let plain = cast(array, &self.data_type)?;
        let is_whole = plain.data_type().is_integer() && self.data_type != DataType::UInt64;
        let (array, data) = match self.value_type {
            ValueType::I8 | ValueType::I16 | ValueType::I32 | ValueType::I64 if is_whole => {
                let whole = cast(&plain, &DataType::Int64)?;
                let data = numbers::<Int64Type, i64>(&whole, |number| number);
                self.check_width(&data, first_row)?;
                (whole, PackedData::Integers(data))
            }
            ValueType::Bool if plain.data_type() == &DataType::Boolean => {
                let truths = plain.as_boolean();
                let data = truths.iter().map(|truth| i64::from(truth == Some(true))).collect();
                (plain, PackedData::Integers(data))
            }
            ValueType::Date if plain.data_type() == &DataType::Date32 => {
                let data = numbers::<Date32Type, i64>(&plain, i64::from);
                (plain, PackedData::Integers(data))
            }
            ValueType::F32 | ValueType::F64 if is_whole || plain.data_type().is_floating() => {
                let floats = cast(&plain, &DataType::Float64)?;
                let data = numbers::<Float64Type, f64>(&floats, |number| number);
                self.check_floats(&plain, &data, first_row)?;
                (floats, PackedData::Floats(data))
            }
            ValueType::String => return self.pack_texts(&plain),
            _ => return self.pack_values(&plain, first_row),
        };
        let made = PackedColumn::from_parts(self.value_type, array.len(), present(&array), data);
        made.map(Some).map_err(Error::invalid)
    }

    /// Complains about the first of `numbers` that the property's type is too narrow for.
    fn check_width(&self, numbers: &[i64], first_row: usize) -> Result<()> {
        let bound: i64 = match self.value_type {
            ValueType::I8 => i8::MAX.into(),
            ValueType::I16 => i16::MAX.into(),
            ValueType::I32 => i32::MAX.into(),
            _ => return Ok(()),
        };
        let is_beyond = |number: &i64| !(-bound - 1..=bound).contains(number);
        match numbers.iter().position(is_beyond) {
            None => Ok(()),
            Some(at) => {
                let (row, number, value_type) = (first_row + at, numbers[at], self.value_type);
                Err(Error::invalid(format!("row {row}: {number} is beyond what a {value_type} can be")))
            }
        }
    }

    /// Complains about the first of `floats`, which are the numbers of `array`, that isn't exactly this number, or that
    /// the property's type has no exact form of.
    fn check_floats(&self, array: &ArrayRef, floats: &[f64], first_row: usize) -> Result<()> {
        let inexact = |at: usize, number: String| {
            let (row, value_type) = (first_row + at, self.value_type);
            Err(Error::invalid(format!("row {row}: {number} has no exact {value_type}")))
        };
        if array.data_type().is_integer() {
            let whole = cast(array, &DataType::Int64)?;
            let whole = numbers::<Int64Type, i64>(&whole, |number| number);
            // The float nearest to an integer of 64 bits is whole, and far within 128 bits.
            let is_inexact = |(number, float): (&i64, &f64)| i128::from(*number) != *float as i128;
            if let Some(at) = whole.iter().zip(floats).position(is_inexact) {
                return inexact(at, whole[at].to_string());
            }
        }
        if self.value_type == ValueType::F32
            && !matches!(array.data_type(), DataType::Float16 | DataType::Float32)
        {
            let is_inexact = |float: &f64| !float.is_nan() && f64::from(*float as f32) != *float;
            if let Some(at) = floats.iter().position(is_inexact) {
                return inexact(at, format!("{:?}", floats[at]));
            }
        }
        Ok(())
    }

    fn pack_texts(&self, array: &ArrayRef) -> Result<Option<PackedColumn>> {
        let mut builder = PackedColumnBuilder::default();
        let texts = cast(array, &DataType::LargeUtf8)?;
        for text in texts.as_string::<i64>() {
            match text {
                Some(text) => builder.push_text(text),
                None => builder.push_nothing(),
            }
        }
        Ok(builder.finish())
    }

    /// Value by value, for what has no plain form.
    fn pack_values(&self, array: &ArrayRef, first_row: usize) -> Result<Option<PackedColumn>> {
        let mut builder = PackedColumnBuilder::default();
        let in_row = |at: usize, why: String| Error::invalid(format!("row {}: {why}", first_row + at));
        for at in 0..array.len() {
            let Some(mut value) = value_at(array, at, self.is_uuid).map_err(|why| in_row(at, why))? else {
                builder.push_nothing();
                continue;
            };
            if self.value_type != ValueType::Any && value.value_type() != self.value_type {
                let fitting = fitted(&value, self.value_type);
                value =
                    fitting.ok_or_else(|| in_row(at, format!("{value} has no exact {}", self.value_type)))?;
            }
            builder.push(Some(&value));
        }
        Ok(builder.finish())
    }
}
