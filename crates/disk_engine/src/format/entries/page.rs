//! Entry page: the entries of a page of kind 4, from the first or from a value on.

use crate::format::entries::builder::RESTART_ENTRIES;
use crate::format::entries::entry::{EntryRecord, ItemKind, Separator, VALUE_BYTES_MAX};
use crate::format::operation::RecordOperation;
use crate::format::page::{PAGE_HEAD_BYTES, PageBytes, PageFlags, PageHead, PageKind};
use crate::format::subject::SubjectKind;
use evergraph_graph::bytes::{DecodeError, Decoded, Reader};
use evergraph_graph::timestamp::Timestamp;

const KNOWN_FLAGS: u8 = PageFlags::EDGE_ITEMS.0 | PageFlags::STAMPS.0 | PageFlags::BEGINS_INSIDE.0;

/// A page of an index's entries where it lies.
#[derive(Clone, Copy, Debug)]
pub struct EntryPage<'a> {
    head: PageHead,
    page: &'a PageBytes,
    restarts: &'a [[u8; 2]],
    items: ItemKind,
}

impl<'a> EntryPage<'a> {
    /// Finds the arrays of `page`, whose checksum was verified. Cost: constant.
    ///
    /// # Errors
    /// If the page is of another kind, no index is its subject, or its restarts don't fit into it.
    pub fn open(page: &'a PageBytes) -> Decoded<Self> {
        let (head, mut reader) = PageHead::open(page, PageKind::Entries, KNOWN_FLAGS)?;
        if !matches!(head.subject.kind(), SubjectKind::Index(_)) || head.items != head.values {
            let expected = format!("entries of an index expected, found {} of {}", head.items, head.subject);
            return Err(DecodeError { offset: 6, expected });
        }
        let restarts = reader.take(2 * usize::from(head.items).div_ceil(RESTART_ENTRIES))?.as_chunks().0;
        let items = if head.flags.has(PageFlags::EDGE_ITEMS) { ItemKind::Edges } else { ItemKind::Vertices };
        Ok(Self { head, page, restarts, items })
    }

    /// The page's head.
    #[must_use]
    #[inline]
    pub fn head(&self) -> &PageHead {
        &self.head
    }

    /// All entries, from the first on. `first_ts` is the file's first timestamp.
    ///
    /// # Errors
    /// If the first restart lies outside of the page.
    pub fn entries(&self, first_ts: Timestamp) -> Decoded<EntryCursor<'a>> {
        self.cursor_at(0, first_ts)
    }

    /// The entries that are not below `start`: a value alone, or with an item. `first_ts` is the file's
    /// first timestamp.
    ///
    /// Cost: a binary search among restarts, and at most 16 entries.
    ///
    /// # Errors
    /// If an entry on the way is not sound.
    pub fn entries_from(&self, start: &Separator<'_>, first_ts: Timestamp) -> Decoded<EntryCursor<'a>> {
        let (mut below, mut end) = (0, self.restarts.len());
        while below < end {
            let middle = below + (end - below) / 2;
            let mut cursor = self.cursor_at(middle, first_ts)?;
            match cursor.next()? {
                Some(record) if is_below(&record, start) => below = middle + 1,
                _ => end = middle,
            }
        }
        let mut cursor = self.cursor_at(below.saturating_sub(1), first_ts)?;
        loop {
            let before = cursor.clone();
            match cursor.next()? {
                Some(record) if is_below(&record, start) => {}
                _ => return Ok(before),
            }
        }
    }

    /// Whether all entries of the page can be read and ascend.
    ///
    /// Cost: some 10 ns an entry.
    ///
    /// # Errors
    /// What is wrong first.
    pub fn check(&self, first_ts: Timestamp) -> Decoded<()> {
        let mut cursor = self.entries(first_ts)?;
        let (mut value, mut last) = (Vec::new(), None);
        loop {
            let place = cursor.reader.clone();
            if cursor.at.is_multiple_of(RESTART_ENTRIES) && cursor.at < usize::from(self.head.items) {
                let restart = usize::from(u16::from_le_bytes(self.restarts[cursor.at / RESTART_ENTRIES]));
                if restart != place.offset() {
                    return Err(place.error(format!("a restart expected here, found at {restart}")));
                }
            }
            let Some(record) = cursor.next()? else { return Ok(()) };
            let follows = last.is_none_or(|(item, stamp)| {
                let last = (&value[..], item);
                last < record.key() || (last == record.key() && stamp > record.stamp)
            });
            if !follows {
                return Err(
                    place.error(format!("entries in order expected, found {record:?} after {last:?}"))
                );
            }
            last = Some((record.item, record.stamp));
            value.clear();
            value.extend_from_slice(record.value);
        }
    }

    fn cursor_at(&self, restart: usize, first_ts: Timestamp) -> Decoded<EntryCursor<'a>> {
        let mut reader = Reader::new(self.page);
        // Without entries there is no restart, and nothing to read at the place that is taken for it.
        let offset =
            self.restarts.get(restart).map_or(PAGE_HEAD_BYTES, |at| usize::from(u16::from_le_bytes(*at)));
        if offset < PAGE_HEAD_BYTES || offset > self.page.len() {
            let offset_at = PAGE_HEAD_BYTES + 2 * restart;
            let expected = format!("a restart inside the body expected, found {offset}");
            return Err(DecodeError { offset: offset_at, expected });
        }
        reader.take(offset)?;
        Ok(EntryCursor {
            reader,
            items: self.items,
            first_ts: self.head.flags.has(PageFlags::STAMPS).then_some(first_ts),
            at: restart * RESTART_ENTRIES,
            end: usize::from(self.head.items),
            value: [0; VALUE_BYTES_MAX],
            value_bytes: 0,
        })
    }
}

