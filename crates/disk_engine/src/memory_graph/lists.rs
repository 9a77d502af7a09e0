//! Lists: the records of one vertex and one subject, in commit order.
//!
//! ```text
//! entry   r0 r1 │ newest ──> ┌ header: 10 before ┐ r10 r11 r12 ...      capacity 16, not yet full
//! count 13      │            └ previous ──> ┌ header: 2 before ┐ r2 ... r9
//! ```
//!
//! The first two records lie in the entry, the others in blocks that double from 8 to 1,024 records, chained newest
//! first. A block's header says how many records came before it, and by how many those changed the number of items:
//! so a reader of an older count skips whole blocks, and a degree reads one block. A block is full before the
//! next one begins. Records of one commit stand in the order of keys; so the timestamps of a list never fall.
//!
//! Source: LSMGraph (SIGMOD 2024), section 4.1, edge array segments; the blocks of LiveGraph (VLDB 2020), section 4,
//! double too. Differs: blocks are chained, never copied, so that readers need no lock and writers no second copy.

use crate::format::subject::Subject;
use crate::format::tree_key::ListId;
use crate::memory_graph::arenas::{
    Arenas, BLOCK_RECORDS_MAX, BLOCK_RECORDS_MIN, Entry, INLINE_RECORDS, NONE, UNLINKED_MAX,
};
use crate::memory_graph::record::PendingRecord;
use crate::memory_graph::slot::{BlockHeader, RelativeStamp, Slot, StoredRecord};
use evergraph_graph::id::VertexId;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::atomic::Ordering;

/// In a count: each record of the list has a link.
const LINKED: u32 = 1 << 31;

/// What a commit was promised for one of its lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ListRoom {
    /// Slots for blocks, headers included.
    pub slots: u32,
    /// Links.
    pub links: u32,
}

/// Records of a list that lie together.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordBlock<'g> {
    /// The records, oldest first.
    pub slots: &'g [Slot],
    /// Inserts minus deletes of all records before them.
    pub difference_before: i64,
}

impl<'g> RecordBlock<'g> {
    /// The records that were committed until `limit`, an offset.
    #[inline]
    fn until(self, limit: u64) -> &'g [Slot] {
        match self.slots.last() {
            Some(last) if last.record().stamp.offset() > limit => {
                let count = self.slots.partition_point(|slot| slot.record().stamp.offset() <= limit);
                &self.slots[..count]
            }
            _ => self.slots,
        }
    }
}

fn difference_of(slots: &[Slot]) -> i64 {
    slots.iter().map(|slot| slot.record().stamp.operation().difference()).sum()
}

/// A list as of the count that was loaded.
///
/// # Concurrency
/// The holder of the latch writes records, then the count (Release). A reader loads the count (Acquire) and looks at
/// no record beyond it. It loads `newest` afterwards, and may find a block of which its count knows nothing; it
/// goes on to the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredList<'g> {
    pub arenas: &'g Arenas,
    /// The index of the entry.
    pub at: u32,
    pub entry: &'g Entry,
    pub count: u32,
    /// Whether each record has a link.
    pub is_linked: bool,
}

impl<'g> StoredList<'g> {
    /// Which list it is.
    pub(super) fn id(self) -> ListId {
        let subject = Subject::numbered(self.entry.subject.load(Ordering::Relaxed));
        ListId { subject, vertex: VertexId(self.entry.vertex.load(Ordering::Relaxed)) }
    }

    /// The records in blocks, the newest first.
    pub(super) fn blocks(self) -> impl Iterator<Item = RecordBlock<'g>> {
        let mut left = self.count;
        // Published with its header and the records before it, by a count or by itself (Release).
        let mut block = if left > INLINE_RECORDS { self.entry.newest.load(Ordering::Acquire) } else { NONE };
        std::iter::from_fn(move || {
            while block != NONE {
                let header = self.arenas.slots.get(block).header();
                let first = block + 1;
                block = header.previous;
                if header.before < left {
                    let slots = self.arenas.slots.run(first, left - header.before);
                    left = header.before;
                    return Some(RecordBlock { slots, difference_before: i64::from(header.difference) });
                }
            }
            let slots = &self.entry.inline[..left as usize];
            left = 0;
            (!slots.is_empty()).then_some(RecordBlock { slots, difference_before: 0 })
        })
    }

    /// The records until `limit`, the newest first. Cost: a look at each block that is newer.
    pub(super) fn newest_first(self, limit: u64) -> impl Iterator<Item = StoredRecord> {
        let records = self.blocks().flat_map(move |block| block.until(limit).iter().rev());
        records.map(Slot::record)
    }

    /// Inserts minus deletes until `limit`. Cost: one block, and a look at each that is newer.
    pub(super) fn difference(self, limit: u64) -> i64 {
        let visible = self.blocks().find_map(|block| {
            let slots = block.until(limit);
            (!slots.is_empty()).then(|| block.difference_before + difference_of(slots))
        });
        visible.unwrap_or(0)
    }
}

