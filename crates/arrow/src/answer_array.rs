//! Answer array: a column of an algorithm's answer as an Arrow array, without a copy.

use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use evergraph_analysis::column::{Column, ColumnKind, ColumnValues};
use std::sync::Arc;

/// `column` as an array: what is not known is null.
#[must_use]
pub fn answer_array(column: Column) -> ArrayRef {
    let rows = column.len();
    let known =
        column.known.map(|words| NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(words), 0, rows)));
    match column.values {
        ColumnValues::U32(values) => primitive::<UInt32Type>(values.into(), known),
        ColumnValues::U64(values) => primitive::<UInt64Type>(values.into(), known),
        ColumnValues::F64(values) => primitive::<Float64Type>(values.into(), known),
    }
}

fn primitive<T: ArrowPrimitiveType>(values: ScalarBuffer<T::Native>, known: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(values, known))
}

/// Bytes of a value of `column`.
#[must_use]
pub fn value_bytes(column: &Column) -> usize {
    match column.kind() {
        ColumnKind::U32 => size_of::<u32>(),
        _ => size_of::<u64>(),
    }
}

/// The type of a column, as Arrow calls it.
#[must_use]
pub const fn type_name(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Vertex | ColumnKind::U64 => "uint64",
        ColumnKind::U32 => "uint32",
        ColumnKind::F64 => "float64",
    }
}
