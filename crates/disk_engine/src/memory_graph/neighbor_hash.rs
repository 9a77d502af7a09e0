//! Neighbour hash: finds the records between two vertices in a long list.
//!
//! ```text
//! hash(entry, neighbour) ──> Link { entry, place, next } ──> Link ──> ...      newest first
//! ```
//!
//! A list of more than 64 records has a link for each, so that a look-up of one edge of a hub reads its few records and
//! not the list. When a list becomes long, those that it has get links first, all before the count that says so.
//!
//! Source: LSMGraph (SIGMOD 2024), section 4.1, which keeps the edges of high-degree vertices in a skip list. Differs:
//! a hash, because only the flush and whole reads need the order, and sort once.

use crate::format::tree_key::ItemKey;
use crate::memory_graph::arenas::{Arenas, INLINE_RECORDS, NONE};
use crate::memory_graph::lists::StoredList;
use crate::memory_graph::slot::{Slot, StoredRecord};
use evergraph_graph::id::VertexId;
use evergraph_storage::sync::atomic::Ordering;

impl Arenas {
    /// Adds a link to a record, which is newer than those of its list and neighbour that have one. Under the latch.
    pub(super) fn add_link(&self, entry: u32, neighbor: VertexId, place: u32) {
        let at = self.links.take(1);
        let link = self.links.get(at);
        let head = self.link_heads.of(entry, neighbor.0);
        link.entry.store(entry, Ordering::Relaxed);
        link.place.store(place, Ordering::Relaxed);
        link.next.store(head.load(Ordering::Relaxed), Ordering::Relaxed);
        // Release: the fields above and the record, for readers of any list in this chain.
        head.store(at, Ordering::Release);
    }

    /// Adds a link to each record of a list. Under the latch. Cost: once a list, for up to 64 records, mostly.
    pub(super) fn link_present(&self, list: StoredList<'_>) {
        let mut places = Vec::with_capacity(list.count as usize);
        let mut block = list.entry.newest.load(Ordering::Relaxed);
        let mut left = list.count;
        while block != NONE {
            let header = self.slots.get(block).header();
            places.extend((0..left - header.before).rev().map(|at| block + 1 + at));
            left = header.before;
            block = header.previous;
        }
        places.extend((0..left).rev());
        for place in places.into_iter().rev() {
            let neighbor = self.slot_of(list, place).record().item.neighbor();
            self.add_link(list.at, neighbor, place);
        }
    }

    fn slot_of<'g>(&'g self, list: StoredList<'g>, place: u32) -> &'g Slot {
        if place < INLINE_RECORDS { &list.entry.inline[place as usize] } else { self.slots.get(place) }
    }
}

impl<'g> StoredList<'g> {
    /// The records between the list's vertex and `neighbor` until `limit`, the newest first. Cost: a look at each
    /// record of a short list; of a long one at those, and at others of the same hash.
    pub(super) fn between(self, neighbor: VertexId, limit: u64) -> impl Iterator<Item = StoredRecord> {
        let linked = self.is_linked.then(|| self.linked(neighbor));
        let scanned = (!self.is_linked).then(|| self.newest_first(limit));
        let linked = linked.into_iter().flatten().filter(move |record| record.stamp.offset() <= limit);
        let scanned = scanned.into_iter().flatten().filter(move |record| record.item.neighbor() == neighbor);
        linked.chain(scanned)
    }

    /// The records of one item until `limit`, the newest first. Cost: as [`StoredList::between`].
    pub(super) fn of_item(self, item: ItemKey, limit: u64) -> impl Iterator<Item = StoredRecord> {
        self.between(item.neighbor(), limit).filter(move |record| record.item == item)
    }

    /// The records that have links in the chain of `neighbor`, among them newer ones than the count that was loaded.
    fn linked(self, neighbor: VertexId) -> impl Iterator<Item = StoredRecord> {
        // Acquire: the link's fields, its record, and all links behind it.
        let mut at = self.arenas.link_heads.of(self.at, neighbor.0).load(Ordering::Acquire);
        std::iter::from_fn(move || {
            while at != NONE {
                let link = self.arenas.links.get(at);
                at = link.next.load(Ordering::Relaxed);
                if link.entry.load(Ordering::Relaxed) == self.at {
                    let place = link.place.load(Ordering::Relaxed);
                    let record = self.arenas.slot_of(self, place).record();
                    if record.item.neighbor() == neighbor {
                        return Some(record);
                    }
                }
            }
            None
        })
    }
}
