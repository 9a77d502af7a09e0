//! Options: how databases are opened and closed, and what memory they may take.

use evergraph::{Durability, EngineKind, Options};
use std::path::PathBuf;
use std::time::Duration;

/// How a catalogue opens and closes its databases.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CatalogueOptions {
    /// How each is opened. `memory_limit_bytes` is the limit for all together; a database that is not there is never
    /// created by opening it.
    pub open: Options,
    /// Bytes of memory that each database may take. By default one database that is served alone may take all, and of
    /// several each an eighth of the limit for all, or less if more of them are there at the start; 64 MiB at least.
    pub database_memory_limit_bytes: Option<u64>,
    /// Folders of databases that follow a source, made if they are not there. Who starts the server makes them follow it, by
    /// [`ServedDatabase::follow`](crate::databases::served_database::ServedDatabase::follow).
    pub replicas: Vec<PathBuf>,
    /// The durability of each of these, whatever `open` says: what a crash takes their sources send again. By default that of
    /// [`Options`].
    pub replica_durability: Durability,
    /// How long requests may go on when their database is closed, before they are cancelled.
    pub close_grace: Duration,
    /// How long they may take to end then, before their database stays open after all.
    pub close_time_max: Duration,
}

/// How long closing a database may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CloseLimits {
    /// How long requests may go on before they are cancelled.
    pub grace: Duration,
    /// How long they may take to end then.
    pub time_max: Duration,
}

impl CatalogueOptions {
    /// The limits of closing.
    #[must_use]
    pub fn close_limits(&self) -> CloseLimits {
        CloseLimits { grace: self.close_grace, time_max: self.close_time_max }
    }
}

impl Default for CatalogueOptions {
    fn default() -> Self {
        let open = Options::default();
        Self {
            replica_durability: open.durability,
            open,
            database_memory_limit_bytes: None,
            replicas: Vec::new(),
            close_grace: Duration::from_secs(5),
            close_time_max: Duration::from_secs(30),
        }
    }
}

/// What a new database is to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CreateOptions {
    /// Its engine; by default [`EngineKind::DEFAULT`].
    pub engine: Option<EngineKind>,
    /// Bytes of memory that it may take whenever a server opens it; by default as every other one.
    pub memory_limit_bytes: Option<u64>,
}
