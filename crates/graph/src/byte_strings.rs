//! Byte strings: many of them, one behind the other in one piece of memory.

/// Byte strings in an order, in two allocations however many there are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ByteStrings {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

impl ByteStrings {
    /// No strings, and room for so many with so many bytes together.
    #[must_use]
    pub fn with_capacity(strings: usize, bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(strings) }
    }

    /// Adds a string.
    #[inline]
    pub fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
    }

    /// Adds the string that `write` appends.
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let begin = self.bytes.len();
        write(&mut self.bytes);
        assert!(self.bytes.len() >= begin, "what is here already stays");
        self.ends.push(self.bytes.len());
    }

    /// The string with this number, counted from 0.
    ///
    /// # Panics
    /// If there is no such string.
    #[must_use]
    #[inline]
    pub fn get(&self, number: usize) -> &[u8] {
        let begin = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[begin..self.ends[number]]
    }

    /// The strings in their order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &[u8]> + ExactSizeIterator {
        (0..self.len()).map(|number| self.get(number))
    }

    /// How many strings there are.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of all strings together.
    #[must_use]
    #[inline]
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of memory that they take.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()
    }

    /// Forgets all strings but the first `len`, and keeps the memory.
    pub fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
    }

    /// Forgets the strings and keeps the memory.
    pub fn clear(&mut self) {
        self.truncate(0);
    }
}

impl<'a> FromIterator<&'a [u8]> for ByteStrings {
    fn from_iter<T: IntoIterator<Item = &'a [u8]>>(strings: T) -> Self {
        let mut all = Self::default();
        strings.into_iter().for_each(|string| all.push(string));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_in_their_order_and_the_last_ones_can_be_forgotten() {
        let strings = [&b"1\n"[..], b"", b"22\n"];
        let mut all: ByteStrings = strings.into_iter().collect();
        assert!(all.iter().eq(strings));
        assert_eq!((all.get(2), all.len(), all.size_bytes()), (strings[2], 3, 5));
        all.push_with(|bytes| bytes.extend_from_slice(b"333"));
        all.truncate(2);
        all.push(b"4");
        assert!(all.iter().eq([&b"1\n"[..], b"", b"4"]));
        all.clear();
        assert!(all.is_empty() && all.size_bytes() == 0 && all.heap_bytes() > 0);
    }
}
