//! Opening a database that has to be there: every command but those that make one.

use evergraph::{Database, Options};
use evergraph_graph::error::{Error, Result};
use std::path::Path;

/// Opens the database at `path` with the defaults, whatever the user's settings are; a misspelt path
/// makes no new one. Commands that follow settings open by [`crate::context::Context::open`].
///
/// # Errors
/// `not_found` if there is none; `busy` if another process has it open; `invalid` for a folder of
/// something else or a newer format; `corrupt`; `io`.
pub fn open(path: &Path) -> Result<Database> {
    refuse_file(path)?;
    Database::open_with(path, &Options { create: false, ..Options::default() })
}

/// Says what a database is to who names a file.
///
/// # Errors
/// `invalid` if `path` is there and no folder.
pub fn refuse_file(path: &Path) -> Result<()> {
    if path.exists() && !path.is_dir() {
        return Err(Error::invalid(format!(
            "{} is a file, but a database is a folder: name the database first",
            path.display()
        )));
    }
    Ok(())
}
