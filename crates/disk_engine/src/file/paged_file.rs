//! Paged file: one of the two files of a number, opened and checked but for its pages.
//!
//! ```text
//! open     length, head, footer (its crc is the manifest's), index, directory
//! later    page after page, each verified for its place
//! ```
//!
//! The handle is one of a table's, which closes it when others are read, and opens it again. Whoever removes the file's
//! name keeps the file open before: it is readable for as long as somebody holds it.

use crate::counters::ReadCounters;
use crate::format::file_head::{FileHead, FileHeadError};
use crate::format::file_name::{CsrFileName, FILE_HEAD_BYTES, FileContent, FileSeed, PAGE_BYTES, PageNumber};
use crate::format::footer::{FOOTER_BYTES, FileSection, Footer};
use crate::format::page::{PageBytes, verify};
use crate::stored_file::{StoredFile, StoredPart};
use evergraph_graph::bytes::DecodeError;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::io::directory::{Directory, File, OpenMode};
use evergraph_storage::io::error::IoError;
use evergraph_storage::io::handle_table::{HandleTable, TableFile};
use evergraph_storage::io::page::{ALIGNMENT_BYTES, AlignedBuffer};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

/// Where a file is opened.
#[derive(Clone, Copy, Debug)]
pub(super) enum FileSource<'a> {
    /// Its handle is one of a table's.
    Table(&'a Arc<HandleTable>, &'a Arc<dyn Directory>),
    /// In a directory that is only lent, so that it can't be opened again: it stays open.
    Lent(&'a dyn Directory),
}

impl FileSource<'_> {
    fn path(&self, name: &str) -> PathBuf {
        match self {
            Self::Table(_, directory) => directory.path(name),
            Self::Lent(directory) => directory.path(name),
        }
    }

    fn open(&self, name: &str) -> Result<OpenedFile, IoError> {
        Ok(match self {
            Self::Table(table, directory) => {
                OpenedFile::InTable(Arc::new(table.open(directory, name, OpenMode::ReadDirect)?))
            }
            Self::Lent(directory) => OpenedFile::Lasting(directory.open(name, OpenMode::ReadDirect)?),
        })
    }
}

/// An open file, or one that is opened when it is read.
#[derive(Clone, Debug)]
enum OpenedFile {
    InTable(Arc<TableFile>),
    Lasting(Arc<dyn File>),
}

/// A file of pages.
///
/// # Concurrency
/// Immutable. Any thread reads.
#[derive(Clone, Debug)]
pub struct PagedFile {
    opened: OpenedFile,
    /// The same, to read.
    handle: Arc<dyn File>,
    name: CsrFileName,
    seed: FileSeed,
    pages: u32,
    level: u8,
    reads: Arc<ReadCounters>,
}

/// What stands behind the pages of a file.
#[derive(Debug)]
pub(super) struct FileTail {
    bytes: AlignedBuffer,
    /// Where `bytes` begins in the file.
    start: u64,
    index: FileSection,
    directory: FileSection,
}

impl FileTail {
    pub(super) fn index(&self) -> &[u8] {
        self.section(&self.index)
    }

    pub(super) fn directory(&self) -> &[u8] {
        self.section(&self.directory)
    }

    /// The place of an error in the index.
    pub(super) fn index_offset(&self) -> u64 {
        self.index.offset
    }

    /// The place of an error in the directory.
    pub(super) fn directory_offset(&self) -> u64 {
        self.directory.offset
    }

    fn section(&self, section: &FileSection) -> &[u8] {
        // The footer was checked: sections lie between the pages and the end.
        let start = (section.offset - self.start) as usize;
        &self.bytes[start..start + section.length as usize]
    }
}

