//! What a source survives: a killed server, a paused reader, a quiet database beside a busy one, lies and broken connections.

use crate::follower::{END, Follower, request};
use crate::server::{TestServer, connect, run_sql, through};
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::lsn::Lsn;
use evergraph_replica::source::batch::Change;
use evergraph_replica::source::contract::ChangeStream as _;
use evergraph_replica::source::postgres::change_stream::PostgresChanges;
use evergraph_replica::source::postgres::connection::Connection;
use evergraph_replica::source::postgres::settings::{ConnectionSettings, Host};
use evergraph_replica::source::postgres::slot;
use evergraph_replica::wire::startup::Purpose;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::{Duration, Instant};

#[test]
fn after_a_kill_of_postgresql_a_confirmed_transaction_comes_again_but_not_from_our_own_position() {
    let Some(mut server) = TestServer::own() else { return };
    let settings = server.settings("postgres");
    let mut writer = connect(&settings);
    run_sql(&mut writer, "CREATE TABLE t (id int PRIMARY KEY); CREATE PUBLICATION replica FOR TABLE t");
    let mut follower = Follower::begin_with_slot(&settings);
    run_sql(&mut writer, "INSERT INTO t VALUES (1)");
    run_sql(&mut writer, END);
    assert!(follower.lines().contains(&"insert t (1)".to_owned()));
    let ours = follower.end;
    follower.confirm(ours);
    // The server heard of it ...
    let confirmed =
        || slot::state(&mut connect(&settings), &request(&settings, Lsn::ZERO).slot).unwrap().unwrap();
    let began = Instant::now();
    while confirmed().confirmed_lsn < Some(ours) {
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", confirmed());
        std::thread::sleep(Duration::from_millis(50));
    }
    server.kill();
    let error = follower.stream().next_batch(Duration::from_secs(60));
    let error = error.and_then(|_| follower.stream().next_batch(Duration::from_secs(60))).unwrap_err();
    assert!(error.is_transient(), "{error}");
    drop(follower);
    server.start_again();
    let settings = server.settings("postgres");
    // ... and forgot it: it saves slots at its checkpoints, and when they need less log.
    let mut writer = connect(&settings);
    run_sql(&mut writer, "INSERT INTO t VALUES (2)");
    run_sql(&mut writer, END);
    let mut again = Follower::resume(&settings, Lsn::ZERO);
    let lines = lines_with_the_second_row(&mut again);
    assert!(
        lines.contains(&"insert t (1)".to_owned()) && lines.contains(&"insert t (2)".to_owned()),
        "{lines:?}"
    );
    again.stop();
    let mut ours = Follower::resume(&settings, ours);
    let lines = lines_with_the_second_row(&mut ours);
    assert!(
        !lines.contains(&"insert t (1)".to_owned()) && lines.contains(&"insert t (2)".to_owned()),
        "{lines:?}"
    );
    ours.stop();
}

/// All lines until the end behind the second row. The end behind the first one may come before, or not.
fn lines_with_the_second_row(follower: &mut Follower) -> Vec<String> {
    let mut lines = follower.lines();
    while !lines.contains(&"insert t (2)".to_owned()) {
        lines.extend(follower.lines());
    }
    lines
}

/// How long the reader pauses: `EVERGRAPH_REPLICA_PAUSE_SECONDS`, or 8 seconds.
fn pause() -> Duration {
    let seconds = std::env::var("EVERGRAPH_REPLICA_PAUSE_SECONDS")
        .map_or(8, |text| text.parse().expect("EVERGRAPH_REPLICA_PAUSE_SECONDS is a number"));
    Duration::from_secs(seconds)
}

/// spiceai#11653: a slow reader starved the feedback.
#[test]
fn a_paused_reader_survives_the_senders_time_limit() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run("CREATE TABLE t (id int PRIMARY KEY, v text); CREATE PUBLICATION replica FOR TABLE t");
    let pause = pause();
    // The server's own default, if the pause exceeds it. Status updates are sent once a second: with 5 s each may be 4 s late.
    let time_max = if pause > Duration::from_secs(60) { 60 } else { 5 };
    let mut settings = database.settings();
    settings.options = Some(format!("-c wal_sender_timeout={time_max}s"));
    let mut follower = Follower::begin_with_slot(&settings);
    // Several times what the queue and the system's buffers hold.
    database.run("INSERT INTO t SELECT n, repeat('x', 1000) FROM generate_series(1, 40000) n");
    database.run(END);
    std::thread::sleep(pause);
    let lines = follower.lines();
    assert_eq!(lines.iter().filter(|line| line.contains("insert t")).count(), 40_000);
    follower.confirm(follower.end);
    follower.stop();
}

#[test]
fn a_quiet_database_beside_a_busy_one_keeps_no_log() {
    let Some(server) = TestServer::shared() else { return };
    let (quiet, busy) = (server.database(), server.database());
    quiet.run("CREATE TABLE t (id int PRIMARY KEY); CREATE PUBLICATION replica FOR TABLE t");
    busy.run("CREATE TABLE t (id int, v text)");
    let mut follower = Follower::begin_with_slot(&quiet.settings());
    busy.run("INSERT INTO t SELECT n, repeat('x', 1000) FROM generate_series(1, 40000) n; CHECKPOINT");
    let name = request(&quiet.settings(), Lsn::ZERO).slot;
    let mut watcher = quiet.connect();
    let mut kept = || slot::state(&mut watcher, &name).unwrap().unwrap().kept_bytes.unwrap();
    let before = kept();
    assert!(before > 30_000_000, "{before}");
    let began = Instant::now();
    loop {
        follower.confirm_keepalives(Duration::from_secs(1));
        // What the server may forget is noted when it next looks at running transactions.
        busy.run("CHECKPOINT");
        if kept() < 5_000_000 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{} of {before} bytes are kept", kept());
    }
    follower.stop();
}

