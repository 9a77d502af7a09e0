//! Merged records: what all sources say together of an item, a list or a group.
//!
//! ```text
//! existence, a property       newest source first, until one decides each item
//! degrees, counts of groups   the sum over all sources
//! live vertices               oldest source first: each sets and clears bits
//! ```
//!
//! Sources are asked in turn, each about all items that are still open: so a file gathers its pages, and the older ones
//! are not read where newer ones decide everything.
//!
//! Source: disk-engine, section 5, rule D5.

use crate::format::subject::Subject;
use crate::format::tree_key::{ItemKey, ListId};
use crate::source::{EntriesSize, PropertyAnswer, PropertyMap, RecordSource, keep_newest};
use crate::view::read_source::ReadSources;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{GroupId, KeyId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::view::GroupBits;

/// Sources at one timestamp.
///
/// # Errors
/// Its methods fail as a [`RecordSource`], and with `corrupt` if files count fewer items than none.
#[derive(Debug)]
pub struct MergedRecords<'l, L: ?Sized> {
    sources: &'l L,
    timestamp: Timestamp,
}

impl<'l, L: ReadSources + ?Sized> MergedRecords<'l, L> {
    /// What `sources` say at `timestamp`.
    #[must_use]
    #[inline]
    pub const fn new(sources: &'l L, timestamp: Timestamp) -> Self {
        Self { sources, timestamp }
    }

    /// The records of each source, newest first.
    #[inline]
    pub(super) fn sources(&self) -> impl DoubleEndedIterator<Item = L::Records<'l>> {
        self.sources.sources(self.timestamp)
    }

    /// Whether items exist: sets each of `found` that is `None` and that any record speaks of. What stays `None` never
    /// existed.
    pub fn presence(&self, items: &[(ListId, ItemKey)], found: &mut [Option<bool>]) -> Result<()> {
        for source in self.sources() {
            source.presence(items, found)?;
            if found.iter().all(Option::is_some) {
                break;
            }
        }
        Ok(())
    }

    /// The property `key` of items: sets each of `answers` that is undecided and of which any record says something. What
    /// stays undecided has no value.
    pub fn property(
        &self,
        items: &[(ListId, ItemKey)],
        key: KeyId,
        answers: &mut [PropertyAnswer],
    ) -> Result<()> {
        for source in self.sources() {
            source.property(items, key, answers)?;
            if !answers.contains(&PropertyAnswer::Undecided) {
                break;
            }
        }
        Ok(())
    }

    /// All properties of an item, by key; none if it does not exist.
    pub fn properties(&self, list: ListId, item: ItemKey) -> Result<Vec<(KeyId, Value)>> {
        let mut map = PropertyMap::default();
        for source in self.sources() {
            source.property_map(list, item, &mut map)?;
            if map.is_complete {
                break;
            }
        }
        Ok(map.into_present())
    }

    /// How many items of each list with its neighbour exist.
    pub fn count_between(&self, pairs: &[(ListId, VertexId)], counts: &mut [u32]) -> Result<()> {
        if let ([(list, neighbor)], [count]) = (pairs, &mut *counts) {
            let mut items = Vec::new();
            self.sources().try_for_each(|source| source.between(*list, *neighbor, &mut items))?;
            keep_newest(&mut items, 0);
            // There are 2^16 discriminators.
            *count = items.iter().filter(|listed| listed.is_present).count() as u32;
            return Ok(());
        }
        let mut items = Vec::new();
        self.sources().try_for_each(|source| source.between_each(pairs, &mut items))?;
        // A stable sort: of the records of an item the newest, which came first, stays first.
        items.sort_by_key(|(place, listed)| (*place, listed.item));
        items.dedup_by_key(|(place, listed)| (*place, listed.item));
        counts.fill(0);
        for (place, _) in items.iter().filter(|(_, listed)| listed.is_present) {
            counts[*place] += 1;
        }
        Ok(())
    }

    /// Reads pages of `lists` that are not in memory, side by side, for questions that follow. What fails is left to
    /// them.
    pub fn read_ahead(&self, lists: &[ListId]) {
        self.sources().for_each(|source| source.read_ahead(lists));
    }

    /// Adds the number of items of each list to its entry in `counts`, which holds what the caller began with.
    pub fn degrees(&self, lists: &[ListId], counts: &mut [i64]) -> Result<()> {
        self.sources().try_for_each(|source| source.differences(lists, counts))
    }

    /// How many items all lists of a subject have in a group.
    pub fn group_count(&self, subject: Subject, group: GroupId) -> Result<u64> {
        let mut count = 0;
        for source in self.sources() {
            count += source.group_difference(subject, group)?;
        }
        to_count(count, || format!("{subject} of group {}", group.0))
    }

    /// How much there is of an index: see [`RecordSource::index_size`].
    pub fn index_size(&self, index: Subject) -> EntriesSize {
        self.sources().map(|source| source.index_size(index)).sum()
    }

    /// The vertices of a group that exist.
    pub fn live(&self, group: GroupId) -> Result<GroupBits> {
        let mut live = [0; 64];
        self.sources().rev().try_for_each(|source| source.apply_live(group, &mut live))?;
        Ok(live)
    }

    /// The rows of a group that any record of a subject's lists is of, and perhaps others.
    pub fn rows(&self, subject: Subject, group: GroupId) -> Result<GroupBits> {
        let mut rows = [0; 64];
        self.sources().try_for_each(|source| source.mark_rows(subject, group, &mut rows))?;
        Ok(rows)
    }
}

/// A sum of differences as a count.
///
/// # Errors
/// `corrupt` if it is negative: records are exact, so files say what nobody wrote.
#[inline]
pub(super) fn to_count(sum: i64, of: impl Fn() -> String) -> Result<u64> {
    u64::try_from(sum).map_err(|_| {
        let text = format!("{}: files count {sum}, fewer than none; run `evergraph check`", of());
        Error::new(ErrorKind::Corrupt, text)
    })
}
