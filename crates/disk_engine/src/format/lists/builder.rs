//! List page builder: records in key order become pages of kind 1.
//!
//! The size of a page is known after every record, exactly, whatever forms its arrays will take: see
//! `bytes_with` of each array. So a page is full when its next record doesn't fit, not when an estimate
//! says so.

use crate::format::discriminators::DiscriminatorsBuilder;
use crate::format::frames::{FrameSizes, put_frames};
use crate::format::lists::record::ListRecord;
use crate::format::operation::OperationsBuilder;
use crate::format::page::{PAGE_BODY_BYTES, PageBytes, PageFlags, PageHead, PageKind, Pushed};
use crate::format::positions::PositionsBuilder;
use crate::format::stamps::StampsBuilder;
use crate::format::subject::Subject;
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;

/// Builds pages of lists of one subject, one after the other; its memory is reused.
#[derive(Clone, Debug)]
pub struct ListPageBuilder {
    subject: Subject,
    vertices: PositionsBuilder,
    /// Where each list ends; the last list's end is in `gaps`.
    ends: Vec<u16>,
    gaps: Vec<u32>,
    sizes: FrameSizes,
    discriminators: DiscriminatorsBuilder,
    operations: OperationsBuilder,
    stamps: StampsBuilder,
    /// The record pushed last, in this page or the one before.
    last: Option<ListRecord>,
    begins_inside: bool,
    body: Vec<u8>,
}

impl ListPageBuilder {
    /// Builds pages of `subject`. In a file with stamps `first_ts` is the timestamp of its oldest record;
    /// `None` in others.
    #[must_use]
    pub fn new(subject: Subject, first_ts: Option<Timestamp>) -> Self {
        Self {
            subject,
            vertices: PositionsBuilder::default(),
            ends: Vec::new(),
            gaps: Vec::new(),
            sizes: FrameSizes::default(),
            discriminators: DiscriminatorsBuilder::default(),
            operations: OperationsBuilder::default(),
            stamps: StampsBuilder::new(first_ts),
            last: None,
            begins_inside: false,
            body: Vec::new(),
        }
    }

