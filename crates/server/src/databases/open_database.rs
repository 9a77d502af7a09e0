//! Open database: one that requests and sessions use, until it is closed.
//!
//! ```text
//! begin ──> use ──> answered          refuse_more      no new use
//!            └── interrupted          drain            uses end, or are interrupted; then sessions are broken off
//! ```

use crate::session::Session;
use evergraph::Database;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::planted::{Bug, planted};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// A database that is open, and who uses it.
///
/// Concurrency: one lock, held to enter or remove a use; nobody is called within it.
pub struct OpenDatabase {
    name: Arc<str>,
    database: Arc<Database>,
    state: Mutex<State>,
    /// A use has ended.
    changed: Condvar,
    /// Whether its last commit found no room on the disk. Relaxed: it publishes nothing.
    is_disk_full: AtomicBool,
}

#[derive(Default)]
struct State {
    uses: HashMap<u64, RegisteredUse>,
    next_use: u64,
    sessions: Vec<Weak<Session>>,
    /// What happens to it, once it is to be closed.
    change: Option<ClosingChange>,
    is_interrupted: bool,
}

struct RegisteredUse {
    cancel: CancelFlag,
    purpose: UsePurpose,
    waker: Option<Waker>,
}

/// What a database is used for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UsePurpose {
    /// A query, by its number among those that run.
    Query(u64),
    /// A job: what it does and its id.
    Job(String),
    /// A request that is neither.
    Other,
}

/// Called when a use is interrupted.
type Waker = Arc<dyn Fn() + Send + Sync>;

/// Why a database is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClosingChange {
    /// It may be opened again.
    Close,
    /// It is removed afterwards.
    Drop,
}

impl ClosingChange {
    /// What was done to the database when it is done.
    #[must_use]
    pub const fn participle(self) -> &'static str {
        match self {
            Self::Close => "closed",
            Self::Drop => "dropped",
        }
    }
}

/// A use of an open database, which stays open until this is dropped. A closing database asks for that by the
/// [`CancelFlag`] that the use began with, and by what [`UseHandle::on_interrupt`] sets.
pub struct DatabaseUse {
    open: Arc<OpenDatabase>,
    id: u64,
}

/// A use, for whoever does not keep the database open by it.
pub struct UseHandle {
    open: Weak<OpenDatabase>,
    id: u64,
}

