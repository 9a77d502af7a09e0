//! Spill file: bytes of this process' own, in a file without a name.

use crate::format::file_name::{CsrFileName, FileContent, FileNumber};
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::io::directory::{Directory, File};
use std::sync::Arc;

/// Where the file of a spill is made.
pub struct SpillPlace<'a> {
    /// The database's directory.
    pub directory: &'a Arc<dyn Directory>,
    /// Numbers of files that were never used.
    pub next_number: &'a dyn Fn() -> FileNumber,
}

/// A file without a name. It goes with this.
#[derive(Debug)]
pub struct SpillFile {
    file: Arc<dyn File>,
    bytes: u64,
}

impl SpillFile {
    /// An empty one.
    ///
    /// # Errors
    /// What the system says.
    pub fn create(place: &SpillPlace<'_>) -> CheckpointResult<Self> {
        let name = CsrFileName::new((place.next_number)(), FileContent::Topology).to_string();
        let file = place.directory.create(&name)?;
        // An open file can be used without a name. A name that stays behind is removed when the database is opened.
        place.directory.remove(&name)?;
        Ok(Self { file, bytes: 0 })
    }

    /// How many bytes it has.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes `bytes` to its end; where they begin.
    ///
    /// # Errors
    /// What the system says.
    pub fn append(&mut self, bytes: &[u8]) -> CheckpointResult<u64> {
        let offset = self.bytes;
        self.file.write_at(bytes, offset)?;
        self.bytes += bytes.len() as u64;
        Ok(offset)
    }

    /// Reads bytes that were written.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&self, bytes: &mut [u8], offset: u64) -> CheckpointResult<()> {
        Ok(self.file.read_at(bytes, offset)?)
    }
}
