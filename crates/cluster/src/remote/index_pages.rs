//! Index pages: what an index of one partition has between two places, some of it at a time, until there is no more room for it.
//!
//! Values may be long, and nobody knows how long before they are read: whoever wants many gets no more at once than has room,
//! and goes on behind that.

use evergraph_graph::error::{Error, Result};
use evergraph_graph::index::IndexId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::value::Value;
use evergraph_storage::engine::Engine;
use evergraph_storage::index::directory::Indexed;
use evergraph_storage::index::entry_bound::EntryBound;
use evergraph_storage::index::index_item::IndexItem;
use evergraph_storage::snapshot::handle::Snapshot;
use evergraph_storage::snapshot::index_entries::CheckTime;

/// What is read at once of an index.
pub(super) const INDEX_ENTRIES_AT_ONCE: usize = 256;

/// How a page ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PageEnd {
    /// With the last entry that there is.
    Last,
    /// With as many as were asked for.
    Limit,
    /// Before an entry that has no room.
    NoRoom,
}

/// Has `take` take pairs between two places of an index, in its order or, if `descending`, in the reverse, `limit` at most, as
/// long as it says that there was room.
///
/// # Errors
/// `invalid` if a place is not of the kind of the index; those of [`Snapshot::pairs_between`]; those of `take`.
pub(super) fn take_pairs<E: Engine, I: Indexed>(
    snapshot: &Snapshot<E>,
    index: IndexId,
    (after, until): (&EntryBound<ItemId>, &EntryBound<ItemId>),
    (descending, limit): (bool, u32),
    check_time: CheckTime<'_>,
    mut take: impl FnMut(Value, ItemId) -> Result<bool>,
) -> Result<PageEnd> {
    let (mut after, until) = (bound_of_kind::<I>(after)?, bound_of_kind::<I>(until)?);
    let (mut left, mut found) = (limit as usize, Vec::new());
    while left > 0 {
        let wanted = left.min(INDEX_ENTRIES_AT_ONCE);
        snapshot.pairs_between(index, (&after, &until), descending, wanted, check_time, &mut found)?;
        let is_last = found.len() < wanted;
        left -= found.len();
        if let Some((value, item)) = found.last()
            && left > 0
        {
            after = EntryBound::At(value.clone(), Some(*item));
        }
        for (value, item) in found.drain(..) {
            if !take(value, item.item_id())? {
                return Ok(PageEnd::NoRoom);
            }
        }
        if is_last {
            return Ok(PageEnd::Last);
        }
    }
    Ok(PageEnd::Limit)
}

/// An item as the kind that an index finds.
pub(super) fn of_kind<I: IndexItem>(item: ItemId) -> Result<I> {
    let found = I::from_item_id(item);
    found.ok_or_else(|| Error::invalid(format!("{item:?} is not of the kind that the index is on")))
}

/// A place in an index on items of one kind.
fn bound_of_kind<I: IndexItem>(bound: &EntryBound<ItemId>) -> Result<EntryBound<I>> {
    Ok(match bound {
        EntryBound::Start => EntryBound::Start,
        EntryBound::Before(value) => EntryBound::Before(value.clone()),
        EntryBound::At(value, item) => EntryBound::At(value.clone(), item.map(of_kind::<I>).transpose()?),
        EntryBound::After(value) => EntryBound::After(value.clone()),
        EntryBound::End => EntryBound::End,
    })
}
