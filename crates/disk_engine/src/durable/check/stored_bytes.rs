//! Stored bytes: one of the two files of a number as it lies on disk, read past everything that trusts it.

use crate::durable::files::missing_file;
use crate::format::directory::{DirectoryRow, decode_directory};
use crate::format::file_head::{FileHead, FileHeadError};
use crate::format::file_name::{CsrFileName, FILE_HEAD_BYTES, FileContent, FileSeed, PAGE_BYTES, PageNumber};
use crate::format::footer::{FOOTER_BYTES, FileSection, Footer};
use crate::format::page::{PageBytes, PageHead, verify};
use crate::stored_file::{StoredFile, StoredPart};
use evergraph_graph::bytes::DecodeError;
use evergraph_graph::error::Result;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::io::directory::{Directory, File, OpenMode};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

/// Pages of one read.
pub(super) const SPAN_PAGES: u32 = 64;

/// Is called with a page, and its head if its checksum is right.
pub(super) type OnPage<'a> = dyn FnMut(PageNumber, &PageBytes, CheckpointResult<PageHead>) -> Result<()> + 'a;

/// An open file whose end was verified.
pub(super) struct StoredBytes {
    file: Arc<dyn File>,
    path: PathBuf,
    seed: FileSeed,
    /// How many pages it has.
    pub pages: u32,
    /// The bytes of the page index, which were verified.
    pub index: Vec<u8>,
    /// Where they begin.
    pub index_offset: u64,
    /// The directory; empty in a file of columns.
    pub directory: Vec<DirectoryRow>,
    /// Where it begins.
    pub directory_offset: u64,
    /// How many bytes were compared with a checksum.
    pub checked_bytes: u64,
}

