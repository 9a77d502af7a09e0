//! Conversions: `asNumber()` and `asBool()`.

use crate::value::item::Item;
use crate::value::types::{kind_name, number_name};
use bigdecimal::{BigDecimal, ToPrimitive};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::number::{BigInteger, Decimal};
use evergraph_graph::value::{Value, ValueType};
use num_bigint::BigInt;

/// The number that `item` is or says, of type `to` if one is asked for. A moment is its milliseconds since 1970; null
/// stays null.
///
/// # Errors
/// `invalid` of what is no number and says none, and of a number that `to` doesn't hold. A fraction is cut off.
pub fn as_number(item: &Item, to: Option<ValueType>) -> Result<Item> {
    let number = match item {
        Item::Null => return Ok(Item::Null),
        Item::Value(Value::String(text)) => {
            parse(text).ok_or_else(|| Error::invalid(format!("Can't parse string '{text}' as number.")))?
        }
        Item::Value(Value::DateTime(moment)) => Value::I64(moment.epoch_milliseconds()),
        Item::Value(value) if is_number(value) => value.clone(),
        other => {
            return Err(Error::invalid(format!("Can't parse type {} as number.", kind_name(other))));
        }
    };
    Ok(Item::Value(match to {
        None => number,
        Some(to) => cast(&number, to).ok_or_else(|| {
            let from = number_name(number.value_type());
            Error::invalid(format!(
                "Can't convert number of type {from} to {} due to overflow.",
                number_name(to)
            ))
        })?,
    }))
}

fn is_number(value: &Value) -> bool {
    use ValueType::{BigInteger, Decimal, F32, F64, I8, I16, I32, I64};
    matches!(value.value_type(), I8 | I16 | I32 | I64 | F32 | F64 | BigInteger | Decimal)
}

/// The number that `text` says: of 32 bits if they hold it, else of 64, else a big one; a fraction is an `f64` where
/// that says the same.
fn parse(text: &str) -> Option<Value> {
    let text = text.trim();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if let Some(hexadecimal) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        let magnitude = BigInt::parse_bytes(hexadecimal.as_bytes(), 16)?;
        return narrowest(if text.starts_with('-') { -magnitude } else { magnitude });
    }
    if digits.contains(['.', 'e', 'E']) {
        let exact: Decimal = text.parse().ok()?;
        let near: f64 = text.parse().ok()?;
        let same = near.is_finite()
            && near.to_string().parse::<Decimal>().is_ok_and(|near| near.as_inner() == exact.as_inner());
        return Some(if same { Value::F64(near) } else { Value::Decimal(exact) });
    }
    narrowest(text.parse::<BigInteger>().ok()?.into_inner())
}

fn narrowest(integer: BigInt) -> Option<Value> {
    if let Some(small) = integer.to_i32() {
        return Some(Value::I32(small));
    }
    match integer.to_i64() {
        Some(long) => Some(Value::I64(long)),
        None => BigInteger::new(integer).ok().map(Value::BigInteger),
    }
}

/// `number` as a `to`, without its fraction where that has none; `None` where it doesn't fit.
fn cast(number: &Value, to: ValueType) -> Option<Value> {
    Some(match to {
        ValueType::I8 => Value::I8(whole(number)?.to_i8()?),
        ValueType::I16 => Value::I16(whole(number)?.to_i16()?),
        ValueType::I32 => Value::I32(whole(number)?.to_i32()?),
        ValueType::I64 => Value::I64(whole(number)?.to_i64()?),
        ValueType::BigInteger => Value::BigInteger(BigInteger::new(whole(number)?).ok()?),
        ValueType::F32 => {
            let wide = float(number)?;
            let narrow = wide as f32;
            (narrow.is_finite() || !wide.is_finite()).then_some(Value::F32(narrow))?
        }
        ValueType::F64 => Value::F64(float(number)?),
        _ => Value::Decimal(match number {
            Value::Decimal(decimal) => decimal.clone(),
            Value::F32(_) | Value::F64(_) => number.to_string().parse().ok()?,
            other => Decimal::new(BigDecimal::from(whole(other)?)).ok()?,
        }),
    })
}

fn whole(number: &Value) -> Option<BigInt> {
    match number {
        Value::F32(number) => BigInt::try_from_float(f64::from(*number)),
        Value::F64(number) => BigInt::try_from_float(*number),
        Value::BigInteger(number) => Some(number.as_inner().clone()),
        Value::Decimal(number) => Some(number.as_inner().with_scale(0).into_bigint_and_exponent().0),
        other => other.as_i64().map(BigInt::from),
    }
}

/// The whole part of a float.
trait WholePart: Sized {
    fn try_from_float(number: f64) -> Option<Self>;
}

impl WholePart for BigInt {
    fn try_from_float(number: f64) -> Option<Self> {
        num_bigint::ToBigInt::to_bigint(&number.is_finite().then_some(number.trunc())?)
    }
}