#[test]
fn a_stream_that_is_stopped_gives_its_slot_up_and_confirms_what_is_safe() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run("CREATE TABLE t (id int PRIMARY KEY)");
    let settings = database.settings();
    let mut follower = Follower::begin(&database);
    let busy = PostgresChanges::begin(&settings, &request(&settings, Lsn::ZERO), &CancelFlag::default())
        .unwrap_err();
    assert_eq!(busy.sqlstate(), Some("55006"), "{busy}");
    assert!(busy.is_transient());
    database.run("INSERT INTO t VALUES (1)");
    database.run(END);
    follower.lines();
    let end = follower.end;
    follower.confirm(end);
    follower.stop();
    let state = slot::state(&mut database.connect(), &request(&settings, Lsn::ZERO).slot).unwrap().unwrap();
    assert_eq!((state.active_process, state.confirmed_lsn), (None, Some(end)));
    assert_eq!(state.problem(&database.name), None);
    // Nothing of it comes again.
    database.run(END);
    let mut again = Follower::resume(&settings, Lsn::ZERO);
    assert_eq!(again.lines(), [""; 0]);
    again.stop();
}

#[test]
fn a_server_that_ends_a_stream_is_an_error_after_what_it_sent() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run("CREATE TABLE t (id int PRIMARY KEY)");
    let mut follower = Follower::begin(&database);
    database.run("INSERT INTO t VALUES (1)");
    // Until it was sent; not by END, which is a message more.
    let end = database.run("SELECT pg_current_wal_lsn()")[0][0].clone().unwrap();
    let is_sent = format!(
        "SELECT 1 FROM pg_stat_replication sender JOIN pg_replication_slots slot ON slot.active_pid = sender.pid \
         WHERE slot.database = current_database() AND sender.sent_lsn >= '{end}'"
    );
    let began = Instant::now();
    while database.run(&is_sent).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60), "{end} is not sent");
        std::thread::sleep(Duration::from_millis(20));
    }
    database.run("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active AND database = current_database()");
    let (began, mut messages) = (Instant::now(), 0);
    let error = loop {
        match follower.stream().next_batch(Duration::from_secs(1)) {
            Ok(Some(batch)) => {
                messages += batch.changes().filter(|change| matches!(change, Change::Message { .. })).count();
            }
            Ok(None) => assert!(began.elapsed() < Duration::from_secs(60)),
            Err(error) => break error,
        }
    };
    assert_eq!((error.sqlstate(), error.is_transient()), (Some("57P01"), true), "{error}");
    assert_eq!(messages, 4, "begin, relation, insert, commit");
    assert!(follower.stream().next_batch(Duration::ZERO).unwrap_err().to_string().contains("begin another"));
}

/// Answers each connection with `answer`, and closes it.
fn liar(answer: &'static [u8]) -> ConnectionSettings {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(1) {
            let mut stream = stream.unwrap();
            let mut first = [0; 8];
            stream.read_exact(&mut first).unwrap();
            stream.write_all(answer).unwrap();
            // Until the other end is gone.
            let _gone = stream.read_to_end(&mut Vec::new());
        }
    });
    let url = format!("postgres://a@127.0.0.1:{port}/d?sslmode=disable&connect_timeout=60");
    ConnectionSettings::from_url_and(&url, &|_| None).unwrap()
}

#[test]
fn what_is_no_postgresql_or_says_nothing_is_an_error_in_time() {
    let open = |settings: &ConnectionSettings| {
        let began = Instant::now();
        let error =
            Connection::open(settings, Purpose::Queries, &CancelFlag::default()).unwrap_err().to_string();
        assert!(began.elapsed() < Duration::from_secs(60), "{error}");
        error
    };
    let http = open(&liar(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
    assert!(http.contains("announced a message `H`"), "{http}");
    let mut silent = liar(b"");
    silent.connect_time_max = Duration::from_secs(1);
    let silent = open(&silent);
    assert!(silent.contains("no answer within 1 s"), "{silent}");
    let old = open(&liar(b"R\0\0\0\x08\0\0\0\0S\0\0\0\x1aserver_version\09.6.24\0Z\0\0\0\x05I"));
    assert!(old.contains("PostgreSQL 14 or newer"), "{old}");
    let long = open(&liar(b"R\x7f\xff\xff\xff"));
    assert!(long.contains("at most 65536"), "{long}");
    let mut tls = liar(b"X");
    tls = through(tls.clone(), Host::Tcp("127.0.0.1".into()), tls.port);
    tls.tls.mode = evergraph_replica::source::postgres::settings::SslMode::Require;
    let no_tls = open(&tls);
    assert!(no_tls.contains("no PostgreSQL server"), "{no_tls}");
    // Nobody listens there; a port that was just given back may be another test's by now.
    let nobody = open(&through(tls, Host::Tcp("127.0.0.1".into()), 1));
    assert!(nobody.contains("connect to 127.0.0.1"), "{nobody}");
}

#[test]
fn a_wait_ends_when_it_is_cancelled() {
    let mut settings = liar(b"");
    settings.connect_time_max = Duration::from_secs(600);
    let cancel = CancelFlag::default();
    let of_thread = cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        of_thread.cancel();
    });
    let began = Instant::now();
    let error = Connection::open(&settings, Purpose::Queries, &cancel).unwrap_err();
    assert!(error.to_string().contains("cancelled") && began.elapsed() < Duration::from_secs(60), "{error}");
}
