//! Topology index: which pages of a topology file hold a vertex, a list, an edge or a value.

use crate::format::entries::entry::{ItemKind, Separator, VALUE_BYTES_MAX};
use crate::format::file_name::PageNumber;
use crate::format::page::{PageFlags, PageHead, PageKind};
use crate::format::subject::{Subject, SubjectKind};
use evergraph_graph::bytes::{Decoded, Reader};
use evergraph_graph::id::VertexId;
use evergraph_graph::index_entry::ItemId;
use std::cmp::Ordering;

/// Bytes of a page's record.
const RECORD_BYTES: usize = 16;

/// Gathers the index of a topology file, page after page.
#[derive(Clone, Debug, Default)]
pub struct TopologyIndexBuilder {
    records: Vec<u8>,
    separators: Vec<u8>,
}

impl TopologyIndexBuilder {
    /// Pages so far: the number of the next page.
    #[must_use]
    pub fn next_page(&self) -> PageNumber {
        PageNumber((self.records.len() / RECORD_BYTES) as u32)
    }

    /// Adds the next page: of lists, of vertices, or a filter of edges. `first_neighbor` is that of its
    /// first value; zero for vertices.
    pub fn push(&mut self, head: &PageHead, first_neighbor: VertexId) {
        self.push_record(head, [head.first_vertex.0, first_neighbor.0]);
    }

    /// Adds the next page: of entries, or a filter of values, whose entries are not below `separator`.
    ///
    /// # Panics
    /// If the file's separators have 2^32 bytes: pages of entries then had 600 TB.
    pub fn push_separated(&mut self, head: &PageHead, separator: &Separator<'_>) {
        let offset = u32::try_from(self.separators.len()).expect("a separator has at most 76 bytes");
        self.separators.extend_from_slice(separator.value);
        let value_bytes = separator.value.len() as u32;
        let item_bytes = separator.item.map_or(0, |item| {
            item.put_order_bytes(&mut self.separators);
            ItemKind::of(&item).bytes() as u32
        });
        self.push_record(head, [offset, value_bytes | item_bytes << 16]);
    }

    fn push_record(&mut self, head: &PageHead, [first, second]: [u32; 2]) {
        self.records.extend_from_slice(&head.subject.number().to_le_bytes());
        self.records.extend_from_slice(&first.to_le_bytes());
        self.records.extend_from_slice(&second.to_le_bytes());
        self.records.extend_from_slice(&head.values.to_le_bytes());
        self.records.extend_from_slice(&[head.kind.code(), head.flags.0]);
    }

    /// The index's bytes, for the footer to follow. Cost: a copy of the separators.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.records.append(&mut self.separators);
        self.records
    }
}

/// What the index knows of one page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexedPage {
    /// Which page of the file.
    pub page: PageNumber,
    /// What the page is about.
    pub subject: Subject,
    /// First vertex and neighbour; of an index, its separator: see the form.
    start: [u32; 2],
    /// Records in the page; keys in a filter.
    pub values: u16,
    /// The page's kind.
    pub kind: PageKind,
    /// The page's flags.
    pub flags: PageFlags,
}

impl IndexedPage {
    /// The first vertex in the page, unless it is one of an index.
    #[must_use]
    #[inline]
    pub const fn first_vertex(&self) -> VertexId {
        VertexId(self.start[0])
    }

    /// The first neighbour in the page, unless it is one of an index.
    #[must_use]
    #[inline]
    pub const fn first_neighbor(&self) -> VertexId {
        VertexId(self.start[1])
    }

    fn begins_inside(&self) -> bool {
        self.flags.has(PageFlags::BEGINS_INSIDE)
    }
}

/// The pages of a topology file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopologyIndex {
    /// Lists, vertices and entries, by key.
    pages: Box<[IndexedPage]>,
    /// Filters, by key.
    filters: Box<[IndexedPage]>,
    separators: Box<[u8]>,
}