/// The nearest `f64`; `None` of a finite number beyond all of them.
fn float(number: &Value) -> Option<f64> {
    match number {
        Value::F32(number) => Some(f64::from(*number)),
        Value::F64(number) => Some(*number),
        Value::BigInteger(number) => Some(number.to_f64()).filter(|near| near.is_finite()),
        Value::Decimal(number) => Some(number.to_f64()).filter(|near| near.is_finite()),
        other => other.as_i64().map(|number| number as f64),
    }
}

/// The truth that `item` is or says: numbers but zero and NaN are true.
///
/// # Errors
/// `invalid` of anything else than a truth, a number, and `true` or `false` in any case.
pub fn as_bool(item: &Item) -> Result<Item> {
    let truth = match item {
        Item::Value(Value::Bool(truth)) => Some(*truth),
        Item::Value(Value::String(text)) if text.eq_ignore_ascii_case("true") => Some(true),
        Item::Value(Value::String(text)) if text.eq_ignore_ascii_case("false") => Some(false),
        Item::Value(value) if is_number(value) => match value {
            Value::BigInteger(number) => Some(number.as_inner().sign() != num_bigint::Sign::NoSign),
            Value::Decimal(number) => Some(number.as_inner().sign() != num_bigint::Sign::NoSign),
            other => float(other).map(|number| number != 0.0 && !number.is_nan()),
        },
        _ => None,
    };
    truth.map(Item::from).ok_or_else(|| {
        let what = item.as_str().unwrap_or_else(|| kind_name(item));
        Error::invalid(format!("Can't parse {what} as Boolean."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn big(digits: &str) -> Item {
        Item::Value(Value::BigInteger(digits.parse().unwrap()))
    }

    #[test]
    fn texts_become_the_narrowest_number() {
        for (text, expected) in [
            ("5", Item::from(5_i32)),
            (" -5 ", Item::from(-5_i32)),
            ("0x5", Item::from(5_i32)),
            ("-0xff", Item::from(-255_i32)),
            ("2147483648", Item::from(2_147_483_648_i64)),
            ("9223372036854775808", big("9223372036854775808")),
            ("0.1", Item::from(0.1)),
            ("1e3", Item::from(1000.0)),
            (
                "0.10000000000000000001",
                Item::Value(Value::Decimal("0.10000000000000000001".parse().unwrap())),
            ),
        ] {
            assert_eq!(as_number(&Item::from(text), None).unwrap(), expected, "{text}");
        }
        for text in ["test", "1,000", "", "0x", "1.2.3"] {
            let error = as_number(&Item::from(text), None).unwrap_err().to_string();
            assert_eq!(error, format!("Can't parse string '{text}' as number."));
        }
    }

    #[test]
    fn numbers_become_numbers_of_another_type_if_it_holds_them() {
        use ValueType as T;
        for (number, to, expected) in [
            (Item::from(5.67), T::I32, Item::from(5_i32)),
            (Item::from(-5.67), T::I32, Item::from(-5_i32)),
            (Item::from(15.0), T::I8, Item::from(15_i8)),
            (Item::from(12_i32), T::I8, Item::from(12_i8)),
            (Item::from("5"), T::I8, Item::from(5_i8)),
            (Item::from("29"), T::F64, Item::from(29.0)),
            (Item::from(5_i32), T::BigInteger, big("5")),
            (Item::from(0.1), T::Decimal, Item::Value(Value::Decimal("0.1".parse().unwrap()))),
            (Item::Null, T::I32, Item::Null),
        ] {
            assert_eq!(as_number(&number, Some(to)).unwrap(), expected, "{number:?} as {to}");
        }
        for (number, to, expected) in [
            (Item::from(32768_i32), T::I16, "type Integer to Short"),
            (Item::from(300_i32), T::I8, "type Integer to Byte"),
            (Item::from(1e300), T::F32, "type Double to Float"),
            (Item::from(f64::NAN), T::I64, "type Double to Long"),
        ] {
            let error = as_number(&number, Some(to)).unwrap_err().to_string();
            assert_eq!(error, format!("Can't convert number of {expected} due to overflow."));
        }
        let error = as_number(&Item::List([].into()), None).unwrap_err().to_string();
        assert_eq!(error, "Can't parse type ArrayList as number.");
    }

    #[test]
    fn truths() {
        for (item, expected) in [
            (Item::from(1_i32), true),
            (Item::from(-1_i32), true),
            (Item::from(0.25), true),
            (Item::from(0_i32), false),
            (Item::from(-0.0), false),
            (Item::from(f64::NAN), false),
            (Item::from("tRUe"), true),
            (Item::from("false"), false),
            (Item::from(true), true),
        ] {
            assert_eq!(as_bool(&item).unwrap(), Item::from(expected), "{item:?}");
        }
        for (item, what) in
            [(Item::Null, "null"), (Item::from("hello"), "hello"), (Item::List([].into()), "ArrayList")]
        {
            assert_eq!(as_bool(&item).unwrap_err().to_string(), format!("Can't parse {what} as Boolean."));
        }
    }
}