impl Arenas {
    /// The index of the entry of a list. Cost: a walk along the entries of one hash, which are one or two.
    pub(super) fn find_entry(&self, id: ListId) -> Option<u32> {
        // Acquire: the entry's fields, and those of all entries behind it.
        let mut at = self.list_heads.of(id.subject.number(), id.vertex.0).load(Ordering::Acquire);
        while at != NONE {
            let entry = self.entries.get(at);
            if entry.vertex.load(Ordering::Relaxed) == id.vertex.0
                && entry.subject.load(Ordering::Relaxed) == id.subject.number()
            {
                return Some(at);
            }
            at = entry.next.load(Ordering::Relaxed);
        }
        None
    }

    /// The list of an entry, as of now.
    pub(super) fn list_at(&self, at: u32) -> StoredList<'_> {
        let entry = self.entries.get(at);
        let count = entry.count.load(Ordering::Acquire);
        StoredList { arenas: self, at, entry, count: count & !LINKED, is_linked: count & LINKED != 0 }
    }

    /// A list as of now, if the graph has it.
    #[inline]
    pub(super) fn list(&self, id: ListId) -> Option<StoredList<'_>> {
        self.find_entry(id).map(|at| self.list_at(at))
    }

    /// Adds an empty list; its entry. Under the latch.
    pub(super) fn add_entry(&self, id: ListId) -> u32 {
        let at = self.entries.take(1);
        let entry = self.entries.get(at);
        let head = self.list_heads.of(id.subject.number(), id.vertex.0);
        entry.subject.store(id.subject.number(), Ordering::Relaxed);
        entry.vertex.store(id.vertex.0, Ordering::Relaxed);
        entry.next.store(head.load(Ordering::Relaxed), Ordering::Relaxed);
        // Release: the fields above.
        head.store(at, Ordering::Release);
        at
    }

    /// Appends records of one commit, sorted by key, and takes their payloads; inserts minus deletes. Under the
    /// latch.
    pub(super) fn append_records(
        &self,
        at: u32,
        records: &mut [PendingRecord],
        offset: u64,
        room: ListRoom,
    ) -> i64 {
        let list = self.list_at(at);
        let id = list.id();
        let total = list.count + records.len() as u32;
        let links =
            !planted(Bug::LengthBeforeRecord) && self.gets_links(list, id, records.len() as u32, room);
        if links && !list.is_linked {
            self.link_present(list);
        }
        let count = if links { total | LINKED } else { total };
        if planted(Bug::LengthBeforeRecord) {
            list.entry.count.store(count, Ordering::Release);
        }
        let mut tail = BlockTail::of(self, list);
        let mut slots_left = room.slots;
        let mut difference = 0;
        for (position, record) in (list.count..).zip(records.iter_mut()) {
            let payload = self.put_payload(std::mem::take(&mut record.payload));
            let stamp = RelativeStamp::new(offset, record.operation);
            let stored = StoredRecord { item: record.item, stamp, payload };
            let place = if position < INLINE_RECORDS {
                list.entry.inline[position as usize].write(stored);
                position
            } else {
                if tail.left == 0 {
                    tail = tail.add_block(self, list.entry, position, total - position, &mut slots_left);
                }
                tail.push(self, stored)
            };
            if links {
                self.add_link(at, record.item.neighbor(), place);
            }
            difference += record.operation.difference();
        }
        let order = if planted(Bug::LengthRelaxed) { Ordering::Relaxed } else { Ordering::Release };
        list.entry.count.store(count, order);
        difference
    }

    /// Whether the records of a list, with `more` of them, have links from now on.
    fn gets_links(&self, list: StoredList<'_>, id: ListId, more: u32, room: ListRoom) -> bool {
        if list.is_linked {
            return true;
        }
        let total = list.count + more;
        // If the list grew since the room was measured, a later commit links it.
        id.subject != Subject::VERTICES && total > UNLINKED_MAX && room.links >= total
    }
}

