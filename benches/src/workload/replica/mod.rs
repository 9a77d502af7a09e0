//! Replica: a database that follows a private PostgreSQL, beside a plain reader that only decodes a second slot of the same
//! source.
//!
//! ```text
//! source_server   PostgreSQL, its tables, their mapping        freshness   from a commit until a snapshot shows it
//! changes         transactions of a writer                     sustained   how fast a backlog is applied
//! writer, pacer   one connection, at a rate                    pgbench     what the source loses to its reader
//! readers         replica, observer                            analytics   PageRank meanwhile, snapshots kept open
//! plain_reader    a slot that is only decoded                  copying     the copy beside COPY
//! marks           when a reader saw which transaction
//! applying        processor time for recorded transactions, without a server
//! split           writers while PageRank runs, a processor for each side
//! orders          questions about a shop like TPC-C's, half of it copied, half inserted
//! social          LDBC's network many times over: reads and inserts as fixed plans beside SQL's, kernels
//! network         the paper's reads on LDBC's relations, half of them copied, half inserted
//! neo4j           Neo4j in a JVM, beside orders, the kernels of social, and network
//! ```
//!
//! The clock's number, a property of one vertex, says which transaction a snapshot shows. Source, writers, readers and replica
//! share the machine.

mod analytics;
mod applying;
mod changes;
mod copying;
mod freshness;
mod marks;
mod neo4j;
mod network;
mod orders;
mod pacer;
mod pgbench;
mod plain_reader;
mod question;
mod readers;
mod recorded;
mod relations;
mod reload;
mod social;
mod source_server;
mod split;
mod sustained;
mod writer;

use crate::plan::{Work, expect, wrong};
use crate::replica_plan::{ReplicaPart, ReplicaPlan};
use crate::workload::replica::changes::{ChangeTransaction, Changes};
use crate::workload::replica::plain_reader::PLAIN_SLOT;
use crate::workload::replica::readers::{Reader, follow, options};
use crate::workload::replica::source_server::{SourceServer, run};
use evergraph::{Database, Durability, Options, ReadByName as _, Value};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_measure::machine::Machine;
use evergraph_replica::follow::detach::detach;
use evergraph_replica::follow::options::{
    DEFAULT_PUBLICATION, ReplicaMapping, ReplicaOptions, SYNC_INTERVAL,
};
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::private_server::{HOW_TO_INSTALL, PrivateServer};
use evergraph_replica::source::postgres::connection::Connection;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Ours, in races.
const OURS: &str = "evergraph";
/// The replica's slot.
const SLOT: &str = "replica";
/// Snapshots that stay open, as the replica has it by default.
const EPOCHS: usize = 16;
/// How long a reader may take to be where the source is.
const PATIENCE: Duration = Duration::from_secs(600);

/// What the parts share.
struct Bench {
    plan: ReplicaPlan,
    server: SourceServer,
    database: Database,
    changes: Changes,
    folder: PathBuf,
    /// A connection for transactions that nobody times.
    connection: Connection,
}

impl Bench {
    /// A server, and a database that follows it; nobody reads its changes now.
    fn start(plan: &ReplicaPlan, seed: u64, folder: &Path) -> Result<Self> {
        let server = SourceServer::start(plan, seed)?;
        let database = open(&folder.join("replica.eg"))?;
        let connection = server.connect()?;
        let (plan, changes) = (plan.clone(), Changes::new(plan));
        let bench = Self { plan, server, database, changes, folder: folder.to_owned(), connection };
        bench.follow(EPOCHS)?.stop()?;
        bench.server.make_slot(PLAIN_SLOT)?;
        Ok(bench)
    }

    /// Follows on.
    fn follow(&self, epochs: usize) -> Result<Replica> {
        follow(&self.server, &self.database, options(SLOT, DEFAULT_PUBLICATION, &self.folder, epochs))
    }

    /// Starts a replica in `database`, which follows another database of the source by a slot of its own; the publication is called
    /// as the slot.
    fn replicate(
        &self,
        (source, slot): (&str, &str),
        database: &Database,
        mapping: ReplicaMapping,
    ) -> Result<Replica> {
        let options = ReplicaOptions {
            slot: Some(slot.to_owned()),
            publication: Some(slot.to_owned()),
            epochs: EPOCHS,
            temporary: self.folder.clone(),
            ..ReplicaOptions::new(mapping)
        };
        let source = Box::new(self.server.source_of(source));
        Replica::start(database.clone(), source, options, &|_| (), &CancelFlag::default())
    }

    /// Ends a part with a source's database of its own, `name`, and drops that: a slot that nobody reads would keep the log of all
    /// later parts.
    fn unfollow(&mut self, name: &str, replica: Replica, database: Database) -> Result<()> {
        replica.stop()?;
        detach(&database, Some(&mut self.server.source_of(name)))?;
        database.close()?;
        // A server notices some time later that a connection was closed.
        run(&mut self.connection, &format!("DROP DATABASE {name} WITH (FORCE)"))?;
        Ok(())
    }

