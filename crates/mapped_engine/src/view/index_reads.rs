//! Index reads: what storage's `View` asks of indexes whose entries are segments.
//!
//! ```text
//! a value, hash       entries that begin with its hash, and behind an item     one look-up in body, runs and tail
//! a value, ordered    entries of its bytes
//! a range, ordered    storage's reads of order bytes (index::entry_reads)
//! everything, hash    in the order of hashes: for checks alone
//! ```

use crate::entries::entry::EntryForm;
use crate::files::segment_id::INDEXES;
use crate::group::SegmentSubject;
use crate::view::entry_walk::LayerWalk;
use crate::view::layer::Layer;
use crate::view::mapped_view::MappedView;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::KeyId;
use evergraph_graph::index::IndexId;
use evergraph_graph::index_entry::{EDGE_ITEM_BYTES, ItemId};
use evergraph_graph::value::Value;
use evergraph_graph::value::order_bytes::decode::RecoveredValue;
use evergraph_graph::value::order_bytes::value_bytes::ValueBytes;
use evergraph_storage::index::entry_bound::EntryBound;
use evergraph_storage::index::entry_range::{BytesBound, EntryOrder, EntryRange};
use evergraph_storage::index::entry_reads::{EntryWalk, IndexEntries, items_of_value, pairs_between};
use evergraph_storage::index::index_item::IndexItem;
use evergraph_storage::view::{IndexAnswer, IndexSize, View};
use std::cmp::Ordering;
use std::fmt::Display;
use std::sync::Arc;

/// Behind every item.
const BEHIND_ITEMS: [u8; EDGE_ITEM_BYTES + 1] = [u8::MAX; EDGE_ITEM_BYTES + 1];

/// The entries of one index as a view sees them.
struct MappedEntries<'v, 'a> {
    view: &'v MappedView<'a>,
    layer: Layer<'a>,
    form: EntryForm,
    key: KeyId,
}

/// What a view finds of an index.
enum FoundIndex<T> {
    /// It doesn't answer for it.
    Unknown,
    /// It has no entries.
    Empty,
    Entries(T),
}

impl<'a> MappedView<'a> {
    fn entries_of(&self, index: IndexId) -> Result<FoundIndex<MappedEntries<'_, 'a>>> {
        let Some(number) = self.index_number(index) else {
            // A snapshot that could begin nowhere says so here, too.
            self.source().subjects(INDEXES)?;
            return Ok(FoundIndex::Unknown);
        };
        let layer = self.source().layer(INDEXES, SegmentSubject(number), self.timestamp())?;
        Ok(layer.map_or(FoundIndex::Empty, |layer| {
            let (form, key) = (EntryForm::of(index), index.key);
            FoundIndex::Entries(MappedEntries { view: self, layer, form, key })
        }))
    }

    /// As [`View::candidates`].
    pub(super) fn index_candidates<I: IndexItem>(
        &self,
        index: IndexId,
        value: &Value,
        after: Option<I>,
        limit: usize,
        items: &mut Vec<I>,
    ) -> Result<IndexAnswer> {
        match self.entries_of(index)? {
            FoundIndex::Unknown => Ok(IndexAnswer::No),
            FoundIndex::Empty => Ok(IndexAnswer::Exact),
            FoundIndex::Entries(entries) if entries.form.is_hashed() => {
                entries.hashed_items(value, after, limit, items)
            }
            FoundIndex::Entries(entries) => items_of_value(&entries, value, after, limit, items),
        }
    }

    /// As [`View::between`].
    pub(super) fn index_pairs<I: IndexItem>(
        &self,
        index: IndexId,
        places: (&EntryBound<I>, &EntryBound<I>),
        order: EntryOrder,
        limit: usize,
        pairs: &mut Vec<(Value, I)>,
    ) -> Result<IndexAnswer> {
        match self.entries_of(index)? {
            FoundIndex::Unknown => Ok(IndexAnswer::No),
            FoundIndex::Empty => Ok(IndexAnswer::Exact),
            FoundIndex::Entries(entries) if entries.form.is_hashed() => {
                entries.hashed_pairs(places.0, limit, pairs)
            }
            FoundIndex::Entries(entries) => pairs_between(&entries, places, order, limit, pairs),
        }
    }

    /// As [`View::index_size`]. What is damaged is told to who reads it. Bytes of memory are those of records: entries that no merge
    /// has taken in lie in `live`, which counts them.
    pub(super) fn size_of_index(&self, index: IndexId) -> Option<IndexSize> {
        match self.entries_of(index) {
            Ok(FoundIndex::Entries(MappedEntries { layer, .. })) => {
                let stored = layer.body().stated_entries();
                let records = layer.record_count().unwrap_or(0) as u64;
                let (file_bytes, _) = layer.body().bytes();
                // A record is three words.
                Some(IndexSize { entries: stored + records, bytes: 24 * records, file_bytes })
            }
            Ok(FoundIndex::Empty) => Some(IndexSize::default()),
            Ok(FoundIndex::Unknown) | Err(_) => None,
        }
    }
}

impl MappedEntries<'_, '_> {
    fn item<I: IndexItem>(&self, item: ItemId) -> Result<I> {
        I::from_item_id(item).ok_or_else(|| self.damaged(&format_args!("an item of another kind: {item:?}")))
    }

