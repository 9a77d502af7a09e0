//! Copies: rows as they are, in the snapshot of a slot, so that copy and stream together miss and repeat nothing.

use crate::follower::{END, Follower, slot_name};
use crate::server::{TestDatabase, TestServer};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_replica::lsn::Lsn;
use evergraph_replica::source::batch::RowBatch;
use evergraph_replica::source::contract::{CopyRequest, Source as _};
use evergraph_replica::source::error::SourceResult;
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::postgres::slot::{self, SlotLifetime};
use evergraph_replica::source::table_cuts::{CutRules, PageRange};
use evergraph_replica::wire::copy_text::read_row;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

fn request(table: &str, columns: &[&str], snapshot: Option<&str>) -> CopyRequest {
    CopyRequest {
        schema: "public".into(),
        table: table.into(),
        columns: columns.iter().map(|column| (*column).to_owned()).collect(),
        snapshot: snapshot.map(str::to_owned),
        pages: PageRange::ALL,
    }
}

fn copy(
    database: &TestDatabase,
    table: &str,
    columns: &[&str],
    snapshot: Option<&str>,
) -> SourceResult<Vec<Vec<Option<String>>>> {
    rows_of(database, &request(table, columns, snapshot))
}

fn rows_of(database: &TestDatabase, request: &CopyRequest) -> SourceResult<Vec<Vec<Option<String>>>> {
    let mut source = PostgresSource::new(database.settings(), CancelFlag::default());
    let mut stream = source.copy(request, &CancelFlag::default())?;
    let (mut batch, mut rows) = (RowBatch::default(), Vec::new());
    while stream.next_batch(&mut batch)? {
        let mut cells = Vec::new();
        for row in batch.iter() {
            read_row(row, &mut cells).unwrap();
            let text = |cell: &Option<std::borrow::Cow<'_, [u8]>>| {
                cell.as_ref().map(|cell| String::from_utf8(cell.to_vec()).unwrap())
            };
            rows.push(cells.iter().map(text).collect());
        }
    }
    Ok(rows)
}

#[test]
fn rows_come_back_as_they_are() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run(
        "CREATE TABLE t (id int, \"odd \"\"name\" text) PARTITION BY LIST (id); \
         CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1); CREATE TABLE t2 PARTITION OF t DEFAULT; \
         INSERT INTO t VALUES (1, E'a\\tb\\\\N\\n\\r\\b\\f\\x0b'), (2, NULL), (3, ''), (4, '\\N')",
    );
    let rows = copy(&database, "t", &["odd \"name", "id"], None).unwrap();
    let row = |text: Option<&str>, id: &str| vec![text.map(str::to_owned), Some(id.to_owned())];
    let rows: BTreeSet<_> = rows.into_iter().collect();
    let expected = [
        row(Some("a\tb\\N\n\r\u{8}\u{c}\u{b}"), "1"),
        row(None, "2"),
        row(Some(""), "3"),
        row(Some("\\N"), "4"),
    ];
    assert_eq!(rows, expected.into_iter().collect());
    for (table, columns, state) in [("nowhere", &["id"][..], "42P01"), ("t", &["nothing"], "42703")] {
        assert_eq!(copy(&database, table, columns, None).unwrap_err().sqlstate(), Some(state));
    }
    assert_eq!(
        copy(&database, "t", &["id"], Some("00000003-00000099-1")).unwrap_err().sqlstate(),
        Some("22023")
    );
    database.run("CREATE TABLE bad (id int, e int GENERATED ALWAYS AS (1) STORED)");
    database.run("CREATE VIEW breaks AS SELECT 1 / (3 - n) AS id FROM generate_series(1, 5) n");
    // An error in the middle is an error, whatever came before it.
    assert_eq!(copy(&database, "breaks", &["id"], None).unwrap_err().sqlstate(), Some("22012"));
}

