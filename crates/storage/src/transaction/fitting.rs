//! Fitting: a number is stored in the type of its property, if that type holds exactly this number.
//!
//! ```text
//! a whole number     to any whole type, float, double or decimal that holds it
//! a float, a double  to the other of the two, if that holds it
//! ```
//!
//! Python's whole numbers are all `long`, Gremlin's are `int` unless they say so, and a property has the width that its
//! first write or its declaration gave it. Whether a number fits depends on the number, so nothing is ever rounded: 5 fits
//! a `byte`, 300 does not, and 0.1 fits no `float`. A number with a fraction part in its type, 5.0, is not a whole number.

use evergraph_graph::value::number::{BigInteger, Decimal};
use evergraph_graph::value::{Value, ValueType};
use std::cmp::Ordering;

/// The number `value` as `to`, if that is another type of number and holds it exactly. `None` for a value that has the
/// type already, too.
///
/// Cost: constant for up to 64 bits, else that of the digits.
#[must_use]
pub fn fitted(value: &Value, to: ValueType) -> Option<Value> {
    let fitted = match value {
        Value::I8(_) | Value::I16(_) | Value::I32(_) | Value::I64(_) | Value::BigInteger(_) => match to {
            ValueType::I8 => Value::I8(value.as_i64()?.try_into().ok()?),
            ValueType::I16 => Value::I16(value.as_i64()?.try_into().ok()?),
            ValueType::I32 => Value::I32(value.as_i64()?.try_into().ok()?),
            ValueType::I64 => Value::I64(value.as_i64()?),
            ValueType::BigInteger => Value::BigInteger(BigInteger::from(value.as_i64()?)),
            ValueType::F32 => Value::F32(value.as_f64()? as f32),
            ValueType::F64 => Value::F64(value.as_f64()?),
            ValueType::Decimal => Value::Decimal(value.to_string().parse::<Decimal>().ok()?),
            _ => return None,
        },
        Value::F32(number) if to == ValueType::F64 => Value::F64(f64::from(*number)),
        Value::F64(number) if to == ValueType::F32 => Value::F32(*number as f32),
        _ => return None,
    };
    let is_exact = value.compare_numbers(&fitted) == Some(Ordering::Equal);
    (is_exact && value.value_type() != to).then_some(fitted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_takes_the_width_of_its_property_if_nothing_is_lost() {
        for (value, fitting) in [
            (Value::I32(-7), Value::I64(-7)),
            (Value::I64(5), Value::I8(5)),
            (Value::I64(-300), Value::I16(-300)),
            (Value::I64(1815), Value::I32(1815)),
            (Value::I32(i32::MAX), Value::F64(2_147_483_647.0)),
            (Value::I64(5), Value::F32(5.0)),
            (Value::I64(5), Value::BigInteger(5.into())),
            (Value::BigInteger(5.into()), Value::I32(5)),
            (Value::I64(5), Value::Decimal("5".parse().unwrap())),
            (Value::F32(0.1), Value::F64(f64::from(0.1_f32))),
            (Value::F64(0.5), Value::F32(0.5)),
            (Value::F64(f64::INFINITY), Value::F32(f32::INFINITY)),
        ] {
            assert_eq!(fitted(&value, fitting.value_type()), Some(fitting.clone()), "{value:?}");
        }
    }

    #[test]
    fn a_number_that_would_be_another_one_does_not_fit() {
        for (value, to) in [
            (Value::I64(300), ValueType::I8),
            (Value::I64(i64::from(i32::MAX) + 1), ValueType::I32),
            (Value::I64(9_007_199_254_740_993), ValueType::F64),
            (Value::I32(16_777_217), ValueType::F32),
            (Value::F64(0.1), ValueType::F32),
            (Value::F64(5.0), ValueType::I32),
            (Value::Decimal("5".parse().unwrap()), ValueType::I32),
            (Value::from("5"), ValueType::I32),
            (Value::I32(5), ValueType::String),
        ] {
            assert_eq!(fitted(&value, to), None, "{value:?} as {to}");
        }
        assert_eq!(fitted(&Value::I32(5), ValueType::I32), None, "it has the type");
    }
}
