//! Integers: parsed from bytes, without a float or a string in between.

/// Why bytes are no integer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntegerError {
    /// Something else than digits behind an optional sign.
    Syntax,
    /// Digits, but of a number that doesn't fit.
    Range,
}

/// Reads an unsigned integer of 64 bits; no sign.
///
/// # Errors
/// [`IntegerError`] if the bytes are something else.
#[inline]
pub fn parse_u64(text: &[u8]) -> Result<u64, IntegerError> {
    if text.is_empty() {
        return Err(IntegerError::Syntax);
    }
    let mut number = 0u64;
    // Eighteen digits can't overflow, and are all that most files have.
    let (safe, rest) = text.split_at(text.len().min(18));
    for &byte in safe {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(IntegerError::Syntax);
        }
        number = number * 10 + u64::from(digit);
    }
    if rest.is_empty() {
        return Ok(number);
    }
    if !rest.iter().all(u8::is_ascii_digit) {
        return Err(IntegerError::Syntax);
    }
    rest.iter()
        .try_fold(number, |number, byte| number.checked_mul(10)?.checked_add(u64::from(byte - b'0')))
        .ok_or(IntegerError::Range)
}

/// Reads a signed integer of 64 bits; `+` and `-` may stand before it.
///
/// # Errors
/// [`IntegerError`] if the bytes are something else.
#[inline]
pub fn parse_i64(text: &[u8]) -> Result<i64, IntegerError> {
    match text {
        [b'-', digits @ ..] => 0i64.checked_sub_unsigned(parse_u64(digits)?),
        [b'+', digits @ ..] => i64::try_from(parse_u64(digits)?).ok(),
        digits => i64::try_from(parse_u64(digits)?).ok(),
    }
    .ok_or(IntegerError::Range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_integer_reads_back(signed in any::<i64>(), unsigned in any::<u64>(), bits in 0u32..64) {
            let (signed, unsigned) = (signed >> bits, unsigned >> bits);
            prop_assert_eq!(parse_i64(signed.to_string().as_bytes()), Ok(signed));
            prop_assert_eq!(parse_u64(unsigned.to_string().as_bytes()), Ok(unsigned));
        }

        #[test]
        fn what_the_standard_library_refuses_is_refused(text in "[-+0-9a. ]{0,22}") {
            prop_assert_eq!(parse_i64(text.as_bytes()).ok(), text.parse::<i64>().ok());
        }
    }

    #[test]
    fn the_edges_of_the_range_are_told_from_nonsense() {
        assert_eq!(parse_u64(b"18446744073709551615"), Ok(u64::MAX));
        assert_eq!(parse_u64(b"18446744073709551616"), Err(IntegerError::Range));
        assert_eq!(parse_i64(b"-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(parse_i64(b"9223372036854775808"), Err(IntegerError::Range));
        for nonsense in ["", "-", "+", "1_000", "0x10", "1.0", "--1", "1234567890123456789x"] {
            assert_eq!(parse_i64(nonsense.as_bytes()), Err(IntegerError::Syntax), "{nonsense}");
        }
    }
}
