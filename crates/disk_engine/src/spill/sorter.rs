//! Sorter: sorts records, which are bytes, in bounded memory.
//!
//! ```text
//! push ──> memory ──full──> sorted, written as a run ──> ... ──> all runs and the rest of memory merged
//!                           run   | length u32, bytes | length u32, bytes | ...
//! ```
//!
//! The runs lie in a spill file.
//!
//! Source: Knuth, The Art of Computer Programming, volume 3, section 5.4 (merge sort of runs).

use crate::spill::file::{SpillFile, SpillPlace};
use evergraph_storage::checkpoint::error::CheckpointResult;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Runs that are merged at once; more are merged into one first.
const RUNS_MAX: usize = 256;
/// Bytes that are read of a run at once, at most; fewer where all runs together would take more than the memory.
const READ_BYTES: usize = 64 << 10;
const READ_BYTES_MIN: usize = 4 << 10;
/// Bytes of a run that are written at once.
const WRITE_BYTES: usize = 1 << 20;

/// Records on their way to be sorted.
pub(crate) struct Sorter<'a> {
    place: SpillPlace<'a>,
    memory_bytes: usize,
    bytes: Vec<u8>,
    records: Vec<Range<u32>>,
    file: Option<SpillFile>,
    /// Where they lie in the file.
    runs: Vec<Range<u64>>,
}

impl<'a> Sorter<'a> {
    /// No records; of those that come, about `memory_bytes`, less than 2^31, stay in memory. Vectors that grow take twice
    /// that, and a merge of runs as much again, but a MiB at least.
    pub(crate) fn new(place: SpillPlace<'a>, memory_bytes: usize) -> Self {
        Self { place, memory_bytes, bytes: Vec::new(), records: Vec::new(), file: None, runs: Vec::new() }
    }

    /// Adds the record that `put` appends, which has less than 2 GiB.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn push(&mut self, put: impl FnOnce(&mut Vec<u8>)) -> CheckpointResult<()> {
        let start = self.bytes.len();
        put(&mut self.bytes);
        self.records.push(start as u32..self.bytes.len() as u32);
        let taken = self.bytes.len() + size_of_val(&self.records[..]);
        if taken < self.memory_bytes { Ok(()) } else { self.write_run() }
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.records.sort_unstable_by(|a, b| record(bytes, a).cmp(record(bytes, b)));
    }

    #[cold]
    fn write_run(&mut self) -> CheckpointResult<()> {
        self.sort();
        let mut out = RunWriter::new(spill_file(&mut self.file, &self.place)?);
        for range in &self.records {
            out.push(record(&self.bytes, range))?;
        }
        self.runs.push(out.finish()?);
        self.bytes.clear();
        self.records.clear();
        if self.runs.len() >= RUNS_MAX { self.merge_runs() } else { Ok(()) }
    }

    /// Makes one run of all.
    fn merge_runs(&mut self) -> CheckpointResult<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut merge = Merge::new(std::mem::take(&mut self.runs), self.memory_bytes, file)?;
        let mut out = SpillFile::create(&self.place)?;
        let mut writer = RunWriter::new(&mut out);
        while let Some(next) = merge.next(file)? {
            writer.push(next)?;
        }
        self.runs.push(writer.finish()?);
        *file = out;
        Ok(())
    }

    /// The records in order.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn finish(mut self) -> CheckpointResult<Sorted> {
        if self.runs.is_empty() {
            self.sort();
            return Ok(Sorted::InMemory { bytes: self.bytes, records: self.records.into_iter() });
        }
        if !self.records.is_empty() {
            self.write_run()?;
        }
        let file = match self.file {
            Some(file) => file,
            None => SpillFile::create(&self.place)?,
        };
        (self.bytes, self.records) = (Vec::new(), Vec::new());
        Ok(Sorted::OnDisk { merge: Merge::new(self.runs, self.memory_bytes, &file)?, file })
    }
}

fn record<'b>(bytes: &'b [u8], range: &Range<u32>) -> &'b [u8] {
    &bytes[range.start as usize..range.end as usize]
}

fn spill_file<'f>(
    file: &'f mut Option<SpillFile>,
    place: &SpillPlace<'_>,
) -> CheckpointResult<&'f mut SpillFile> {
    Ok(match file {
        Some(file) => file,
        none => none.insert(SpillFile::create(place)?),
    })
}

/// Sorted records.
pub(crate) enum Sorted {
    /// They fit.
    InMemory {
        /// Their bytes.
        bytes: Vec<u8>,
        /// Which are left.
        records: std::vec::IntoIter<Range<u32>>,
    },
    /// They lie in runs.
    OnDisk {
        /// The runs.
        merge: Merge,
        /// Where they lie.
        file: SpillFile,
    },
}

impl Sorted {
    /// The next record.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn next(&mut self) -> CheckpointResult<Option<&[u8]>> {
        match self {
            Self::InMemory { bytes, records } => Ok(records.next().map(|range| record(bytes, &range))),
            Self::OnDisk { merge, file } => merge.next(file),
        }
    }
}

/// Runs that are being merged.
pub(crate) struct Merge {
    runs: Vec<RunReader>,
    /// The next record of each run that has one.
    heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    /// What was given last, and its run.
    last: Option<(Vec<u8>, usize)>,
}

