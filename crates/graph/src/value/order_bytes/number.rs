//! Numbers as order bytes: one form for the same number in every type, exact at every length.
//!
//! ```text
//! 10  -infinity    1e ..= 7f  negative    80  zero    81 ..= e2  positive    f0  infinity    f1  NaN
//!
//! positive   first     81 + place of the exponent e, where the number is 1.f * 2^e
//!                      place 1 ..= 96: e = -32 ..= 63;  0 and 97: below and above, and e + 2^23 (3) follows
//!            fraction  f in groups of 7 bits from the top, each in a byte: bits << 1 | whether more follows;
//!                      at least 1 group, at most 9
//!            tail      if more follows behind 63 bits of f: the decimal exponent d + 2^23 (3), where the
//!                      number is 0.digits * 10^d, then its digits in pairs, 00 to 99 as 1 to 100, then 0
//! negative   7f - place, then all that follows with each bit flipped
//! ```
//!
//! Floats and integers of 64 bits need no tail. Two numbers with the same 63 bits and a tail are ordered by all
//! their decimal digits: decimals and big integers have finitely many, while a decimal has no last binary one.

use bigdecimal::BigDecimal;
use num_bigint::{BigInt, BigUint, Sign};

use crate::bytes::{Decoded, Reader};
use crate::value::Value;
use crate::value::number::{BITS_MAX, BigInteger, Decimal, SCALE_MAX};
use crate::value::number_order::{Number, float_parts};
use crate::value::order_bytes::writer::Writer;
use crate::value::value_type::ValueType;

const NEGATIVE_INFINITY: u8 = 0x10;
const ZERO: u8 = 0x80;
const INFINITY: u8 = 0xf0;
const NAN: u8 = 0xf1;
/// Exponents that the first byte tells.
const NEAR_MIN: i32 = -32;
const NEAR_MAX: i32 = 63;
const PLACE_BELOW: u8 = 0;
const PLACE_ABOVE: u8 = (NEAR_MAX - NEAR_MIN + 2) as u8;
/// Added to exponents of 3 bytes.
const EXPONENT_BIAS: i32 = 1 << 23;
const GROUP_BITS: u32 = 7;
const GROUPS_MAX: u32 = 9;
const FRACTION_BITS: u32 = GROUP_BITS * GROUPS_MAX;

/// A finite number's distance from zero, but for zero itself.
#[derive(Debug)]
pub(super) struct Magnitude {
    /// Of the highest bit.
    exponent: i32,
    /// The 63 bits behind the highest one.
    fraction: u64,
    /// All digits, if there is something behind those bits.
    tail: Option<Digits>,
}

/// `0.digits * 10^exponent`; neither the first digit nor the last is 0.
#[derive(Debug)]
pub(super) struct Digits {
    exponent: i32,
    text: String,
}

/// Appends a number.
///
/// Cost: constant for floats and up to 64 bits; the square of the digits' count beyond.
pub(super) fn put_number(writer: &mut Writer, number: Number<'_>) {
    let (is_negative, magnitude) = match number {
        Number::Integer(integer) => (integer < 0, Magnitude::of_bits(integer.unsigned_abs(), 0)),
        Number::Float(float) if float.is_nan() => return writer.push(NAN),
        Number::Float(f64::INFINITY) => return writer.push(INFINITY),
        Number::Float(f64::NEG_INFINITY) => return writer.push(NEGATIVE_INFINITY),
        Number::Float(float) => {
            let (mantissa, exponent) = float_parts(float);
            (float < 0.0, Magnitude::of_bits(mantissa, exponent))
        }
        Number::BigInteger(integer) => {
            let integer = integer.as_inner();
            (integer.sign() == Sign::Minus, Magnitude::of_decimal(integer.magnitude(), 0))
        }
        Number::Decimal(decimal) => {
            let (digits, scale) = decimal.to_canonical_parts();
            (digits.sign() == Sign::Minus, Magnitude::of_decimal(digits.magnitude(), scale))
        }
    };
    match magnitude {
        None => writer.push(ZERO),
        Some(magnitude) => magnitude.put(writer, is_negative),
    }
}

