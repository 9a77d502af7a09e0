//! Column: a stored column. Every item of one that is read can be asked for, and it is written in the
//! same bytes.

use crate::samples;
use crate::target::{Memory, Target};
use evergraph_graph::bytes::Reader;
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::value::{Value, ValueType};
use evergraph_storage::checkpoint::column_form::{put_column, take_column};

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 16, per_byte: 256 } };

fn seeds() -> Vec<Vec<u8>> {
    let values = samples::values();
    let alone = values.iter().map(|value| vec![Some(value), None, Some(value)]);
    let mixed = values.iter().map(Some).collect();
    let columns =
        alone.chain([mixed]).map(|items| PackedColumn::from_values(items).expect("there are values"));
    columns.map(|column| written(&column)).collect()
}

fn written(column: &PackedColumn) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_column(&mut bytes, column);
    bytes
}

fn promise(input: &[u8]) {
    let mut reader = Reader::new(input);
    let column = match take_column(&mut reader, |_| true) {
        Ok(column) => column,
        Err(error) => return assert!(error.offset <= input.len() && !error.expected.is_empty(), "{error}"),
    };
    assert_eq!(written(&column), &input[..reader.offset()], "{column:?}");
    let values: Vec<Option<Value>> = (0..column.len()).map(|item| column.get(item)).collect();
    for (item, value) in values.iter().enumerate() {
        assert_eq!(value.is_some(), column.has(item));
        let of_type = |value: &Value| value.value_type() == column.value_type();
        assert!(column.value_type() == ValueType::Any || value.as_ref().is_none_or(of_type), "{value:?}");
    }
    assert!(column.get(column.len()).is_none());
    let again = PackedColumn::from_values(values.iter().map(Option::as_ref));
    let again_at = |item| again.as_ref().and_then(|column: &PackedColumn| column.get(item));
    values.iter().enumerate().for_each(|(item, value)| assert_eq!(again_at(item), *value));
}
