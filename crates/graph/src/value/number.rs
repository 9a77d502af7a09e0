//! Big integers and decimals, limited to sizes at which comparing and printing stay cheap.
//!
//! A decimal is `digits * 10^-scale`. Unbounded, nine characters of text (`1e9999999`) would cost
//! megabytes to compare or print. The bounds here hold every number of PostgreSQL's `numeric`
//! (131,072 digits before the point, 16,383 behind it), and nearly every one that Java
//! programs make:
//!
//! ```text
//! digits   at most 2^19 bits, which is 157,826 decimal digits, 64 KiB
//! scale    -131,072 to 131,072
//! ```
//!
//! A decimal keeps the scale it came with, so 12.50 is shown as 12.50; it equals 12.5 all the same.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use bigdecimal::{BigDecimal, ToPrimitive};
use num_bigint::{BigInt, Sign};
use thiserror::Error;

/// Bits that the integer of a [`BigInteger`] or the digits of a [`Decimal`] may have.
pub const BITS_MAX: u64 = 1 << 19;

/// How far the point of a [`Decimal`] may be from its last digit, to either side.
pub const SCALE_MAX: i64 = 131_072;

/// Longer texts than this have more than [`BITS_MAX`] bits; they are refused unread, since reading
/// costs the square of the length.
const DIGITS_MAX: usize = 157_827;

/// An integer of at most 2^19 bits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BigInteger(Box<BigInt>);

impl BigInteger {
    /// Holds `integer`.
    ///
    /// # Errors
    /// [`NumberError::TooManyBits`] beyond [`BITS_MAX`].
    pub fn new(integer: BigInt) -> Result<Self, NumberError> {
        check_bits(&integer)?;
        Ok(Self(Box::new(integer)))
    }

    /// The integer.
    #[must_use]
    #[inline]
    pub fn as_inner(&self) -> &BigInt {
        &self.0
    }

    /// Gives the integer up.
    #[must_use]
    #[inline]
    pub fn into_inner(self) -> BigInt {
        *self.0
    }

    /// The nearest floating-point number, infinite if there is none.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        self.0.to_f64().expect("a big integer always has a nearest float")
    }

    /// Bytes on the heap, about.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        size_of::<BigInt>() + digits_bytes(&self.0)
    }
}

macro_rules! big_integer_from {
    ($($integer:ty),*) => {$(
        impl From<$integer> for BigInteger {
            fn from(integer: $integer) -> Self {
                Self(Box::new(BigInt::from(integer)))
            }
        }
    )*};
}

big_integer_from!(i32, i64, u64, i128);

impl fmt::Display for BigInteger {
    /// Decimal digits. Cost: the square of their count.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl FromStr for BigInteger {
    type Err = NumberError;

    /// Reads decimal digits with an optional sign. Cost: the square of their count.
    fn from_str(text: &str) -> Result<Self, NumberError> {
        let (negative, digits) = split_sign(text);
        Self::new(read_digits(negative, digits, "")?)
    }
}

/// A decimal number: `digits * 10^-scale`, both bounded.
///
/// Equality, order and hash are of the number: 1.0 equals 1.00.
#[derive(Clone, Debug)]
pub struct Decimal(Box<BigDecimal>);

impl Decimal {
    /// Holds `decimal`, with its scale.
    ///
    /// # Errors
    /// [`NumberError::TooManyBits`] beyond [`BITS_MAX`], [`NumberError::ScaleTooFar`] beyond
    /// [`SCALE_MAX`].
    pub fn new(decimal: BigDecimal) -> Result<Self, NumberError> {
        let (digits, scale) = decimal.as_bigint_and_scale();
        check_bits(&digits)?;
        if !(-SCALE_MAX..=SCALE_MAX).contains(&scale) {
            return Err(NumberError::ScaleTooFar { scale });
        }
        drop(digits);
        Ok(Self(Box::new(decimal)))
    }

    /// The number.
    #[must_use]
    #[inline]
    pub fn as_inner(&self) -> &BigDecimal {
        &self.0
    }

    /// Gives the number up.
    #[must_use]
    pub fn into_inner(self) -> BigDecimal {
        *self.0
    }

    /// The integer and the scale: the number is `digits * 10^-scale`.
    #[must_use]
    pub fn as_parts(&self) -> (Cow<'_, BigInt>, i64) {
        self.0.as_bigint_and_scale()
    }

