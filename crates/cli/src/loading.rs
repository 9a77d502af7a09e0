//! Loading: a graph in blocks becomes the content of a database, or is added to it.
//!
//! A database that is there is opened before anything is read or made: whoever has it open, or has
//! something in it that must not be, should hear so at once and not after an hour. One that isn't there
//! is created only when there is something to put into it.

use crate::context::Context;
use crate::engine::EngineArgument;
use crate::open::refuse_file;
use evergraph::database::ImportProgress;
use evergraph::import::existing_graph::ExistingGraph;
use evergraph::import::options::MemoryShares;
use evergraph::path::DatabasePath;
use evergraph::{Database, EngineKind, FileWork, IndexOptions, Options, Statistics};
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::load::Load;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::view::GraphView;
use evergraph_report::disk_size::disk_bytes;
use evergraph_terminal::meter::Meter;
use evergraph_terminal::number::{count, counted, size, telling_rate, time};
use evergraph_terminal::table::{Side, Table, visible};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where a graph is to go.
pub struct Destination {
    path: PathBuf,
    /// How it is opened, and of which engine it is if it isn't there.
    options: Options,
    /// `None` until there is something to put in.
    database: Option<Database>,
    /// Indexes that it gets with the graph.
    indexes: Vec<IndexOptions>,
}

impl Destination {
    /// The database at `path`, which is created by [`Destination::load`] if it isn't there: by `engine`, or that of
    /// memory.
    ///
    /// # Errors
    /// Those of opening; `invalid` for a database of another engine, and for a node of a cluster.
    pub fn new(path: &Path, engine: Option<EngineArgument>, context: &Context) -> Result<Self> {
        let engine = engine.map(EngineArgument::kind);
        let Options {
            persistent_memory,
            memory_limit_bytes,
            io_threads,
            compaction_threads,
            live_bytes_max,
            ..
        } = context.options;
        let options = Options {
            engine,
            persistent_memory,
            memory_limit_bytes,
            io_threads,
            compaction_threads,
            live_bytes_max,
            ..Options::default()
        };
        DatabasePath::of(path)?.check_work(FileWork::Load)?;
        let database = if options.would_create(path) { None } else { Some(open(path, &options)?) };
        // The load would be refused after all was read.
        database.as_ref().map_or(Ok(()), |database| database.store().check_unowned())?;
        // Before an hour of reading.
        options.check_new(path)?;
        Ok(Self { path: path.to_owned(), options, database, indexes: Vec::new() })
    }

    /// As [`Destination::new`], for a database without vertices.
    ///
    /// # Errors
    /// `invalid` if something is in it; those of opening.
    pub fn new_or_empty(path: &Path, engine: Option<EngineArgument>, context: &Context) -> Result<Self> {
        let destination = Self::new(path, engine, context)?;
        let vertices = match &destination.database {
            Some(database) => database.statistics()?.vertices_count(),
            None => 0,
        };
        if vertices > 0 {
            return Err(Error::invalid(format!(
                "{} already has {}: a generated graph goes into a new or an empty database; name another one",
                path.display(),
                counted(vertices, "vertex", "vertices")
            )));
        }
        Ok(destination)
    }

    /// The same, which gets `indexes` behind the graph, beside those of the graph's unique keys.
    #[must_use]
    pub fn with_indexes(self, indexes: Vec<IndexOptions>) -> Self {
        Self { indexes, ..self }
    }

    /// What the database has, for an import that adds to it.
    #[must_use]
    pub fn known(&self) -> ExistingGraph {
        self.database
            .as_ref()
            .map_or_else(ExistingGraph::default, |database| ExistingGraph::of(database.snapshot()))
    }

    /// What an import into it takes if it isn't told: half of the memory limit of the disk engine. `None` with the
    /// others.
    ///
    /// # Errors
    /// `invalid` if the limit is too low.
    pub fn import_memory_bytes(&self) -> Result<Option<u64>> {
        match (&self.database, self.options.engine) {
            (Some(database), _) => Ok(database.import_memory_bytes()),
            (None, Some(EngineKind::Disk)) => Ok(Some(self.options.memory_limit_of_new()? / 2)),
            (None, _) => Ok(None),
        }
    }

    /// Takes memory for reading from the limit of the database, if it is open.
    ///
    /// # Errors
    /// `limit` if other uses leave less.
    pub fn reserve_for_reading(&self, shares: MemoryShares) -> Result<Option<Reservation>> {
        let bytes = shares.rows + shares.waiting + shares.ids;
        self.database.as_ref().map(|database| database.reserve_for_import(bytes)).transpose()
    }

