//! A replica that is killed while it copies, follows, makes checkpoints and opens, and its source with it: it goes on each time,
//! and is equal to SQL's rows whenever that is asked.
//!
//! `EVERGRAPH_REPLICA_KILLS` sets the number of kills (8), `EVERGRAPH_KILL_SEED` the moments.

use crate::moments::{Moments, kill_after, number, skipped};
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::private_server::{HOW_TO_INSTALL, PrivateServer, PrivateServerOptions};
use evergraph_replica::source::postgres::connection::Connection;
use evergraph_replica::source::postgres::settings::ConnectionSettings;
use evergraph_replica::wire::startup::Purpose;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const TABLES: &str = "
    CREATE TABLE owner (id int PRIMARY KEY, name text NOT NULL);
    CREATE TABLE item (id int PRIMARY KEY, owner_id int REFERENCES owner ON DELETE CASCADE, title text NOT NULL);
    CREATE INDEX ON item (owner_id);
    INSERT INTO owner SELECT n, 'owner ' || n FROM generate_series(0, 299) n;
    INSERT INTO item SELECT n, n % 300, 'item ' || n FROM generate_series(0, 8999) n; ANALYZE";

const MAPPING: &str = "[[table]]\ntable = 'owner'\nlabel = 'Owner'\n\
    [[table]]\ntable = 'item'\nlabel = 'Item'\n\
    edge = [{ type = 'OF', column = 'owner_id', space = 'Owner' }]\n";

/// The longest rest between two transactions: what is written must be followed, too.
const REST_MAX: Duration = Duration::from_millis(20);
/// Each so many kills the graph is compared with SQL.
const VERIFY_EVERY: u64 = 10;
/// One of so many kills is that of the source, too.
const SOURCE_EVERY: u64 = 8;
/// One of so many kills meets the copy of a new replica.
const COPY_EVERY: u64 = 5;
/// One of so many kills meets a checkpoint, unless it meets a copy.
const CHECKPOINT_EVERY: u64 = 6;

fn connect(settings: &ConnectionSettings) -> Option<Connection> {
    let mut connection = Connection::open(settings, Purpose::Queries, &CancelFlag::default()).ok()?;
    connection.query("prepare a test at", "SET search_path = public").ok()?;
    Some(connection)
}

/// A random transaction: rows come, change, go, in small and in streamed transactions, some of them rolled back in part.
fn transaction(moments: &mut Moments) -> String {
    let mut sql = "BEGIN".to_owned();
    for _ in 0..=moments.below(4) {
        let (owner, item) = (moments.below(300), moments.below(12_000));
        let statement = match moments.below(8) {
            0 => format!("DELETE FROM item WHERE id = {item}"),
            1 => format!(
                "SAVEPOINT s; DELETE FROM item WHERE id BETWEEN {item} AND {item} + 300; ROLLBACK TO s"
            ),
            2 => format!("DELETE FROM owner WHERE id = {owner}"),
            3 => format!(
                "UPDATE item SET id = id + 100000 WHERE id = {item} AND NOT EXISTS (SELECT FROM item WHERE id = {item} + 100000)"
            ),
            4 => format!(
                "INSERT INTO item SELECT n, NULL, repeat('x', 100) FROM generate_series({item}, {item} + 400) n \
                 ON CONFLICT (id) DO UPDATE SET title = item.title || '+'"
            ),
            5 => format!("UPDATE owner SET name = name || '+' WHERE id = {owner}"),
            _ => format!(
                "INSERT INTO owner VALUES ({owner}, 'new') ON CONFLICT (id) DO UPDATE SET name = excluded.name; \
                 INSERT INTO item VALUES ({item}, {owner}, 'new') ON CONFLICT (id) DO UPDATE SET owner_id = excluded.owner_id"
            ),
        };
        sql.push_str("; ");
        sql.push_str(&statement);
    }
    sql.push_str(if moments.below(10) == 0 { "; ROLLBACK" } else { "; COMMIT" });
    sql
}

/// Writes until `is_over`, over every crash of the server; counts transactions.
fn write(settings: &ConnectionSettings, is_over: &AtomicBool, written: &AtomicU64, mut moments: Moments) {
    let mut connection = connect(settings);
    while !is_over.load(Ordering::Relaxed) {
        let sql = transaction(&mut moments);
        let done = connection.as_mut().map(|connection| connection.query("write a test's rows to", &sql));
        match done {
            Some(Ok(_)) => {
                written.fetch_add(1, Ordering::Relaxed);
                thread::sleep(moments.within(REST_MAX));
            }
            Some(Err(error)) if !error.is_transient() => panic!("{sql}: {error}"),
            _ => {
                thread::sleep(Duration::from_millis(20));
                connection = connect(settings);
            }
        }
    }
}

