//! List merge: one sorted sequence of lists from several, list by list.
//!
//! ```text
//! head of each source        the next list is the least of them
//! one source has it          its slice is passed on as it is: no record is looked at
//! several have it            cursors; the least key of all, and the next one in another cursor:
//!                              in one cursor alone its records up to the other's are copied in a piece
//!                              in several          their records come to one
//! ```
//!
//! A step ends where a slice ends, so a list of any length takes the memory of a slice a source.

use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::format::tree_key::ItemKey;
use crate::merge::delete_rule::DeleteRule;
use crate::merge::list_cursor::{ListCursor, inexact};
use crate::merge::list_source::{ListKey, ListSource};
use crate::merge::merge_error::MergeError;
use crate::merge::merged_run::{MergedRun, Origin};
use crate::merge::net::Net;
use crate::merge::run_buffer::RunBuffer;
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;

/// Records that a run has at most, unless it is a slice that was passed on.
const RUN_RECORDS_MAX: usize = 4096;

/// Merges sources of lists.
#[derive(Debug)]
pub struct ListMerge<S> {
    /// The newest first.
    sources: Vec<S>,
    /// The list of each source's cursor, or else of its slice in front.
    heads: Vec<Head>,
    cursors: Vec<ListCursor>,
    until: Timestamp,
    deletes: DeleteRule,
    /// The source whose slice was passed on by the last step, and is still in front.
    passed: Option<usize>,
    /// The first list of a source beside the one in `passed`, up to which its slices are passed on.
    passed_until: Head,
    /// The sources that have the list of the step.
    sharing: Vec<usize>,
    buffer: RunBuffer,
    /// What the last step made.
    current: Step,
}

/// What a step made.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A slice of this source.
    Passed(usize),
    /// Records of this list, in the buffer.
    Merged(ListKey),
    /// Nothing is left.
    End,
}

/// A list as one number, in the order of lists; [`Head::END`] behind all of them. A merge compares the heads of all sources
/// once a list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Head(u64);

impl Head {
    /// The source has no more lists. Subjects of lists are far below the largest number.
    const END: Self = Self(u64::MAX);

    #[inline]
    fn of(list: ListKey) -> Self {
        Self(u64::from(list.subject.number()) << 32 | u64::from(list.vertex.0))
    }

    #[inline]
    fn list(self) -> ListKey {
        ListKey { subject: Subject::numbered((self.0 >> 32) as u32), vertex: VertexId(self.0 as u32) }
    }
}

impl<S: ListSource> ListMerge<S> {
    /// Merges `sources`, which stand at their first slices, the newest source first. Of stamped records those
    /// through `until` count.
    #[must_use]
    pub fn new(sources: Vec<S>, until: Timestamp, deletes: DeleteRule) -> Self {
        let heads: Vec<_> = sources.iter().map(head).collect();
        let cursors = sources.iter().map(|_| ListCursor::default()).collect();
        let (passed, sharing, buffer) = (None, Vec::new(), RunBuffer::default());
        let (current, passed_until) = (Step::End, Head::END);
        Self { sources, heads, cursors, until, deletes, passed, passed_until, sharing, buffer, current }
    }