fn is_below(record: &EntryRecord<'_>, start: &Separator<'_>) -> bool {
    Separator { value: record.value, item: Some(record.item) } < *start
}

/// Reads entry after entry.
#[derive(Clone, Debug)]
pub struct EntryCursor<'a> {
    reader: Reader<'a>,
    items: ItemKind,
    /// `None` in a file without stamps.
    first_ts: Option<Timestamp>,
    /// The entry that is read next.
    at: usize,
    end: usize,
    /// The value bytes of the entry before.
    value: [u8; VALUE_BYTES_MAX],
    value_bytes: usize,
}

impl EntryCursor<'_> {
    /// The next entry of the page, until the next call; `None` after the last.
    ///
    /// Cost: some 10 ns; no memory.
    ///
    /// # Errors
    /// If the bytes are not an entry. The cursor then is of no more use.
    #[expect(clippy::should_implement_trait, reason = "an entry borrows its value from the cursor")]
    pub fn next(&mut self) -> Decoded<Option<EntryRecord<'_>>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let start = self.reader.clone();
        let shared_max = if self.at.is_multiple_of(RESTART_ENTRIES) { 0 } else { self.value_bytes };
        let shared = self.reader.at_most(shared_max as u64)? as usize;
        let rest = self.reader.at_most(4 * VALUE_BYTES_MAX as u64 + 3)?;
        let (rest, operation) = ((rest / 4) as usize, RecordOperation::from_low_bits(rest as u8));
        if shared + rest > VALUE_BYTES_MAX {
            return Err(start
                .error(format!("at most {VALUE_BYTES_MAX} value bytes expected, found {}", shared + rest)));
        }
        self.value[shared..shared + rest].copy_from_slice(self.reader.take(rest)?);
        self.value_bytes = shared + rest;
        let item = self.items.take(&mut self.reader)?;
        let stamp = match self.first_ts {
            None => Timestamp::ZERO,
            Some(first) => {
                let place = self.reader.clone();
                let ts = first.0.checked_add(self.reader.varint()?);
                Timestamp(ts.ok_or_else(|| place.error("a timestamp of at most 64 bits expected"))?)
            }
        };
        self.at += 1;
        Ok(Some(EntryRecord { value: &self.value[..self.value_bytes], item, operation, stamp }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::entries::builder::EntryPageBuilder;
    use crate::format::entries::entry::tests::{any_item, any_value_bytes};
    use crate::format::file_name::PAGE_BYTES;
    use crate::format::operation::tests::any_operation;
    use crate::format::page::tests::{any_damage, any_seed, damaged, dirty_page};
    use crate::format::page::{Pushed, verify};
    use crate::format::subject::Subject;
    use evergraph_graph::id::VertexId;
    use evergraph_graph::index_entry::ItemId;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BTreeMap;

    const FIRST_TS: Timestamp = Timestamp(1 << 20);

    type EntryKey = (Vec<u8>, ItemId, Reverse<Timestamp>);
    type Entries = BTreeMap<EntryKey, RecordOperation>;

    #[derive(Clone, Debug)]
    struct Index {
        items: ItemKind,
        first_ts: Option<Timestamp>,
        entries: Entries,
    }

    fn any_index() -> impl Strategy<Value = Index> {
        let kind = prop_oneof![Just(ItemKind::Vertices), Just(ItemKind::Edges)];
        (kind, any::<bool>(), 0usize..1200).prop_flat_map(|(items, stamped, count)| {
            let stamp = if stamped { FIRST_TS.0..FIRST_TS.0 + 400 } else { 0..1 };
            let key = (any_value_bytes(), any_item(items), stamp.prop_map(|stamp| Reverse(Timestamp(stamp))));
            let entries = proptest::collection::btree_map(key, any_operation(), count / 2..count + 1);
            let first_ts = stamped.then_some(FIRST_TS);
            entries.prop_map(move |entries| Index { items, first_ts, entries })
        })
    }

    fn pages_of(index: &Index) -> Vec<(PageHead, Box<PageBytes>)> {
        let mut builder = EntryPageBuilder::new(Subject::index(3).unwrap(), index.items, index.first_ts);
        let (mut pages, mut rank) = (Vec::new(), 0);
        let mut finish = |builder: &mut EntryPageBuilder| {
            let mut page = dirty_page();
            let head = builder.finish(rank, &mut page);
            rank += u64::from(head.values);
            pages.push((head, page));
        };
        for ((value, item, stamp), operation) in &index.entries {
            let record = EntryRecord { value, item: *item, operation: *operation, stamp: stamp.0 };
            if builder.push(&record) == Pushed::PageFull {
                finish(&mut builder);
                assert_eq!(builder.push(&record), Pushed::Taken);
            }
        }
        finish(&mut builder);
        pages
    }

    fn read(mut cursor: EntryCursor<'_>) -> Decoded<Vec<(EntryKey, RecordOperation)>> {
        let mut entries = Vec::new();
        while let Some(record) = cursor.next()? {
            entries.push(((record.value.to_vec(), record.item, Reverse(record.stamp)), record.operation));
        }
        Ok(entries)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn entries_read_back_from_their_pages(index in any_index(), probe in any_value_bytes()) {
            let mut all = Vec::new();
            for (head, bytes) in pages_of(&index) {
                let page = EntryPage::open(&bytes).unwrap();
                prop_assert_eq!((page.head(), head.rank), (&head, all.len() as u64));
                page.check(FIRST_TS).unwrap();
                let own = read(page.entries(FIRST_TS).unwrap()).unwrap();
                let probes = own.iter().step_by(29).map(|((value, item, _), _)| (&value[..], Some(*item)));
                for (value, item) in probes.chain(own.iter().step_by(31).map(|((value, ..), _)| (&value[..], None))).chain([(&probe[..], None)]) {
                    let start = Separator { value, item };
                    let from = own.partition_point(|((value, item, _), _)| Separator { value, item: Some(*item) } < start);
                    prop_assert_eq!(&read(page.entries_from(&start, FIRST_TS).unwrap()).unwrap()[..], &own[from..]);
                }
                all.extend(own);
            }
            prop_assert!(all == Vec::from_iter(index.entries));
        }

        #[test]
        fn a_damaged_page_with_a_right_checksum_is_refused_or_can_be_read(
            index in any_index(), damage in any_damage(), probe in any_value_bytes(),
        ) {
            let bytes = damaged(&pages_of(&index)[0].1, &damage);
            if verify(&bytes, any_seed()).is_err() {
                return Ok(());
            }
            let Ok(page) = EntryPage::open(&bytes) else { return Ok(()) };
            drop(page.entries(FIRST_TS).and_then(read));
            drop(page.check(FIRST_TS));
            let probes = index.entries.keys().take(30).map(|(value, ..)| &value[..]).chain([&probe[..]]);
            for value in probes {
                drop(page.entries_from(&Separator { value, item: None }, FIRST_TS).and_then(read));
            }
        }
    }

    #[test]
    fn entries_of_one_value_take_six_bytes() {
        let entry = |at| {
            (
                (b"red".to_vec(), ItemId::Vertex(VertexId(at)), Reverse(Timestamp::ZERO)),
                RecordOperation::Insert,
            )
        };
        let entries: Entries = (0..3000).map(entry).collect();
        let pages = pages_of(&Index { items: ItemKind::Vertices, first_ts: None, entries });
        // Of 16: 6 bytes each, a restart of 2, and 3 of the value.
        let sixteen = 16 * 6 + 5;
        assert_eq!(usize::from(pages[0].0.items) / 16, (PAGE_BYTES - PAGE_HEAD_BYTES) / sixteen);
    }

    #[test]
    #[should_panic(expected = "in order")]
    fn an_entry_out_of_order_is_a_defect() {
        let mut builder = EntryPageBuilder::new(Subject::index(3).unwrap(), ItemKind::Vertices, None);
        let record = |value| EntryRecord {
            value,
            item: ItemId::Vertex(VertexId(1)),
            operation: RecordOperation::Insert,
            stamp: Timestamp::ZERO,
        };
        assert_eq!(builder.push(&record(b"b")), Pushed::Taken);
        let _ = builder.push(&record(b"a"));
    }
}