    /// The same number with no zero at the end of its digits: equal decimals give equal parts.
    ///
    /// Cost: linear unless the digits end in many zeros.
    #[must_use]
    pub fn to_canonical_parts(&self) -> (BigInt, i64) {
        let (digits, mut scale) = self.as_parts();
        let mut digits = digits.into_owned();
        // Each factor of ten holds a factor of two, so this bounds the zeros at the end.
        let Some(mut zeros_max) = digits.trailing_zeros() else {
            return (digits, 0);
        };
        while zeros_max > 0 {
            let step = 1_u32 << zeros_max.ilog2();
            let power = BigInt::from(10).pow(step);
            if (&digits % &power).sign() == Sign::NoSign {
                digits /= power;
                scale -= i64::from(step);
                zeros_max -= u64::from(step);
            } else {
                zeros_max = u64::from(step) - 1;
            }
        }
        (digits, scale)
    }

    /// The nearest floating-point number, infinite or zero if there is none.
    ///
    /// Cost: that of printing the digits.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        let (digits, scale) = self.as_parts();
        // The standard library rounds once, whatever the length; products of powers would round twice.
        format!("{digits}e{}", -scale).parse().expect("digits, e and an exponent are a float's text")
    }

    /// Bytes on the heap, about.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        size_of::<BigDecimal>() + digits_bytes(&self.as_parts().0)
    }
}

impl fmt::Display for Decimal {
    /// Writes `12.50`; with an exponent where there would be zeros to fill up: `12e3`, `12e-9`. What
    /// is read back has the same digits and the same scale.
    ///
    /// Cost: the square of the digits' count.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ZEROS_AHEAD_MAX: usize = 6;
        let (digits, scale) = self.as_parts();
        let magnitude = digits.magnitude().to_string();
        if digits.sign() == Sign::Minus {
            formatter.write_str("-")?;
        }
        match usize::try_from(scale) {
            Ok(0) => formatter.write_str(&magnitude),
            Ok(places) if places < magnitude.len() + ZEROS_AHEAD_MAX => {
                let padded = format!("{magnitude:0>width$}", width = places + 1);
                let (whole, fraction) = padded.split_at(padded.len() - places);
                write!(formatter, "{whole}.{fraction}")
            }
            _ => write!(formatter, "{magnitude}e{}", -scale),
        }
    }
}

impl FromStr for Decimal {
    type Err = NumberError;

    /// Reads `[+-]digits[.digits][e[+-]digits]`, with at least one digit before the exponent.
    fn from_str(text: &str) -> Result<Self, NumberError> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
            None => (text, 0),
        };
        let (negative, mantissa) = split_sign(mantissa);
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = read_digits(negative, whole, fraction)?;
        let scale = i64::try_from(fraction.len()).expect("read_digits bounds the length") - exponent;
        Self::new(BigDecimal::new(digits, scale))
    }
}

/// Why a text or an integer is no number that we hold.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum NumberError {
    /// The digits need more than [`BITS_MAX`] bits.
    #[error("a number of {bits} bits is past the limit of {BITS_MAX} bits (157,826 digits)")]
    TooManyBits {
        /// Bits of the number.
        bits: u64,
    },
    /// The text has more digits than any number within [`BITS_MAX`] bits.
    #[error("{digits} digits are past the limit of {BITS_MAX} bits (157,826 digits)")]
    TooManyDigits {
        /// Digits in the text.
        digits: usize,
    },
    /// The point is more than [`SCALE_MAX`] places from the last digit.
    #[error("scale {scale} is outside -{SCALE_MAX} to {SCALE_MAX}")]
    ScaleTooFar {
        /// Places that the last digit lies behind the point.
        scale: i64,
    },
    /// The exponent is no number of at most 18 digits.
    #[error("exponent isn't a whole number, or is past the limit of {SCALE_MAX}")]
    BadExponent,
    /// The text has no digit where there must be one, or something else than digits.
    #[error("not a number in decimal digits")]
    NotDigits,
}

fn check_bits(integer: &BigInt) -> Result<(), NumberError> {
    let bits = integer.bits();
    if bits > BITS_MAX {
        return Err(NumberError::TooManyBits { bits });
    }
    Ok(())
}

fn digits_bytes(integer: &BigInt) -> usize {
    usize::try_from(integer.bits().div_ceil(64) * 8).expect("an integer in memory has an addressable size")
}

fn split_sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Reads the digits of `whole` and `fraction` as one integer. (`BigInt`'s own reader would also take
/// underscores and a second sign.)
fn read_digits(negative: bool, whole: &str, fraction: &str) -> Result<BigInt, NumberError> {
    let count = whole.len() + fraction.len();
    if count == 0 || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return Err(NumberError::NotDigits);
    }
    if count > DIGITS_MAX {
        return Err(NumberError::TooManyDigits { digits: count });
    }
    let digits = [whole, fraction].concat();
    let magnitude = BigInt::parse_bytes(digits.as_bytes(), 10).expect("these are digits, and not none");
    Ok(if negative { -magnitude } else { magnitude })
}

