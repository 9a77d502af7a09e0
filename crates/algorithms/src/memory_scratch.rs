//! Scratch files for tests, in memory, of which writes or reads may fail.

use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::scratch::{Scratch, ScratchFile};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Makes files of up to so many bytes.
#[derive(Clone, Debug)]
pub(crate) struct MemoryScratch {
    /// An append beyond it is refused, as by a full disk.
    pub(crate) bytes_max: usize,
    /// Reads that succeed, before they fail.
    pub(crate) reads_max: usize,
    /// Files that there are.
    pub(crate) files: Arc<AtomicUsize>,
}

impl Default for MemoryScratch {
    /// Nothing fails.
    fn default() -> Self {
        Self { bytes_max: usize::MAX, reads_max: usize::MAX, files: Arc::default() }
    }
}

impl MemoryScratch {
    /// How many files there are.
    pub(crate) fn files_count(&self) -> usize {
        self.files.load(Ordering::Relaxed)
    }
}

struct MemoryFile {
    bytes: Vec<u8>,
    reads: AtomicUsize,
    scratch: MemoryScratch,
}

impl Scratch for MemoryScratch {
    fn create(&self) -> Result<Box<dyn ScratchFile>> {
        self.files.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(MemoryFile { bytes: Vec::new(), reads: AtomicUsize::new(0), scratch: self.clone() }))
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        self.scratch.files.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ScratchFile for MemoryFile {
    fn append(&mut self, bytes: &[u8]) -> Result<u64> {
        if self.bytes.len() + bytes.len() > self.scratch.bytes_max {
            return Err(Error::new(ErrorKind::Limit, "write a temporary file in memory: the disk is full"));
        }
        let offset = self.bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
        Ok(offset)
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        if self.reads.fetch_add(1, Ordering::Relaxed) >= self.scratch.reads_max {
            return Err(Error::new(ErrorKind::Io, "read a temporary file in memory: broken"));
        }
        buffer.copy_from_slice(&self.bytes[offset as usize..][..buffer.len()]);
        Ok(())
    }
}
