//! Disk error: what an error of the operating system about a file means, with the file named.

use evergraph_graph::error::{Error, ErrorKind};
use std::io;
use std::path::Path;

/// What `error` means, as an error of `what`.
pub(crate) fn failed(what: &str, path: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::Limit,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("{what} {}: {error}", path.display())).because(error)
}