    /// Loads `load`, which took `read_seconds` to get, and closes the database. What the rows take of `memory` is in
    /// use; edges are sorted within its share for that. `None`: rows take nothing that counts, and sorting what the
    /// engine allows.
    ///
    /// # Errors
    /// Those of opening and loading; `cancelled`. What is at the path is as before then.
    pub fn load(
        self,
        load: Load,
        memory: Option<MemoryShares>,
        read_seconds: f64,
        meter: &Meter,
        context: &Context,
    ) -> Result<LoadReport> {
        let began = Instant::now();
        let tell = |progress: &ImportProgress<'_>| tell(meter, progress);
        let fill = |database: Database| -> Result<Statistics> {
            let (rows_bytes, sorting_bytes) =
                memory.map_or((0, u64::MAX), |memory| (memory.rows, memory.sorting));
            let rows = database.reserve_for_import(rows_bytes)?;
            database.load_within(sorting_bytes, &load, &tell, &context.cancel)?;
            drop(rows);
            for index in &self.indexes {
                database.create_index_with(index, &|_| {}, &context.cancel)?;
            }
            let statistics = database.statistics()?;
            database.close()?;
            Ok(statistics)
        };
        let statistics = match self.database {
            Some(database) => fill(database)?,
            None => {
                let (was_there, creates) = (self.path.exists(), self.options.would_create(&self.path));
                let database = open(&self.path, &self.options).inspect_err(|error| {
                    // What an opening that failed has made so far; a database of somebody else is not touched.
                    if creates && error.kind() != ErrorKind::Busy {
                        remove_new(&self.path, was_there);
                    }
                })?;
                // Somebody may have made one, and put something in, while we were reading.
                let is_ours = database.snapshot().timestamp() == Timestamp::ZERO;
                fill(database).inspect_err(|_| {
                    if is_ours {
                        remove_new(&self.path, was_there);
                    }
                })?
            }
        };
        let load_seconds = began.elapsed().as_secs_f64();
        let vertices = load
            .vertices
            .iter()
            .map(|table| LabelRow { label: table.label.clone(), vertices: table.rows })
            .collect();
        let label = |table: usize| load.vertices[table].label.clone();
        let edges = load
            .edges
            .iter()
            .map(|table| TypeRow {
                edge_type: table.edge_type.clone(),
                source_label: label(table.source_label),
                target_label: label(table.target_label),
                edges: table.rows,
            })
            .collect();
        let (edges_count, all_edges) = (load.edges_count(), statistics.edges_count());
        let topology_bytes = statistics.store.engine.topology_bytes as f64;
        let per_edge = (all_edges > 0).then(|| topology_bytes / all_edges as f64);
        Ok(LoadReport {
            database: self.path.display().to_string(),
            labels: vertices,
            edge_types: edges,
            vertices_count: load.vertices_count(),
            edges_count,
            read_seconds,
            load_seconds,
            disk_bytes: disk_bytes(&self.path)?,
            engine: statistics.engine.name(),
            memory_bytes_per_edge: per_edge.filter(|_| statistics.engine.keeps_graph_in_memory()),
            file_bytes_per_edge: per_edge.filter(|_| !statistics.engine.keeps_graph_in_memory()),
        })
    }
}

/// Removes a database that was made for what it didn't get; a folder that `was_there` is empty again.
///
/// Why it didn't is what the user has to hear: an empty database that can't be removed does no harm.
fn remove_new(path: &Path, was_there: bool) {
    if !was_there {
        let _ = fs::remove_dir_all(path);
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let _ = fs::remove_file(entry.path());
    }
}

fn tell(meter: &Meter, progress: &ImportProgress<'_>) {
    let share = |done: u64, all: u64| Some(done as f64 / all.max(1) as f64);
    match progress {
        ImportProgress::Building(now) => meter.tell("build", share(now.edges, now.edges_total), || {
            counted(now.edges, "edge sorted", "edges sorted")
        }),
        ImportProgress::Writing(now) => {
            meter.tell("write", share(now.groups_done, now.groups_count), || size(now.bytes_written));
        }
        _ => {}
    }
}

fn open(path: &Path, options: &Options) -> Result<Database> {
    refuse_file(path)?;
    Database::open_with(path, options)
}

/// What was loaded, and how long it took.
#[derive(Debug, Serialize)]
pub struct LoadReport {
    /// The database.
    pub database: String,
    /// Its engine.
    pub engine: &'static str,
    /// Vertices a label.
    pub labels: Vec<LabelRow>,
    /// Edges a type and pair of labels.
    pub edge_types: Vec<TypeRow>,
    /// All vertices that were added.
    pub vertices_count: u64,
    /// All edges that were added.
    pub edges_count: u64,
    /// Seconds to read or make the graph.
    pub read_seconds: f64,
    /// Seconds to load it and make it durable.
    pub load_seconds: f64,
    /// Bytes of the database's files.
    pub disk_bytes: u64,
    /// Bytes in memory that an edge of the database takes, both directions together; properties not included. `null`
    /// with an engine that keeps edges in files.
    pub memory_bytes_per_edge: Option<f64>,
    /// The same in files; `null` with the memory engine.
    pub file_bytes_per_edge: Option<f64>,
}

