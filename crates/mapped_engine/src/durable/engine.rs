//! The mapped engine as a `DurableEngine`: its files are array files, `live`, and the locks of readers.

use crate::body_store::column_table::{ColumnEntry, take_table};
use crate::checkpoint::check::{ExpectedBody, check_array_files};
use crate::checkpoint::copy::PinnedExtents;
use crate::claimed_slots::is_reader_file;
use crate::durable::load::BuiltLoad;
use crate::durable::new_files::NewFiles;
use crate::durable::opening::{OpenedDatabase, allow_reuse, leave_lock, open_database, remove_shared_files};
use crate::durable::salvage::salvage;
use crate::engine::mapped_engine::{MappedEngine, UnusedBlocks};
use crate::engine::options::MappedOptions;
use crate::entries::entry_body::EntryBody;
use crate::extents::array_file::file_number;
use crate::extents::header::ExtentPlace;
use crate::extents::table::ExtentOptions;
use crate::files::section::Section;
use crate::live_file;
use crate::view::mapped_view::MappedView;
use evergraph_bodies::body_ref::vertices::VertexBodyRef;
use evergraph_bodies::edge_lists::EdgeLists;
use evergraph_bodies::graph_bodies::write_bodies;
use evergraph_graph::bytes::Reader;
use evergraph_graph::error::Result;
use evergraph_graph::id::{GROUP_SIZE, KeyId};
use evergraph_graph::index::IndexId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::column_form::take_column;
use evergraph_storage::checkpoint::contract::{CheckpointOutcome, CheckpointSources, OnCheckpointProgress};
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::checkpoint::report::{CheckProgress, Report};
use evergraph_storage::conversion::source::GraphSource;
use evergraph_storage::durable_engine::{
    DurableEngine, EngineStep, LoadPlan, OnLoadProgress, OpenContext, OpenedEngine, PinnedFiles,
};
use evergraph_storage::index::fill::IndexFill;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::write_unit::WriteUnit;
use evergraph_storage::salvage::new_database::SalvageTarget;
use evergraph_storage::salvage::salvaged::Salvaged;
use evergraph_storage::salvage::source::SalvageSource;
use evergraph_storage::view::View;
use std::sync::Arc;

impl DurableEngine for MappedEngine {
    type Load = BuiltLoad;

    const NEW: &'static str = Self::NAME;

    fn opens(engine: &str) -> bool {
        engine == Self::NAME
    }

    fn empty_section(_engine: &str) -> Vec<u8> {
        // Lines are the finest unit, and nothing lies at multiples of it yet.
        Section::empty(WriteUnit::PAGE).encode()
    }

    fn is_file(name: &str) -> bool {
        file_number(name).is_some() || name == live_file::FILE_NAME || is_reader_file(name)
    }

