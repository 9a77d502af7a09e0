//! Source: one sorted set of records as a reader at S sees it, whether it lies in a memory graph or in a file.
//!
//! ```text
//! view ──> sources, newest first: graphs and L0 files by time, then L1, L2, ...
//!          existence, a property     the first source that decides
//!          degrees, counts           the sum of all differences
//!          lists                     merged; of an item that several sources have, the newest record counts
//! ```
//!
//! Each method answers for many items at once, so that a file can gather the pages that it reads. An answer that a
//! newer source has decided is left alone; a source fills in only what it decides itself.
//!
//! Records are exact (invariant I2): an Insert says that older sources do not have the item, every other record that
//! they do.
//!
//! Source: disk-engine, section 5, rule D5; LSMGraph (SIGMOD 2024), section 4.1, where a read looks at each level in
//! turn.

use crate::format::entries::visible_entry::VisibleEntry;
use crate::format::subject::Subject;
use crate::format::tree_key::{ItemKey, ListId};
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, KeyId, VertexId};
use evergraph_graph::value::Value;
use evergraph_storage::index::entry_range::EntryRange;
use evergraph_storage::view::GroupBits;
use std::iter::Sum;
use std::ops::Add;

/// What sources say of one property of one item.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum PropertyAnswer {
    /// No source has decided it yet: older ones are asked.
    #[default]
    Undecided,
    /// The item does not have the property, or does not exist.
    Absent,
    /// The item has this value.
    Value(Value),
}

/// An item of a list and whether a source says that it is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListedItem {
    /// The item.
    pub item: ItemKey,
    /// False if the newest record deletes it.
    pub is_present: bool,
}

/// Sorts the items from `start` on and keeps of those that are the same the first one: appended newest source first,
/// that is the one that counts. Cost: a merge of the ascending runs that there are.
pub(crate) fn keep_newest(items: &mut Vec<ListedItem>, start: usize) {
    // A stable sort, so that of equal items the first one stays first.
    items[start..].sort_by_key(|listed| listed.item);
    let mut kept = start;
    for at in start..items.len() {
        if kept == start || items[kept - 1].item != items[at].item {
            items[kept] = items[at];
            kept += 1;
        }
    }
    items.truncate(kept);
}

/// All properties of an item, as far as sources have decided them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PropertyMap {
    /// By key, ascending. A key without a value was removed, or its item was deleted.
    pub values: Vec<(KeyId, Option<Value>)>,
    /// Whether older sources have nothing to add.
    pub is_complete: bool,
}

impl PropertyMap {
    /// Adds the value of `key`, unless a newer source named it.
    pub fn add(&mut self, key: KeyId, value: Option<Value>) {
        if let Err(at) = self.values.binary_search_by_key(&key, |(key, _)| *key) {
            self.values.insert(at, (key, value));
        }
    }

    /// The properties that the item has, by key.
    #[must_use]
    pub fn into_present(self) -> Vec<(KeyId, Value)> {
        self.values.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

/// How much a source has of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EntriesSize {
    /// Inserts minus Deletes.
    pub difference: i64,
    /// Bytes of memory.
    pub bytes: u64,
    /// Bytes of files: whole pages.
    pub file_bytes: u64,
}

impl Add for EntriesSize {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            difference: self.difference + other.difference,
            bytes: self.bytes + other.bytes,
            file_bytes: self.file_bytes + other.file_bytes,
        }
    }
}

impl Sum for EntriesSize {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::default(), Add::add)
    }
}

/// Records as of one timestamp.
///
/// # Errors
/// Files fail with `io`, or with `corrupt`, naming file and offset; memory graphs never do.
pub trait RecordSource {
    /// Decides whether items exist: sets each of `found` that is `None` and that a visible record speaks of.
    ///
    /// `items` come in any order and may repeat; callers mostly ask for items of one list together, ascending.
    fn presence(&self, items: &[(ListId, ItemKey)], found: &mut [Option<bool>]) -> Result<()>;

