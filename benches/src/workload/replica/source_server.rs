//! `SourceServer`: a private PostgreSQL with the tables that are followed, filled from a seed.
//!
//! ```text
//! clock     one row: the number of the newest transaction, by which readers know what they see        Clock
//! account   followed by their balance                                                                 Account
//! follows   source, target: accounts; who is followed is skewed                                       Account -FOLLOWS-> Account
//! transfer  source, target: accounts                                                                  Transfer -FROM-> -TO-> Account
//! history   account; what pgbench's writers append, with branch and teller                            Entry -OF-> Account
//! ```
//!
//! Pairs of `follows` that are there at the beginning have an even sum, those that come later an odd one: none comes twice.

use crate::replica_plan::ReplicaPlan;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_replica::private_server::{PrivateServer, PrivateServerOptions};
use evergraph_replica::source::postgres::connection::{Connection, ResultRow};
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::postgres::settings::ConnectionSettings;
use evergraph_replica::source::postgres::slot::{SlotLifetime, create};
use evergraph_replica::wire::startup::Purpose;
use std::fs;
use std::time::Duration;

/// The database.
const DATABASE: &str = "shop";
/// Branches and tellers, as pgbench has them at its scale of 10.
pub const BRANCHES: u32 = 10;
/// See [`BRANCHES`].
pub const TELLERS: u32 = 100;
/// How long a statement may take: a large one, on a slow disk.
const STATEMENT_TIME_MAX: Duration = Duration::from_secs(1800);

/// Settings beside those of every private server; the last one of a name counts.
const SETTINGS: [&str; 6] = [
    "shared_buffers=256MB",
    "max_wal_size=8GB",
    "checkpoint_timeout=1h",
    "autovacuum=off",
    "synchronous_commit=on",
    "max_connections=100",
];

/// What each table becomes.
const RULES: [(&str, &str); 7] = [
    ("clock", "label = 'Clock'"),
    ("account", "label = 'Account'"),
    (
        "follows",
        "type = 'FOLLOWS'
start = { column = 'source', space = 'Account' }
end = { column = 'target', space = 'Account' }",
    ),
    (
        "transfer",
        "label = 'Transfer'
edge = [
  { type = 'FROM', column = 'source', space = 'Account' },
  { type = 'TO', column = 'target', space = 'Account' },
]",
    ),
    ("branch", "label = 'Branch'"),
    ("teller", "label = 'Teller'"),
    ("history", "label = 'Entry'\nedge = [{ type = 'OF', column = 'account', space = 'Account' }]"),
];

/// Tables with their columns, for whoever reads them by COPY.
pub const TABLES: [(&str, &[&str]); 7] = [
    ("clock", &["id", "number"]),
    ("account", &["id", "name", "balance"]),
    ("follows", &["source", "target", "since"]),
    ("transfer", &["id", "source", "target", "amount"]),
    ("branch", &["id", "balance"]),
    ("teller", &["id", "branch", "balance"]),
    ("history", &["id", "account", "teller", "branch", "delta", "moment"]),
];

/// The mapping of such tables.
#[must_use]
pub fn mapping(is_mapped: impl Fn(&str) -> bool) -> String {
    let rules = RULES.iter().filter(|(table, _)| is_mapped(table));
    rules.map(|(table, rule)| format!("[[table]]\ntable = '{table}'\n{rule}\n\n")).collect()
}

/// A private PostgreSQL with the tables that are followed.
pub struct SourceServer {
    server: PrivateServer,
    /// How it is set up, for people.
    pub settings: String,
}

impl SourceServer {
    /// Starts a server and fills its tables.
    ///
    /// # Errors
    /// `not_found` where PostgreSQL isn't installed; `io`; what it says of a statement.
    pub fn start(plan: &ReplicaPlan, seed: u64) -> Result<Self> {
        let sync = if plan.is_synced { "fsync=on" } else { "fsync=off" };
        let settings: Vec<&str> = SETTINGS.iter().copied().chain([sync]).collect();
        let options = PrivateServerOptions { settings: &settings, ..Default::default() };
        let server = PrivateServer::start(&options)?;
        let mut started = Self { server, settings: String::new() };
        let mut connection = started.connect_to("postgres")?;
        run(&mut connection, &format!("CREATE DATABASE {DATABASE}"))?;
        let version = run(&mut connection, "SHOW server_version")?;
        let version = version.first().and_then(|row| row.first().cloned().flatten()).unwrap_or_default();
        started.settings = format!("PostgreSQL {version}: {}", settings.join(", "));
        let mut connection = started.connect()?;
        run(&mut connection, &tables(plan, seed))?;
        // Without statistics the planner takes a scan for a look-up.
        run(&mut connection, "ANALYZE")?;
        run(&mut connection, "CHECKPOINT")?;
        Ok(started)
    }

