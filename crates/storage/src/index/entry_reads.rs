//! Entry reads: look-ups in an index that an engine keeps by the order bytes of its values.
//!
//! ```text
//! value  ──bytes──> pairs of these bytes              long bytes: whoever asks compares
//! range  ──bytes──> pairs in the order of their bytes ──> values in their own order
//! ```
//!
//! Bytes sort as values do but for *long* ones, of which the first 48 bytes are the value's own and the rest a hash.
//! Pairs whose first 48 bytes are the same are a *block*: their values are read and sorted. A block keeps as many pairs as
//! may still be asked for, and the next question reads it again.
//!
//! Source: disk-engine, section 7.

use crate::index::entry_bound::EntryBound;
use crate::index::entry_range::{BytesBound, EntryOrder, EntryRange};
use crate::index::index_item::IndexItem;
use crate::view::IndexAnswer;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::look_up::ValueRange;
use evergraph_graph::value::Value;
use evergraph_graph::value::order_bytes::decode::RecoveredValue;
use evergraph_graph::value::order_bytes::lengths::{LONG_BYTES, LONG_PREFIX_BYTES};
use evergraph_graph::value::order_bytes::range::BytesRange;
use evergraph_graph::value::order_bytes::value_bytes::ValueBytes;
use std::cmp::Ordering;
use std::fmt::Display;
use std::ops::Bound;
use std::sync::Arc;

/// A walk over the pairs of an index in a range, one after the other.
pub trait EntryWalk {
    /// The next pair that is there: value bytes and item.
    ///
    /// # Errors
    /// As a [`View`](crate::view::View). An error ends the walk.
    fn next_pair(&mut self) -> Result<Option<(Arc<[u8]>, ItemId)>>;
}

/// The entries of one index, as a view sees them.
///
/// # Errors
/// As a [`View`](crate::view::View).
pub trait IndexEntries {
    /// Walks the pairs in `range`; `count` of them are wanted at once.
    fn walk<'s>(&'s self, range: EntryRange<'s>, count: usize) -> Result<Box<dyn EntryWalk + 's>>;

    /// What an item has as the indexed property.
    fn property(&self, item: ItemId) -> Result<Option<Value>>;

    /// The error of an entry that is not what was written.
    fn damaged(&self, problem: &dyn Display) -> Error;
}

/// The item as the kind that the index finds.
fn item_of<I: IndexItem>(entries: &dyn IndexEntries, item: ItemId) -> Result<I> {
    I::from_item_id(item).ok_or_else(|| {
        entries.damaged(&format_args!("an item of another kind than the index is on: {item:?}"))
    })
}

/// A bound in bytes: no value at it or on its inner side is left out.
enum OwnedBytesBound {
    Start,
    Before(Vec<u8>),
    At(ValueBytes, ItemId),
    End,
}

/// The side from which a bound is reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BoundSide {
    Low,
    High,
}

impl OwnedBytesBound {
    fn of<I: IndexItem>(bound: &EntryBound<I>, side: BoundSide) -> Self {
        let range = |from, to| BytesRange::around(&ValueRange { from, to, descending: false });
        let before = |inner: Bound<Value>| match side {
            BoundSide::Low => Self::Before(range(inner, Bound::Unbounded).from),
            BoundSide::High => match range(Bound::Unbounded, inner).to {
                Some(bytes) => Self::Before(bytes),
                None => Self::End,
            },
        };
        match (bound, side) {
            (EntryBound::Start, _) => Self::Start,
            (EntryBound::End, _) => Self::End,
            (EntryBound::Before(value), BoundSide::Low) | (EntryBound::After(value), BoundSide::High) => {
                before(Bound::Included(value.clone()))
            }
            (EntryBound::After(value), BoundSide::Low) | (EntryBound::Before(value), BoundSide::High) => {
                before(Bound::Excluded(value.clone()))
            }
            (EntryBound::At(value, item), _) => {
                let bytes = ValueBytes::of(value);
                match (prefix_of(bytes.as_slice()), side, item) {
                    (Some(prefix), BoundSide::Low, _) => Self::Before(prefix.to_vec()),
                    (Some(prefix), BoundSide::High, _) => {
                        // Behind every form that begins so.
                        let end = [&prefix[..], &[u8::MAX; LONG_BYTES - LONG_PREFIX_BYTES + 1]].concat();
                        Self::Before(end)
                    }
                    (None, _, Some(item)) => Self::At(bytes, item.item_id()),
                    (None, _, None) => Self::Before(bytes.as_slice().to_vec()),
                }
            }
        }
    }

    fn bound(&self) -> BytesBound<'_> {
        match self {
            Self::Start => BytesBound::Start,
            Self::Before(bytes) => BytesBound::Before(bytes),
            Self::At(bytes, item) => BytesBound::At(bytes.as_slice(), *item),
            Self::End => BytesBound::End,
        }
    }
}

/// The bytes that long values share, if there are so many.
fn prefix_of(bytes: &[u8]) -> Option<&[u8; LONG_PREFIX_BYTES]> {
    bytes.first_chunk()
}

/// Pairs whose value bytes begin alike: of those that came, the first in order.
struct Block<I> {
    prefix: Vec<u8>,
    /// As many as are wanted and as many again, at most. Not in order.
    pairs: Vec<(Value, I)>,
    order: EntryOrder,
    wanted: usize,
}

impl<I: IndexItem> Block<I> {
    fn new(prefix: &[u8], order: EntryOrder, wanted: usize) -> Self {
        Self { prefix: prefix.to_vec(), pairs: Vec::new(), order, wanted }
    }

