//! Last list: where items of one list are looked for one after the other, its neighbours are decoded once.
//!
//! ```text
//! first item of a list in a page     its frames are gone through as far as the neighbour      no memory
//! the next one in the same list      all its neighbours are decoded, then searched            4 bytes a neighbour
//! ```
//!
//! A page has up to 130,000 neighbours of a hub, so that going through them for each of a batch costs up to 10 us an item.

use crate::format::file_name::PageNumber;
use crate::format::lists::page::ListPage;
use crate::format::tree_key::ListId;
use evergraph_graph::bytes::Decoded;
use evergraph_graph::id::VertexId;
use std::ops::Range;

/// The list of a page in which an item was looked for last. Of one file.
#[derive(Debug, Default)]
pub(super) struct LastList {
    at: Option<(PageNumber, ListId)>,
    records: Range<usize>,
    /// Of all records, once there was a second item; empty before.
    neighbors: Vec<u32>,
}

impl LastList {
    /// The records of a list in `page`, page `number`, whose neighbour is `neighbor`; `None` if the page has nothing of the
    /// list.
    ///
    /// # Errors
    /// If the page is not sound.
    pub(super) fn find(
        &mut self,
        (number, page): (PageNumber, &ListPage<'_>),
        list: ListId,
        neighbor: VertexId,
    ) -> Decoded<Option<Range<usize>>> {
        if self.at != Some((number, list)) {
            self.at = None;
            self.neighbors.clear();
            let Some(records) = page.find(list.vertex)? else { return Ok(None) };
            (self.at, self.records) = (Some((number, list)), records);
            return page.find_neighbor(self.records.clone(), neighbor).map(Some);
        }
        if self.neighbors.is_empty() {
            page.neighbors_into(self.records.clone(), &mut self.neighbors)?;
        }
        let start = self.neighbors.partition_point(|one| *one < neighbor.0);
        let count = self.neighbors[start..].iter().take_while(|one| **one == neighbor.0).count();
        let start = self.records.start + start;
        Ok(Some(start..start + count))
    }
}
