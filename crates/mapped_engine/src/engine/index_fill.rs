//! Index fill: the entries that a scan finds become the body of an index, below what commits have done to it since.
//!
//! ```text
//! push ──> entries in memory
//! finish   sorted; items with the same value are neighbours
//! install  a body that is exact at the scan's snapshot takes the place of the empty one; records up to there go
//! ```
//!
//! A load's rows go the same way, together with the entries that the index has; the body is installed with the load.
//!
//! Cost: the entries lie in memory, 8 bytes more each, and half a byte for the body, which is written part by part. All of it is
//! reserved from the budget, which may refuse.

use crate::body_store::body_writer::BodyWriter;
use crate::body_store::stored_body::StoredBody;
use crate::engine::graph::MappedGraph;
use crate::engine::groups::{SubjectSegment, id_of};
use crate::engine::merge_queue::MergeUrgency;
use crate::entries::entry::EntryForm;
use crate::entries::entry_body::{EntryBody, EntryStarts, MergedEntries};
use crate::files::segment_id::INDEXES;
use crate::group::SegmentSubject;
use crate::index_table::StoredIndexState;
use crate::merge::{BuiltBody, LiveMergeOutcome};
use crate::segment::LiveSegment;
use evergraph_graph::budget::{Budget as _, Reservation};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::LabelId;
use evergraph_graph::index::IndexId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_graph::value::order_bytes::value_bytes::ValueBytes;
use evergraph_storage::index::fill::{IndexFill, OnSameValue};
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::planted::{Bug, planted};
use std::sync::Arc;

/// What the memory of fills is called in a budget.
const FILL_PURPOSE: &str = "index builds";
/// What the memory of merges of indexes is called in a budget.
const MERGE_PURPOSE: &str = "merges of indexes";
/// Bytes that are reserved at once, at least.
const RESERVED_BYTES: u64 = 64 << 10;

/// Entries of one index, each found by where it begins.
#[derive(Debug, Default)]
pub struct FilledEntries {
    bytes: Vec<u8>,
    /// Where each begins, and its length in the lowest byte.
    entries: Vec<u64>,
}

impl FilledEntries {
    fn push(&mut self, entry: &[u8]) {
        self.entries.push((self.bytes.len() as u64) << 8 | entry.len() as u64);
        self.bytes.extend_from_slice(entry);
    }

    fn entry(bytes: &[u8], at: u64) -> &[u8] {
        &bytes[(at >> 8) as usize..][..usize::from(at as u8)]
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.entries.sort_unstable_by(|a, b| Self::entry(bytes, *a).cmp(Self::entry(bytes, *b)));
        self.entries.dedup_by(|a, b| Self::entry(bytes, *a) == Self::entry(bytes, *b));
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.entries.iter().map(|at| Self::entry(&self.bytes, *at))
    }

    /// Bytes that they take: vectors that grow take twice what is in them.
    fn memory_bytes(&self) -> u64 {
        2 * (self.bytes.len() + size_of_val(&self.entries[..])) as u64
    }

    /// Hears of entries of one value: the first with each of the others.
    fn find_same(&self, form: EntryForm, on_same_value: &mut OnSameValue<'_>) -> Result<()> {
        // In an index of hashes those of one hash are sorted by their items.
        let (mut start, mut of_start): (&[u8], Vec<(&[u8], ItemId)>) = (&[], Vec::new());
        for entry in self.iter() {
            let (value, item) = form.split(entry).expect("it was made of a value and an item");
            if form.start_of(entry) != start {
                start = form.start_of(entry);
                of_start.clear();
            }
            match of_start.iter().find(|first| first.0 == value) {
                Some(first) => on_same_value(first.1, item)?,
                None => of_start.push((value, item)),
            }
        }
        Ok(())
    }
}

/// What becomes of the sorted entries.
pub type OnFilled<'a> = Box<dyn FnOnce(FilledEntries) -> Result<()> + 'a>;

