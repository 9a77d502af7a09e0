//! Arithmetic on numbers of all widths.
//!
//! | operands | the result is |
//! |---|---|
//! | whole numbers | of the wider type; where it doesn't fit, of the next wider that holds it, up to 64 bits |
//! | one of them floating-point | an `f32` if both fit 32 bits, else an `f64` |
//! | one of them a big integer | a big integer; beside a floating-point number a decimal |
//! | one of them a decimal | a decimal |
//!
//! Past 64 bits whole numbers are an error, never a wrong sum. Source: TinkerPop 3.8, `NumberHelper`, and the
//! overflow rules of its `sum()`.

use crate::value::item::Item;
use bigdecimal::{BigDecimal, RoundingMode};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::value::Value;
use evergraph_graph::value::number::{BigInteger, Decimal, NumberError};
use num_bigint::BigInt;
use std::cmp::Ordering;
use std::num::NonZeroU64;

/// Digits that a decimal quotient has, as Java's `MathContext.DECIMAL128` has them.
const QUOTIENT_DIGITS: u64 = 34;

/// What is done with two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`; of whole numbers the whole part.
    Divide,
}

/// A number, in the widest form of its family.
enum Wide<'a> {
    Integer(i64, u8),
    Float(f64, u8),
    BigInteger(&'a BigInt),
    Decimal(&'a BigDecimal),
}

fn wide(item: &Item) -> Result<Wide<'_>> {
    Ok(match item {
        Item::Value(Value::I8(number)) => Wide::Integer(i64::from(*number), 8),
        Item::Value(Value::I16(number)) => Wide::Integer(i64::from(*number), 16),
        Item::Value(Value::I32(number)) => Wide::Integer(i64::from(*number), 32),
        Item::Value(Value::I64(number)) => Wide::Integer(*number, 64),
        Item::Value(Value::F32(number)) => Wide::Float(f64::from(*number), 32),
        Item::Value(Value::F64(number)) => Wide::Float(*number, 64),
        Item::Value(Value::BigInteger(number)) => Wide::BigInteger(number.as_inner()),
        Item::Value(Value::Decimal(number)) => Wide::Decimal(number.as_inner()),
        other => {
            return Err(Error::invalid(format!(
                "a number is needed for this, and {} isn't one",
                other.kind()
            )));
        }
    })
}

/// `left` with `right`, as `how` says.
///
/// # Errors
/// `invalid` for what isn't a number, and for a whole number or decimal divided by zero; `limit` where 64 bits don't
/// hold the result.
pub fn arithmetic(how: Arithmetic, left: &Item, right: &Item) -> Result<Item> {
    match (wide(left)?, wide(right)?) {
        (Wide::Integer(left, bits), Wide::Integer(right, other)) => {
            integers(how, left, right, bits.max(other))
        }
        (Wide::Float(left, bits), Wide::Float(right, other)) => Ok(floats(how, left, right, bits.max(other))),
        (Wide::Float(left, bits), Wide::Integer(right, other)) => {
            Ok(floats(how, left, right as f64, bits.max(other)))
        }
        (Wide::Integer(left, bits), Wide::Float(right, other)) => {
            Ok(floats(how, left as f64, right, bits.max(other)))
        }
        (Wide::BigInteger(left), Wide::BigInteger(right)) => big_integers(how, left, right),
        (Wide::BigInteger(left), Wide::Integer(right, _)) => big_integers(how, left, &right.into()),
        (Wide::Integer(left, _), Wide::BigInteger(right)) => big_integers(how, &left.into(), right),
        (left, right) => decimals(how, &decimal(left)?, &decimal(right)?),
    }
}

/// The sum of two numbers.
///
/// # Errors
/// As [`arithmetic`].
pub fn add(left: &Item, right: &Item) -> Result<Item> {
    arithmetic(Arithmetic::Add, left, right)
}

/// `times` of a number: of one that stands for several traversers.
///
/// # Errors
/// As [`arithmetic`].
pub fn times(item: &Item, times: u64) -> Result<Item> {
    let times = i64::try_from(times).map_err(|_| too_many())?;
    // As narrow as it can be: how many there are makes no number wider.
    arithmetic(Arithmetic::Multiply, item, &narrowest(times, 8))
}

