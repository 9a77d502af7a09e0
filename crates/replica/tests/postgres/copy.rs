//! Copies: rows as they are, in the snapshot of a slot, so that copy and stream together miss and repeat nothing.

use crate::follower::{END, Follower, slot_name};
use crate::server::{TestDatabase, TestServer};
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::lsn::Lsn;
use evergraph_replica::source::batch::RowBatch;
use evergraph_replica::source::contract::{CopyRequest, Source as _};
use evergraph_replica::source::error::SourceResult;
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::postgres::slot::{self, SlotLifetime};
use evergraph_replica::wire::copy_text::read_row;
use std::collections::BTreeSet;

fn copy(
    database: &TestDatabase,
    table: &str,
    columns: &[&str],
    snapshot: Option<&str>,
) -> SourceResult<Vec<Vec<Option<String>>>> {
    let request = CopyRequest {
        schema: "public".into(),
        table: table.into(),
        columns: columns.iter().map(|column| (*column).to_owned()).collect(),
        snapshot: snapshot.map(str::to_owned),
    };
    let mut source = PostgresSource::new(database.settings(), CancelFlag::default());
    let mut stream = source.copy(&request, &CancelFlag::default())?;
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

#[test]
fn a_copy_in_the_slots_snapshot_and_the_stream_behind_it_miss_and_repeat_nothing() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run("CREATE TABLE t (id int PRIMARY KEY); CREATE PUBLICATION replica FOR TABLE t; INSERT INTO t SELECT generate_series(1, 1000)");
    let settings = database.settings();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = database.connect();
            let mut id = 1000;
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                id += 1;
                writer.query("write to", &format!("INSERT INTO t VALUES ({id})")).unwrap();
            }
        });
        std::thread::sleep(std::time::Duration::from_millis(100));
        let slot =
            slot::create(&settings, &slot_name(&settings), SlotLifetime::Permanent, &CancelFlag::default())
                .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(100));
        let copied = copy(&database, "t", &["id"], Some(&slot.snapshot)).unwrap();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        drop(slot);
        let copied: Vec<String> = copied.into_iter().map(|mut row| row.remove(0).unwrap()).collect();
        // The writer has written its last row when its thread ends; the stream is read behind that.
        std::thread::sleep(std::time::Duration::from_millis(300));
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