/// The entries of a scan on their way into an index.
pub struct MappedIndexFill<'a> {
    form: EntryForm,
    entries: FilledEntries,
    budget: FillBudget<'a>,
    memory: FillMemory,
    on_filled: OnFilled<'a>,
}

/// What fills take memory of.
#[derive(Clone, Copy, Debug)]
pub struct FillBudget<'a> {
    budget: &'a MemoryBudget,
    /// Takes what is missing all the same: without the index its database cannot be opened, and so not be helped either.
    is_opening: bool,
}

impl FillBudget<'_> {
    fn reserve(self, bytes: u64) -> Result<Reservation> {
        match self.is_opening {
            true => Ok(self.budget.reserve_anyway(FILL_PURPOSE, bytes)),
            false => self.budget.reserve(FILL_PURPOSE, bytes),
        }
    }
}

/// What a fill has of a budget.
#[derive(Default)]
struct FillMemory {
    bytes: u64,
    reservations: Vec<Reservation>,
}

impl FillMemory {
    /// Has `needed` bytes from now on, or more.
    #[inline]
    fn grow(&mut self, budget: FillBudget<'_>, needed: u64) -> Result<()> {
        if needed <= self.bytes {
            return Ok(());
        }
        // A few reservations, however many entries there are.
        let more = (needed - self.bytes).max(self.bytes / 4).max(RESERVED_BYTES);
        self.reservations.push(budget.reserve(more)?);
        self.bytes += more;
        Ok(())
    }
}

impl<'a> MappedIndexFill<'a> {
    /// Of an index whose entries have this form. They take memory of `budget`.
    #[must_use]
    pub fn new(form: EntryForm, budget: FillBudget<'a>, on_filled: OnFilled<'a>) -> Self {
        Self { form, entries: FilledEntries::default(), budget, memory: FillMemory::default(), on_filled }
    }
}

impl IndexFill for MappedIndexFill<'_> {
    fn push(&mut self, value: &Value, item: ItemId) -> Result<()> {
        self.entries.push(&self.form.entry(ValueBytes::of(value).as_slice(), item));
        self.memory.grow(self.budget, self.entries.memory_bytes())
    }

    fn finish(&mut self, on_same_value: Option<&mut OnSameValue<'_>>) -> Result<()> {
        self.entries.sort();
        let starts = EntryStarts::memory_bytes(self.entries.entries.len() as u64);
        let needed = self.entries.memory_bytes() + starts;
        self.memory.grow(self.budget, needed)?;
        on_same_value.map_or(Ok(()), |on_same_value| self.entries.find_same(self.form, on_same_value))
    }

    fn install(self: Box<Self>) -> Result<()> {
        let Self { entries, on_filled, memory, .. } = *self;
        let filled = on_filled(entries);
        drop(memory);
        filled
    }
}

/// The error when there is no number for another index: 2^24 were built.
#[cold]
pub(crate) fn used_up() -> Error {
    Error::new(ErrorKind::Limit, "the numbers of indexes are used up: export the graph, and import it")
}

impl MappedGraph {
    /// The segment of the index with this number, made empty if there was none.
    ///
    /// # Errors
    /// `limit` if there is no room.
    pub fn index_segment(&self, number: u32) -> Result<Arc<LiveSegment>> {
        let group = self.groups().get(INDEXES);
        if let Some(segment) = group.and_then(|group| group.segment(SegmentSubject(number))) {
            return Ok(segment);
        }
        // Its vertices have no label: there are none.
        let group = Arc::clone(self.open_group(INDEXES, LabelId(0)));
        self.segment_or_new(&group, SegmentSubject(number))
    }