impl Magnitude {
    /// `mantissa * 2^exponent`, unless it is zero.
    fn of_bits(mantissa: u64, exponent: i32) -> Option<Self> {
        if mantissa == 0 {
            return None;
        }
        let zeros = mantissa.leading_zeros();
        let fraction = mantissa << zeros & (u64::MAX >> 1);
        Some(Self { exponent: 63 - zeros.cast_signed() + exponent, fraction, tail: None })
    }

    /// `digits * 10^-scale`, unless it is zero.
    fn of_decimal(digits: &BigUint, scale: i64) -> Option<Self> {
        let fits = "scale and bits of a number are bounded";
        let power = |of: u32| BigUint::from(of).pow(u32::try_from(scale.unsigned_abs()).expect(fits));
        // The highest bits as an integer and a power of two, and whether that is less than the number.
        let (integer, exponent, is_less) = if scale <= 0 {
            (digits * power(10), 0, false)
        } else {
            let divisor = power(5);
            // Room for 65 bits of the quotient at least.
            let shift = (divisor.bits() + 65).saturating_sub(digits.bits());
            let dividend = digits << shift;
            let quotient = &dividend / &divisor;
            let is_less = &quotient * divisor != dividend;
            (quotient, -i64::try_from(shift).expect(fits) - scale, is_less)
        };
        let excess = integer.bits().saturating_sub(64);
        let highest = u64::try_from(&integer >> excess).expect("64 bits are left");
        let exponent = i32::try_from(exponent + i64::try_from(excess).expect(fits)).expect(fits);
        let mut magnitude = Self::of_bits(highest, exponent)?;
        if is_less || integer.trailing_zeros().is_some_and(|zeros| zeros < excess) {
            magnitude.tail = Some(Digits::of(digits, scale));
        }
        Some(magnitude)
    }

    fn put(&self, writer: &mut Writer, is_negative: bool) {
        let place = match self.exponent {
            ..NEAR_MIN => PLACE_BELOW,
            NEAR_MIN..=NEAR_MAX => (self.exponent - NEAR_MIN + 1) as u8,
            _ => PLACE_ABOVE,
        };
        writer.push(if is_negative { ZERO - 1 - place } else { ZERO + 1 + place });
        let flipped = if is_negative { 0xff } else { 0 };
        let mut push = |byte: u8| writer.push(byte ^ flipped);
        if place == PLACE_BELOW || place == PLACE_ABOVE {
            exponent_bytes(self.exponent).into_iter().for_each(&mut push);
        }
        let mut left = self.fraction << (u64::BITS - FRACTION_BITS);
        for _ in 0..GROUPS_MAX {
            let group = (left >> (u64::BITS - GROUP_BITS)) as u8;
            left <<= GROUP_BITS;
            let is_more = left != 0 || self.tail.is_some();
            push(group << 1 | u8::from(is_more));
            if !is_more {
                return;
            }
        }
        if let Some(tail) = &self.tail {
            exponent_bytes(tail.exponent).into_iter().for_each(&mut push);
            for pair in tail.text.as_bytes().chunks(2) {
                let digit = |at: usize| pair.get(at).map_or(0, |digit| digit - b'0');
                push(digit(0) * 10 + digit(1) + 1);
            }
            push(0);
        }
    }
}

impl Digits {
    fn of(digits: &BigUint, scale: i64) -> Self {
        let mut text = digits.to_string();
        let exponent =
            i32::try_from(text.len() as i64 - scale).expect("scale and bits of a number are bounded");
        text.truncate(text.trim_end_matches('0').len());
        Self { exponent, text }
    }
}

fn exponent_bytes(exponent: i32) -> [u8; 3] {
    let [_, bytes @ ..] = (exponent + EXPONENT_BIAS).to_be_bytes();
    bytes
}

