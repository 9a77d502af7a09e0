//! File set: all CSR files of one moment, immutable.
//!
//! ```text
//! L0        stamped files of flushes, newest first; they overlap
//! L1 .. L5  one sorted run each: files by key, which do not overlap; no stamps
//! ```
//!
//! A flush, a compaction and a load make a new set out of the present one, which shares the files that stay. The new
//! set takes the old one's place in one swap (`tree.rs`); whoever pinned the old one keeps it, and its files.
//!
//! Source: disk-engine, sections 1 and 5; LSMGraph (SIGMOD 2024), section 4.3, which counts references to versions of
//! a multi-level index.

use std::sync::Arc;

/// Levels below L0.
pub const DEEPER_LEVELS: usize = 5;

/// All files of one moment. The file is a type parameter: a set knows nothing of what is in it.
#[derive(Debug)]
pub struct FileSet<F> {
    /// L0, newest first.
    flushed: Vec<Arc<F>>,
    /// L1 first; each by key, ascending.
    deeper: [Vec<Arc<F>>; DEEPER_LEVELS],
}

impl<F> Default for FileSet<F> {
    fn default() -> Self {
        Self { flushed: Vec::new(), deeper: Default::default() }
    }
}

impl<F> Clone for FileSet<F> {
    fn clone(&self) -> Self {
        Self { flushed: self.flushed.clone(), deeper: self.deeper.clone() }
    }
}

impl<F> FileSet<F> {
    /// No file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Of L0's files, newest first, and those of deeper levels, L1 first, each by key.
    #[must_use]
    pub const fn of(flushed: Vec<Arc<F>>, deeper: [Vec<Arc<F>>; DEEPER_LEVELS]) -> Self {
        Self { flushed, deeper }
    }

    /// The same with a file that was just flushed, newer than all of L0 but the first files that `is_newer` names:
    /// those of a bulk load that came after its last commit.
    #[must_use]
    pub fn with_flushed(&self, file: Arc<F>, is_newer: impl Fn(&F) -> bool) -> Self {
        let mut set = self.clone();
        let at = set.flushed.iter().take_while(|other| is_newer(other)).count();
        set.flushed.insert(at, file);
        set
    }

    /// L0's files, newest first.
    #[must_use]
    #[inline]
    pub fn flushed(&self) -> &[Arc<F>] {
        &self.flushed
    }

    /// The files of a level by key, or of L0 newest first; none of a level that there isn't.
    #[must_use]
    pub fn level(&self, level: usize) -> &[Arc<F>] {
        match level.checked_sub(1) {
            None => &self.flushed,
            Some(at) => self.deeper.get(at).map_or(&[], Vec::as_slice),
        }
    }

    /// The files of each level, L0 first.
    pub fn levels(&self) -> impl Iterator<Item = &[Arc<F>]> {
        std::iter::once(self.flushed.as_slice()).chain(self.deeper.iter().map(Vec::as_slice))
    }

    /// All files: L0 newest first, then the levels below it, each by key. No file is older than one behind it that
    /// has the same keys.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<F>> + Clone {
        self.flushed.iter().chain(self.deeper.iter().flatten())
    }

    /// How many files there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.flushed.len() + self.deeper.iter().map(Vec::len).sum::<usize>()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flushed_file_comes_first_and_the_set_before_stays_as_it_was() {
        let mut deeper: [Vec<Arc<u32>>; DEEPER_LEVELS] = Default::default();
        deeper[0] = vec![Arc::new(10), Arc::new(11)];
        let first = FileSet::of(vec![Arc::new(2), Arc::new(1)], deeper);
        let second = first.with_flushed(Arc::new(3), |_| false);
        let numbers = |set: &FileSet<u32>| set.iter().map(|file| **file).collect::<Vec<_>>();
        assert_eq!((numbers(&first), numbers(&second)), (vec![2, 1, 10, 11], vec![3, 2, 1, 10, 11]));
        assert_eq!((second.level(0).len(), second.level(1).len(), second.level(9).len()), (3, 2, 0));
        assert!(second.len() == 5 && !second.is_empty() && FileSet::<u32>::new().is_empty());
        assert!(Arc::ptr_eq(&first.level(1)[0], &second.level(1)[0]), "files are shared");
        let behind_loads = second.with_flushed(Arc::new(9), |file| *file >= 2);
        assert_eq!(numbers(&behind_loads), [3, 2, 9, 1, 10, 11]);
    }
}
