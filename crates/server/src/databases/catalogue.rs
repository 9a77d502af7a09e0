//! Catalogue: the databases of a server, by name.
//!
//! Opening and closing wait for disks and queries, so no network thread calls what changes a database here:
//! [`DatabaseCatalogue::start`] does it on a thread of its own.

use crate::databases::change::DatabaseChange;
use crate::databases::memory_shares::{Company, MemoryShares};
use crate::databases::name::{NameIsTaken, check_database_name, name_of};
use crate::databases::open_database::ClosingChange;
use crate::databases::options::{CatalogueOptions, CreateOptions};
use crate::databases::root_folder::RootFolder;
use crate::databases::served_database::{DatabaseInfo, DatabaseState, Home, ServedDatabase};
use crate::databases::settings_file::DatabaseSettings;
use evergraph::{Database, Options};
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;

/// Changes that may be under way at once.
const CHANGES_MAX: usize = 8;

/// The databases of a server.
///
/// ```
/// use evergraph_server::databases::catalogue::DatabaseCatalogue;
/// use evergraph_server::databases::options::{CatalogueOptions, CreateOptions};
/// # let folder = tempfile::tempdir().unwrap();
///
/// let databases = DatabaseCatalogue::open(&[], Some(folder.path()), CatalogueOptions::default())?;
/// databases.create_database("social", CreateOptions::default())?;
/// assert_eq!(&*databases.list()[0].name, "social");
/// databases.close_database("social")?;
/// databases.open_database("social")?;
/// databases.drop_database("social")?;
/// assert!(databases.list().is_empty());
/// # Ok::<(), evergraph::Error>(())
/// ```
///
/// Concurrency: the lock of the entries is held to look one up, or to enter or remove one; the state of each database
/// has a lock of its own. Changes of one database exclude each other by its state, those of several go on side by side.
pub struct DatabaseCatalogue {
    root: Option<RootFolder>,
    options: CatalogueOptions,
    shares: Arc<MemoryShares>,
    /// The first one that was named.
    first: Option<Arc<str>>,
    entries: RwLock<BTreeMap<Arc<str>, Arc<ServedDatabase>>>,
    /// Changes that are under way on threads of their own.
    changes_count: Mutex<usize>,
    change_ended: Condvar,
    notices: Mutex<Vec<String>>,
}

impl DatabaseCatalogue {
    /// Opens the databases in the folders `named`, and all directly below `root`.
    ///
    /// A database below the root that cannot be opened stays in the list, with its error. What else is not served there
    /// is told by [`DatabaseCatalogue::take_notices`].
    ///
    /// # Errors
    /// Those of opening a named database, of its name, and of the root; `invalid` for two databases of one name. What
    /// was opened is closed then.
    pub fn open(named: &[PathBuf], root: Option<&Path>, options: CatalogueOptions) -> Result<Arc<Self>> {
        let (root, mut notices) = root
            .map(RootFolder::open)
            .transpose()?
            .map_or_else(|| (None, Vec::new()), |(root, notices)| (Some(root), notices));
        let mut homes: BTreeMap<Arc<str>, Home> = BTreeMap::new();
        let mut order: Vec<Arc<str>> = Vec::new();
        for path in named {
            let name: Arc<str> = name_of(path)?.into();
            let canonical = path.canonicalize().unwrap_or_else(|_| path.clone());
            let is_below = root.as_ref().is_some_and(|root| canonical.parent() == Some(root.path()));
            let home = if is_below && canonical.extension().is_some_and(|ending| ending == "eg") {
                Home::Root(canonical)
            } else {
                Home::Folder(path.clone())
            };
            enter_home(&mut homes, Arc::clone(&name), home)?;
            order.push(name);
        }
        for path in &options.replicas {
            let name: Arc<str> = name_of(path)?.into();
            enter_home(&mut homes, Arc::clone(&name), Home::Replica(path.clone()))?;
            order.push(name);
        }
        if let Some(root) = &root {
            let (found, refused) = root.folders()?;
            notices.extend(refused);
            for folder in found {
                let name: Arc<str> = folder.name.into();
                let home = Home::Root(folder.path);
                let is_replica = match (homes.get(&name), &home) {
                    (Some(Home::Replica(replica)), Home::Root(path)) => {
                        replica.canonicalize().is_ok_and(|replica| replica == *path)
                    }
                    _ => false,
                };
                if homes.get(&name) != Some(&home) && !is_replica {
                    enter_home(&mut homes, name, home)?;
                }
            }
        }
        let company = match (homes.len(), &root) {
            (1, None) => Company::Alone,
            (count, _) => Company::Several(count as u64),
        };
        let shares = Arc::new(MemoryShares::new(&options, company)?);
        let entries = homes
            .into_iter()
            .map(|(name, home)| (Arc::clone(&name), Arc::new(ServedDatabase::closed(name, home))))
            .collect();
        let catalogue = Self {
            root,
            options,
            shares,
            first: order.first().cloned(),
            entries: RwLock::new(entries),
            changes_count: Mutex::default(),
            change_ended: Condvar::new(),
            notices: Mutex::new(notices),
        };
        // Those that were named first, lest one of the root takes their memory.
        for name in &order {
            let served = catalogue.known(name)?;
            if let Err(error) = served.open(&catalogue.options, &catalogue.shares) {
                let _ = catalogue.close_all();
                return Err(error);
            }
        }
        for served in catalogue.all() {
            if let Err(error) = served.open(&catalogue.options, &catalogue.shares) {
                let text = format!("the database {:?} could not be opened: {error}", served.name());
                catalogue.notices().push(text);
            }
        }
        Ok(Arc::new(catalogue))
    }

