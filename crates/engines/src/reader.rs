//! Reader: a database that is open to be read beside the process that writes it, or while nobody does.
//!
//! ```text
//! manifest ──engine──> mapped: LiveReader ──> Store that reads          memory, disk: refused, with what to do
//! ```
//!
//! Their graph lies in the memory of the process that writes, and no other can read it there.

use crate::engine::AnyEngine;
use crate::kind::EngineKind;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::timestamp::Timestamp;
use evergraph_mapped_engine::reader::live_reader::LiveReader;
use evergraph_mapped_engine::reader::processes::{DatabaseProcesses, database_processes};
use evergraph_mapped_engine::reader::reader_engine::MappedReader;
use evergraph_storage::checkpoint::manifest::{FILE_NAME, Manifest};
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::found_database::refuse_lost_manifest;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::random::Random;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::open::OpenOptions;
use evergraph_storage::store::{SharedParts, Store, StoreOptions};
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::timeline::shared_readable::SharedReadable;
use evergraph_storage::unfinished_directory::is_unfinished;
use std::sync::Arc;

/// A database that is open to be read.
///
/// Snapshots begin at the newest commit that the process that writes lets others see; when that process ends and another one opens
/// the database, they go on with that one. Dropping or closing ends it as soon as no snapshot is open.
pub struct OpenReader {
    store: Store<AnyEngine>,
}

impl OpenReader {
    /// The store: snapshots, and transactions that refuse every write.
    #[must_use]
    pub fn store(&self) -> &Store<AnyEngine> {
        &self.store
    }

    /// Lets go of the database as soon as no snapshot is open. Reads of later snapshots say that it is closed.
    pub fn close(&self) {
        if let AnyEngine::Reader(engine) = &**self.store.engine() {
            engine.close();
        }
    }
}

impl Drop for OpenReader {
    fn drop(&mut self) {
        self.close();
    }
}

/// Opens the database in `directory` to read it, whoever writes it. Nothing but `live` and `reader-<n>` is written there.
///
/// Of `options` it takes the environment, the memory limit, and what transactions have by default.
///
/// Cost: some mappings if a process writes it; else what opening it costs, without indexes.
///
/// # Errors
/// `not_found` if there is no database; `invalid` if its engine is one whose graph no other process can read, or `live` has another
/// format; `busy` if a process has it open and lets nobody read within five seconds; `limit` if 64 processes read it; `io`, naming
/// the file, without permission to write `live` or `reader-<n>`; `corrupt`.
pub fn open_reader(directory: Arc<dyn Directory>, options: &OpenOptions) -> Result<OpenReader> {
    let kind = engine_of(&*directory)?;
    if kind != EngineKind::Mapped {
        let (location, mapped) = (directory.location().display(), EngineKind::Mapped);
        return Err(Error::invalid(format!(
            "the database {location} has the engine `{kind}`, which one process at a time can open: read it through that \
             process or a server, or write a copy that others can read: `evergraph convert {location} NEW --engine {mapped}`"
        )));
    }
    let memory_limit_bytes = AnyEngine::memory_limit(kind.name(), options.memory_limit_bytes)?;
    let random = random_of(options)?;
    let clock = options.environment.clock();
    let reader = Arc::new(LiveReader::open(directory, Arc::clone(&clock))?);
    let shared: Arc<dyn SharedReadable> = Arc::<LiveReader>::clone(&reader);
    let timeline = Timeline::new(Timestamp::ZERO, Readable::Shared(shared)).with_clock(clock);
    let of_writer = Arc::clone(&reader);
    let budget = Arc::new(MemoryBudget::new(memory_limit_bytes));
    let parts = SharedParts {
        engine: Arc::new(AnyEngine::Reader(Box::new(MappedReader::new(reader, &budget)))),
        timeline: Arc::new(timeline),
        budget,
        random,
        options: store_options(options),
    };
    Ok(OpenReader { store: Store::assemble_reader(parts, Arc::new(move || of_writer.writer())) })
}

/// What `options` say of a store whose graph lies elsewhere.
pub(crate) fn store_options(options: &OpenOptions) -> StoreOptions {
    StoreOptions {
        attempts_max: options.attempts_max,
        isolation: options.isolation,
        background: options.environment.background(),
        transaction_timeout: options.transaction_timeout,
        transaction_bytes_max: options.transaction_bytes_max,
        stall_max: options.stall_max,
    }
}

/// The random numbers of such a store.
pub(crate) fn random_of(options: &OpenOptions) -> Result<Box<dyn Random>> {
    options.environment.random().map_err(|source| {
        Error::new(ErrorKind::Io, format!("ask the system for random bytes: {source}")).because(source)
    })
}

/// The engine of the database in `directory`. Nothing is locked.
///
/// # Errors
/// `not_found` if there is no database; `invalid` for an engine that isn't known; `corrupt`, also if only the manifest is missing;
/// `io`.
pub fn engine_of(directory: &dyn Directory) -> Result<EngineKind> {
    let manifest = manifest_of(directory)?;
    Ok(EngineKind::named(&manifest.engine).expect("a manifest is read if its engine is known"))
}

/// Whether the database of `directory` may have notes of an owner, by its last checkpoint. If not, it has none, unless it got its
/// first owner since.
///
/// # Errors
/// As [`engine_of`].
pub fn may_have_notes(directory: &dyn Directory) -> Result<bool> {
    Ok(manifest_of(directory)?.notes.is_some())
}

fn manifest_of(directory: &dyn Directory) -> Result<Manifest> {
    if !directory.exists(FILE_NAME)? {
        if !is_unfinished(directory)? {
            refuse_lost_manifest::<AnyEngine>(directory)?;
        }
        let text = format!("there is no database in {}", directory.location().display());
        return Err(Error::new(ErrorKind::NotFound, text));
    }
    Ok(Manifest::read(directory, AnyEngine::opens)?)
}

/// Which processes have the database of `directory` open. Nothing is changed there.
///
/// # Errors
/// `not_found` if there is no database; `io`, naming the file, without permission to look at it.
pub fn processes(directory: &Arc<dyn Directory>) -> Result<DatabaseProcesses> {
    engine_of(&**directory)?;
    database_processes(directory)
}
