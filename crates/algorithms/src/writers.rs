//! Writers: whether one thread changes some atomic state, or several at once.
//!
//! A compare-and-exchange takes as long as a dozen loads and lets none behind it begin. One writer does with a store.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Who writes meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Writers {
    /// Only the thread that asks.
    One,
    /// Other threads too.
    Many,
}

impl Writers {
    /// Those of work that is shared out on rayon's current pool.
    pub(crate) fn of_pool() -> Self {
        if rayon::current_num_threads() == 1 { Self::One } else { Self::Many }
    }

    /// Writes `new` to `slot` if `known` is there still. If there is one writer, `known` must be what it last read there.
    ///
    /// # Errors
    /// What is there instead.
    #[inline]
    pub(crate) fn replace(self, slot: &AtomicU32, known: u32, new: u32) -> Result<(), u32> {
        match self {
            Self::One => slot.store(new, Relaxed),
            Self::Many => return slot.compare_exchange(known, new, Relaxed, Relaxed).map(drop),
        }
        Ok(())
    }

    /// As [`Writers::replace`].
    ///
    /// # Errors
    /// As [`Writers::replace`].
    #[inline]
    pub(crate) fn replace_long(self, slot: &AtomicU64, known: u64, new: u64) -> Result<(), u64> {
        match self {
            Self::One => slot.store(new, Relaxed),
            Self::Many => return slot.compare_exchange(known, new, Relaxed, Relaxed).map(drop),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_writers_replace_only_what_they_know() {
        let (slot, long) = (AtomicU32::new(7), AtomicU64::new(7));
        assert_eq!(
            (Writers::Many.replace(&slot, 8, 9), Writers::Many.replace_long(&long, 8, 9)),
            (Err(7), Err(7))
        );
        for writers in [Writers::Many, Writers::One] {
            assert_eq!((writers.replace(&slot, 7, 9), writers.replace_long(&long, 7, 9)), (Ok(()), Ok(())));
            assert_eq!((slot.swap(7, Relaxed), long.swap(7, Relaxed)), (9, 9));
        }
    }

    #[test]
    fn a_pool_of_one_thread_has_one_writer() {
        let of_pool = |threads| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(Writers::of_pool)
        };
        assert_eq!((of_pool(1), of_pool(2)), (Writers::One, Writers::Many));
    }
}
