//! Checked file: a file of a node's directory that is replaced as a whole, and says if it is damaged.
//!
//! ```text
//! OFFSET  SIZE  FIELD
//!      0     4  magic
//!      4     2  version
//!      6        content
//!            4  crc32c of all before
//! ```
//!
//! A new one is written under another name, synced, renamed, and the directory synced: a start finds the old one or the new
//! one, whole.

use crate::checksum::{before_checksum, put_checksum};
use evergraph_graph::bytes::{DecodeError, Decoded, Reader};
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::checkpoint::manifest::remove_if_there;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::IoError;
use std::io::ErrorKind;

/// What magic and version take.
pub const HEAD_BYTES: usize = 6;

/// One kind of file: there is one of it in a directory, or none.
#[derive(Clone, Copy, Debug)]
pub struct CheckedFile {
    /// Its name.
    pub name: &'static str,
    /// The name under which a new one is written.
    pub new_name: &'static str,
    /// Its first four bytes.
    pub magic: &'static str,
    /// The version that is written and read.
    pub version: u16,
    /// The most bytes that it may have.
    pub bytes_max: u64,
}

impl CheckedFile {
    /// The bytes of the file whose content `put` appends, about `content_bytes` of them.
    pub fn encode(&self, content_bytes: usize, put: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        // With the checksum.
        let mut out = Vec::with_capacity(HEAD_BYTES + content_bytes + 4);
        out.extend_from_slice(self.magic.as_bytes());
        out.extend_from_slice(&self.version.to_le_bytes());
        put(&mut out);
        put_checksum(&mut out);
        out
    }

    /// Reads the content of `bytes` by `take`, to its end.
    ///
    /// # Errors
    /// If this is no such file, is damaged, or has more than `take` reads: the byte, and what was expected there. What `take`
    /// says.
    pub fn decode<T>(&self, bytes: &[u8], take: impl FnOnce(&mut Reader<'_>) -> Decoded<T>) -> Decoded<T> {
        let mut head = Reader::new(bytes);
        let start = head.clone();
        if head.take(self.magic.len())? != self.magic.as_bytes() {
            return Err(start.error(format!("the magic {} expected", self.magic)));
        }
        let place = head.clone();
        let found = head.u16()?;
        if found != self.version {
            return Err(place.error(format!("version {} expected, found {found}", self.version)));
        }
        let mut reader = Reader::new(before_checksum(bytes)?);
        reader.take(HEAD_BYTES)?;
        let content = take(&mut reader)?;
        if !reader.is_empty() {
            return Err(reader.error(format!("the end expected, {} bytes left", reader.remaining())));
        }
        Ok(content)
    }

    /// Puts `bytes`, which [`CheckedFile::encode`] made, in place of what is there.
    ///
    /// # Errors
    /// What the system says. A start finds one of the two, whole.
    pub fn replace(&self, directory: &dyn Directory, bytes: &[u8]) -> Result<(), IoError> {
        remove_if_there(directory, self.new_name)?;
        directory.write_all_new(self.new_name, bytes)?;
        directory.rename(self.new_name, self.name)?;
        directory.sync_directory()
    }

    /// Reads the file of `directory` by `decode`; `None` if there is none.
    ///
    /// # Errors
    /// [`CheckpointError::Corrupt`] as `decode` says, and what the system says.
    pub fn read<T>(
        &self,
        directory: &dyn Directory,
        decode: impl FnOnce(&[u8]) -> Decoded<T>,
    ) -> Result<Option<T>, CheckpointError> {
        let bytes = match directory.read_all(self.name, self.bytes_max) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let corrupt = |error: DecodeError| CheckpointError::Corrupt {
            file: directory.path(self.name),
            offset: error.offset as u64,
            problem: error.expected,
        };
        decode(&bytes).map(Some).map_err(corrupt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_storage::io::failing::{FailingDirectory, Fault};
    use evergraph_storage::io::memory::{CrashOutcome, MemoryDirectory};
    use std::sync::Arc;

    const FILE: CheckedFile =
        CheckedFile { name: "sample", new_name: "sample.new", magic: "EGNX", version: 3, bytes_max: 100 };

    fn encode(number: u64) -> Vec<u8> {
        FILE.encode(8, |out| out.extend_from_slice(&number.to_le_bytes()))
    }

    fn decode(bytes: &[u8]) -> Decoded<u64> {
        FILE.decode(bytes, |reader| reader.u64())
    }

    #[test]
    fn a_file_reads_back_and_an_edit_is_named_with_its_place() {
        let bytes = encode(7);
        assert_eq!(bytes.len(), 18);
        assert_eq!(decode(&bytes), Ok(7));
        let edited = |at: usize| {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1;
            let error = decode(&bytes).unwrap_err();
            (error.offset, error.expected)
        };
        assert_eq!(edited(0), (0, "the magic EGNX expected".into()));
        assert_eq!(edited(4), (4, "version 3 expected, found 2".into()));
        assert_eq!(edited(6).0, 14, "the checksum");
        (0..bytes.len()).for_each(|cut| assert!(decode(&bytes[..cut]).is_err()));
        let longer = FILE.encode(9, |out| out.extend_from_slice(&[0; 9]));
        assert_eq!(decode(&longer).unwrap_err().expected, "the end expected, 1 bytes left");
    }

    #[test]
    fn a_replacement_that_fails_anywhere_leaves_one_of_the_two_whole() {
        for nth in 1..20 {
            let memory = MemoryDirectory::new("node");
            assert_eq!(FILE.read(&memory, decode).unwrap(), None);
            FILE.replace(&memory, &encode(1)).unwrap();
            let failing = FailingDirectory::new(Arc::new(memory.clone()));
            failing.plan(Fault::any_change(ErrorKind::StorageFull).nth(nth).lasting());
            let replaced = FILE.replace(&failing, &encode(2));
            for kept in [CrashOutcome::Lost, CrashOutcome::Kept] {
                let found = FILE.read(&memory.crash(|_| kept), decode).unwrap();
                assert!(found == Some(2) || (found == Some(1) && replaced.is_err()), "{found:?}");
            }
            if replaced.is_ok() {
                return;
            }
        }
        panic!("a replacement takes fewer changes");
    }

    #[test]
    fn a_damaged_file_is_named() {
        let memory = MemoryDirectory::new("node");
        memory.write_all_new("sample", b"something else").unwrap();
        let error = FILE.read(&memory, decode).unwrap_err();
        assert_eq!(error.to_string(), "node/sample is corrupt at byte 0: the magic EGNX expected");
    }
}
