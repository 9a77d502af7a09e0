//! Path: the directory of a database that must be there.

use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::io::disk::DiskDirectory;
use std::path::Path;

/// The directory of a database that must exist.
///
/// # Errors
/// `not_found` if there is none; `io`.
pub fn existing(path: &Path) -> Result<DiskDirectory> {
    DiskDirectory::open(path).map_err(|error| {
        let error = Error::from(error);
        match error.kind() {
            ErrorKind::NotFound => {
                let text = format!("there is no database at {}", path.display());
                Error::new(ErrorKind::NotFound, text).because(error)
            }
            _ => error,
        }
    })
}
