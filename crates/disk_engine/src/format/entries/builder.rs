//! Entry page builder: records in order become pages of kind 4.

use crate::format::entries::entry::{EntryRecord, ItemKind, VALUE_BYTES_MAX};
use crate::format::page::{
    PAGE_BODY_BYTES, PAGE_HEAD_BYTES, PageBytes, PageFlags, PageHead, PageKind, Pushed,
};
use crate::format::stamps::{distance, varint_bytes};
use crate::format::subject::Subject;
use evergraph_graph::bytes::put_varint;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::timestamp::Timestamp;

/// Entries from one restart to the next.
pub(super) const RESTART_ENTRIES: usize = 16;

impl PageFlags {
    /// Kind 4: items are edges.
    pub const EDGE_ITEMS: Self = Self(2);
}

/// Builds pages of one index, one after the other; its memory is reused.
#[derive(Clone, Debug)]
pub struct EntryPageBuilder {
    subject: Subject,
    items: ItemKind,
    first_ts: Option<Timestamp>,
    entries: Vec<u8>,
    /// Where restarts begin in `entries`.
    restarts: Vec<u16>,
    count: usize,
    /// The record pushed last, in this page or the one before.
    last_value: Vec<u8>,
    last: Option<(ItemId, Timestamp)>,
    begins_inside: bool,
    body: Vec<u8>,
}

impl EntryPageBuilder {
    /// Builds pages of the index `subject`. In a file with stamps `first_ts` is the timestamp of its
    /// oldest record; `None` in others.
    #[must_use]
    pub fn new(subject: Subject, items: ItemKind, first_ts: Option<Timestamp>) -> Self {
        Self {
            subject,
            items,
            first_ts,
            entries: Vec::new(),
            restarts: Vec::new(),
            count: 0,
            last_value: Vec::new(),
            last: None,
            begins_inside: false,
            body: Vec::new(),
        }
    }

    /// Whether the page has no record yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The record pushed last, in this page or the one before: what the next page's separator is above.
    #[must_use]
    pub fn last(&self) -> Option<(&[u8], ItemId)> {
        self.last.map(|(item, _)| (&self.last_value[..], item))
    }

    /// Adds a record, if it fits. Cost: some 20 ns.
    ///
    /// # Panics
    /// If it doesn't follow the last record in order (an entry's newest record comes first), is older
    /// than the file's first timestamp, has more than 64 value bytes or an item of the other kind.
    pub fn push(&mut self, record: &EntryRecord<'_>) -> Pushed {
        assert!(record.value.len() <= VALUE_BYTES_MAX, "longer values are shortened to a hash");
        assert!(ItemKind::of(&record.item) == self.items, "an index finds vertices or edges");
        let same_entry = self.last().is_some_and(|last| {
            assert!(last <= record.key(), "entries come in order: {last:?}, {record:?}");
            last == record.key()
        });
        let is_newer = |last: (ItemId, Timestamp)| last.1 > record.stamp;
        assert!(
            !same_entry || self.last.is_some_and(is_newer),
            "an entry's newest record comes first: {record:?}"
        );

        let restarts = self.count.is_multiple_of(RESTART_ENTRIES);
        let shared = match restarts {
            true => 0,
            false => self.last_value.iter().zip(record.value).take_while(|(a, b)| a == b).count(),
        };
        let rest = (4 * (record.value.len() - shared)) as u64 + u64::from(record.operation.code());
        let stamp = self.first_ts.map(|first| distance(first, record.stamp));
        let bytes = varint_bytes(shared as u64)
            + varint_bytes(rest)
            + (record.value.len() - shared)
            + self.items.bytes()
            + stamp.map_or(0, varint_bytes);
        let restart_bytes = 2 * (self.restarts.len() + usize::from(restarts));
        if restart_bytes + self.entries.len() + bytes > PAGE_BODY_BYTES {
            return Pushed::PageFull;
        }
        if self.is_empty() {
            self.begins_inside = same_entry;
        }
        if restarts {
            self.restarts.push(self.entries.len() as u16);
        }
        put_varint(&mut self.entries, shared as u64);
        put_varint(&mut self.entries, rest);
        self.entries.extend_from_slice(&record.value[shared..]);
        record.item.put_order_bytes(&mut self.entries);
        if let Some(stamp) = stamp {
            put_varint(&mut self.entries, stamp);
        }
        self.count += 1;
        self.remember(record);
        Pushed::Taken
    }

    fn remember(&mut self, record: &EntryRecord<'_>) {
        self.last_value.clear();
        self.last_value.extend_from_slice(record.value);
        self.last = Some((record.item, record.stamp));
    }

    /// Writes the page, all but its checksum, and begins the next one. `rank` is the number of the
    /// index's records in the file before this page. Cost: a few microseconds.
    pub fn finish(&mut self, rank: u64, page: &mut PageBytes) -> PageHead {
        self.body.clear();
        let start = (PAGE_HEAD_BYTES + 2 * self.restarts.len()) as u16;
        self.body.extend(self.restarts.iter().flat_map(|restart| (start + restart).to_le_bytes()));
        self.body.extend_from_slice(&self.entries);
        let flags = PageFlags::NONE
            .with(PageFlags::EDGE_ITEMS, self.items == ItemKind::Edges)
            .with(PageFlags::STAMPS, self.first_ts.is_some())
            .with(PageFlags::BEGINS_INSIDE, self.begins_inside);
        // An entry has at least 6 bytes, so that a page has fewer than 3,000.
        let (items, values) = (self.count as u16, self.count as u16);
        let head = PageHead { flags, items, values, rank, ..PageHead::new(PageKind::Entries, self.subject) };
        head.write_with_body(&self.body, page);
        self.entries.clear();
        self.restarts.clear();
        self.count = 0;
        self.begins_inside = false;
        head
    }
}
