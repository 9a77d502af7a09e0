//! Page file: one file of pages while it is written, by direct I/O in spans of 1 MiB.
//!
//! ```text
//! buffer   head 4,096 | 4, 16, then 64 pages  written as a whole the first time, then from the pages on
//! end      index, directory, zeros, footer    in the same buffer, behind the last page
//! ```
//!
//! Until it is kept, the file is removed when it is dropped. An error may leave any part of the bytes in the file, so
//! that nothing can follow it.

use crate::format::file_head::FileHead;
use crate::format::file_name::{CsrFileName, FILE_HEAD_BYTES, FileSeed, PAGE_BYTES, PageNumber};
use crate::format::footer::Footer;
use crate::format::page::{PageBytes, seal};
use crate::stored_file::StoredPart;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::io::directory::{Directory, File, OpenMode};
use evergraph_storage::io::page::AlignedBuffer;
use std::sync::Arc;

/// Pages of a span.
pub(super) const SPAN_PAGES: usize = 64;
/// Pages that a buffer begins with: most files of a small store have no more.
const FIRST_PAGES: usize = 4;
/// How many times as long a buffer becomes, until it holds a span.
const GROWTH: usize = 4;

/// A file that is being written.
#[derive(Debug)]
pub(super) struct PageFile {
    unfinished: UnfinishedFile,
    file: Arc<dyn File>,
    name: CsrFileName,
    seed: FileSeed,
    buffer: AlignedBuffer,
    /// Where in the buffer the bytes begin that are not written.
    start: usize,
    /// Where they end.
    end: usize,
    /// Where in the file they begin.
    offset: u64,
    pages: u32,
    has_failed: bool,
}

impl PageFile {
    /// Creates the file of `head`. Cost: a system call or two; 1 MiB of memory, once the file is so long.
    ///
    /// # Errors
    /// Those of the directory. A file that existed before is left alone.
    pub(super) fn create(directory: &Arc<dyn Directory>, head: &FileHead) -> CheckpointResult<Self> {
        let name = head.name.to_string();
        drop(directory.create(&name)?);
        let unfinished = UnfinishedFile { directory: Arc::clone(directory), name, is_kept: false };
        let file = directory.open(&unfinished.name, OpenMode::WriteDirect)?;
        let mut buffer = AlignedBuffer::zeroed(FILE_HEAD_BYTES + FIRST_PAGES * PAGE_BYTES);
        buffer[..FILE_HEAD_BYTES].copy_from_slice(&*head.encode());
        Ok(Self {
            unfinished,
            file,
            name: head.name,
            seed: head.name.seed(),
            buffer,
            start: 0,
            end: FILE_HEAD_BYTES,
            offset: 0,
            pages: 0,
            has_failed: false,
        })
    }

    /// Bytes of head and pages so far, written or not.
    pub(super) fn bytes(&self) -> u64 {
        PageNumber(self.pages).offset()
    }

    /// Appends the page that `build` writes, all but its checksum. Cost: 1.5 us for the checksum; at the end of a
    /// span, its write.
    ///
    /// # Errors
    /// If the write fails. Nothing can be appended then.
    ///
    /// # Panics
    /// If a write failed before.
    pub(super) fn append<T>(&mut self, build: impl FnOnce(&mut PageBytes) -> T) -> CheckpointResult<T> {
        self.make_room(PAGE_BYTES)?;
        let slot = &mut self.buffer[self.end..self.end + PAGE_BYTES];
        let page: &mut PageBytes = slot.try_into().expect("the slot has the length of a page");
        let built = build(page);
        seal(page, self.seed.page(PageNumber(self.pages)));
        self.end += PAGE_BYTES;
        self.pages = self.pages.checked_add(1).expect("files are cut long before they have 64 TiB");
        Ok(built)
    }

    /// Writes all that is left: pages, index, directory and footer.
    ///
    /// # Errors
    /// If a write fails.
    ///
    /// # Panics
    /// If one failed before.
    pub(super) fn write_end(&mut self, index: &[u8], directory: &[u8]) -> CheckpointResult<StoredPart> {
        let (footer, bytes) = Footer::encode(self.name, self.pages, index, directory);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            self.make_room(1)?;
            let (part, others) = rest.split_at(rest.len().min(self.buffer.len() - self.end));
            self.buffer[self.end..self.end + part.len()].copy_from_slice(part);
            self.end += part.len();
            rest = others;
        }
        self.write_span()?;
        Ok(StoredPart { bytes: self.offset, footer_crc: footer.crc })
    }

    /// Makes the file's bytes durable; its name is when the directory is synced.
    ///
    /// # Errors
    /// Those of the file.
    pub(super) fn sync(&self) -> CheckpointResult<()> {
        Ok(self.file.sync_data()?)
    }

    /// Lets the file stay.
    pub(super) fn keep(mut self) {
        self.unfinished.is_kept = true;
    }

    fn make_room(&mut self, bytes: usize) -> CheckpointResult<()> {
        if self.buffer.len() - self.end >= bytes {
            return Ok(());
        }
        let pages = (self.buffer.len() - FILE_HEAD_BYTES) / PAGE_BYTES;
        if pages >= SPAN_PAGES {
            return self.write_span();
        }
        let longer = FILE_HEAD_BYTES + (pages * GROWTH).min(SPAN_PAGES) * PAGE_BYTES;
        let filled = std::mem::replace(&mut self.buffer, AlignedBuffer::zeroed(longer));
        self.buffer[..self.end].copy_from_slice(&filled[..self.end]);
        Ok(())
    }

    fn write_span(&mut self) -> CheckpointResult<()> {
        assert!(!self.has_failed, "a file whose write failed is removed, not continued");
        let bytes = &self.buffer[self.start..self.end];
        // Taken back below: a panic on the way is a failure as well.
        self.has_failed = true;
        self.file.write_at(bytes, self.offset)?;
        self.has_failed = false;
        self.offset += bytes.len() as u64;
        (self.start, self.end) = (FILE_HEAD_BYTES, FILE_HEAD_BYTES);
        Ok(())
    }
}

/// A name that is removed, unless it is kept. If that fails the file stays, unnamed by any manifest, until the database
/// is opened.
#[derive(Debug)]
struct UnfinishedFile {
    directory: Arc<dyn Directory>,
    name: String,
    is_kept: bool,
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        if !self.is_kept {
            drop(self.directory.remove(&self.name));
        }
    }
}
