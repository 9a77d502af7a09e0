//! Region: numbered pieces of persistent memory, and the two traits by which the array reads and writes them.
//!
//! ```text
//! store(word)          visible at once; durable at some time, as a whole: 8 bytes are never torn
//! write_back(words)    the cache lines of these words are on their way to the persistent domain
//! fence()              what was written back before is durable
//! ```
//!
//! Stores to one line become durable in their order: a power cut keeps a prefix of them. Lines are independent of each
//! other. In the eADR domain caches keep their content as well, so that a store is durable at once and nothing is
//! written back.
//!
//! In [mapped files](crate::memory::file) a region is a file, whose words are mapped whole.
//!
//! Source: DGAP (SC 2023), section 2.1.3.

use crate::memory::site::{Site, Step};
use evergraph_graph::error::Result;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::ops::Range;

/// Words of a cache line.
pub const LINE_WORDS: usize = 8;

/// Bytes of a cache line, which is the unit of a write-back.
pub const LINE_BYTES: u64 = 64;

/// What of a machine keeps its content when the power fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// Memory and its controllers, but no caches: lines have to be written back.
    Adr,
    /// Caches as well: nothing is written back.
    Eadr,
}

/// A piece of memory of fixed size, addressed by words of 8 bytes.
///
/// # Concurrency
/// Any thread may load. The array stores under a lock that orders its stores and the loads of its readers, so a load needs
/// no order of its own.
pub trait Region: Send + Sync {
    /// Number of words.
    fn words(&self) -> usize;

    /// The word at `index`, as it was stored last.
    ///
    /// # Panics
    /// If the region is not that long.
    fn load(&self, index: usize) -> u64;

    /// The words from `first` on, each as `decode` has it, in two halves, the lower one first.
    ///
    /// # Panics
    /// If the region is not that long.
    #[inline]
    fn load_pairs(&self, first: usize, pairs: &mut [[u32; 2]], decode: impl Fn(u64) -> u64) {
        for (at, pair) in pairs.iter_mut().enumerate() {
            *pair = halves(decode(self.load(first + at)));
        }
    }

    /// Replaces the word at `index`. Stores of a thread happen in their order: an implementation orders them at least
    /// by `Release`.
    ///
    /// # Panics
    /// If the region is not that long.
    fn store(&self, index: usize, value: u64);

    /// Begins to write back every line that holds one of these words. [`Memory::fence`] waits for it.
    ///
    /// # Panics
    /// If the region is not that long.
    fn write_back(&self, words: Range<usize>);
}

#[inline]
fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

/// [`Region::load_pairs`] of a region whose words are atomics: bounds are checked once, not once a word.
#[inline]
pub(crate) fn load_pairs(words: &[AtomicU64], pairs: &mut [[u32; 2]], decode: impl Fn(u64) -> u64) {
    for (word, pair) in words.iter().zip(pairs) {
        *pair = halves(decode(word.load(Ordering::Relaxed)));
    }
}

/// Persistent memory as a set of numbered regions.
pub trait Memory: Send + Sync {
    /// How a region is held.
    type Region: Region;

    /// Which stores survive a power cut.
    fn domain(&self) -> Domain;

    /// What a region is called in errors: its file, where it has one.
    fn name_of(&self, number: u64) -> String {
        format!("region {number}")
    }

    /// Makes region `number` of `words` words, all zero. The region and its zeros are durable when this returns.
    ///
    /// # Errors
    /// `limit` if there is no room; `invalid` if the number is taken.
    fn allocate(&self, number: u64, words: usize) -> Result<Self::Region>;

    /// Region `number`.
    ///
    /// # Errors
    /// `not_found` if there is none.
    fn open(&self, number: u64) -> Result<Self::Region>;

    /// Gives region `number` back, durably.
    ///
    /// # Errors
    /// `not_found` if there is none.
    fn free(&self, number: u64) -> Result<()>;

    /// Numbers of all regions, ascending.
    ///
    /// # Errors
    /// Errors of reading.
    fn numbers(&self) -> Result<Vec<u64>>;

    /// Waits until every line that this thread wrote back before is durable.
    fn fence(&self);

    /// Whether the array takes this step. Only memory of tests says no, to show what a power cut does then.
    #[inline]
    fn takes(&self, _site: Site, _step: Step) -> bool {
        true
    }
}

/// The same memory, for who shares it.
impl<M: Memory> Memory for &M {
    type Region = M::Region;

    #[inline]
    fn domain(&self) -> Domain {
        (**self).domain()
    }

    fn name_of(&self, number: u64) -> String {
        (**self).name_of(number)
    }

    fn allocate(&self, number: u64, words: usize) -> Result<Self::Region> {
        (**self).allocate(number, words)
    }

    fn open(&self, number: u64) -> Result<Self::Region> {
        (**self).open(number)
    }

    fn free(&self, number: u64) -> Result<()> {
        (**self).free(number)
    }

    fn numbers(&self) -> Result<Vec<u64>> {
        (**self).numbers()
    }

    #[inline]
    fn fence(&self) {
        (**self).fence();
    }

    #[inline]
    fn takes(&self, site: Site, step: Step) -> bool {
        (**self).takes(site, step)
    }
}