    /// Decides the property `key` of items: sets each of `answers` that is undecided and of which a visible record says
    /// that it has a value, or that it has none. A Set that does not name the key decides nothing.
    ///
    /// `items` as in [`RecordSource::presence`]; those of edges are in out lists.
    fn property(&self, items: &[(ListId, ItemKey)], key: KeyId, answers: &mut [PropertyAnswer])
    -> Result<()>;

    /// Adds what visible records say of all properties of an item. Nothing if the map is complete.
    fn property_map(&self, list: ListId, item: ItemKey, map: &mut PropertyMap) -> Result<()>;

    /// Appends the items of a list that visible records speak of, ascending, each once, with what the newest of them
    /// says: at most `limit` (at least 1), the first ones greater than `after`. Returns whether there may be more; then at
    /// least one was appended.
    fn list(
        &self,
        list: ListId,
        after: Option<ItemKey>,
        limit: usize,
        items: &mut Vec<ListedItem>,
    ) -> Result<bool>;

    /// Appends the items of a list with this neighbour, as [`RecordSource::list`] does: parallel edges.
    fn between(&self, list: ListId, neighbor: VertexId, items: &mut Vec<ListedItem>) -> Result<()>;

    /// As [`RecordSource::between`] for many lists and neighbours: each item comes with the place of its pair. Those of
    /// one pair ascend.
    fn between_each(&self, pairs: &[(ListId, VertexId)], items: &mut Vec<(usize, ListedItem)>) -> Result<()> {
        let mut found = Vec::new();
        for (place, (list, neighbor)) in pairs.iter().enumerate() {
            self.between(*list, *neighbor, &mut found)?;
            items.extend(found.drain(..).map(|listed| (place, listed)));
        }
        Ok(())
    }

    /// Reads the first pages of `lists` that are neither in memory nor in the cache, side by side: the lists are asked
    /// for next. A source in memory does nothing. What fails is told to whoever asks.
    fn read_ahead(&self, lists: &[ListId]) {
        let _ = lists;
    }

    /// Adds to each of `differences` the visible Inserts minus Deletes of a list.
    fn differences(&self, lists: &[ListId], differences: &mut [i64]) -> Result<()>;

    /// Visible Inserts minus Deletes of all lists of a subject in a group. No list is read, unless the source is stamped
    /// and has commits that are not visible.
    fn group_difference(&self, subject: Subject, group: GroupId) -> Result<i64>;

    /// Sets and clears the bits of the group's vertices that visible records insert and delete. Sources are asked
    /// from the oldest to the newest.
    fn apply_live(&self, group: GroupId, live: &mut GroupBits) -> Result<()>;

    /// Sets the bits of the rows of a group that visible records of a subject's lists are of; others may be set too.
    fn mark_rows(&self, subject: Subject, group: GroupId, rows: &mut GroupBits) -> Result<()>;

    /// How much it has of an index, what is not visible included. Nothing is read.
    fn index_size(&self, index: Subject) -> EntriesSize;

    /// Appends the pairs of an index in `range` that visible records speak of, in its order, each once, with what the
    /// newest of them says: at most `count_max`, the first ones. Fewer say that these are all.
    fn index_entries(
        &self,
        index: Subject,
        range: &EntryRange<'_>,
        count_max: usize,
        entries: &mut Vec<VisibleEntry>,
    ) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_source_that_names_a_property_is_believed() {
        let mut map = PropertyMap::default();
        map.add(KeyId(3), None);
        map.add(KeyId(1), Some(Value::from(7)));
        map.add(KeyId(3), Some(Value::from(8)));
        assert_eq!(map.into_present(), [(KeyId(1), Value::from(7))]);
    }

    #[test]
    fn of_equal_items_the_one_that_was_appended_first_counts() {
        let listed =
            |neighbor, is_present| ListedItem { item: ItemKey::edge(VertexId(neighbor), 0), is_present };
        let mut items = vec![listed(9, true), listed(2, true), listed(5, false), listed(2, false)];
        items.extend([listed(1, true), listed(5, true), listed(5, true)]);
        keep_newest(&mut items, 1);
        assert_eq!(items, [listed(9, true), listed(1, true), listed(2, true), listed(5, false)]);
    }
}
