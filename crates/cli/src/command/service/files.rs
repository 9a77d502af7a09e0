//! Files of clients as options of the command line: uploads, imports, exports and backups of a server.

use crate::amount;
use clap::Args;
use evergraph_server::spool::options::FileOptions;
use std::path::PathBuf;

const FILES: &str = "Files of jobs";

/// Folders that clients of a server may use.
#[derive(Args, Debug)]
pub struct FileArguments {
    /// Keep uploads, and files that jobs made to be fetched, in this folder [default: one below --root; without it there are
    /// neither].
    #[arg(long, value_name = "FOLDER", help_heading = FILES)]
    pub spool: Option<PathBuf>,
    /// Size of all uploads, and of all files that jobs made to be fetched, that are there at once, such as 100GiB.
    #[arg(long, value_name = "SIZE", value_parser = amount::memory, default_value = "16GiB", help_heading = FILES)]
    pub upload_limit: u64,
    /// Let imports by HTTP read files below this folder.
    #[arg(long, value_name = "FOLDER", help_heading = FILES)]
    pub import_folder: Option<PathBuf>,
    /// Let exports and backups by HTTP write below this folder.
    #[arg(long, value_name = "FOLDER", help_heading = FILES)]
    pub export_folder: Option<PathBuf>,
}

impl FileArguments {
    /// What the server is told.
    #[must_use]
    pub fn options(&self) -> FileOptions {
        let mut options = FileOptions::default();
        options.spool.clone_from(&self.spool);
        options.import_folder.clone_from(&self.import_folder);
        options.export_folder.clone_from(&self.export_folder);
        options.upload_bytes_max = self.upload_limit;
        options
    }
}
