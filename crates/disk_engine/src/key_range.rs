//! Key range: the keys from the first to the last of some files, and whether two ranges overlap.
//!
//! ```text
//! files    [ a ]     [  b  ]   [ c ]      a level below L0: by key, disjoint
//! range        [ - ]                      overlaps none; its place is 1, before b
//! range            [ ---- ]               overlaps b
//! hull     [ ----------------------- ]    of a and c, gaps included: overlaps all
//! ```
//!
//! Both ends are keys of the range. Keys are order bytes (`stored_file.rs`): comparing bytes is comparing keys.

use crate::stored_file::{KeyedFile, StoredFile};
use std::ops::Range;
use std::sync::Arc;

/// A range of keys, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyRange<'a> {
    /// The first key, as order bytes.
    pub first: &'a [u8],
    /// The last key, as order bytes.
    pub last: &'a [u8],
}

impl<'a> KeyRange<'a> {
    /// From the first key of a file to its last one.
    #[must_use]
    #[inline]
    pub fn of_file(file: &'a StoredFile) -> Self {
        Self { first: &file.first_key, last: &file.last_key }
    }

    /// The smallest range with all keys of `files`; `None` of no files.
    #[must_use]
    pub fn hull<F: KeyedFile + 'a>(files: impl IntoIterator<Item = &'a Arc<F>>) -> Option<Self> {
        files.into_iter().map(|file| Self::of_file(file.stored())).reduce(Self::with)
    }

    /// The smallest range with all keys of both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last) }
    }

    /// Whether a key may be in both.
    #[must_use]
    #[inline]
    pub fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// The places of those of `files` that it overlaps; empty where a file with its keys belongs, if it overlaps none.
    /// The files are by key and disjoint. Cost: two binary searches.
    #[must_use]
    pub fn places_in<F: KeyedFile>(self, files: &[Arc<F>]) -> Range<usize> {
        let start = files.partition_point(|file| file.stored().last_key.as_slice() < self.first);
        let count = files[start..].partition_point(|file| file.stored().first_key.as_slice() <= self.last);
        start..start + count
    }

    /// Those of `files` that it overlaps. The files are by key and disjoint. Cost: two binary searches.
    #[must_use]
    pub fn overlapped<F: KeyedFile>(self, files: &[Arc<F>]) -> &[Arc<F>] {
        &files[self.places_in(files)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::file_head::FileStamps;
    use crate::format::file_name::FileNumber;
    use crate::stored_file::StoredPart;
    use evergraph_graph::timestamp::Timestamp;

    fn file(first: u8, last: u8) -> Arc<StoredFile> {
        Arc::new(StoredFile {
            number: FileNumber(1),
            level: 1,
            stamps: FileStamps::Unstamped,
            first_ts: Timestamp(1),
            last_ts: Timestamp(1),
            first_key: vec![first],
            last_key: vec![last],
            topology: StoredPart { bytes: 1, footer_crc: 0 },
            columns: None,
        })
    }

    /// All ranges of keys below ten.
    fn bounds() -> impl Iterator<Item = (u8, u8)> + Clone {
        (0..10).flat_map(|first| (first..10).map(move |last| (first, last)))
    }

    #[test]
    fn ranges_overlap_if_they_have_a_key_in_common() {
        for (left, right) in bounds().flat_map(|left| bounds().map(move |right| (left, right))) {
            let expected = (left.0..=left.1).any(|key| (right.0..=right.1).contains(&key));
            let (left, right) = (file(left.0, left.1), file(right.0, right.1));
            let range = KeyRange::of_file(&left);
            assert_eq!(range.overlaps(KeyRange::of_file(&right)), expected, "{left:?} {right:?}");
        }
    }

    #[test]
    fn a_key_that_begins_with_another_comes_behind_it() {
        let (short, long) = (KeyRange { first: b"a", last: b"b" }, KeyRange { first: b"b\0", last: b"c" });
        assert!(!short.overlaps(long) && !long.overlaps(short));
        assert_eq!(short.with(long), KeyRange { first: b"a", last: b"c" });
    }

    #[test]
    fn of_disjoint_files_those_that_a_range_overlaps_stand_together() {
        let files = [file(1, 2), file(4, 4), file(5, 7)];
        for (first, last) in bounds() {
            let asked = file(first, last);
            let range = KeyRange::of_file(&asked);
            let overlaps = |file: &&Arc<StoredFile>| range.overlaps(KeyRange::of_file(file));
            let expected: Vec<_> = files.iter().filter(overlaps).cloned().collect();
            assert_eq!(range.overlapped(&files), expected);
            let place = range.places_in(&files).start;
            assert!(files[..place].iter().all(|file| file.last_key[0] < first), "{first} to {last}");
        }
        let after = KeyRange { first: &[3], last: &[3] };
        assert_eq!((after.places_in(&files), after.places_in::<StoredFile>(&[])), (1..1, 0..0));
    }

    #[test]
    fn a_hull_reaches_over_gaps() {
        let files = [file(8, 9), file(1, 2), file(2, 4)];
        assert_eq!(KeyRange::hull(&files), Some(KeyRange { first: &[1], last: &[9] }));
        assert_eq!(KeyRange::hull::<StoredFile>(&[]), None);
    }
}
