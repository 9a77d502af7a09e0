//! Varint: an unsigned integer in one to ten bytes, small ones in one.
//!
//! ```text
//! each byte   bit 7: another byte follows   bits 6..0: seven bits of the number, lowest first
//!
//! 0 = 00      127 = 7f      128 = 80 01      300 = ac 02
//! ```
//!
//! Each number has one form: longer ones, such as `80 00` for 0, are refused.
//! (The same as LEB128 and Protocol Buffers' varint, except for that.)

use thiserror::Error;

/// Why bytes are no varint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum VarintError {
    /// The bytes end before the number does.
    #[error("the bytes end inside a varint")]
    Truncated,
    /// The number needs more than 64 bits, or fewer bytes than it has.
    #[error("a varint is longer than its number needs, or than 64 bits")]
    NotCanonical,
}

/// Appends `number`.
pub fn write_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a number and moves `input` behind it; on an error `input` stays.
///
/// # Errors
/// See [`VarintError`].
pub fn read_varint(input: &mut &[u8]) -> Result<u64, VarintError> {
    let mut number = 0;
    for (place, byte) in input.iter().copied().enumerate() {
        // The tenth byte has room for one bit only; a last byte of zero says nothing.
        if (place == 9 && byte > 1) || (place > 0 && byte == 0) {
            return Err(VarintError::NotCanonical);
        }
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            *input = &input[place + 1..];
            return Ok(number);
        }
    }
    Err(VarintError::Truncated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_numbers_take_one_byte() {
        for (number, bytes) in [
            (0, [0x00].as_slice()),
            (127, &[0x7f]),
            (128, &[0x80, 0x01]),
            (300, &[0xac, 0x02]),
            (u64::MAX, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
        ] {
            let mut out = Vec::new();
            write_varint(number, &mut out);
            assert_eq!(out, bytes);
        }
    }

    #[test]
    fn a_longer_form_than_needed_is_refused() {
        for bytes in [
            [0x80, 0x00].as_slice(),
            &[0xff, 0x80, 0x00],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02],
            &[0xff; 11],
        ] {
            let mut input = bytes;
            assert_eq!(read_varint(&mut input), Err(VarintError::NotCanonical));
            assert_eq!(input, bytes);
        }
    }

    proptest! {
        #[test]
        fn a_number_is_read_back_and_no_part_of_it_is_one(number in any::<u64>(), shift in 0..64_u32) {
            let mut out = Vec::new();
            write_varint(number >> shift, &mut out);
            for end in 0..out.len() {
                prop_assert_eq!(read_varint(&mut &out[..end]), Err(VarintError::Truncated));
            }
            out.push(7);
            let mut input = out.as_slice();
            prop_assert_eq!(read_varint(&mut input), Ok(number >> shift));
            prop_assert_eq!(input, &[7]);
        }
    }
}