impl StoredBytes {
    /// Opens the file and verifies everything but its pages.
    ///
    /// # Errors
    /// `Corrupt` for what is wrong first; `NewerFormat`; what the system says.
    pub(super) fn open(
        directory: &dyn Directory,
        stored: &StoredFile,
        content: FileContent,
        part: &StoredPart,
    ) -> CheckpointResult<Self> {
        let name = CsrFileName::new(stored.number, content);
        let path = directory.path(&name.to_string());
        let file = match directory.open(&name.to_string(), OpenMode::Read) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(missing_file(directory, name)),
            opened => opened?,
        };
        let corrupt =
            |offset: u64, problem: String| CheckpointError::Corrupt { file: path.clone(), offset, problem };
        let bytes = file.len()?;
        if bytes != part.bytes || bytes < (FILE_HEAD_BYTES + FOOTER_BYTES) as u64 {
            return Err(corrupt(0, format!("{} bytes expected, found {bytes}", part.bytes)));
        }
        let mut head = Box::new([0; FILE_HEAD_BYTES]);
        file.read_at(&mut head[..], 0)?;
        let head = FileHead::decode(&head, name).map_err(|error| match error {
            FileHeadError::NewerFormat { found, supported } => {
                CheckpointError::NewerFormat { file: path.clone(), found, supported }
            }
            FileHeadError::Corrupt(error) => corrupt(error.offset as u64, error.expected),
        })?;
        if (head.stamps, head.first_ts, head.last_ts) != (stored.stamps, stored.first_ts, stored.last_ts) {
            let (first, last) = (stored.first_ts, stored.last_ts);
            let expected = format!("{:?} with the commits {first} to {last} expected", stored.stamps);
            let found = format!("{:?} with {} to {}", head.stamps, head.first_ts, head.last_ts);
            return Err(corrupt(24, format!("{expected}, found {found}")));
        }
        let mut footer = [0; FOOTER_BYTES];
        let footer_offset = bytes - FOOTER_BYTES as u64;
        file.read_at(&mut footer, footer_offset)?;
        let footer = Footer::decode(&footer, name, bytes)
            .map_err(|error| corrupt(footer_offset + error.offset as u64, error.expected))?;
        if footer.crc != part.footer_crc {
            let (expected, found) = (part.footer_crc, footer.crc);
            let problem = format!("the footer with crc {expected:#010x} expected, found {found:#010x}");
            return Err(corrupt(footer_offset, problem));
        }
        let section = |section: &FileSection| {
            let mut bytes = vec![0; section.length as usize];
            file.read_at(&mut bytes, section.offset)?;
            section
                .verify(&bytes, name)
                .map_err(|error| corrupt(section.offset + error.offset as u64, error.expected))?;
            Ok::<_, CheckpointError>(bytes)
        };
        let (index, rows) = (section(&footer.index)?, section(&footer.directory)?);
        let directory_offset = footer.directory.offset;
        let directory_rows = decode_directory(&rows)
            .map_err(|error| corrupt(directory_offset + error.offset as u64, error.expected))?;
        let zeros_offset = directory_offset + footer.directory.length;
        let mut zeros = vec![0; (footer_offset - zeros_offset) as usize];
        file.read_at(&mut zeros, zeros_offset)?;
        if let Some(at) = zeros.iter().position(|byte| *byte != 0) {
            return Err(corrupt(zeros_offset + at as u64, "a zero byte expected".to_owned()));
        }
        Ok(Self {
            file,
            path,
            seed: name.seed(),
            pages: footer.pages,
            checked_bytes: bytes - u64::from(footer.pages) * PAGE_BYTES as u64,
            index,
            index_offset: footer.index.offset,
            directory: directory_rows,
            directory_offset,
        })
    }

    /// The error of something wrong at byte `offset`.
    pub(super) fn corrupt(&self, offset: u64, problem: impl Into<String>) -> CheckpointError {
        CheckpointError::Corrupt { file: self.path.clone(), offset, problem: problem.into() }
    }

    /// The error of something wrong in a page.
    pub(super) fn in_page(&self, page: PageNumber, error: DecodeError) -> CheckpointError {
        self.corrupt(page.offset() + error.offset as u64, error.expected)
    }

    /// Reads up to [`SPAN_PAGES`] pages from `first` on, in place of the content of `span`. None is
    /// verified.
    pub(super) fn read_span(&self, first: PageNumber, span: &mut Vec<u8>) -> CheckpointResult<()> {
        let count = (self.pages - first.0).min(SPAN_PAGES) as usize;
        span.resize(count * PAGE_BYTES, 0);
        self.file.read_at(span, first.offset())?;
        Ok(())
    }

    /// Compares the checksum of a page that was read from its place.
    ///
    /// # Errors
    /// `Corrupt`, naming what differs.
    pub(super) fn verify(&self, page: PageNumber, bytes: &PageBytes) -> CheckpointResult<PageHead> {
        verify(bytes, self.seed.page(page)).map_err(|error| self.in_page(page, error))
    }

    /// Reads one page and verifies it.
    ///
    /// # Errors
    /// `Corrupt`, also for a page behind the last one; what the system says.
    pub(super) fn read_page(&self, page: PageNumber) -> CheckpointResult<Box<PageBytes>> {
        if page.0 >= self.pages {
            return Err(
                self.corrupt(page.offset(), format!("page {} expected, found {} pages", page.0, self.pages))
            );
        }
        let mut bytes = Box::new([0; PAGE_BYTES]);
        self.file.read_at(&mut bytes[..], page.offset())?;
        self.verify(page, &bytes)?;
        Ok(bytes)
    }

    /// Calls `visit` with every page and whether it verifies, in order.
    ///
    /// # Errors
    /// What reading and `visit` say.
    pub(super) fn for_each_page(&self, visit: &mut OnPage<'_>) -> Result<()> {
        let mut span = Vec::new();
        for first in (0..self.pages).step_by(SPAN_PAGES as usize) {
            self.read_span(PageNumber(first), &mut span)?;
            for (page, bytes) in (first..).map(PageNumber).zip(span.as_chunks::<PAGE_BYTES>().0) {
                visit(page, bytes, self.verify(page, bytes))?;
            }
        }
        Ok(())
    }
}
