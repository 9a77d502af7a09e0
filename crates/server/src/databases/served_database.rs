//! Served database: a name that a server knows, and the state of the database behind it.
//!
//! ```text
//!             open                  close, drop
//! Closed ──────────> Opening ─> Open ──────────> Closing ──> Closed
//!   ^                   │ failed                    │
//!   └──── Failed <──────┴───────────────────────────┴──> gone, if it was dropped
//! ```

use crate::databases::cluster_member::ClusterMember;
use crate::databases::ending_checkpoint::write_ending_checkpoint;
use crate::databases::follower::DatabaseFollower;
use crate::databases::memory_shares::{MemoryShare, MemoryShares};
use crate::databases::open_database::{ClosingChange, DatabaseUse, OpenDatabase};
use crate::databases::options::{CatalogueOptions, CloseLimits};
use crate::databases::settings_file::DatabaseSettings;
use evergraph::{Database, EngineKind, Options};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A database under its name.
///
/// Concurrency: one lock, held to look at the state and to change it; opening and closing happen without it.
pub struct ServedDatabase {
    name: Arc<str>,
    home: Home,
    phase: Mutex<Phase>,
    /// Set once, by whoever makes the database follow a source.
    follower: OnceLock<Arc<dyn DatabaseFollower>>,
    /// Set once, by whoever opened a database that is a node of a cluster.
    member: OnceLock<Arc<dyn ClusterMember>>,
}

/// Where a database is from, and so what may become of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Home {
    /// Whoever started the server opened it, and closes it.
    Given,
    /// A folder anywhere: it may be closed and opened.
    Folder(PathBuf),
    /// A folder anywhere of a database that follows a source, made if it is not there: it may be closed and opened, and follows
    /// while it is open.
    Replica(PathBuf),
    /// A folder directly below the root: it may be dropped as well.
    Root(PathBuf),
}

enum Phase {
    Opening,
    Open(Arc<OpenDatabase>, MemoryShare),
    Closing(ClosingChange),
    Closed,
    /// It could not be opened, or closed.
    Failed(ErrorKind, String),
}

/// Whether a database can be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DatabaseState {
    /// It is being opened or created.
    Opening,
    /// It can be used.
    Open,
    /// It is being closed or dropped.
    Closing,
    /// Nobody has it open; another process may open it.
    Closed,
    /// It could not be opened, or an error occurred when it was closed.
    Failed,
}

impl DatabaseState {
    /// Its name in answers and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Open => "open",
            Self::Closing => "closing",
            Self::Closed => "closed",
            Self::Failed => "failed",
        }
    }
}

/// What is known of a database that is served.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DatabaseInfo {
    /// Its name.
    pub name: Arc<str>,
    /// Where it is from.
    pub home: Home,
    /// Whether it can be used.
    pub state: DatabaseState,
    /// Its engine, if it is open.
    pub engine: Option<EngineKind>,
    /// Bytes of memory that it may take, if it is open; [`u64::MAX`] if whoever opened it set no limit.
    pub memory_limit_bytes: Option<u64>,
    /// What went wrong, if it failed.
    pub error: Option<String>,
}

impl ServedDatabase {
    /// A database that is closed.
    #[must_use]
    pub fn closed(name: Arc<str>, home: Home) -> Self {
        Self::in_phase(name, home, Phase::Closed)
    }

    /// A database that is about to be created.
    #[must_use]
    pub fn opening(name: Arc<str>, home: Home) -> Self {
        Self::in_phase(name, home, Phase::Opening)
    }

    /// A database that its owner has opened.
    #[must_use]
    pub fn given(name: Arc<str>, database: Arc<Database>, share: MemoryShare) -> Self {
        let open = Arc::new(OpenDatabase::new(Arc::clone(&name), database));
        Self::in_phase(name, Home::Given, Phase::Open(open, share))
    }

