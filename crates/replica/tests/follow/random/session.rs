//! Sessions that change a database, each on its own connection: transactions, savepoints, statements that are refused.

use crate::random::schema::Schema;
use crate::random::statement::StatementKind;
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

/// What sessions did.
#[derive(Default, Debug)]
pub struct Tally {
    /// Rows that were changed, those that cascades changed and rolled-back ones aside.
    pub changes: u64,
    pub statements: BTreeMap<StatementKind, u64>,
    pub refusals: BTreeMap<String, u64>,
    pub commits: u64,
    pub rollbacks: u64,
    pub savepoints: u64,
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
        self.changes += other.changes;
        self.commits += other.commits;
        self.rollbacks += other.rollbacks;
        self.savepoints += other.savepoints;
        for (kind, count) in other.statements {
            *self.statements.entry(kind).or_default() += count;
        }
        for (sqlstate, count) in other.refusals {
            *self.refusals.entry(sqlstate).or_default() += count;
        }
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
        while self.tally.changes < changes {
            let before = self.tally.changes;
            if self.transaction(changes - before).is_err() {
                self.tally.changes = before;
                self.tally.rollbacks += 1;
            }
        }
        self.tally
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
        let mut inner: Option<(u64, u64)> = None;
        for _ in 0..statements {
            match inner {
                None if self.below(12) == 0 => {
                    self.ask("SAVEPOINT part")?;
                    inner = Some((1 + self.below(5), self.tally.changes));
                }
                Some((0, before)) => {
                    self.end_part(before)?;
                    inner = None;
                }
                Some((left, before)) => inner = Some((left - 1, before)),
                None => {}
            }
            self.statement(rows, is_guarded)?;
        }
        if let Some((_, before)) = inner {
            self.end_part(before)?;
        }
        if self.below(8) == 0 {
            self.ask("ROLLBACK")?;
            return Err(RolledBack);
        }
        self.ask("COMMIT")?;
        self.tally.commits += 1;
        Ok(())
    }

    fn end_part(&mut self, before: u64) -> Result<(), RolledBack> {
        self.tally.savepoints += 1;
        if self.below(2) == 0 {
            self.tally.changes = before;
            return self.ask("ROLLBACK TO part").map(drop);
        }
        self.ask("RELEASE part").map(drop)
    }

    fn statement(&mut self, rows: u64, is_guarded: bool) -> Result<(), RolledBack> {
        let statement = self.schema.statement(&mut self.random, rows);
        if is_guarded {
            self.ask("SAVEPOINT guard")?;
        }
        match self.try_to(&statement.sql) {
            Ok(rows) => {
                let count = rows.iter().find_map(|row| row[0].as_ref()?.parse::<u64>().ok());
                self.tally.changes += count.unwrap_or(1);
                *self.tally.statements.entry(statement.kind).or_default() += u64::from(count != Some(0));
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