/// A number that was read, not yet of a type.
#[derive(Debug)]
pub(super) enum StoredNumber {
    NegativeInfinity,
    Finite { is_negative: bool, magnitude: Magnitude },
    Zero,
    Infinity,
    NaN,
}

impl StoredNumber {
    /// Reads a number; it need not be in its one form.
    ///
    /// # Errors
    /// If the bytes end too early, or are no number's.
    pub(super) fn take(reader: &mut Reader<'_>) -> Decoded<Self> {
        let start = reader.clone();
        let (is_negative, place) = match reader.u8()? {
            NEGATIVE_INFINITY => return Ok(Self::NegativeInfinity),
            ZERO => return Ok(Self::Zero),
            INFINITY => return Ok(Self::Infinity),
            NAN => return Ok(Self::NaN),
            first if first < ZERO => (true, ZERO - 1 - first),
            first => (false, first - ZERO - 1),
        };
        if place > PLACE_ABOVE {
            return Err(start.error("the first byte of a number expected"));
        }
        let flipped = if is_negative { 0xff } else { 0 };
        let exponent = match place {
            PLACE_BELOW | PLACE_ABOVE => take_exponent(reader, flipped)?,
            _ => i32::from(place) - 1 + NEAR_MIN,
        };
        let (mut fraction, mut is_more) = (0, true);
        for group in 1..=GROUPS_MAX {
            if is_more {
                let byte = reader.u8()? ^ flipped;
                is_more = byte & 1 == 1;
                fraction |= u64::from(byte >> 1) << (FRACTION_BITS - GROUP_BITS * group);
            }
        }
        let tail = if is_more { Some(take_digits(reader, flipped)?) } else { None };
        Ok(Self::Finite { is_negative, magnitude: Magnitude { exponent, fraction, tail } })
    }

    /// The number as a value of `value_type`, if it has one. It may have been stored in another form
    /// (compare [`StoredNumber::has_one_form`]).
    pub(super) fn to_value(&self, value_type: ValueType) -> Option<Value> {
        Some(match value_type {
            ValueType::I8 => Value::I8(self.to_integer()?.try_into().ok()?),
            ValueType::I16 => Value::I16(self.to_integer()?.try_into().ok()?),
            ValueType::I32 => Value::I32(self.to_integer()?.try_into().ok()?),
            ValueType::I64 => Value::I64(self.to_integer()?.try_into().ok()?),
            ValueType::F32 => Value::F32(self.to_float()? as f32),
            ValueType::F64 => Value::F64(self.to_float()?),
            ValueType::BigInteger => {
                let (digits, scale) = self.to_decimal()?;
                Value::BigInteger(BigInteger::new(digits * power_of_ten(-scale)?).ok()?)
            }
            ValueType::Decimal => {
                let (digits, scale) = self.to_decimal()?;
                // The digits of a decimal may end in zeros that its scale has no room for.
                let nearest = scale.max(-SCALE_MAX);
                let digits = digits * power_of_ten(nearest - scale)?;
                Value::Decimal(Decimal::new(BigDecimal::new(digits, nearest)).ok()?)
            }
            _ => return None,
        })
    }

    /// Whether values of `value_type` that equal this number are all alike: neither its zero has a sign, nor
    /// its decimal a scale.
    pub(super) fn has_one_form(&self, value_type: ValueType) -> bool {
        match value_type {
            ValueType::Decimal => false,
            ValueType::F32 | ValueType::F64 => !matches!(self, Self::Zero),
            _ => true,
        }
    }

    fn to_integer(&self) -> Option<i128> {
        match self {
            Self::Zero => Some(0),
            Self::Finite { is_negative, magnitude } => {
                let shift = u32::try_from(63 - magnitude.exponent).ok()?;
                let integer = i128::from(magnitude.highest_bits().checked_shr(shift)?);
                Some(if *is_negative { -integer } else { integer })
            }
            _ => None,
        }
    }

