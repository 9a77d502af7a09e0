//! Entry scan: entries of a file's indexes in key order, as a merge reads them.
//!
//! The records of one entry come from the oldest to the newest; a file has them the other way round. Those that go on
//! over the end of a page are held back until the last of them was read.

use crate::file::csr_file::CsrFile;
use crate::file::page_scan::{PageScan, ScanWindow};
use crate::format::entries::entry::EntryRecord;
use crate::format::entries::page::EntryPage;
use crate::format::operation::RecordOperation;
use crate::format::subject::{Subject, SubjectKind};
use crate::merge::entry_merge::EntrySource;
use evergraph_graph::bytes::DecodeError;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

/// A record whose value bytes lie in a buffer.
#[derive(Clone, Debug)]
struct ScannedEntry {
    subject: Subject,
    value: Range<usize>,
    item: ItemId,
    operation: RecordOperation,
    stamp: Timestamp,
}

/// Records in the order of merges, with their value bytes.
#[derive(Debug, Default)]
struct ScannedEntries {
    records: Vec<ScannedEntry>,
    value_bytes: Vec<u8>,
}

impl ScannedEntries {
    fn push(&mut self, subject: Subject, record: &EntryRecord<'_>) {
        let start = self.value_bytes.len();
        self.value_bytes.extend_from_slice(record.value);
        let EntryRecord { item, operation, stamp, .. } = *record;
        self.records.push(ScannedEntry {
            subject,
            value: start..self.value_bytes.len(),
            item,
            operation,
            stamp,
        });
    }

    fn get(&self, at: usize) -> Option<(Subject, EntryRecord<'_>)> {
        let ScannedEntry { subject, value, item, operation, stamp } = self.records.get(at)?;
        let value = &self.value_bytes[value.clone()];
        Some((*subject, EntryRecord { value, item: *item, operation: *operation, stamp: *stamp }))
    }

    fn clear(&mut self) {
        self.records.clear();
        self.value_bytes.clear();
    }
}

/// Reads entries of a file's indexes in key order, past the cache.
///
/// # Concurrency
/// One thread; the reads ahead are the pool's. It holds [`PageScan::WINDOW_BYTES_MAX`] bytes of pages, and a decoded one.
#[derive(Debug)]
pub struct EntryScan {
    file: Arc<CsrFile>,
    pages: PageScan,
    entries: ScannedEntries,
    /// Records of one entry, the newest first, the last of which was perhaps not read yet.
    held: ScannedEntries,
    /// The record in front.
    at: usize,
}

impl EntryScan {
    /// Scans the indexes in `subjects`. Cost: waits for the first read.
    ///
    /// # Errors
    /// As [`EntrySource::advance`].
    pub fn new(file: &Arc<CsrFile>, subjects: RangeInclusive<Subject>) -> CheckpointResult<Self> {
        Self::with_window(file, subjects, ScanWindow::WIDE)
    }

    /// As [`EntryScan::new`], in as much memory as `window` says.
    ///
    /// # Errors
    /// As [`EntrySource::advance`].
    pub fn with_window(
        file: &Arc<CsrFile>,
        subjects: RangeInclusive<Subject>,
        window: ScanWindow,
    ) -> CheckpointResult<Self> {
        let pages = file.topology_index.pages();
        let is_index = |subject: Subject| {
            matches!(subject.kind(), SubjectKind::Index(_)) && subject >= *subjects.start()
        };
        let start = pages.partition_point(|page| !is_index(page.subject));
        let end = pages.partition_point(|page| page.subject <= *subjects.end()).max(start);
        let pages = PageScan::with_window(file, start..end, window);
        let (entries, held) = (ScannedEntries::default(), ScannedEntries::default());
        let mut scan = Self { file: Arc::clone(file), pages, entries, held, at: 0 };
        scan.fill()?;
        Ok(scan)
    }

    fn fill(&mut self) -> CheckpointResult<()> {
        self.entries.clear();
        self.at = 0;
        while self.entries.records.is_empty() {
            let Some((indexed, page)) = self.pages.next_page()? else {
                release(&mut self.held, &mut self.entries);
                return Ok(());
            };
            let damaged = |error: DecodeError| self.file.topology.page_error(indexed.page, &error);
            let page = EntryPage::open(page).map_err(damaged)?;
            let mut cursor = page.entries(self.file.stored().first_ts).map_err(damaged)?;
            while let Some(record) = cursor.next().map_err(damaged)? {
                let key = (indexed.subject, record.key());
                if self.held.get(0).is_some_and(|(subject, held)| (subject, held.key()) != key) {
                    release(&mut self.held, &mut self.entries);
                }
                self.held.push(indexed.subject, &record);
            }
        }
        Ok(())
    }
}

/// Moves the records of one entry, turning their order.
fn release(held: &mut ScannedEntries, entries: &mut ScannedEntries) {
    for at in (0..held.records.len()).rev() {
        if let Some((subject, record)) = held.get(at) {
            entries.push(subject, &record);
        }
    }
    held.clear();
}

impl EntrySource for EntryScan {
    type Error = CheckpointError;

    fn entry(&self) -> Option<(Subject, EntryRecord<'_>)> {
        self.entries.get(self.at)
    }

    fn advance(&mut self) -> CheckpointResult<()> {
        self.at += 1;
        if self.at < self.entries.records.len() {
            return Ok(());
        }
        let filled = self.fill();
        if filled.is_err() {
            self.entries.clear();
        }
        filled
    }
}
