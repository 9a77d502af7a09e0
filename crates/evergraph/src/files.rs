//! Files: imports into a database and exports from it, with the feature `files`.

use crate::database::{Database, ImportProgress, ImportReport};
use crate::file_work::FileWork;
use evergraph_engines::kind::EngineKind;
use evergraph_files::export::options::{ExportOptions, ExportProgress, ExportSummary};
use evergraph_files::export::run::export;
use evergraph_files::import::existing_graph::ExistingGraph;
use evergraph_files::import::options::ImportOptions;
use evergraph_files::import::read::read_beside;
use evergraph_graph::budget::{Budget as _, Reservation};
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
        // Before files are read: the load would be refused after them.
        self.open.files(FileWork::Load)?;
        self.store().check_unowned()?;
        let known = ExistingGraph::of(self.snapshot());
        let temporary = options.temporary.clone().or_else(|| self.path().map(ToOwned::to_owned));
        let memory = options.memory.or_else(|| self.import_memory_bytes());
        let options = &ImportOptions { temporary, memory, ..options.clone() };
        let shares = options.memory_shares();
        let reading = self.reserve_for_import(shares.rows + shares.waiting + shares.ids)?;
        let mut files = read_beside(options, known, &|now| progress(&ImportProgress::Reading(now)))?;
        drop(reading);
        // From here on only building is stopped by half: what is asked for before it begins is heard before it does.
        options.cancel.check()?;
        let load = std::mem::take(&mut files.load);
        let _rows = self.reserve_for_import(shares.rows)?;
        let loaded = self.load_within(shares.sorting, &load, progress, &options.cancel)?;
        let (vertices_count, edges_count) = (load.vertices_count(), load.edges_count());
        Ok(ImportReport { loaded, vertices_count, edges_count, files })
    }

    /// What an import into this database takes if its options name no memory: half of the memory limit of the disk engine;
    /// `None` with the others.
    #[must_use]
    pub fn import_memory_bytes(&self) -> Option<u64> {
        (self.engine() == EngineKind::Disk).then(|| self.store().budget().limit_bytes() / 2)
    }

    /// Takes memory of an import from the limit of the disk engine; with the others, whose limit is for what comes
    /// beside graphs, nothing.
    ///
    /// # Errors
    /// `limit` if other uses leave less.
    pub fn reserve_for_import(&self, bytes: u64) -> Result<Reservation> {
        let bytes = if self.engine() == EngineKind::Disk { bytes } else { 0 };
        self.store().budget().reserve("import", bytes)
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
    ) -> Result<ExportSummary> {
        export(&self.snapshot(), options, progress)
    }
}