/// The `count`-th part of `sum`: an `f64`, or a decimal if the sum is a big one.
///
/// # Errors
/// As [`arithmetic`].
pub fn mean(sum: &Item, count: u64) -> Result<Item> {
    match wide(sum)? {
        Wide::Integer(sum, _) => Ok(Item::from(sum as f64 / count as f64)),
        Wide::Float(sum, _) => Ok(Item::from(sum / count as f64)),
        big => decimals(Arithmetic::Divide, &decimal(big)?, &BigDecimal::from(count)),
    }
}

/// `left` divided by `right`, of whole numbers too: an `f64`, or a decimal if one is a big one.
///
/// # Errors
/// As [`arithmetic`].
pub fn quotient(left: &Item, right: &Item) -> Result<Item> {
    let left = match wide(left)? {
        Wide::Integer(number, _) => Item::from(number as f64),
        big @ Wide::BigInteger(_) => {
            Item::Value(Value::Decimal(Decimal::new(decimal(big)?).map_err(too_long)?))
        }
        Wide::Float(..) | Wide::Decimal(_) => left.clone(),
    };
    arithmetic(Arithmetic::Divide, &left, right)
}

/// `number` as the type that a sum of it and `other` would have; anything else as it is.
#[must_use]
pub fn promoted(number: Item, other: &Item) -> Item {
    match (wide(&number), wide(other)) {
        (Ok(Wide::Integer(number, bits)), Ok(Wide::Integer(_, other))) => narrowest(number, bits.max(other)),
        (Ok(Wide::Float(number, bits)), Ok(Wide::Integer(_, other) | Wide::Float(_, other))) => {
            floats(Arithmetic::Add, number, 0.0, bits.max(other))
        }
        (Ok(Wide::Integer(number, bits)), Ok(Wide::Float(_, other))) => {
            floats(Arithmetic::Add, number as f64, 0.0, bits.max(other))
        }
        _ => number,
    }
}

/// The order of two numbers of which one is NaN: NaN is neither less nor greater, so it only counts alone.
#[must_use]
pub fn nan_last(left: &Item, right: &Item) -> Option<Ordering> {
    left.as_value()?.compare_numbers(right.as_value()?)
}

fn integers(how: Arithmetic, left: i64, right: i64, bits: u8) -> Result<Item> {
    let exact = match how {
        Arithmetic::Add => left.checked_add(right),
        Arithmetic::Subtract => left.checked_sub(right),
        Arithmetic::Multiply => left.checked_mul(right),
        Arithmetic::Divide if right == 0 => {
            return Err(Error::invalid("a whole number can't be divided by zero"));
        }
        Arithmetic::Divide => left.checked_div(right),
    };
    let Some(exact) = exact else {
        let text = format!("{left} and {right}: their {} needs more than 64 bits", how.noun());
        return Err(Error::new(ErrorKind::Limit, text));
    };
    Ok(narrowest(exact, bits))
}

/// `number` as a whole number of at least `bits` bits that holds it.
fn narrowest(number: i64, bits: u8) -> Item {
    let value = match bits {
        0..=8 => i8::try_from(number).map(Value::I8),
        9..=16 => i16::try_from(number).map(Value::I16),
        17..=32 => i32::try_from(number).map(Value::I32),
        _ => Ok(Value::I64(number)),
    };
    value.map_or_else(|_| narrowest(number, bits * 2), Item::Value)
}

#[inline]
fn floats(how: Arithmetic, left: f64, right: f64, bits: u8) -> Item {
    let exact = match how {
        Arithmetic::Add => left + right,
        Arithmetic::Subtract => left - right,
        Arithmetic::Multiply => left * right,
        Arithmetic::Divide => left / right,
    };
    if bits <= 32 { Item::from(exact as f32) } else { Item::from(exact) }
}