    /// Whether the page has no record yet.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.gaps.is_empty()
    }

    /// Records in the page.
    #[must_use]
    #[inline]
    pub fn values(&self) -> usize {
        self.gaps.len()
    }

    /// The first neighbour in the page, for the file's index; `None` while the page is empty.
    #[must_use]
    pub fn first_neighbor(&self) -> Option<VertexId> {
        self.gaps.first().map(|neighbor| VertexId(*neighbor))
    }

    /// Adds a record, if it fits. Cost: some 5 ns.
    ///
    /// # Panics
    /// If it doesn't follow the last record in key order, or is older than the file's first timestamp.
    pub fn push(&mut self, record: &ListRecord) -> Pushed {
        let last = self.last.as_ref();
        assert!(
            last.is_none_or(|last| last.precedes(record)),
            "records come in key order: {last:?}, {record:?}"
        );
        let same_vertex = last.is_some_and(|last| last.vertex == record.vertex);
        let continues = same_vertex && !self.is_empty();
        let gap = match last {
            Some(last) if continues => record.neighbor.0 - last.neighbor.0,
            _ => record.neighbor.0,
        };
        let fits = self.fits(
            record.vertex,
            continues,
            self.sizes.bytes_with(gap, 1)
                + self.discriminators.bytes_with(record.discriminator)
                + self.operations.bytes_with(record.operation)
                + self.stamps.bytes_with(record.stamp),
            1,
        );
        if !fits {
            return Pushed::PageFull;
        }
        self.begin(record.vertex, continues, same_vertex);
        self.gaps.push(gap);
        self.sizes.push(gap, 1);
        self.discriminators.push(record.discriminator);
        self.operations.push(record.operation);
        self.stamps.push(record.stamp);
        self.last = Some(*record);
        Pushed::Taken
    }

    /// Adds edges without discriminators from `vertex` to the ascending `neighbors`, as many as fit; says
    /// how many.
    ///
    /// Cost: about a nanosecond an edge.
    ///
    /// # Panics
    /// If they don't follow the last record in key order, or the file has stamps.
    #[must_use = "the rest belongs to the next page"]
    pub fn push_list(&mut self, vertex: VertexId, neighbors: &[u32]) -> usize {
        assert!(!self.stamps.has_stamps(), "edges without stamps, in a file without");
        let mut rest = neighbors;
        while let Some(first) = rest.first() {
            let part = &rest[..rest.len().min(self.sizes.room())];
            if !self.push_part(vertex, *first, part) {
                // The page is nearly full: as many as fit.
                let pushed = part.iter().take_while(|neighbor| {
                    self.push(&ListRecord::insert(vertex, VertexId(**neighbor))) == Pushed::Taken
                });
                return neighbors.len() - rest.len() + pushed.count();
            }
            rest = &rest[part.len()..];
        }
        neighbors.len()
    }

    /// Adds edges that stay inside the last frame, if all of them fit.
    fn push_part(&mut self, vertex: VertexId, first: u32, part: &[u32]) -> bool {
        let record = ListRecord::insert(vertex, VertexId(first));
        let last = self.last.as_ref();
        assert!(
            last.is_none_or(|last| last.precedes(&record)),
            "records come in key order: {last:?}, {record:?}"
        );
        assert!(part.is_sorted_by(|a, b| a < b), "the neighbours of a list ascend");
        let same_vertex = last.is_some_and(|last| last.vertex == vertex);
        let continues = same_vertex && !self.is_empty();
        let first_gap = match last {
            Some(last) if continues => first - last.neighbor.0,
            _ => first,
        };
        let other_gaps = part.windows(2).map(|pair| pair[1] - pair[0]);
        let union = other_gaps.clone().fold(first_gap, |union, gap| union | gap);
        let others = self.sizes.bytes_with(union, part.len())
            + self.discriminators.bytes_with_zeros(part.len())
            + self.operations.bytes_with_inserts(part.len());
        if !self.fits(vertex, continues, others, part.len()) {
            return false;
        }
        self.begin(vertex, continues, same_vertex);
        self.gaps.push(first_gap);
        self.gaps.extend(other_gaps);
        self.sizes.push(union, part.len());
        self.discriminators.push_zeros(part.len());
        self.operations.push_inserts(part.len());
        self.last = part.last().map(|neighbor| ListRecord::insert(vertex, VertexId(*neighbor)));
        true
    }

    /// Whether `count` more values of `vertex` fit, with which arrays other than positions and ends have
    /// `others` bytes.
    fn fits(&self, vertex: VertexId, continues: bool, others: usize, count: usize) -> bool {
        let lists = self.vertices.len() + usize::from(!continues);
        let vertices = match continues {
            true => self.vertices.bytes(),
            false => self.vertices.bytes_with(vertex.0.into()).expect("vertices have 32 bits"),
        };
        self.gaps.len() + count <= usize::from(u16::MAX) && vertices + 2 * lists + others <= PAGE_BODY_BYTES
    }

    /// Begins a list, unless the last one continues.
    fn begin(&mut self, vertex: VertexId, continues: bool, same_vertex: bool) {
        if self.is_empty() {
            self.begins_inside = same_vertex;
        } else if !continues {
            self.ends.push(self.gaps.len() as u16);
        }
        if !continues {
            self.vertices.push(vertex.0.into());
        }
    }

    /// Writes the page, all but its checksum, and begins the next one. `rank` is the number of the
    /// subject's values in the file before this page.
    ///
    /// Cost: some 10 us.
    pub fn finish(&mut self, rank: u64, page: &mut PageBytes) -> PageHead {
        self.body.clear();
        let form = self.vertices.put(&mut self.body);
        if !self.is_empty() {
            self.ends.push(self.gaps.len() as u16);
        }
        self.body.extend(self.ends.iter().flat_map(|end| end.to_le_bytes()));
        put_frames(&self.gaps, &mut self.body);
        let flags = form
            .with(PageFlags::DISCRIMINATORS, self.discriminators.put(&mut self.body))
            .with(PageFlags::OPERATIONS, self.operations.put(&mut self.body))
            .with(PageFlags::STAMPS, self.stamps.put(&mut self.body))
            .with(PageFlags::BEGINS_INSIDE, self.begins_inside);
        let head = PageHead {
            flags,
            items: self.vertices.len() as u16,
            first_vertex: VertexId(self.vertices.first() as u32),
            values: self.gaps.len() as u16,
            rank,
            ..PageHead::new(PageKind::Lists, self.subject)
        };
        head.write_with_body(&self.body, page);
        self.clear();
        head
    }

    fn clear(&mut self) {
        self.vertices.clear();
        self.ends.clear();
        self.gaps.clear();
        self.sizes = FrameSizes::default();
        self.discriminators.clear();
        self.operations.clear();
        self.stamps.clear();
        self.begins_inside = false;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::format::lists::buffer::ListBuffer;
    use crate::format::lists::page::ListPage;
    use crate::format::page::tests::dirty_page;
    use crate::format::subject::EdgeSide;
    use evergraph_graph::id::TypeId;

    pub(crate) fn out_edges() -> Subject {
        Subject::edges(TypeId(3), EdgeSide::Out)
    }

    /// The pages of `records`, each with the number of values before it.
    pub(crate) fn pages_of(
        records: &[ListRecord],
        first_ts: Option<Timestamp>,
    ) -> Vec<(PageHead, Box<PageBytes>)> {
        let mut builder = ListPageBuilder::new(out_edges(), first_ts);
        let (mut pages, mut rank) = (Vec::new(), 0);
        let mut finish = |builder: &mut ListPageBuilder| {
            let mut page = dirty_page();
            let head = builder.finish(rank, &mut page);
            rank += u64::from(head.values);
            pages.push((head, page));
        };
        for record in records {
            if builder.push(record) == Pushed::PageFull {
                finish(&mut builder);
                assert_eq!(builder.push(record), Pushed::Taken, "an empty page has room for any record");
            }
        }
        finish(&mut builder);
        pages
    }

    fn unused_bytes(page: &PageBytes) -> usize {
        page.iter().rev().take_while(|byte| **byte == 0).count()
    }

    #[test]
    fn pages_are_filled_within_a_few_percent() {
        let random = |number: u32| number.wrapping_mul(2_654_435_761) >> 7;
        let mut records = Vec::new();
        for vertex in 0..2000 {
            let mut list: Vec<u32> = (0..random(vertex) % 40).map(|at| random(vertex * 64 + at)).collect();
            list.sort_unstable();
            list.dedup();
            records.extend(
                list.iter().map(|neighbor| ListRecord::insert(VertexId(vertex * 3), VertexId(*neighbor))),
            );
        }
        let pages = pages_of(&records, None);
        assert!(pages.len() > 5);
        for (head, page) in &pages[..pages.len() - 1] {
            assert!(
                unused_bytes(page) < 600,
                "{} bytes unused after {} values",
                unused_bytes(page),
                head.values
            );
        }
        let stamped: Vec<_> = records.iter().map(|one| ListRecord { stamp: Timestamp(9), ..*one }).collect();
        for (_, page) in &pages_of(&stamped, Some(Timestamp(5)))[1..4] {
            assert!(unused_bytes(page) < 600);
        }
    }

    #[test]
    fn whole_lists_give_the_same_pages_as_their_records() {
        let random = |number: u32| number.wrapping_mul(2_654_435_761) >> 7;
        let (mut builder, mut records, mut pages) =
            (ListPageBuilder::new(out_edges(), None), Vec::new(), Vec::new());
        let mut rank = 0;
        for vertex in 0..400 {
            let degree = if vertex % 100 == 7 { 30_000 } else { random(vertex) % 300 };
            let mut list: Vec<u32> = (0..degree).map(|at| random(vertex * 40_000 + at) % 9_000_000).collect();
            list.sort_unstable();
            list.dedup();
            let mut rest = &list[..];
            loop {
                let taken = builder.push_list(VertexId(vertex), rest);
                rest = &rest[taken..];
                if rest.is_empty() {
                    break;
                }
                let mut page = dirty_page();
                rank += u64::from(builder.finish(rank, &mut page).values);
                pages.push(page);
            }
            records.extend(
                list.iter().map(|neighbor| ListRecord::insert(VertexId(vertex), VertexId(*neighbor))),
            );
        }
        let mut page = dirty_page();
        builder.finish(rank, &mut page);
        pages.push(page);
        let expected = pages_of(&records, None);
        assert_eq!(pages.len(), expected.len());
        for (at, (page, (_, expected))) in pages.iter().zip(&expected).enumerate() {
            assert!(page == expected, "page {at}");
        }
    }

    #[test]
    fn a_page_has_at_most_65_535_values() {
        let mut builder = ListPageBuilder::new(out_edges(), None);
        let list: Vec<u32> = (0..100_000).collect();
        assert_eq!(builder.push_list(VertexId(1), &list), 65_535);
        let mut page = dirty_page();
        assert_eq!(builder.finish(0, &mut page).values, u16::MAX);
        let mut buffer = ListBuffer::default();
        ListPage::open(&page).unwrap().decode_lists(&mut buffer).unwrap();
        assert_eq!(buffer.neighbors(), &list[..65_535]);
        assert_eq!(builder.push_list(VertexId(1), &list[65_535..]), 100_000 - 65_535);
        assert!(builder.finish(65_535, &mut page).flags.has(PageFlags::BEGINS_INSIDE));
    }

    #[test]
    #[should_panic(expected = "key order")]
    fn a_record_out_of_order_is_a_defect() {
        let mut builder = ListPageBuilder::new(out_edges(), None);
        assert_eq!(builder.push_list(VertexId(4), &[3]), 1);
        let _ = builder.push(&ListRecord::insert(VertexId(4), VertexId(3)));
    }
}
