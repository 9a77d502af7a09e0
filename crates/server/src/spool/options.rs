//! Options: where files of clients lie.

use std::path::PathBuf;

/// Which folders clients may use, and how much of them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileOptions {
    /// The folder for uploads and for files to be fetched. By default one below the root of databases; without a root
    /// there are neither.
    pub spool: Option<PathBuf>,
    /// The folder below which imports read files of the server. `None`: they read uploads only.
    pub import_folder: Option<PathBuf>,
    /// The folder below which exports and backups write. `None`: they write files to be fetched only.
    pub export_folder: Option<PathBuf>,
    /// Bytes of all uploads, and of all files to be fetched, that are there at once.
    pub upload_bytes_max: u64,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self { spool: None, import_folder: None, export_folder: None, upload_bytes_max: 16 << 30 }
    }
}