    /// Begins to fill an index with what a scan at `at` finds.
    ///
    /// # Errors
    /// `limit` if there is no room in `live`, or no number for the index.
    pub fn fill_of(&self, index: IndexId, at: Timestamp) -> Result<MappedIndexFill<'_>> {
        let number = self.indexes().load().get(&index).ok_or_else(used_up)?.number;
        let segment = self.index_segment(number)?;
        let on_filled = Box::new(move |entries: FilledEntries| {
            self.install_fill(&segment, at, &entries)?;
            self.indexes().filled(index, number);
            Ok(())
        });
        Ok(MappedIndexFill::new(EntryForm::of(index), self.fill_budget(), on_filled))
    }

    /// What fills take memory of: while others cannot join yet, as much as they need.
    pub(crate) fn fill_budget(&self) -> FillBudget<'_> {
        FillBudget { budget: self.budget(), is_opening: !self.catalogue().is_shown(self.live()) }
    }

    /// Puts a body under the segment, an empty one as well: what a replay has of commits before the scan is none of its affair.
    fn install_fill(&self, segment: &Arc<LiveSegment>, at: Timestamp, entries: &FilledEntries) -> Result<()> {
        if entries.entries.is_empty() && planted(Bug::EmptyScanForgotten) {
            return Ok(());
        }
        // Without room for names the version waits for R.
        let _ = self.advance_readable();
        let outcome = self.put_index_body(segment, at, entries)?;
        if outcome.is_done() || (at == Timestamp::ZERO && entries.entries.is_empty()) {
            return Ok(());
        }
        let text =
            format!("{} were dropped, or merged, while they were built: build them again", id_of(segment));
        Err(Error::new(ErrorKind::Busy, text))
    }

    /// Puts a body of these entries under an index that nobody merges.
    fn put_index_body(
        &self,
        segment: &Arc<LiveSegment>,
        base: Timestamp,
        entries: &FilledEntries,
    ) -> Result<LiveMergeOutcome> {
        let count = entries.entries.len() as u64;
        let body = self.write_entries(segment, base, count, || Ok(entries.iter().map(Ok)))?;
        let outcome = self.writer().fill_body(segment, self.timeline(), (base, body));
        match outcome {
            Ok(LiveMergeOutcome::Done { records, .. }) => self.count_merged(records),
            _ => self.bodies().remove(body.place),
        }
        outcome
    }

    /// Writes a body of the entries that `walk` gives, `entries_max` at most.
    ///
    /// # Errors
    /// As [`BodyWriter::entries`].
    pub(crate) fn write_entries<'e, W>(
        &self,
        segment: &LiveSegment,
        base: Timestamp,
        entries_max: u64,
        walk: impl Fn() -> Result<W>,
    ) -> Result<BuiltBody>
    where
        W: Iterator<Item = std::result::Result<&'e [u8], String>>,
    {
        let writer = BodyWriter { extents: self.extents(), segment: id_of(segment), base };
        let (body, items) = writer.entries(entries_max, walk)?;
        Ok(BuiltBody { place: self.bodies().insert(Arc::new(body))?, items })
    }

    /// Writes a body of the entries of `before` with `changes` on top, ascending: whether each is there from now on. The memory
    /// of their starts is the caller's to reserve.
    ///
    /// # Errors
    /// `corrupt` if `before` is damaged; as [`BodyWriter::entries`].
    pub(crate) fn write_merged_entries<'e>(
        &self,
        segment: &LiveSegment,
        base: Timestamp,
        before: &'e StoredBody,
        changes: impl Iterator<Item = (&'e [u8], bool)> + Clone,
    ) -> Result<BuiltBody> {
        let entries =
            if planted(Bug::MergedEntriesLost) { EntryBody::EMPTY } else { before.verified_entries()? };
        let entries_max = entries.count() + changes.clone().count() as u64;
        let built = self.write_entries(segment, base, entries_max, || {
            MergedEntries::new(entries, changes.clone()).map_err(|problem| {
                Error::new(ErrorKind::Corrupt, format!("{} cannot be read: {problem}", id_of(segment)))
            })
        })?;
        // Once more, which costs nothing unless a sync of its file failed: from then on the system may bring back earlier bytes
        // at any time. They would stay, so what is sound now was sound while it was read.
        if let Err(damaged) = before.verified_entries() {
            self.bodies().remove(built.place);
            return Err(damaged.into());
        }
        Ok(built)
    }

    /// Memory of the starts of so many entries, for a merge. Beyond the limit if it does not fit: without merges records would take
    /// more, and nothing would free theirs.
    pub(crate) fn starts_of_merge(&self, entries: u64) -> Reservation {
        self.budget().reserve_anyway(MERGE_PURPOSE, EntryStarts::memory_bytes(entries))
    }

    /// Whether nobody who begins to read now looks up in the index of a segment: it was dropped, and that is readable.
    pub(crate) fn is_gone(&self, segment: &LiveSegment) -> bool {
        let readable = self.live().readable();
        segment.index_number().is_some_and(|number| self.indexes().is_gone(number, readable))
    }

    /// The segments of all indexes that there are, or were.
    pub(crate) fn index_segments(&self) -> Arc<Vec<SubjectSegment>> {
        let group = self.groups().get(INDEXES);
        group.map(|group| Arc::clone(&group.segments())).unwrap_or_default()
    }

    /// Whether a merge would leave nothing of an index that was dropped, and it has something.
    pub(crate) fn can_be_emptied(&self, segment: &LiveSegment) -> bool {
        let waiting = segment.waiting();
        waiting.records + waiting.items > 0
            && segment.base() < self.live().readable()
            && self.is_gone(segment)
    }

    /// Whether the entries of a segment are no index's any more.
    pub(crate) fn is_dropped(&self, segment: &LiveSegment) -> bool {
        segment.index_number().is_some_and(|number| self.indexes().state_of(number).is_none())
    }

    /// Whether a segment is an index's whose scan isn't in it yet.
    pub(crate) fn is_building(&self, segment: &LiveSegment) -> bool {
        let state = segment.index_number().and_then(|number| self.indexes().state_of(number));
        state == Some(StoredIndexState::Building)
    }

    /// Leaves nothing of an index that was dropped; what snapshots need of it is the past.
    pub(crate) fn empty_index(&self, segment: &Arc<LiveSegment>) -> Result<LiveMergeOutcome> {
        // R before the look at the drop: whoever reads before that looks up in what there is.
        let readable = self.live().readable();
        let is_gone = segment.index_number().is_some_and(|number| self.indexes().is_gone(number, readable));
        if !is_gone || segment.items() == 0 && segment.records() == 0 {
            return Ok(LiveMergeOutcome::Nothing);
        }
        self.put_index_body(segment, readable, &FilledEntries::default())
    }

    /// Notes that the index with this number is no more, if it isn't: its segment is emptied when merges come to it.
    pub(crate) fn empty_later(&self, number: u32) {
        let segment = self.groups().get(INDEXES).and_then(|group| group.segment(SegmentSubject(number)));
        if let Some(segment) = segment.filter(|segment| self.is_dropped(segment)) {
            self.merger().push(&segment, MergeUrgency::CanWait);
        }
    }

    /// Queues the segments of dropped indexes that can be emptied. The drop itself queues them too early for that: it isn't
    /// readable yet.
    pub(crate) fn queue_dropped_indexes(&self) {
        let segments = self.index_segments();
        let dropped =
            segments.iter().map(|(_, segment)| segment).filter(|segment| self.can_be_emptied(segment));
        dropped.for_each(|segment| self.merger().push(segment, MergeUrgency::CanWait));
    }

    /// The body of an index together with a load's entries.
    ///
    /// # Errors
    /// `corrupt` if the body is damaged; as [`BodyWriter::entries`].
    pub(crate) fn united_index(
        &self,
        segment: &Arc<LiveSegment>,
        base: Timestamp,
        entries: &FilledEntries,
    ) -> Result<BuiltBody> {
        self.settle_segment(segment)?;
        let body = self.body_of(segment)?;
        let stored = body.entries()?.count();
        let _memory = self.fill_budget().reserve(EntryStarts::memory_bytes(stored))?;
        self.write_merged_entries(segment, base, &body, entries.iter().map(|entry| (entry, true)))
    }
}
