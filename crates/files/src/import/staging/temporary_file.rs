//! `TemporaryFile`: bytes that memory does not hold, in a file without a name.
//!
//! The file goes with whoever holds it, however that ends: a killed process leaves nothing behind. Where bytes lie, their
//! length and their checksum stay in memory.

use evergraph_graph::error::{Error, ErrorKind, Result};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Whose temporary file it is, as errors say it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FilePurpose {
    /// What the bytes are for, such as `the import`.
    pub owner: &'static str,
    /// What helps if the disk is full, besides space.
    pub remedy: &'static str,
}

/// Bytes in a temporary file.
///
/// # Concurrency
/// Any thread; each place of the file belongs to whoever appended it.
#[derive(Debug)]
pub struct TemporaryFile {
    purpose: FilePurpose,
    folder: PathBuf,
    /// Made with the first byte.
    file: OnceLock<File>,
    /// Where the file ends. Whoever adds to it owns what it added.
    end: AtomicU64,
}

/// Where bytes lie in a temporary file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileSpan {
    /// Bytes from the beginning of the file.
    pub offset: u64,
    /// Bytes.
    pub length: usize,
    /// Of these bytes (CRC-32C).
    pub checksum: u32,
}

impl TemporaryFile {
    /// A file in `folder`, which is made when the first byte is written.
    #[must_use]
    pub fn new(folder: PathBuf, purpose: FilePurpose) -> Self {
        Self { purpose, folder, file: OnceLock::new(), end: AtomicU64::new(0) }
    }

    /// Bytes in the file.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    /// Writes `bytes` behind all others.
    ///
    /// # Errors
    /// `limit` on a full disk, naming the folder and what helps; `io`.
    pub fn append(&self, bytes: &[u8]) -> Result<FileSpan> {
        let offset = self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.write(bytes, offset)
    }

    /// Writes `bytes` over others.
    ///
    /// # Errors
    /// As [`TemporaryFile::append`].
    pub fn write(&self, bytes: &[u8], offset: u64) -> Result<FileSpan> {
        self.file()?.write_all_at(bytes, offset).map_err(|error| self.failed("write", error))?;
        Ok(FileSpan { offset, length: bytes.len(), checksum: crc32c::crc32c(bytes) })
    }

    /// Replaces the content of `out` by the bytes of `span`.
    ///
    /// # Errors
    /// `io`, and `corrupt` if the bytes are not those that were written.
    pub fn read(&self, span: FileSpan, out: &mut Vec<u8>) -> Result<()> {
        out.resize(span.length, 0);
        self.file()?.read_exact_at(out, span.offset).map_err(|error| self.failed("read", error))?;
        match crc32c::crc32c(out) {
            found if found == span.checksum => Ok(()),
            found => {
                let what = format!("checksum {:08x} expected, found {found:08x}", span.checksum);
                Err(self.changed(span, &what))
            }
        }
    }

    /// Gives up what lies from `end` on: its place is written again. Nobody may append meanwhile.
    pub fn cut(&self, end: u64) {
        self.end.fetch_min(end, Ordering::Relaxed);
    }

    /// Another file in the same folder, without a name as well.
    ///
    /// # Errors
    /// As [`TemporaryFile::append`].
    pub fn create_another(&self) -> Result<File> {
        tempfile::tempfile_in(&self.folder).map_err(|error| self.failed("create", error))
    }

    /// The error of `doing` something to such a file.
    #[must_use]
    pub fn failed(&self, doing: &str, error: io::Error) -> Error {
        let FilePurpose { owner, remedy } = self.purpose;
        let what = format!("{doing} a temporary file of {owner} in {}", self.folder.display());
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                let text = format!("{what}: the disk is full; make space there, {remedy}");
                Error::new(ErrorKind::Limit, text).because(error)
            }
            _ => Error::new(ErrorKind::Io, format!("{what}: {error}")).because(error),
        }
    }

    /// The error of bytes that are not what was written: `what` says how.
    #[must_use]
    pub fn changed(&self, span: FileSpan, what: &str) -> Error {
        let (owner, folder) = (self.purpose.owner, self.folder.display());
        let text = format!(
            "a temporary file of {owner} in {folder} has changed at byte {}: {what}; check the disk",
            span.offset
        );
        Error::new(ErrorKind::Corrupt, text)
    }

    fn file(&self) -> Result<&File> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let made = self.create_another()?;
        Ok(self.file.get_or_init(|| made))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PURPOSE: FilePurpose = FilePurpose { owner: "the test", remedy: "or test less" };

    #[test]
    fn bytes_come_back_and_a_place_that_was_given_up_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = TemporaryFile::new(folder.path().to_owned(), PURPOSE);
        let (first, second) = (file.append(b"first").unwrap(), file.append(b"second").unwrap());
        let mut found = Vec::new();
        for (span, wanted) in [(second, &b"second"[..]), (first, b"first")] {
            file.read(span, &mut found).unwrap();
            assert_eq!(found, wanted);
        }
        file.cut(second.offset);
        assert_eq!((file.append(b"3").unwrap().offset, file.size_bytes()), (5, 6));
        assert_eq!(file.read(second, &mut found).unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has no name");
    }

    #[test]
    fn a_full_disk_and_a_missing_folder_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = TemporaryFile::new(folder.path().join("gone"), PURPOSE);
        let error = file.append(b"x").unwrap_err();
        assert!(error.kind() == ErrorKind::Io && error.to_string().contains("gone"), "{error}");
        let error = file.failed("write", io::ErrorKind::StorageFull.into());
        assert!(error.kind() == ErrorKind::Limit && error.to_string().ends_with("or test less"), "{error}");
    }
}