impl TopologyIndex {
    /// Reads the index of a file of `pages` pages, whose checksum was verified.
    ///
    /// Cost: some 10 ns a page, and 20 bytes of memory.
    ///
    /// # Errors
    /// If the bytes are not the index of so many pages, or pages are out of order.
    pub fn decode(bytes: &[u8], pages: u32) -> Decoded<Self> {
        let mut reader = Reader::new(bytes);
        let mut records = Reader::new(reader.take((pages as usize).saturating_mul(RECORD_BYTES))?);
        let separators = reader.take(reader.remaining())?;
        let (mut keyed, mut filters) = (Vec::new(), Vec::new());
        for number in 0..pages {
            let start = records.clone();
            let page = take_page(&mut records, PageNumber(number))?;
            if matches!(page.subject.kind(), SubjectKind::Index(_))
                && separator_in(separators, &page).is_none()
            {
                return Err(start.error(format!("a separator expected, found none for page {number}")));
            }
            let list = if page.kind == PageKind::Filter { &mut filters } else { &mut keyed };
            if list.last().is_some_and(|last| compare(separators, last, &page).is_gt()) {
                return Err(
                    start.error(format!("pages in order of their keys expected, found page {number}"))
                );
            }
            list.push(page);
        }
        Ok(Self { pages: keyed.into(), filters: filters.into(), separators: separators.into() })
    }

    /// Pages of lists, vertices and entries, in key order.
    #[must_use]
    #[inline]
    pub fn pages(&self) -> &[IndexedPage] {
        &self.pages
    }

    /// Pages of filters, in key order.
    #[must_use]
    pub fn filters(&self) -> &[IndexedPage] {
        &self.filters
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        size_of_val(&*self.pages) + size_of_val(&*self.filters) + self.separators.len()
    }

    /// The pages of `subject` but for its filters, in key order. Cost: two binary searches.
    #[must_use]
    pub fn pages_of(&self, subject: Subject) -> &[IndexedPage] {
        of_subject(&self.pages, subject)
    }

    /// The pages of the filters of `subject`, in key order. Cost: two binary searches.
    #[must_use]
    pub fn filters_of(&self, subject: Subject) -> &[IndexedPage] {
        of_subject(&self.filters, subject)
    }

    /// The pages that may hold the list of `vertex`, or the vertex itself if `subject` is the vertices.
    /// Cost: binary searches.
    #[must_use]
    pub fn pages_of_vertex(&self, subject: Subject, vertex: VertexId) -> &[IndexedPage] {
        let found = self.pages_between(subject, (vertex, VertexId(0)), (vertex, VertexId(u32::MAX)));
        match found {
            // Where the list begins a page, nothing of it is in the page before.
            [_, second, ..] if second.first_vertex() == vertex && !second.begins_inside() => &found[1..],
            _ => found,
        }
    }

    /// The pages that may hold edges from `vertex` to `neighbor`. Cost: binary searches.
    #[must_use]
    pub fn pages_of_edge(&self, subject: Subject, vertex: VertexId, neighbor: VertexId) -> &[IndexedPage] {
        self.pages_between(subject, (vertex, neighbor), (vertex, neighbor))
    }

    /// The pages that may hold records from `(vertex, neighbor)` = `low` through `high`. Cost: binary
    /// searches.
    #[must_use]
    pub fn pages_between(
        &self,
        subject: Subject,
        low: (VertexId, VertexId),
        high: (VertexId, VertexId),
    ) -> &[IndexedPage] {
        let first = |page: &IndexedPage| (page.first_vertex(), page.first_neighbor());
        window(self.pages_of(subject), |page| first(page).cmp(&low), |page| first(page) <= high)
    }

    /// The pages that may hold entries of `subject`, an index, from `low` on, with values through `high`; to the end
    /// if `high` is `None`. Cost: binary searches.
    #[must_use]
    pub fn pages_of_values(
        &self,
        subject: Subject,
        low: &Separator<'_>,
        high: Option<&[u8]>,
    ) -> &[IndexedPage] {
        let through = |page: &IndexedPage| high.is_none_or(|high| self.separator(page).value <= high);
        window(self.pages_of(subject), |page| self.separator(page).cmp(low), through)
    }

    /// The pages that may hold the entry of `value` and `item` in `subject`, an index. Cost: binary
    /// searches.
    #[must_use]
    pub fn pages_of_entry(&self, subject: Subject, value: &[u8], item: ItemId) -> &[IndexedPage] {
        let entry = Separator { value, item: Some(item) };
        let compare = |page: &IndexedPage| self.separator(page).cmp(&entry);
        window(self.pages_of(subject), compare, |page| compare(page).is_le())
    }

    /// What a page of an index begins with, or before; the place before all entries for other pages.
    #[must_use]
    pub fn separator(&self, page: &IndexedPage) -> Separator<'_> {
        separator_in(&self.separators, page).unwrap_or(Separator::FIRST)
    }
}

