//! Groups in `live`: which segments a vertex group has, and where the present version of each lies.
//!
//! ```text
//! directory   1,032 words: the line of a page, or 0; the first 1,024 are of groups of vertices, the next of indexes
//! page        1,024 words: the line of a group, or 0              set once
//! group       label:32 | segments:32, then two words for each:
//!             subject | line of its version                        ascending by subject
//! ```
//!
//! A group is replaced as a whole when it gets another segment; the line of a version is stored in place when the version
//! is switched (group_blocks.rs). Whoever still has the block before reads versions that were present then, which its slot keeps.
//!
//! Differs from mapped-engine section 3, which has one table of all groups: that would be 8 MiB in each database, however
//! small.
//!
//! Concurrency: the writer stores a block first, then the reference to it (Release); readers load references (Acquire).

use crate::files::segment_id::INDEXES;
use crate::live::Live;
use crate::live_head::GROUP_PAGES;
use crate::words::{LineNumber, SharedWords};
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, LabelId};
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};

/// Groups of a page.
pub(crate) const PAGE_GROUPS: usize = 1024;

/// What a segment is about, in its group: a number that the engine gives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SegmentSubject(pub u32);

/// A group where it lies.
#[derive(Clone, Copy, Debug)]
pub struct SharedGroup<'a> {
    shared: &'a SharedWords,
    line: LineNumber,
    /// The label of its vertices.
    pub label: LabelId,
    /// Two words for each segment.
    segments: &'a [AtomicU64],
}

impl<'a> SharedGroup<'a> {
    /// The group `number` of those in `live`, if there is one.
    ///
    /// # Errors
    /// `corrupt` if a reference leads out of `live`.
    pub fn find(live: &'a Live, number: GroupId) -> Result<Option<Self>> {
        let shared = live.words();
        let (page, at) = (number.0 as usize / PAGE_GROUPS, number.0 as usize % PAGE_GROUPS);
        let Some(cell) = live.group_directory().get(page) else { return Ok(None) };
        let page = referenced(shared, live.head().group_directory(), cell)?;
        if page.is_none() {
            return Ok(None);
        }
        let line = referenced(shared, page, &shared.slice(page, PAGE_GROUPS)?[at])?;
        if line.is_none() {
            return Ok(None);
        }
        let head = shared.slice(line, 1)?[0].load(Ordering::Relaxed);
        let count = (head >> 32) as usize;
        let segments = &shared.slice(line, group_words(count))?[1..];
        let Ok(label) = u16::try_from(head as u32).map(LabelId) else {
            return Err(shared.damaged(line, format_args!("label {}", head as u32)));
        };
        Ok(Some(Self { shared, line, label, segments }))
    }

    /// The line of the present version of the segment about `subject`, if the group has one. Cost: a binary search.
    ///
    /// # Errors
    /// `corrupt` if there can't be such a line.
    pub fn version(&self, subject: SegmentSubject) -> Result<Option<LineNumber>> {
        let Some(cell) = self.cell(subject) else { return Ok(None) };
        let line = referenced(self.shared, self.line, cell)?;
        if line.is_none() {
            return Err(self.shared.damaged(self.line, format_args!("segment {} has no version", subject.0)));
        }
        Ok(Some(line))
    }

    /// What its segments are about, ascending.
    pub fn subjects(&self) -> impl Iterator<Item = SegmentSubject> + use<'a> {
        self.segments.chunks_exact(2).map(|segment| SegmentSubject(segment[0].load(Ordering::Relaxed) as u32))
    }

    fn cell(&self, subject: SegmentSubject) -> Option<&'a AtomicU64> {
        let subjects = |at: usize| self.segments[2 * at].load(Ordering::Relaxed);
        let (mut from, mut to) = (0, self.segments.len() / 2);
        while from < to {
            let middle = from + (to - from) / 2;
            if subjects(middle) < u64::from(subject.0) { from = middle + 1 } else { to = middle }
        }
        let is_there = from < self.segments.len() / 2 && subjects(from) == u64::from(subject.0);
        is_there.then(|| &self.segments[2 * from + 1])
    }
}

/// The line that `cell` refers to, which lies in the block at `place`.
fn referenced(shared: &SharedWords, place: LineNumber, cell: &AtomicU64) -> Result<LineNumber> {
    let line = cell.load(Ordering::Acquire);
    let in_range = u32::try_from(line).map(LineNumber);
    in_range.map_err(|_| shared.damaged(place, format_args!("a reference to line {line}")))
}

/// Words of a group with so many segments.
#[must_use]
pub fn group_words(segments: usize) -> usize {
    1 + 2 * segments
}

/// Which word of a group has the line of the version of its segment `at`.
#[must_use]
pub fn version_word(at: usize) -> usize {
    2 + 2 * at
}

/// Stores a group with these segments, ascending by subject, and the lines of their versions, into a block that nothing refers to
/// yet.
pub fn store_group(
    words: &[AtomicU64],
    label: LabelId,
    segments: impl ExactSizeIterator<Item = (SegmentSubject, LineNumber)>,
) {
    words[0].store(u64::from(label.0) | (segments.len() as u64) << 32, Ordering::Relaxed);
    for (cells, (subject, version)) in words[1..].chunks_exact(2).zip(segments) {
        cells[0].store(subject.0.into(), Ordering::Relaxed);
        cells[1].store(version.0.into(), Ordering::Relaxed);
    }
}

const _: () =
    assert!(GROUP_PAGES * PAGE_GROUPS > INDEXES.0 as usize, "every group has a place, and indexes as well");
