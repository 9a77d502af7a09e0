//! Session: a transaction that spans requests, as `g.tx()` of a driver opens it.
//!
//! ```text
//!          first query              a query that writes fails, or its time is over
//! none ───────────────────> open ───────────────────────────────────────────────> broken
//!   ^                        │                                                       │
//!   └── commit, rollback ────┴─────────────────── rollback, close ───────────────────┘
//! ```
//!
//! There is no request to begin. A query that failed may have written a part of what it was to, so its transaction is
//! rolled back at once; it stays broken until the client rolls back, lest the rest is committed without its beginning.
//! The shell does the same.
//!
//! A reader's session is a snapshot, which cannot be written to whatever a query says.

use crate::security::role::Role;
use evergraph::Database;
use evergraph::gremlin::graph::{SharedSnapshotTarget, Streams as _};
use evergraph::gremlin::note::Notes;
use evergraph::gremlin::query::{Limits, Query, QuerySource};
use evergraph::gremlin::results::Results;
use evergraph::gremlin::task::Task;
use evergraph::shared_transaction::SharedTransaction;
use evergraph::snapshot::Snapshot;
use evergraph::transaction::Transaction;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::transaction::{Isolation, TransactionOptions};
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView as _;
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_storage::planted::{Bug, planted};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// A transaction that spans requests. Requests of a session come one after the other.
#[derive(Default)]
pub struct Session {
    state: Mutex<SessionTransaction>,
}

#[derive(Default)]
enum SessionTransaction {
    #[default]
    None,
    Open {
        view: SessionView,
        /// What it is a view of. A session of another database must not reach it, whatever roles its user has there.
        database: Weak<Database>,
        /// `None`: the default of the database.
        isolation: Option<Isolation>,
        began: Instant,
        last_used: Instant,
    },
    /// It was rolled back, why, and when.
    Broken { why: String, since: Instant },
}

/// What the queries of a session read, and perhaps write.
#[derive(Clone)]
pub enum SessionView {
    /// A transaction.
    Transaction(SharedTransaction),
    /// A moment, of a user who only reads.
    Snapshot(Arc<Snapshot>),
}

/// What a request says beside its query.
#[derive(Clone)]
pub struct QueryTerms<'r> {
    /// The variables.
    pub bindings: Bindings,
    /// What it may take.
    pub limits: Limits,
    /// Stops it.
    pub cancel: &'r CancelFlag,
    /// Whether an unknown name is an error.
    pub strict: bool,
    /// Where notes go.
    pub notes: &'r Notes,
}

impl QueryTerms<'_> {
    /// `query` on these terms.
    pub fn of<'q, G>(self, query: Query<'q, G>) -> Query<'q, G> {
        let query = query.bindings(self.bindings).limits(self.limits).cancel(self.cancel);
        query.strict(self.strict).notes(self.notes)
    }
}

impl SessionView {
    /// Reads a query, which may be run here.
    ///
    /// # Errors
    /// Those of the query; `busy` while another one uses the transaction.
    pub fn task(&self, source: QuerySource<'_>, terms: QueryTerms<'_>) -> Result<Task> {
        match self {
            Self::Transaction(open) => terms.of(open.ask(source)?).task(),
            Self::Snapshot(snapshot) => terms.of(Query::shared(Arc::clone(snapshot), source)).task(),
        }
    }

    /// The results of a query.
    ///
    /// # Errors
    /// As [`SessionView::task`]; `invalid` if it writes to a snapshot.
    pub fn results(&self, task: &Task) -> Result<Results<'static>> {
        match self {
            Self::Transaction(open) => open.target()?.results(task),
            Self::Snapshot(snapshot) => SharedSnapshotTarget::new(Arc::clone(snapshot)).results(task),
        }
    }
}

impl Session {
    /// The transaction, or for a reader the snapshot, which this begins if there is none. Only the first query chooses the isolation level.
    ///
    /// # Errors
    /// `invalid` for a broken one, one of another database, and for another isolation level than it has.
    pub fn view(
        &self,
        database: &Arc<Database>,
        isolation: Option<Isolation>,
        role: Role,
    ) -> Result<SessionView> {
        let mut state = self.state();
        state.check_database(database)?;
        match &mut *state {
            SessionTransaction::Broken { why, .. } => Err(broken(why)),
            SessionTransaction::Open { view, isolation: own, last_used, .. } => {
                if let Some(isolation) = isolation.filter(|isolation| Some(*isolation) != *own) {
                    return Err(Error::invalid(format!(
                        "this transaction has {}: only its first query can choose {}",
                        own.map_or("the database's default isolation level", Isolation::name),
                        isolation.name()
                    )));
                }
                *last_used = Instant::now();
                Ok(view.clone())
            }
            SessionTransaction::None => {
                let view = if role.may_write() {
                    let transaction = database.begin_with(transaction_options(isolation));
                    transaction.by_id_ref().check_begun()?;
                    SessionView::Transaction(SharedTransaction::new(transaction))
                } else {
                    let snapshot = database.snapshot();
                    snapshot.check_begun()?;
                    SessionView::Snapshot(Arc::new(snapshot))
                };
                let now = Instant::now();
                let (open, database) = (view.clone(), Arc::downgrade(database));
                *state =
                    SessionTransaction::Open { view: open, database, isolation, began: now, last_used: now };
                Ok(view)
            }
        }
    }

