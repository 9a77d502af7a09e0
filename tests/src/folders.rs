//! Folders: copies of them, for data that is put back later.
//!
//! Tests of crates that this one depends on have no dependency on it, and include the file by its path.

use std::fs;
use std::path::Path;

/// Copies the files of a folder and of those in it.
///
/// # Panics
/// If a file cannot be read or written.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("its folder can be written");
    for entry in fs::read_dir(from).expect("the folder is there") {
        let entry = entry.expect("the folder can be read");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("the file is there").is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("the file can be copied");
        }
    }
}
