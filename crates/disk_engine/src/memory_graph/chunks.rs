//! Chunks: an append-only array that grows by allocations of one size, and never moves what it holds.
//!
//! ```text
//! chunks   [ 0..n | n..2n | ready, unused | - | - ]      allocated ahead of the latch
//! used               ^ the next element                  moves on under the latch
//! ```
//!
//! A run of elements that is taken together lies in one chunk, so that it is a slice; what a chunk has left at its
//! end is skipped if the run does not fit. Elements 0 and 1 are never handed out.
//!
//! Source: LSMGraph (SIGMOD 2024), section 4.1: its edge array is divided into segments given out in the order
//! of arrival. Differs: it is allocated in pieces, and holds the records of hubs, too.

use evergraph_storage::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

/// Elements that are never handed out: 0 stands for "none", and a place below 2 is in the entry itself.
const RESERVED: u32 = 2;

/// An append-only array of atomics.
///
/// # Concurrency
/// One thread at a time calls [`Chunks::make_ready`]: it holds the lock of `Promises`. The holder of the commit latch
/// calls [`Chunks::take`]. Anybody reads elements whose index was published to them; a chunk is there before any of
/// its elements is taken.
#[derive(Debug)]
pub(super) struct Chunks<T> {
    chunks: Box<[OnceLock<Box<[T]>>]>,
    /// The binary logarithm of the elements of a chunk.
    chunk_bits: u32,
    /// The next element. Stored under the latch, Relaxed; `make_ready` reads it after the sum of promises (Acquire),
    /// which a commit lowers (Release) after it took what it was promised.
    used: AtomicU32,
    /// Chunks that are allocated. Stored with Release by `make_ready`, loaded with Acquire to count bytes.
    ready: AtomicU32,
}

impl<T: Default> Chunks<T> {
    /// An empty array that can grow to `chunks_max` chunks of 2^`chunk_bits` elements.
    pub(super) fn new(chunk_bits: u32, chunks_max: u32) -> Self {
        // An index has 32 bits.
        let chunks_max = chunks_max.clamp(1, u32::MAX >> chunk_bits);
        let chunks = (0..chunks_max).map(|_| OnceLock::new()).collect();
        Self { chunks, chunk_bits, used: AtomicU32::new(RESERVED), ready: AtomicU32::new(0) }
    }

    /// Allocates chunks until `promised` elements can be taken, in runs of at most `run_max`; whether they fit in an
    /// array of this size. Cost: a few instructions, mostly; else zeroing new chunks.
    #[must_use]
    pub(super) fn make_ready(&self, promised: u64, run_max: u32) -> bool {
        if promised == 0 {
            return true;
        }
        let size = 1u64 << self.chunk_bits;
        let used = u64::from(self.used.load(Ordering::Relaxed));
        // A chunk is left for the next one only when fewer elements remain than a run has.
        let skipped_max = u64::from(run_max) - 1;
        let rest = (size - used % size).saturating_sub(skipped_max);
        let more = promised.saturating_sub(rest).div_ceil(size - skipped_max);
        let wanted = used / size + 1 + more;
        if wanted > self.chunks.len() as u64 {
            return false;
        }
        for at in self.ready.load(Ordering::Relaxed)..wanted as u32 {
            let fresh = self.chunks[at as usize].set((0..size).map(|_| T::default()).collect()).is_ok();
            debug_assert!(fresh, "a chunk is allocated once");
            self.ready.store(at + 1, Ordering::Release);
        }
        true
    }

    /// Takes a run of `count` elements that were promised; the index of the first. Under the latch.
    #[inline]
    pub(super) fn take(&self, count: u32) -> u32 {
        let size = 1u32 << self.chunk_bits;
        let used = self.used.load(Ordering::Relaxed);
        let rest = size - (used & (size - 1));
        let at = if count <= rest { used } else { used + rest };
        self.used.store(at + count, Ordering::Relaxed);
        at
    }

    /// The element at an index that was taken.
    #[inline]
    pub(super) fn get(&self, at: u32) -> &T {
        &self.chunk(at)[self.within(at)]
    }

    /// A run of `count` elements that were taken together, or a part of one.
    #[inline]
    pub(super) fn run(&self, at: u32, count: u32) -> &[T] {
        &self.chunk(at)[self.within(at)..][..count as usize]
    }

    #[inline]
    fn chunk(&self, at: u32) -> &[T] {
        self.chunks[(at >> self.chunk_bits) as usize].get().expect("what was taken is allocated")
    }

    #[inline]
    fn within(&self, at: u32) -> usize {
        (at & ((1 << self.chunk_bits) - 1)) as usize
    }

    /// Bytes of all chunks.
    pub(super) fn bytes(&self) -> u64 {
        let elements = u64::from(self.ready.load(Ordering::Acquire)) << self.chunk_bits;
        elements * size_of::<T>() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_promised_can_be_taken_and_no_two_runs_overlap(
            promises in proptest::collection::vec((1u32..=5, 1u32..=5, any::<bool>()), 1..200),
        ) {
            let chunks = Chunks::<AtomicU32>::new(4, 1000);
            let (mut outstanding, mut end) = (Vec::<u32>::new(), RESERVED);
            for (promised, taken, redeem) in promises {
                outstanding.push(promised);
                let sum = outstanding.iter().map(|promised| u64::from(*promised)).sum();
                prop_assert!(chunks.make_ready(sum, 5));
                while redeem && let Some(promised) = outstanding.pop() {
                    let count = promised.min(taken);
                    let at = chunks.take(count);
                    prop_assert!(at >= end, "runs do not overlap");
                    end = at + count;
                    prop_assert_eq!(chunks.run(at, count).len(), count as usize);
                }
            }
        }
    }

    #[test]
    fn an_array_that_would_outgrow_its_chunks_says_so_and_takes_nothing() {
        let chunks = Chunks::<AtomicU32>::new(4, 2);
        assert!(chunks.make_ready(0, 1) && chunks.bytes() == 0);
        assert!(chunks.make_ready(30, 1));
        assert!(!chunks.make_ready(31, 1));
        assert_eq!(chunks.bytes(), 128);
        assert_eq!((chunks.take(1), chunks.take(1)), (2, 3));
    }
}
