//! Columns: checks the pages of a columns file, alone, in order, and against index and topology.

use crate::durable::check::stored_bytes::StoredBytes;
use crate::durable::check::topology::{ValuesBySubject, verify_pages};
use crate::format::columns::page::ColumnPage;
use crate::format::file_head::FileStamps;
use crate::format::file_name::{PAGE_BYTES, PageNumber};
use crate::format::long_values::{LongReference, LongValueReader};
use crate::format::page::{PageBytes, PageFlags, PageHead, PageKind};
use crate::format::page_index::columns::{ColumnIndex, IndexedColumnPage};
use crate::format::subject::Subject;
use crate::stored_file::StoredFile;
use evergraph_graph::bytes::DecodeError;
use evergraph_graph::error::Result;
use evergraph_graph::id::KeyId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::checkpoint::report::{CheckProgress, Report, tell};

/// Checks all pages of `file`, the columns of what the topology has `values` of, if that is known.
///
/// # Errors
/// `cancelled`, and what the system says. Damage is a finding.
pub(super) fn check_columns(
    file: &StoredBytes,
    stored: &StoredFile,
    values: Option<&ValuesBySubject>,
    report: &mut Report,
    progress: &mut CheckProgress<'_>,
) -> Result<()> {
    let index = match ColumnIndex::decode(&file.index, file.pages) {
        Ok(index) => index,
        Err(error) => {
            report.take_in(file.corrupt(file.index_offset + error.offset as u64, error.expected))?;
            return verify_pages(file, report, progress);
        }
    };
    let mut indexed: Vec<Option<&IndexedColumnPage>> = vec![None; file.pages as usize];
    for page in index.pages() {
        indexed[page.page.0 as usize] = Some(page);
    }
    let mut check = ColumnsCheck { file, stored, values, last: None };
    file.for_each_page(&mut |page, bytes, verified| {
        tell(progress, "pages of a file", u64::from(page.0), u64::from(file.pages))?;
        report.bytes_count += PAGE_BYTES as u64;
        report.bodies_count += 1;
        check.page(page, bytes, verified, indexed[page.0 as usize]).or_else(|error| {
            check.last = None;
            report.take_in(error)
        })
    })
}

struct ColumnsCheck<'a> {
    file: &'a StoredBytes,
    stored: &'a StoredFile,
    values: Option<&'a ValuesBySubject>,
    /// The last record of the page before: its column, position and stamp.
    last: Option<((Subject, KeyId), u64, Timestamp)>,
}

impl ColumnsCheck<'_> {
    fn page(
        &mut self,
        page: PageNumber,
        bytes: &PageBytes,
        verified: CheckpointResult<PageHead>,
        indexed: Option<&IndexedColumnPage>,
    ) -> CheckpointResult<()> {
        let head = verified?;
        let in_page = |error| self.file.in_page(page, error);
        let Some(indexed) = indexed else {
            if head.kind == PageKind::LongValues {
                return Ok(());
            }
            return Err(in_page(wrong(4, format!("a page of long values expected, found {:?}", head.kind))));
        };
        let first = if head.flags.has(PageFlags::RANKS) { head.rank } else { u64::from(head.first_vertex.0) };
        let expected =
            (PageKind::Column, indexed.flags, indexed.subject, indexed.property_key, indexed.first);
        let found = (head.kind, head.flags, head.subject, head.property_key, first);
        if expected != found {
            let text = format!("the page of the index, {expected:?}, expected, found {found:?}");
            return Err(in_page(wrong(4, text)));
        }
        self.column(page, &head, bytes)
    }

    fn column(&mut self, page: PageNumber, head: &PageHead, bytes: &PageBytes) -> CheckpointResult<()> {
        let file = self.file;
        let in_page = |error| file.in_page(page, error);
        let first_ts = self.stored.first_ts;
        let column = ColumnPage::open(bytes).map_err(in_page)?;
        column.check(first_ts).map_err(in_page)?;
        let (mut positions, mut stamps) = (Vec::new(), Vec::new());
        column.positions_into(&mut positions).map_err(in_page)?;
        column.stamps_into(first_ts, 0..positions.len(), &mut stamps).map_err(in_page)?;
        let is_stamped = self.stored.stamps == FileStamps::Stamped;
        let in_range = |stamp: &Timestamp| first_ts <= *stamp && *stamp <= self.stored.last_ts;
        if head.flags.has(PageFlags::STAMPS) != is_stamped || !stamps.iter().all(in_range) {
            return Err(in_page(wrong(5, "stamps of the file's commits expected".to_owned())));
        }
        let (Some(first), Some(last)) = (positions.first(), positions.last()) else {
            return Err(in_page(wrong(6, "a page with records expected".to_owned())));
        };
        let stamp = |at: Option<&Timestamp>| at.copied().unwrap_or(Timestamp::ZERO);
        let key = (head.subject, head.property_key);
        if let Some((of, before, before_stamp)) = self.last
            && of == key
            && (before > *first || (before == *first && before_stamp <= stamp(stamps.first())))
        {
            return Err(in_page(wrong(32, "records behind those of the page before expected".to_owned())));
        }
        self.last = Some((key, *last, stamp(stamps.last())));
        let is_of_ranks = head.flags.has(PageFlags::RANKS);
        if let Some(Some(count)) = self.values.and_then(|values| values.get(&head.subject))
            && is_of_ranks
            && last >= count
        {
            return Err(in_page(wrong(24, format!("ranks below {count} expected, found {last}"))));
        }
        let is_known = self.values.is_none_or(|values| values.contains_key(&head.subject));
        if !is_known || is_of_ranks == (head.subject == Subject::VERTICES) {
            return Err(in_page(wrong(8, format!("no such column of {} expected", head.subject))));
        }
        column.long_values().try_for_each(|(_, reference)| self.long_value(reference))
    }

    fn long_value(&self, reference: LongReference) -> CheckpointResult<()> {
        let mut reader = LongValueReader::new(reference);
        for number in reference.pages() {
            let page = PageNumber(u32::try_from(number).unwrap_or(u32::MAX));
            let bytes = self.file.read_page(page)?;
            reader.add(&bytes).map_err(|error| self.file.in_page(page, error))?;
        }
        let value = reader.finish();
        value.map(drop).map_err(|error: DecodeError| -> CheckpointError {
            let DecodeError { expected, .. } = error;
            self.file.corrupt(reference.page.offset(), format!("a long value from here on: {expected}"))
        })
    }
}

fn wrong(offset: usize, expected: String) -> DecodeError {
    DecodeError { offset, expected }
}