impl OpenDatabase {
    /// `database`, which nobody uses yet.
    #[must_use]
    pub fn new(name: Arc<str>, database: Arc<Database>) -> Self {
        Self {
            name,
            database,
            state: Mutex::default(),
            changed: Condvar::new(),
            is_disk_full: AtomicBool::new(false),
        }
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// Begins a use, which `cancel` stops.
    ///
    /// # Errors
    /// `busy` if the database is being closed.
    pub fn begin(self: &Arc<Self>, cancel: CancelFlag) -> Result<DatabaseUse> {
        let mut state = self.state();
        if let Some(change) = state.change {
            return Err(being_closed(&self.name, change));
        }
        let id = state.next_use;
        state.next_use += 1;
        state.uses.insert(id, RegisteredUse { cancel, purpose: UsePurpose::Other, waker: None });
        Ok(DatabaseUse { open: Arc::clone(self), id })
    }

    /// Refuses further uses, because of `change`.
    pub fn refuse_more(&self, change: ClosingChange) {
        self.state().change = Some(change);
    }

    /// Waits until nobody uses it. After `grace` those that still do are interrupted. Then sessions are broken off.
    ///
    /// # Errors
    /// `busy` if some uses do not end within `time_max` after they were interrupted, with what they are. Others may use it
    /// then as before.
    pub fn drain(&self, grace: Duration, time_max: Duration) -> Result<()> {
        if planted(Bug::ClosedInUse) {
            return Ok(());
        }
        let end = Instant::now() + grace;
        let mut state = self.state();
        while !state.uses.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_interrupted = true;
        let change = state.change.unwrap_or(ClosingChange::Close);
        let wakers: Vec<Waker> = state
            .uses
            .values()
            .filter_map(|registered| {
                registered.cancel.cancel();
                registered.waker.clone()
            })
            .collect();
        drop(state);
        wakers.iter().for_each(|waker| waker());
        let mut state = self.state();
        let end = Instant::now() + time_max;
        while !state.uses.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let error = still_used(&self.name, change, &state.uses, time_max);
                (state.change, state.is_interrupted) = (None, false);
                return Err(error);
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let sessions = std::mem::take(&mut state.sessions);
        drop(state);
        // Nobody uses them any more, so none can begin a transaction after this.
        if !planted(Bug::SessionsOutliveDatabase) {
            let why = format!("the database {:?} was {}", self.name, change.participle());
            sessions.iter().filter_map(Weak::upgrade).for_each(|session| session.break_off(&why));
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DatabaseUse {
    /// The database.
    #[must_use]
    pub fn database(&self) -> &Arc<Database> {
        self.open.database()
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.open.name
    }

    /// Refuses to go on if the database is being closed, and the time of its uses is over.
    ///
    /// # Errors
    /// `busy`.
    pub fn check(&self) -> Result<()> {
        let state = self.open.state();
        match state.change.filter(|_| state.is_interrupted) {
            Some(change) => Err(being_closed(&self.open.name, change)),
            None => Ok(()),
        }
    }

    /// Notes what came of a commit: whether the disk has room is known by those that need some.
    pub fn note_commit(&self, outcome: std::result::Result<(), &Error>) {
        match outcome {
            Ok(()) => self.open.is_disk_full.store(false, Ordering::Relaxed),
            Err(error) if error.is_full_disk() => self.open.is_disk_full.store(true, Ordering::Relaxed),
            // A conflict, say.
            Err(_) => {}
        }
    }

    /// Whether the last commit that needed room found none on the disk. Reads go on, and so do commits once there is some.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        self.open.is_disk_full.load(Ordering::Relaxed) && !planted(Bug::FullDisksUntold)
    }

    /// Notes what it is for, so that whoever closes the database hears what it waits for.
    pub fn note_purpose(&self, purpose: UsePurpose) {
        if let Some(registered) = self.open.state().uses.get_mut(&self.id) {
            registered.purpose = purpose;
        }
    }

    /// Notes that `session` has a transaction in the database, which ends when that is closed.
    pub fn add_session(&self, session: &Arc<Session>) {
        let mut state = self.open.state();
        state.sessions.retain(|known| known.strong_count() > 0);
        if !state.sessions.iter().any(|known| known.as_ptr() == Arc::as_ptr(session)) {
            state.sessions.push(Arc::downgrade(session));
        }
    }

    /// This use, without keeping it.
    #[must_use]
    pub fn handle(&self) -> UseHandle {
        UseHandle { open: Arc::downgrade(&self.open), id: self.id }
    }
}

impl Drop for DatabaseUse {
    fn drop(&mut self) {
        let ended = self.open.state().uses.remove(&self.id);
        self.open.changed.notify_all();
        drop(ended);
    }
}

impl UseHandle {
    /// Has `waker` called when the use is interrupted: at once, if it was already. Nothing if it has ended.
    pub fn on_interrupt(&self, waker: impl Fn() + Send + Sync + 'static) {
        let Some(open) = self.open.upgrade() else { return };
        let mut state = open.state();
        let is_interrupted = state.is_interrupted;
        let Some(registered) = state.uses.get_mut(&self.id) else { return };
        let waker: Waker = Arc::new(waker);
        registered.waker = Some(Arc::clone(&waker));
        drop(state);
        if is_interrupted {
            waker();
        }
    }
}

/// What keeps a database from being closed.
fn still_used(
    name: &str,
    change: ClosingChange,
    uses: &HashMap<u64, RegisteredUse>,
    time_max: Duration,
) -> Error {
    let (mut queries, mut jobs, mut others_count) = (Vec::new(), Vec::new(), 0);
    for registered in uses.values() {
        match &registered.purpose {
            UsePurpose::Query(id) => queries.push(*id),
            UsePurpose::Job(job) => jobs.push(job.as_str()),
            UsePurpose::Other => others_count += 1,
        }
    }
    queries.sort_unstable();
    jobs.sort_unstable();
    let queries: Vec<String> = queries.iter().map(u64::to_string).collect();
    let or_none = |list: String| if list.is_empty() { "none".to_owned() } else { list };
    let advice = match jobs.is_empty() {
        true => "try again",
        // Others end soon after they were cancelled.
        false => "an import that is being written is done soon, and GET /jobs tells when: try again then",
    };
    let text = format!(
        "the database {name:?} was not {}, and is open as before: {} of its requests and jobs did not end within {} s after they \
         were cancelled (queries: {}; jobs: {}; others: {others_count}); {advice}",
        change.participle(),
        uses.len(),
        time_max.as_secs_f64(),
        or_none(queries.join(", ")),
        or_none(jobs.join(", ")),
    );
    Error::new(ErrorKind::Busy, text)
}

fn being_closed(name: &str, change: ClosingChange) -> Error {
    Error::new(ErrorKind::Busy, format!("the database {name:?} is being {}", change.participle()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_that_does_not_end_keeps_its_database_open_and_is_named() {
        let open = Arc::new(OpenDatabase::new("social".into(), Arc::new(Database::in_memory().unwrap())));
        let (cancel, none) = (CancelFlag::default(), Duration::ZERO);
        let stubborn = open.begin(cancel.clone()).unwrap();
        stubborn.note_purpose(UsePurpose::Query(17));
        let job = open.begin(CancelFlag::default()).unwrap();
        job.note_purpose(UsePurpose::Job("import 4f".to_owned()));
        open.refuse_more(ClosingChange::Close);
        assert!(open.begin(CancelFlag::default()).is_err());
        let error = open.drain(none, none).unwrap_err();
        assert_eq!((error.kind(), cancel.is_cancelled()), (ErrorKind::Busy, true));
        assert!(error.to_string().contains("queries: 17; jobs: import 4f; others: 0"), "{error}");
        let next = open.begin(CancelFlag::default()).unwrap();
        assert!(next.check().is_ok(), "others use it as before");
        drop((stubborn, job, next));
        open.refuse_more(ClosingChange::Close);
        open.drain(none, none).unwrap();
    }
}
