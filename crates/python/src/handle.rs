//! Handles: one open database for each path and process, closed with its last handle and never in a fork.
//!
//! ```text
//! Database ────┐
//! Snapshot ────┼─> Open, one a path ─> evergraph::Database
//! Transaction ─┘
//! ```
//!
//! A fork copies memory, not threads: whatever a child did to its parent's database could wait for ever for a
//! lock that a thread holds which isn't there. So everything is [`ProcessLocal`] by the process that made it: a child
//! gets an error from each use, and drops nothing. A use learns of a fork from Python, which calls [`forked`] in the
//! child: asking the system for the process at each would be a good part of a small transaction.

use crate::error::exception;
use evergraph::path::DatabasePath;
use evergraph::{Database, EngineKind, Error, ErrorKind, Options, Result};
use pyo3::prelude::*;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError, Weak};
use std::time::Duration;

/// How long to wait before looking again whether somebody who opens or closes a path is done.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Something that only the process that made it uses or drops.
pub struct ProcessLocal<T> {
    /// Taken when dropped, and only then.
    thing: Option<T>,
    process: u32,
    forks: u64,
}

/// How many forks lie between this process and the first one. Only grows, in a child that has one thread yet.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Python calls it in the child of each fork.
#[pyfunction]
pub fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

impl<T> ProcessLocal<T> {
    /// Held by this process.
    pub fn new(thing: T) -> Self {
        Self { thing: Some(thing), process: process::id(), forks: FORKS.load(Ordering::Relaxed) }
    }

    /// It, unless this process is a fork of the one that made it.
    ///
    /// # Errors
    /// `ForkError`.
    pub fn get(&self, py: Python<'_>) -> PyResult<&T> {
        if FORKS.load(Ordering::Relaxed) == self.forks {
            return Ok(self.thing.as_ref().expect("taken when dropped only"));
        }
        let now = process::id();
        let text = format!(
            "process {} opened this database, and process {now} is a fork of it: open databases after the \
             fork, or start processes by `spawn`",
            self.process
        );
        Err(exception(py, "ForkError", &text))
    }
}

impl<T> Drop for ProcessLocal<T> {
    fn drop(&mut self) {
        if process::id() != self.process {
            std::mem::forget(self.thing.take());
        }
    }
}

/// The setting by which a database is opened to be read.
pub const READ_ONLY: &str = "read_only";

/// A choice of who opens a database, in words.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What it is about.
    pub name: &'static str,
    /// What was chosen, if anything was.
    pub asked: Option<String>,
    /// What it is otherwise.
    pub default: Cow<'static, str>,
}

impl Setting {
    /// What it is.
    #[must_use]
    pub fn value(&self) -> &str {
        self.asked.as_deref().unwrap_or(&self.default)
    }
}

/// An open database, shared by its handles.
pub struct OpenDatabase {
    /// Taken when dropped, and only then.
    database: Option<Database>,
    /// How it was opened.
    settings: Vec<Setting>,
    place: Option<PathBuf>,
}

impl OpenDatabase {
    /// The database.
    pub fn database(&self) -> &Database {
        self.database.as_ref().expect("taken when dropped only")
    }

    /// What the setting `name` is; nothing for one that there isn't.
    #[must_use]
    pub fn setting(&self, name: &str) -> &str {
        self.settings.iter().find(|setting| setting.name == name).map_or("", Setting::value)
    }

    /// Opens a database that lives in memory, with `options`, which are `settings` in words.
    ///
    /// # Errors
    /// Those of [`Database::in_memory_with`].
    pub fn in_memory(options: &Options, mut settings: Vec<Setting>) -> Result<Arc<Self>> {
        let database = Some(Database::in_memory_with(options)?);
        for setting in settings.iter_mut().filter(|setting| setting.name == "durability") {
            setting.default = "none".into();
        }
        Ok(Arc::new(Self { database, settings, place: None }))
    }

    /// The database at `path`: the one that this process has open, or opened now with `options`, which are
    /// `settings` in words; the setting `read_only` decides for what.
    ///
    /// # Errors
    /// Those of [`Database::open_with`] or [`Database::open_reader_with`]; `invalid` if it is open with another of the
    /// settings that were chosen.
    pub fn at(path: &Path, options: &Options, settings: Vec<Setting>) -> Result<Arc<Self>> {
        let is_read_only =
            settings.iter().any(|setting| setting.name == READ_ONLY && setting.value() == "true");
        let place = place(path)?;
        loop {
            match PLACES.claim(&place) {
                Claim::Open(open) => return open.with(&settings),
                Claim::Wait => {}
                Claim::Yours => break,
            }
        }
        let opened = match is_read_only {
            true => Database::open_reader_with(&place, options),
            false => Database::open_with(&place, options).map_err(|error| with_hint(error, &place)),
        };
        let open = opened.map(|database| {
            let settings = as_found(settings, &database);
            Arc::new(Self { database: Some(database), settings, place: Some(place.clone()) })
        });
        PLACES.settle(&place, open.as_ref().ok());
        open
    }

