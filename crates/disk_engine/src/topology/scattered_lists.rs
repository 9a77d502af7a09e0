//! Scattered lists: the lists of a few scattered vertices, each looked up in every source.
//!
//! ```text
//! sources, newest first   [3+ 7-]   [7+ 9+]   [1+ 9+]
//! merged                  1  3  9           of an item that several have, the newest record counts
//! ```
//!
//! A long list comes in pieces of a few thousand items, so a hub takes no more memory than that.

use crate::format::tree_key::{ItemKey, ListId};
use crate::source::ListedItem;
use crate::topology::edge_source::ScannedFile;
use crate::topology::frozen_graph::FrozenGraph;
use evergraph_graph::error::Result;

/// Items that are read from a source at a time, and merged at a time.
const ITEMS_MAX: usize = 4096;

/// Where the reading of one source's list stands.
#[derive(Debug, Default)]
struct Cursor {
    items: Vec<ListedItem>,
    /// The next of the items.
    position: usize,
    has_more: bool,
}

/// Reads lists; its buffers are reused from list to list.
#[derive(Debug, Default)]
pub(super) struct ScatteredLists {
    cursors: Vec<Cursor>,
    /// Items of the list that are present, ascending.
    pub(super) neighbors: Vec<u32>,
    pub(super) discriminators: Vec<u16>,
    /// The sources that have records of each, a bit each.
    pub(super) source_bits: Vec<u64>,
}

impl ScatteredLists {
    /// Goes to the beginning of `list`.
    pub(super) fn begin<F: ScannedFile>(&mut self, topology: &FrozenGraph<F>, list: ListId) -> Result<()> {
        self.cursors.resize_with(topology.edge_sources.len(), Cursor::default);
        for (edge_source, cursor) in self.cursors.iter_mut().enumerate() {
            cursor.items.clear();
            (cursor.position, cursor.has_more) = (0, true);
            cursor.fill(topology, edge_source, list)?;
        }
        Ok(())
    }

    /// Replaces the items by the next ones; whether there are any.
    pub(super) fn next<F: ScannedFile>(&mut self, topology: &FrozenGraph<F>, list: ListId) -> Result<bool> {
        self.neighbors.clear();
        self.discriminators.clear();
        self.source_bits.clear();
        while self.neighbors.len() < ITEMS_MAX {
            let fronts = self.cursors.iter().filter_map(Cursor::front);
            let Some(least) = fronts.map(|front| front.item).min() else { break };
            let mut is_present = None;
            let mut source_bits = 0;
            for (edge_source, cursor) in self.cursors.iter_mut().enumerate() {
                let Some(front) = cursor.front().filter(|front| front.item == least) else { continue };
                is_present.get_or_insert(front.is_present);
                source_bits |= 1_u64.checked_shl(edge_source as u32).unwrap_or(0);
                cursor.position += 1;
                if cursor.position == cursor.items.len() {
                    cursor.fill(topology, edge_source, list)?;
                }
            }
            if is_present == Some(true) {
                self.neighbors.push(least.neighbor().0);
                self.discriminators.push(least.discriminator());
                self.source_bits.push(source_bits);
            }
        }
        Ok(!self.neighbors.is_empty())
    }
}

impl Cursor {
    fn front(&self) -> Option<&ListedItem> {
        self.items.get(self.position)
    }

    /// Reads the items behind those that were taken.
    fn fill<F: ScannedFile>(
        &mut self,
        topology: &FrozenGraph<F>,
        edge_source: usize,
        list: ListId,
    ) -> Result<()> {
        if !self.has_more {
            return Ok(());
        }
        let after: Option<ItemKey> = self.items.last().map(|last| last.item);
        self.items.clear();
        self.position = 0;
        let edge_source = &topology.edge_sources[edge_source];
        let has_more = edge_source.list(topology.timestamp, list, after, ITEMS_MAX, &mut self.items)?;
        self.has_more = has_more && !self.items.is_empty();
        Ok(())
    }
}
