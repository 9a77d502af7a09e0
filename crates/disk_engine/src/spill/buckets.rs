//! Buckets of bytes, filled side by side and read one by one, on disk where they don't fit.
//!
//! ```text
//! buckets in memory    [a a .]  [b . .]  [c c c]──full──┐
//! spill file           | c c c | a a a | c c c | ...  <─┘     where each bucket's stretches lie is in memory
//! ```
//!
//! Source: the partitioning of the Grace hash join (Kitsuregawa, Tanaka and Moto-oka, 1983).

use crate::spill::file::{SpillFile, SpillPlace};
use evergraph_storage::checkpoint::error::CheckpointResult;

/// Bytes that a bucket gathers before it writes them: reads and writes are then long enough for a disk.
const STRETCH_BYTES_MIN: u64 = 16 << 10;
/// More than this makes nothing faster.
const STRETCH_BYTES_MAX: u64 = 1 << 20;

/// Buckets of bytes. The file goes when they are dropped.
pub(crate) struct Buckets<'a> {
    place: SpillPlace<'a>,
    buckets: Vec<Bucket>,
    stretch_bytes: usize,
    file: Option<SpillFile>,
}

#[derive(Debug, Default)]
struct Bucket {
    pending: Vec<u8>,
    /// Where its bytes lie in the file: offset and length.
    stretches: Vec<(u64, usize)>,
}

impl<'a> Buckets<'a> {
    /// `count` buckets that gather about `memory_bytes` together before they write, at least 16 KiB each. One
    /// alone stays in memory: it is wanted there as a whole.
    pub(crate) fn new(place: SpillPlace<'a>, count: usize, memory_bytes: u64) -> Self {
        let each = memory_bytes / count.max(1) as u64;
        let stretch_bytes = match count {
            0 | 1 => usize::MAX,
            _ => each.clamp(STRETCH_BYTES_MIN, STRETCH_BYTES_MAX) as usize,
        };
        let buckets = (0..count).map(|_| Bucket::default()).collect();
        Self { place, buckets, stretch_bytes, file: None }
    }

    /// Appends to bucket `at` what `put` appends.
    ///
    /// # Errors
    /// What the system says.
    #[inline]
    pub(crate) fn push(&mut self, at: usize, put: impl FnOnce(&mut Vec<u8>)) -> CheckpointResult<()> {
        let pending = &mut self.buckets[at].pending;
        put(pending);
        if pending.len() < self.stretch_bytes { Ok(()) } else { self.write(at) }
    }

    #[cold]
    fn write(&mut self, at: usize) -> CheckpointResult<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(SpillFile::create(&self.place)?),
        };
        let Bucket { pending, stretches } = &mut self.buckets[at];
        stretches.push((file.append(pending)?, pending.len()));
        pending.clear();
        Ok(())
    }

    /// The bytes of bucket `at`, in the order in which they came; it is empty then.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn take(&mut self, at: usize) -> CheckpointResult<Vec<u8>> {
        let Bucket { pending, stretches } = std::mem::take(&mut self.buckets[at]);
        let Some(file) = self.file.as_ref().filter(|_| !stretches.is_empty()) else { return Ok(pending) };
        let spilled: usize = stretches.iter().map(|(_, length)| length).sum();
        let mut bytes = Vec::with_capacity(spilled + pending.len());
        for (offset, length) in stretches {
            let start = bytes.len();
            bytes.resize(start + length, 0);
            file.read(&mut bytes[start..], offset)?;
        }
        bytes.extend_from_slice(&pending);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::file_name::FileNumber;
    use evergraph_storage::io::directory::Directory;
    use evergraph_storage::io::memory::MemoryDirectory;
    use std::cell::Cell;
    use std::sync::Arc;

    #[test]
    fn buckets_have_their_bytes_in_order_and_no_file_has_a_name() {
        let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("spill"));
        let next = Cell::new(7);
        let next_number = || FileNumber(next.replace(next.get() + 1));
        for count in [1, 3] {
            let place = SpillPlace { directory: &directory, next_number: &next_number };
            let mut buckets = Buckets::new(place, count, 0);
            let mut want = vec![Vec::new(); count];
            for number in 0u32..30_000 {
                let at = (number % 7) as usize % count;
                want[at].extend_from_slice(&number.to_le_bytes());
                buckets.push(at, |bytes| bytes.extend_from_slice(&number.to_le_bytes())).unwrap();
            }
            assert_eq!(buckets.file.is_none(), count == 1);
            assert!(directory.list().unwrap().is_empty());
            for (at, want) in want.iter().enumerate() {
                assert_eq!(&buckets.take(at).unwrap(), want);
                assert!(buckets.take(at).unwrap().is_empty());
            }
        }
    }
}
