//! Checked blocks: which blocks of an extent were compared with their checksums.
//!
//! ```text
//! whole      a flag                                     all of it was compared, or this process wrote it
//! by block   a bit for each, from the first touch on    the header and the blocks' checksums were compared, and these blocks
//! ```
//!
//! It says nothing of an extent that is lost (`StoredExtent::is_lost`): what was compared of it may have changed since.

use evergraph_storage::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::OnceLock;

const WORD_BITS: usize = u64::BITS as usize;

/// What is known of one extent. Nothing, by default.
///
/// # Concurrency
/// Any thread reads and notes. All is Relaxed: it publishes nothing, since the bytes of an extent never change, and two threads that
/// compare the same block find the same.
#[derive(Debug, Default)]
pub struct CheckedBlocks {
    is_whole: AtomicBool,
    by_block: OnceLock<Box<BlockBits>>,
}

/// The blocks of a payload of several.
#[derive(Debug)]
struct BlockBits {
    /// How many there are.
    all: usize,
    /// How many bits are set.
    known: AtomicUsize,
    bits: Box<[AtomicU64]>,
}

impl CheckedBlocks {
    /// Of an extent that this process wrote: its bytes are as they were given.
    #[must_use]
    pub fn whole() -> Self {
        Self { is_whole: AtomicBool::new(true), by_block: OnceLock::new() }
    }

    /// Whether all of the extent was compared.
    #[must_use]
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.is_whole.load(Ordering::Relaxed)
    }

    /// All of the extent was compared.
    pub(crate) fn note_whole(&self) {
        self.is_whole.store(true, Ordering::Relaxed);
    }

    /// Whether the header and the blocks' checksums were compared.
    pub(crate) fn has_front(&self) -> bool {
        self.by_block.get().is_some()
    }

    /// The header and the checksums of so many blocks were compared.
    pub(crate) fn note_front(&self, blocks: usize) {
        let bits = (0..blocks.div_ceil(WORD_BITS)).map(|_| AtomicU64::new(0)).collect();
        let fresh = Box::new(BlockBits { all: blocks, known: AtomicUsize::new(0), bits });
        // Made before: under a lock nothing is done that another thread could wait for.
        self.by_block.get_or_init(|| fresh);
    }

    /// Whether a block was compared.
    #[inline]
    pub(crate) fn is_known(&self, block: usize) -> bool {
        let word = self.by_block.get().and_then(|blocks| blocks.bits.get(block / WORD_BITS));
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (block % WORD_BITS) & 1 == 1)
    }

    /// A block was compared, after the front.
    pub(crate) fn note(&self, block: usize) {
        let Some(blocks) = self.by_block.get() else { return };
        let bit = 1 << (block % WORD_BITS);
        let before = blocks.bits[block / WORD_BITS].fetch_or(bit, Ordering::Relaxed);
        // Who counts the last one is one thread, whatever the order.
        if before & bit == 0 && blocks.known.fetch_add(1, Ordering::Relaxed) + 1 == blocks.all {
            self.note_whole();
        }
    }

    /// How many blocks were compared one by one; those of an extent that was compared as a whole are not among them.
    #[must_use]
    pub fn count(&self) -> usize {
        self.by_block.get().map_or(0, |blocks| blocks.known.load(Ordering::Relaxed))
    }
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;

    #[test]
    fn the_last_block_makes_an_extent_whole_and_a_block_counts_once() {
        let checked = CheckedBlocks::default();
        assert!(!checked.has_front() && !checked.is_known(0) && !checked.is_whole());
        checked.note_front(130);
        for block in (0..130).rev() {
            assert!(!checked.is_whole() && !checked.is_known(block), "block {block}");
            checked.note(block);
            checked.note(block);
            assert!(checked.is_known(block), "block {block}");
            assert_eq!(checked.count(), 130 - block);
        }
        assert!(checked.is_whole());
        checked.note_front(130);
        assert_eq!(checked.count(), 130, "what is known stays known");
        assert!(CheckedBlocks::whole().is_whole());
    }
}
