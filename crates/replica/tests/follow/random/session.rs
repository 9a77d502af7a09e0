//! Sessions that change a database, each on its own connection: transactions, savepoints, statements that are refused.

use crate::random::schema::Schema;
use crate::random::statement::{Statement, StatementKind};
use crate::server::{TestDatabase, run_sql};
use crate::shop::below;
use evergraph_replica::source::postgres::connection::Connection;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// What a statement may be refused for, by the rows that are there and by what other sessions do: a number out of range, a
/// constraint, a row that one statement would change twice, serialisation, a deadlock, a value too long for an index, a lock that
/// takes too long.
const REFUSALS: [&str; 11] =
    ["22003", "23502", "23503", "23505", "23514", "23001", "21000", "40001", "40P01", "54000", "55P03"];

/// The folder of what sessions ran: it stays, and is named, when the test fails.
pub struct SessionLogs {
    folder: PathBuf,
    seed: u64,
}

/// Attempts at a statement of one kind.
const ATTEMPTS_MAX: u64 = 1000;

/// What sessions did.
#[derive(Default, Debug)]
pub struct Tally {
    /// With that of the transaction under way.
    pub committed: CommittedChanges,
    pub refusals: BTreeMap<String, u64>,
    pub commits: u64,
    pub rollbacks: u64,
}

/// What transactions did that were not rolled back, without what they rolled back to a savepoint.
#[derive(Clone, Default, Debug)]
pub struct CommittedChanges {
    /// Rows that were changed, those that cascades changed aside.
    pub rows: u64,
    /// Statements that changed rows.
    pub statements: BTreeMap<StatementKind, u64>,
    pub savepoint_releases: u64,
    pub savepoint_rollbacks: u64,
}

/// A session.
pub struct Session<'a> {
    schema: &'a Schema,
    connection: Connection,
    random: u64,
    log: File,
    tally: Tally,
}

/// A transaction came to nothing.
struct RolledBack;

impl SessionLogs {
    pub fn new(seed: u64) -> Self {
        Self { folder: tempfile::tempdir().unwrap().keep(), seed }
    }

    fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for SessionLogs {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "EVERGRAPH_REPLICA_SEED={}; the sessions' statements are in {}",
                self.seed,
                self.folder.display()
            );
        } else {
            // It is a temporary folder in either case.
            let _gone = std::fs::remove_dir_all(&self.folder);
        }
    }
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.committed.add(other.committed);
        self.commits += other.commits;
        self.rollbacks += other.rollbacks;
        for (sqlstate, count) in other.refusals {
            *self.refusals.entry(sqlstate).or_default() += count;
        }
    }
}

impl CommittedChanges {
    fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.savepoint_releases += other.savepoint_releases;
        self.savepoint_rollbacks += other.savepoint_rollbacks;
        for (kind, count) in other.statements {
            *self.statements.entry(kind).or_default() += count;
        }
    }

    /// The kinds of statements of which none changed a row.
    pub fn missing_kinds(&self) -> Vec<StatementKind> {
        StatementKind::all().filter(|kind| !self.statements.contains_key(kind)).collect()
    }
}

impl<'a> Session<'a> {
    /// The session `number`, whose statements are appended to a file of `logs`.
    pub fn new(
        there: &TestDatabase,
        schema: &'a Schema,
        logs: &SessionLogs,
        number: u64,
        random: u64,
    ) -> Self {
        let path = logs.folder().join(format!("session-{number}.sql"));
        let log = File::options().create(true).append(true).open(path).unwrap();
        let mut connection = there.connect();
        run_sql(
            &mut connection,
            "SET lock_timeout = '2s'; SET deadlock_timeout = '20ms'; SET client_min_messages = error",
        );
        Self { schema, connection, random, log, tally: Tally::default() }
    }

    fn below(&mut self, limit: u64) -> u64 {
        below(&mut self.random, limit)
    }

    /// Runs transactions until some `changes` rows are changed.
    pub fn run(mut self, changes: u64) -> Tally {
        while self.tally.committed.rows < changes {
            let rows = changes - self.tally.committed.rows;
            self.attempt(|session| session.transaction(rows));
        }
        self.tally
    }

    /// Runs statements of one kind until one of them changed a row and committed.
    pub fn run_one(mut self, kind: StatementKind) -> Tally {
        for _ in 0..ATTEMPTS_MAX {
            self.attempt(|session| session.transaction_of(kind));
            if self.tally.committed.statements.contains_key(&kind) {
                return self.tally;
            }
        }
        panic!("no statement of the kind {kind:?} changes a row: {:?}", self.tally);
    }