    /// The next records, in key order; `None` at the end.
    ///
    /// # Errors
    /// As [`ListMerge::advance`].
    pub fn next_run(&mut self) -> Result<Option<MergedRun<'_>>, MergeError<S::Error>> {
        self.advance()?;
        Ok(self.run())
    }

    /// Goes on to the next records, in key order; the list that they belong to, or `None` at the end.
    ///
    /// Cost: that of the sources' slices, where one source alone has a list; else one pass over the records,
    /// and a look at each source that has the list for every run of records from another source.
    ///
    /// # Errors
    /// Those of the sources; [`MergeError::Disordered`] and [`MergeError::Inexact`] for what is merged. Slices that
    /// are passed on are not checked. An error ends the merge.
    pub fn advance(&mut self) -> Result<Option<ListKey>, MergeError<S::Error>> {
        self.current = Step::End;
        self.current = self.step()?;
        Ok(match self.current {
            Step::End => None,
            Step::Merged(list) => Some(list),
            Step::Passed(source) => {
                let front = self.sources[source].front().expect("a slice that is passed on is in front");
                self.buffer.plan_whole(Origin { source, rank: front.first_rank }, front.count);
                Some(front.list)
            }
        })
    }

    /// The records that the merge went on to; `None` before the first and at the end.
    #[must_use]
    #[inline]
    pub fn run(&self) -> Option<MergedRun<'_>> {
        match self.current {
            Step::End => None,
            Step::Merged(list) => Some(self.buffer.run(list)),
            Step::Passed(source) => {
                let slice = self.sources[source].slice()?;
                Some(MergedRun {
                    list: slice.list,
                    neighbors: slice.neighbors,
                    discriminators: slice.discriminators,
                    operations: slice.operations,
                    property_runs: self.buffer.property_runs(),
                    later_sets: &[],
                })
            }
        }
    }

    /// The source whose slice the run is, if it is passed on as it is.
    #[must_use]
    pub fn passed(&self) -> Option<&S> {
        match self.current {
            Step::Passed(source) => self.sources.get(source),
            Step::Merged(_) | Step::End => None,
        }
    }

    /// The sources, the newest first. They stand where the merge reads, which may be behind the run in hand.
    #[must_use]
    pub fn sources(&self) -> &[S] {
        &self.sources
    }

    /// The sources, wherever they stand.
    #[must_use]
    pub fn into_sources(self) -> Vec<S> {
        self.sources
    }

    fn step(&mut self) -> Result<Step, MergeError<S::Error>> {
        if let Some(source) = self.passed {
            self.finish_passing()?;
            // Mostly one source has many lists before the next one of another.
            if self.heads[source] < self.passed_until && self.can_pass(source) {
                self.passed = Some(source);
                return Ok(Step::Passed(source));
            }
        }
        self.buffer.clear();
        while let Some(list) = self.find_sharing() {
            if let &[source] = self.sharing.as_slice()
                && self.can_pass(source)
            {
                let others = self.heads.iter().enumerate().filter(|(other, _)| *other != source);
                self.passed_until = others.map(|(_, head)| *head).min().unwrap_or(Head::END);
                self.passed = Some(source);
                return Ok(Step::Passed(source));
            }
            let drops_deletes = self.deletes.drops(list.subject);
            self.merge(list, drops_deletes)?;
            if self.buffer.len() > 0 {
                return Ok(Step::Merged(list));
            }
        }
        Ok(Step::End)
    }

    fn finish_passing(&mut self) -> Result<(), MergeError<S::Error>> {
        let Some(source) = self.passed.take() else { return Ok(()) };
        let list = self.heads[source].list();
        self.sources[source].advance().map_err(|error| MergeError::Source { source, error })?;
        self.refresh_head(source, list)
    }

    /// The least list, and in `sharing` the sources that have it, the newest first.
    fn find_sharing(&mut self) -> Option<ListKey> {
        let least = self.heads.iter().copied().min().filter(|head| *head != Head::END)?;
        self.sharing.clear();
        self.sharing.extend((0..self.heads.len()).filter(|source| self.heads[*source] == least));
        Some(least.list())
    }

    #[inline]
    fn can_pass(&self, source: usize) -> bool {
        let is_bare = self.sources[source].front().is_some_and(|front| front.is_bare);
        self.cursors[source].is_empty() && (is_bare || self.can_pass_slice(source))
    }

    fn can_pass_slice(&self, source: usize) -> bool {
        let Some(slice) = self.sources[source].slice() else { return false };
        slice.stamps.is_none()
            && !(slice.operations.contains(&RecordOperation::Delete)
                && self.deletes.drops(slice.list.subject))
    }

    /// Merges `list` until a source must bring more of it, or the buffer is full.
    fn merge(&mut self, list: ListKey, drops_deletes: bool) -> Result<(), MergeError<S::Error>> {
        let mut are_loaded = true;
        for &source in &self.sharing {
            let cursor = &mut self.cursors[source];
            if cursor.is_empty() {
                cursor.load(&mut self.sources[source], source, list, self.until)?;
                are_loaded &= !cursor.is_empty();
            }
        }
        // A source whose records all went may have more of the list.
        if are_loaded {
            self.merge_lanes(list, drops_deletes)?;
        }
        for at in 0..self.sharing.len() {
            let source = self.sharing[at];
            if self.cursors[source].is_empty() {
                self.refresh_head(source, list)?;
            }
        }
        Ok(())
    }

    fn merge_lanes(&mut self, list: ListKey, drops_deletes: bool) -> Result<(), MergeError<S::Error>> {
        let Self { cursors, sharing, buffer, .. } = self;
        while buffer.len() < RUN_RECORDS_MAX {
            // The least key, the cursor it was found in, whether others have it too, and the next key of another cursor.
            let (mut least, mut next, mut first, mut is_shared) = (ItemKey::END, ItemKey::END, 0, false);
            for &source in sharing.iter() {
                let key = cursors[source].key();
                if key < least {
                    (next, least, first, is_shared) = (least, key, source, false);
                } else if key == least {
                    is_shared = true;
                } else if key < next {
                    next = key;
                }
            }
            if is_shared {
                let (record, mut net) = (buffer.len(), Net::new(buffer.later_sets.len()));
                let mut ended = false;
                for &source in sharing.iter().rev() {
                    let cursor = &mut cursors[source];
                    if cursor.key() == least {
                        let taken = cursor.take_into(&mut net, source, record, &mut buffer.later_sets);
                        taken.map_err(|pair| inexact(list, least, pair))?;
                        ended |= cursor.is_empty();
                    }
                }
                match net.operation {
                    None => {}
                    Some(RecordOperation::Delete) if drops_deletes => {}
                    Some(operation) => buffer.push(least, operation, net.base),
                }
                if ended {
                    return Ok(());
                }
            } else {
                let cursor = &mut cursors[first];
                let count = cursor.count_below(next).min(RUN_RECORDS_MAX - buffer.len());
                take_run(buffer, cursor, first, count, drops_deletes);
                if cursor.is_empty() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Looks what `source` has next, after it had `last`.
    fn refresh_head(&mut self, source: usize, last: ListKey) -> Result<(), MergeError<S::Error>> {
        let next = head(&self.sources[source]);
        if next < Head::of(last) {
            return Err(MergeError::Disordered { source, subject: next.list().subject });
        }
        self.heads[source] = next;
        Ok(())
    }
}

#[inline]
fn head<S: ListSource>(source: &S) -> Head {
    source.front().map_or(Head::END, |front| Head::of(front.list))
}

/// Moves the next `count` records of `cursor` to the buffer, without Deletes if those are dropped.
fn take_run(
    buffer: &mut RunBuffer,
    cursor: &mut ListCursor,
    source: usize,
    count: usize,
    drops_deletes: bool,
) {
    if !drops_deletes || cursor.is_plain() {
        return buffer.take_from(cursor, source, count);
    }
    let mut left = count;
    while left > 0 {
        let operations = cursor.front(left).operations;
        let kept = operations.iter().position(|one| *one == RecordOperation::Delete).unwrap_or(left);
        buffer.take_from(cursor, source, kept);
        let dropped = usize::from(kept < left);
        cursor.skip(dropped);
        left -= kept + dropped;
    }
}
