//! Folder: made with its parents, copied with all that is in it.

use evergraph_graph::error::{Error, ErrorKind, Result};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Makes a folder, and those above it, unless they are there.
///
/// # Errors
/// `io`.
pub fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| {
        Error::new(ErrorKind::Io, format!("make the folder {}: {error}", folder.display())).because(error)
    })
}

/// Copies a folder with all that is in it.
///
/// # Errors
/// `io`.
pub fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    copy_files(from, to, |_| Ok(()))
}

/// The same, and syncs each file as a checkpoint does: or the first sync of whoever opens the copy would wait for all of it to be
/// written.
///
/// # Errors
/// `io`.
pub fn copy_folder_synced(from: &Path, to: &Path) -> Result<()> {
    copy_files(from, to, |target| File::open(target)?.sync_all())
}

/// Calls `copied` with each file that was copied.
fn copy_files(from: &Path, to: &Path, copied: fn(&Path) -> io::Result<()>) -> Result<()> {
    let failed = |path: &Path, error: &io::Error| {
        Error::new(ErrorKind::Io, format!("copy {}: {error}", path.display()))
    };
    make_folder(to)?;
    for entry in fs::read_dir(from).map_err(|error| failed(from, &error))? {
        let entry = entry.map_err(|error| failed(from, &error))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_files(&path, &target, copied)?;
        } else {
            fs::copy(&path, &target).map_err(|error| failed(&path, &error))?;
            copied(&target).map_err(|error| failed(&target, &error))?;
        }
    }
    Ok(())
}
