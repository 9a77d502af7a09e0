//! File records: a file as of one timestamp, and its pages as its readers open them.
//!
//! The questions that readers ask are in `record_source`; what they need of pages in the modules beside it.

use crate::cache::PageWorth;
use crate::file::csr_file::CsrFile;
use crate::file::page_reader::VerifiedPage;
use crate::file::visibility::Visibility;
use crate::format::file_name::PageNumber;
use crate::format::lists::page::ListPage;
use crate::format::subject::Subject;
use evergraph_graph::bytes::{DecodeError, Decoded};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use std::sync::Arc;

/// A file as of one timestamp.
///
/// # Concurrency
/// Any thread reads; a read may wait for the disk.
#[derive(Clone, Copy, Debug)]
pub struct FileRecords<'f> {
    pub(super) file: &'f CsrFile,
    pub(super) visibility: Visibility,
}

impl CsrFile {
    /// What a reader at `until` sees of the file: all of it, if its records have no stamps. Cost: none.
    #[must_use]
    #[inline]
    pub fn at(&self, until: Timestamp) -> FileRecords<'_> {
        FileRecords { file: self, visibility: Visibility::of(self.stored(), until) }
    }
}

impl FileRecords<'_> {
    /// Whether all of the file is newer than the reader.
    #[must_use]
    pub fn sees_nothing(&self) -> bool {
        self.visibility == Visibility::Nothing
    }

    /// A page of lists, if it is of `subject`.
    pub(super) fn open_lists<'p>(&self, subject: Subject, page: &'p VerifiedPage) -> Decoded<ListPage<'p>> {
        let page = ListPage::open(page.bytes())?;
        if page.head().subject == subject {
            return Ok(page);
        }
        let expected = format!("a page of {subject} expected, found one of {}", page.head().subject);
        Err(DecodeError { offset: 8, expected })
    }

    pub(super) fn topology_page(&self, page: PageNumber) -> CheckpointResult<Arc<VerifiedPage>> {
        self.file.reader.page(&self.file.topology, page, PageWorth::Ordinary)
    }

    pub(super) fn page_error(&self, page: PageNumber, error: &DecodeError) -> CheckpointError {
        self.file.topology.page_error(page, error)
    }

    /// What the stamps of the file count from.
    pub(super) fn first_ts(&self) -> Timestamp {
        self.file.stored().first_ts
    }
}