    /// Runs a transaction; what is rolled back does not count.
    fn attempt(&mut self, transaction: impl FnOnce(&mut Self) -> Result<(), RolledBack>) {
        let before = self.tally.committed.clone();
        match transaction(self) {
            Ok(()) => self.tally.commits += 1,
            Err(RolledBack) => {
                self.tally.committed = before;
                self.tally.rollbacks += 1;
            }
        }
    }

    /// One statement of this kind.
    fn transaction_of(&mut self, kind: StatementKind) -> Result<(), RolledBack> {
        self.ask("BEGIN")?;
        if let Some(statement) = self.schema.statement_of(&mut self.random, kind) {
            self.perform(&statement, false)?;
        }
        self.ask("COMMIT")
    }

    /// Small ones, long ones, and those whose statements are large.
    fn transaction(&mut self, changes: u64) -> Result<(), RolledBack> {
        let level =
            ["", "", "", "", "", "", " ISOLATION LEVEL REPEATABLE READ", " ISOLATION LEVEL SERIALIZABLE"];
        let level = level[self.below(8) as usize];
        self.ask(&format!("BEGIN{level}"))?;
        // Most statements change one row, and most rows are changed by few large statements: a round trip for each would take
        // most of the time.
        let (statements, rows) = match self.below(60) {
            0..12 => (1 + self.below(4), (20 + self.below(400)).min(changes)),
            12..24 => (5 + self.below(30), 1),
            _ => (1 + self.below(4), 1),
        };
        // Each statement in a savepoint, or none: then a refusal ends the transaction.
        let is_guarded = self.below(3) > 0;
        let mut inner: Option<(u64, CommittedChanges)> = None;
        for _ in 0..statements {
            match inner {
                None if self.below(12) == 0 => {
                    self.ask("SAVEPOINT part")?;
                    inner = Some((1 + self.below(5), self.tally.committed.clone()));
                }
                Some((0, before)) => {
                    self.end_part(before)?;
                    inner = None;
                }
                Some((left, before)) => inner = Some((left - 1, before)),
                None => {}
            }
            let statement = self.schema.statement(&mut self.random, rows);
            self.perform(&statement, is_guarded)?;
        }
        if let Some((_, before)) = inner {
            self.end_part(before)?;
        }
        if self.below(8) == 0 {
            self.ask("ROLLBACK")?;
            return Err(RolledBack);
        }
        self.ask("COMMIT")
    }

    fn end_part(&mut self, before: CommittedChanges) -> Result<(), RolledBack> {
        if self.below(2) == 0 {
            self.tally.committed = before;
            self.tally.committed.savepoint_rollbacks += 1;
            return self.ask("ROLLBACK TO part");
        }
        self.tally.committed.savepoint_releases += 1;
        self.ask("RELEASE part")
    }

    fn perform(&mut self, statement: &Statement, is_guarded: bool) -> Result<(), RolledBack> {
        if is_guarded {
            self.ask("SAVEPOINT guard")?;
        }
        match self.try_to(&statement.sql) {
            Ok(rows) => {
                let count = rows.iter().find_map(|row| row[0].as_ref()?.parse::<u64>().ok());
                let count = count.expect("each statement says how many rows it changed");
                if count > 0 {
                    self.tally.committed.rows += count;
                    *self.tally.committed.statements.entry(statement.kind).or_default() += 1;
                }
                if is_guarded && self.below(2) == 0 {
                    self.ask("RELEASE guard")?;
                }
                Ok(())
            }
            Err(sqlstate) if is_guarded && !sqlstate.starts_with('4') => {
                self.ask("ROLLBACK TO guard").map(drop)
            }
            Err(_) => {
                self.try_to("ROLLBACK").expect("it always succeeds");
                Err(RolledBack)
            }
        }
    }

    /// Runs what is refused seldom; a refusal ends the transaction.
    fn ask(&mut self, sql: &str) -> Result<(), RolledBack> {
        self.try_to(sql).map(drop).map_err(|_| {
            self.try_to("ROLLBACK").expect("it always succeeds");
            RolledBack
        })
    }

    /// Runs a statement; the code of a refusal.
    fn try_to(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, String> {
        writeln!(self.log, "{sql};").unwrap();
        match self.connection.query("run random changes at", sql) {
            Ok(rows) => Ok(rows),
            Err(error) => {
                let sqlstate = error.sqlstate().unwrap_or_default().to_owned();
                assert!(REFUSALS.contains(&&*sqlstate), "{sql}: {error}");
                writeln!(self.log, "-- refused: {error}").unwrap();
                *self.tally.refusals.entry(sqlstate.clone()).or_default() += 1;
                Err(sqlstate)
            }
        }
    }
}
