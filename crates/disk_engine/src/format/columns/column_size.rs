//! Column size: the exact bytes of a stored column while its values come, whatever type it turns out to
//! have.

use evergraph_graph::packed_column::Packing;
use evergraph_graph::value::{Value, ValueType};
use evergraph_storage::checkpoint::column_form::HEAD_BYTES;

use crate::format::stamps::varint_bytes;

/// Counts the bytes of a column.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColumnSize {
    items: usize,
    /// Items that have a value.
    values: usize,
    /// The type of all values; `Any` if they differ.
    value_type: Option<ValueType>,
    /// Of all values' payloads.
    payload_bytes: usize,
}

impl ColumnSize {
    /// Adds an item: the type of its value and the bytes of its payload, or nothing.
    #[must_use]
    #[inline]
    pub fn with(self, value: Option<(ValueType, usize)>) -> Self {
        let Some((found, bytes)) = value else { return Self { items: self.items + 1, ..self } };
        let value_type = match self.value_type {
            Some(known) if known != found => ValueType::Any,
            _ => found,
        };
        Self {
            items: self.items + 1,
            values: self.values + 1,
            value_type: Some(value_type),
            payload_bytes: self.payload_bytes + bytes,
        }
    }

    /// Bytes of the column: none if no item has a value.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> usize {
        let Some(value_type) = self.value_type else { return 0 };
        let present = if self.values == self.items { 0 } else { 8 * self.items.div_ceil(64) };
        let data = match Packing::of(value_type) {
            Packing::Integers | Packing::Floats => 8 * self.items,
            Packing::Bytes => {
                let codes = if value_type == ValueType::Any { self.values } else { 0 };
                4 * self.items + codes + self.payload_bytes
            }
        };
        HEAD_BYTES + present + data
    }
}

/// Bytes of a value's payload: of its stable form without the type's code. Cost: constant for all but
/// large numbers and collections, which are encoded for it.
#[must_use]
pub fn payload_bytes(value: &Value) -> usize {
    match value {
        Value::Bool(_) | Value::I8(_) => 1,
        Value::I16(_) => 2,
        Value::I32(_) | Value::F32(_) | Value::Char(_) | Value::Date(_) => 4,
        Value::I64(_) | Value::F64(_) => 8,
        Value::DateTime(_) | Value::Uuid(_) => 16,
        Value::Duration(_) => 20,
        Value::String(text) => varint_bytes(text.len() as u64) + text.len(),
        Value::Bytes(bytes) => varint_bytes(bytes.len() as u64) + bytes.len(),
        Value::BigInteger(_) | Value::Decimal(_) | Value::List(_) | Value::Set(_) | Value::Map(_) => {
            let mut payload = Vec::new();
            value.encode_payload(&mut payload);
            payload.len()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::packed_column::PackedColumnBuilder;
    use evergraph_graph::value::strategy::any_value;
    use evergraph_storage::checkpoint::column_form::put_column;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_column_takes_as_many_bytes_as_it_is_said_to(
            values in proptest::collection::vec(proptest::option::of(any_value()), 1..80), one_type in any::<bool>(),
        ) {
            let first_type = values.iter().flatten().next().map(Value::value_type);
            let (mut column, mut size) = (PackedColumnBuilder::default(), ColumnSize::default());
            for value in &values {
                let value = value.as_ref().filter(|value| !one_type || Some(value.value_type()) == first_type);
                column.push(value);
                size = size.with(value.map(|value| (value.value_type(), payload_bytes(value))));
            }
            let mut bytes = Vec::new();
            if let Some(column) = column.finish() {
                put_column(&mut bytes, &column);
            }
            prop_assert_eq!(bytes.len(), size.bytes());
        }
    }
}
