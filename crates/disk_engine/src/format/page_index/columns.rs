//! Column index: which pages of a columns file hold a property of some vertices or ranks.

use crate::format::file_name::PageNumber;
use crate::format::page::{PageFlags, PageHead, PageKind};
use crate::format::subject::Subject;
use evergraph_graph::bytes::{Decoded, Reader};
use evergraph_graph::id::KeyId;
use std::ops::RangeInclusive;

/// Bytes of a page's record.
const RECORD_BYTES: usize = 16;

/// Gathers the index of a columns file, page after page.
#[derive(Clone, Debug, Default)]
pub struct ColumnIndexBuilder {
    records: Vec<u8>,
}

impl ColumnIndexBuilder {
    /// Pages so far: the number of the next page.
    #[must_use]
    pub fn next_page(&self) -> PageNumber {
        PageNumber((self.records.len() / RECORD_BYTES) as u32)
    }

    /// Adds the next page: of a column or of long values.
    pub fn push(&mut self, head: &PageHead) {
        let first = if head.flags.has(PageFlags::RANKS) { head.rank } else { head.first_vertex.0.into() };
        self.records.extend_from_slice(&head.subject.number().to_le_bytes());
        self.records.extend_from_slice(&first.to_le_bytes());
        self.records.extend_from_slice(&head.property_key.0.to_le_bytes());
        self.records.extend_from_slice(&[head.kind.code(), head.flags.0]);
    }

    /// The index's bytes, for the footer to follow.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.records
    }
}

/// What the index knows of one page of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexedColumnPage {
    /// The vertex or rank of the first record.
    pub first: u64,
    /// What has the property.
    pub subject: Subject,
    /// Which page of the file.
    pub page: PageNumber,
    /// The property.
    pub property_key: KeyId,
    /// The page's flags.
    pub flags: PageFlags,
}

/// The pages of a columns file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnIndex {
    /// By subject, property and first position. Pages of long values are left out: references lead to them.
    pages: Box<[IndexedColumnPage]>,
}

impl ColumnIndex {
    /// Reads the index of a file of `pages` pages, whose checksum was verified.
    ///
    /// Cost: some 10 ns a page, and 24 bytes of memory.
    ///
    /// # Errors
    /// If the bytes are not the index of so many pages, or columns' pages are out of order.
    pub fn decode(bytes: &[u8], pages: u32) -> Decoded<Self> {
        let mut reader = Reader::new(bytes);
        let mut records = Reader::new(reader.take((pages as usize).saturating_mul(RECORD_BYTES))?);
        if !reader.is_empty() {
            return Err(reader.error(format!(
                "records of {pages} pages expected, found {} more bytes",
                reader.remaining()
            )));
        }
        let key = |page: &IndexedColumnPage| (page.subject, page.property_key, page.first);
        let mut columns: Vec<IndexedColumnPage> = Vec::new();
        for number in 0..pages {
            let start = records.clone();
            let subject = Subject::take(&mut records)?;
            let (first, property_key) = (records.u64()?, KeyId(records.u16()?));
            let (code, flags) = (records.u8()?, PageFlags(records.u8()?));
            match PageKind::from_code(code) {
                Some(PageKind::LongValues) => continue,
                Some(PageKind::Column) => {}
                _ => return Err(start.error(format!("a page of a columns file expected, found kind {code}"))),
            }
            let page = IndexedColumnPage { first, subject, page: PageNumber(number), property_key, flags };
            if columns.last().is_some_and(|last| key(last) > key(&page)) {
                return Err(
                    start.error(format!("pages in order of their keys expected, found page {number}"))
                );
            }
            columns.push(page);
        }
        Ok(Self { pages: columns.into() })
    }

    /// Pages of columns, by subject, property and first position.
    #[must_use]
    #[inline]
    pub fn pages(&self) -> &[IndexedColumnPage] {
        &self.pages
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        size_of_val(&*self.pages)
    }

    /// The pages of one column. Cost: two binary searches.
    #[must_use]
    pub fn pages_of(&self, subject: Subject, property_key: KeyId) -> &[IndexedColumnPage] {
        let column = |page: &IndexedColumnPage| (page.subject, page.property_key);
        let start = self.pages.partition_point(|page| column(page) < (subject, property_key));
        let count = self.pages[start..].partition_point(|page| column(page) == (subject, property_key));
        &self.pages[start..start + count]
    }

    /// The pages of one column that may have records of the vertices or ranks in `positions`. Cost:
    /// binary searches.
    #[must_use]
    pub fn pages_between(
        &self,
        subject: Subject,
        property_key: KeyId,
        positions: RangeInclusive<u64>,
    ) -> &[IndexedColumnPage] {
        let (low, high) = positions.into_inner();
        let pages = self.pages_of(subject, property_key);
        let mut start = pages.partition_point(|page| page.first <= low).saturating_sub(1);
        // With stamps, records of one position may stand on several pages.
        while start > 0 && pages[start].first == low && pages[start].flags.has(PageFlags::STAMPS) {
            start -= 1;
        }
        let end = pages.partition_point(|page| page.first <= high);
        &pages[start..end.max(start)]
    }

