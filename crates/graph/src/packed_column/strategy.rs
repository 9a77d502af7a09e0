//! Random packed columns for property tests, of this crate and, by the feature `strategy`, of others.

use crate::packed_column::builder::PackedColumnBuilder;
use crate::packed_column::column::PackedColumn;
use crate::value::date::Date;
use crate::value::{Value, ValueType};
use proptest::prelude::*;

fn value_of(value_type: ValueType, seed: i64) -> Value {
    match value_type {
        ValueType::Bool => Value::Bool(seed % 2 == 0),
        ValueType::I8 => Value::I8(seed as i8),
        ValueType::I32 => Value::I32(seed as i32),
        ValueType::I64 => Value::I64(seed),
        ValueType::F32 => Value::F32(seed as f32 / 3.0),
        ValueType::F64 => Value::F64(seed as f64 / 3.0),
        ValueType::Date => Value::Date(Date::from_days(seed as i32)),
        ValueType::String => Value::from(format!("{:.*}", (seed & 7) as usize, "åbcdefgh")),
        ValueType::Bytes => Value::from(vec![seed as u8; (seed & 7) as usize]),
        _ => Value::parse(&format!("{seed}.25"), ValueType::Decimal).expect("a number with a fraction"),
    }
}

/// A column of `length` items; of one type, or of several if `mixed`.
pub fn any_column(length: usize) -> impl Strategy<Value = PackedColumn> {
    let types = [
        ValueType::Bool,
        ValueType::I8,
        ValueType::I32,
        ValueType::I64,
        ValueType::F32,
        ValueType::F64,
        ValueType::Date,
        ValueType::String,
        ValueType::Bytes,
        ValueType::Decimal,
    ];
    let item = (proptest::bool::weighted(0.8), any::<i64>(), 0..types.len());
    let items = proptest::collection::vec(item, length);
    (items, 0..types.len(), proptest::bool::weighted(0.2)).prop_map(move |(items, one, mixed)| {
        let mut column = PackedColumnBuilder::default();
        for (at, (has, seed, other)) in items.into_iter().enumerate() {
            let value = value_of(types[if mixed { other } else { one }], seed);
            column.push((has || at == 0).then_some(&value));
        }
        column.finish().expect("the first item has a value")
    })
}
