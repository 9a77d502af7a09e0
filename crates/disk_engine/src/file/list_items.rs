//! List items: a list or a piece of it, parallel edges, and by how many items a file makes lists longer.
//!
//! ```text
//! list on pages   [..., 3 4] [5 5 6 9] [12, ...]       the records of an item may go on over a page's end
//! a piece         from the page of `after` on, as many pages as `limit` items need, read side by side
//! a difference    a page that is one list's alone and has Inserts alone is counted without being read
//! ```

use crate::cache::PageWorth;
use crate::file::file_records::FileRecords;
use crate::file::item_records::partition_point;
use crate::file::page_reader::VerifiedPage;
use crate::file::page_rounds::visit_pages;
use crate::file::read_buffers::RoundPages;
use crate::file::visibility::Visibility;
use crate::format::file_name::PageNumber;
use crate::format::lists::page::ListPage;
use crate::format::operation::RecordOperation;
use crate::format::page::PageFlags;
use crate::format::page_index::topology::IndexedPage;
use crate::format::subject::Subject;
use crate::format::tree_key::{ItemKey, ListId};
use crate::format::vertices::VertexPage;
use crate::source::ListedItem;
use evergraph_graph::bytes::{DecodeError, Decoded};
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointResult;
use std::ops::Range;

/// Pages of a list that are read side by side.
const LIST_PAGES: usize = 16;

/// Pages of a list that are read ahead of a question: of a long list its reader reads many at once anyway.
const AHEAD_PAGES: usize = 2;

/// Values that are decoded at least.
const PIECE_VALUES: usize = 128;

/// Gathers the items of a list: of each the newest record that is visible.
struct ListedItems<'a> {
    items: &'a mut Vec<ListedItem>,
    /// Items before these are others'.
    start: usize,
    limit: usize,
    visibility: Visibility,
    /// The item whose newest visible record was found last.
    settled: Option<ItemKey>,
    neighbors: Vec<u32>,
    stamps: Vec<Timestamp>,
}

impl<'a> ListedItems<'a> {
    fn new(items: &'a mut Vec<ListedItem>, limit: usize, visibility: Visibility) -> Self {
        let start = items.len();
        let (neighbors, stamps) = (Vec::new(), Vec::new());
        Self { items, start, limit, visibility, settled: None, neighbors, stamps }
    }

    fn missing(&self) -> usize {
        self.limit - (self.items.len() - self.start)
    }

    /// Takes the values `from..list.end` of a page, where `list` is one list. Returns false if there was no room for
    /// all of them.
    fn take(
        &mut self,
        page: &ListPage<'_>,
        list: Range<usize>,
        mut from: usize,
        first_ts: Timestamp,
    ) -> Decoded<bool> {
        let mut step = PIECE_VALUES;
        while from < list.end {
            if self.missing() == 0 {
                return Ok(false);
            }
            // Gaps add up from the beginning of the list in this page, so each piece is longer than the one before.
            let end = list.end.min(from.saturating_add(self.missing().max(step)));
            step *= 2;
            self.neighbors.clear();
            page.neighbors_into(list.start..end, &mut self.neighbors)?;
            self.stamps.clear();
            if matches!(self.visibility, Visibility::Through(_)) {
                page.stamps_into(first_ts, from..end, &mut self.stamps)?;
            }
            for at in from..end {
                let discriminator = page.discriminators().get(at);
                let item = ItemKey::edge(VertexId(self.neighbors[at - list.start]), discriminator);
                let stamp = self.stamps.get(at - from).copied().unwrap_or(Timestamp::ZERO);
                if self.settled == Some(item) || !self.visibility.sees(stamp) {
                    continue;
                }
                if self.missing() == 0 {
                    return Ok(false);
                }
                self.settled = Some(item);
                let is_present = page.operation(at) != RecordOperation::Delete;
                self.items.push(ListedItem { item, is_present });
            }
            from = end;
        }
        Ok(true)
    }
}