    /// This one, if it is open with all of `settings` that were chosen.
    fn with(self: Arc<Self>, settings: &[Setting]) -> Result<Arc<Self>> {
        let chosen = settings.iter().filter(|setting| setting.asked.is_some());
        match chosen.into_iter().find(|setting| self.setting(setting.name) != setting.value()) {
            None => Ok(self),
            Some(Setting { name, .. }) => {
                let path = self.place.as_deref().unwrap_or(Path::new("in memory")).display();
                let has = self.setting(name);
                if *name == "engine" {
                    let text =
                        format!("{path} is a database of the {has} engine; `convert` writes one of another");
                    return Err(Error::invalid(text));
                }
                let text = format!(
                    "{path} is open in this process with {name} {has}, which cannot change until it is closed"
                );
                Err(Error::invalid(text))
            }
        }
    }

    /// Lets go of this handle; if it is the last one, closes the database.
    ///
    /// # Errors
    /// What the log says when it is synced for the last time.
    pub fn let_go(open: Arc<Self>) -> Result<()> {
        match Arc::into_inner(open) {
            // Its drop forgets the place.
            Some(last) => last.database().close(),
            None => Ok(()),
        }
    }
}

impl Drop for OpenDatabase {
    fn drop(&mut self) {
        let database = self.database.take();
        let Some(place) = &self.place else { return };
        PLACES.closing(place);
        drop(database);
        PLACES.settle(place, None);
    }
}

/// `settings`, which say by which engine a database is kept that was opened without saying so, and that nothing is made
/// durable where it is only read.
fn as_found(mut settings: Vec<Setting>, database: &Database) -> Vec<Setting> {
    for setting in &mut settings {
        match setting.name {
            "engine" => setting.default = database.engine().name().into(),
            "durability" if database.is_read_only() => setting.default = "none".into(),
            _ => {}
        }
    }
    settings
}

/// `error`; if another process has the database at `place` open, with how it can be read meanwhile.
fn with_hint(error: Error, place: &Path) -> Error {
    if error.kind() != ErrorKind::Busy {
        return error;
    }
    let hint = match Database::engine_at(place) {
        Ok(EngineKind::Mapped) => "`read_only=True` opens it to read meanwhile",
        Ok(_) => {
            "To be read by several processes, a database needs the mapped engine (`convert`), or a server"
        }
        Err(_) => return error,
    };
    Error::new(ErrorKind::Busy, format!("{error}. {hint}")).because(error)
}

/// The path by which a database is known, whether it is there yet or not.
fn place(path: &Path) -> Result<PathBuf> {
    let named = DatabasePath::of(path)?;
    Ok(named.in_folder(&folder_place(named.as_folder())?))
}

fn folder_place(path: &Path) -> Result<PathBuf> {
    if let Ok(place) = path.canonicalize() {
        return Ok(place);
    }
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Ok(path.to_owned()),
    };
    let name = path.file_name().ok_or_else(|| Error::invalid(format!("{} names no file", path.display())))?;
    let parent = match parent.canonicalize() {
        Ok(parent) => parent,
        // Opening makes it.
        Err(_) => std::path::absolute(parent).map_err(|error| {
            Error::new(ErrorKind::Io, format!("the folder of {}", path.display())).because(error)
        })?,
    };
    Ok(parent.join(name))
}

/// What is known of the databases of one process, by path.
struct OpenDatabases {
    known: Mutex<(u32, HashMap<PathBuf, State>)>,
    settled: Condvar,
}

enum State {
    /// Somebody opens or closes it.
    Busy,
    Open(Weak<OpenDatabase>),
}

/// What asking for a path comes to.
enum Claim {
    /// It is open.
    Open(Arc<OpenDatabase>),
    /// Somebody was busy with it: ask again.
    Wait,
    /// It isn't open: who asked must open it, and say so by [`OpenDatabases::settle`].
    Yours,
}

/// The lock is held for a look or an entry only, and never while a database is opened.
static PLACES: LazyLock<OpenDatabases> = LazyLock::new(|| OpenDatabases {
    known: Mutex::new((process::id(), HashMap::new())),
    settled: Condvar::new(),
});

impl OpenDatabases {
    /// Does `work` with what this process knows: what a parent knew before a fork is its own business.
    fn with<T>(&self, work: impl FnOnce(&mut HashMap<PathBuf, State>) -> T) -> T {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 != process::id() {
            std::mem::forget(std::mem::take(&mut known.1));
            known.0 = process::id();
        }
        work(&mut known.1)
    }

    fn claim(&self, place: &Path) -> Claim {
        let claim = self.with(|known| match known.get(place) {
            Some(State::Open(open)) => open.upgrade().map_or(Claim::Wait, Claim::Open),
            Some(State::Busy) => Claim::Wait,
            None => {
                known.insert(place.to_owned(), State::Busy);
                Claim::Yours
            }
        });
        if matches!(claim, Claim::Wait) {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            // Woken, or not: whoever asked looks again.
            drop(self.settled.wait_timeout(known, LOOK_AGAIN));
        }
        claim
    }

    fn closing(&self, place: &Path) {
        self.with(|known| known.insert(place.to_owned(), State::Busy));
    }

    fn settle(&self, place: &Path, open: Option<&Arc<OpenDatabase>>) {
        self.with(|known| match open {
            Some(open) => known.insert(place.to_owned(), State::Open(Arc::downgrade(open))),
            None => known.remove(place),
        });
        self.settled.notify_all();
    }
}
