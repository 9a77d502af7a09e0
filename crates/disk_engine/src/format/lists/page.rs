//! List page: one list, one edge, or all lists of a page of kind 1.

use crate::format::discriminators::Discriminators;
use crate::format::frames::{Frames, less_base};
use crate::format::lists::buffer::ListBuffer;
use crate::format::lists::record::ListRecord;
use crate::format::operation::{Operations, RecordOperation};
use crate::format::page::{PageBytes, PageFlags, PageHead, PageKind};
use crate::format::positions::{FORM_FLAGS, Positions};
use crate::format::stamps::Stamps;
use evergraph_graph::bytes::{DecodeError, Decoded};
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;
use std::ops::{Range, RangeInclusive};

const KNOWN_FLAGS: u8 = FORM_FLAGS
    | PageFlags::DISCRIMINATORS.0
    | PageFlags::OPERATIONS.0
    | PageFlags::STAMPS.0
    | PageFlags::BEGINS_INSIDE.0;

/// A page of lists where it lies.
#[derive(Clone, Copy, Debug)]
pub struct ListPage<'a> {
    head: PageHead,
    vertices: Positions<'a>,
    ends: &'a [[u8; 2]],
    /// Where `ends` begins in the page.
    ends_offset: usize,
    frames: Frames<'a>,
    discriminators: Discriminators<'a>,
    operations: Operations<'a>,
    stamps: Stamps<'a>,
}

impl<'a> ListPage<'a> {
    /// Finds the arrays of `page`, whose checksum was verified.
    ///
    /// Cost: some 50 ns.
    ///
    /// # Errors
    /// If the page is of another kind, or its arrays don't fit into it.
    pub fn open(page: &'a PageBytes) -> Decoded<Self> {
        let (head, mut reader) = PageHead::open(page, PageKind::Lists, KNOWN_FLAGS)?;
        let (lists, values) = (usize::from(head.items), usize::from(head.values));
        let vertices = Positions::take(&mut reader, head.flags, lists)?;
        let ends_offset = reader.offset();
        let ends = reader.take(2 * lists)?.as_chunks().0;
        let frames = Frames::take(&mut reader, values)?;
        let discriminators = match head.flags.has(PageFlags::DISCRIMINATORS) {
            true => Discriminators::take(&mut reader, values)?,
            false => Discriminators::ZEROS,
        };
        let operations = match head.flags.has(PageFlags::OPERATIONS) {
            true => Operations::take(&mut reader, values)?,
            false => Operations::INSERTS,
        };
        let stamps = match head.flags.has(PageFlags::STAMPS) {
            true => Stamps::rest_of(&reader),
            false => Stamps::NONE,
        };
        Ok(Self { head, vertices, ends, ends_offset, frames, discriminators, operations, stamps })
    }

    /// The page's head.
    #[must_use]
    #[inline]
    pub fn head(&self) -> &PageHead {
        &self.head
    }

    /// The values of the list of `vertex` in this page, by number; `None` if it has none here.
    ///
    /// Value `i` has rank `head().rank + i` among the values of file and subject.
    ///
    /// Cost: a binary search; where positions are bits, a pass over them.
    ///
    /// # Errors
    /// If the list doesn't lie among the page's values.
    pub fn find(&self, vertex: VertexId) -> Decoded<Option<Range<usize>>> {
        let Some(position) = vertex.0.checked_sub(self.head.first_vertex.0) else { return Ok(None) };
        let found = self.vertices.items_at(position.into());
        if found.is_empty() { Ok(None) } else { self.range(found.start).map(Some) }
    }

