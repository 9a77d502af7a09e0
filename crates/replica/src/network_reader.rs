//! `NetworkReader`: big-endian numbers and zero-terminated texts, as PostgreSQL sends them.

use evergraph_graph::bytes::{DecodeError, Decoded, Reader};

/// Reads from the front of a slice and knows its offset. Allocates only to describe an error.
#[derive(Clone, Debug)]
pub struct NetworkReader<'a> {
    reader: Reader<'a>,
}

impl<'a> NetworkReader<'a> {
    /// Reads `input` from its beginning.
    #[must_use]
    #[inline]
    pub fn new(input: &'a [u8]) -> Self {
        Self { reader: Reader::new(input) }
    }

    /// Bytes left.
    #[must_use]
    #[inline]
    pub fn remaining(&self) -> usize {
        self.reader.remaining()
    }

    /// An error at the present offset.
    #[must_use]
    pub fn error(&self, expected: impl Into<String>) -> DecodeError {
        self.reader.error(expected)
    }

    /// One byte.
    ///
    /// # Errors
    /// If none is left.
    #[inline]
    pub fn u8(&mut self) -> Decoded<u8> {
        self.reader.u8()
    }

    /// Two bytes.
    ///
    /// # Errors
    /// If fewer are left.
    #[inline]
    pub fn u16(&mut self) -> Decoded<u16> {
        Ok(u16::from_be_bytes(self.reader.array()?))
    }

    /// Four bytes.
    ///
    /// # Errors
    /// If fewer are left.
    #[inline]
    pub fn u32(&mut self) -> Decoded<u32> {
        Ok(u32::from_be_bytes(self.reader.array()?))
    }

    /// Four bytes, with a sign.
    ///
    /// # Errors
    /// If fewer are left.
    #[inline]
    pub fn i32(&mut self) -> Decoded<i32> {
        Ok(i32::from_be_bytes(self.reader.array()?))
    }

    /// Eight bytes.
    ///
    /// # Errors
    /// If fewer are left.
    #[inline]
    pub fn u64(&mut self) -> Decoded<u64> {
        Ok(u64::from_be_bytes(self.reader.array()?))
    }

    /// Eight bytes, with a sign.
    ///
    /// # Errors
    /// If fewer are left.
    #[inline]
    pub fn i64(&mut self) -> Decoded<i64> {
        Ok(i64::from_be_bytes(self.reader.array()?))
    }

    /// The next `length` bytes, borrowed.
    ///
    /// # Errors
    /// If fewer are left.
    #[inline]
    pub fn take(&mut self, length: usize) -> Decoded<&'a [u8]> {
        self.reader.take(length)
    }

    /// A length of four bytes, then as many bytes, borrowed.
    ///
    /// # Errors
    /// If the length is negative, or fewer bytes are left.
    #[inline]
    pub fn counted(&mut self) -> Decoded<&'a [u8]> {
        let start = self.clone();
        let length = self.i32()?;
        match usize::try_from(length) {
            Ok(length) => self.take(length),
            Err(_) => Err(start.error(format!("a length expected, found {length}"))),
        }
    }

    /// All that is left.
    #[inline]
    pub fn rest(&mut self) -> &'a [u8] {
        self.take(self.remaining()).expect("so many bytes remain")
    }

    /// The bytes before the next zero byte, which is skipped.
    ///
    /// # Errors
    /// If there is no zero byte.
    pub fn terminated(&mut self) -> Decoded<&'a [u8]> {
        let rest = self.clone().rest();
        let Some(length) = rest.iter().position(|byte| *byte == 0) else {
            return Err(self.error("a text that ends with a zero byte expected"));
        };
        let text = self.take(length)?;
        self.u8()?;
        Ok(text)
    }

    /// As [`NetworkReader::terminated`], as text.
    ///
    /// # Errors
    /// If there is no zero byte, or the bytes are not UTF-8.
    pub fn text(&mut self) -> Decoded<&'a str> {
        let start = self.clone();
        std::str::from_utf8(self.terminated()?).map_err(|_| start.error("UTF-8 text expected"))
    }

    /// # Errors
    /// If bytes are left.
    #[inline]
    pub fn finish(&self) -> Decoded<()> {
        match self.remaining() {
            0 => Ok(()),
            left => Err(self.error(format!("the end of the message expected, {left} bytes left"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_big_endian_and_texts_end_with_zero() {
        let mut reader = NetworkReader::new(b"\x01\x02\x00\x00\x00\x03abc\xff\xff\xff\xffhi\0");
        assert_eq!(reader.u16(), Ok(0x0102));
        assert_eq!(reader.counted(), Ok(&b"abc"[..]));
        assert_eq!(reader.clone().counted().unwrap_err().expected, "a length expected, found -1");
        assert_eq!(reader.i32(), Ok(-1));
        assert_eq!(reader.text(), Ok("hi"));
        assert_eq!(reader.finish(), Ok(()));
        assert!(reader.terminated().is_err() && reader.u8().is_err());
    }
}