/// The pages of one subject in `pages`, which ascend.
fn of_subject(pages: &[IndexedPage], subject: Subject) -> &[IndexedPage] {
    let start = pages.partition_point(|page| page.subject < subject);
    let count = pages[start..].partition_point(|page| page.subject == subject);
    &pages[start..start + count]
}

/// The pages of `pages` that may hold keys from a low one on, to which `to_low` compares a page's first,
/// as long as the first is `not_above_high`.
fn window(
    pages: &[IndexedPage],
    to_low: impl Fn(&IndexedPage) -> Ordering,
    not_above_high: impl Fn(&IndexedPage) -> bool,
) -> &[IndexedPage] {
    let mut start = pages.partition_point(|page| to_low(page).is_le()).saturating_sub(1);
    while start > 0 && pages[start].begins_inside() && to_low(&pages[start]).is_eq() {
        start -= 1;
    }
    let end = pages.partition_point(not_above_high);
    &pages[start..end.max(start)]
}

fn take_page(records: &mut Reader<'_>, page: PageNumber) -> Decoded<IndexedPage> {
    let start = records.clone();
    let subject = Subject::take(records)?;
    let (first, second, values) = (records.u32()?, records.u32()?, records.u16()?);
    let (code, flags) = (records.u8()?, PageFlags(records.u8()?));
    let kind = match (PageKind::from_code(code), subject.kind()) {
        (Some(kind @ PageKind::Vertices), SubjectKind::Vertices)
        | (Some(kind @ (PageKind::Lists | PageKind::Filter)), SubjectKind::Edges { .. })
        | (Some(kind @ (PageKind::Entries | PageKind::Filter)), SubjectKind::Index(_)) => kind,
        _ => return Err(start.error(format!("a page of {subject} expected, found kind {code}"))),
    };
    Ok(IndexedPage { page, subject, start: [first, second], values, kind, flags })
}

/// The separator of a page of an index; `None` if there is none where the page says.
fn separator_in<'a>(separators: &'a [u8], page: &IndexedPage) -> Option<Separator<'a>> {
    let [offset, lengths] = page.start;
    let (value_bytes, item_bytes) = ((lengths & 0xffff) as usize, (lengths >> 16) as usize);
    let mut reader = Reader::new(separators.get(offset as usize..)?);
    let value = reader.take(value_bytes).ok().filter(|value| value.len() <= VALUE_BYTES_MAX)?;
    let item = match item_bytes {
        0 => None,
        4 => Some(ItemKind::Vertices.take(&mut reader).ok()?),
        12 => Some(ItemKind::Edges.take(&mut reader).ok()?),
        _ => return None,
    };
    Some(Separator { value, item })
}

