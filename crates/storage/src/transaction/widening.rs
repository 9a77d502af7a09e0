//! Widening: a number that a property's wider type holds exactly is stored as that type.
//!
//! ```text
//! i8 -> i16 -> i32 -> i64        f32 -> f64
//! i8, i16 -> f32                 i8, i16, i32 -> f64
//! ```
//!
//! Python, SQL and Gremlin write small literals into wide properties and expect it to work. Whether
//! it does depends on the two types, never on the value: an `i64` 5 does not fit an `i32` property,
//! since the next value might not, and nothing is ever narrowed or rounded.

use evergraph_graph::value::{Value, ValueType};

/// `value` as `to`, if `to` is a wider type that holds every value of its type. `None` for a value
/// that has the type already, too.
#[must_use]
pub fn widened(value: &Value, to: ValueType) -> Option<Value> {
    Some(match (value, to) {
        (Value::I8(number), ValueType::I16) => Value::I16((*number).into()),
        (Value::I8(number), ValueType::I32) => Value::I32((*number).into()),
        (Value::I8(number), ValueType::I64) => Value::I64((*number).into()),
        (Value::I8(number), ValueType::F32) => Value::F32((*number).into()),
        (Value::I8(number), ValueType::F64) => Value::F64((*number).into()),
        (Value::I16(number), ValueType::I32) => Value::I32((*number).into()),
        (Value::I16(number), ValueType::I64) => Value::I64((*number).into()),
        (Value::I16(number), ValueType::F32) => Value::F32((*number).into()),
        (Value::I16(number), ValueType::F64) => Value::F64((*number).into()),
        (Value::I32(number), ValueType::I64) => Value::I64((*number).into()),
        (Value::I32(number), ValueType::F64) => Value::F64((*number).into()),
        (Value::F32(number), ValueType::F64) => Value::F64((*number).into()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wider_type_takes_a_number_and_a_narrower_one_never() {
        assert_eq!(widened(&Value::I32(-7), ValueType::I64), Some(Value::I64(-7)));
        assert_eq!(widened(&Value::I32(i32::MAX), ValueType::F64), Some(Value::F64(2_147_483_647.0)));
        assert_eq!(widened(&Value::F32(0.1), ValueType::F64), Some(Value::F64(f64::from(0.1_f32))));
        assert_eq!(widened(&Value::I64(5), ValueType::I32), None);
        assert_eq!(widened(&Value::I32(5), ValueType::F32), None, "not every i32 is an f32");
        assert_eq!(widened(&Value::I64(5), ValueType::F64), None, "not every i64 is an f64");
    }
}