    /// Cost: a comparison or a few; now and then those of sorting all.
    fn push(&mut self, pair: (Value, I)) {
        self.pairs.push(pair);
        if self.pairs.len() >= self.wanted.saturating_mul(2) {
            self.sort();
        }
    }

    /// Sorts the pairs, and keeps those that are wanted.
    fn sort(&mut self) {
        match self.order {
            EntryOrder::Ascending => self.pairs.sort_unstable(),
            EntryOrder::Descending => self.pairs.sort_unstable_by(|a, b| b.cmp(a)),
        }
        self.pairs.truncate(self.wanted);
    }

    fn into_sorted(mut self) -> Vec<(Value, I)> {
        self.sort();
        self.pairs
    }
}

/// As [`View::candidates`](crate::view::View::candidates).
///
/// # Errors
/// As [`IndexEntries`].
pub fn items_of_value<I: IndexItem>(
    entries: &dyn IndexEntries,
    value: &Value,
    after: Option<I>,
    limit: usize,
    items: &mut Vec<I>,
) -> Result<IndexAnswer> {
    let bytes = ValueBytes::of(value);
    let from = match after {
        Some(item) => BytesBound::At(bytes.as_slice(), item.item_id()),
        None => BytesBound::Before(bytes.as_slice()),
    };
    let to = BytesBound::After(bytes.as_slice());
    let range = EntryRange { from, to, order: EntryOrder::Ascending };
    let end = items.len().saturating_add(limit);
    let mut walk = entries.walk(range, limit)?;
    while items.len() < end
        && let Some((_, item)) = walk.next_pair()?
    {
        items.push(item_of(entries, item)?);
    }
    Ok(if bytes.is_long() { IndexAnswer::Check } else { IndexAnswer::Exact })
}

/// As [`View::between`](crate::view::View::between).
///
/// # Errors
/// As [`IndexEntries`].
pub fn pairs_between<I: IndexItem>(
    entries: &dyn IndexEntries,
    (after, until): (&EntryBound<I>, &EntryBound<I>),
    order: EntryOrder,
    limit: usize,
    pairs: &mut Vec<(Value, I)>,
) -> Result<IndexAnswer> {
    let (low, high) = match order {
        EntryOrder::Ascending => (after, until),
        EntryOrder::Descending => (until, after),
    };
    let is_inside = |(value, item): &(Value, I)| {
        low.cmp_entry(value, *item) == Ordering::Less && high.cmp_entry(value, *item) == Ordering::Greater
    };
    let (low_bytes, high_bytes) =
        (OwnedBytesBound::of(low, BoundSide::Low), OwnedBytesBound::of(high, BoundSide::High));
    let (from, to) = match order {
        EntryOrder::Ascending => (low_bytes.bound(), high_bytes.bound()),
        EntryOrder::Descending => (high_bytes.bound(), low_bytes.bound()),
    };
    let end = pairs.len().saturating_add(limit);
    let mut walk = entries.walk(EntryRange { from, to, order }, limit)?;
    let mut block: Option<Block<I>> = None;
    while pairs.len() < end {
        let next = walk.next_pair()?;
        let goes_on = |prefix: &[u8]| next.as_ref().is_some_and(|(bytes, _)| bytes.starts_with(prefix));
        if let Some(ended) = block.take_if(|block| !goes_on(&block.prefix)) {
            pairs.extend(ended.into_sorted());
        }
        let Some((bytes, item)) = next else { break };
        let Some(value) = value_of(entries, &bytes, item)? else { continue };
        let pair = (value, item_of(entries, item)?);
        let wanted = end - pairs.len();
        if wanted == 0 || !is_inside(&pair) {
            continue;
        }
        match prefix_of(&bytes) {
            Some(prefix) => {
                block.get_or_insert_with(|| Block::new(prefix, order, wanted)).push(pair);
            }
            None => pairs.push(pair),
        }
    }
    Ok(IndexAnswer::Exact)
}

/// The value of an entry: what its bytes say, or else the item's own.
fn value_of(entries: &dyn IndexEntries, bytes: &Arc<[u8]>, item: ItemId) -> Result<Option<Value>> {
    let damaged = |error| entries.damaged(&format_args!("a value that cannot be read: {error}"));
    let stored = ValueBytes::from_stored(bytes).map_err(damaged)?;
    if let RecoveredValue::Exact(value) = stored.recover().map_err(damaged)? {
        return Ok(Some(value));
    }
    let value = entries.property(item)?;
    Ok(value.filter(|value| ValueBytes::of(value) == stored))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::random::{Random, SplitMix64};
    use evergraph_graph::id::VertexId;

    #[test]
    fn a_block_keeps_no_more_pairs_than_are_wanted_and_as_many_again() {
        let mut random = SplitMix64::new(5);
        let any = |_| {
            (Value::from(format!("text {}", random.next_u64() % 700)), VertexId(random.next_u64() as u32))
        };
        let pairs: Vec<(Value, VertexId)> = (0..2000).map(any).collect();
        for wanted in [1, 7, 3000] {
            for order in [EntryOrder::Ascending, EntryOrder::Descending] {
                let mut block = Block::new(b"text", order, wanted);
                for pair in &pairs {
                    block.push(pair.clone());
                    assert!(block.pairs.len() <= 2 * wanted);
                }
                let mut expected = pairs.clone();
                expected.sort_unstable();
                if order == EntryOrder::Descending {
                    expected.reverse();
                }
                expected.truncate(wanted);
                assert_eq!(block.into_sorted(), expected);
            }
        }
    }
}
