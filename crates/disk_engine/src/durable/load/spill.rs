//! Spill: buckets of bytes, filled side by side and read one by one, on disk where they don't fit.
//!
//! ```text
//! buckets in memory    [a a .]  [b . .]  [c c c]──full──┐
//! spill file           | c c c | a a a | c c c | ...  <─┘     where each bucket's spans lie is in memory
//! ```
//!
//! The file has the number of a CSR file that is never written, so that whoever opens the database after a
//! crash removes it with other files that no manifest names. Its bytes are nobody's but this process': it has
//! no checksums and is never synced.
//!
//! Source: the partitioning of the Grace hash join (Kitsuregawa, Tanaka and Moto-oka, 1983).

use crate::format::file_name::{CsrFileName, FileContent, FileNumber};
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::io::directory::{Directory, File};
use std::sync::Arc;

/// Bytes that a bucket gathers before it writes them: reads and writes are then long enough for a disk.
const SPAN_BYTES_MIN: u64 = 16 << 10;
/// More than this makes nothing faster.
const SPAN_BYTES_MAX: u64 = 1 << 20;

/// Where the file of a spill is made.
pub(crate) struct SpillDirectory<'a> {
    /// The database's directory.
    pub directory: &'a Arc<dyn Directory>,
    /// Numbers of files that were never used.
    pub next_number: &'a dyn Fn() -> FileNumber,
}

/// Buckets of bytes. The file is removed when they are dropped.
pub(super) struct Buckets<'a> {
    spill: SpillDirectory<'a>,
    buckets: Vec<Bucket>,
    span_bytes: usize,
    file: Option<SpillFile>,
}

#[derive(Debug, Default)]
struct Bucket {
    pending: Vec<u8>,
    /// Where its bytes lie in the file: offset and length.
    spans: Vec<(u64, usize)>,
}

/// A file of this process' own. It is removed when this is dropped.
pub(crate) struct SpillFile {
    directory: Arc<dyn Directory>,
    name: String,
    file: Arc<dyn File>,
    bytes: u64,
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        // Left behind, it is removed when the database is opened.
        drop(self.directory.remove(&self.name));
    }
}

impl<'a> Buckets<'a> {
    /// `count` buckets that gather about `memory_bytes` together before they write, at least 16 KiB each. One
    /// alone stays in memory: it is wanted there as a whole.
    pub(super) fn new(spill: SpillDirectory<'a>, count: usize, memory_bytes: u64) -> Self {
        let each = memory_bytes / count.max(1) as u64;
        let span_bytes = match count {
            0 | 1 => usize::MAX,
            _ => each.clamp(SPAN_BYTES_MIN, SPAN_BYTES_MAX) as usize,
        };
        let buckets = (0..count).map(|_| Bucket::default()).collect();
        Self { spill, buckets, span_bytes, file: None }
    }

    /// Appends to bucket `at` what `put` appends.
    ///
    /// # Errors
    /// What the system says.
    #[inline]
    pub(super) fn push(&mut self, at: usize, put: impl FnOnce(&mut Vec<u8>)) -> CheckpointResult<()> {
        let pending = &mut self.buckets[at].pending;
        put(pending);
        if pending.len() < self.span_bytes { Ok(()) } else { self.write(at) }
    }

    #[cold]
    fn write(&mut self, at: usize) -> CheckpointResult<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(SpillFile::create(&self.spill)?),
        };
        let Bucket { pending, spans } = &mut self.buckets[at];
        spans.push((file.append(pending)?, pending.len()));
        pending.clear();
        Ok(())
    }

    /// The bytes of bucket `at`, in the order in which they came; it is empty then.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn take(&mut self, at: usize) -> CheckpointResult<Vec<u8>> {
        let Bucket { pending, spans } = std::mem::take(&mut self.buckets[at]);
        let Some(file) = self.file.as_ref().filter(|_| !spans.is_empty()) else { return Ok(pending) };
        let spilled: usize = spans.iter().map(|(_, length)| length).sum();
        let mut bytes = Vec::with_capacity(spilled + pending.len());
        for (offset, length) in spans {
            let start = bytes.len();
            bytes.resize(start + length, 0);
            file.read(&mut bytes[start..], offset)?;
        }
        bytes.extend_from_slice(&pending);
        Ok(bytes)
    }
}

impl SpillFile {
    /// An empty one.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn create(spill: &SpillDirectory<'_>) -> CheckpointResult<Self> {
        let name = CsrFileName::new((spill.next_number)(), FileContent::Topology).to_string();
        let file = spill.directory.create(&name)?;
        Ok(Self { directory: Arc::clone(spill.directory), name, file, bytes: 0 })
    }

    /// How many bytes it has.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes `bytes` to its end; where they begin.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> CheckpointResult<u64> {
        let offset = self.bytes;
        self.file.write_at(bytes, offset)?;
        self.bytes += bytes.len() as u64;
        Ok(offset)
    }

    /// Reads bytes that were written.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn read(&self, bytes: &mut [u8], offset: u64) -> CheckpointResult<()> {
        Ok(self.file.read_at(bytes, offset)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_storage::io::memory::MemoryDirectory;
    use std::cell::Cell;

    #[test]
    fn buckets_have_their_bytes_in_order_and_leave_no_file() {
        let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("spill"));
        let next = Cell::new(7);
        let next_number = || FileNumber(next.replace(next.get() + 1));
        for count in [1, 3] {
            let spill = SpillDirectory { directory: &directory, next_number: &next_number };
            let mut buckets = Buckets::new(spill, count, 0);
            let mut want = vec![Vec::new(); count];
            for number in 0u32..30_000 {
                let at = (number % 7) as usize % count;
                want[at].extend_from_slice(&number.to_le_bytes());
                buckets.push(at, |bytes| bytes.extend_from_slice(&number.to_le_bytes())).unwrap();
            }
            assert_eq!(directory.list().unwrap().is_empty(), count == 1);
            for (at, want) in want.iter().enumerate() {
                assert_eq!(&buckets.take(at).unwrap(), want);
                assert!(buckets.take(at).unwrap().is_empty());
            }
            drop(buckets);
            assert!(directory.list().unwrap().is_empty());
        }
    }
}
