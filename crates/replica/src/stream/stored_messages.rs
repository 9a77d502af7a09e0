//! `StoredMessages`: messages in memory, or in a temporary file.
//!
//! ```text
//! file    [ piece ]*              without a name: it goes with its transaction
//! piece   [ length:varint bytes ]*
//! ```

use std::sync::Arc;

use evergraph_files::import::staging::temporary_file::{FilePurpose, FileSpan, TemporaryFile};
use evergraph_graph::byte_strings::ByteStrings;
use evergraph_graph::bytes::{Decoded, Reader, put_bytes};
use evergraph_graph::error::Result;

/// Whose the files of open transactions are.
pub const PURPOSE: FilePurpose = FilePurpose {
    owner: "the replica",
    remedy: "or give the replica more memory, so that transactions in progress stay there",
};

/// Messages of a transaction, in their order.
#[derive(Debug)]
pub enum StoredMessages {
    /// In memory.
    Memory(ByteStrings),
    /// In a file.
    File {
        /// The file.
        file: Arc<TemporaryFile>,
        /// Where they lie in it, with those that were forgotten since.
        span: FileSpan,
        /// How many there are; the file may have more.
        count: usize,
    },
}

impl Default for StoredMessages {
    fn default() -> Self {
        Self::Memory(ByteStrings::default())
    }
}

impl StoredMessages {
    /// How many messages there are.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Memory(messages) => messages.len(),
            Self::File { count, .. } => *count,
        }
    }

    /// Whether there is none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the messages, wherever they lie.
    #[must_use]
    #[inline]
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Memory(messages) => messages.size_bytes(),
            Self::File { span, .. } => span.length,
        }
    }

    /// Bytes of memory, about.
    #[must_use]
    #[inline]
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Memory(messages) => messages.size_bytes() + messages.len() * size_of::<usize>(),
            Self::File { .. } => 0,
        }
    }

    /// Forgets all messages but the first `len`.
    pub fn truncate(&mut self, len: usize) {
        match self {
            Self::Memory(messages) => messages.truncate(len),
            Self::File { count, .. } => *count = len.min(*count),
        }
    }

    /// Moves the messages to `file`. Cost: they are copied once and written once.
    ///
    /// # Errors
    /// `limit` on a full disk, `io`; both name the folder.
    pub fn spill(&mut self, file: &Arc<TemporaryFile>) -> Result<()> {
        let Self::Memory(messages) = self else { return Ok(()) };
        let mut form = Vec::with_capacity(messages.size_bytes() + messages.len() * 3);
        messages.iter().for_each(|message| put_bytes(&mut form, message));
        let (span, count) = (file.append(&form)?, messages.len());
        *self = Self::File { file: Arc::clone(file), span, count };
        Ok(())
    }

    /// Takes the messages to memory.
    ///
    /// # Errors
    /// `io`, and `corrupt` if the file holds something else by now; both name the folder.
    pub fn load(self) -> Result<ByteStrings> {
        match self {
            Self::Memory(messages) => Ok(messages),
            Self::File { .. } => self.copy(),
        }
    }

    /// The messages in memory; they stay where they are.
    ///
    /// # Errors
    /// As [`StoredMessages::load`].
    pub fn copy(&self) -> Result<ByteStrings> {
        let (file, span, count) = match self {
            Self::Memory(messages) => return Ok(messages.clone()),
            Self::File { file, span, count } => (file, *span, *count),
        };
        let mut form = Vec::new();
        file.read(span, &mut form)?;
        let mut reader = Reader::new(&form);
        let messages: Decoded<ByteStrings> = (0..count).map(|_| reader.bytes()).collect();
        messages.map_err(|error| file.changed(span, &error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_from_a_file_without_those_that_were_forgotten_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = Arc::new(TemporaryFile::new(folder.path().to_owned(), PURPOSE));
        let all = [&b"I"[..], b"", &[7; 300]];
        let mut stored = StoredMessages::Memory(all.into_iter().collect());
        stored.truncate(9);
        assert_eq!((stored.len(), stored.size_bytes(), stored.memory_bytes()), (3, 301, 301 + 24));
        stored.spill(&file).unwrap();
        stored.spill(&file).unwrap();
        assert_eq!((stored.len(), stored.memory_bytes(), file.size_bytes()), (3, 0, 301 + 4));
        stored.truncate(2);
        assert!(stored.load().unwrap().iter().eq([&b"I"[..], b""]));
    }

    #[test]
    fn a_file_that_changed_is_an_error_that_names_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = Arc::new(TemporaryFile::new(folder.path().to_owned(), PURPOSE));
        let mut stored = StoredMessages::Memory([&b"message"[..]].into_iter().collect());
        stored.spill(&file).unwrap();
        file.write(b"?", 3).unwrap();
        let error = stored.load().unwrap_err().to_string();
        assert!(error.contains(folder.path().to_str().unwrap()) && error.contains("the replica"), "{error}");
    }
}