/// Vertices of one label.
#[derive(Debug, Serialize, Deserialize)]
pub struct LabelRow {
    /// The label.
    pub label: String,
    /// How many.
    pub vertices: u64,
}

/// Edges of one type between two labels.
#[derive(Debug, Serialize)]
pub struct TypeRow {
    /// The type.
    #[serde(rename = "type")]
    pub edge_type: String,
    /// Where they begin.
    pub source_label: String,
    /// Where they end.
    pub target_label: String,
    /// How many.
    pub edges: u64,
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut labels = Table::new(&[("label", Side::Left), ("vertices", Side::Right)]);
        for row in &self.labels {
            labels.row([row.label.clone(), count(row.vertices)]);
        }
        let mut types = Table::new(&[
            ("type", Side::Left),
            ("from", Side::Left),
            ("to", Side::Left),
            ("edges", Side::Right),
        ]);
        for row in &self.edge_types {
            let TypeRow { edge_type, source_label, target_label, edges } = row;
            types.row([edge_type.clone(), source_label.clone(), target_label.clone(), count(*edges)]);
        }
        write!(f, "{labels}\n{types}\n")?;
        let seconds = |seconds: f64| Duration::from_secs_f64(seconds);
        let (vertices, edges) = (self.vertices_count, self.edges_count);
        let whole = seconds(self.read_seconds + self.load_seconds);
        write!(
            f,
            "{} and {} in {} ({} to read, {} to load)",
            counted(vertices, "vertex", "vertices"),
            counted(edges, "edge", "edges"),
            time(whole),
            time(seconds(self.read_seconds)),
            time(seconds(self.load_seconds)),
        )?;
        match telling_rate(vertices + edges, whole, "rows") {
            Some(rate) => writeln!(f, ": {rate}")?,
            None => writeln!(f)?,
        }
        write!(f, "{}: {} on disk", visible(&self.database), size(self.disk_bytes))?;
        match (self.memory_bytes_per_edge, self.file_bytes_per_edge) {
            (Some(bytes), _) => writeln!(f, ", {bytes:.1} bytes an edge in memory"),
            (_, Some(bytes)) => writeln!(f, ", {bytes:.1} bytes an edge in files"),
            (None, None) => writeln!(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::cancel::CancelFlag;
    use evergraph_graph::load::{VertexBlock, VertexTable};
    use evergraph_terminal::console::Console;
    use evergraph_terminal::interrupt::Interrupt;

    fn context(options: Options) -> Context {
        Context {
            console: Console::default(),
            cancel: CancelFlag::default(),
            interrupt: Interrupt::default(),
            threads: 1,
            options,
            opening_options: Vec::new(),
        }
    }

    fn load() -> Load {
        Load {
            vertices: vec![VertexTable::new("V", Vec::new(), vec![VertexBlock::bare(3)])],
            edges: Vec::new(),
        }
    }

    /// The folder of a test does not lie in persistent memory, which is found out when it is there.
    #[test]
    fn an_opening_that_fails_leaves_no_database_that_was_not_there() {
        let root = tempfile::tempdir().unwrap();
        let (new, empty) = (root.path().join("new.eg"), root.path().join("empty.eg"));
        fs::create_dir(&empty).unwrap();
        let required =
            Options { persistent_memory: evergraph::PersistentMemory::Required, ..Options::default() };
        let context = context(required);
        for path in [&new, &empty] {
            let into = Destination::new(path, Some(EngineArgument::Mapped), &context).unwrap();
            into.load(load(), None, 0.0, &Meter::silent(), &context).unwrap_err();
        }
        assert!(!new.exists() && fs::read_dir(&empty).unwrap().next().is_none());
    }

    #[test]
    fn a_load_that_fails_leaves_no_database_that_was_not_there() {
        let root = tempfile::tempdir().unwrap();
        let (new, empty) = (root.path().join("new.eg"), root.path().join("empty.eg"));
        fs::create_dir(&empty).unwrap();
        let context = context(Options::default());
        context.cancel.cancel();
        for path in [&new, &empty] {
            let into = Destination::new(path, None, &context).unwrap();
            let failed = into.load(load(), None, 0.0, &Meter::silent(), &context).unwrap_err();
            assert_eq!(failed.kind(), ErrorKind::Cancelled);
        }
        assert!(!new.exists() && fs::read_dir(&empty).unwrap().next().is_none());
        Database::open(&new).unwrap().close().unwrap();
        let into = Destination::new(&new, None, &context).unwrap();
        into.load(load(), None, 0.0, &Meter::silent(), &context).unwrap_err();
        assert!(new.join("manifest").exists() || new.join("lock").exists(), "it was there");
    }
}
