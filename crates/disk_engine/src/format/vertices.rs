//! Vertices: pages of kind 2, which vertices were inserted or deleted.
//!
//! ```text
//! FLAGS   bits 0, 5: form of positions   2: operations   3: stamps
//!         4: begins inside the records of one vertex
//!
//! positions    of the records' vertices (`positions`)
//! operations   2 bits a record, if flagged
//! stamps       a varint a record, if flagged
//! ```
//!
//! Without stamps and deletes, consecutive vertices take no bytes at all: such a page stands for 65,535
//! of them. Properties are in columns. In a file with stamps a vertex may have several records, the
//! newest first.

use crate::format::operation::{Operations, OperationsBuilder, RecordOperation};
use crate::format::page::{
    PAGE_BODY_BYTES, PAGE_HEAD_BYTES, PageBytes, PageFlags, PageHead, PageKind, Pushed,
};
use crate::format::positions::{FORM_FLAGS, Positions, PositionsBuilder};
use crate::format::stamps::{Stamps, StampsBuilder};
use crate::format::subject::Subject;
use evergraph_graph::bytes::{DecodeError, Decoded};
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;
use std::ops::Range;

const KNOWN_FLAGS: u8 =
    FORM_FLAGS | PageFlags::OPERATIONS.0 | PageFlags::STAMPS.0 | PageFlags::BEGINS_INSIDE.0;

/// What was done to a vertex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VertexRecord {
    /// The vertex.
    pub vertex: VertexId,
    /// What was done.
    pub operation: RecordOperation,
    /// By which commit; zero in files without stamps.
    pub stamp: Timestamp,
}

impl VertexRecord {
    /// Whether `next` may follow in a page: its vertex is greater, or the same and its stamp older.
    #[must_use]
    #[inline]
    pub fn precedes(&self, next: &Self) -> bool {
        self.vertex < next.vertex || (self.vertex == next.vertex && self.stamp > next.stamp)
    }
}

/// Builds pages of vertices, one after the other; its memory is reused.
#[derive(Clone, Debug)]
pub struct VertexPageBuilder {
    vertices: PositionsBuilder,
    operations: OperationsBuilder,
    stamps: StampsBuilder,
    /// The record pushed last, in this page or the one before.
    last: Option<VertexRecord>,
    begins_inside: bool,
    body: Vec<u8>,
}

impl VertexPageBuilder {
    /// In a file with stamps `first_ts` is the timestamp of its oldest record; `None` in others.
    #[must_use]
    pub fn new(first_ts: Option<Timestamp>) -> Self {
        Self {
            vertices: PositionsBuilder::default(),
            operations: OperationsBuilder::default(),
            stamps: StampsBuilder::new(first_ts),
            last: None,
            begins_inside: false,
            body: Vec::new(),
        }
    }

    /// Whether the page has no record yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.vertices.is_empty()
    }

    /// Adds a record, if it fits. Cost: some 3 ns.
    ///
    /// # Panics
    /// If it doesn't follow the last record in key order, or is older than the file's first timestamp.
    pub fn push(&mut self, record: &VertexRecord) -> Pushed {
        let last = self.last.as_ref();
        assert!(
            last.is_none_or(|last| last.precedes(record)),
            "records come in key order: {last:?}, {record:?}"
        );
        let vertex = u64::from(record.vertex.0);
        let bytes = self.vertices.bytes_with(vertex).expect("vertices have 32 bits")
            + self.operations.bytes_with(record.operation)
            + self.stamps.bytes_with(record.stamp);
        if bytes > PAGE_BODY_BYTES || self.vertices.len() == usize::from(u16::MAX) {
            return Pushed::PageFull;
        }
        if self.is_empty() {
            self.begins_inside = last.is_some_and(|last| last.vertex == record.vertex);
        }
        self.vertices.push(vertex);
        self.operations.push(record.operation);
        self.stamps.push(record.stamp);
        self.last = Some(*record);
        Pushed::Taken
    }

    /// Writes the page, all but its checksum, and begins the next one. `rank` is the number of vertex
    /// records in the file before this page. Cost: a few microseconds.
    pub fn finish(&mut self, rank: u64, page: &mut PageBytes) -> PageHead {
        self.body.clear();
        let flags = self.vertices.put(&mut self.body);
        let flags = flags
            .with(PageFlags::OPERATIONS, self.operations.put(&mut self.body))
            .with(PageFlags::STAMPS, self.stamps.put(&mut self.body))
            .with(PageFlags::BEGINS_INSIDE, self.begins_inside);
        let head = PageHead {
            flags,
            items: self.vertices.len() as u16,
            first_vertex: VertexId(self.vertices.first() as u32),
            values: self.vertices.len() as u16,
            rank,
            ..PageHead::new(PageKind::Vertices, Subject::VERTICES)
        };
        head.write_with_body(&self.body, page);
        self.vertices.clear();
        self.operations.clear();
        self.stamps.clear();
        self.begins_inside = false;
        head
    }
}

