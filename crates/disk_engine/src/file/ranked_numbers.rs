//! Ranked numbers: a property of consecutive edges that is a number, a column page at a time.
//!
//! ```text
//! ranks     40 .. 45            edges of one list, as a scan hands them out
//! column    page from 38: 38 39 40 41 42 ...      decoded once, used by all lists whose ranks it has
//! ```
//!
//! Lists of a file follow each other as their ranks do, so a scan with weights reads the column front to back.
//!
//! Source: disk-engine, section 6 (weights by rank).

use crate::cache::PageWorth;
use crate::file::csr_file::CsrFile;
use crate::file::shared_window::{PageSequence, SharedWindow};
use crate::format::columns::page::{ColumnContent, ColumnPage};
use crate::format::file_name::{FileNumber, PageNumber};
use crate::format::subject::Subject;
use evergraph_graph::id::KeyId;
use evergraph_graph::packed_column::PackedColumn;
use evergraph_storage::checkpoint::error::CheckpointResult;
use std::ops::Range;

/// A property of the edges of one subject, and its value where an edge has none.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NumberColumn {
    /// Which edges: an out side.
    pub subject: Subject,
    /// Which property.
    pub key: KeyId,
    /// For an edge without it.
    pub missing: Option<f64>,
}

/// Numbers up to which those of a page are decoded one by one where few lists of it are wanted: some 60 ns each, beside 5 us
/// for a whole page.
const SINGLE_NUMBERS_MAX: u64 = 64;

/// The column page that was read last. Its memory is one page, decoded.
#[derive(Debug, Default)]
pub struct RankedNumbers {
    decoded: Option<(FileNumber, PageNumber)>,
    positions: Vec<u64>,
    values: Option<PackedColumn>,
    entered: Option<u32>,
}

impl CsrFile {
    /// Appends the numbers of the edges with these `ranks`, which were inserted in this file, and returns true. False if
    /// one has no number, and no other one stands for it: then nothing is appended.
    ///
    /// Cost: a search in the index; some 3 ns a number for each page that is decoded anew, a copy for others.
    ///
    /// # Errors
    /// `Corrupt`, naming file and offset; what the system says.
    pub fn numbers(
        &self,
        column: &NumberColumn,
        ranks: Range<u64>,
        window: &SharedWindow,
        numbers: &mut RankedNumbers,
        out: &mut Vec<f64>,
    ) -> CheckpointResult<bool> {
        let before = out.len();
        let columns = self.columns.as_ref();
        let pages = columns.map_or(&[][..], |columns| columns.index.pages_of(column.subject, column.key));
        let mut rank = ranks.start;
        while rank < ranks.end {
            let place = pages.partition_point(|page| page.first <= rank);
            let end = pages.get(place).map_or(ranks.end, |next| next.first.min(ranks.end));
            let is_known = match place.checked_sub(1) {
                Some(place) => {
                    let page = pages[place].page;
                    let is_decoded = numbers.decoded == Some((self.number(), page));
                    if !is_decoded && window.reads_single_pages() && end - rank <= SINGLE_NUMBERS_MAX {
                        self.append_some(page, rank..end, column.missing, out)?
                    } else {
                        if !is_decoded {
                            self.decode(page, [pages[0].page, pages[pages.len() - 1].page], window, numbers)?;
                        }
                        numbers.append(rank..end, column.missing, out)
                    }
                }
                None => put_missing((end - rank) as usize, column.missing, out),
            };
            if !is_known {
                out.truncate(before);
                return Ok(false);
            }
            rank = end;
        }
        Ok(true)
    }

    /// Appends the numbers of `ranks` that are in a page, without decoding the others; false if one is unknown.
    fn append_some(
        &self,
        page: PageNumber,
        ranks: Range<u64>,
        missing: Option<f64>,
        out: &mut Vec<f64>,
    ) -> CheckpointResult<bool> {
        let Some(columns) = &self.columns else { return Ok(false) };
        let read = self.reader.page(&columns.file, page, PageWorth::Ordinary)?;
        let damaged = |error| columns.file.page_error(page, &error);
        let opened = ColumnPage::open(read.bytes()).map_err(damaged)?;
        for rank in ranks {
            let records = opened.find(rank);
            let number = match records.len() {
                0 => missing,
                1 => match opened.content(records.start).map_err(damaged)? {
                    ColumnContent::Value(value) => value.as_f64(),
                    // The caller looks.
                    ColumnContent::Long(_) | ColumnContent::Removed => None,
                },
                _ => None,
            };
            let Some(number) = number else { return Ok(false) };
            out.push(number);
        }
        Ok(true)
    }

    /// Decodes a page of a column whose first and last pages are given.
    fn decode(
        &self,
        page: PageNumber,
        column: [PageNumber; 2],
        window: &SharedWindow,
        numbers: &mut RankedNumbers,
    ) -> CheckpointResult<()> {
        numbers.decoded = None;
        let Some(columns) = &self.columns else { return Ok(()) };
        let [first, last] = column;
        let bounds = |range: Range<u32>| {
            let (start, end) = (range.start.max(first.0), range.end.min(last.0 + 1));
            (start < end).then(|| [PageNumber(start), PageNumber(end - 1)])
        };
        let mut pages = PageSequence {
            file: &columns.file,
            reader: &self.reader,
            last_wanted: page,
            last,
            bounds: &bounds,
            entered: &mut numbers.entered,
        };
        let read = window.page(&mut pages, page)?;
        let damaged = |error| columns.file.page_error(page, &error);
        let opened = ColumnPage::open(read.bytes()).map_err(damaged)?;
        opened.positions_into(&mut numbers.positions).map_err(damaged)?;
        numbers.values = opened.column().map_err(damaged)?;
        numbers.decoded = Some((self.number(), page));
        Ok(())
    }
}

impl RankedNumbers {
    /// Appends the numbers of `ranks`, none of which lies behind the page; false if one is unknown.
    fn append(&self, ranks: Range<u64>, missing: Option<f64>, out: &mut Vec<f64>) -> bool {
        let count = (ranks.end - ranks.start) as usize;
        let mut at = self.positions.partition_point(|position| *position < ranks.start);
        let floats = self.values.as_ref().and_then(PackedColumn::floats);
        // Mostly all edges have the property.
        if let Some(floats) = floats
            && self.positions.get(at) == Some(&ranks.start)
            && self.positions.get(at + count - 1) == Some(&(ranks.end - 1))
            && let Some(values) = floats.get(at..at + count)
        {
            out.extend_from_slice(values);
            return true;
        }
        for rank in ranks {
            let number = if self.positions.get(at) == Some(&rank) {
                at += 1;
                // Without one it was removed, or is no number: the caller looks.
                self.values.as_ref().and_then(|values| values.number(at - 1))
            } else {
                missing
            };
            let Some(number) = number else { return false };
            out.push(number);
        }
        true
    }
}

/// Appends what stands for `count` numbers that edges do not have; false if nothing does.
fn put_missing(count: usize, missing: Option<f64>, out: &mut Vec<f64>) -> bool {
    let Some(missing) = missing else { return false };
    out.resize(out.len() + count, missing);
    true
}
