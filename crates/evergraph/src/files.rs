//! Files: imports into a database and exports from it, with the feature `files`.

use crate::database::{Database, ImportProgress, ImportReport};
use evergraph_files::export::options::{ExportOptions, ExportProgress, Exported};
use evergraph_files::export::run::export;
use evergraph_files::import::known::Known;
use evergraph_files::import::options::ImportOptions;
use evergraph_files::import::read::read_beside;
use evergraph_graph::error::Result;

impl Database {
    /// Imports files into this database. Edges may name vertices that are in it by the unique key of
    /// their label; a row of such a vertex is a bad row.
    ///
    /// # Errors
    /// What is wrong with the files, by file, line and column, unless the options say to skip bad rows;
    /// as [`Database::load`].
    pub fn import(
        &self,
        options: &ImportOptions,
        progress: &dyn Fn(&ImportProgress<'_>),
    ) -> Result<ImportReport> {
        let known = Known::of(self.snapshot());
        let temporary = options.temporary.clone().or_else(|| self.path().map(ToOwned::to_owned));
        let options = &ImportOptions { temporary, ..options.clone() };
        let mut files = read_beside(options, known, &|now| progress(&ImportProgress::Reading(now)))?;
        let load = std::mem::take(&mut files.load);
        let loaded = self.load_within(options.memory_bytes() / 2, &load, progress, &options.cancel)?;
        let (vertices_count, edges_count) = (load.vertices_count(), load.edges_count());
        Ok(ImportReport { loaded, vertices_count, edges_count, files })
    }

    /// Writes the newest readable state as files that others read, and that [`Database::import`] reads
    /// back; others go on writing meanwhile. Memory for a page of rows.
    ///
    /// # Errors
    /// `invalid` for options that don't fit, a place that is taken, or what the format can't hold;
    /// `not_found` for names that there aren't; `io`, `limit`, `cancelled`. No error leaves files behind.
    pub fn export(
        &self,
        options: &ExportOptions,
        progress: &dyn Fn(&ExportProgress<'_>),
    ) -> Result<Exported> {
        export(&self.snapshot(), options, progress)
    }
}
