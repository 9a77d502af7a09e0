//! A copy of many rows, then a transaction of as many, rolled back and committed: the replica stays within its memory. Alone in
//! its process, whose peak it reads.
//!
//! `EVERGRAPH_REPLICA_LARGE_ROWS` says how many rows each has: 60,000 in all tests, three million in `make replica-long`.
//! `EVERGRAPH_REPLICA_LARGE_MEMORY` says how many mebibytes its changed rows may take: 4, so that it is loaded from a file; 1024 is
//! the program's default.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

#[path = "../../../../tests/src/skips.rs"]
mod skips;

use crate::skips::skip;
use evergraph::{Database, Durability, Options, ReadByName as _};
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::follow::options::{ReplicaMapping, ReplicaOptions};
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::private_server::{HOW_TO_INSTALL, PrivateServer, PrivateServerOptions};
use evergraph_replica::source::postgres::connection::Connection;
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::wire::startup::Purpose;
use std::fs;
use std::time::{Duration, Instant};

const ROWS: u64 = 60_000;
/// Memory for the copy, and for transactions under way: a fourth of it for what is streamed before its commit.
const MEMORY_BYTES: u64 = 64 << 20;
/// What PostgreSQL's rows, threads and the allocator take besides.
const SLACK_BYTES: u64 = 64 << 20;
/// Memory for the changed rows of one transaction: a few thousand rows fit, so that the test always loads in bulk from a file.
const TRANSACTION_BYTES_MAX: u64 = 4 << 20;
/// Memory for each row in the finished graph: its vertex, its edge, its entry in the index; and while they are built.
const ROW_BYTES: u64 = 300;
/// Memory for each changed row, where there is more than it takes.
const FOLDED_ROW_BYTES: u64 = 300;
/// Rows with large values in a transaction, and the bytes of these.
const WIDE_ROWS: u64 = 8000;
const WIDE_ROW_BYTES: u64 = 20_000;
/// Rows with larger values than others in the copy, and the bytes of these: so many that a copy which kept them until the end, beside
/// the graph, would take more than its memory and the slack.
const COPIED_WIDE_ROWS: u64 = 60_000;
const COPIED_WIDE_ROW_BYTES: u64 = 4000;
const WAIT_MAX: Duration = Duration::from_secs(900);

const MAPPING: &str = "[[table]]\ntable = 'owner'\nlabel = 'Owner'\n\
    [[table]]\ntable = 'item'\nlabel = 'Item'\n\
    edge = [{ type = 'OF', column = 'owner_id', space = 'Owner' }]\n";

fn rows() -> u64 {
    match std::env::var("EVERGRAPH_REPLICA_LARGE_ROWS") {
        Ok(text) => text.parse().expect("EVERGRAPH_REPLICA_LARGE_ROWS is a number"),
        Err(_) => ROWS,
    }
}

/// `EVERGRAPH_REPLICA_LARGE_MEMORY` says how many mebibytes.
fn transaction_bytes_max() -> u64 {
    match std::env::var("EVERGRAPH_REPLICA_LARGE_MEMORY") {
        Ok(text) => text.parse::<u64>().expect("EVERGRAPH_REPLICA_LARGE_MEMORY is a number") << 20,
        Err(_) => TRANSACTION_BYTES_MAX,
    }
}

fn memory_bytes(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
}

/// What `work` gives, and the peak of this process while it runs, beyond what it has now.
fn peak_of<T>(name: &str, work: impl FnOnce() -> T) -> (T, u64) {
    // 5 sets the peak to what is there now: see proc(5), clear_refs.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let (before, began) = (memory_bytes("VmRSS:"), Instant::now());
    let result = work();
    let peak = memory_bytes("VmHWM:").saturating_sub(before);
    println!("{name}: {} MiB more than before, {:.1?}", peak >> 20, began.elapsed());
    (result, peak)
}

fn run(connection: &mut Connection, sql: &str) {
    connection.query_within("run a test's statements at", sql, WAIT_MAX).unwrap();
}

fn catch_up(replica: &Replica) {
    let end = replica.source_position().unwrap();
    let began = Instant::now();
    while !replica.wait(end, Duration::from_secs(1)).unwrap() {
        assert!(began.elapsed() < WAIT_MAX, "{end} is not here: {:?}", replica.status());
    }
}

fn items(database: &Database) -> u64 {
    let snapshot = database.snapshot();
    snapshot.vertices(Some("Item")).unwrap().len() as u64
}