/// A page of vertices where it lies.
#[derive(Clone, Copy, Debug)]
pub struct VertexPage<'a> {
    head: PageHead,
    vertices: Positions<'a>,
    operations: Operations<'a>,
    stamps: Stamps<'a>,
}

impl<'a> VertexPage<'a> {
    /// Finds the arrays of `page`, whose checksum was verified.
    ///
    /// Cost: some 50 ns.
    ///
    /// # Errors
    /// If the page is of another kind or subject, or its arrays don't fit into it.
    pub fn open(page: &'a PageBytes) -> Decoded<Self> {
        let (head, mut reader) = PageHead::open(page, PageKind::Vertices, KNOWN_FLAGS)?;
        if head.subject != Subject::VERTICES || head.items != head.values {
            let (items, values, subject) = (head.items, head.values, head.subject);
            let expected = format!("{items} vertices expected, found {values} records of {subject}");
            return Err(DecodeError { offset: 6, expected });
        }
        let records = usize::from(head.items);
        let vertices = Positions::take(&mut reader, head.flags, records)?;
        let operations = match head.flags.has(PageFlags::OPERATIONS) {
            true => Operations::take(&mut reader, records)?,
            false => Operations::INSERTS,
        };
        let stamps = match head.flags.has(PageFlags::STAMPS) {
            true => Stamps::rest_of(&reader),
            false => Stamps::NONE,
        };
        Ok(Self { head, vertices, operations, stamps })
    }

    /// The page's head.
    #[must_use]
    #[inline]
    pub fn head(&self) -> &PageHead {
        &self.head
    }

    /// The records of `vertex` in this page, by number: none, one, or several in a file with stamps.
    ///
    /// Cost: a binary search; where positions are bits, a pass over them.
    #[must_use]
    pub fn find(&self, vertex: VertexId) -> Range<usize> {
        match vertex.0.checked_sub(self.head.first_vertex.0) {
            Some(position) => self.vertices.items_at(position.into()),
            None => 0..0,
        }
    }

    /// The operation of record `at`.
    #[must_use]
    #[inline]
    pub fn operation(&self, at: usize) -> RecordOperation {
        self.operations.get(at)
    }

    /// Replaces the content of `out` by the stamps of the records in `range`; by nothing in a file
    /// without stamps. `first_ts` is the file's first timestamp.
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

    /// Replaces the content of `out` by all records. `first_ts` is the file's first timestamp.
    ///
    /// Cost: some 5 ns a record.
    ///
    /// # Errors
    /// If a vertex is above 32 bits or a stamp is not sound.
    pub fn decode_into(&self, first_ts: Timestamp, out: &mut Vec<VertexRecord>) -> Decoded<()> {
        out.clear();
        let (mut vertices, mut stamps) = (Vec::new(), Vec::new());
        self.vertices.vertices_into(self.head.first_vertex.0, &mut vertices)?;
        self.stamps.decode_into(first_ts, 0, vertices.len(), &mut stamps)?;
        out.extend(vertices.iter().enumerate().map(|(at, vertex)| VertexRecord {
            vertex: VertexId(*vertex),
            operation: self.operations.get(at),
            stamp: stamps.get(at).copied().unwrap_or(Timestamp::ZERO),
        }));
        Ok(())
    }