    /// The transaction or the snapshot if one is open.
    ///
    /// # Errors
    /// `invalid` for a broken one, and one of another database.
    pub fn open_view(&self, database: &Arc<Database>) -> Result<Option<SessionView>> {
        let state = self.state();
        state.check_database(database)?;
        match &*state {
            SessionTransaction::None => Ok(None),
            SessionTransaction::Open { view, .. } => Ok(Some(view.clone())),
            SessionTransaction::Broken { why, .. } => Err(broken(why)),
        }
    }

    /// The transaction, to be committed: the session has none then. There is none to commit if all that is open is a
    /// snapshot.
    ///
    /// # Errors
    /// `invalid` for a broken one, and one of another database; `busy` while a query uses it.
    pub fn take(&self, database: &Arc<Database>) -> Result<Option<Transaction>> {
        let mut state = self.state();
        state.check_database(database)?;
        match &*state {
            SessionTransaction::None => Ok(None),
            SessionTransaction::Broken { why, .. } => Err(broken(why)),
            SessionTransaction::Open { view, .. } => {
                let taken = match view {
                    SessionView::Transaction(transaction) => Some(transaction.take()?),
                    SessionView::Snapshot(_) => None,
                };
                *state = SessionTransaction::None;
                Ok(taken)
            }
        }
    }

    /// Rolls back; the next query begins another transaction.
    pub fn roll_back(&self) {
        end(std::mem::take(&mut *self.state()));
    }

    /// Rolls back because of `why`, and takes nothing but a rollback from now on. Nothing if no transaction is open.
    pub fn break_off(&self, why: &str) {
        if planted(Bug::BrokenTransactionsGoOn) {
            return;
        }
        let mut state = self.state();
        if matches!(*state, SessionTransaction::Open { .. }) {
            let broken = SessionTransaction::Broken { why: why.to_owned(), since: Instant::now() };
            let open = std::mem::replace(&mut *state, broken);
            drop(state);
            end(open);
        }
    }

    /// Whether nothing is known of it: no transaction is open, or broken.
    #[must_use]
    pub fn is_unused(&self) -> bool {
        matches!(*self.state(), SessionTransaction::None)
    }

    /// Whether it is broken, and its client has not rolled it back for `time`.
    #[must_use]
    pub fn is_abandoned(&self, time: Duration) -> bool {
        matches!(&*self.state(), SessionTransaction::Broken { since, .. } if since.elapsed() >= time)
    }

    /// Notes that a request of it is done.
    pub fn touch(&self) {
        if let SessionTransaction::Open { last_used, .. } = &mut *self.state() {
            *last_used = Instant::now();
        }
    }

    /// Why an open transaction should be broken off: nobody used it for `idle_max` while it is not `is_busy`, or it is
    /// open for `time_max`.
    #[must_use]
    pub fn overdue(&self, is_busy: bool, idle_max: Duration, time_max: Duration) -> Option<String> {
        let SessionTransaction::Open { began, last_used, .. } = &*self.state() else { return None };
        if began.elapsed() >= time_max && !planted(Bug::OldTransactionsStay) {
            return Some(format!("it was open for {} seconds", time_max.as_secs_f64()));
        }
        let is_idle = !is_busy && last_used.elapsed() >= idle_max && !planted(Bug::IdleTransactionsStay);
        is_idle.then(|| format!("it was idle for {} seconds", idle_max.as_secs_f64()))
    }

    fn state(&self) -> MutexGuard<'_, SessionTransaction> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionTransaction {
    fn check_database(&self, database: &Arc<Database>) -> Result<()> {
        match self {
            Self::Open { database: own, .. } if own.as_ptr() != Arc::as_ptr(database) => Err(Error::invalid(
                "this session has a transaction in another database: commit or roll it back there",
            )),
            _ => Ok(()),
        }
    }
}

/// A transaction at this isolation level, or at the database's default.
#[must_use]
pub fn transaction_options(isolation: Option<Isolation>) -> TransactionOptions {
    isolation.map_or_else(TransactionOptions::default, TransactionOptions::from)
}

/// The isolation level that a query chooses with `with('isolation', ...)`.
///
/// # Errors
/// `invalid` for a level that there is not.
pub fn chosen_isolation(task: &Task) -> Result<Option<Isolation>> {
    let chosen = task.plan().options.iter().rev().find(|(key, _)| &**key == "isolation");
    let Some((_, chosen)) = chosen else { return Ok(None) };
    let name = chosen.as_value().and_then(Value::as_str).unwrap_or_default();
    let known = [Isolation::Snapshot, Isolation::Serializable].into_iter().find(|known| known.name() == name);
    known.map(Some).ok_or_else(|| Error::invalid("with('isolation', ...) takes 'snapshot' or 'serializable'"))
}