    /// Runs a transaction; when its commit returned.
    fn run(&mut self, transaction: &ChangeTransaction) -> Result<Instant> {
        run(&mut self.connection, &transaction.sql)?;
        Ok(Instant::now())
    }

    /// Waits until each of `readers` has seen all that was written.
    fn catch_up(&mut self, readers: &[&Reader]) -> Result<()> {
        let last = self.changes.next(changes::ChangeKind::Updates, 1);
        self.run(&last)?;
        readers.iter().try_for_each(|reader| reader.marks.wait(last.number, PATIENCE).map(drop))
    }
}

/// A database as replicas have it.
fn open(path: &Path) -> Result<Database> {
    let durability = Durability::Interval(SYNC_INTERVAL);
    Database::open_with(path, &Options { durability, ..Options::default() })
}

/// Measures what the plan says.
///
/// # Errors
/// `corrupt` if the graph is another one than SQL's rows; those of server and replica.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let plan = work.plan.replica.clone();
    if plan.has(ReplicaPart::Applying) {
        applying::measure(work)?;
    }
    if plan.parts.iter().all(|part| *part == ReplicaPart::Applying) {
        return Ok(());
    }
    if !PrivateServer::is_possible() {
        eprintln!("skipped: {HOW_TO_INSTALL}");
        return Ok(());
    }
    let mut bench = Bench::start(&plan, work.plan.seed, work.folder)?;
    let statistics = bench.database.statistics()?;
    let load = Machine::now().load.map_or_else(|| "unknown".to_owned(), |load| load.to_string());
    work.note(format!(
        "{}; {} accounts, {} transfers, {} vertices and {} edges at the beginning; load average before: {load}",
        bench.server.settings,
        plan.accounts,
        plan.transfers,
        statistics.vertices_count(),
        statistics.edges_count(),
    ));
    work.note(
        "source, writers, plain reader and replica share this machine: each takes processors from the others",
    );
    work.note(
        "plain reader: a second slot of the same source, our socket and decoder of pgoutput, nothing applied",
    );
    work.note("the replica is in this process, synced twice a second, with 16 snapshots open; a thread looks at new snapshots every 0.1 ms");
    if plan.has(ReplicaPart::Copy) {
        copying::measure(work, &bench)?;
    }
    if plan.has(ReplicaPart::Freshness) {
        freshness::measure(work, &mut bench)?;
    }
    if plan.has(ReplicaPart::Large) {
        freshness::measure_large(work, &mut bench)?;
    }
    if plan.has(ReplicaPart::Sustained) {
        sustained::measure(work, &mut bench)?;
    }
    if plan.has(ReplicaPart::Source) {
        pgbench::measure(work, &mut bench)?;
    }
    if plan.has(ReplicaPart::Analytics) {
        analytics::measure(work, &mut bench)?;
    }
    if plan.has(ReplicaPart::Split) {
        split::measure(work, &mut bench)?;
    }
    if plan.has(ReplicaPart::Orders) {
        orders::measure(work, &mut bench)?;
    }
    if plan.has(ReplicaPart::Network) {
        network::measure(work, &mut bench)?;
    }
    if plan.has(ReplicaPart::Interactive) {
        social::measure(work, &mut bench)?;
    }
    check(&mut bench)?;
    bench.database.close()
}

/// Compares the graph with SQL's rows: how many there are of each kind, and the sum of all balances.
fn check(bench: &mut Bench) -> Result<()> {
    let replica = bench.follow(EPOCHS)?;
    let observer = Reader::observe(&bench.database)?;
    bench.catch_up(&[&observer])?;
    let snapshot = bench.database.snapshot();
    let mut count = |sql: &str| -> Result<i128> {
        let rows = run(&mut bench.connection, sql)?;
        let cell = rows.first().and_then(|row| row.first()?.as_ref()?.parse().ok());
        cell.ok_or_else(|| wrong("postgres", sql, rows, "a number"))
    };
    for (label, table) in [("Account", "account"), ("Transfer", "transfer"), ("Entry", "history")] {
        let expected = count(&format!("SELECT count(*) FROM {table}"))?;
        let found = snapshot.vertices(Some(label))?.len() as i128;
        expect(OURS, &format!("vertices of {label}"), found, expected)?;
    }
    let expected = count(
        "SELECT (SELECT count(*) FROM follows) + 2 * (SELECT count(*) FROM transfer) + (SELECT count(*) FROM history)",
    )?;
    expect(OURS, "edges", i128::from(bench.database.statistics()?.edges_count()), expected)?;
    let mut balance = 0;
    for account in snapshot.vertices(Some("Account"))? {
        match snapshot.get(account, "balance")? {
            Some(Value::I64(own)) => balance += i128::from(own),
            other => return Err(wrong(OURS, "the balance of an account", other, "a number")),
        }
    }
    expect(OURS, "the sum of all balances", balance, count("SELECT sum(balance) FROM account")?)?;
    drop((snapshot, observer));
    replica.stop()
}
