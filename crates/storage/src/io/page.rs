//! Page: buffers whose address and length direct I/O accepts.
//!
//! The standard library allocates a vector at the alignment of its items, so the items are blocks of 4 KiB, aligned
//! to their size; zerocopy derives, at compile time, that they may be read and written as plain bytes. The other safe
//! way, a longer vector and a slice that begins inside of it, would add a quarter to each page of 16 KiB.

use std::fmt;
use std::ops::{Deref, DerefMut};

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// What offsets, lengths and addresses of direct I/O are multiples of, in bytes: the largest block size that disks
/// and file systems ask for in practice.
pub const ALIGNMENT_BYTES: usize = 4096;

#[derive(FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C, align(4096))]
struct AlignedBlock([u8; ALIGNMENT_BYTES]);

const _: () =
    assert!(align_of::<AlignedBlock>() == ALIGNMENT_BYTES && size_of::<AlignedBlock>() == ALIGNMENT_BYTES);

/// Bytes for direct I/O; a slice of them is used as any other.
#[derive(Default)]
pub struct AlignedBuffer(Vec<AlignedBlock>);

impl AlignedBuffer {
    /// A buffer of `length` bytes, all zero. Cost: one allocation of just as many bytes.
    ///
    /// # Panics
    /// If `length` is no multiple of [`ALIGNMENT_BYTES`], or there is no memory.
    #[must_use]
    pub fn zeroed(length: usize) -> Self {
        assert!(length.is_multiple_of(ALIGNMENT_BYTES), "a buffer has whole blocks, not {length} bytes");
        let blocks = AlignedBlock::new_vec_zeroed(length / ALIGNMENT_BYTES);
        Self(blocks.expect("the process has memory for a buffer"))
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl DerefMut for AlignedBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0.as_mut_bytes()
    }
}

impl fmt::Debug for AlignedBuffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "AlignedBuffer({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_aligned_zero_and_one_slice() {
        for blocks in [0, 1, 4, 256] {
            let mut buffer = AlignedBuffer::zeroed(blocks * ALIGNMENT_BYTES);
            assert!(buffer.as_ptr().addr().is_multiple_of(ALIGNMENT_BYTES));
            assert_eq!(buffer.len(), blocks * ALIGNMENT_BYTES);
            assert!(buffer.iter().all(|byte| *byte == 0));
            buffer.fill(7);
            assert!(buffer.iter().all(|byte| *byte == 7));
        }
    }

    #[test]
    #[should_panic(expected = "whole blocks")]
    fn a_part_of_a_block_is_no_buffer() {
        let _ = AlignedBuffer::zeroed(100);
    }
}