impl FileRecords<'_> {
    pub(super) fn list_items(
        &self,
        list: ListId,
        after: Option<ItemKey>,
        limit: usize,
        items: &mut Vec<ListedItem>,
    ) -> CheckpointResult<bool> {
        let ListId { subject, vertex } = list;
        let index = &self.file.topology_index;
        if !self.file.directory.has_list(list) {
            return Ok(false);
        }
        let mut rest = match after {
            None => index.pages_of_vertex(subject, vertex),
            Some(after) => {
                let (low, high) = ((vertex, after.neighbor()), (vertex, VertexId(u32::MAX)));
                index.pages_between(subject, low, high)
            }
        };
        let mut listed = ListedItems::new(items, limit, self.visibility);
        let mut pages = Vec::new();
        while !rest.is_empty() {
            if listed.missing() == 0 {
                return Ok(true);
            }
            let wanted = pages_with(rest, listed.missing());
            let allowed = (wanted > 1).then(|| self.file.reader.round(wanted));
            let (now, later) = rest.split_at(allowed.as_ref().map_or(wanted, RoundPages::count));
            rest = later;
            pages.clear();
            if let [one] = now {
                pages.push(self.topology_page(one.page)?);
            } else {
                let (reader, file) = (&self.file.reader, &self.file.topology);
                let numbers = now.iter().map(|indexed| indexed.page);
                reader.pages(file, numbers, PageWorth::Ordinary, &mut pages)?;
            }
            for (indexed, page) in now.iter().zip(&pages) {
                let damaged = |error: DecodeError| self.page_error(indexed.page, &error);
                let page = self.open_lists(subject, page).map_err(damaged)?;
                let Some(values) = page.find(vertex).map_err(damaged)? else { continue };
                let from = match after {
                    None => values.start,
                    Some(after) => first_after(&page, values.clone(), after).map_err(damaged)?,
                };
                if !listed.take(&page, values, from, self.first_ts()).map_err(damaged)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    pub(super) fn parallel_items(
        &self,
        list: ListId,
        neighbor: VertexId,
        items: &mut Vec<ListedItem>,
    ) -> CheckpointResult<()> {
        if !self.may_have(list, neighbor)? {
            return Ok(());
        }
        let mut settled = None;
        for indexed in self.file.topology_index.pages_of_edge(list.subject, list.vertex, neighbor) {
            let page = self.topology_page(indexed.page)?;
            let add = |item| items.push(item);
            self.parallel_in_page((list, neighbor), (indexed.page, &page), &mut settled, add)?;
        }
        Ok(())
    }

    /// As [`FileRecords::parallel_items`] for many pairs, each item with the place of its pair.
    pub(super) fn parallel_items_of_many(
        &self,
        pairs: &[(ListId, VertexId)],
        items: &mut Vec<(usize, ListedItem)>,
    ) -> CheckpointResult<()> {
        let of_pair = |(list, neighbor): &(ListId, VertexId)| (*list, ItemKey::edge(*neighbor, 0));
        let places: Vec<(ListId, ItemKey)> = pairs.iter().map(of_pair).collect();
        let is_edge = |place: &usize| pairs[*place].0.subject != Subject::VERTICES;
        let passing = self.passing(&places, (0..pairs.len()).filter(is_edge))?;
        let units = passing.iter().flat_map(|place| {
            let (list, item) = places[*place];
            self.pages_of_item(list, item).iter().map(|indexed| (*place, indexed.page))
        });
        let (reader, file) = (&self.file.reader, &self.file.topology);
        // The item of a pair that goes on in the next page.
        let mut last: (usize, Option<ItemKey>) = (usize::MAX, None);
        visit_pages(reader, file, PageWorth::Ordinary, units, |place: usize, number, page| {
            if last.0 != place {
                last = (place, None);
            }
            self.parallel_in_page(pairs[place], (number, page), &mut last.1, |item| items.push((place, item)))
        })
    }

    /// Hands the items of a list with a neighbour in one page to `add`. `settled` is the last one, which may go on in the
    /// next page.
    fn parallel_in_page(
        &self,
        (list, neighbor): (ListId, VertexId),
        (number, page): (PageNumber, &VerifiedPage),
        settled: &mut Option<ItemKey>,
        mut add: impl FnMut(ListedItem),
    ) -> CheckpointResult<()> {
        let damaged = |error: DecodeError| self.page_error(number, &error);
        let page = self.open_lists(list.subject, page).map_err(damaged)?;
        let Some(values) = page.find(list.vertex).map_err(damaged)? else { return Ok(()) };
        let parallel = page.find_neighbor(values, neighbor).map_err(damaged)?;
        let mut stamps = Vec::new();
        if matches!(self.visibility, Visibility::Through(_)) {
            page.stamps_into(self.first_ts(), parallel.clone(), &mut stamps).map_err(damaged)?;
        }
        for (number, at) in parallel.enumerate() {
            let item = ItemKey::edge(neighbor, page.discriminators().get(at));
            let stamp = stamps.get(number).copied().unwrap_or(Timestamp::ZERO);
            if *settled != Some(item) && self.visibility.sees(stamp) {
                *settled = Some(item);
                add(ListedItem { item, is_present: page.operation(at) != RecordOperation::Delete });
            }
        }
        Ok(())
    }

    /// Reads the first pages of lists into the cache.
    pub(super) fn read_lists_ahead(&self, lists: &[ListId]) {
        let mut pages: Vec<PageNumber> = Vec::new();
        for list in lists.iter().filter(|list| self.file.directory.has_list(**list)) {
            let of_list = self.file.topology_index.pages_of_vertex(list.subject, list.vertex);
            pages.extend(of_list.iter().take(AHEAD_PAGES).map(|indexed| indexed.page));
        }
        pages.sort_unstable();
        pages.dedup();
        let read = |page| self.page_to_read(page, PageWorth::Ordinary);
        self.file.reader.read_ahead(pages.into_iter().map(read));
    }

    pub(super) fn list_differences(&self, lists: &[ListId], differences: &mut [i64]) -> CheckpointResult<()> {
        let directory = &self.file.directory;
        if let [list] = lists
            && !directory.has_list(*list)
        {
            return Ok(());
        }
        if let ([list], [difference]) = (lists, &mut *differences)
            && let pages = self.file.topology_index.pages_of_vertex(list.subject, list.vertex)
            && pages.len() <= 2
        {
            for at in 0..pages.len() {
                *difference += self.difference_in(*list, pages, at)?;
            }
            return Ok(());
        }
        let (mut units, mut known) = (Vec::new(), Vec::new());
        for (place, list) in lists.iter().enumerate().filter(|(_, list)| directory.has_list(**list)) {
            let pages = self.file.topology_index.pages_of_vertex(list.subject, list.vertex);
            for at in 0..pages.len() {
                match self.counted_without_reading(list.vertex, pages, at) {
                    Some(count) => known.push((place, count)),
                    None => units.push((place, pages[at].page)),
                }
            }
        }
        known.iter().for_each(|(place, count)| differences[*place] += count);
        let (reader, file) = (&self.file.reader, &self.file.topology);
        visit_pages(reader, file, PageWorth::Ordinary, units, |place: usize, number, page| {
            let counted = self.count_page(lists[place], page);
            differences[place] += counted.map_err(|error| self.page_error(number, &error))?;
            Ok(())
        })
    }

    /// Inserts minus Deletes of a list in the page at `at` among those that may have it.
    fn difference_in(&self, list: ListId, pages: &[IndexedPage], at: usize) -> CheckpointResult<i64> {
        if let Some(count) = self.counted_without_reading(list.vertex, pages, at) {
            return Ok(count);
        }
        let page = self.topology_page(pages[at].page)?;
        let counted = self.count_page(list, &page);
        counted.map_err(|error| self.page_error(pages[at].page, &error))
    }

    /// The number of Inserts of a page that has nothing but Inserts of one list, all of them visible.
    fn counted_without_reading(&self, vertex: VertexId, pages: &[IndexedPage], at: usize) -> Option<i64> {
        let (page, next) = (pages[at], pages.get(at + 1)?);
        let is_whole = page.first_vertex() == vertex && next.first_vertex() == vertex;
        let all_inserts = !page.flags.has(PageFlags::OPERATIONS);
        let is_known = is_whole && all_inserts && self.visibility == Visibility::Everything;
        is_known.then_some(page.values.into())
    }

    fn count_page(&self, list: ListId, page: &VerifiedPage) -> Decoded<i64> {
        let (mut stamps, first_ts) = (Vec::new(), self.first_ts());
        let needs_stamps = matches!(self.visibility, Visibility::Through(_));
        if list.subject == Subject::VERTICES {
            let page = VertexPage::open(page.bytes())?;
            let records = page.find(list.vertex);
            if needs_stamps {
                page.stamps_into(first_ts, records.clone(), &mut stamps)?;
            }
            let visible = self.visible(records, &stamps);
            return Ok(visible.map(|at| page.operation(at).difference()).sum());
        }
        let page = self.open_lists(list.subject, page)?;
        let Some(values) = page.find(list.vertex)? else { return Ok(0) };
        if needs_stamps {
            page.stamps_into(first_ts, values.clone(), &mut stamps)?;
        }
        Ok(self.difference_of(&page, values, &stamps))
    }

    /// Inserts minus Deletes among the visible ones of `values`, whose stamps are `stamps`, if they are needed.
    pub(super) fn difference_of(
        &self,
        page: &ListPage<'_>,
        values: Range<usize>,
        stamps: &[Timestamp],
    ) -> i64 {
        if page.all_inserts() && self.visibility == Visibility::Everything {
            return values.len() as i64;
        }
        self.visible(values, stamps).map(|at| page.operation(at).difference()).sum()
    }

    fn visible(&self, values: Range<usize>, stamps: &[Timestamp]) -> impl Iterator<Item = usize> {
        let visibility = self.visibility;
        values.enumerate().filter_map(move |(number, at)| {
            visibility.sees(stamps.get(number).copied().unwrap_or(Timestamp::ZERO)).then_some(at)
        })
    }
}

/// The first of `values`, a list, after `after`.
fn first_after(page: &ListPage<'_>, values: Range<usize>, after: ItemKey) -> Decoded<usize> {
    let parallel = page.find_neighbor(values, after.neighbor())?;
    let discriminators = page.discriminators();
    Ok(partition_point(parallel, |at| discriminators.get(at) <= after.discriminator()))
}

/// How many of the first of `pages` have `count` values or more; at least one.
fn pages_with(pages: &[IndexedPage], count: usize) -> usize {
    let mut values = 0;
    let before = pages.iter().take(LIST_PAGES).take_while(|page| {
        let is_missing = values < count;
        values += usize::from(page.values);
        is_missing
    });
    before.count().max(1)
}