fn big_integers(how: Arithmetic, left: &BigInt, right: &BigInt) -> Result<Item> {
    let exact = match how {
        Arithmetic::Add => left + right,
        Arithmetic::Subtract => left - right,
        Arithmetic::Multiply => left * right,
        Arithmetic::Divide => left
            .checked_div(right)
            .ok_or_else(|| Error::invalid("a whole number can't be divided by zero"))?,
    };
    Ok(Item::Value(Value::BigInteger(BigInteger::new(exact).map_err(too_long)?)))
}

fn decimals(how: Arithmetic, left: &BigDecimal, right: &BigDecimal) -> Result<Item> {
    let exact = match how {
        Arithmetic::Add => left + right,
        Arithmetic::Subtract => left - right,
        Arithmetic::Multiply => left * right,
        Arithmetic::Divide => {
            let digits = NonZeroU64::new(QUOTIENT_DIGITS).unwrap_or(NonZeroU64::MIN);
            if right.sign() == num_bigint::Sign::NoSign {
                return Err(Error::invalid("a decimal can't be divided by zero"));
            }
            let quotient = (left / right).with_precision_round(digits, RoundingMode::HalfEven).normalized();
            if quotient.fractional_digit_count() < 0 { quotient.with_scale(0) } else { quotient }
        }
    };
    Ok(Item::Value(Value::Decimal(Decimal::new(exact).map_err(too_long)?)))
}

fn decimal(number: Wide<'_>) -> Result<BigDecimal> {
    match number {
        Wide::Integer(number, _) => Ok(BigDecimal::from(number)),
        Wide::BigInteger(number) => Ok(BigDecimal::from(number.clone())),
        Wide::Decimal(number) => Ok(number.clone()),
        Wide::Float(number, _) => BigDecimal::try_from(number)
            .map_err(|_| Error::invalid(format!("{number} has no place beside a decimal"))),
    }
}

fn too_long(error: NumberError) -> Error {
    Error::new(ErrorKind::Limit, error.to_string())
}

impl Arithmetic {
    fn noun(self) -> &'static str {
        match self {
            Self::Add => "sum",
            Self::Subtract => "difference",
            Self::Multiply => "product",
            Self::Divide => "quotient",
        }
    }
}

/// There are more traversers than 64 bits count.
#[must_use]
pub fn too_many() -> Error {
    let text = "there are more traversers than 64 bits count: limit the repeat, or use dedup()";
    Error::new(ErrorKind::Limit, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(left: impl Into<Item>, right: impl Into<Item>) -> Item {
        add(&left.into(), &right.into()).unwrap()
    }

    #[test]
    fn a_sum_is_of_the_wider_type_and_grows_where_it_must() {
        assert_eq!(sum(1_i8, 2_i8), Item::from(3_i8));
        assert_eq!(sum(100_i8, 100_i8), Item::from(200_i16));
        assert_eq!(sum(1_i8, 2_i64), Item::from(3_i64));
        assert_eq!(sum(i32::MAX, 1_i32), Item::from(i64::from(i32::MAX) + 1));
        assert_eq!(sum(0.5_f32, 1_i32), Item::from(1.5_f32));
        assert_eq!(sum(0.5_f32, 1_i64), Item::from(1.5_f64));
    }

    #[test]
    fn what_no_type_holds_is_an_error() {
        let error = add(&Item::from(i64::MAX), &Item::from(1_i64)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        let zero = arithmetic(Arithmetic::Divide, &Item::from(1_i64), &Item::from(0_i64)).unwrap_err();
        assert_eq!(zero.to_string(), "a whole number can't be divided by zero");
        let text = add(&Item::from("a"), &Item::from(1_i64)).unwrap_err();
        assert_eq!(text.to_string(), "a number is needed for this, and a value of type string isn't one");
    }

    #[test]
    fn a_mean_is_exact_for_big_numbers() {
        let big = Item::Value(Value::BigInteger(BigInteger::from(i128::from(i64::MAX) * 4)));
        let fourth = mean(&big, 4).unwrap();
        assert_eq!(fourth.as_value().unwrap().to_string(), i64::MAX.to_string());
        assert_eq!(mean(&Item::from(7_i32), 2).unwrap(), Item::from(3.5));
    }
}