#[test]
fn a_copy_and_a_large_transaction_rolled_back_and_committed_stay_within_their_memory() {
    if !PrivateServer::is_possible() {
        skip(HOW_TO_INSTALL);
        return;
    }
    let rows = rows();
    let settings = ["logical_decoding_work_mem=64kB", "autovacuum=off", "max_wal_size=4GB"];
    let options = PrivateServerOptions { settings: &settings, ..Default::default() };
    let server = PrivateServer::start(&options).unwrap();
    let settings = server.connection_settings("postgres");
    let mut writer = Connection::open(&settings, Purpose::Queries, &CancelFlag::default()).unwrap();
    run(
        &mut writer,
        "SET search_path = public; CREATE TABLE owner (id int PRIMARY KEY, name text);
         CREATE TABLE item (id int PRIMARY KEY, owner_id int REFERENCES owner, title text);
         INSERT INTO owner SELECT n, 'owner ' || n FROM generate_series(1, 1000) n",
    );
    // Of those with large values first, so that they are not among the newest, to which later rows are added.
    let copied = COPIED_WIDE_ROWS + rows;
    run(
        &mut writer,
        &format!(
            "INSERT INTO item SELECT n, 1 + n % 1000, repeat(md5(n::text), {}) FROM generate_series(1, {COPIED_WIDE_ROWS}) n;
             INSERT INTO item SELECT n, 1 + n % 1000, 'item ' || n FROM generate_series({}, {copied}) n; ANALYZE",
            COPIED_WIDE_ROW_BYTES / 32,
            COPIED_WIDE_ROWS + 1
        ),
    );
    let folder = tempfile::tempdir().unwrap();
    let options =
        Options { durability: Durability::Interval(Duration::from_millis(10)), ..Options::default() };
    let database = Database::open_with(folder.path().join("db"), &options).unwrap();
    let mapping = ReplicaMapping { name: "shop.toml".into(), text: MAPPING.into() };
    let options = ReplicaOptions {
        memory_bytes: MEMORY_BYTES,
        transaction_bytes_max: transaction_bytes_max(),
        temporary: folder.path().to_owned(),
        ..ReplicaOptions::new(mapping)
    };
    let source = Box::new(PostgresSource::new(settings, CancelFlag::default()));
    let (replica, peak) = peak_of("copy", || {
        Replica::start(database.clone(), source, options, &|_| (), &CancelFlag::default()).unwrap()
    });
    assert_eq!((items(&database), database.statistics().unwrap().edges_count()), (copied, copied));
    let copied_bytes = copied * ROW_BYTES + COPIED_WIDE_ROWS * COPIED_WIDE_ROW_BYTES;
    assert!(peak <= MEMORY_BYTES + SLACK_BYTES + copied_bytes, "{peak} bytes");
    catch_up(&replica);
    let committed = copied + rows;
    let insert = format!(
        "INSERT INTO item SELECT n, 1 + n % 1000, 'item ' || n FROM generate_series({}, {committed}) n",
        copied + 1
    );

    let ((), peak) = peak_of("rolled back", || {
        run(&mut writer, &format!("BEGIN; {insert}; ROLLBACK; UPDATE owner SET name = 'back' WHERE id = 1"));
        catch_up(&replica);
    });
    assert_eq!(items(&database), copied);
    // What is done with rows before their commit takes a fourth of the transaction's memory.
    let early = (transaction_bytes_max() / 4).min(rows * FOLDED_ROW_BYTES);
    assert!(peak <= MEMORY_BYTES + SLACK_BYTES + early, "{peak} bytes");

    let ((), peak) = peak_of("committed", || {
        run(&mut writer, &format!("BEGIN; {insert}; COMMIT"));
        catch_up(&replica);
    });
    assert_eq!((items(&database), database.statistics().unwrap().edges_count()), (committed, committed));
    let transaction = transaction_bytes_max().min(rows * FOLDED_ROW_BYTES);
    assert!(peak <= MEMORY_BYTES + SLACK_BYTES + transaction + rows * ROW_BYTES, "{peak} bytes");

    // Few rows with large values do not pile up on their way: fewer than are handed over at once by their number.
    let (first, last) = (committed + 1, committed + WIDE_ROWS);
    let ((), peak) = peak_of("large values", || {
        run(
            &mut writer,
            &format!(
                "INSERT INTO item SELECT n, 1, repeat(md5(n::text), {}) FROM generate_series({first}, {last}) n",
                WIDE_ROW_BYTES / 32
            ),
        );
        catch_up(&replica);
    });
    assert_eq!(items(&database), last);
    assert!(peak <= MEMORY_BYTES + SLACK_BYTES + transaction + WIDE_ROWS * WIDE_ROW_BYTES, "{peak} bytes");
    replica.stop().unwrap();
    database.close().unwrap();
}
