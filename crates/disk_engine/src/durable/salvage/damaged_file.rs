//! Damaged file: one of the two files of a number, of which some bytes may be wrong.
//!
//! ```text
//! footer right        its pages; the index if that verifies too
//! footer damaged      as many pages as fit into the file: each one verifies by itself, or is skipped
//! another footer      another file: nothing of it is used, since pages of equal names and places look alike
//! missing             nothing
//! ```

use crate::format::file_head::{FileHead, FileHeadError};
use crate::format::file_name::{CsrFileName, FILE_HEAD_BYTES, FileContent, PAGE_BYTES, PageNumber};
use crate::format::footer::{FOOTER_BYTES, Footer};
use crate::format::page::{PageBytes, PageHead, verify};
use crate::stored_file::{StoredFile, StoredPart};
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::io::directory::{Directory, File, OpenMode};
use evergraph_storage::io::error::IoError;
use evergraph_storage::salvage::loss::Damage;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

/// Pages of one read.
const SPAN_PAGES: u32 = 64;

/// A file as far as it can be used.
pub(super) struct DamagedFile {
    name: CsrFileName,
    path: PathBuf,
    /// None if nothing of it is used.
    file: Option<Arc<dyn File>>,
    /// How many pages it has, or may have.
    pub pages: u32,
    /// Whether none is missing at the end: the footer or the length says so.
    pub is_ended: bool,
    /// The bytes of its index, if they verify.
    pub index: Option<Vec<u8>>,
    /// What is wrong with it apart from its pages.
    pub damage: Vec<Damage>,
    /// The pages that were read last, and the first of them.
    span: (u32, Vec<u8>),
}

