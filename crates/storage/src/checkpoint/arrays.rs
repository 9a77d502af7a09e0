//! Arrays: numbers as little-endian bytes, without gaps.
//!
//! Reading and writing are loops over chunks of constant size, which compile to plain copies on a
//! little-endian machine: a body of millions of edges loads at the speed of memory.

use evergraph_graph::bytes::{Decoded, Reader};

/// A number that arrays are made of.
pub trait Number: Copy {
    /// Bytes of one number.
    const BYTES: usize;

    /// Appends `numbers` to `out`.
    fn put(out: &mut Vec<u8>, numbers: &[Self]);

    /// The numbers in `bytes`, whose length is a multiple of [`Number::BYTES`].
    fn get(bytes: &[u8]) -> Box<[Self]>;
}

macro_rules! number {
    ($($type:ty),*) => {$(
        impl Number for $type {
            const BYTES: usize = size_of::<$type>();

            fn put(out: &mut Vec<u8>, numbers: &[Self]) {
                let start = out.len();
                out.resize(start + size_of_val(numbers), 0);
                let (chunks, _) = out[start..].as_chunks_mut::<{ size_of::<$type>() }>();
                for (chunk, number) in chunks.iter_mut().zip(numbers) {
                    *chunk = number.to_le_bytes();
                }
            }

            fn get(bytes: &[u8]) -> Box<[Self]> {
                let (chunks, rest) = bytes.as_chunks::<{ size_of::<$type>() }>();
                debug_assert!(rest.is_empty(), "whole numbers");
                chunks.iter().map(|chunk| <$type>::from_le_bytes(*chunk)).collect()
            }
        }
    )*};
}

number!(u16, u32, u64, u128, i64, f64);

/// Appends `numbers` to `out`.
pub fn put_array<T: Number>(out: &mut Vec<u8>, numbers: &[T]) {
    T::put(out, numbers);
}

/// Reads `count` numbers. Cost: a copy; memory is taken after the bytes were found to be there.
///
/// # Errors
/// If fewer are left.
pub fn take_array<T: Number>(reader: &mut Reader<'_>, count: usize) -> Decoded<Box<[T]>> {
    let bytes = count.saturating_mul(T::BYTES);
    Ok(T::get(reader.take(bytes)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arrays_read_back(
            small in proptest::collection::vec(any::<u16>(), 0..50),
            large in proptest::collection::vec(any::<u64>(), 0..50),
        ) {
            let mut bytes = vec![7];
            put_array(&mut bytes, &small);
            put_array(&mut bytes, &large);
            let mut reader = Reader::new(&bytes[1..]);
            prop_assert_eq!(&*take_array::<u16>(&mut reader, small.len()).unwrap(), &small[..]);
            prop_assert_eq!(&*take_array::<u64>(&mut reader, large.len()).unwrap(), &large[..]);
            prop_assert!(reader.is_empty());
        }
    }

    #[test]
    fn numbers_are_little_endian_and_a_count_beyond_the_input_is_refused() {
        let mut bytes = Vec::new();
        put_array(&mut bytes, &[0x0403_0201u32]);
        assert_eq!(bytes, [1, 2, 3, 4]);
        assert!(take_array::<u32>(&mut Reader::new(&bytes), 2).is_err());
        assert!(take_array::<u64>(&mut Reader::new(&bytes), usize::MAX).is_err());
    }
}