fn compare(separators: &[u8], a: &IndexedPage, b: &IndexedPage) -> Ordering {
    a.subject.cmp(&b.subject).then_with(|| match a.subject.kind() {
        SubjectKind::Index(_) => separator_in(separators, a).cmp(&separator_in(separators, b)),
        _ => a.start.cmp(&b.start),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::entries::builder::EntryPageBuilder;
    use crate::format::entries::entry::EntryRecord;
    use crate::format::entries::entry::tests::any_value_bytes;
    use crate::format::entries::page::EntryPage;
    use crate::format::lists::buffer::ListBuffer;
    use crate::format::lists::builder::ListPageBuilder;
    use crate::format::lists::page::ListPage;
    use crate::format::lists::record::ListRecord;
    use crate::format::operation::RecordOperation;
    use crate::format::page::tests::dirty_page;
    use crate::format::page::{PageBytes, Pushed};
    use crate::format::subject::EdgeSide;
    use evergraph_graph::id::TypeId;
    use evergraph_graph::timestamp::Timestamp;
    use proptest::prelude::*;

    fn edges(edge_type: u16) -> Subject {
        Subject::edges(TypeId(edge_type), EdgeSide::Out)
    }

    /// Lists of two subjects over many pages, a hub among them, with page numbers that filters interrupt.
    fn topology(records: &[Vec<ListRecord>; 2]) -> (TopologyIndex, Vec<Box<PageBytes>>) {
        let (mut index, mut pages) = (TopologyIndexBuilder::default(), Vec::new());
        for (records, subject) in records.iter().zip([edges(0), edges(7)]) {
            let mut builder = ListPageBuilder::new(subject, None);
            let mut finish = |builder: &mut ListPageBuilder| {
                let (mut page, neighbor) = (dirty_page(), builder.first_neighbor().unwrap());
                let head = builder.finish(0, &mut page);
                index.push(&head, neighbor);
                pages.push(page);
                if pages.len() % 3 == 0 {
                    index
                        .push(&PageHead { kind: PageKind::Filter, flags: PageFlags::NONE, ..head }, neighbor);
                    pages.push(dirty_page());
                }
            };
            for record in records {
                if builder.push(record) == Pushed::PageFull {
                    finish(&mut builder);
                    assert_eq!(builder.push(record), Pushed::Taken);
                }
            }
            finish(&mut builder);
        }
        let number = index.next_page().0;
        assert_eq!(number as usize, pages.len());
        (TopologyIndex::decode(&index.finish(), number).unwrap(), pages)
    }

    fn random_edges(seed: u32) -> Vec<ListRecord> {
        let random = |number: u32| (number ^ seed).wrapping_mul(2_654_435_761) >> 6;
        let mut records = Vec::new();
        for vertex in 0..2000u32 {
            let degree = if vertex == 1000 { 25_000 } else { random(vertex) % 25 };
            let mut list: Vec<u32> = (0..degree).map(|at| random(vertex * 30_000 + at) % 100_000).collect();
            list.sort_unstable();
            for (at, neighbor) in list.iter().enumerate() {
                let discriminator =
                    list[..at].iter().rev().take_while(|other| *other == neighbor).count() as u16;
                let edge = ListRecord::insert(VertexId(vertex * 2), VertexId(*neighbor));
                records.push(ListRecord { discriminator, ..edge });
            }
        }
        records
    }

    #[test]
    fn the_pages_of_a_vertex_and_of_an_edge_are_found() {
        let records = [random_edges(1), random_edges(99)];
        let (index, pages) = topology(&records);
        let mut buffer = ListBuffer::default();
        let mut extra = 0;
        for (records, subject) in records.iter().zip([edges(0), edges(7)]) {
            assert!(index.pages_of(subject).len() > 3);
            for vertex in (0..4010).step_by(13).chain([2000]).map(VertexId) {
                let expected: Vec<_> = records.iter().filter(|one| one.vertex == vertex).copied().collect();
                let mut found = Vec::new();
                for page in index.pages_of_vertex(subject, vertex) {
                    let read = ListPage::open(&pages[page.page.0 as usize]).unwrap();
                    read.decode_records(Timestamp::ZERO, &mut buffer).unwrap();
                    let own: Vec<_> = buffer.records().filter(|one| one.vertex == vertex).collect();
                    extra += usize::from(own.is_empty() && !expected.is_empty());
                    found.extend(own);
                }
                assert_eq!(found, expected, "{vertex}");
            }
            for record in records.iter().step_by(301) {
                let mut found = 0;
                for page in index.pages_of_edge(subject, record.vertex, record.neighbor) {
                    let read = ListPage::open(&pages[page.page.0 as usize]).unwrap();
                    if let Some(range) = read.find(record.vertex).unwrap() {
                        found += read.find_neighbor(range, record.neighbor).unwrap().len();
                    }
                }
                let key = (record.vertex, record.neighbor);
                assert_eq!(
                    found,
                    records.iter().filter(|one| (one.vertex, one.neighbor) == key).count(),
                    "{record:?}"
                );
            }
        }
        assert!(extra < 10, "{extra} pages in vain");
        assert!(
            index.pages_of(edges(3)).is_empty() && index.pages_of_vertex(edges(3), VertexId(1)).is_empty()
        );
    }

    #[test]
    fn pages_out_of_order_or_of_another_subject_are_refused() {
        let lists =
            |vertex| PageHead { first_vertex: VertexId(vertex), ..PageHead::new(PageKind::Lists, edges(1)) };
        let mut index = TopologyIndexBuilder::default();
        index.push(&lists(5), VertexId(7));
        index.push(&lists(5), VertexId(6));
        let bytes = index.finish();
        assert!(TopologyIndex::decode(&bytes[..16], 1).is_ok());
        assert!(TopologyIndex::decode(&bytes, 2).unwrap_err().expected.contains("in order"));
        assert!(TopologyIndex::decode(&bytes, 3).is_err());
        let mut index = TopologyIndexBuilder::default();
        index.push(&PageHead::new(PageKind::Column, edges(1)), VertexId(0));
        assert!(TopologyIndex::decode(&index.finish(), 1).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]

        #[test]
        fn the_pages_of_values_and_entries_are_found(
            values in proptest::collection::btree_set(any_value_bytes(), 1..400), items in 1u32..40,
            probes in proptest::collection::vec(any_value_bytes(), 8), stamped in any::<bool>(),
        ) {
            let subject = Subject::index(2).unwrap();
            let first_ts = stamped.then_some(Timestamp(1));
            let stamps: Vec<_> = if stamped { vec![9, 3, 1] } else { vec![0] };
            let (mut index, mut pages) = (TopologyIndexBuilder::default(), Vec::new());
            let mut builder = EntryPageBuilder::new(subject, ItemKind::Vertices, first_ts);
            let mut all = Vec::new();
            let mut separator: (Vec<u8>, Option<ItemId>) = (Vec::new(), None);
            let mut finish = |builder: &mut EntryPageBuilder, (value, item): &(Vec<u8>, Option<ItemId>)| {
                let mut page = dirty_page();
                index.push_separated(&builder.finish(0, &mut page), &Separator { value, item: *item });
                pages.push(page);
            };
            for value in &values {
                for item in (0..items).map(|at| ItemId::Vertex(VertexId(at))) {
                    for stamp in &stamps {
                        let operation = RecordOperation::Insert;
                        let record = EntryRecord { value, item, operation, stamp: Timestamp(*stamp) };
                        if builder.push(&record) == Pushed::PageFull {
                            finish(&mut builder, &separator);
                            let next = Separator::between(builder.last().unwrap(), record.key());
                            separator = (next.value.to_vec(), next.item);
                            prop_assert_eq!(builder.push(&record), Pushed::Taken);
                        }
                        all.push((value.clone(), item));
                    }
                }
            }
            finish(&mut builder, &separator);
            let count = pages.len() as u32;
            let index = TopologyIndex::decode(&index.finish(), count).unwrap();
            let read = |found: &[IndexedPage]| {
                let mut entries = Vec::new();
                for page in found {
                    let page = EntryPage::open(&pages[page.page.0 as usize]).unwrap();
                    let mut cursor = page.entries(Timestamp(1)).unwrap();
                    while let Some(record) = cursor.next().unwrap() {
                        entries.push((record.value.to_vec(), record.item));
                    }
                }
                entries
            };
            let some = values.iter().step_by(values.len().div_ceil(9));
            for low in probes.iter().chain(some) {
                let found = read(index.pages_of_values(subject, &Separator { value: low, item: None }, Some(low)));
                let expected = all.iter().filter(|(value, _)| value == low).count();
                prop_assert_eq!(found.iter().filter(|(value, _)| value == low).count(), expected);
                let found = read(index.pages_of_values(subject, &Separator { value: low, item: None }, None));
                let expected = all.iter().filter(|(value, _)| value >= low).count();
                prop_assert_eq!(found.iter().filter(|(value, _)| value >= low).count(), expected);
                let key = (low.clone(), ItemId::Vertex(VertexId(items / 2)));
                let found = read(index.pages_of_entry(subject, low, key.1));
                let expected = all.iter().filter(|one| **one == key).count();
                prop_assert_eq!(found.iter().filter(|one| **one == key).count(), expected);
            }
        }

        #[test]
        fn any_bytes_are_refused_or_an_index_that_can_be_searched(
            bytes in proptest::collection::vec(0u8..6, 0..300), large in any::<u8>(), at in any::<prop::sample::Index>(),
            pages in 0u32..12, vertex in any::<u32>(),
        ) {
            let mut bytes = bytes;
            // Subjects: vertices, edges, indexes.
            for record in bytes.chunks_mut(16).filter(|record| record.len() == 16) {
                record[1..3].fill(0);
                record[3] /= 3;
            }
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = large;
            }
            if let Ok(index) = TopologyIndex::decode(&bytes, pages) {
                for subject in [Subject::VERTICES, edges(0), edges(1), Subject::index(0).unwrap(), Subject::index(1).unwrap()] {
                    let _ = index.pages_of_vertex(subject, VertexId(vertex % 6));
                    let _ = index.pages_of_values(subject, &Separator { value: &[1], item: None }, Some(&[3]));
                    let _ = index.pages_of_entry(subject, &[1], ItemId::Vertex(VertexId(1)));
                    let _ = index.filter_of_edge(subject, VertexId(1), VertexId(1));
                    let _ = index.filter_of_value(subject, &[2]);
                }
            }
        }
    }
}