    /// The values of the lists of `vertices` in this page, by number; perhaps none.
    ///
    /// Cost: as [`ListPage::find`], twice.
    ///
    /// # Errors
    /// If lists don't lie among the page's values.
    pub fn find_between(&self, vertices: RangeInclusive<VertexId>) -> Decoded<Range<usize>> {
        let (low, high) = vertices.into_inner();
        let below = |vertex: u64| {
            let position = vertex.checked_sub(self.head.first_vertex.0.into());
            position.map_or(0, |position| self.vertices.count_below(position))
        };
        let end_of = |lists: usize| lists.checked_sub(1).map_or(Ok(0), |last| Ok(self.range(last)?.end));
        let (start, end) = (end_of(below(low.0.into()))?, end_of(below(u64::from(high.0) + 1))?);
        if start <= end { Ok(start..end) } else { Err(self.wrong_ends()) }
    }

    /// Replaces the content of `out` by the vertices that have a list in this page. Cost: about a nanosecond a list.
    ///
    /// # Errors
    /// If a vertex is above 32 bits.
    pub fn vertices_into(&self, out: &mut Vec<u32>) -> Decoded<()> {
        self.vertices.vertices_into(self.head.first_vertex.0, out)
    }

    /// Appends the neighbours in `range`, values of one list.
    ///
    /// Cost: 0.2 us, and some 100 ns for each 128 values.
    ///
    /// # Errors
    /// If the range doesn't lie among the page's values, or a neighbour is above 32 bits.
    pub fn neighbors_into(&self, range: Range<usize>, out: &mut Vec<u32>) -> Decoded<()> {
        self.frames.sums_of(range, out)
    }

    /// The values in `range`, which is one list, whose neighbour is `neighbor`: none, one, or several
    /// where edges run parallel or a file has stamps.
    ///
    /// Cost: as [`ListPage::neighbors_into`] up to the neighbour; no memory.
    ///
    /// # Errors
    /// As [`ListPage::neighbors_into`].
    pub fn find_neighbor(&self, range: Range<usize>, neighbor: VertexId) -> Decoded<Range<usize>> {
        self.frames.find_sum(range, neighbor.0)
    }

