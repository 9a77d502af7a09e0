//! Entry reads: what a file says of the pairs of an index in a range, through the cache.
//!
//! ```text
//! keys of the file ──> filter, if one value is asked for ──> pages, in the range's order ──> newest visible record
//! ```
//!
//! Of the records of one pair the newest comes first in the file, and they may go on over pages.
//!
//! Source: disk-engine, sections 5 and 7.

use crate::cache::PageWorth;
use crate::file::file_records::FileRecords;
use crate::format::entries::entry::Separator;
use crate::format::entries::page::EntryPage;
use crate::format::entries::visible_entry::VisibleEntry;
use crate::format::filter::{FilterPage, KeyHash};
use crate::format::page_index::filters::FilterAnswer;
use crate::format::page_index::topology::IndexedPage;
use crate::format::subject::Subject;
use evergraph_graph::bytes::DecodeError;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::index::entry_range::{BytesBound, EntryOrder, EntryRange};
use std::cmp::Ordering;
use std::ops::Range;

impl FileRecords<'_> {
    /// As [`RecordSource::index_entries`](crate::source::RecordSource::index_entries), of a file that is visible.
    ///
    /// Cost: a page of a filter where one value is asked for and the file has it not; else the pages of what is
    /// appended, and one where there is nothing.
    pub(super) fn entries_in(
        &self,
        index: Subject,
        range: &EntryRange<'_>,
        count_max: usize,
        entries: &mut Vec<VisibleEntry>,
    ) -> CheckpointResult<()> {
        let (low, high) = range.low_and_high();
        if !self.may_reach(index, (&low, &high)) || !self.may_have_value(index, range.only_value())? {
            return Ok(());
        }
        let start = match low {
            BytesBound::Start => Separator::FIRST,
            BytesBound::At(value, item) => Separator { value, item: Some(item) },
            BytesBound::Before(value) | BytesBound::After(value) => Separator { value, item: None },
            BytesBound::End => return Ok(()),
        };
        let end = match high {
            BytesBound::Start => return Ok(()),
            BytesBound::End => None,
            BytesBound::Before(value) | BytesBound::At(value, _) | BytesBound::After(value) => Some(value),
        };
        let pages = self.file.topology_index.pages_of_values(index, &start, end);
        let first = entries.len();
        let enough = first.saturating_add(count_max);
        match range.order {
            EntryOrder::Ascending => {
                for page in pages {
                    self.read_page(page, &start, (&low, &high), first..enough, entries)?;
                    // Another pair behind it: the last one that counts has no more records.
                    if entries.len() > enough {
                        break;
                    }
                }
            }
            EntryOrder::Descending => {
                let mut of_page = Vec::new();
                for page in pages.iter().rev() {
                    of_page.clear();
                    self.read_page(page, &start, (&low, &high), 0..usize::MAX, &mut of_page)?;
                    let is_same = |last: &VisibleEntry, other: &VisibleEntry| {
                        (&last.value, last.item) == (&other.value, other.item)
                    };
                    // The page before has the newer records of a pair that goes on here.
                    if let (Some(last), Some(newer)) = (entries[first..].last(), of_page.last())
                        && is_same(last, newer)
                    {
                        entries.pop();
                    }
                    entries.extend(of_page.drain(..).rev());
                    if entries.len() > enough {
                        break;
                    }
                }
            }
        }
        entries.truncate(enough);
        Ok(())
    }

    /// Whether keys of the file lie between two places.
    fn may_reach(&self, index: Subject, (low, high): (&BytesBound<'_>, &BytesBound<'_>)) -> bool {
        let stored = self.file.stored();
        let key = |value: &[u8]| [&index.number().to_be_bytes()[..], value].concat();
        let is_above = low.value().is_some_and(|value| {
            // A key that begins with the value may lie behind the place.
            let low = key(value);
            stored.last_key < low && !stored.last_key.starts_with(&low)
        });
        let is_below = high.value().is_some_and(|value| {
            let high = key(value);
            stored.first_key > high && !stored.first_key.starts_with(&high)
        });
        !is_above && !is_below
    }

    /// Whether the file may have entries of `value`; of any, if none is named.
    fn may_have_value(&self, index: Subject, value: Option<&[u8]>) -> CheckpointResult<bool> {
        let Some(value) = value else { return Ok(true) };
        match self.file.topology_index.filter_of_value(index, value) {
            FilterAnswer::Unfiltered => Ok(true),
            FilterAnswer::Absent => Ok(false),
            FilterAnswer::Page(number) => {
                let page = self.file.reader.page(&self.file.topology, number, PageWorth::Filter)?;
                let filter =
                    FilterPage::open(page.bytes()).map_err(|error| self.page_error(number, &error))?;
                Ok(filter.may_contain(KeyHash::of_value(index, value)))
            }
        }
    }

    /// Appends the pairs of a page that lie between two places, ascending. Of a pair that is the last one in `entries`,
    /// from the first of `room` on, newer records were read; behind the end of `room` one pair is appended at most.
    fn read_page(
        &self,
        indexed: &IndexedPage,
        start: &Separator<'_>,
        (low, high): (&BytesBound<'_>, &BytesBound<'_>),
        room: Range<usize>,
        entries: &mut Vec<VisibleEntry>,
    ) -> CheckpointResult<()> {
        let page = self.topology_page(indexed.page)?;
        let damaged = |error: DecodeError| self.page_error(indexed.page, &error);
        let page = EntryPage::open(page.bytes()).map_err(damaged)?;
        if page.head().subject != indexed.subject {
            let expected =
                format!("a page of {} expected, found one of {}", indexed.subject, page.head().subject);
            return Err(damaged(DecodeError { offset: 8, expected }));
        }
        let mut cursor = page.entries_from(start, self.first_ts()).map_err(damaged)?;
        while let Some(record) = cursor.next().map_err(damaged)? {
            if high.cmp_pair(record.value, record.item) != Ordering::Greater {
                return Ok(());
            }
            let is_behind = low.cmp_pair(record.value, record.item) == Ordering::Less;
            let is_known = |last: &VisibleEntry| (&*last.value, last.item) == record.key();
            if !is_behind
                || !self.visibility.sees(record.stamp)
                || entries[room.start..].last().is_some_and(is_known)
            {
                continue;
            }
            let (value, item, operation) = (record.value.into(), record.item, record.operation);
            entries.push(VisibleEntry { value, item, operation });
            if entries.len() > room.end {
                return Ok(());
            }
        }
        Ok(())
    }
}