    /// Whether all records of the page are in key order.
    ///
    /// Cost: as [`VertexPage::decode_into`].
    ///
    /// # Errors
    /// As [`VertexPage::decode_into`]; the first record that is out of order.
    pub fn check(&self, first_ts: Timestamp) -> Decoded<()> {
        let mut records = Vec::new();
        self.decode_into(first_ts, &mut records)?;
        match records.windows(2).find(|pair| !pair[0].precedes(&pair[1])) {
            None => Ok(()),
            Some(pair) => {
                let expected =
                    format!("records in key order expected, found {:?} before {:?}", pair[0], pair[1]);
                Err(DecodeError { offset: PAGE_HEAD_BYTES, expected })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::operation::tests::any_operation;
    use crate::format::page::tests::{any_damage, any_seed, damaged, dirty_page};
    use crate::format::page::verify;
    use proptest::prelude::*;

    const FIRST_TS: Timestamp = Timestamp(900);

    fn any_records() -> impl Strategy<Value = (Vec<VertexRecord>, Option<Timestamp>)> {
        let gap = prop_oneof![Just(1u32..2), Just(0u32..3), Just(1u32..3000), Just(0u32..1 << 20)];
        let record = (any::<u32>(), any_operation(), 0u64..1 << 20);
        let first = prop_oneof![Just(0u32), any::<u32>().prop_map(|number| number >> 1)];
        (first, gap, proptest::collection::vec(record, 0..300), 1usize..30, any::<[bool; 2]>()).prop_map(
            |(first, gap, seeds, repeat, [operations, stamps])| {
                let (mut vertex, mut records) = (first, Vec::<VertexRecord>::new());
                for at in 0..seeds.len() * repeat {
                    let (random, operation, stamp) = seeds[at % seeds.len()];
                    let Some(next) = vertex.checked_add(gap.start + random % (gap.end - gap.start)) else {
                        break;
                    };
                    vertex = next;
                    let record = VertexRecord {
                        vertex: VertexId(vertex),
                        operation: if operations { operation } else { RecordOperation::Insert },
                        stamp: if stamps { Timestamp(FIRST_TS.0 + stamp) } else { Timestamp::ZERO },
                    };
                    if records.last().is_none_or(|last| last.precedes(&record)) {
                        records.push(record);
                    }
                }
                (records, stamps.then_some(FIRST_TS))
            },
        )
    }

    fn pages_of(records: &[VertexRecord], first_ts: Option<Timestamp>) -> Vec<(PageHead, Box<PageBytes>)> {
        let mut builder = VertexPageBuilder::new(first_ts);
        let (mut pages, mut rank) = (Vec::new(), 0);
        let mut finish = |builder: &mut VertexPageBuilder| {
            let mut page = dirty_page();
            let head = builder.finish(rank, &mut page);
            rank += u64::from(head.values);
            pages.push((head, page));
        };
        for record in records {
            if builder.push(record) == Pushed::PageFull {
                finish(&mut builder);
                assert_eq!(builder.push(record), Pushed::Taken);
            }
        }
        finish(&mut builder);
        pages
    }

    proptest! {
        #[test]
        fn records_read_back_from_their_pages((records, first_ts) in any_records()) {
            let (mut found, mut all) = (Vec::new(), Vec::new());
            for (head, bytes) in pages_of(&records, first_ts) {
                let page = VertexPage::open(&bytes).unwrap();
                prop_assert_eq!((page.head(), head.rank), (&head, all.len() as u64));
                page.check(FIRST_TS).unwrap();
                page.decode_into(FIRST_TS, &mut found).unwrap();
                let inside = all.last().is_some_and(|last: &VertexRecord| found.first().is_some_and(|one| one.vertex == last.vertex));
                prop_assert_eq!(head.flags.has(PageFlags::BEGINS_INSIDE), inside);
                for record in found.iter().step_by(97) {
                    let range = page.find(record.vertex);
                    let mut stamps = Vec::new();
                    page.stamps_into(FIRST_TS, range.clone(), &mut stamps).unwrap();
                    let expected: Vec<_> = found.iter().filter(|one| one.vertex == record.vertex).collect();
                    prop_assert_eq!(range.len(), expected.len());
                    for (at, expected) in range.clone().zip(expected) {
                        prop_assert_eq!(page.operation(at), expected.operation);
                        prop_assert_eq!(stamps.get(at - range.start).copied().unwrap_or_default(), expected.stamp);
                    }
                }
                all.extend_from_slice(&found);
            }
            prop_assert!(all == records);
        }

        #[test]
        fn a_damaged_page_with_a_right_checksum_is_refused_or_can_be_read(
            (records, first_ts) in any_records(), damage in any_damage(), vertex in any::<u32>(),
        ) {
            let bytes = damaged(&pages_of(&records, first_ts)[0].1, &damage);
            if verify(&bytes, any_seed()).is_err() {
                return Ok(());
            }
            let Ok(page) = VertexPage::open(&bytes) else { return Ok(()) };
            let mut out = Vec::new();
            if page.decode_into(FIRST_TS, &mut out).is_ok() {
                prop_assert_eq!(out.len(), usize::from(page.head().items));
            }
            drop(page.check(FIRST_TS));
            for vertex in records.iter().take(50).map(|record| record.vertex).chain([VertexId(vertex)]) {
                let range = page.find(vertex);
                prop_assert!(range.start <= range.end && range.end <= usize::from(page.head().items));
                drop(page.stamps_into(FIRST_TS, range, &mut Vec::new()));
            }
        }
    }

    #[test]
    fn consecutive_vertices_take_no_bytes() {
        let vertices = (7..100_000).map(|at| VertexRecord {
            vertex: VertexId(at),
            operation: RecordOperation::Insert,
            stamp: Timestamp::ZERO,
        });
        let pages = pages_of(&vertices.collect::<Vec<_>>(), None);
        let items: Vec<_> = pages.iter().map(|(head, _)| (head.first_vertex.0, head.items)).collect();
        assert_eq!(items, [(7, 65_535), (65_542, 34_458)]);
        assert!(pages[0].1[PAGE_HEAD_BYTES..].iter().all(|byte| *byte == 0));
        assert_eq!(VertexPage::open(&pages[0].1).unwrap().find(VertexId(65_541)), 65_534..65_535);
    }
}
