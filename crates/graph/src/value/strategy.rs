//! Random values for property tests, chosen so that equal and nearly equal ones are frequent.
//!
//! For the tests of this crate, and of others by the feature `strategy`; nothing else compiles it.

use num_bigint::BigInt;
use proptest::prelude::*;
use uuid::Uuid;

use crate::value::Value;
use crate::value::collection::{List, Map, Set};
use crate::value::date::Date;
use crate::value::datetime::DateTime;
use crate::value::duration::Duration;
use crate::value::number::{BigInteger, Decimal};

/// Integers at which widths, floats and signs change, and their neighbours.
fn edge_integer() -> impl Strategy<Value = i64> {
    let edges = [0, 1, 10, 100, i64::from(i32::MAX), 1 << 24, 1 << 53, i64::MAX - 1];
    (proptest::sample::select(edges.to_vec()), -1..=1_i64, any::<bool>())
        .prop_map(|(edge, step, negative)| if negative { -(edge + step) } else { edge + step })
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        proptest::num::f64::ANY,
        edge_integer().prop_map(|integer| integer as f64),
        edge_integer().prop_map(|integer| integer as f64 / 10.0),
        proptest::sample::select(vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324]),
    ]
}

fn decimal() -> impl Strategy<Value = Decimal> {
    let exponent = prop_oneof![-3..=3_i64, -400..=400_i64, -131_072..=131_072_i64];
    (edge_integer(), exponent).prop_map(|(digits, exponent)| {
        format!("{digits}e{exponent}").parse().expect("digits and exponent are within bounds")
    })
}

/// Numbers of all types.
pub fn number() -> impl Strategy<Value = Value> {
    let narrow = prop_oneof![-2..=2_i8, any::<i8>()];
    prop_oneof![
        narrow.prop_map(Value::from),
        edge_integer().prop_map(|integer| Value::I16(integer as i16)),
        edge_integer().prop_map(|integer| Value::I32(integer as i32)),
        edge_integer().prop_map(Value::from),
        float().prop_map(|float| Value::F32(float as f32)),
        float().prop_map(Value::from),
        (edge_integer(), 0..3_u32).prop_map(|(integer, squarings)| {
            let integer = BigInt::from(integer).pow(1 << squarings);
            Value::from(BigInteger::new(integer).expect("252 bits are within bounds"))
        }),
        decimal().prop_map(Value::from),
    ]
}

/// Values of all types but collections.
pub fn any_scalar() -> impl Strategy<Value = Value> {
    let other = prop_oneof![
        any::<bool>().prop_map(Value::from),
        proptest::char::range('a', 'c').prop_map(Value::from),
        any::<char>().prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        proptest::collection::vec(any::<u8>(), 0..4).prop_map(Value::from),
        any::<i32>().prop_map(|days| Value::from(Date::from_days(days))),
        (-2..2_i64, 0..1_000_000_000_u32, -64_800..=64_800_i32).prop_map(|(seconds, nanoseconds, offset)| {
            Value::from(DateTime::new(seconds, nanoseconds, offset).expect("these are in range"))
        }),
        (-1..=1_i32, -31..=31_i32, any::<i64>(), 0..1_000_000_000_u32).prop_map(
            |(months, days, seconds, nanoseconds)| {
                Value::from(Duration::new(months, days, seconds, nanoseconds).expect("these are in range"))
            }
        ),
        any::<[u8; 16]>().prop_map(|bytes| Value::from(Uuid::from_bytes(bytes))),
    ];
    prop_oneof![number(), other]
}

/// Values of all types; collections to a depth of four.
pub fn any_value() -> impl Strategy<Value = Value> {
    any_scalar().prop_recursive(4, 24, 4, |inner| {
        let values = proptest::collection::vec(inner.clone(), 0..4);
        let entries = proptest::collection::vec((inner.clone(), inner), 0..4);
        prop_oneof![
            values.clone().prop_map(|values| List::new(values).expect("few levels").into()),
            values.prop_map(|values| Set::new(values).expect("few levels").into()),
            entries.prop_map(|entries| Map::new(entries).expect("few levels").into()),
        ]
    })
}
