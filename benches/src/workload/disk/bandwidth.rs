//! Bandwidth: how fast the disk gives the files of lists, past the system's cache.

use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::page::{ALIGNMENT_BYTES, AlignedBuffer};
use evergraph_storage::io::pool::{PageRead, READERS, ReadPool};
use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of a read, as a scan reads.
const READ_BYTES: u64 = 1 << 20;

/// Reads all files whose names begin with `prefix`, in reads of 1 MiB, eight ahead: bytes and time.
pub fn read_files(folder: &Path, prefix: &str) -> Result<(u64, Duration)> {
    let directory = DiskDirectory::open(folder)?;
    let pool = ReadPool::start(READERS, Background::Threads);
    let pool = pool.map_err(|error| Error::new(ErrorKind::Io, format!("start threads: {error}")))?;
    let mut reads = Vec::new();
    for name in directory.list()? {
        if name.starts_with(prefix) {
            let file = directory.open(&name, OpenMode::ReadDirect)?;
            let length = file.len()? / ALIGNMENT_BYTES as u64 * ALIGNMENT_BYTES as u64;
            let offsets = (0..length).step_by(READ_BYTES as usize);
            reads.extend(offsets.map(|offset| (file.clone(), offset, READ_BYTES.min(length - offset))));
        }
    }
    let bytes = reads.iter().map(|(_, _, length)| length).sum();
    let start = Instant::now();
    let mut ahead = VecDeque::new();
    for (file, offset, length) in reads {
        if ahead.len() == READERS {
            ahead.pop_front().map(evergraph_storage::io::pool::PendingRead::wait).transpose()?;
        }
        ahead.push_back(pool.begin(PageRead {
            file,
            offset,
            buffer: AlignedBuffer::zeroed(length as usize),
        }));
    }
    for read in ahead {
        read.wait()?;
    }
    Ok((bytes, start.elapsed()))
}

/// Bytes of all files.
pub fn folder_bytes(folder: &Path) -> Result<u64> {
    let directory = DiskDirectory::open(folder)?;
    let mut bytes = 0;
    for name in directory.list()? {
        if name.starts_with("csr-") || name.starts_with("col-") {
            bytes += directory.open(&name, OpenMode::Read)?.len()?;
        }
    }
    Ok(bytes)
}