impl PagedFile {
    /// Opens the file of `stored` with this content, which has the length and the footer that `part` says.
    ///
    /// Cost: three reads, of the head, the footer and what stands between the pages and it.
    ///
    /// # Errors
    /// [`CheckpointError::Corrupt`], also if the file is missing; [`CheckpointError::NewerFormat`]; what the system
    /// says.
    pub(super) fn open(
        source: FileSource<'_>,
        stored: &StoredFile,
        content: FileContent,
        part: &StoredPart,
        reads: &Arc<ReadCounters>,
    ) -> CheckpointResult<(Self, FileTail)> {
        let name = CsrFileName::new(stored.number, content);
        let path = name.to_string();
        let opened = match source.open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let (file, problem) = (source.path(&path), "the file is missing".to_owned());
                return Err(CheckpointError::Corrupt { file, offset: 0, problem });
            }
            opened => opened?,
        };
        let handle: Arc<dyn File> = match &opened {
            OpenedFile::InTable(file) => Arc::clone(file) as _,
            OpenedFile::Lasting(file) => Arc::clone(file),
        };
        let (level, reads) = (stored.level, Arc::clone(reads));
        let mut file = Self { opened, handle, name, seed: name.seed(), pages: 0, level, reads };
        let length = file.handle.len()?;
        let block = ALIGNMENT_BYTES as u64;
        if length != part.bytes || !length.is_multiple_of(block) || length < FILE_HEAD_BYTES as u64 + block {
            let problem = format!("a file of {} bytes expected, found {length}", part.bytes);
            return Err(file.corrupt(length.min(part.bytes), problem));
        }
        file.check_head(stored)?;
        let footer = file.read_footer(length, part)?;
        file.pages = footer.pages;
        let tail = file.read_tail(&footer, length)?;
        Ok((file, tail))
    }

    /// The file's name.
    #[must_use]
    pub const fn name(&self) -> CsrFileName {
        self.name
    }

    /// Number of pages.
    #[must_use]
    #[inline]
    pub const fn pages(&self) -> u32 {
        self.pages
    }

    /// The file, to read. Cost: none; a read may open it again first.
    #[must_use]
    #[inline]
    pub const fn handle(&self) -> &Arc<dyn File> {
        &self.handle
    }

    /// Keeps the file open until it is dropped, and opens it if it isn't: before its name goes.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn keep_open(&self) -> Result<(), IoError> {
        match &self.opened {
            OpenedFile::InTable(file) => file.keep_open(),
            OpenedFile::Lasting(_) => Ok(()),
        }
    }

    /// Counts a page that was read, and compares its checksum with that of `page`. Cost: about 1.5 us.
    ///
    /// # Errors
    /// [`CheckpointError::Corrupt`].
    pub fn verify(&self, page: PageNumber, bytes: &PageBytes) -> CheckpointResult<()> {
        self.reads.read_page(self.level);
        match verify(bytes, self.seed.page(page)) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.page_error(page, &error)),
        }
    }

    /// The error for bytes of a page that cannot be decoded.
    #[must_use]
    pub fn page_error(&self, page: PageNumber, error: &DecodeError) -> CheckpointError {
        self.corrupt(page.offset() + error.offset as u64, error.expected.clone())
    }

    /// The error for what is wrong from byte `offset` on.
    #[must_use]
    pub fn corrupt(&self, offset: u64, problem: impl Into<String>) -> CheckpointError {
        CheckpointError::Corrupt { file: self.handle.path().to_owned(), offset, problem: problem.into() }
    }

    fn check_head(&self, stored: &StoredFile) -> CheckpointResult<()> {
        let mut buffer = AlignedBuffer::zeroed(FILE_HEAD_BYTES);
        self.handle.read_at(&mut buffer, 0)?;
        let bytes = buffer.first_chunk().expect("the buffer is as long as a head");
        let head = match FileHead::decode(bytes, self.name) {
            Ok(head) => head,
            Err(FileHeadError::NewerFormat { found, supported }) => {
                let file = self.handle.path().to_owned();
                return Err(CheckpointError::NewerFormat { file, found, supported });
            }
            Err(FileHeadError::Corrupt(error)) => {
                return Err(self.corrupt(error.offset as u64, error.expected));
            }
        };
        // The level is the manifest's: a file moves down without being written again.
        let expected = (stored.stamps, stored.first_ts, stored.last_ts);
        let found = (head.stamps, head.first_ts, head.last_ts);
        if expected != found {
            return Err(self.corrupt(24, format!("the head of {expected:?} expected, found {found:?}")));
        }
        Ok(())
    }

    fn read_footer(&self, length: u64, part: &StoredPart) -> CheckpointResult<Footer> {
        let mut block = AlignedBuffer::zeroed(ALIGNMENT_BYTES);
        self.handle.read_at(&mut block, length - ALIGNMENT_BYTES as u64)?;
        let bytes = block.last_chunk().expect("a block is longer than a footer");
        let offset = length - FOOTER_BYTES as u64;
        let footer = Footer::decode(bytes, self.name, length);
        let footer = footer.map_err(|error| self.corrupt(offset + error.offset as u64, error.expected))?;
        if footer.crc != part.footer_crc {
            let (expected, found) = (part.footer_crc, footer.crc);
            let problem = format!("the footer with crc {expected:#010x} expected, found {found:#010x}");
            return Err(self.corrupt(offset, problem));
        }
        Ok(footer)
    }

    fn read_tail(&self, footer: &Footer, length: u64) -> CheckpointResult<FileTail> {
        // At a multiple of a block: head and pages are.
        let start = PageNumber(footer.pages).offset();
        let mut bytes = AlignedBuffer::zeroed((length - start) as usize);
        self.handle.read_at(&mut bytes, start)?;
        let tail = FileTail { bytes, start, index: footer.index, directory: footer.directory };
        for section in [&tail.index, &tail.directory] {
            let sound = section.verify(tail.section(section), self.name);
            sound.map_err(|error| self.corrupt(section.offset + error.offset as u64, error.expected))?;
        }
        Ok(tail)
    }
}

const _: () = assert!(PAGE_BYTES.is_multiple_of(ALIGNMENT_BYTES) && FILE_HEAD_BYTES == ALIGNMENT_BYTES);