    fn engine_of_file(name: &str) -> Option<&'static str> {
        file_number(name).map(|_| Self::NAME)
    }

    fn open(opening: &OpenContext<'_>) -> CheckpointResult<OpenedEngine<Self>> {
        let OpenContext { directory, manifest, timeline, budget, live_bytes_max, .. } = *opening;
        let options =
            (MappedOptions { live_bytes_max, ..MappedOptions::default() }, ExtentOptions::default());
        let OpenedDatabase { engine, bytes_count } =
            open_database(directory, manifest, timeline, options, budget)?;
        Ok(OpenedEngine { engine, bytes_count })
    }

    fn checkpoint(
        &self,
        sources: &CheckpointSources<'_>,
        progress: &mut OnCheckpointProgress<'_>,
    ) -> CheckpointResult<CheckpointOutcome> {
        let (directory, extents) = (self.checkpointer().directory(), self.checkpointer().extents());
        allow_reuse(&**directory, extents, self.graph().live())?;
        self.checkpointer().checkpoint(Self::NAME, &**self.graph(), sources, progress)
    }

    /// An index that no manifest names is filled anew when the database is opened.
    fn wants_checkpoint(&self, _is_closing: bool) -> bool {
        let named = self.checkpointer().named();
        let is_named = |number| {
            named.last().is_some_and(|ledger| ledger.indexes.indexes.iter().any(|index| index.1 == number))
        };
        self.graph().indexes().ready().iter().any(|(_, number)| !is_named(*number))
    }

    fn holding<T>(&self, work: impl FnOnce() -> T) -> T {
        self.checkpointer().holding(work)
    }

    fn pin_files(&self, manifest: &Manifest) -> CheckpointResult<Box<dyn PinnedFiles>> {
        let checkpointer = self.checkpointer();
        Ok(Box::new(PinnedExtents::new(checkpointer.directory(), manifest, checkpointer.named())?))
    }

    fn takes_vertex_changes(&self) -> bool {
        true
    }

    fn build_load(&self, plan: &LoadPlan<'_>, progress: &mut OnLoadProgress<'_>) -> Result<BuiltLoad> {
        BuiltLoad::new(self.graph(), plan, progress)
    }

    fn view_load<'a>(&'a self, load: &'a BuiltLoad, timestamp: Timestamp) -> MappedView<'a> {
        load.view(timestamp)
    }

    fn fill_load<'a>(
        &'a self,
        load: &'a BuiltLoad,
        index: IndexId,
        at: Timestamp,
    ) -> Result<Option<Box<dyn IndexFill + 'a>>> {
        Ok(Some(Box::new(load.fill(index, at)?)))
    }

    fn install_load(&self, timestamp: Timestamp, load: &BuiltLoad) -> UnusedBlocks {
        load.install(timestamp);
        UnusedBlocks::none()
    }

    fn run_background(&self) {
        self.graph().run_merges();
    }

    fn step(&self, step: EngineStep) {
        self.graph().step_merges(step == EngineStep::Idle);
    }

    fn close(&self) {
        self.graph().merger().close();
        self.graph().live().close();
        leave_lock(self.checkpointer().directory(), self.checkpointer().extents());
    }

    fn let_go(&self) {
        let live = self.graph().live();
        // An opening that was refused closed nothing yet.
        live.close();
        // Whoever is about to commit may want more blocks: those of the next `live` are another writer's.
        live.words().close_regions();
        remove_shared_files(&**self.checkpointer().directory());
    }

    fn check_files(
        directory: &dyn Directory,
        manifest: &Manifest,
        report: &mut Report,
        progress: &mut CheckProgress<'_>,
    ) -> Result<()> {
        check_array_files(directory, manifest, check_body, report, progress)
    }

    fn write_graph<V: View>(
        _engine: &str,
        source: &mut GraphSource<'_, V>,
        directory: &Arc<dyn Directory>,
    ) -> Result<(Manifest, u64)> {
        let mut files = NewFiles::new(directory, source.timestamp())?;
        write_bodies(source, &mut files)?;
        files.into_manifest(source.catalogue().clone(), source.groups().to_vec())
    }

    fn salvage(
        source: SalvageSource<'_>,
        target: &SalvageTarget<'_>,
        progress: &mut CheckProgress<'_>,
    ) -> Result<Salvaged> {
        salvage(source, target, progress)
    }
}

/// Whether a body and its columns, whose checksums are right, are what was written of the segment.
fn check_body(
    ExpectedBody { id, items, entry_form }: ExpectedBody,
    payload: &[u8],
    columns: &[(KeyId, Timestamp, ExtentPlace, &[u8])],
) -> std::result::Result<(), String> {
    let (arrays, table) = take_table(payload)?;
    let named = columns.iter().map(|&(key, base, place, _)| ColumnEntry { key, base, place });
    if !named.eq(table.iter().copied()) {
        return Err(format!("a table of the {} columns that the manifest names expected", columns.len()));
    }
    let (edges, found) = match (id.type_and_side(), entry_form) {
        (None, Some(form)) => {
            let entries = EntryBody::parse(arrays)?;
            entries.check(|entry| form.check(entry).map(drop))?;
            (None, entries.count())
        }
        (None, None) => {
            let live = VertexBodyRef::parse(arrays)?.live();
            (None, live.iter().map(|word| u64::from(word.count_ones())).sum())
        }
        (Some(_), _) => {
            let lists = EdgeLists::parse(arrays)?;
            lists.check()?;
            if let Some(row) = id.hub_row()
                && lists.range(row).len() != lists.edges_count()
            {
                return Err(format!("edges of row {row} alone expected"));
            }
            (Some(lists.edges_count()), lists.edges_count() as u64)
        }
    };
    if found != items {
        return Err(format!("{items} items expected, as the manifest says, found {found}"));
    }
    for (key, _, _, column) in columns {
        let mut reader = Reader::new(column);
        let column = take_column(&mut reader, |_| true).map_err(|error| error.to_string())?;
        let items = column.len();
        let fits = edges.map_or(items <= GROUP_SIZE as usize, |edges| items == edges);
        if !reader.is_empty() || !fits {
            return Err(format!("a column of property {} that fits expected, found {items} items", key.0));
        }
    }
    Ok(())
}
