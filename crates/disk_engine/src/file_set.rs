//! File set: all CSR files of one moment, immutable.
//!
//! ```text
//! L0        files of flushes, stamped, and of loads into a filled database, newest first; they overlap
//! L1 .. L5  one sorted run each: files by key, which do not overlap; no stamps
//! ```
//!
//! A flush, a compaction and a load make a new set out of the present one, which shares the files that stay.
//! The new set takes the old one's place in one swap (`tree.rs`); whoever pinned the old one keeps it, and
//! its files.
//!
//! Source: disk-engine, sections 1 and 5; LSMGraph (SIGMOD 2024), section 4.3, which counts references to
//! versions of a multi-level index.

use crate::format::file_head::{BOTTOMMOST_LEVEL, FileStamps};
use crate::key_range::KeyRange;
use crate::level::Level;
use crate::stored_file::KeyedFile;
use std::sync::Arc;

/// Levels below L0.
pub const DEEPER_LEVELS: usize = BOTTOMMOST_LEVEL as usize;

/// All files of one moment. The file is a type parameter: a set knows nothing of what is in it.
#[derive(Debug)]
pub struct FileSet<F> {
    /// L0, newest first.
    flushed: Vec<Arc<F>>,
    /// Sorted runs in L0: the files of one load are one.
    flushed_runs: usize,
    /// L1 first.
    deeper: [Arc<Level<F>>; DEEPER_LEVELS],
}

impl<F> Default for FileSet<F> {
    fn default() -> Self {
        Self { flushed: Vec::new(), flushed_runs: 0, deeper: Default::default() }
    }
}

impl<F> Clone for FileSet<F> {
    fn clone(&self) -> Self {
        Self { flushed: self.flushed.clone(), flushed_runs: self.flushed_runs, deeper: self.deeper.clone() }
    }
}

impl<F: KeyedFile> FileSet<F> {
    /// Of L0's files, newest first, and those of deeper levels, L1 first, each in any order. `None` if two
    /// files of a deeper level overlap.
    #[must_use]
    pub fn of(flushed: Vec<Arc<F>>, deeper: [Vec<Arc<F>>; DEEPER_LEVELS]) -> Option<Self> {
        let mut set = Self { flushed_runs: sorted_runs(&flushed), flushed, ..Self::default() };
        for (level, files) in set.deeper.iter_mut().zip(deeper) {
            *level = Arc::new(Level::new(files)?);
        }
        Some(set)
    }

    /// The same with `outputs` in `output_level`, below L0, in place of `inputs`; no outputs if nothing was
    /// left of them. A file that moves down is an input and an output. The set may have new files in L0 since
    /// the compaction was picked. Cost: a sort of the levels that change, and a comparison of each file with
    /// each input.
    ///
    /// `None` if the set is not the one any more that the compaction was made for: an input is gone, an
    /// output overlaps a file that stays in its level, or an older file of L0 overlaps one of L0 that is an
    /// input. Then the outputs are of no use.
    #[must_use]
    pub fn with_compacted(&self, inputs: &[Arc<F>], output_level: u8, outputs: &[Arc<F>]) -> Option<Self> {
        let is_input = |file: &Arc<F>| inputs.iter().any(|input| Arc::ptr_eq(input, file));
        if self.iter().filter(|file| is_input(file)).count() != inputs.len() {
            return None;
        }
        // What an older file of L0 has of the keys of an input would hide what the outputs have of them.
        let is_passed_over = |at: usize| {
            let older = KeyRange::of_file(self.flushed[at].stored());
            let mut newer_inputs = self.flushed[..at].iter().filter(|file| is_input(file));
            newer_inputs.any(|input| older.overlaps(KeyRange::of_file(input.stored())))
        };
        if (0..self.flushed.len()).any(|at| !is_input(&self.flushed[at]) && is_passed_over(at)) {
            return None;
        }
        let mut set = self.clone();
        set.flushed.retain(|file| !is_input(file));
        set.flushed_runs = sorted_runs(&set.flushed);
        let output_place = usize::from(output_level).checked_sub(1).filter(|at| *at < DEEPER_LEVELS)?;
        for (at, level) in set.deeper.iter_mut().enumerate() {
            if at != output_place && !level.files().iter().any(is_input) {
                continue;
            }
            let stay = level.files().iter().filter(|file| !is_input(file));
            let here = if at == output_place { outputs } else { &[] };
            *level = Arc::new(Level::new(stay.chain(here).cloned().collect())?);
        }
        Some(set)
    }

