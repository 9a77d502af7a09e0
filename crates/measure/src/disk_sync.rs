//! Disk sync: how often this disk makes a small write durable, which bounds commits.
//!
//! One thread overwrites one 4 KiB page after the other of a file that has all its blocks, each write
//! followed by fdatasync: what a log does that commits one transaction at a time.

use evergraph_graph::error::{Error, ErrorKind, Result};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

const PAGE_BYTES: usize = 4096;
const FILE_PAGES: u64 = 1024;

/// A file to write to; gone with this.
#[derive(Debug)]
pub struct DiskSync {
    file: File,
    page: u64,
}

/// What a run did.
#[derive(Clone, Copy, Debug)]
pub struct Synced {
    /// Writes made durable.
    pub writes: u64,
    /// How long they took.
    pub time: Duration,
}

impl Synced {
    /// Writes a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.writes as f64 / self.time.as_secs_f64()
    }
}

impl DiskSync {
    /// More writes a second than disks can sync: a folder in memory, or a disk that doesn't keep its word.
    pub const RATE_IN_MEMORY: f64 = 150_000.0;

    /// The best of `rounds` runs of `time`: what the disk can do when nothing else holds the processor. A
    /// thread that waits for a disk loses its core to whoever computes, and gets it back milliseconds late.
    ///
    /// # Errors
    /// As [`DiskSync::run`].
    pub fn best(&mut self, rounds: u32, time: Duration) -> Result<Synced> {
        let mut best = self.run(time)?;
        for _ in 1..rounds {
            let next = self.run(time)?;
            if next.rate() > best.rate() {
                best = next;
            }
        }
        Ok(best)
    }

    /// Makes the file in `folder`, without a name, and writes all of it once.
    ///
    /// # Errors
    /// `limit` on a full disk; `io`.
    pub fn prepare(folder: &Path) -> Result<Self> {
        let failed = |error| failure("make a file to measure", folder, error);
        let file = tempfile::tempfile_in(folder).map_err(failed)?;
        let zeros = [0; PAGE_BYTES];
        (0..FILE_PAGES).try_for_each(|page| write(&file, page, &zeros)).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        Ok(Self { file, page: 0 })
    }

    /// Writes and syncs for about `time`, at least once.
    ///
    /// # Errors
    /// `io` if a write or a sync fails.
    pub fn run(&mut self, time: Duration) -> Result<Synced> {
        let began = Instant::now();
        let mut writes = 0;
        let data = [0x5a; PAGE_BYTES];
        loop {
            let synced = write(&self.file, self.page, &data).and_then(|()| self.file.sync_data());
            synced.map_err(|error| failure("write and sync", Path::new("the measured file"), error))?;
            self.page = (self.page + 1) % FILE_PAGES;
            writes += 1;
            if began.elapsed() >= time {
                return Ok(Synced { writes, time: began.elapsed() });
            }
        }
    }
}

fn write(file: &File, page: u64, data: &[u8; PAGE_BYTES]) -> io::Result<()> {
    file.write_all_at(data, page * PAGE_BYTES as u64)
}

fn failure(doing: &str, place: &Path, error: io::Error) -> Error {
    let kind = if error.kind() == io::ErrorKind::StorageFull { ErrorKind::Limit } else { ErrorKind::Io };
    Error::new(kind, format!("{doing} in {}: {error}", place.display())).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_syncs_at_least_once_and_goes_round_in_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut disk = DiskSync::prepare(folder.path()).unwrap();
        disk.page = FILE_PAGES - 1;
        assert_eq!(disk.run(Duration::ZERO).unwrap().writes, 1);
        assert_eq!(disk.page, 0);
        assert!(disk.run(Duration::from_millis(20)).unwrap().rate() > 0.0);
        assert_eq!(disk.file.metadata().unwrap().len(), FILE_PAGES * PAGE_BYTES as u64);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
