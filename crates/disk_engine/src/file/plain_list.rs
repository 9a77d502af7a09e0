//! Plain lists: lists of Inserts that one file alone has, decoded without the rest of their pages.
//!
//! ```text
//! page        [v3: 4 9] [v5: 2] [v8: 1 7 30]      v8 alone is decoded
//! arena       1 7 30                              ranks 112 113 114: where columns have its properties
//! ```
//!
//! A search that wants few lists of many pages would spend most of its time on decoding the others.

use crate::cache::PageWorth;
use crate::file::csr_file::CsrFile;
use crate::file::file_records::FileRecords;
use crate::file::page_reader::PageToRead;
use crate::file::ranked_numbers::NumberColumn;
use crate::file::visibility::Visibility;
use crate::format::file_name::PageNumber;
use crate::format::lists::page::ListPage;
use crate::format::tree_key::ListId;
use evergraph_graph::bytes::DecodeError;
use evergraph_graph::id::VertexId;
use evergraph_storage::checkpoint::error::CheckpointResult;
use std::ops::{Range, RangeInclusive};

/// Edges of several lists, one list behind the other.
#[derive(Debug, Default)]
pub struct PlainLists {
    /// The vertices at the other ends.
    pub neighbors: Vec<u32>,
    /// One for each neighbour.
    pub discriminators: Vec<u16>,
}

impl PlainLists {
    /// How many edges there are.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.neighbors.len()
    }

    /// Whether there are no edges.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.neighbors.is_empty()
    }

    /// Lets go of all lists.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    fn truncate(&mut self, edges: usize) {
        self.neighbors.truncate(edges);
        self.discriminators.truncate(edges);
    }
}

impl FileRecords<'_> {
    /// Whether the file may have records of a list. Cost: a few loads; nothing is read.
    #[must_use]
    #[inline]
    pub fn may_have_list(&self, list: ListId) -> bool {
        self.visibility != Visibility::Nothing && self.file.directory.has_list(list)
    }

    /// How many pages may have records of a list. Cost: a search in the index.
    #[must_use]
    pub fn pages_of_list(&self, list: ListId) -> usize {
        self.file.topology_index.pages_of_vertex(list.subject, list.vertex).len()
    }

    /// Appends the edges of a list, and returns the rank of the first one; the others' follow it. `None` if the list has
    /// records that are not Inserts or that the reader perhaps does not see: then nothing is appended.
    ///
    /// Cost: a search in the index, the list's pages from the cache or the disk, and the decoding of the list.
    ///
    /// # Errors
    /// `Corrupt`, naming file and offset; what the system says.
    pub fn plain_list(&self, list: ListId, out: &mut PlainLists) -> CheckpointResult<Option<u64>> {
        let pages = self.file.topology_index.pages_of_vertex(list.subject, list.vertex);
        if self.visibility != Visibility::Everything {
            return Ok(None);
        }
        let (before, mut first_rank) = (out.len(), None);
        for indexed in pages {
            let damaged = |error: DecodeError| self.page_error(indexed.page, &error);
            let read = self.topology_page(indexed.page)?;
            let page = self.open_lists(list.subject, &read).map_err(damaged)?;
            let Some(values) = page.find(list.vertex).map_err(damaged)? else { continue };
            if !page.all_inserts() {
                out.truncate(before);
                return Ok(None);
            }
            first_rank = first_rank.or(Some(page.head().rank.saturating_add(values.start as u64)));
            page.neighbors_into(values.clone(), &mut out.neighbors).map_err(damaged)?;
            out.discriminators.extend(values.map(|at| page.discriminators().get(at)));
        }
        Ok(first_rank)
    }
}

impl CsrFile {
    /// How many pages may have lists of a range of vertices, and about how many their numbers, if `column` is given. Cost:
    /// binary searches.
    #[must_use]
    pub fn pages_of_lists(&self, lists: &RangeInclusive<ListId>, column: Option<&NumberColumn>) -> usize {
        let (first, last) = (lists.start(), lists.end());
        let subject = first.subject;
        let (low, high) = ((first.vertex, VertexId(0)), (last.vertex, VertexId(u32::MAX)));
        let of_lists = self.topology_index.pages_between(subject, low, high).len();
        let of_numbers = column.zip(self.columns.as_ref()).map_or(0, |(column, columns)| {
            let all = columns.index.pages_of(column.subject, column.key).len();
            (all * of_lists).div_ceil(self.topology_index.pages_of(subject).len().max(1))
        });
        of_lists + of_numbers
    }

    /// Whether the first page of a list is cached, and that of its numbers, if `column` is given. Cost: searches in
    /// indexes, and look-ups in the cache.
    #[must_use]
    pub fn is_cached(&self, list: ListId, column: Option<&NumberColumn>) -> bool {
        let pages = self.topology_index.pages_of_vertex(list.subject, list.vertex);
        let Some(first) = pages.first() else { return true };
        let Some(page) = self.reader.cached(&self.topology, first.page) else { return false };
        let Some((column, columns)) = column.zip(self.columns.as_ref()) else { return true };
        // Whoever reads the page says what is wrong with it.
        let Ok(page) = ListPage::open(page.bytes()) else { return true };
        let start = page.find(list.vertex).ok().flatten().map_or(0, |values| values.start);
        let rank = page.head().rank.saturating_add(start as u64);
        let pages = columns.index.pages_of(column.subject, column.key);
        let at = pages.partition_point(|page| page.first <= rank).saturating_sub(1);
        pages.get(at).is_none_or(|page| self.reader.cached(&columns.file, page.page).is_some())
    }

    /// Reads side by side, into the cache, the pages of a column that have the numbers of edges with these `ranks`.
    pub fn read_numbers_ahead(&self, column: &NumberColumn, ranks: impl Iterator<Item = Range<u64>>) {
        let Some(columns) = &self.columns else { return };
        let pages = columns.index.pages_of(column.subject, column.key);
        let mut wanted: Vec<PageNumber> = Vec::new();
        for ranks in ranks {
            let start = pages.partition_point(|page| page.first <= ranks.start).saturating_sub(1);
            let of_list = pages[start..].iter().take_while(|page| page.first < ranks.end);
            wanted.extend(of_list.map(|page| page.page));
        }
        wanted.sort_unstable();
        wanted.dedup();
        let worth = PageWorth::Ordinary;
        self.reader.read_ahead(wanted.into_iter().map(|page| PageToRead {
            file: &columns.file,
            page,
            worth,
        }));
    }
}