impl DamagedFile {
    /// Opens it as far as it can be.
    ///
    /// # Errors
    /// `NewerFormat`, and what the system says, unless it tells of damage.
    pub(super) fn open(
        directory: &dyn Directory,
        stored: &StoredFile,
        content: FileContent,
        part: &StoredPart,
    ) -> CheckpointResult<Self> {
        let name = CsrFileName::new(stored.number, content);
        let path = directory.path(&name.to_string());
        let mut opened = Self {
            name,
            path,
            file: None,
            pages: 0,
            is_ended: false,
            index: None,
            damage: Vec::new(),
            span: (0, Vec::new()),
        };
        let file = match directory.open(&name.to_string(), OpenMode::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                opened.note(0, part.bytes, "the file is missing");
                return Ok(opened);
            }
            Err(error) => {
                opened.note_read(0, part.bytes, error)?;
                return Ok(opened);
            }
        };
        opened.look(&*file, stored, part)?;
        if opened.is_ended || opened.pages > 0 {
            opened.file = Some(file);
        }
        Ok(opened)
    }

    /// Reads head, footer and index.
    fn look(&mut self, file: &dyn File, stored: &StoredFile, part: &StoredPart) -> CheckpointResult<()> {
        let bytes = file.len()?;
        let is_another = |this: &mut Self, problem: &str| {
            this.note(0, bytes, &format!("another file than the manifest names: {problem}"));
        };
        let mut head = Box::new([0; FILE_HEAD_BYTES]);
        match read(file, &mut head[..], 0) {
            Ok(()) => match FileHead::decode(&head, self.name) {
                Ok(head) => {
                    let expected = (stored.stamps, stored.first_ts, stored.last_ts);
                    if (head.stamps, head.first_ts, head.last_ts) != expected {
                        is_another(self, "it has other commits");
                        return Ok(());
                    }
                }
                Err(FileHeadError::NewerFormat { found, supported }) => {
                    return Err(CheckpointError::NewerFormat { file: self.path.clone(), found, supported });
                }
                Err(FileHeadError::Corrupt(error)) => self.note(0, FILE_HEAD_BYTES as u64, &error.expected),
            },
            Err(error) => self.note_read(0, FILE_HEAD_BYTES as u64, error)?,
        }
        let fitting = bytes.saturating_sub(FILE_HEAD_BYTES as u64) / PAGE_BYTES as u64;
        self.pages = u32::try_from(fitting).unwrap_or(u32::MAX);
        let Some(footer_at) = bytes.checked_sub(FOOTER_BYTES as u64) else {
            self.note(0, part.bytes, &format!("{} bytes expected, found {bytes}", part.bytes));
            return Ok(());
        };
        let mut footer = [0; FOOTER_BYTES];
        if let Err(error) = read(file, &mut footer, footer_at) {
            return self.note_read(footer_at, FOOTER_BYTES as u64, error);
        }
        let footer = match Footer::decode(&footer, self.name, bytes) {
            Ok(footer) if footer.crc != part.footer_crc => {
                self.pages = 0;
                is_another(self, "its footer has another checksum");
                return Ok(());
            }
            Ok(footer) => footer,
            Err(error) => {
                let problem = match bytes == part.bytes {
                    true => error.expected,
                    false => format!("{} bytes expected, found {bytes}", part.bytes),
                };
                self.note(footer_at, FOOTER_BYTES as u64, &problem);
                self.is_ended = bytes == part.bytes;
                return Ok(());
            }
        };
        (self.pages, self.is_ended) = (footer.pages, true);
        for (section, is_index) in [(footer.index, true), (footer.directory, false)] {
            let mut bytes = vec![0; section.length as usize];
            if let Err(error) = read(file, &mut bytes, section.offset) {
                self.note_read(section.offset, section.length, error)?;
                continue;
            }
            match section.verify(&bytes, self.name) {
                Ok(()) if is_index => self.index = Some(bytes),
                Ok(()) => {}
                Err(error) => self.note(section.offset, section.length, &error.expected),
            }
        }
        Ok(())
    }

    /// Notes damage that is none of a page.
    pub(super) fn note(&mut self, offset: u64, length: u64, problem: &str) {
        let (file, problem) = (self.path.clone(), problem.to_owned());
        self.damage.push(Damage { file, offset, length, problem });
    }

    fn note_read(&mut self, offset: u64, length: u64, error: IoError) -> CheckpointResult<()> {
        if !is_damage(&error) {
            return Err(error.into());
        }
        self.note(offset, length, &error.to_string());
        Ok(())
    }

    /// Whether anything of it is used.
    pub(super) fn is_there(&self) -> bool {
        self.file.is_some()
    }

    /// The damage of a page.
    pub(super) fn page_damage(&self, page: PageNumber, problem: String) -> Damage {
        Damage { file: self.path.clone(), offset: page.offset(), length: PAGE_BYTES as u64, problem }
    }

    /// Reads a page; the damage if it doesn't verify. Pages that are read in order come from long reads.
    ///
    /// # Errors
    /// What the system says, unless it tells of damage.
    pub(super) fn page(
        &mut self,
        page: PageNumber,
    ) -> CheckpointResult<std::result::Result<(PageHead, Box<PageBytes>), Damage>> {
        let (first, span) = &self.span;
        let at = page.0.checked_sub(*first).map(|at| at as usize * PAGE_BYTES);
        let bytes = match at.and_then(|at| span.get(at..at + PAGE_BYTES)) {
            Some(bytes) => bytes,
            None => match self.read_span(page)? {
                Ok(()) => &self.span.1[..PAGE_BYTES],
                Err(damage) => return Ok(Err(damage)),
            },
        };
        let mut copy = Box::new([0; PAGE_BYTES]);
        copy.copy_from_slice(bytes);
        Ok(match verify(&copy, self.name.seed().page(page)) {
            Ok(head) => Ok((head, copy)),
            Err(error) => Err(self.page_damage(page, error.expected)),
        })
    }

    /// Reads pages from this one on, or it alone where that fails.
    fn read_span(&mut self, page: PageNumber) -> CheckpointResult<std::result::Result<(), Damage>> {
        let missing = || format!("a page expected, the file has {}", self.pages);
        let Some(file) = self.file.clone().filter(|_| page.0 < self.pages) else {
            return Ok(Err(self.page_damage(page, missing())));
        };
        // Who reads here and there gets what it asks for.
        let (first, span) = &self.span;
        let is_next = page.0 == 0 || page.0 == first + (span.len() / PAGE_BYTES) as u32;
        let wide = if is_next { (self.pages - page.0).min(SPAN_PAGES) as usize } else { 1 };
        for count in [wide, 1] {
            let mut bytes = std::mem::take(&mut self.span.1);
            bytes.resize(count * PAGE_BYTES, 0);
            match read(&*file, &mut bytes, page.offset()) {
                Ok(()) => {
                    self.span = (page.0, bytes);
                    return Ok(Ok(()));
                }
                Err(error) if !is_damage(&error) => return Err(error.into()),
                Err(error) if count == 1 => return Ok(Err(self.page_damage(page, error.to_string()))),
                Err(_) => {}
            }
        }
        Ok(Err(self.page_damage(page, "it can't be read".to_owned())))
    }
}

fn read(file: &dyn File, bytes: &mut [u8], offset: u64) -> Result<(), IoError> {
    file.read_at(bytes, offset)
}

/// Whether a failed operation tells of damage rather than of rights or limits.
fn is_damage(error: &IoError) -> bool {
    !matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::OutOfMemory)
}
