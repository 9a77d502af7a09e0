//! The order of numbers of all widths, by their exact mathematical value.
//!
//! No number is rounded to be compared: the `i64` 2^53 + 1 is greater than the `f64` 2^53, and the
//! decimal 0.1 is less than the `f64` 0.1 (which is 0.1000000000000000055511151231257827...).
//!
//! ```text
//! -infinity  <  every finite number, -0.0 = 0.0 = 0  <  infinity  <  NaN = NaN
//! ```
//!
//! Two decimals are first told apart by how many digits they have before the point; only numbers
//! of like size are multiplied out, so a comparison never costs more than the longer operand.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::f64::consts::LOG10_2;
use std::hash::{Hash, Hasher};

use num_bigint::{BigInt, BigUint, Sign};

use crate::value::number::{BigInteger, Decimal};

/// A number, whatever its width.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number<'a> {
    Integer(i64),
    Float(f64),
    BigInteger(&'a BigInteger),
    Decimal(&'a Decimal),
}

impl<'a> Number<'a> {
    /// The mathematical order of two numbers; NaN equals itself and is above all.
    pub(crate) fn compare(self, other: Self) -> Ordering {
        use Number::{Float, Integer};
        match (self, other) {
            (Integer(left), Integer(right)) => left.cmp(&right),
            (Float(left), Float(right)) => compare_floats(left, right),
            (Integer(left), Float(right)) => compare_integer_to_float(left, right),
            (Float(left), Integer(right)) => compare_integer_to_float(right, left).reverse(),
            (Float(left), _) if !left.is_finite() => beside_the_finite(left),
            (_, Float(right)) if !right.is_finite() => beside_the_finite(right).reverse(),
            (Number::BigInteger(left), Number::BigInteger(right)) => left.cmp(right),
            (left, right) => {
                let ((left, left_scale), (right, right_scale)) = (left.to_decimal(), right.to_decimal());
                compare_decimals(&left, left_scale, &right, right_scale)
            }
        }
    }

    /// The number as `integer * 10^-scale`; it must be finite.
    fn to_decimal(self) -> (Cow<'a, BigInt>, i64) {
        match self {
            Self::Integer(integer) => (Cow::Owned(BigInt::from(integer)), 0),
            Self::Float(float) => {
                let (digits, scale) = float_to_decimal(float);
                (Cow::Owned(digits), scale)
            }
            Self::BigInteger(integer) => (Cow::Borrowed(integer.as_inner()), 0),
            Self::Decimal(decimal) => decimal.as_parts(),
        }
    }
}

/// The order of `float`, which is infinite or NaN, beside any finite number.
fn beside_the_finite(float: f64) -> Ordering {
    if float == f64::NEG_INFINITY { Ordering::Less } else { Ordering::Greater }
}

fn compare_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

fn compare_integer_to_float(integer: i64, float: f64) -> Ordering {
    // 2^63 is a float exactly, the greatest i64 isn't.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if float.is_nan() || float >= LIMIT {
        return Ordering::Less;
    }
    if float < -LIMIT {
        return Ordering::Greater;
    }
    let whole = float.trunc();
    integer.cmp(&(whole as i64)).then_with(|| compare_floats(whole, float))
}

/// A finite float's distance from zero as `mantissa * 2^exponent`, exactly.
pub(super) fn float_parts(float: f64) -> (u64, i32) {
    let bits = float.to_bits();
    let exponent_bits = i32::try_from(bits >> 52 & 0x7ff).expect("11 bits fit");
    let fraction = bits & ((1 << 52) - 1);
    // Subnormal floats lack the hidden bit.
    if exponent_bits == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent_bits - 1075) }
}

/// A finite float as `integer * 10^-scale`, exactly: at most 767 digits.
fn float_to_decimal(float: f64) -> (BigInt, i64) {
    let (mantissa, exponent) = float_parts(float);
    let zeros = mantissa.trailing_zeros();
    if zeros == u64::BITS {
        return (BigInt::ZERO, 0);
    }
    let (mantissa, exponent) = (BigInt::from(mantissa >> zeros), exponent + zeros.cast_signed());
    let (magnitude, scale) = if exponent >= 0 {
        (mantissa << exponent.unsigned_abs(), 0)
    } else {
        // 2^-n = 5^n * 10^-n.
        (mantissa * BigInt::from(5).pow(exponent.unsigned_abs()), i64::from(-exponent))
    };
    (if float.is_sign_negative() { -magnitude } else { magnitude }, scale)
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let ((left, left_scale), (right, right_scale)) = (self.as_parts(), other.as_parts());
        compare_decimals(&left, left_scale, &right, right_scale)
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.to_canonical_parts().hash(state);
    }
}

/// The order of `left * 10^-left_scale` and `right * 10^-right_scale`.
fn compare_decimals(left: &BigInt, left_scale: i64, right: &BigInt, right_scale: i64) -> Ordering {
    let by_sign = left.sign().cmp(&right.sign());
    if by_sign != Ordering::Equal || left.sign() == Sign::NoSign {
        return by_sign;
    }
    let by_magnitude = compare_magnitudes(left.magnitude(), left_scale, right.magnitude(), right_scale);
    if left.sign() == Sign::Minus { by_magnitude.reverse() } else { by_magnitude }
}

