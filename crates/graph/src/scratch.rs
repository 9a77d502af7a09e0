//! Scratch: disk space for what an algorithm can't keep in memory, in files without names.
//!
//! A file is written from its beginning to its end and read at any place. It goes with whoever holds it, however that
//! ends: an error, a cancelled run and a killed process leave nothing behind.

use crate::error::Result;

/// Makes scratch files. An engine that keeps its graph in files has a folder for them.
pub trait Scratch: Send + Sync {
    /// A new file without bytes.
    ///
    /// # Errors
    /// `limit` if the disk is full, else `io`; both name the folder.
    fn create(&self) -> Result<Box<dyn ScratchFile>>;
}

/// A temporary file of one owner. Its bytes are this process' own: they have no checksums and are never synced.
///
/// # Concurrency
/// One thread appends while nobody reads; then any number of threads read.
pub trait ScratchFile: Send + Sync {
    /// Writes `bytes` behind all others; returns the offset at which they begin.
    ///
    /// # Errors
    /// As [`Scratch::create`]. A part may be written then; the file is of no use any more.
    fn append(&mut self, bytes: &[u8]) -> Result<u64>;

    /// Fills `buffer` with bytes that were written, from `offset` on.
    ///
    /// # Errors
    /// `io`, naming the folder.
    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<()>;
}