/// Tables of several pages: plain ones, one that nobody looked at since it was filled, one without rows, partitions of several
/// sizes, a table that others inherit from, and a view.
const PARTS: &str = "
    CREATE TABLE plain (id int PRIMARY KEY, t text);
    INSERT INTO plain SELECT n, repeat('x', 1000) FROM generate_series(1, 300) n;
    DELETE FROM plain WHERE id BETWEEN 50 AND 120; UPDATE plain SET t = repeat('y', 900) WHERE id % 3 = 0; ANALYZE plain;
    CREATE TABLE unknown (id int, t text) WITH (autovacuum_enabled = off);
    INSERT INTO unknown SELECT n, repeat('x', 1000) FROM generate_series(1, 100) n;
    CREATE TABLE nothing (id int, t text);
    CREATE TABLE root (id int, t text) PARTITION BY RANGE (id);
    CREATE TABLE root_1 PARTITION OF root FOR VALUES FROM (1) TO (250);
    CREATE TABLE root_2 PARTITION OF root FOR VALUES FROM (250) TO (1000) PARTITION BY LIST (id);
    CREATE TABLE root_2_1 PARTITION OF root_2 FOR VALUES IN (250);
    CREATE TABLE root_2_2 PARTITION OF root_2 DEFAULT;
    INSERT INTO root SELECT n, repeat('x', 1000) FROM generate_series(1, 300) n;
    CREATE TABLE parent (id int, t text); CREATE TABLE child (more int) INHERITS (parent);
    INSERT INTO parent SELECT n, repeat('x', 1000) FROM generate_series(1, 20) n;
    INSERT INTO child SELECT n, repeat('x', 1000), n FROM generate_series(21, 100) n;
    CREATE VIEW seen AS SELECT * FROM plain";

#[test]
fn parts_of_a_table_have_each_of_its_rows_once() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run(PARTS);
    let known = database.run("SELECT relpages FROM pg_class WHERE relname = 'unknown'");
    assert_eq!(known, [[Some("0".to_owned())]]);
    let tables = ["plain", "unknown", "nothing", "root", "parent", "seen"];
    let requests = tables.map(|table| request(table, &["id"], None));
    let mut source = PostgresSource::new(database.settings(), CancelFlag::default());
    let rules = CutRules { parts_max: 4, part_pages_min: 1 };
    let cuts = source.cut(&requests, rules).unwrap();
    let parts: Vec<usize> = cuts.ranges.iter().map(Vec::len).collect();
    assert_eq!(parts, [4, 4, 1, 4, 4, 1], "{:?}", cuts.ranges);
    for (request, ranges) in requests.iter().zip(&cuts.ranges) {
        let part = |pages: &PageRange| {
            rows_of(&database, &CopyRequest { pages: *pages, ..request.clone() }).unwrap()
        };
        let parts: Vec<_> = ranges.iter().map(part).collect();
        assert!(
            parts.len() == 1 || parts.iter().all(|rows| !rows.is_empty()),
            "{}: {parts:?}",
            request.table
        );
        let sorted = |mut rows: Vec<Vec<Option<String>>>| {
            rows.sort();
            rows
        };
        assert_eq!(sorted(parts.concat()), sorted(rows_of(&database, request).unwrap()), "{}", request.table);
    }
    assert_eq!(rows_of(&database, &requests[3]).unwrap().len(), 300);
    // What moves rows waits until all parts were read.
    let mut other = database.connect();
    other.query("change", "SET lock_timeout = 100").unwrap();
    for table in ["plain", "root_2_2", "child"] {
        let error = other.query("change", &format!("VACUUM FULL {table}")).unwrap_err();
        assert_eq!(error.sqlstate(), Some("55P03"), "{error}");
    }
    cuts.end().unwrap();
    other.query("change", "SET lock_timeout = 10000").unwrap();
    other.query("change", "VACUUM FULL plain").unwrap();
    let one = source.cut(&requests, CutRules { parts_max: 4, part_pages_min: 1000 }).unwrap();
    assert!(one.ranges.iter().all(|ranges| *ranges == [PageRange::ALL]));
    one.end().unwrap();
    // Whoever loses its lock says so: rows may have moved.
    let cuts = source.cut(&requests, rules).unwrap();
    database.run(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() \
         AND state = 'idle in transaction'",
    );
    assert!(cuts.end().is_err());
}

