//! Layout: arrays one after the other in a payload, each at a multiple of its items' size.
//!
//! A payload begins at a multiple of 64 in the address space. The arrays of a form stand in the order of their items' sizes, the
//! largest first, so that no bytes are left between them. Numbers are little-endian; a mapping is refused on machines that
//! are not.

use std::fmt::Display;
use zerocopy::{FromBytes, Immutable, KnownLayout};

/// Number of the forms' version; bodies' files have 1.
pub const VERSION: u8 = 2;

/// What is left of a payload.
#[derive(Clone, Copy, Debug)]
pub struct PayloadReader<'a>(&'a [u8]);

/// The text of a rule that bytes break.
pub fn expected(what: impl Display, found: impl Display) -> String {
    format!("{what} expected, found {found}")
}

impl<'a> PayloadReader<'a> {
    /// All of a payload.
    #[must_use]
    pub fn new(payload: &'a [u8]) -> Self {
        Self(payload)
    }

    /// The next `count` items, where they lie.
    ///
    /// # Errors
    /// If there are not so many, or they are not aligned.
    #[inline]
    pub fn array<T: FromBytes + Immutable + KnownLayout>(&mut self, count: usize) -> Result<&'a [T], String> {
        let bytes = count.checked_mul(size_of::<T>());
        let Some((array, rest)) = bytes.and_then(|bytes| self.0.split_at_checked(bytes)) else {
            return Err(too_short(count, size_of::<T>(), self.0.len()));
        };
        self.0 = rest;
        <[T]>::ref_from_bytes(array).map_err(|_| unaligned())
    }

    /// That nothing is left.
    ///
    /// # Errors
    /// If something is.
    #[inline]
    pub fn end(self) -> Result<(), String> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(too_long(self.0.len()))
    }
}

#[cold]
fn too_short(items: usize, bytes: usize, found: usize) -> String {
    expected(format!("{items} items of {bytes} bytes"), found)
}

#[cold]
fn too_long(bytes: usize) -> String {
    expected("the end of the body", format!("{bytes} more bytes"))
}

#[cold]
fn unaligned() -> String {
    expected("an array at a multiple of its items' size", "one that is not")
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_storage::checkpoint::arrays::put_array;
    use zerocopy::IntoBytes;

    #[test]
    fn arrays_are_read_where_they_lie_and_no_further() {
        let mut out = Vec::new();
        put_array(&mut out, &[7_u64]);
        put_array(&mut out, &[1_u32, 2, 3]);
        put_array(&mut out, &[4_u16, 5]);
        let words: Vec<u64> = out.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let mut reader = PayloadReader::new(words.as_bytes());
        let first: &[u64] = reader.array(1).unwrap();
        assert!(first == [7] && first.as_ptr() == words.as_ptr());
        assert_eq!(reader.array::<u32>(3), Ok(&[1, 2, 3][..]));
        assert!(reader.end().unwrap_err().contains("4 more bytes"));
        assert!(reader.array::<u16>(3).unwrap_err().contains("3 items of 2 bytes expected, found 4"));
        assert!(reader.array::<u64>(usize::MAX).is_err());
        assert_eq!(reader.array::<u16>(2), Ok(&[4, 5][..]));
        assert_eq!(reader.end(), Ok(()));
        let mut unaligned = PayloadReader::new(&words.as_bytes()[2..]);
        assert!(unaligned.array::<u32>(1).unwrap_err().contains("multiple of its items' size"));
    }
}