/// What a commit of `count` records to a list needs at most, where the list is `present` now and may grow until then.
pub(super) fn list_room(id: ListId, present: Option<StoredList<'_>>, count: u32) -> ListRoom {
    let before = present.map_or(0, |list| list.count);
    let slots = if before + count <= INLINE_RECORDS {
        // Most lists are new, and stay in their entry. Somebody else's commit may fill that first.
        1 + count
    } else {
        let capacity = block_capacity(before, count);
        count.div_ceil(capacity) * (1 + capacity)
    };
    let links = match present {
        _ if id.subject == Subject::VERTICES => 0,
        // Those before it get links too, when the list becomes long.
        Some(list) if !list.is_linked && before + count > UNLINKED_MAX => before + count,
        // Somebody else's commit may have given it links.
        _ => count,
    };
    ListRoom { slots, links }
}

/// What `count` records take in a new list that nobody else writes to.
pub(super) fn exact_room(id: ListId, count: u32) -> ListRoom {
    let in_blocks = count.saturating_sub(INLINE_RECORDS);
    let slots = in_blocks + in_blocks.div_ceil(BLOCK_RECORDS_MAX);
    let is_long = count > UNLINKED_MAX && id.subject != Subject::VERTICES;
    ListRoom { slots, links: if is_long { count } else { 0 } }
}

/// How many records a block has that is added to a list of `before` records, for `more` of them.
fn block_capacity(before: u32, more: u32) -> u32 {
    before.max(more).clamp(BLOCK_RECORDS_MIN, BLOCK_RECORDS_MAX)
}

/// The newest block of a list, as its writer fills it.
struct BlockTail {
    /// The header's slot, or 0.
    block: u32,
    /// The slot of the next record.
    next: u32,
    /// How many records still fit.
    left: u32,
}

impl BlockTail {
    fn of(arenas: &Arenas, list: StoredList<'_>) -> Self {
        let block = list.entry.newest.load(Ordering::Relaxed);
        if block == NONE {
            return Self { block, next: NONE, left: 0 };
        }
        let header = arenas.slots.get(block).header();
        let filled = list.count - header.before;
        Self { block, next: block + 1 + filled, left: header.capacity - filled }
    }

    /// Writes a record; its slot.
    fn push(&mut self, arenas: &Arenas, record: StoredRecord) -> u32 {
        let place = self.next;
        arenas.slots.get(place).write(record);
        self.next += 1;
        self.left -= 1;
        place
    }

