//! New database: writes saved data as a database: the engine's files, an empty log, a manifest.
//!
//! Not through commits or a bulk load: those would give new ids. Vertices, edges, names and indexes keep theirs.

use std::sync::Arc;

use evergraph_graph::error::Result;

use crate::checkpoint::manifest::Manifest;
use crate::io::directory::Directory;
use crate::log::copy::NewLog;
use crate::unfinished::Unfinished;

/// Where the new database will lie.
pub struct SalvageTarget<'a> {
    /// An empty directory, or one in which a salvage was left unfinished.
    pub directory: &'a Arc<dyn Directory>,
    /// Any number: it tells the new log from others.
    pub salt: u64,
    /// Tells names of an engine's files.
    pub is_engine_file: fn(&str) -> bool,
}

/// A database that is being written.
pub struct NewDatabase<'a> {
    unfinished: Unfinished<'a>,
    directory: &'a Arc<dyn Directory>,
    salt: u64,
}

impl<'a> SalvageTarget<'a> {
    /// Begins the database.
    ///
    /// # Errors
    /// As [`Unfinished::begin`].
    pub fn begin(&self) -> Result<NewDatabase<'a>> {
        let unfinished = Unfinished::begin(&**self.directory, self.is_engine_file)?;
        Ok(NewDatabase { unfinished, directory: self.directory, salt: self.salt })
    }
}

impl<'a> NewDatabase<'a> {
    /// Where the engine writes its files.
    #[must_use]
    pub fn directory(&self) -> &'a Arc<dyn Directory> {
        self.directory
    }

    /// Makes it the database of `manifest`, all of whose commits are in the engine's files, which are synced.
    /// Bytes of the log.
    ///
    /// # Errors
    /// `corrupt` if the manifest contradicts itself; `limit`, `io`.
    pub fn finish(self, manifest: &Manifest) -> Result<u64> {
        let log = NewLog::create(&**self.directory, self.salt)?.seal(manifest.need.0)?;
        self.unfinished.finish(manifest)?;
        Ok(log.bytes)
    }
}