    /// One database that is open already, under `name`. Its owner closes it.
    ///
    /// # Errors
    /// `invalid` for a name that no database can have.
    pub fn of(name: &str, database: Arc<Database>) -> Result<Arc<Self>> {
        check_database_name(name)?;
        let options = CatalogueOptions::default();
        let shares = Arc::new(MemoryShares::new(&options, Company::Alone)?);
        let name: Arc<str> = name.into();
        // Its owner chose the limit.
        let share = shares.take(&name, Some(database.store().budget().limit_bytes()))?;
        let served = Arc::new(ServedDatabase::given(Arc::clone(&name), database, share));
        Ok(Arc::new(Self {
            root: None,
            options,
            shares,
            first: Some(Arc::clone(&name)),
            entries: RwLock::new(BTreeMap::from([(name, served)])),
            changes_count: Mutex::default(),
            change_ended: Condvar::new(),
            notices: Mutex::default(),
        }))
    }

    /// The database `name`, in whichever state.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<ServedDatabase>> {
        self.entries().get(name).cloned()
    }

    /// All of them, by name.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<ServedDatabase>> {
        self.entries().values().cloned().collect()
    }

    /// What is known of all of them, by name.
    #[must_use]
    pub fn list(&self) -> Vec<DatabaseInfo> {
        self.all().iter().map(|served| served.info()).collect()
    }

    /// The name of the database that was named first, which is the default one. `None` if all are from the root.
    #[must_use]
    pub fn first(&self) -> Option<&Arc<str>> {
        self.first.as_ref()
    }

    /// The name of the database that the alias `g` stands for: of the first one, or the only open one if there is none.
    /// Users for whom others are nothing may have another one: see
    /// [`ResolvedDatabase::of`](crate::databases::target::ResolvedDatabase::of).
    #[must_use]
    pub fn default_name(&self) -> Option<Arc<str>> {
        if let Some(first) = &self.first {
            return Some(Arc::clone(first));
        }
        let mut open = self.all().into_iter().filter(|served| served.is_open());
        let only = open.next()?;
        open.next().is_none().then(|| Arc::clone(only.name()))
    }

    /// The folder below which databases are created and dropped, if there is one.
    #[must_use]
    pub fn root_path(&self) -> Option<&Path> {
        self.root.as_ref().map(RootFolder::path)
    }

    /// Whether databases can be created and dropped.
    #[must_use]
    pub fn has_root(&self) -> bool {
        self.root.is_some()
    }

    /// Whether a database could not be opened or closed.
    #[must_use]
    pub fn has_failures(&self) -> bool {
        self.all().iter().any(|served| served.info().state == DatabaseState::Failed)
    }

    /// What whoever runs the server should know, since this was asked last.
    #[must_use]
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices())
    }

    /// Makes an empty database below the root, and opens it. After a crash it is there as a whole or not at all. Nobody has
    /// a role on it but those who have one on [every database](crate::databases::name::EVERY_DATABASE), or on its name already.
    ///
    /// # Errors
    /// `invalid` without a root, for a name that no database can have, and for one that is taken; `limit` if its memory
    /// does not fit; `io`. Nothing is made then.
    pub fn create_database(&self, name: &str, options: CreateOptions) -> Result<DatabaseInfo> {
        check_database_name(name)?;
        let root = self.root()?;
        let path = match root.find(name)? {
            None => root.path().join(format!("{name}{}", crate::databases::name::ENDING)),
            Some(_) => return Err(taken(name)),
        };
        let name: Arc<str> = name.into();
        let served = self.enter(ServedDatabase::opening(Arc::clone(&name), Home::Root(path)))?;
        let settings = DatabaseSettings { memory_limit_bytes: options.memory_limit_bytes };
        let made = served.open_entered(|| {
            let share = self.shares.take(&name, settings.memory_limit_bytes)?;
            let memory_limit_bytes = share.bytes();
            let new = Options { engine: options.engine, memory_limit_bytes, ..self.options.open.clone() };
            root.create(&name, &new, settings)?;
            Ok((served.open_folder(&self.options, memory_limit_bytes)?, share))
        });
        // One that was made and could not be opened stays in the list as failed.
        if made.is_err() && !matches!(root.find(&name), Ok(Some(_))) {
            self.forget(&served);
        }
        made.map(|()| served.info())
    }

    /// Opens the database `name`, one below the root that this does not know yet included. Nothing if it is open.
    ///
    /// # Errors
    /// `not_found`; `limit` if its memory does not fit; those of opening; `busy` while it is being opened or closed.
    pub fn open_database(&self, name: &str) -> Result<DatabaseInfo> {
        let (served, is_new) = self.known_or_found(name)?;
        let opened = served.open(&self.options, &self.shares);
        if opened.is_err() && is_new {
            self.forget(&served);
        }
        opened.map(|()| served.info())
    }

    /// Closes the database `name`: refuses further requests, gives those that run some time, cancels the others, rolls back
    /// open transactions, waits for commits, ends following a source, and writes a checkpoint. Nothing if it is closed.
    ///
    /// # Errors
    /// `not_found`; `invalid` for a database that its owner closes; `busy` while it is being opened or closed; those of the
    /// last sync.
    pub fn close_database(&self, name: &str) -> Result<DatabaseInfo> {
        let served = self.known(name)?;
        served.close(ClosingChange::Close, self.options.close_limits())?;
        Ok(served.info())
    }

    /// Closes the database `name` and removes it for good. After a crash it is there as a whole, or never served again.
    ///
    /// # Errors
    /// `not_found`; `invalid` without a root, and for one that is not below it; `busy` while it is being opened or closed,
    /// or if another process has it open; `io`.
    pub fn drop_database(&self, name: &str) -> Result<()> {
        let root = self.root()?;
        let (served, _) = self.known_or_found(name)?;
        if !matches!(served.home(), Home::Root(_)) {
            return Err(Error::invalid(format!(
                "the database {name:?} cannot be dropped: it is not below the root, and was named on the command line"
            )));
        }
        served.close(ClosingChange::Drop, self.options.close_limits())?;
        let removed = root.remove(name);
        if removed.is_err() && matches!(root.find(name), Ok(Some(_)) | Err(_)) {
            served.was_not_dropped();
        } else {
            self.forget(&served);
        }
        removed
    }

    /// Does `change` to the database `name` on a thread of its own, and then calls `done` there.
    ///
    /// # Errors
    /// `busy` if too many changes are under way; `io` if there is no thread. `done` is not called then.
    pub fn start(
        self: &Arc<Self>,
        name: &str,
        change: DatabaseChange,
        done: impl FnOnce(Result<Option<DatabaseInfo>>) + Send + 'static,
    ) -> Result<()> {
        {
            let mut changes_count = self.changes_count();
            if *changes_count >= CHANGES_MAX {
                let text = format!("{CHANGES_MAX} databases are being opened or closed: try again later");
                return Err(Error::new(ErrorKind::Busy, text));
            }
            *changes_count += 1;
        }
        // Counts it out however it ends.
        let under_way = ChangeUnderWay(Arc::clone(self));
        let name: Box<str> = name.into();
        let work = move || {
            let catalogue = &under_way.0;
            done(match change {
                DatabaseChange::Create(options) => catalogue.create_database(&name, options).map(Some),
                DatabaseChange::Open => catalogue.open_database(&name).map(Some),
                DatabaseChange::Close => catalogue.close_database(&name).map(Some),
                DatabaseChange::Drop => catalogue.drop_database(&name).map(|()| None),
            });
        };
        let thread = thread::Builder::new().name("server-databases".to_owned()).spawn(work);
        thread
            .map(drop)
            .map_err(|error| Error::new(ErrorKind::Io, format!("start a thread: {error}")).because(error))
    }

    /// Waits for changes that are under way, and closes all databases but those that their owner closes. Nobody should use
    /// them any more: requests that run have the usual time.
    ///
    /// # Errors
    /// The first of those of closing; the others are closed all the same.
    pub fn close_all(&self) -> Result<()> {
        let mut changes_count = self.changes_count();
        while *changes_count > 0 {
            changes_count = self.change_ended.wait(changes_count).unwrap_or_else(PoisonError::into_inner);
        }
        drop(changes_count);
        let mut outcome = Ok(());
        for served in self.all().iter().filter(|served| *served.home() != Home::Given) {
            let closed = served.close(ClosingChange::Close, self.options.close_limits());
            outcome = outcome.and(closed);
        }
        outcome
    }

    fn root(&self) -> Result<&RootFolder> {
        self.root.as_ref().ok_or_else(|| {
            Error::invalid(
                "databases are created and dropped below a root: evergraph serve --root FOLDER has one",
            )
        })
    }

    fn known(&self, name: &str) -> Result<Arc<ServedDatabase>> {
        self.get(name).ok_or_else(|| unknown(name))
    }

    /// The database, and whether it was found below the root just now.
    fn known_or_found(&self, name: &str) -> Result<(Arc<ServedDatabase>, bool)> {
        check_database_name(name)?;
        if let Some(served) = self.get(name) {
            return Ok((served, false));
        }
        let path = match &self.root {
            Some(root) => root.find(name)?,
            None => None,
        };
        let path = path.ok_or_else(|| unknown(name))?;
        let served = self.enter(ServedDatabase::closed(name.into(), Home::Root(path)));
        // Somebody else may have been quicker.
        served.map(|served| (served, true)).or_else(|_| Ok((self.known(name)?, false)))
    }

    fn enter(&self, served: ServedDatabase) -> Result<Arc<ServedDatabase>> {
        let served = Arc::new(served);
        let mut entries = self.entries_to_change();
        if entries.contains_key(served.name()) {
            return Err(taken(served.name()));
        }
        entries.insert(Arc::clone(served.name()), Arc::clone(&served));
        Ok(served)
    }

    fn forget(&self, served: &Arc<ServedDatabase>) {
        let mut entries = self.entries_to_change();
        if entries.get(served.name()).is_some_and(|known| Arc::ptr_eq(known, served)) {
            entries.remove(served.name());
        }
    }

    fn entries(&self) -> RwLockReadGuard<'_, BTreeMap<Arc<str>, Arc<ServedDatabase>>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn entries_to_change(&self) -> RwLockWriteGuard<'_, BTreeMap<Arc<str>, Arc<ServedDatabase>>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn changes_count(&self) -> MutexGuard<'_, usize> {
        self.changes_count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notices(&self) -> MutexGuard<'_, Vec<String>> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A change on a thread of its own.
struct ChangeUnderWay(Arc<DatabaseCatalogue>);

impl Drop for ChangeUnderWay {
    fn drop(&mut self) {
        *self.0.changes_count() -= 1;
        self.0.change_ended.notify_all();
    }
}

fn enter_home(homes: &mut BTreeMap<Arc<str>, Home>, name: Arc<str>, home: Home) -> Result<()> {
    let path = |home: &Home| match home {
        Home::Folder(path) | Home::Replica(path) | Home::Root(path) => path.display().to_string(),
        Home::Given => String::new(),
    };
    if let Some(other) = homes.get(&name) {
        return Err(Error::invalid(format!(
            "{} and {} are both called {name:?}: rename one of the folders",
            path(other),
            path(&home)
        )));
    }
    homes.insert(name, home);
    Ok(())
}

fn unknown(name: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no database {name:?}"))
}

fn taken(name: &str) -> Error {
    Error::invalid(format!("there is a database {name:?} already")).because(NameIsTaken)
}
