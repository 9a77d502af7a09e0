//! Slots and publications: made, looked at, dropped, and what their errors say.

use crate::server::TestServer;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::ErrorKind;
use evergraph_replica::lsn::Lsn;
use evergraph_replica::source::contract::{LogicalMessages, Source as _, StreamRequest};
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::postgres::settings::{ConnectionSettings, Host};
use evergraph_replica::source::postgres::slot::{self, SlotLifetime};
use evergraph_replica::source::postgres::{connection::Connection, publication};
use evergraph_replica::source::slot_wait::{SlotWait, TransactionHolder};
use evergraph_replica::wire::startup::Purpose;
use std::cell::RefCell;
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
    let made =
        slot::create(&settings, "life", SlotLifetime::Permanent, &|_| (), &CancelFlag::default()).unwrap();
    assert!(made.consistent_point > Lsn::ZERO && !made.snapshot.is_empty());
    let twice = slot::create(&settings, "life", SlotLifetime::Permanent, &|_| (), &CancelFlag::default())
        .unwrap_err();
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
        slot::create(&settings, "brief", SlotLifetime::Temporary, &|_| (), &CancelFlag::default()).unwrap();
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
    let error =
        slot::create(&database.settings(), "waits", SlotLifetime::Permanent, &|_| (), &cancel).unwrap_err();
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

/// A first copy that waited for somebody's open transaction said nothing.
#[test]
fn whoever_waits_for_a_slot_hears_which_transactions_are_open_and_how_to_end_them() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    let settings = database.settings();
    let mut open = database.connect();
    let begin = "SET application_name = 'night job'; BEGIN; SELECT pg_current_xact_id(), pg_backend_pid()";
    let process = open.query("begin at", begin).unwrap()[0][1].clone().unwrap();
    // Its role sees neither when transactions of others began, nor what they do.
    let role = format!("waiter_{}", database.name);
    let mut other = database.connect();
    other.query("make a role at", &format!("CREATE ROLE {role} LOGIN REPLICATION")).unwrap();
    let cancel = CancelFlag::default();
    let found: RefCell<Option<SlotWait>> = RefCell::default();
    let waiting = |wait: &SlotWait| {
        if wait.transactions.iter().any(|found| found.database == database.name) {
            found.replace(Some(wait.clone()));
            cancel.cancel();
        }
    };
    let name = slot_name(&database.name);
    let restricted =
        ConnectionSettings { user: role.clone(), host: Host::Unix(server.folder().to_owned()), ..settings };
    let error = slot::create(&restricted, &name, SlotLifetime::Permanent, &waiting, &cancel).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    let wait = found.take().unwrap();
    let ours = wait.transactions.iter().find(|found| found.database == database.name).unwrap();
    assert_eq!(
        ours.holder,
        TransactionHolder::Session { process: process.parse().unwrap(), application: "night job".into() }
    );
    assert!(wait.to_string().contains(&format!("SELECT pg_terminate_backend({process}) ends")), "{wait}");
    // The server has dropped it although the transaction is open: a closed connection alone does not tell it.
    let began = Instant::now();
    while slot::state(&mut other, &name).unwrap().is_some() {
        assert!(began.elapsed() < WAIT_MAX, "a cancelled slot is being made");
        std::thread::sleep(Duration::from_millis(50));
    }
    open.query("end at", "ROLLBACK").unwrap();
    other.query("drop a role of", &format!("DROP ROLE {role}")).unwrap();
}

#[test]
fn whoever_waits_for_a_slot_hears_of_a_prepared_transaction() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    let mut open = database.connect();
    open.query("prepare at", "BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'it''s left'").unwrap();
    let waiting = |wait: &SlotWait| {
        let prepared = TransactionHolder::Prepared { gid: "it's left".into() };
        let Some(found) = wait.transactions.iter().find(|found| found.holder == prepared) else { return };
        assert!(found.database == database.name && found.since.is_some(), "{found:?}");
        let sql = "ROLLBACK PREPARED 'it''s left'";
        assert!(wait.to_string().contains(sql), "{wait}");
        let _ = database.connect().query("do what it says at", sql);
    };
    let (settings, name) = (database.settings(), slot_name(&database.name));
    let made =
        slot::create(&settings, &name, SlotLifetime::Temporary, &waiting, &CancelFlag::default()).unwrap();
    assert!(!made.snapshot.is_empty());
}

/// A name that no other test has: slots belong to the server.
fn slot_name(database: &str) -> String {
    format!("of_{database}")
}