    /// The subjects that have columns in the file, ascending. Cost: a binary search a subject.
    pub fn subjects(&self) -> impl Iterator<Item = Subject> + '_ {
        let mut rest = &*self.pages;
        std::iter::from_fn(move || {
            let subject = rest.first()?.subject;
            rest = &rest[rest.partition_point(|page| page.subject == subject)..];
            Some(subject)
        })
    }

    /// The properties of `subject` that have columns in the file, ascending. Cost: two binary searches a
    /// property.
    pub fn property_keys(&self, subject: Subject) -> impl Iterator<Item = KeyId> + '_ {
        let start = self.pages.partition_point(|page| page.subject < subject);
        let count = self.pages[start..].partition_point(|page| page.subject == subject);
        let mut rest = &self.pages[start..start + count];
        std::iter::from_fn(move || {
            let key = rest.first()?.property_key;
            rest = &rest[rest.partition_point(|page| page.property_key == key)..];
            Some(key)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::subject::EdgeSide;
    use evergraph_graph::id::{TypeId, VertexId};
    use proptest::prelude::*;

    const EDGES: Subject = Subject::edges(TypeId(0), EdgeSide::Out);

    fn column(subject: Subject, key: u16, first: u64, stamped: bool) -> PageHead {
        let flags = PageFlags::NONE.with(PageFlags::STAMPS, stamped);
        let head = PageHead { property_key: KeyId(key), flags, ..PageHead::new(PageKind::Column, subject) };
        match subject {
            EDGES => PageHead { rank: first, flags: flags.with(PageFlags::RANKS, true), ..head },
            _ => PageHead { first_vertex: VertexId(first as u32), ..head },
        }
    }

    fn index(heads: &[PageHead]) -> Decoded<ColumnIndex> {
        let mut index = ColumnIndexBuilder::default();
        heads.iter().for_each(|head| index.push(head));
        ColumnIndex::decode(&index.finish(), heads.len() as u32)
    }

    #[test]
    fn the_pages_of_a_property_are_found_between_those_of_long_values() {
        let long = PageHead::new(PageKind::LongValues, Subject::VERTICES);
        let heads = [
            column(Subject::VERTICES, 1, 10, false),
            long,
            long,
            column(Subject::VERTICES, 1, 500, false),
            column(Subject::VERTICES, 4, 0, false),
            long,
            column(EDGES, 1, 1 << 40, false),
        ];
        let index = index(&heads).unwrap();
        let pages = |subject, key, positions| -> Vec<u32> {
            index.pages_between(subject, KeyId(key), positions).iter().map(|page| page.page.0).collect()
        };
        assert_eq!(pages(Subject::VERTICES, 1, 0..=9), []);
        assert_eq!(pages(Subject::VERTICES, 1, 0..=10), [0]);
        assert_eq!(pages(Subject::VERTICES, 1, 499..=500), [0, 3]);
        assert_eq!(pages(Subject::VERTICES, 1, 500..=500), [3]);
        assert_eq!(pages(Subject::VERTICES, 2, 0..=u64::MAX), []);
        assert_eq!(pages(EDGES, 1, 0..=u64::MAX), [6]);
        assert_eq!(index.property_keys(Subject::VERTICES).collect::<Vec<_>>(), [KeyId(1), KeyId(4)]);
        assert_eq!(index.property_keys(Subject::index(0).unwrap()).count(), 0);
        assert_eq!(index.subjects().collect::<Vec<_>>(), [Subject::VERTICES, EDGES]);
    }

    #[test]
    fn with_stamps_the_page_before_may_have_records_of_the_same_vertex() {
        let first = |at, stamped| column(Subject::VERTICES, 1, at, stamped);
        let found = |stamped| {
            let index =
                index(&[first(3, stamped), first(7, stamped), first(7, stamped), first(9, stamped)]).unwrap();
            index
                .pages_between(Subject::VERTICES, KeyId(1), 7..=7)
                .iter()
                .map(|page| page.page.0)
                .collect::<Vec<_>>()
        };
        assert_eq!(found(true), [0, 1, 2]);
        assert_eq!(found(false), [2]);
    }

    #[test]
    fn pages_out_of_order_or_of_another_kind_are_refused() {
        let at = |first| column(Subject::VERTICES, 1, first, false);
        assert!(index(&[at(3), at(2)]).unwrap_err().expected.contains("in order"));
        assert!(index(&[PageHead::new(PageKind::Lists, EDGES)]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_an_index_that_can_be_searched(
            bytes in proptest::collection::vec(0u8..7, 0..200), pages in 0u32..12,
        ) {
            let mut bytes = bytes;
            for record in bytes.chunks_mut(16).filter(|record| record.len() == 16) {
                record[1..4].fill(0);
                record[14] = 3 * (record[14] / 4 + 1);
            }
            if let Ok(index) = ColumnIndex::decode(&bytes, pages) {
                for subject in [Subject::VERTICES, EDGES] {
                    index.property_keys(subject).for_each(drop);
                    prop_assert!(index.pages_between(subject, KeyId(1), 0..=77).len() <= index.pages().len());
                }
            }
        }
    }
}
