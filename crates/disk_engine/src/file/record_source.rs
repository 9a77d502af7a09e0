//! Record source: a file's answers to what a reader at S asks.
//!
//! Answers for many items gather the pages that they need: first those of filters, then those of lists and vertices,
//! then those of columns, each in rounds that are read side by side. A question about one item takes no memory of its
//! own where all commits of the file are visible.

use crate::cache::PageWorth;
use crate::file::file_records::FileRecords;
use crate::file::group_directory::VertexState;
use crate::file::item_records::StampUse;
use crate::file::last_list::LastList;
use crate::file::page_rounds::visit_pages;
use crate::file::visibility::Visibility;
use crate::format::directory::INDEX_GROUP;
use crate::format::entries::visible_entry::VisibleEntry;
use crate::format::file_name::PAGE_BYTES;
use crate::format::operation::RecordOperation;
use crate::format::page_index::filters::FilterAnswer;
use crate::format::subject::Subject;
use crate::format::tree_key::{ItemKey, ListId};
use crate::source::{EntriesSize, ListedItem, PropertyAnswer, PropertyMap, RecordSource};
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, KeyId, VertexId};
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::index::entry_range::EntryRange;
use evergraph_storage::view::GroupBits;
use std::ops::ControlFlow;

impl FileRecords<'_> {
    /// Of the items at `places`, those that filters do not exclude.
    pub(super) fn passing(
        &self,
        items: &[(ListId, ItemKey)],
        places: impl Iterator<Item = usize>,
    ) -> CheckpointResult<Vec<usize>> {
        let (mut passing, mut filtered) = (Vec::new(), Vec::new());
        for place in places {
            let (list, item) = items[place];
            match self.filter_of(list, item.neighbor()) {
                FilterAnswer::Unfiltered => passing.push(place),
                FilterAnswer::Absent => {}
                FilterAnswer::Page(page) => filtered.push((place, page)),
            }
        }
        if filtered.is_empty() {
            return Ok(passing);
        }
        let (reader, file) = (&self.file.reader, &self.file.topology);
        visit_pages(reader, file, PageWorth::Filter, filtered, |place: usize, number, page| {
            let (list, item) = items[place];
            if self.filter_passes(list, item.neighbor(), (number, page))? {
                passing.push(place);
            }
            Ok(())
        })?;
        // Items of vertices and of lists without filters came first.
        passing.sort_unstable();
        Ok(passing)
    }

    /// Whether a vertex is alive, if the directory can tell: it knows of the newest records, and a reader in the past
    /// doesn't see them all.
    fn known_vertex(&self, list: ListId) -> Option<Option<bool>> {
        if list.subject != Subject::VERTICES {
            return None;
        }
        match self.file.directory.vertex(list.vertex) {
            VertexState::Unknown => Some(None),
            _ if self.visibility != Visibility::Everything => None,
            state => Some(Some(state == VertexState::Alive)),
        }
    }

    fn presence_of_one(&self, list: ListId, item: ItemKey) -> CheckpointResult<Option<bool>> {
        if let Some(known) = self.known_vertex(list) {
            return Ok(known);
        }
        if !self.may_have(list, item.neighbor())? {
            return Ok(None);
        }
        let mut found = None;
        self.visit_records(list, item, StampUse::VisibilityAlone, |record| {
            found = Some(record.operation != RecordOperation::Delete);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    fn presence_of_many(
        &self,
        items: &[(ListId, ItemKey)],
        found: &mut [Option<bool>],
    ) -> CheckpointResult<()> {
        let (mut undecided, mut last) = (Vec::new(), LastList::default());
        for (place, found) in found.iter_mut().enumerate().filter(|(_, found)| found.is_none()) {
            match self.known_vertex(items[place].0) {
                Some(known) => *found = known,
                None => undecided.push(place),
            }
        }
        let passing = self.passing(items, undecided.into_iter())?;
        let units = passing.iter().flat_map(|place| {
            let (list, item) = items[*place];
            self.pages_of_item(list, item).iter().map(|indexed| (*place, indexed.page))
        });
        let (reader, file) = (&self.file.reader, &self.file.topology);
        visit_pages(reader, file, PageWorth::Ordinary, units, |place, number, page| {
            // Where an item's records go on over pages, the newest is in the first one.
            if found[place].is_none() {
                let stamp_use = StampUse::VisibilityAlone;
                let _ = self.visit_item(items[place], (number, page), stamp_use, &mut last, |record| {
                    found[place] = Some(record.operation != RecordOperation::Delete);
                    Ok(ControlFlow::Break(()))
                })?;
            }
            Ok(())
        })
    }
}

impl RecordSource for FileRecords<'_> {
    fn presence(&self, items: &[(ListId, ItemKey)], found: &mut [Option<bool>]) -> Result<()> {
        if self.sees_nothing() {
            return Ok(());
        }
        if let ([(list, item)], [found]) = (items, &mut *found) {
            if found.is_none() {
                *found = self.presence_of_one(*list, *item)?;
            }
            return Ok(());
        }
        Ok(self.presence_of_many(items, found)?)
    }

    fn property(
        &self,
        items: &[(ListId, ItemKey)],
        key: KeyId,
        answers: &mut [PropertyAnswer],
    ) -> Result<()> {
        if self.sees_nothing() {
            return Ok(());
        }
        if let ([(list, item)], [answer]) = (items, &mut *answers) {
            if *answer == PropertyAnswer::Undecided {
                *answer = self.property_of_one(*list, *item, key)?;
            }
            return Ok(());
        }
        Ok(self.property_of_many(items, key, answers)?)
    }

    fn property_map(&self, list: ListId, item: ItemKey, map: &mut PropertyMap) -> Result<()> {
        if self.sees_nothing() || map.is_complete {
            return Ok(());
        }
        Ok(self.all_properties(list, item, map)?)
    }

    fn list(
        &self,
        list: ListId,
        after: Option<ItemKey>,
        limit: usize,
        items: &mut Vec<ListedItem>,
    ) -> Result<bool> {
        if self.sees_nothing() {
            return Ok(false);
        }
        if list.subject == Subject::VERTICES {
            if after.is_none()
                && let Some(is_present) = self.presence_of_one(list, ItemKey::VERTEX)?
            {
                items.push(ListedItem { item: ItemKey::VERTEX, is_present });
            }
            return Ok(false);
        }
        Ok(self.list_items(list, after, limit, items)?)
    }

    fn between(&self, list: ListId, neighbor: VertexId, items: &mut Vec<ListedItem>) -> Result<()> {
        if self.sees_nothing() || list.subject == Subject::VERTICES {
            return Ok(());
        }
        Ok(self.parallel_items(list, neighbor, items)?)
    }

    fn between_each(&self, pairs: &[(ListId, VertexId)], items: &mut Vec<(usize, ListedItem)>) -> Result<()> {
        if self.sees_nothing() {
            return Ok(());
        }
        Ok(self.parallel_items_of_many(pairs, items)?)
    }

    fn read_ahead(&self, lists: &[ListId]) {
        if !self.sees_nothing() {
            self.read_lists_ahead(lists);
        }
    }

    fn differences(&self, lists: &[ListId], differences: &mut [i64]) -> Result<()> {
        if self.sees_nothing() {
            return Ok(());
        }
        Ok(self.list_differences(lists, differences)?)
    }

    fn group_difference(&self, subject: Subject, group: GroupId) -> Result<i64> {
        match self.visibility {
            Visibility::Nothing => Ok(0),
            Visibility::Everything => Ok(self.file.directory_difference(subject, group)),
            Visibility::Through(_) => Ok(self.counted_difference(subject, group)?),
        }
    }

    fn apply_live(&self, group: GroupId, live: &mut GroupBits) -> Result<()> {
        if self.sees_nothing() {
            return Ok(());
        }
        Ok(self.apply_vertices(group, live)?)
    }

    fn mark_rows(&self, subject: Subject, group: GroupId, rows: &mut GroupBits) -> Result<()> {
        if self.sees_nothing() {
            return Ok(());
        }
        if let Some(row) = self.file.directory.row(subject, group) {
            row.rows.add_to(rows);
        }
        Ok(())
    }

    fn index_size(&self, index: Subject) -> EntriesSize {
        let pages = self.file.topology_index();
        let count = pages.pages_of(index).len() + pages.filters_of(index).len();
        EntriesSize {
            difference: self.file.directory_difference(index, INDEX_GROUP),
            bytes: 0,
            file_bytes: (count * PAGE_BYTES) as u64,
        }
    }

    fn index_entries(
        &self,
        index: Subject,
        range: &EntryRange<'_>,
        count_max: usize,
        entries: &mut Vec<VisibleEntry>,
    ) -> Result<()> {
        if self.sees_nothing() {
            return Ok(());
        }
        Ok(self.entries_in(index, range, count_max, entries)?)
    }
}