    /// Discriminators by number of the value.
    #[must_use]
    #[inline]
    pub fn discriminators(&self) -> &Discriminators<'a> {
        &self.discriminators
    }

    /// The operation of value `at`.
    #[must_use]
    #[inline]
    pub fn operation(&self, at: usize) -> RecordOperation {
        self.operations.get(at)
    }

    /// Whether the page has no other operation than inserts.
    #[must_use]
    #[inline]
    pub fn all_inserts(&self) -> bool {
        self.operations.all_inserts()
    }

    /// Replaces the content of `out` by the stamps of the values in `range`; by nothing in a file without
    /// stamps. `first_ts` is the file's first timestamp.
    ///
    /// Cost: a pass over the stamps before, some 0.1 ns each, and some 3 ns a stamp.
    ///
    /// # Errors
    /// If a stamp is not sound.
    pub fn stamps_into(
        &self,
        first_ts: Timestamp,
        range: Range<usize>,
        out: &mut Vec<Timestamp>,
    ) -> Decoded<()> {
        self.stamps.decode_into(first_ts, range.start, range.len(), out)
    }

    /// Decodes all lists into `buffer`, in place of its content: vertices, ends and neighbours. The loop
    /// of every scan.
    ///
    /// Cost: about a nanosecond a value, and some 5 ns a list; memory only while the buffer grows.
    ///
    /// # Errors
    /// If lists don't lie one behind the other, don't end where the page's values do, or a number is
    /// above 32 bits. The buffer then has no meaning.
    pub fn decode_lists(&self, buffer: &mut ListBuffer) -> Decoded<()> {
        buffer.discriminators.clear();
        buffer.operations.clear();
        buffer.stamps.clear();
        buffer.values = 0;
        buffer.ends.clear();
        buffer.ends.extend(self.ends.iter().map(|end| u32::from(u16::from_le_bytes(*end))));
        self.vertices.vertices_into(self.head.first_vertex.0, &mut buffer.vertices)?;
        self.frames.sums_into(&mut buffer.neighbors);

        let values = usize::from(self.head.values);
        let mut rest = &mut buffer.neighbors[..values];
        let (mut start, mut base, mut sound) = (0, 0, true);
        for end in &buffer.ends {
            let Some(length) = end.checked_sub(start).filter(|length| *length as usize <= rest.len()) else {
                return Err(self.wrong_ends());
            };
            let (list, behind) = rest.split_at_mut(length as usize);
            let next_base = list.last().copied().unwrap_or(base);
            sound &= less_base(list, base);
            (rest, start, base) = (behind, *end, next_base);
        }
        if !rest.is_empty() {
            return Err(self.wrong_ends());
        }
        if !sound {
            return Err(self.error("gaps that add up to less than 2^32 expected"));
        }
        buffer.values = values;
        Ok(())
    }

    /// Decodes all that the page has into `buffer`, in place of its content. `first_ts` is the file's
    /// first timestamp.
    ///
    /// Cost: as [`ListPage::decode_lists`], and some 5 ns a value of a page with all three flags.
    ///
    /// # Errors
    /// As [`ListPage::decode_lists`]; if a stamp is not sound.
    pub fn decode_records(&self, first_ts: Timestamp, buffer: &mut ListBuffer) -> Decoded<()> {
        self.decode_lists(buffer)?;
        let values = usize::from(self.head.values);
        self.discriminators.decode_into(&mut buffer.discriminators);
        self.operations.decode_into(values, &mut buffer.operations);
        self.stamps.decode_into(first_ts, 0, values, &mut buffer.stamps)
    }

    /// Whether all records of the page are in key order.
    ///
    /// Cost: as [`ListPage::decode_records`], and some 5 ns a record.
    ///
    /// # Errors
    /// As [`ListPage::decode_records`]; the first record that is out of order, or a vertex without a value.
    pub fn check(&self, first_ts: Timestamp, buffer: &mut ListBuffer) -> Decoded<()> {
        self.decode_records(first_ts, buffer)?;
        if let Some((vertex, _)) = buffer.lists().find(|(_, range)| range.is_empty()) {
            return Err(self.error(&format!("a list with values expected, found none of {vertex}")));
        }
        if !self.vertices.are_sorted(false) {
            return Err(self.error("vertices in ascending order expected"));
        }
        let mut before = None;
        for record in buffer.records() {
            if before.is_some_and(|before: ListRecord| !before.precedes(&record)) {
                return Err(
                    self.error(&format!("records in key order expected, found {before:?} before {record:?}"))
                );
            }
            before = Some(record);
        }
        Ok(())
    }

    /// The values of list `at`.
    fn range(&self, at: usize) -> Decoded<Range<usize>> {
        let end = |at: usize| self.ends.get(at).map(|end| usize::from(u16::from_le_bytes(*end)));
        let start = at.checked_sub(1).map_or(Some(0), end);
        match (start, end(at)) {
            (Some(start), Some(end)) if start <= end && end <= usize::from(self.head.values) => {
                Ok(start..end)
            }
            _ => Err(self.wrong_ends()),
        }
    }

    fn wrong_ends(&self) -> DecodeError {
        self.error(&format!("ends of lists that ascend to {} expected", self.head.values))
    }

    fn error(&self, expected: &str) -> DecodeError {
        DecodeError { offset: self.ends_offset, expected: expected.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::lists::builder::ListPageBuilder;
    use crate::format::lists::builder::tests::{out_edges, pages_of};
    use crate::format::operation::tests::any_operation;
    use crate::format::page::tests::{any_damage, any_seed, damaged, dirty_page};
    use crate::format::page::verify;
    use proptest::prelude::*;

    const FIRST_TS: Timestamp = Timestamp(1 << 33);

    /// Which arrays the pages of some records need.
    #[derive(Clone, Copy, Debug)]
    struct Arrays {
        discriminators: bool,
        operations: bool,
        stamps: bool,
    }

    fn any_arrays() -> impl Strategy<Value = Arrays> {
        any::<[bool; 3]>().prop_map(|[discriminators, operations, stamps]| Arrays {
            discriminators,
            operations,
            stamps,
        })
    }

    /// Records in key order, of lists short and long, close together and far apart.
    fn any_records() -> impl Strategy<Value = (Vec<ListRecord>, Option<Timestamp>)> {
        let vertex_gap = prop_oneof![4 => Just(1u32), 2 => 1u32..9, 1 => 1u32..200_000];
        let neighbor_gap = prop_oneof![Just(1u32..2), Just(1u32..100), Just(1u32..1 << 20)];
        let degree = prop_oneof![8 => 1usize..6, 2 => 1usize..200, 1 => 1usize..4000];
        let record =
            (any::<u32>(), prop_oneof![3 => Just(0u16), 1 => any::<u16>()], any_operation(), 0u64..1 << 20);
        let list = (vertex_gap, any::<u32>(), neighbor_gap, proptest::collection::vec(record, 1..4), degree);
        let first = prop_oneof![Just(0u32), any::<u32>().prop_map(|number| number >> 1)];
        (first, proptest::collection::vec(list, 0..60), any_arrays()).prop_map(|(first, lists, arrays)| {
            let (mut records, mut vertex) = (Vec::new(), first);
            for (gap, start, gaps, seeds, degree) in lists {
                vertex += gap;
                let mut neighbor = start >> (start % 32);
                for at in 0..degree {
                    let (random, discriminator, operation, stamp) = seeds[at % seeds.len()];
                    let random = random.wrapping_mul(at as u32 * 2 + 1).rotate_left(at as u32 % 32);
                    let again = at > 0 && random % 9 == 0 && (arrays.discriminators || arrays.stamps);
                    let Some(next) = neighbor.checked_add(if again {
                        0
                    } else {
                        gaps.start + random % (gaps.end - gaps.start)
                    }) else {
                        break;
                    };
                    neighbor = next;
                    let record = ListRecord {
                        vertex: VertexId(vertex),
                        neighbor: VertexId(neighbor),
                        discriminator: if arrays.discriminators { discriminator } else { 0 },
                        operation: if arrays.operations { operation } else { RecordOperation::Insert },
                        stamp: if arrays.stamps {
                            Timestamp(FIRST_TS.0 + (stamp >> (random % 20)))
                        } else {
                            Timestamp::ZERO
                        },
                    };
                    if records.last().is_none_or(|last: &ListRecord| last.precedes(&record)) {
                        records.push(record);
                    }
                }
            }
            (records, arrays.stamps.then_some(FIRST_TS))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]

        #[test]
        fn records_read_back_from_their_pages((records, first_ts) in any_records()) {
            let mut buffer = ListBuffer::default();
            let mut rest = &records[..];
            let mut before: Option<VertexId> = None;
            let mut rank = 0;
            for (head, bytes) in pages_of(&records, first_ts) {
                let page = ListPage::open(&bytes).unwrap();
                prop_assert_eq!(page.head(), &head);
                prop_assert_eq!((head.subject, head.rank), (out_edges(), rank));
                page.check(FIRST_TS, &mut buffer).unwrap();
                let found: Vec<_> = buffer.records().collect();
                let (own, behind) = rest.split_at(found.len());
                prop_assert!(found == own, "{:?} is not {:?}", &found[..found.len().min(9)], &own[..own.len().min(9)]);
                prop_assert_eq!(head.flags.has(PageFlags::BEGINS_INSIDE), before.is_some() && before == own.first().map(|one| one.vertex));
                for (vertex, range) in buffer.lists() {
                    prop_assert_eq!(page.find(vertex), Ok(Some(range.clone())));
                    let mut neighbors = vec![5];
                    page.neighbors_into(range.clone(), &mut neighbors).unwrap();
                    prop_assert_eq!(&neighbors[1..], &buffer.neighbors()[range.clone()]);
                    let mut stamps = Vec::new();
                    page.stamps_into(FIRST_TS, range.clone(), &mut stamps).unwrap();
                    for at in [range.start, range.end - 1, (range.start + range.end) / 2] {
                        let record = own[at];
                        let from = range.start + neighbors[1..].partition_point(|one| *one < record.neighbor.0);
                        let to = range.start + neighbors[1..].partition_point(|one| *one <= record.neighbor.0);
                        prop_assert_eq!(page.find_neighbor(range.clone(), record.neighbor), Ok(from..to));
                        prop_assert_eq!(page.operation(at), record.operation);
                        prop_assert_eq!(page.discriminators().get(at), record.discriminator);
                        if first_ts.is_some() {
                            prop_assert_eq!(stamps[at - range.start], record.stamp);
                        }
                    }
                    if !buffer.lists().any(|(other, _)| other.0 == vertex.0 + 1) {
                        prop_assert_eq!(page.find(VertexId(vertex.0 + 1)), Ok(None));
                    }
                }
                before = own.last().map(|one| one.vertex);
                rank += u64::from(head.values);
                rest = behind;
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn a_damaged_page_with_a_right_checksum_is_refused_or_can_be_read(
            (records, first_ts) in any_records(), damage in any_damage(), vertex in any::<u32>(), to in any::<usize>(),
        ) {
            let (_, bytes) = &pages_of(&records, first_ts)[0];
            let bytes = damaged(bytes, &damage);
            if verify(&bytes, any_seed()).is_err() {
                return Ok(());
            }
            let Ok(page) = ListPage::open(&bytes) else { return Ok(()) };
            let mut buffer = ListBuffer::default();
            if page.decode_records(FIRST_TS, &mut buffer).is_ok() {
                prop_assert_eq!(buffer.records().count(), usize::from(page.head().values));
            }
            drop(page.check(FIRST_TS, &mut buffer));
            let probes = records.iter().take(50).map(|record| record.vertex).chain([VertexId(vertex)]);
            for vertex in probes {
                if let Ok(Some(range)) = page.find(vertex) {
                    let mut out = Vec::new();
                    drop(page.neighbors_into(range.clone(), &mut out));
                    drop(page.find_neighbor(range.clone(), VertexId(99)));
                    drop(page.stamps_into(FIRST_TS, range.clone(), &mut Vec::new()));
                    let _ = page.operation(range.end);
                    let _ = page.discriminators().get(range.end);
                }
            }
            prop_assert!(page.neighbors_into(0..to.max(1 << 16), &mut Vec::new()).is_err());
        }
    }

    #[test]
    fn an_empty_page_is_sound() {
        let mut page = dirty_page();
        let head = ListPageBuilder::new(out_edges(), None).finish(5, &mut page);
        assert_eq!((head.items, head.values, head.flags), (0, 0, PageFlags::NONE));
        let read = ListPage::open(&page).unwrap();
        read.check(FIRST_TS, &mut ListBuffer::default()).unwrap();
        assert_eq!(read.find(VertexId(0)), Ok(None));
    }

    #[test]
    fn an_edge_at_both_ends_of_32_bits_reads_back() {
        let last = VertexId(u32::MAX);
        let records = [
            ListRecord::insert(VertexId(0), VertexId(0)),
            ListRecord::insert(VertexId(0), last),
            ListRecord::insert(last, VertexId(0)),
            ListRecord::insert(last, last),
        ];
        let (_, page) = &pages_of(&records, None)[0];
        let mut buffer = ListBuffer::default();
        ListPage::open(page).unwrap().check(FIRST_TS, &mut buffer).unwrap();
        assert_eq!(buffer.records().collect::<Vec<_>>(), records);
    }

    #[test]
    fn a_bottom_page_has_nothing_but_ends_and_frames() {
        let records: Vec<_> =
            (0..64).map(|at| ListRecord::insert(VertexId(7 + at / 2), VertexId(at % 2))).collect();
        let (head, page) = &pages_of(&records, None)[0];
        assert_eq!(head.flags, PageFlags::NONE);
        let used = PAGE_HEAD + 32 * 2 + 1 + 16;
        assert!(page[used - 1] != 0 || page[used - 16..used].iter().any(|byte| *byte != 0));
        assert!(page[used..].iter().all(|byte| *byte == 0));
    }

    const PAGE_HEAD: usize = crate::format::page::PAGE_HEAD_BYTES;
}
