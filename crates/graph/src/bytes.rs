//! Bytes in and out: little-endian numbers, varints and lengths, every length checked.
//!
//! The stable binary forms of values, mutations, catalogues and stored bodies are all written with
//! these. A varint is LEB128: 7 bits a byte, lowest first, the top bit says that more follow.

use std::fmt;

/// Bytes that are not what they should be: where, and what was expected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecodeError {
    /// Bytes from the beginning of the input to the trouble.
    pub offset: usize,
    /// What was expected there, or what is wrong with it.
    pub expected: String,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.expected)
    }
}

impl std::error::Error for DecodeError {}

/// The result of reading bytes.
pub type Decoded<T> = Result<T, DecodeError>;

/// Appends `number` as a varint: 1 byte below 128, at most 10.
pub fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends the length of `bytes` as a varint, then `bytes`.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads from the front of a slice and knows where it is.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    input: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// Reads `input` from its beginning.
    #[must_use]
    #[inline]
    pub fn new(input: &'a [u8]) -> Self {
        Self { input, offset: 0 }
    }

    /// Bytes read so far.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Bytes left.
    #[must_use]
    #[inline]
    pub fn remaining(&self) -> usize {
        self.input.len() - self.offset
    }

    /// Whether everything is read.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// An error at the present place.
    #[must_use]
    pub fn error(&self, expected: impl Into<String>) -> DecodeError {
        DecodeError { offset: self.offset, expected: expected.into() }
    }

    /// The next `length` bytes, borrowed.
    ///
    /// # Errors
    /// If fewer are left.
    #[inline]
    pub fn take(&mut self, length: usize) -> Decoded<&'a [u8]> {
        if length > self.remaining() {
            return Err(self.cut_off(length));
        }
        let bytes = &self.input[self.offset..self.offset + length];
        self.offset += length;
        Ok(bytes)
    }

    #[cold]
    fn cut_off(&self, length: usize) -> DecodeError {
        self.error(format!("{length} bytes expected, {} left", self.remaining()))
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// If fewer are left.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("take returned N bytes"))
    }

    /// One byte.
    ///
    /// # Errors
    /// If none is left.
    #[inline]
    pub fn u8(&mut self) -> Decoded<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes, little-endian.
    ///
    /// # Errors
    /// If fewer are left.
    #[inline]
    pub fn u16(&mut self) -> Decoded<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Four bytes, little-endian.
    ///
    /// # Errors
    /// If fewer are left.
    #[inline]
    pub fn u32(&mut self) -> Decoded<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Eight bytes, little-endian.
    ///
    /// # Errors
    /// If fewer are left.
    #[inline]
    pub fn u64(&mut self) -> Decoded<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A varint in its shortest form.
    ///
    /// # Errors
    /// If it is cut off, longer than needed, or above 64 bits.
    pub fn varint(&mut self) -> Decoded<u64> {
        let start = self.clone();
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(start.error("a varint of at most 64 bits expected"));
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                if byte == 0 && shift > 0 {
                    return Err(start.error("a varint in its shortest form expected"));
                }
                return Ok(number);
            }
        }
        Err(start.error("a varint of at most 10 bytes expected"))
    }

    /// A varint that is not above `most`.
    ///
    /// # Errors
    /// As [`Reader::varint`]; where the number begins, if it is greater.
    pub fn at_most(&mut self, most: u64) -> Decoded<u64> {
        let start = self.clone();
        let number = self.varint()?;
        if number <= most {
            Ok(number)
        } else {
            Err(start.error(format!("at most {most} expected, found {number}")))
        }
    }

    /// A count of things that take at least `least` bytes each: never more than can follow, so that
    /// a caller may reserve memory for it.
    ///
    /// # Errors
    /// If so many can't follow.
    pub fn count(&mut self, least: usize) -> Decoded<usize> {
        let start = self.clone();
        let count = self.varint()?;
        if count > (self.remaining() / least.max(1)) as u64 {
            return Err(start.error(format!("{count} entries announced, {} bytes left", self.remaining())));
        }
        Ok(count as usize)
    }

    /// A length as a varint, then as many bytes, borrowed.
    ///
    /// # Errors
    /// If fewer are left.
    pub fn bytes(&mut self) -> Decoded<&'a [u8]> {
        let length = self.count(1)?;
        self.take(length)
    }

    /// As [`Reader::bytes`], as text.
    ///
    /// # Errors
    /// If the bytes are not UTF-8.
    pub fn text(&mut self) -> Decoded<&'a str> {
        let start = self.clone();
        std::str::from_utf8(self.bytes()?).map_err(|_| start.error("UTF-8 text expected"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_varint_reads_back(number in any::<u64>().prop_flat_map(|n| (0u32..64).prop_map(move |s| n >> s))) {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, number);
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(reader.varint(), Ok(number));
            prop_assert!(reader.is_empty());
            for cut in 0..bytes.len() {
                prop_assert!(Reader::new(&bytes[..cut]).varint().is_err());
            }
        }
    }

    #[test]
    fn a_length_beyond_the_input_is_an_error_and_not_an_allocation() {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, u64::MAX);
        let error = Reader::new(&bytes).bytes().unwrap_err();
        assert_eq!(error.offset, 0);
        assert!(Reader::new(&[0x80, 0x00]).varint().is_err(), "not the shortest form");
        assert!(Reader::new(&[0xff; 11]).varint().is_err(), "too long");
    }
}