    fn to_float(&self) -> Option<f64> {
        Some(match self {
            Self::NegativeInfinity => f64::NEG_INFINITY,
            Self::Zero => 0.0,
            Self::Infinity => f64::INFINITY,
            Self::NaN => f64::NAN,
            Self::Finite { is_negative, magnitude } => {
                let bits = match magnitude.exponent {
                    exponent @ -1022..=1023 => {
                        u64::from((exponent + 1023).unsigned_abs()) << 52 | magnitude.fraction >> 11
                    }
                    exponent @ -1074..=-1023 => magnitude.highest_bits() >> (-1011 - exponent).unsigned_abs(),
                    _ => return None,
                };
                f64::from_bits(bits | u64::from(*is_negative) << 63)
            }
        })
    }

    /// The number as `digits * 10^-scale` with no zero at the end of its digits, if it is finite and of a size
    /// that values have.
    fn to_decimal(&self) -> Option<(BigInt, i64)> {
        let (is_negative, magnitude) = match self {
            Self::Zero => return Some((BigInt::ZERO, 0)),
            Self::Finite { is_negative, magnitude } => (*is_negative, magnitude),
            _ => return None,
        };
        let (digits, scale) = magnitude.to_decimal()?;
        let sign = if is_negative { Sign::Minus } else { Sign::Plus };
        Some((BigInt::from_biguint(sign, digits), scale))
    }
}

impl Magnitude {
    /// The highest bit and those behind it.
    fn highest_bits(&self) -> u64 {
        1 << 63 | self.fraction
    }

    fn to_decimal(&self) -> Option<(BigUint, i64)> {
        if let Some(tail) = &self.tail {
            let digits = BigUint::parse_bytes(tail.text.as_bytes(), 10)?;
            return Some((digits, tail.text.len() as i64 - i64::from(tail.exponent)));
        }
        let zeros = self.highest_bits().trailing_zeros();
        let mut odd = self.highest_bits() >> zeros;
        let mut exponent = i64::from(self.exponent) - 63 + i64::from(zeros);
        if exponent < 0 {
            // 2^-n = 5^n * 10^-n.
            let scale = u32::try_from(-exponent).ok().filter(|scale| i64::from(*scale) <= SCALE_MAX)?;
            return Some((BigUint::from(5_u32).pow(scale) * odd, scale.into()));
        }
        let mut scale = 0;
        while exponent > 0 && odd.is_multiple_of(5) {
            (odd, exponent, scale) = (odd / 5, exponent - 1, scale - 1);
        }
        let exponent = u64::try_from(exponent).ok().filter(|exponent| *exponent <= BITS_MAX)?;
        Some((BigUint::from(odd) << exponent, scale))
    }
}

/// `10^exponent`, if it isn't more than a number of [`BITS_MAX`] bits may end in.
fn power_of_ten(exponent: i64) -> Option<BigInt> {
    let exponent = u32::try_from(exponent).ok().filter(|exponent| u64::from(*exponent) <= BITS_MAX)?;
    Some(BigInt::from(10).pow(exponent))
}

fn take_exponent(reader: &mut Reader<'_>, flipped: u8) -> Decoded<i32> {
    let [high, middle, low] = reader.array()?.map(|byte: u8| byte ^ flipped);
    Ok(i32::from_be_bytes([0, high, middle, low]) - EXPONENT_BIAS)
}

fn take_digits(reader: &mut Reader<'_>, flipped: u8) -> Decoded<Digits> {
    let exponent = take_exponent(reader, flipped)?;
    let mut text = String::new();
    loop {
        let start = reader.clone();
        match reader.u8()? ^ flipped {
            0 => break,
            pair @ 1..=100 => {
                text.push(char::from(b'0' + (pair - 1) / 10));
                text.push(char::from(b'0' + (pair - 1) % 10));
            }
            _ => return Err(start.error("a pair of digits expected")),
        }
    }
    text.truncate(text.trim_end_matches('0').len());
    Ok(Digits { exponent, text })
}
