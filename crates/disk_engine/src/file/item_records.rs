//! Item records: the visible records of one vertex or edge, the newest first.

use crate::cache::PageWorth;
use crate::file::file_records::FileRecords;
use crate::file::last_list::LastList;
use crate::file::page_reader::VerifiedPage;
use crate::file::visibility::Visibility;
use crate::format::file_name::PageNumber;
use crate::format::filter::{FilterPage, KeyHash};
use crate::format::lists::page::ListPage;
use crate::format::operation::RecordOperation;
use crate::format::page_index::filters::FilterAnswer;
use crate::format::page_index::topology::IndexedPage;
use crate::format::subject::Subject;
use crate::format::tree_key::{ItemKey, ListId};
use crate::format::vertices::VertexPage;
use evergraph_graph::bytes::DecodeError;
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointResult;
use std::ops::{ControlFlow, Range};

/// A record of an item, as a page has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ItemRecord {
    pub(super) operation: RecordOperation,
    /// Among the values of (file, subject); what columns of edges are ordered by.
    pub(super) rank: u64,
    /// Zero in a file without stamps, and where stamps were not asked for.
    pub(super) stamp: Timestamp,
}

/// Whether the stamps of records are needed where all of them are visible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StampUse {
    VisibilityAlone,
    Needed,
}

impl<'f> FileRecords<'f> {
    /// The pages that may have records of an item, the newest first; none if the directory knows of none. Cost: binary
    /// searches.
    pub(super) fn pages_of_item(&self, list: ListId, item: ItemKey) -> &'f [IndexedPage] {
        let index = &self.file.topology_index;
        if !self.file.directory.has_list(list) {
            return &[];
        }
        if list.subject == Subject::VERTICES {
            index.pages_of_vertex(list.subject, list.vertex)
        } else {
            index.pages_of_edge(list.subject, list.vertex, item.neighbor())
        }
    }

    /// Visits the visible records of an item that one of its pages has, the newest first, until `visit` breaks. Who looks
    /// for several items keeps the `last` list.
    pub(super) fn visit_item(
        &self,
        (list, item): (ListId, ItemKey),
        (number, page): (PageNumber, &VerifiedPage),
        stamp_use: StampUse,
        last: &mut LastList,
        mut visit: impl FnMut(ItemRecord) -> CheckpointResult<ControlFlow<()>>,
    ) -> CheckpointResult<ControlFlow<()>> {
        let damaged = |error: DecodeError| self.page_error(number, &error);
        let needs_stamps = stamp_use == StampUse::Needed || matches!(self.visibility, Visibility::Through(_));
        let mut stamps = Vec::new();
        if list.subject == Subject::VERTICES {
            let page = VertexPage::open(page.bytes()).map_err(damaged)?;
            let records = page.find(list.vertex);
            if needs_stamps {
                page.stamps_into(self.first_ts(), records.clone(), &mut stamps).map_err(damaged)?;
            }
            return self.visit_visible(records, page.head().rank, &stamps, |at| page.operation(at), visit);
        }
        let page = self.open_lists(list.subject, page).map_err(damaged)?;
        let Some(parallel) = last.find((number, &page), list, item.neighbor()).map_err(damaged)? else {
            return Ok(ControlFlow::Continue(()));
        };
        let records = of_discriminator(&page, parallel, item.discriminator());
        if needs_stamps {
            page.stamps_into(self.first_ts(), records.clone(), &mut stamps).map_err(damaged)?;
        }
        self.visit_visible(records, page.head().rank, &stamps, |at| page.operation(at), &mut visit)
    }

    fn visit_visible(
        &self,
        records: Range<usize>,
        rank: u64,
        stamps: &[Timestamp],
        operation: impl Fn(usize) -> RecordOperation,
        mut visit: impl FnMut(ItemRecord) -> CheckpointResult<ControlFlow<()>>,
    ) -> CheckpointResult<ControlFlow<()>> {
        for (number, at) in records.enumerate() {
            let stamp = stamps.get(number).copied().unwrap_or(Timestamp::ZERO);
            if self.visibility.sees(stamp)
                && visit(ItemRecord {
                    operation: operation(at),
                    rank: rank.saturating_add(at as u64),
                    stamp,
                })?
                .is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// As [`FileRecords::visit_item`], over all of its pages.
    pub(super) fn visit_records(
        &self,
        list: ListId,
        item: ItemKey,
        stamp_use: StampUse,
        mut visit: impl FnMut(ItemRecord) -> CheckpointResult<ControlFlow<()>>,
    ) -> CheckpointResult<()> {
        let mut last = LastList::default();
        for indexed in self.pages_of_item(list, item) {
            let page = self.topology_page(indexed.page)?;
            let found =
                self.visit_item((list, item), (indexed.page, &page), stamp_use, &mut last, &mut visit)?;
            if found.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Which filter is asked before the pages of an item; absent if the directory knows of no records.
    pub(super) fn filter_of(&self, list: ListId, neighbor: VertexId) -> FilterAnswer {
        if !self.file.directory.has_list(list) {
            return FilterAnswer::Absent;
        }
        if list.subject == Subject::VERTICES {
            return FilterAnswer::Unfiltered;
        }
        self.file.topology_index.filter_of_edge(list.subject, list.vertex, neighbor)
    }

    /// Whether a page of a filter has the edges from a list to a neighbour, or may have them.
    pub(super) fn filter_passes(
        &self,
        list: ListId,
        neighbor: VertexId,
        (number, page): (PageNumber, &VerifiedPage),
    ) -> CheckpointResult<bool> {
        let filter = FilterPage::open(page.bytes()).map_err(|error| self.page_error(number, &error))?;
        Ok(filter.may_contain(KeyHash::of_edge(list.subject, list.vertex, neighbor)))
    }

    /// Whether a list may have edges to a neighbour. Cost: a page of a filter, if the file has one.
    pub(super) fn may_have(&self, list: ListId, neighbor: VertexId) -> CheckpointResult<bool> {
        match self.filter_of(list, neighbor) {
            FilterAnswer::Unfiltered => Ok(true),
            FilterAnswer::Absent => Ok(false),
            FilterAnswer::Page(number) => {
                let page = self.file.reader.page(&self.file.topology, number, PageWorth::Filter)?;
                self.filter_passes(list, neighbor, (number, &page))
            }
        }
    }
}

/// The records of one of parallel edges, whose records are `parallel`.
pub(super) fn of_discriminator(
    page: &ListPage<'_>,
    parallel: Range<usize>,
    discriminator: u16,
) -> Range<usize> {
    let found = page.discriminators();
    if found.all_zeros() {
        return if discriminator == 0 { parallel } else { parallel.end..parallel.end };
    }
    let start = partition_point(parallel.clone(), |at| found.get(at) < discriminator);
    start..partition_point(start..parallel.end, |at| found.get(at) == discriminator)
}

/// The first number of a range for which `is_before` does not hold; it holds for all before.
pub(super) fn partition_point(range: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