    fn in_phase(name: Arc<str>, home: Home, phase: Phase) -> Self {
        let (follower, member) = (OnceLock::new(), OnceLock::new());
        Self { name, home, phase: Mutex::new(phase), follower, member }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Where it is from.
    #[must_use]
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Says by what it follows its source while it is open, from now on; only the first one counts.
    ///
    /// # Errors
    /// `busy` if it is not open; those of [`DatabaseFollower::begin`].
    pub fn follow(&self, follower: Arc<dyn DatabaseFollower>) -> Result<()> {
        // In use, it is not closed meanwhile.
        let using = self.begin(CancelFlag::default())?;
        match self.follower.set(Arc::clone(&follower)) {
            Ok(()) => follower.begin(using.database()),
            Err(_) => Ok(()),
        }
    }

    /// By what it follows a source, if it does.
    #[must_use]
    pub fn follower(&self) -> Option<&Arc<dyn DatabaseFollower>> {
        self.follower.get()
    }

    /// Says which node of a cluster it is, from now on; only the first one counts.
    pub fn set_member(&self, member: Arc<dyn ClusterMember>) {
        let _ = self.member.set(member);
    }

    /// Which node of a cluster it is, if it is one.
    #[must_use]
    pub fn member(&self) -> Option<&Arc<dyn ClusterMember>> {
        self.member.get()
    }

    /// What is known of it now.
    #[must_use]
    pub fn info(&self) -> DatabaseInfo {
        let phase = self.phase();
        let (engine, memory_limit_bytes) = match &*phase {
            Phase::Open(open, share) => (Some(open.database().engine()), Some(share.bytes())),
            _ => (None, None),
        };
        let error = match &*phase {
            Phase::Failed(_, error) => Some(error.clone()),
            _ => None,
        };
        DatabaseInfo {
            name: Arc::clone(&self.name),
            home: self.home.clone(),
            state: phase.state(),
            engine,
            memory_limit_bytes,
            error,
        }
    }

    /// Whether it can be used now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(*self.phase(), Phase::Open(..))
    }

    /// Begins a use, which `cancel` stops.
    ///
    /// # Errors
    /// `busy` if it is not open, with its state.
    pub fn begin(&self, cancel: CancelFlag) -> Result<DatabaseUse> {
        let open = match &*self.phase() {
            Phase::Open(open, _) => Arc::clone(open),
            phase => return Err(self.unavailable(phase)),
        };
        open.begin(cancel)
    }

    /// Opens it; nothing if it is open. Waits until that is done.
    ///
    /// # Errors
    /// Those of opening; `limit` if its memory does not fit; `busy` while it is being opened or closed.
    pub(crate) fn open(&self, options: &CatalogueOptions, shares: &Arc<MemoryShares>) -> Result<()> {
        {
            let mut phase = self.phase();
            match &*phase {
                Phase::Open(..) => return Ok(()),
                Phase::Closed | Phase::Failed(..) => *phase = Phase::Opening,
                phase => return Err(self.unavailable(phase)),
            }
        }
        self.open_entered(|| {
            self.follower().map_or(Ok(()), |follower| follower.prepare())?;
            let settings = DatabaseSettings::read(self.folder()?)?;
            let share = shares.take(&self.name, settings.memory_limit_bytes)?;
            Ok((self.open_folder(options, share.bytes())?, share))
        })
    }

    /// Opens what is being opened already: `make` makes the database, and takes its memory.
    ///
    /// # Errors
    /// Those of `make`.
    pub(crate) fn open_entered(&self, make: impl FnOnce() -> Result<(Database, MemoryShare)>) -> Result<()> {
        let made = make().and_then(|(database, share)| {
            // Before anybody can close it.
            self.follower().map_or(Ok(()), |follower| Arc::clone(follower).begin(&database))?;
            Ok((database, share))
        });
        let mut phase = self.phase();
        match made {
            Ok((database, share)) => {
                let open = OpenDatabase::new(Arc::clone(&self.name), Arc::new(database));
                *phase = Phase::Open(Arc::new(open), share);
                Ok(())
            }
            Err(error) => {
                *phase = Phase::Failed(error.kind(), error.to_string());
                Err(error)
            }
        }
    }

    /// Opens its folder with so much memory.
    ///
    /// # Errors
    /// Those of opening.
    pub(crate) fn open_folder(
        &self,
        catalogue: &CatalogueOptions,
        memory_limit_bytes: u64,
    ) -> Result<Database> {
        let path = self.folder()?;
        refuse_file(path)?;
        let mut options = Options { create: false, memory_limit_bytes, ..catalogue.open.clone() };
        if let Home::Replica(_) = self.home {
            (options.create, options.durability) = (true, catalogue.replica_durability);
        }
        Database::open_with(path, &options).map_err(|error| match Database::engine_at(path) {
            Ok(EngineKind::Mapped) if error.kind() == ErrorKind::Busy => read_elsewhere(error),
            _ => error,
        })
    }

