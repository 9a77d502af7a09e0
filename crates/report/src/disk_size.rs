//! Disk size: how many bytes the files of a database take.

use evergraph_graph::error::{Error, ErrorKind, Result};
use std::fs;
use std::io;
use std::path::Path;

/// Bytes of all files in the folder of a database, and in folders inside it.
///
/// # Errors
/// `io` if a folder can't be read.
pub fn disk_bytes(path: &Path) -> Result<u64> {
    let failed = |error: io::Error| {
        Error::new(ErrorKind::Io, format!("list {}: {error}", path.display())).because(error)
    };
    let mut bytes = 0;
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let metadata = match entry.metadata() {
            // A process that writes the database removed it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata.map_err(failed)?,
        };
        bytes += if metadata.is_dir() { disk_bytes(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

/// How many files the log of the database in `path` has, and their bytes.
///
/// # Errors
/// `io` if the folder can't be read.
pub fn log_size(path: &Path) -> Result<(u64, u64)> {
    let failed = |error: io::Error| {
        Error::new(ErrorKind::Io, format!("list {}: {error}", path.display())).because(error)
    };
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_string_lossy().starts_with("log-")
            && let Ok(metadata) = entry.metadata()
        {
            files += 1;
            bytes += metadata.len();
        }
    }
    Ok((files, bytes))
}