    /// Adds a block behind the first `before` records of the list, for `more` that come now, out of the slots that are
    /// left of what the commit was promised.
    fn add_block(
        &self,
        arenas: &Arenas,
        entry: &Entry,
        before: u32,
        more: u32,
        slots_left: &mut u32,
    ) -> Self {
        // The promise was for blocks of its own count: as large as those, or as large as any, hold all that comes.
        let capacity = block_capacity(before, more).min(*slots_left - 1);
        *slots_left -= 1 + capacity;
        let difference = if self.block == NONE {
            difference_of(&entry.inline)
        } else {
            let header = arenas.slots.get(self.block).header();
            let records = arenas.slots.run(self.block + 1, header.capacity);
            i64::from(header.difference) + difference_of(records)
        };
        let block = arenas.slots.take(1 + capacity);
        arenas.slots.get(block).write_header(BlockHeader {
            previous: self.block,
            capacity,
            before,
            difference: i32::try_from(difference).expect("a list has fewer than 2^31 records"),
        });
        // Release: the header, for a reader that meets the block before a count that includes it.
        entry.newest.store(block, Ordering::Release);
        Self { block, next: block + 1, left: capacity }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::operation::RecordOperation;
    use crate::format::subject::EdgeSide;
    use crate::format::tree_key::ItemKey;
    use crate::memory_graph::arenas::Room;
    use evergraph_graph::id::TypeId;
    use evergraph_graph::properties::Properties;

    const ID: ListId = ListId::edges(VertexId(9), TypeId(0), EdgeSide::Out);

    fn records(neighbors: std::ops::Range<u32>) -> Vec<PendingRecord> {
        let record = |neighbor| PendingRecord {
            item: ItemKey::edge(VertexId(neighbor), 0),
            operation: if neighbor % 3 == 0 { RecordOperation::Delete } else { RecordOperation::Insert },
            payload: Properties::EMPTY,
        };
        neighbors.map(record).collect()
    }

    fn arenas() -> Arenas {
        let arenas = Arenas::with_capacity(1 << 20);
        let room = Room { entries: 1, slots: 20_000, links: 20_000, segments: 0, payloads: 0 };
        assert!(arenas.make_ready(room));
        arenas
    }

    #[test]
    fn blocks_double_and_a_reader_of_an_older_count_skips_the_newer_ones() {
        let arenas = arenas();
        let at = arenas.add_entry(ID);
        let mut older = Vec::new();
        for neighbor in 0..5000 {
            let list = arenas.list(ID).unwrap();
            let room = list_room(ID, Some(list), 1);
            older.push((neighbor, list));
            arenas.append_records(at, &mut records(neighbor..neighbor + 1), u64::from(neighbor), room);
        }
        let list = arenas.list(ID).unwrap();
        let mut sizes: Vec<_> = list.blocks().map(|block| block.slots.len()).collect();
        sizes.reverse();
        assert_eq!(sizes[..9], [2, 8, 10, 20, 40, 80, 160, 320, 640]);
        assert!(sizes[9..sizes.len() - 1].iter().all(|size| *size == 1024));
        assert!(list.is_linked && list.id() == ID && list.count == 5000);
        for (count, list) in older.into_iter().step_by(7) {
            assert_eq!(list.newest_first(u64::MAX).count(), count as usize);
            let deleted = i64::from(count.div_ceil(3));
            assert_eq!(list.difference(u64::MAX), i64::from(count) - 2 * deleted);
            assert_eq!(list.is_linked, count > UNLINKED_MAX);
        }
        for limit in (0..5000u64).step_by(11) {
            let newest = list.newest_first(limit).next().unwrap();
            assert_eq!(u64::from(newest.item.neighbor().0), limit);
            let newer = list.of_item(newest.item, limit.wrapping_sub(1)).next();
            assert!(limit == 0 || newer.is_none(), "not visible yet");
            assert_eq!(list.of_item(newest.item, limit).count(), 1);
        }
    }

    #[test]
    fn a_list_of_one_commit_takes_its_records_and_a_header_a_block() {
        for count in [1, 2, 3, 10, 64, 65, 1026, 1027, 3000, 5122] {
            let arenas = arenas();
            let at = arenas.add_entry(ID);
            let room = exact_room(ID, count);
            let start = arenas.slots.take(1);
            arenas.append_records(at, &mut records(0..count), 0, room);
            assert_eq!(arenas.slots.take(1) - start - 1, room.slots, "{count}");
            let list = arenas.list(ID).unwrap();
            assert_eq!(
                (list.newest_first(0).count(), list.is_linked),
                (count as usize, count > UNLINKED_MAX)
            );
        }
    }

    #[test]
    fn a_large_commit_takes_what_it_was_promised_in_a_list_that_changed_meanwhile() {
        for (count, before) in [(1, 0), (1, 2), (2, 0), (9, 3), (1024, 0), (1025, 2), (3000, 70), (3000, 0)] {
            for seen in [0, before] {
                let arenas = arenas();
                let at = arenas.add_entry(ID);
                let fill = list_room(ID, None, seen);
                arenas.append_records(at, &mut records(0..seen), 1, fill);
                let room = list_room(ID, arenas.list(ID), count);
                let rest = list_room(ID, arenas.list(ID), before - seen);
                arenas.append_records(at, &mut records(seen..before), 2, rest);
                let start = arenas.slots.take(1);
                arenas.append_records(at, &mut records(before..before + count), 3, room);
                let taken = arenas.slots.take(1) - start - 1;
                assert!(taken <= room.slots, "{taken} of {room:?}");
                let list = arenas.list(ID).unwrap();
                let found: Vec<_> = list.newest_first(9).map(|record| record.item.neighbor().0).collect();
                assert!(found.iter().copied().rev().eq(0..before + count));
                let linked = list.is_linked;
                assert!(!linked || (0..before + count).all(|at| list.between(VertexId(at), 9).count() == 1));
            }
        }
    }
}
