//! Compaction areas: the levels and keys that each compaction under way reads and writes; no two of them meet.
//!
//! ```text
//! keys      a ......... h ......... p ......... z
//! L0        [    A    ]         [  wait  ]              newer files of L0 may come: they are above everything
//! L1        [    A    ]           [     B     ]         A: L0 into L1     B: L1 into L2
//! L2            [  C  ]           [     B     ]         C: L2 into L3
//! L3            [  C  ]
//! ```
//!
//! The *area* of a compaction is the levels from that of its first inputs to that of its outputs, and all keys from the
//! first to the last of its inputs, gaps included, since an output may reach over them. A compaction reads files of its
//! area alone, and its outputs lie in it. So compactions with areas that do not meet may be installed in any order:
//!
//! - they share no input, and outputs of one do not overlap those of another in their level;
//! - of each key the records stay in order: where areas have common keys, all levels of one are above those of the other;
//! - a compaction that drops Deletes has looked at all levels below its area. Records of its keys get there only by a
//!   compaction whose levels begin in the area or above it, and end below it: that one would meet it.
//!
//! Source: RocksDB, `LevelCompactionPicker`, which likewise refuses a compaction whose files or range of outputs are in
//! another one that runs.

use crate::format::file_name::FileNumber;
use crate::key_range::KeyRange;
use crate::stored_file::{KeyedFile, StoredFile};
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::{AtomicBool, Ordering};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// What one compaction reads and writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompactionArea {
    levels: RangeInclusive<u8>,
    first_key: Vec<u8>,
    last_key: Vec<u8>,
    /// Ascending.
    inputs: Vec<FileNumber>,
}

impl CompactionArea {
    /// The area of `inputs` and of their outputs in the last of `levels`; `None` if there are no inputs. Cost: a comparison
    /// of keys and a part of a sort an input.
    #[must_use]
    pub fn of<F: KeyedFile>(levels: RangeInclusive<u8>, inputs: &[Arc<F>]) -> Option<Self> {
        let KeyRange { first, last } = KeyRange::hull(inputs)?;
        let mut numbers: Vec<FileNumber> = inputs.iter().map(|file| file.stored().number).collect();
        numbers.sort_unstable();
        Some(Self { levels, first_key: first.to_vec(), last_key: last.to_vec(), inputs: numbers })
    }

    /// Whether both have a level and a key in common.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        let levels = self.levels.start() <= other.levels.end() && other.levels.start() <= self.levels.end();
        levels && !planted(Bug::AreasMeet) && self.keys().overlaps(other.keys())
    }

    fn keys(&self) -> KeyRange<'_> {
        KeyRange { first: &self.first_key, last: &self.last_key }
    }

    /// Whether a file is one of the inputs.
    #[must_use]
    pub fn has(&self, file: &StoredFile) -> bool {
        self.inputs.binary_search(&file.number).is_ok()
    }

    /// Whether a file of `level` is an input that the outputs leave the level with.
    #[must_use]
    pub fn takes_from(&self, level: usize, file: &StoredFile) -> bool {
        usize::from(*self.levels.start()) == level && self.has(file)
    }
}

/// The areas of all compactions of an engine that are under way.
///
/// # Concurrency
/// Any thread takes an area, one at a time, and gives it back by dropping it. The lock is held while a compaction is
/// picked: O(files) comparisons, no I/O. It is a leaf, but for the look at the present set.
#[derive(Debug, Default)]
pub struct CompactionAreas {
    taken: Mutex<Vec<Arc<CompactionArea>>>,
    /// Relaxed: a compaction goes on for a thousand records more or less.
    is_stopped: AtomicBool,
}

impl CompactionAreas {
    /// Takes the area that `choose` returns beside what it chose, which is asked with those that are taken; `None` if it
    /// chooses none. Whoever looks at the present set within `choose` sees what every compaction installed whose area is
    /// not among them.
    ///
    /// # Panics
    /// If the area meets one that is taken.
    pub fn take<T>(
        &self,
        choose: impl FnOnce(&[Arc<CompactionArea>]) -> Option<(T, CompactionArea)>,
    ) -> Option<(T, TakenArea<'_>)> {
        let mut taken = self.taken.lock();
        let (chosen, area) = choose(&taken)?;
        assert!(!taken.iter().any(|other| other.meets(&area)), "areas of compactions do not meet");
        let area = Arc::new(area);
        taken.push(Arc::clone(&area));
        Some((chosen, TakenArea { areas: self, area }))
    }

    /// How many compactions are under way.
    #[must_use]
    pub fn count(&self) -> usize {
        self.taken.lock().len()
    }

    /// Ends all compactions: those under way are given up.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Whether [`CompactionAreas::stop`] was called.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }
}

/// The area of a compaction under way: free again when this is dropped.
#[derive(Debug)]
#[must_use = "dropped, it is free for others"]
pub struct TakenArea<'a> {
    areas: &'a CompactionAreas,
    area: Arc<CompactionArea>,
}

impl Drop for TakenArea<'_> {
    fn drop(&mut self) {
        self.areas.taken.lock().retain(|other| !Arc::ptr_eq(other, &self.area));
    }
}