#[test]
fn a_part_whose_table_somebody_waits_to_change_is_refused_and_nobody_waits_for_ever() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run(PARTS);
    let mut source = PostgresSource::new(database.settings(), CancelFlag::default());
    let cuts =
        source.cut(&[request("plain", &["id"], None)], CutRules { parts_max: 4, part_pages_min: 1 }).unwrap();
    let part = CopyRequest { pages: cuts.ranges[0][1], ..request("plain", &["id"], None) };
    std::thread::scope(|scope| {
        // It waits for the lock that keeps the rows, and who comes later waits behind it.
        let changed = scope.spawn(|| database.run("ALTER TABLE plain ADD COLUMN later int"));
        let waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock' AND database = \
                     (SELECT oid FROM pg_database WHERE datname = current_database())";
        let began = Instant::now();
        while database.run(waits).is_empty() {
            assert!(began.elapsed() < Duration::from_secs(60), "nobody waits for the table");
            std::thread::sleep(Duration::from_millis(20));
        }
        let began = Instant::now();
        let refused = Error::from(rows_of(&database, &part).unwrap_err());
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
        assert_eq!(refused.kind(), ErrorKind::Busy, "{refused}");
        let text = refused.to_string();
        assert!(
            text.contains("copy public.plain of") && text.contains("somebody changes the table"),
            "{text}"
        );
        assert!(text.contains("copy again when that is done"), "{text}");
        cuts.end().unwrap();
        changed.join().unwrap();
    });
    // As it says.
    assert!(!rows_of(&database, &part).unwrap().is_empty());
}

#[test]
fn a_copy_in_the_slots_snapshot_and_the_stream_behind_it_miss_and_repeat_nothing() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run("CREATE TABLE t (id int PRIMARY KEY); CREATE PUBLICATION replica FOR TABLE t; INSERT INTO t SELECT generate_series(1, 1000)");
    let settings = database.settings();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut writer = database.connect();
            let mut id = 1000;
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                id += 1;
                writer.query("write to", &format!("INSERT INTO t VALUES ({id})")).unwrap();
            }
        });
        let wait_for_more = || {
            let count = || database.run("SELECT count(*) FROM t")[0][0].clone().unwrap();
            let (began, before) = (Instant::now(), count());
            while count() == before {
                assert!(began.elapsed() < Duration::from_secs(60), "nobody writes");
            }
        };
        wait_for_more();
        let slot = slot::create(
            &settings,
            &slot_name(&settings),
            SlotLifetime::Permanent,
            &|_| (),
            &CancelFlag::default(),
        )
        .unwrap();
        wait_for_more();
        let copied = copy(&database, "t", &["id"], Some(&slot.snapshot)).unwrap();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        drop(slot);
        let copied: Vec<String> = copied.into_iter().map(|mut row| row.remove(0).unwrap()).collect();
        // The stream is read behind the last row.
        writing.join().unwrap();
        database.run(END);
        let streamed = Follower::resume(&settings, Lsn::ZERO).lines();
        let streamed: Vec<String> = streamed
            .iter()
            .filter_map(|line| line.strip_prefix("insert t ("))
            .map(|id| id.trim_end_matches(')').to_owned())
            .collect();
        assert!(copied.len() > 1000 && !streamed.is_empty(), "{} and {}", copied.len(), streamed.len());
        let both: BTreeSet<u32> = copied.iter().chain(&streamed).map(|id| id.parse().unwrap()).collect();
        assert_eq!(both.len(), copied.len() + streamed.len());
        assert_eq!(both, (1..=both.len() as u32).collect());
    });
}
