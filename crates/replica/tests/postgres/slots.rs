//! Slots and publications: made, looked at, dropped, and what their errors say.

use crate::server::TestServer;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::ErrorKind;
use evergraph_replica::lsn::Lsn;
use evergraph_replica::source::contract::{LogicalMessages, Source as _, StreamRequest};
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::postgres::slot::{self, SlotLifetime};
use evergraph_replica::source::postgres::{connection::Connection, publication};
use evergraph_replica::wire::startup::Purpose;
use std::time::{Duration, Instant};

/// What ends a wait that a test does not expect to end.
const WAIT_MAX: Duration = Duration::from_secs(60);

#[test]
fn a_slot_is_made_once_found_and_dropped() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    let settings = database.settings();
    let mut connection = database.connect();
    assert_eq!(slot::state(&mut connection, "life").unwrap(), None);
    let made = slot::create(&settings, "life", SlotLifetime::Permanent, &CancelFlag::default()).unwrap();
    assert!(made.consistent_point > Lsn::ZERO && !made.snapshot.is_empty());
    let twice = slot::create(&settings, "life", SlotLifetime::Permanent, &CancelFlag::default()).unwrap_err();
    assert_eq!(twice.sqlstate(), Some("42710"), "{twice}");
    drop(made);
    let state = slot::state(&mut connection, "life").unwrap().unwrap();
    assert_eq!(
        (state.plugin.as_deref(), state.database.as_deref()),
        (Some("pgoutput"), Some(&*database.name))
    );
    slot::drop(&mut connection, "life").unwrap();
    let gone = slot::drop(&mut connection, "life").unwrap_err();
    assert_eq!((gone.sqlstate(), gone.kind()), (Some("42704"), ErrorKind::NotFound));
    let temporary =
        slot::create(&settings, "brief", SlotLifetime::Temporary, &CancelFlag::default()).unwrap();
    assert!(slot::state(&mut connection, "brief").unwrap().is_some());
    drop(temporary);
    // The server takes a moment to notice.
    let began = Instant::now();
    while began.elapsed() < WAIT_MAX {
        if slot::state(&mut connection, "brief").unwrap().is_none() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("a temporary slot outlives its connection");
}

#[test]
fn a_missing_slot_or_publication_is_an_error_with_its_sqlstate() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    let mut source = PostgresSource::new(database.settings(), CancelFlag::default());
    let request = StreamRequest {
        slot: "nowhere".into(),
        publications: vec!["replica".into()],
        start: Lsn::ZERO,
        logical_messages: LogicalMessages::Skipped,
    };
    let error = source.stream(&request).err().unwrap();
    assert_eq!((error.sqlstate(), error.is_transient()), (Some("42704"), false), "{error}");
    let mut connection = database.connect();
    let tables = [("public".to_owned(), "it's \"t\"".to_owned())];
    connection.query("write to", "CREATE TABLE public.\"it's \"\"t\"\"\" (id int PRIMARY KEY)").unwrap();
    publication::create(&mut connection, "a \"b\"", &tables).unwrap();
    assert_eq!(source.catalogue().unwrap().publication("a \"b\"").unwrap().tables.len(), 1);
    publication::drop(&mut connection, "a \"b\"").unwrap();
    assert_eq!(publication::drop(&mut connection, "a \"b\"").unwrap_err().sqlstate(), Some("42704"));
}

#[test]
fn a_source_says_who_it_is_and_a_snapshot_can_be_waited_for_and_cancelled() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    let mut source = PostgresSource::new(database.settings(), CancelFlag::default());
    let identity = source.identity().unwrap();
    assert_eq!((&*identity.database, identity.timeline), (&*database.name, 1));
    assert!(identity.system.parse::<u64>().is_ok() && identity.log_end > Lsn::ZERO);
    assert!((140_000..).contains(&identity.server_version));
    // A transaction that runs holds a new slot up.
    let mut open = database.connect();
    open.query("begin at", "BEGIN; SELECT pg_current_xact_id()").unwrap();
    let cancel = CancelFlag::default();
    let (of_thread, mut watcher) = (cancel.clone(), database.connect());
    let canceller = std::thread::spawn(move || {
        // It is there before the wait is over.
        while slot::state(&mut watcher, "waits").unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(10));
        }
        of_thread.cancel();
    });
    let error = slot::create(&database.settings(), "waits", SlotLifetime::Permanent, &cancel).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    canceller.join().unwrap();
    drop(open);
    // The server drops the half-made slot when it notices that nobody waits.
    let mut connection =
        Connection::open(&database.settings(), Purpose::Queries, &CancelFlag::default()).unwrap();
    let began = Instant::now();
    while began.elapsed() < WAIT_MAX {
        match slot::state(&mut connection, "waits").unwrap() {
            None => return,
            Some(state) if state.active_process.is_none() => {
                return slot::drop(&mut connection, "waits").unwrap();
            }
            Some(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
    panic!("a slot that nobody waits for is active");
}