    fn folder(&self) -> Result<&Path> {
        match &self.home {
            Home::Folder(path) | Home::Replica(path) | Home::Root(path) => Ok(path),
            Home::Given => Err(self.not_ours("opened")),
        }
    }

    /// Closes it: refuses further requests, gives those that run some time, cancels them, rolls back transactions, waits
    /// for commits, and writes a checkpoint unless it is to be dropped. If it is not open, nothing of this is necessary. Afterwards it is closed, or still closing
    /// if it is to be dropped.
    ///
    /// # Errors
    /// `invalid` for a database that its owner closes; `busy` while it is being opened or closed, and if requests do
    /// not end, after which it is open as before; errors of the last sync, after which it has failed.
    pub(crate) fn close(&self, change: ClosingChange, limits: CloseLimits) -> Result<()> {
        if self.home == Home::Given {
            return Err(self.not_ours(change.participle()));
        }
        let (open, share) = {
            let mut state = self.phase();
            match std::mem::replace(&mut *state, Phase::Closing(change)) {
                Phase::Open(open, share) => {
                    open.refuse_more(change);
                    (open, share)
                }
                Phase::Closed | Phase::Failed(..) => {
                    if change == ClosingChange::Close {
                        *state = Phase::Closed;
                    }
                    return Ok(());
                }
                phase => {
                    let error = self.unavailable(&phase);
                    *state = phase;
                    return Err(error);
                }
            }
        };
        if let Err(error) = open.drain(limits.grace, limits.time_max) {
            *self.phase() = Phase::Open(open, share);
            return Err(error);
        }
        let ended = self.follower().map_or(Ok(()), |follower| follower.end());
        if change == ClosingChange::Close {
            write_ending_checkpoint(&self.name, open.database());
        }
        let closed = open.database().close().and(ended);
        // Its memory is free before others hear that it is closed.
        drop((open, share));
        match closed {
            Ok(()) => {
                if change == ClosingChange::Close {
                    *self.phase() = Phase::Closed;
                }
                Ok(())
            }
            Err(error) => {
                let text = format!("close the database {:?}: {error}", self.name);
                let error = Error::new(error.kind(), text).because(error);
                *self.phase() = Phase::Failed(error.kind(), error.to_string());
                Err(error)
            }
        }
    }

    /// Notes that it was not dropped after all.
    pub(crate) fn was_not_dropped(&self) {
        *self.phase() = Phase::Closed;
    }

    fn unavailable(&self, phase: &Phase) -> Error {
        let name = &self.name;
        let text = match phase {
            Phase::Opening => format!("the database {name:?} is being opened: try again"),
            Phase::Open(..) => format!("the database {name:?} is open"),
            Phase::Closing(change) => format!("the database {name:?} is being {}", change.participle()),
            Phase::Closed => format!("the database {name:?} is closed: an administrator can open it"),
            // What went wrong may name files of the server.
            Phase::Failed(kind, _) => format!(
                "the database {name:?} could not be opened ({}): the list of databases of the server says why",
                kind.name()
            ),
        };
        Error::new(ErrorKind::Busy, text)
    }

    fn not_ours(&self, participle: &str) -> Error {
        Error::invalid(format!(
            "the database {:?} cannot be {participle}: the program that serves it has opened it",
            self.name
        ))
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Phase {
    fn state(&self) -> DatabaseState {
        match self {
            Self::Opening => DatabaseState::Opening,
            Self::Open(..) => DatabaseState::Open,
            Self::Closing(_) => DatabaseState::Closing,
            Self::Closed => DatabaseState::Closed,
            Self::Failed(..) => DatabaseState::Failed,
        }
    }
}

/// The error of a database that another process has open, and lets others read.
fn read_elsewhere(error: Error) -> Error {
    let text = format!(
        "{error}. A server serves what it writes. Beside another writer, commands such as `evergraph query` and \
         `eg.open(path, read_only=True)` read this database"
    );
    Error::new(ErrorKind::Busy, text).because(error)
}

/// Says what a database is to whoever names a file.
fn refuse_file(path: &Path) -> Result<()> {
    if path.exists() && !path.is_dir() {
        let text = format!("{} is a file, but a database is a folder: name the database", path.display());
        return Err(Error::invalid(text));
    }
    Ok(())
}