impl Merge {
    fn new(runs: Vec<Range<u64>>, memory_bytes: usize, file: &SpillFile) -> CheckpointResult<Self> {
        let read_bytes = (memory_bytes / runs.len().max(1)).clamp(READ_BYTES_MIN, READ_BYTES);
        let runs = runs.into_iter().map(|run| RunReader::new(run, read_bytes)).collect();
        let mut merge = Self { runs, heads: BinaryHeap::new(), last: None };
        for at in 0..merge.runs.len() {
            merge.refill((Vec::new(), at), file)?;
        }
        Ok(merge)
    }

    fn refill(&mut self, (mut bytes, at): (Vec<u8>, usize), file: &SpillFile) -> CheckpointResult<()> {
        if self.runs[at].next(&mut bytes, file)? {
            self.heads.push(Reverse((bytes, at)));
        }
        Ok(())
    }

    fn next(&mut self, file: &SpillFile) -> CheckpointResult<Option<&[u8]>> {
        if let Some(last) = self.last.take() {
            self.refill(last, file)?;
        }
        let Some(Reverse(next)) = self.heads.pop() else { return Ok(None) };
        Ok(Some(&self.last.insert(next).0))
    }
}

/// Writes one run.
struct RunWriter<'f> {
    file: &'f mut SpillFile,
    pending: Vec<u8>,
    run: Range<u64>,
}

impl<'f> RunWriter<'f> {
    fn new(file: &'f mut SpillFile) -> Self {
        let start = file.bytes();
        Self { file, pending: Vec::new(), run: start..start }
    }

    fn push(&mut self, record: &[u8]) -> CheckpointResult<()> {
        self.pending.extend_from_slice(&(record.len() as u32).to_le_bytes());
        self.pending.extend_from_slice(record);
        if self.pending.len() < WRITE_BYTES { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> CheckpointResult<()> {
        self.file.append(&self.pending)?;
        self.run.end += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    fn finish(mut self) -> CheckpointResult<Range<u64>> {
        self.flush()?;
        Ok(self.run)
    }
}

/// Reads one run.
struct RunReader {
    /// What was not read yet.
    rest: Range<u64>,
    read_bytes: usize,
    buffer: Vec<u8>,
    /// Where the next record begins in the buffer.
    at: usize,
}

impl RunReader {
    fn new(run: Range<u64>, read_bytes: usize) -> Self {
        Self { rest: run, read_bytes, buffer: Vec::new(), at: 0 }
    }

    /// Puts the next record in place of `out`'s content; false at the end.
    fn next(&mut self, out: &mut Vec<u8>, file: &SpillFile) -> CheckpointResult<bool> {
        out.clear();
        if self.at == self.buffer.len() && self.rest.is_empty() {
            return Ok(false);
        }
        let mut length = [0; 4];
        length.copy_from_slice(self.take(4, file)?);
        out.extend_from_slice(self.take(u32::from_le_bytes(length) as usize, file)?);
        Ok(true)
    }

    fn take(&mut self, count: usize, file: &SpillFile) -> CheckpointResult<&[u8]> {
        if self.buffer.len() - self.at < count {
            self.buffer.drain(..self.at);
            self.at = 0;
            let missing = count - self.buffer.len();
            let read = (missing.max(self.read_bytes) as u64).min(self.rest.end - self.rest.start) as usize;
            let start = self.buffer.len();
            // A spill file that ends early fails here, by name.
            self.buffer.resize(start + read.max(missing), 0);
            file.read(&mut self.buffer[start..], self.rest.start)?;
            self.rest.start += (read.max(missing)) as u64;
        }
        let bytes = &self.buffer[self.at..self.at + count];
        self.at += count;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::file_name::FileNumber;
    use evergraph_storage::io::directory::Directory;
    use evergraph_storage::io::memory::MemoryDirectory;
    use evergraph_storage::io::random::{Random, SplitMix64};
    use std::cell::Cell;
    use std::sync::Arc;

    #[test]
    fn records_come_in_order_whether_they_fit_or_not_and_no_file_has_a_name() {
        let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("sort"));
        let next = Cell::new(1);
        let next_number = || FileNumber(next.replace(next.get() + 1));
        // The last one has more runs than are merged at once.
        for (count, memory_bytes) in [(0, 100), (900, 1 << 20), (900, 5000), (4000, 150)] {
            let place = SpillPlace { directory: &directory, next_number: &next_number };
            let (mut random, mut sorter) = (SplitMix64::new(count), Sorter::new(place, memory_bytes));
            let mut want = Vec::new();
            for _ in 0..count {
                let length = [0, 1, 9, 40][(random.next_u64() % 4) as usize];
                let bytes: Vec<u8> = (0..length).map(|_| (random.next_u64() % 3) as u8).collect();
                sorter.push(|out| out.extend_from_slice(&bytes)).unwrap();
                want.push(bytes);
            }
            want.sort();
            let mut sorted = sorter.finish().unwrap();
            assert_eq!(matches!(sorted, Sorted::InMemory { .. }), memory_bytes > 5000 || count == 0);
            assert!(directory.list().unwrap().is_empty());
            for bytes in &want {
                assert_eq!(sorted.next().unwrap(), Some(&bytes[..]));
            }
            assert_eq!(sorted.next().unwrap(), None);
        }
    }
}
