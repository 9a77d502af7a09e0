//! Discriminators: which of parallel edges the values of a page are.
//!
//! ```text
//! discriminators   u16 a value; absent if all are zero
//! ```

use evergraph_graph::bytes::{Decoded, Reader};

/// Gathers the discriminators of a page.
#[derive(Clone, Debug, Default)]
pub struct DiscriminatorsBuilder {
    zeros_before: usize,
    /// From the first that is not zero on, with the zeros before it.
    discriminators: Vec<u16>,
}

impl DiscriminatorsBuilder {
    /// Bytes of the array if `next` were added.
    #[must_use]
    #[inline]
    pub fn bytes_with(&self, next: u16) -> usize {
        if self.discriminators.is_empty() && next == 0 {
            0
        } else {
            2 * (self.zeros_before + self.discriminators.len() + 1)
        }
    }

    /// Bytes of the array if `count` zeros were added.
    #[must_use]
    pub fn bytes_with_zeros(&self, count: usize) -> usize {
        if self.discriminators.is_empty() { 0 } else { 2 * (self.discriminators.len() + count) }
    }

    /// Adds `next`.
    #[inline]
    pub fn push(&mut self, next: u16) {
        if self.discriminators.is_empty() {
            if next == 0 {
                self.zeros_before += 1;
                return;
            }
            let before = std::mem::take(&mut self.zeros_before);
            self.discriminators.resize(before, 0);
        }
        self.discriminators.push(next);
    }

    /// Adds `count` zeros.
    pub fn push_zeros(&mut self, count: usize) {
        if self.discriminators.is_empty() {
            self.zeros_before += count;
        } else {
            self.discriminators.resize(self.discriminators.len() + count, 0);
        }
    }

    /// Appends the array, unless all are zero. Says whether it did.
    pub fn put(&self, out: &mut Vec<u8>) -> bool {
        out.extend(self.discriminators.iter().flat_map(|one| one.to_le_bytes()));
        !self.discriminators.is_empty()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.zeros_before = 0;
        self.discriminators.clear();
    }
}

/// The discriminators of a page.
#[derive(Clone, Copy, Debug)]
pub struct Discriminators<'a> {
    /// Empty: all are zero.
    stored: &'a [[u8; 2]],
}

impl<'a> Discriminators<'a> {
    /// Discriminators of a page without the array.
    pub const ZEROS: Self = Self { stored: &[] };

    /// Reads the array of `values` discriminators.
    ///
    /// # Errors
    /// If the page ends before.
    pub fn take(reader: &mut Reader<'a>, values: usize) -> Decoded<Self> {
        Ok(Self { stored: reader.take(2 * values)?.as_chunks().0 })
    }

    /// The discriminator of value `at`; zero beyond the end.
    #[must_use]
    #[inline]
    pub fn get(&self, at: usize) -> u16 {
        self.stored.get(at).map_or(0, |bytes| u16::from_le_bytes(*bytes))
    }

    /// Whether all are zero.
    #[must_use]
    #[inline]
    pub fn all_zeros(&self) -> bool {
        self.stored.is_empty()
    }

    /// Replaces the content of `out` by all discriminators; by nothing if all are zero.
    pub fn decode_into(&self, out: &mut Vec<u16>) {
        out.clear();
        out.extend(self.stored.iter().map(|bytes| u16::from_le_bytes(*bytes)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn discriminators_read_back_and_their_size_is_known(
            zeros in 0usize..20,
            discriminators in proptest::collection::vec(prop_oneof![Just(0u16), any::<u16>()], 0..40),
        ) {
            let mut builder = DiscriminatorsBuilder::default();
            builder.push_zeros(zeros);
            let mut size = 0;
            for discriminator in &discriminators {
                size = builder.bytes_with(*discriminator);
                builder.push(*discriminator);
            }
            if size > 0 {
                size = builder.bytes_with_zeros(zeros);
            }
            builder.push_zeros(zeros);
            let mut bytes = Vec::new();
            let has_some = builder.put(&mut bytes);
            prop_assert_eq!(bytes.len(), size);
            let all: Vec<u16> = [vec![0; zeros], discriminators, vec![0; zeros]].concat();
            let read = match has_some {
                true => Discriminators::take(&mut Reader::new(&bytes), all.len()).unwrap(),
                false => Discriminators::ZEROS,
            };
            let found: Vec<_> = (0..all.len()).map(|at| read.get(at)).collect();
            prop_assert_eq!(&found, &all);
            prop_assert_eq!(has_some, all.iter().any(|one| *one != 0));
        }
    }
}
