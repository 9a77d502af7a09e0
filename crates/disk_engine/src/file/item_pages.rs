//! Item pages: the pages that questions about edges in several files need, read into the cache side by side.
//!
//! ```text
//! files     csr-8: (7, 3) (7, 9)    csr-3: (7, 41)    csr-9: ...      each with its items
//! first     the filters of all items, of all files
//! then      the lists of those that filters do not exclude, of all files
//! ```
//!
//! Of a thousand edges in random order, each file of a level has a few. File by file, their pages would be read one
//! after the other; a disk serves eight at once in a third of the time.
//!
//! Nothing is answered here. What fails, and what finds no place in the cache, is read again by whoever asks.

use crate::cache::PageWorth;
use crate::file::file_records::FileRecords;
use crate::file::page_reader::{PageToRead, VerifiedPage};
use crate::format::file_name::PageNumber;
use crate::format::page_index::filters::FilterAnswer;
use crate::format::subject::Subject;
use crate::format::tree_key::{ItemKey, ListId};
use std::ops::Range;
use std::sync::Arc;

/// Reads the pages that are not cached and that `items` need, of which each file has a range. Cost: two look-ups in the
/// cache for each page of a filter.
pub fn read_ahead(files: &[(FileRecords<'_>, Range<usize>)], items: &[(ListId, ItemKey)]) {
    let Some((first, _)) = files.first() else { return };
    let reader = &first.file.reader;
    let mut pages = Vec::new();
    for (file, range) in files {
        file.filters_of(&items[range.clone()], &mut pages);
    }
    reader.read_ahead(pages.drain(..));
    for (file, range) in files {
        file.lists_past_filters(&items[range.clone()], &mut pages);
    }
    reader.read_ahead(pages);
}

impl<'f> FileRecords<'f> {
    /// The filter that is asked about an edge; `None` of vertices, which the directory knows.
    fn filter_of_item(&self, (list, item): (ListId, ItemKey)) -> Option<FilterAnswer> {
        let is_asked = list.subject != Subject::VERTICES && !self.sees_nothing();
        is_asked.then(|| self.filter_of(list, item.neighbor()))
    }

    fn filters_of(&self, items: &[(ListId, ItemKey)], pages: &mut Vec<PageToRead<'f>>) {
        let mut last = None;
        for item in items {
            if let Some(FilterAnswer::Page(page)) = self.filter_of_item(*item)
                && last.replace(page) != Some(page)
            {
                pages.push(self.page_to_read(page, PageWorth::Filter));
            }
        }
    }

    fn lists_past_filters(&self, items: &[(ListId, ItemKey)], pages: &mut Vec<PageToRead<'f>>) {
        let mut filter: Option<(PageNumber, Option<Arc<VerifiedPage>>)> = None;
        let mut last = None;
        for (list, item) in items {
            let passes = match self.filter_of_item((*list, *item)) {
                None | Some(FilterAnswer::Absent) => false,
                Some(FilterAnswer::Unfiltered) => true,
                Some(FilterAnswer::Page(number)) => {
                    let (_, page) = match &filter {
                        Some(known) if known.0 == number => known,
                        _ => filter.insert((number, self.file.reader.cached(&self.file.topology, number))),
                    };
                    let passes =
                        |page: &Arc<VerifiedPage>| self.filter_passes(*list, item.neighbor(), (number, page));
                    page.as_ref().is_some_and(|page| passes(page).unwrap_or(false))
                }
            };
            if passes {
                for indexed in self.pages_of_item(*list, *item) {
                    if last.replace(indexed.page) != Some(indexed.page) {
                        pages.push(self.page_to_read(indexed.page, PageWorth::Ordinary));
                    }
                }
            }
        }
    }

    pub(super) fn page_to_read(&self, page: PageNumber, worth: PageWorth) -> PageToRead<'f> {
        PageToRead { file: &self.file.topology, page, worth }
    }
}