fn end(mut child: Child) {
    // An error says that it is gone already.
    let _ = child.kill();
    child.wait().unwrap();
}

struct Replica<'a> {
    folder: &'a Path,
    url: String,
    password: String,
}

impl Replica<'_> {
    fn command(&self, database: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evergraph"));
        command.args(["replica", arguments[0], database]).args(&arguments[1..]);
        command.args(["--source", &self.url]);
        if arguments[0] != "detach" {
            command.args(["--mapping", "shop.toml"]);
        }
        command.current_dir(self.folder).env("PGPASSWORD", &self.password).stdin(Stdio::null());
        command
    }

    /// A checkpoint of a database that nobody follows at this moment.
    fn start_checkpoint(&self, database: &str) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evergraph"));
        command.args(["checkpoint", database]).current_dir(self.folder).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn start(&self, database: &str) -> Child {
        let mut command = self.command(database, &["run"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Runs a command to its end, which succeeds; what it said.
    fn succeed(&self, database: &str, arguments: &[&str]) -> String {
        let output = self.command(database, arguments).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(output.status.success(), "{arguments:?}: {}: {said}", output.status);
        said
    }
}

fn assert_equal(replica: &Replica<'_>, database: &str) {
    let said = replica.succeed(database, &["verify"]);
    assert!(said.contains("is equal to its source at "), "{said}");
}

#[test]
fn a_replica_and_its_source_are_killed_and_the_graph_equals_the_rows() {
    if !PrivateServer::is_possible() {
        assert!(std::env::var_os("CI").is_none(), "{HOW_TO_INSTALL}");
        skipped(HOW_TO_INSTALL);
        return;
    }
    let kills = number("EVERGRAPH_REPLICA_KILLS").unwrap_or(8);
    let settings = ["logical_decoding_work_mem=64kB", "max_replication_slots=50", "max_wal_senders=50"];
    let options = PrivateServerOptions { settings: &settings, ..Default::default() };
    let mut server = PrivateServer::start(&options).unwrap();
    let settings = server.connection_settings("postgres");
    connect(&settings).unwrap().query("prepare a test at", TABLES).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shop.toml"), MAPPING).unwrap();
    let replica = Replica {
        folder: folder.path(),
        url: server.url("postgres"),
        password: server.password().to_owned(),
    };
    let (is_over, written) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut moments = Moments::new();
    let of_writer = Moments::new();
    let (mut source_kills, mut copy_kills, mut checkpoint_kills, mut verified) = (0, 0, 0, 0);
    thread::scope(|scope| {
        let (settings, is_over, written) = (&settings, &is_over, &written);
        scope.spawn(move || write(settings, is_over, written, of_writer));
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            replica.succeed("shop.eg", &["run", "--until", "now"]);
            for kill in 1..=kills {
                let is_copy = kill % COPY_EVERY == 0;
                let database = if is_copy { "copy.eg" } else { "shop.eg" };
                let is_checkpoint = !is_copy && kill % CHECKPOINT_EVERY == 0;
                let (child, time) = match (is_copy, is_checkpoint) {
                    (_, true) => (replica.start_checkpoint(database), 100),
                    (true, _) => (replica.start(database), 300),
                    _ => (replica.start(database), 400),
                };
                checkpoint_kills += u64::from(is_checkpoint);
                if kill % SOURCE_EVERY == 0 {
                    thread::sleep(moments.within(Duration::from_millis(time)));
                    server.kill().unwrap();
                    // One that copies may have failed by itself: its source is gone.
                    end(child);
                    server.start_again().unwrap();
                    source_kills += 1;
                } else {
                    kill_after(child, moments.within(Duration::from_millis(time)));
                }
                if is_copy {
                    // It begins again, or goes on, and makes way for the next one.
                    replica.succeed(database, &["run", "--until", "now"]);
                    assert_equal(&replica, database);
                    replica.succeed(database, &["detach"]);
                    std::fs::remove_dir_all(folder.path().join(database)).unwrap();
                    copy_kills += 1;
                }
                println!("{kill} kills, {} transactions", written.load(Ordering::Relaxed));
                if kill % VERIFY_EVERY == 0 || kill == kills {
                    assert_equal(&replica, "shop.eg");
                    verified += 1;
                }
            }
        }));
        is_over.store(true, Ordering::Relaxed);
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic);
        }
    });
    let written = written.into_inner();
    println!(
        "{kills} kills, {copy_kills} of them of a copy, {checkpoint_kills} of a checkpoint, {source_kills} with the source; \
         {written} transactions; equal {verified} times"
    );
    assert!(written > kills, "hardly anything was written: {written}");
}