/// Refuses a query that reads or writes files of the server.
///
/// # Errors
/// `invalid` with the name of the file.
pub fn refuse_files(task: &Task) -> Result<()> {
    task.plan().io().map_or(Ok(()), |io| {
        let text =
            format!("a client may not read or write files of the server, and this query names {}", io.path);
        Err(Error::invalid(text))
    })
}

fn end(state: SessionTransaction) {
    if let SessionTransaction::Open { view: SessionView::Transaction(transaction), .. } = state {
        transaction.end();
    }
}

fn broken(why: &str) -> Error {
    Error::invalid(format!(
        "the transaction was rolled back, because {why}: roll back, and begin another one"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add_point(session: &Session, db: &Arc<Database>) {
        run(&session.view(db, None, Role::Writer).unwrap(), "g.addV('Point')").unwrap();
    }

    fn run(view: &SessionView, text: &str) -> Result<()> {
        let (cancel, notes) = (CancelFlag::default(), Notes::default());
        let (bindings, limits) = (Bindings::new(), Limits::default());
        let terms = QueryTerms { bindings, limits, cancel: &cancel, strict: false, notes: &notes };
        let task = view.task(text.into(), terms)?;
        view.results(&task)?.next_items(9).map(drop)
    }

    fn points(db: &Database) -> i64 {
        db.gremlin("g.V().count()").one().unwrap()
    }

    #[test]
    fn a_transaction_begins_with_its_first_query_and_ends_with_commit_or_rollback() {
        let (db, session) = (Arc::new(Database::in_memory().unwrap()), Session::default());
        assert!(session.take(&db).unwrap().is_none(), "nothing to commit");
        add_point(&session, &db);
        add_point(&session, &db);
        session.take(&db).unwrap().unwrap().commit().unwrap();
        assert_eq!(points(&db), 2);
        add_point(&session, &db);
        session.roll_back();
        assert!(session.take(&db).unwrap().is_none());
        assert_eq!(points(&db), 2);
    }

    #[test]
    fn a_readers_session_is_a_snapshot_that_cannot_be_written_to() {
        let (db, session) = (Arc::new(Database::in_memory().unwrap()), Session::default());
        let view = session.view(&db, None, Role::Reader).unwrap();
        assert!(run(&view, "g.addV('Point')").is_err());
        db.gremlin("g.addV('Point')").run().unwrap();
        assert!(run(&view, "g.V().count().is(0).fold().filter(__.unfold())").is_ok());
        assert!(matches!(session.view(&db, None, Role::Writer).unwrap(), SessionView::Snapshot(_)));
        assert!(session.take(&db).unwrap().is_none(), "there is nothing to commit");
        assert!(matches!(session.view(&db, None, Role::Writer).unwrap(), SessionView::Transaction(_)));
    }

    #[test]
    fn a_transaction_is_reached_from_its_own_database_alone() {
        let (db, session) = (Arc::new(Database::in_memory().unwrap()), Session::default());
        let other = Arc::new(Database::in_memory().unwrap());
        add_point(&session, &db);
        assert!(session.view(&other, None, Role::Admin).is_err() && session.open_view(&other).is_err());
        assert!(session.take(&other).is_err());
        session.take(&db).unwrap().unwrap().commit().unwrap();
        assert!(session.view(&other, None, Role::Admin).is_ok());
    }

    #[test]
    fn a_broken_transaction_takes_nothing_but_a_rollback() {
        let (db, session) = (Arc::new(Database::in_memory().unwrap()), Session::default());
        session.break_off("nothing is open");
        add_point(&session, &db);
        assert!(!session.is_abandoned(Duration::ZERO));
        session.break_off("a query failed");
        assert!(session.is_abandoned(Duration::ZERO) && !session.is_abandoned(Duration::from_secs(1000)));
        for error in [session.view(&db, None, Role::Writer).err(), session.take(&db).err()] {
            assert!(error.unwrap().to_string().contains("because a query failed"));
        }
        session.roll_back();
        add_point(&session, &db);
        session.take(&db).unwrap().unwrap().commit().unwrap();
        assert_eq!(points(&db), 1, "the point of the broken one is not there");
    }

    #[test]
    fn the_first_query_chooses_the_isolation_level() {
        let (db, session) = (Arc::new(Database::in_memory().unwrap()), Session::default());
        session.view(&db, Some(Isolation::Serializable), Role::Writer).unwrap();
        assert!(session.view(&db, None, Role::Writer).is_ok());
        assert!(session.view(&db, Some(Isolation::Snapshot), Role::Writer).is_err());
    }

    #[test]
    fn an_open_transaction_is_overdue_when_it_is_idle_or_old() {
        let (db, session) = (Arc::new(Database::in_memory().unwrap()), Session::default());
        let (now, later) = (Duration::ZERO, Duration::from_secs(1000));
        assert_eq!(session.overdue(false, now, now), None, "none is open");
        add_point(&session, &db);
        assert_eq!(session.overdue(false, later, later), None);
        assert!(session.overdue(false, now, later).is_some());
        assert_eq!(session.overdue(true, now, later), None);
        assert!(session.overdue(true, now, now).is_some());
    }
}
