//! Lists of all sources, merged: piece by piece, so that a hub is not collected for its first neighbours.
//!
//! ```text
//! source 0  2 5 9 ┊ ...                 each source gives the first `piece` items behind `after`;
//! source 1  1 3 ┊ 8 ...                 what lies before the first end (here 3) is known of all sources
//! source 2  2                           of an item that several have, the newest counts
//! merged    1 2 3 ┊                     what is deleted is dropped; too few left: the next, larger piece
//! ```
//!
//! A piece is as long as what is still wanted, so one is enough unless many of its items are deleted; it doubles
//! up to a bound, so that a source whose list has to be sorted for every piece sorts it a few times only.
//!
//! Source: LSMGraph (SIGMOD 2024), section 4.1, which merges the iterators of a vertex over all levels.

use crate::format::tree_key::{ItemKey, ListId};
use crate::source::{ListedItem, RecordSource, keep_newest};
use crate::view::merged_records::MergedRecords;
use crate::view::read_source::ReadSources;
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;

/// Items of a piece beyond those that are wanted: a few that are deleted do not cost another piece.
const SPARE_ITEMS: usize = 6;
/// Items that one source gives at most at a time: 4 MiB.
const PIECE_ITEMS_MAX: usize = 1 << 18;

impl<L: ReadSources + ?Sized> MergedRecords<'_, L> {
    /// Appends at most `limit` (neighbour, discriminator) pairs of a list, ascending: the first ones greater than
    /// `after`.
    ///
    /// Cost: as [`RecordSource::list`] of each source, mostly once; memory for as many items as are appended in each
    /// source, and at most 4 MiB a source.
    pub fn neighbors(
        &self,
        list: ListId,
        mut after: Option<ItemKey>,
        limit: usize,
        neighbors: &mut Vec<(VertexId, u16)>,
    ) -> Result<()> {
        let end = neighbors.len().saturating_add(limit);
        let mut items = Vec::new();
        let mut piece = limit.saturating_add(SPARE_ITEMS).min(PIECE_ITEMS_MAX);
        while neighbors.len() < end {
            items.clear();
            after = self.piece(list, after, piece, &mut items)?;
            let present = items.iter().filter(|listed| listed.is_present).take(end - neighbors.len());
            neighbors.extend(present.map(|listed| (listed.item.neighbor(), listed.item.discriminator())));
            if after.is_none() {
                break;
            }
            piece = (piece * 2).min(PIECE_ITEMS_MAX);
        }
        Ok(())
    }

    /// Fills `items` with the next items behind `after`, those of at most `piece` from each source that are complete.
    /// Returns where the next piece begins, if there may be more.
    fn piece(
        &self,
        list: ListId,
        after: Option<ItemKey>,
        piece: usize,
        items: &mut Vec<ListedItem>,
    ) -> Result<Option<ItemKey>> {
        let mut end: Option<ItemKey> = None;
        for source in self.sources() {
            let before = items.len();
            if source.list(list, after, piece, items)? {
                let last = items[before..].last().map(|listed| listed.item);
                debug_assert!(last > after, "a source that has more gave something");
                end = end.into_iter().chain(last).min();
            }
        }
        keep_newest(items, 0);
        if let Some(end) = end {
            items.truncate(items.partition_point(|listed| listed.item <= end));
        }
        Ok(end)
    }
}