    /// How to connect to the database.
    #[must_use]
    pub fn connection_settings(&self) -> ConnectionSettings {
        self.server.connection_settings(DATABASE)
    }

    /// The database as a source of a replica.
    #[must_use]
    pub fn source(&self) -> PostgresSource {
        self.source_of(DATABASE)
    }

    /// Another database of the server as a source of a replica.
    #[must_use]
    pub fn source_of(&self, database: &str) -> PostgresSource {
        PostgresSource::new(self.settings_of(database), CancelFlag::default())
    }

    /// A conversation with the database.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn connect(&self) -> Result<Connection> {
        self.connect_to(DATABASE)
    }

    /// How to connect to another database of the server.
    #[must_use]
    pub fn settings_of(&self, database: &str) -> ConnectionSettings {
        self.server.connection_settings(database)
    }

    /// A conversation with another database of the server.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn connect_to(&self, database: &str) -> Result<Connection> {
        let settings = self.settings_of(database);
        let mut connection = Connection::open(&settings, Purpose::Queries, &CancelFlag::default())?;
        run(&mut connection, "SET search_path = public")?;
        Ok(connection)
    }

    /// The number of the server's first process.
    ///
    /// # Errors
    /// `io` if the server's folder does not say it.
    pub fn process(&self) -> Result<u32> {
        let path = self.server.folder().join("data/postmaster.pid");
        let text = fs::read_to_string(&path).map_err(|error| crate::failed(&path, &error))?;
        let number = text.lines().next().and_then(|line| line.trim().parse().ok());
        number.ok_or_else(|| Error::new(ErrorKind::Io, format!("{}: no number of a process", path.display())))
    }

    /// Makes the slot `name`, which keeps all changes from now on until a reader confirms them.
    ///
    /// # Errors
    /// If there is one of this name.
    pub fn make_slot(&self, name: &str) -> Result<()> {
        create(&self.connection_settings(), name, SlotLifetime::Permanent, &|_| (), &CancelFlag::default())?;
        Ok(())
    }
}

/// Runs statements; the rows of their results.
///
/// # Errors
/// What the server says.
pub fn run(connection: &mut Connection, sql: &str) -> Result<Vec<ResultRow>> {
    Ok(connection.query_within("run the benchmark's statements at", sql, STATEMENT_TIME_MAX)?)
}

/// The statements that make and fill the tables.
fn tables(plan: &ReplicaPlan, seed: u64) -> String {
    let (accounts, transfers) = (plan.accounts, plan.transfers);
    let follows = u64::from(accounts) * u64::from(plan.follows_per_account);
    // 31 bits that follow from a row's number and a seed.
    let random = |stream: u64| format!("(hashint8extended(n, {}) & 2147483647)", (seed + stream) & 0xffff);
    let (source, target, other) = (random(1), random(2), random(3));
    format!(
        "CREATE TABLE clock (id int PRIMARY KEY, number bigint NOT NULL);
         CREATE TABLE account (id int PRIMARY KEY, name text NOT NULL, balance bigint NOT NULL);
         CREATE TABLE follows (source int NOT NULL REFERENCES account, target int NOT NULL REFERENCES account,
             since int NOT NULL, PRIMARY KEY (source, target));
         CREATE TABLE transfer (id bigint PRIMARY KEY, source int NOT NULL REFERENCES account,
             target int NOT NULL REFERENCES account, amount bigint NOT NULL);
         CREATE TABLE branch (id int PRIMARY KEY, balance bigint NOT NULL);
         CREATE TABLE teller (id int PRIMARY KEY, branch int NOT NULL, balance bigint NOT NULL);
         CREATE TABLE history (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account int NOT NULL REFERENCES account,
             teller int NOT NULL, branch int NOT NULL, delta int NOT NULL, moment timestamp NOT NULL);
         INSERT INTO clock VALUES (1, 0);
         INSERT INTO account SELECT n, 'account ' || n, 1000 FROM generate_series(0, {accounts} - 1) n;
         INSERT INTO branch SELECT n, 0 FROM generate_series(1, {BRANCHES}) n;
         INSERT INTO teller SELECT n, 1 + n % {BRANCHES}, 0 FROM generate_series(1, {TELLERS}) n;
         INSERT INTO follows SELECT DISTINCT s, (t + {accounts} - ((s + t) & 1)) % {accounts}, 2000 + s % 26 FROM (
             SELECT ({source} % {accounts})::int AS s,
                 floor({accounts} * power({target}::float8 / 2147483648, 2))::int AS t
             FROM generate_series(1::bigint, {follows}) n) pairs;
         INSERT INTO transfer SELECT n, ({source} % {accounts})::int, ({target} % {accounts})::int, {other} % 10000
             FROM generate_series(0::bigint, {transfers} - 1) n"
    )
}
