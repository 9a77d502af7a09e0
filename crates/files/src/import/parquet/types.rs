//! Types: the property type of a column of a Parquet file.
//!
//! | there | here |
//! |---|---|
//! | integers with sign; without | the same; the next wider one (`bigint` for 64 bits) |
//! | 16, 32 and 64 bit floats | `float`, `float`, `double` |
//! | decimals of any width | `bigdecimal` |
//! | dates | `date` |
//! | timestamps of any unit | `datetime`; in UTC if they have no zone or one with a name |
//! | durations, intervals | `duration` |
//! | strings, binary, UUIDs | `string`, `bytes`, `uuid` |
//! | lists; structs, maps | `list`; `map` |
//! | dictionaries | as their values |
//!
//! Times of day, unions and what has no values at all have no counterpart.

use arrow_schema::DataType;
use evergraph_graph::value::ValueType;

/// The type of the values in a column of `data_type`; `None` if we have none.
#[must_use]
pub fn value_type_of(data_type: &DataType, is_uuid: bool) -> Option<ValueType> {
    Some(match data_type {
        DataType::Boolean => ValueType::Bool,
        DataType::Int8 => ValueType::I8,
        DataType::Int16 | DataType::UInt8 => ValueType::I16,
        DataType::Int32 | DataType::UInt16 => ValueType::I32,
        DataType::Int64 | DataType::UInt32 => ValueType::I64,
        DataType::UInt64 => ValueType::BigInteger,
        DataType::Float16 | DataType::Float32 => ValueType::F32,
        DataType::Float64 => ValueType::F64,
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => ValueType::Decimal,
        DataType::Date32 | DataType::Date64 => ValueType::Date,
        DataType::Timestamp(..) => ValueType::DateTime,
        DataType::Duration(_) | DataType::Interval(_) => ValueType::Duration,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ValueType::String,
        DataType::FixedSizeBinary(16) if is_uuid => ValueType::Uuid,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            ValueType::Bytes
        }
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::ListView(element)
        | DataType::LargeListView(element)
        | DataType::FixedSizeList(element, _) => {
            value_type_of(element.data_type(), false)?;
            ValueType::List
        }
        DataType::Struct(fields) => {
            fields.iter().try_for_each(|field| value_type_of(field.data_type(), false).map(drop))?;
            ValueType::Map
        }
        DataType::Map(entries, _) => {
            value_type_of(entries.data_type(), false)?;
            ValueType::Map
        }
        DataType::Dictionary(_, values) => value_type_of(values, false)?,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::{Field, TimeUnit};
    use std::sync::Arc;

    #[test]
    fn a_type_inside_another_that_has_no_counterpart_is_refused_with_it() {
        let time = DataType::Time32(TimeUnit::Second);
        assert_eq!(value_type_of(&time, false), None);
        let list = |inner| DataType::List(Arc::new(Field::new("element", inner, true)));
        assert_eq!(value_type_of(&list(DataType::UInt8), false), Some(ValueType::List));
        assert_eq!(value_type_of(&list(list(time)), false), None);
        assert_eq!(value_type_of(&DataType::FixedSizeBinary(16), true), Some(ValueType::Uuid));
        assert_eq!(value_type_of(&DataType::FixedSizeBinary(15), true), Some(ValueType::Bytes));
    }
}