fn compare_magnitudes(left: &BigUint, left_scale: i64, right: &BigUint, right_scale: i64) -> Ordering {
    if left_scale == right_scale {
        return left.cmp(right);
    }
    let (left_low, left_high) = decimal_exponent_bounds(left, left_scale);
    let (right_low, right_high) = decimal_exponent_bounds(right, right_scale);
    if left_high < right_low {
        return Ordering::Less;
    }
    if right_high < left_low {
        return Ordering::Greater;
    }
    let shift = BigUint::from(10_u32)
        .pow(u32::try_from(left_scale.abs_diff(right_scale)).expect("scales are within SCALE_MAX"));
    if left_scale < right_scale { (left * shift).cmp(right) } else { left.cmp(&(right * shift)) }
}

/// Bounds of the decimal logarithm of `magnitude * 10^-scale`, from the length in bits alone.
fn decimal_exponent_bounds(magnitude: &BigUint, scale: i64) -> (f64, f64) {
    // Wider than the rounding of these few operations on numbers below 2^53.
    const MARGIN: f64 = 1e-3;
    let (bits, scale) = (magnitude.bits() as f64, scale as f64);
    ((bits - 1.0) * LOG10_2 - scale - MARGIN, bits * LOG10_2 - scale + MARGIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_integer_is_not_rounded_to_meet_a_float() {
        let cases = [
            (9_007_199_254_740_993, 9_007_199_254_740_992.0, Ordering::Greater),
            (9_007_199_254_740_992, 9_007_199_254_740_992.0, Ordering::Equal),
            (i64::MAX, 9_223_372_036_854_775_808.0, Ordering::Less),
            (i64::MIN, -9_223_372_036_854_775_808.0, Ordering::Equal),
            (i64::MIN, -9_223_372_036_854_777_856.0, Ordering::Greater),
            (1, 1.5, Ordering::Less),
            (-1, -1.5, Ordering::Greater),
            (0, -0.0, Ordering::Equal),
            (0, -5e-324, Ordering::Greater),
            (0, f64::NAN, Ordering::Less),
            (0, f64::INFINITY, Ordering::Less),
            (0, f64::NEG_INFINITY, Ordering::Greater),
        ];
        for (integer, float, expected) in cases {
            assert_eq!(Number::Integer(integer).compare(Number::Float(float)), expected, "{integer} {float}");
            assert_eq!(
                Number::Float(float).compare(Number::Integer(integer)),
                expected.reverse(),
                "{float} {integer}"
            );
        }
    }

    #[test]
    fn a_decimal_meets_the_exact_value_of_a_float() {
        let tenth: Decimal = "0.1".parse().unwrap();
        let exact: Decimal = "0.1000000000000000055511151231257827021181583404541015625".parse().unwrap();
        assert_eq!(Number::Decimal(&tenth).compare(Number::Float(0.1)), Ordering::Less);
        assert_eq!(Number::Decimal(&exact).compare(Number::Float(0.1)), Ordering::Equal);
        assert_eq!(Number::Float(-0.1).compare(Number::Decimal(&exact)), Ordering::Less);
        assert_eq!(Number::Float(f64::NAN).compare(Number::Decimal(&exact)), Ordering::Greater);
        assert_eq!(Number::Decimal(&exact).compare(Number::Float(f64::NEG_INFINITY)), Ordering::Greater);
    }

    #[test]
    fn a_big_integer_meets_floats_and_decimals() {
        let googol: BigInteger = format!("1{}", "0".repeat(100)).parse().unwrap();
        let same: Decimal = "1e100".parse().unwrap();
        // The float nearest to 10^100 is above it.
        assert_eq!(Number::BigInteger(&googol).compare(Number::Float(1e100)), Ordering::Less);
        assert_eq!(Number::BigInteger(&googol).compare(Number::Decimal(&same)), Ordering::Equal);
        assert_eq!(Number::Integer(i64::MAX).compare(Number::BigInteger(&googol)), Ordering::Less);
    }

    #[test]
    fn numbers_far_apart_are_compared_without_being_multiplied_out() {
        let (great, small): (Decimal, Decimal) = ("1e131072".parse().unwrap(), "1e-131072".parse().unwrap());
        // Multiplied out, each comparison would take milliseconds; all of these take a few.
        for _ in 0..100_000 {
            assert_eq!(Number::Decimal(&great).compare(Number::Decimal(&small)), Ordering::Greater);
        }
    }

    proptest! {
        #[test]
        fn a_float_equals_its_own_digits(
            float in any::<f64>().prop_filter("finite", |float| float.is_finite()),
        ) {
            // The standard library prints as many exact digits as asked for; no double has more.
            let digits: Decimal = format!("{float:.1074}").parse().unwrap();
            prop_assert_eq!(Number::Float(float).compare(Number::Decimal(&digits)), Ordering::Equal);
        }

        #[test]
        fn decimals_are_ordered_like_integers_of_the_same_scale(
            left in any::<i32>(), left_scale in -6_i64..6, right in any::<i32>(), right_scale in -6_i64..6,
        ) {
            let whole = |digits: i32, scale: i64| {
                i128::from(digits) * 10_i128.pow(u32::try_from(6 - scale).unwrap())
            };
            prop_assert_eq!(
                compare_decimals(&left.into(), left_scale, &right.into(), right_scale),
                whole(left, left_scale).cmp(&whole(right, right_scale))
            );
        }
    }
}