    /// The same with the files of a bulk load, which is newer than all of it: `newest` in front of L0, in
    /// this order, and
    /// `bottom`, which don't overlap each other, in `level`. If that is L0, or `bottom` overlaps a file
    /// there, they follow
    /// `newest`: the newest records may always lie in L0. Cost: a sort of the level.
    #[must_use]
    pub fn with_loaded(&self, newest: &[Arc<F>], level: u8, bottom: &[Arc<F>]) -> Self {
        let mut set = self.clone();
        let mut in_flushed = bottom;
        if let Some(level) = usize::from(level).checked_sub(1).and_then(|at| set.deeper.get_mut(at))
            && let Some(loaded) = Level::new(level.files().iter().chain(bottom).cloned().collect())
        {
            *level = Arc::new(loaded);
            in_flushed = &[];
        }
        drop(set.flushed.splice(0..0, newest.iter().chain(in_flushed).cloned()));
        set.flushed_runs = sorted_runs(&set.flushed);
        set
    }
}

/// How many sorted runs `files` of L0 are, newest first: those of one load have its timestamp and no stamps.
pub(crate) fn sorted_runs<F: KeyedFile>(files: &[Arc<F>]) -> usize {
    let is_of_one_load = |left: &Arc<F>, right: &Arc<F>| {
        let (left, right) = (left.stored(), right.stored());
        left.stamps == FileStamps::Unstamped && right.stamps == left.stamps && left.last_ts == right.last_ts
    };
    files.chunk_by(is_of_one_load).count()
}

impl<F> FileSet<F> {
    /// No file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with a file that was just flushed, newer than all of L0 but the first files that `is_newer`
    /// names: those of a bulk load that came after its last commit.
    #[must_use]
    pub fn with_flushed(&self, file: Arc<F>, is_newer: impl Fn(&F) -> bool) -> Self {
        let mut set = self.clone();
        let at = set.flushed.iter().take_while(|other| is_newer(other)).count();
        set.flushed.insert(at, file);
        set.flushed_runs += 1;
        set
    }

    /// L0's files, newest first.
    #[must_use]
    #[inline]
    pub fn flushed(&self) -> &[Arc<F>] {
        &self.flushed
    }

    /// Sorted runs in L0: a file each, but the files of one load, which don't overlap, are one together.
    #[must_use]
    #[inline]
    pub const fn flushed_runs(&self) -> usize {
        self.flushed_runs
    }

    /// The levels below L0, L1 first; those without files are among them.
    #[must_use]
    #[inline]
    pub const fn deeper(&self) -> &[Arc<Level<F>>; DEEPER_LEVELS] {
        &self.deeper
    }

    /// The files of a level by key, or of L0 newest first; none of a level that there isn't.
    #[must_use]
    pub fn level(&self, level: usize) -> &[Arc<F>] {
        match level.checked_sub(1) {
            None => &self.flushed,
            Some(at) => self.deeper.get(at).map_or(&[], |level| level.files()),
        }
    }

    /// The files of each level, L0 first.
    pub fn levels(&self) -> impl Iterator<Item = &[Arc<F>]> {
        std::iter::once(self.flushed.as_slice()).chain(self.deeper.iter().map(|level| level.files()))
    }