    fn split<'e>(&self, entry: &'e [u8]) -> Result<(&'e [u8], ItemId)> {
        self.form.split(entry).map_err(|problem| self.damaged(&problem))
    }

    /// The items of a value behind one, in an index of hashes.
    fn hashed_items<I: IndexItem>(
        &self,
        value: &Value,
        after: Option<I>,
        limit: usize,
        items: &mut Vec<I>,
    ) -> Result<IndexAnswer> {
        let bytes = ValueBytes::of(value);
        let start = self.form.start(bytes.as_slice());
        let high = next_of_same_length(&start);
        let mut low = start;
        after.iter().for_each(|item| item.item_id().put_order_bytes(&mut low));
        let end = items.len().saturating_add(limit);
        let mut walk = LayerWalk::new(&self.layer, low, high, EntryOrder::Ascending)?;
        while items.len() < end
            && let Some(entry) = walk.next_entry()?
        {
            let (found, item) = self.split(&entry)?;
            let item = self.item(item)?;
            if found == bytes.as_slice() && after.is_none_or(|after| item > after) {
                items.push(item);
            }
        }
        Ok(if bytes.is_long() { IndexAnswer::Check } else { IndexAnswer::Exact })
    }

    /// All pairs of an index of hashes behind one, in the order of hashes.
    fn hashed_pairs<I: IndexItem>(
        &self,
        after: &EntryBound<I>,
        limit: usize,
        pairs: &mut Vec<(Value, I)>,
    ) -> Result<IndexAnswer> {
        let mut low = Vec::new();
        if let EntryBound::At(value, Some(item)) = after {
            low = self.form.entry(ValueBytes::of(value).as_slice(), item.item_id());
            // Behind it.
            low.push(0);
        }
        let end = pairs.len().saturating_add(limit);
        let mut walk = LayerWalk::new(&self.layer, low, None, EntryOrder::Ascending)?;
        while pairs.len() < end
            && let Some(entry) = walk.next_entry()?
        {
            let (value, item) = self.form.check(&entry).map_err(|problem| self.damaged(&problem))?;
            let unreadable = |error| self.damaged(&format_args!("a value that cannot be read: {error}"));
            let stored = ValueBytes::from_stored(value).map_err(unreadable)?;
            let value = match stored.recover().map_err(unreadable)? {
                RecoveredValue::Exact(value) => Some(value),
                _ => self.property(item)?,
            };
            // A long one that is not the item's is told by its absence.
            let value = value.filter(|value| ValueBytes::of(value) == stored);
            pairs.extend(value.map(|value| Ok::<_, Error>((value, self.item(item)?))).transpose()?);
        }
        Ok(IndexAnswer::Exact)
    }

    /// The bytes of a bound: entries that are not less lie behind it, but for those at it.
    fn bytes(bound: BytesBound<'_>) -> Option<Vec<u8>> {
        match bound {
            BytesBound::Start => Some(Vec::new()),
            BytesBound::Before(value) => Some(value.to_vec()),
            BytesBound::At(value, item) => {
                let mut bytes = value.to_vec();
                item.put_order_bytes(&mut bytes);
                Some(bytes)
            }
            BytesBound::After(value) => Some([value, &BEHIND_ITEMS[..]].concat()),
            BytesBound::End => None,
        }
    }
}

/// What follows all bytes that begin so; none if nothing does.
fn next_of_same_length(start: &[u8]) -> Option<Vec<u8>> {
    let mut next = start.to_vec();
    while let Some(last) = next.pop() {
        if let Some(more) = last.checked_add(1) {
            next.push(more);
            return Some(next);
        }
    }
    None
}

/// A walk over an index in the order of values.
struct RangeWalk<'s> {
    walk: LayerWalk<'s>,
    entries: &'s MappedEntries<'s, 's>,
    low: BytesBound<'s>,
    high: BytesBound<'s>,
}

impl EntryWalk for RangeWalk<'_> {
    fn next_pair(&mut self) -> Result<Option<(Arc<[u8]>, ItemId)>> {
        while let Some(entry) = self.walk.next_entry()? {
            let (value, item) = self.entries.split(&entry)?;
            let is_inside = self.low.cmp_pair(value, item) == Ordering::Less
                && self.high.cmp_pair(value, item) == Ordering::Greater;
            if is_inside {
                return Ok(Some((value.into(), item)));
            }
        }
        Ok(None)
    }
}

impl IndexEntries for MappedEntries<'_, '_> {
    fn walk<'s>(&'s self, range: EntryRange<'s>, _: usize) -> Result<Box<dyn EntryWalk + 's>> {
        let (low, high) = range.low_and_high();
        let walk = match Self::bytes(low) {
            Some(from) => LayerWalk::new(&self.layer, from, Self::bytes(high), range.order)?,
            None => LayerWalk::new(&self.layer, Vec::new(), Some(Vec::new()), range.order)?,
        };
        Ok(Box::new(RangeWalk { walk, entries: self, low, high }))
    }

    fn property(&self, item: ItemId) -> Result<Option<Value>> {
        match item {
            ItemId::Vertex(vertex) => self.view.vertex_property(vertex, self.key),
            ItemId::Edge(edge) => self.view.edge_property(edge, self.key),
        }
    }

    fn damaged(&self, problem: &dyn Display) -> Error {
        self.layer.damaged_body(problem)
    }
}