fn read_exponent(text: &str) -> Result<i64, NumberError> {
    let (negative, digits) = split_sign(text);
    if digits.is_empty() || digits.len() > 18 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NumberError::BadExponent);
    }
    let magnitude: i64 = digits.parse().expect("18 digits fit");
    Ok(if negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().expect(text)
    }

    fn parts(text: &str) -> (BigInt, i64) {
        let decimal = decimal(text);
        let (digits, scale) = decimal.as_parts();
        (digits.into_owned(), scale)
    }

    #[test]
    fn a_decimal_keeps_the_scale_it_was_written_with() {
        for text in ["12.50", "0", "0.00", "-0.001", "0.000001", "1000000", "15e3", "-15e-8", "0e2"] {
            assert_eq!(decimal(text).to_string(), text);
        }
        assert_eq!(parts("1.5e3"), (BigInt::from(15), -2));
        assert_eq!(parts("-.5E+1"), (BigInt::from(-5), 0));
        assert_eq!(parts("5."), (BigInt::from(5), 0));
    }

    #[test]
    fn texts_that_are_no_decimals_are_refused() {
        for text in ["", "-", ".", "1_000", "1e", "e5", "1e5.0", "--1", "1.2.3", " 1", "1.-2", "NaN", "0x10"]
        {
            let result = text.parse::<Decimal>();
            assert!(matches!(result, Err(NumberError::NotDigits | NumberError::BadExponent)), "{text:?}");
        }
    }

    #[test]
    fn a_huge_exponent_is_refused_without_its_digits_being_made() {
        assert_eq!(
            "1e1000000000".parse::<Decimal>().unwrap_err(),
            NumberError::ScaleTooFar { scale: -1_000_000_000 }
        );
        assert_eq!("1e-131073".parse::<Decimal>().unwrap_err(), NumberError::ScaleTooFar { scale: 131_073 });
        assert_eq!("1e99999999999999999999".parse::<Decimal>().unwrap_err(), NumberError::BadExponent);
        assert!(decimal("1e131072") > decimal("-1e131072"));
        assert_eq!(
            Decimal::new(BigDecimal::new(BigInt::from(1), i64::MIN)).unwrap_err(),
            NumberError::ScaleTooFar { scale: i64::MIN }
        );
    }

    #[test]
    fn the_greatest_numeric_of_postgresql_fits() {
        let text = format!("{}.{}", "9".repeat(131_072), "9".repeat(16_383));
        assert_eq!(parts(&text).1, 16_383);
    }

    #[test]
    fn a_big_integer_past_the_limit_is_refused() {
        let greatest: BigInt = (BigInt::from(1) << BITS_MAX) - 1;
        assert!(BigInteger::new(greatest.clone()).is_ok());
        assert_eq!(BigInteger::new(greatest + 1), Err(NumberError::TooManyBits { bits: BITS_MAX + 1 }));
        let million = "9".repeat(1_000_000).parse::<BigInteger>();
        assert_eq!(million, Err(NumberError::TooManyDigits { digits: 1_000_000 }));
    }

    #[test]
    fn canonical_parts_have_no_zero_at_their_end() {
        for (text, digits, scale) in
            [("100", 1, -2), ("1.2300", 123, 2), ("0.000", 0, 0), ("-1024", -1024, 0), ("-70e3", -7, -4)]
        {
            assert_eq!(decimal(text).to_canonical_parts(), (BigInt::from(digits), scale), "{text}");
        }
        let long = decimal(&format!("7{}", "0".repeat(99_999)));
        assert_eq!(long.to_canonical_parts(), (BigInt::from(7), -99_999));
    }

    proptest! {
        #[test]
        fn digits_and_scale_are_read_back_from_the_text(digits in any::<i64>(), scale in -40..40_i64) {
            let text = Decimal::new(BigDecimal::new(digits.into(), scale)).unwrap().to_string();
            prop_assert_eq!(parts(&text), (digits.into(), scale));
            // Another reader finds the same number in it.
            prop_assert_eq!(text.parse::<BigDecimal>().unwrap(), BigDecimal::new(digits.into(), scale));
        }
    }

    #[test]
    fn the_nearest_float_is_rounded_once() {
        assert_eq!(decimal("0.1").to_f64(), 0.1);
        assert_eq!(decimal("9007199254740993").to_f64(), 9_007_199_254_740_992.0);
        assert_eq!(decimal("9007199254740993.0000001").to_f64(), 9_007_199_254_740_994.0);
        assert_eq!(decimal("1e400").to_f64(), f64::INFINITY);
        assert_eq!(decimal("-1e-400").to_f64(), 0.0);
        let just_above_half: BigInteger = "9007199254740993000000000000000000000000001".parse().unwrap();
        assert_eq!(just_above_half.to_f64(), 9_007_199_254_740_993_000_000_000_000_000_000_000_000_001.0);
    }
}