    /// All files: L0 newest first, then the levels below it, each by key. No file is older than one behind it
    /// that has the same keys.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<F>> + Clone {
        self.flushed.iter().chain(self.deeper.iter().flat_map(|level| level.files()))
    }

    /// How many files there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.flushed.len() + self.deeper.iter().map(|level| level.files().len()).sum::<usize>()
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
    use crate::format::file_name::FileNumber;
    use crate::stored_file::{StoredFile, StoredPart};
    use evergraph_graph::timestamp::Timestamp;

    fn file(number: u64, level: u8, (first, last): (u8, u8)) -> Arc<StoredFile> {
        Arc::new(StoredFile {
            number: FileNumber(number),
            level,
            stamps: FileStamps::Unstamped,
            first_ts: Timestamp(number),
            last_ts: Timestamp(number),
            first_key: vec![first],
            last_key: vec![last],
            topology: StoredPart { bytes: 1, footer_crc: 0 },
            columns: None,
        })
    }

    fn numbers(set: &FileSet<StoredFile>) -> Vec<u64> {
        set.iter().map(|file| file.number.0).collect()
    }

    /// L0: 2, 1; L1: 10, 11.
    fn small_set() -> FileSet<StoredFile> {
        let mut deeper: [Vec<Arc<StoredFile>>; DEEPER_LEVELS] = Default::default();
        deeper[0] = vec![file(11, 1, (50, 90)), file(10, 1, (0, 40))];
        FileSet::of(vec![file(2, 0, (0, 99)), file(1, 0, (20, 30))], deeper).unwrap()
    }

    #[test]
    fn a_flushed_file_comes_first_and_the_set_before_stays_as_it_was() {
        let first = small_set();
        let second = first.with_flushed(file(3, 0, (0, 9)), |_| false);
        assert_eq!((numbers(&first), numbers(&second)), (vec![2, 1, 10, 11], vec![3, 2, 1, 10, 11]));
        assert_eq!((second.level(0).len(), second.level(1).len(), second.level(9).len()), (3, 2, 0));
        assert!(second.len() == 5 && !second.is_empty() && FileSet::<u32>::new().is_empty());
        assert!(Arc::ptr_eq(&first.deeper()[0], &second.deeper()[0]), "levels are shared");
        let behind_loads = second.with_flushed(file(9, 0, (0, 9)), |file| file.number.0 >= 2);
        assert_eq!(numbers(&behind_loads), [3, 2, 9, 1, 10, 11]);
    }

    #[test]
    fn outputs_take_the_place_of_inputs_and_newer_files_stay() {
        let picked = small_set();
        let inputs = [&picked.level(0)[1], &picked.level(1)[0]].map(Arc::clone);
        let set = picked.with_flushed(file(3, 0, (0, 99)), |_| false);
        let outputs = [file(21, 1, (25, 40)), file(20, 1, (0, 24))];
        let compacted = set.with_compacted(&inputs, 1, &outputs).unwrap();
        assert_eq!(numbers(&compacted), [3, 2, 20, 21, 11]);
        assert_eq!(numbers(&set), [3, 2, 1, 10, 11], "who pinned it keeps it");
        assert_eq!(numbers(&set.with_compacted(&inputs, 1, &[]).unwrap()), [3, 2, 11]);
        let moved = set.with_compacted(&inputs[1..], 2, &inputs[1..]).unwrap();
        assert_eq!((moved.level(1).len(), moved.level(2)[0].number), (1, FileNumber(10)));
    }

    #[test]
    fn a_compaction_of_another_set_is_refused() {
        let set = small_set();
        let both = [&set.level(0)[1], &set.level(1)[0]].map(Arc::clone);
        let gone = set.with_compacted(&both, 1, &[]).unwrap();
        assert!(gone.with_compacted(&both, 1, &[]).is_none(), "inputs are gone");
        let wide = [file(20, 1, (0, 50))];
        assert!(set.with_compacted(&both, 1, &wide).is_none(), "an output overlaps a file that stays");
        assert!(set.with_compacted(&both, 0, &[]).is_none() && set.with_compacted(&both, 6, &[]).is_none());
        let newest = [Arc::clone(&set.level(0)[0])];
        assert!(
            set.with_compacted(&newest, 2, &[file(20, 2, (0, 99))]).is_none(),
            "an older file of L0 stays"
        );
        // An output may reach over an older file whose keys are not among those of the inputs of L0.
        let flushed = vec![file(2, 0, (0, 9)), file(1, 0, (20, 30))];
        let set = FileSet::of(flushed, [vec![file(10, 1, (5, 40))], vec![], vec![], vec![], vec![]]).unwrap();
        let inputs = [&set.level(0)[0], &set.level(1)[0]].map(Arc::clone);
        let compacted = set.with_compacted(&inputs, 1, &[file(20, 1, (0, 40))]).unwrap();
        assert_eq!(numbers(&compacted), [1, 20]);
    }

    #[test]
    fn the_files_of_a_load_go_to_the_front_and_to_their_level() {
        let set = small_set();
        let newest = [file(5, 0, (0, 9))];
        let placed = |level, keys| numbers(&set.with_loaded(&newest, level, &[file(6, level, keys)]));
        assert_eq!(placed(1, (41, 49)), [5, 2, 1, 10, 6, 11]);
        assert_eq!(placed(0, (41, 49)), [5, 6, 2, 1, 10, 11]);
        assert_eq!(placed(1, (40, 49)), [5, 6, 2, 1, 10, 11], "it overlaps what came there meanwhile");
        let of_load = |number, keys| {
            let mut file = StoredFile::clone(&file(number, 0, keys));
            file.last_ts = Timestamp(99);
            Arc::new(file)
        };
        let many = [(5, (0, 9)), (6, (10, 19)), (7, (20, 29))].map(|(number, keys)| of_load(number, keys));
        let loaded = set.with_loaded(&many, 0, &[]);
        assert_eq!((loaded.flushed().len(), loaded.flushed_runs(), set.flushed_runs()), (5, 3, 2));
        assert_eq!(loaded.with_flushed(file(8, 0, (0, 9)), |_| false).flushed_runs(), 4);
    }
}
