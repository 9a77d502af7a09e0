//! Refusals: servers and streams that would lose what they have acknowledged, by errors that say what to set.

use crate::real_log::RealLog as _;
use crate::real_log::test_log::{TestLog, wait_until};
use crate::servers::{STREAM, ServerOptions, Servers, StreamCall, THREE, open};
use evergraph_cluster::log::nats::nats_log::NatsLog;
use evergraph_cluster::log::nats::options::{NatsOptions, NatsSync};
use evergraph_cluster::log::shared_log::{LogError, SharedLog as _};
use evergraph_cluster::log_position::LogPosition;

/// Appends are refused, sooner or later, by an error that says `what`; a busy machine may have others before.
#[track_caller]
fn refuses(log: &mut TestLog<NatsLog>, what: &str) {
    let mut said = String::new();
    wait_until("an append is refused", || {
        said = match log.append("m") {
            Err(LogError::Unavailable { reason }) => reason,
            other => panic!("`{what}` is not said by {other:?}"),
        };
        said.contains(what) || !said.contains("no answer within")
    });
    assert!(said.contains(what), "{said}");
}

#[test]
fn servers_that_do_not_sync_every_write_are_refused_until_they_do() {
    // In quotation marks: NATS reads a bare 2m as two million.
    let unsynced = ServerOptions { sync_intervals: &["always", "always", "\"2m\""], ..THREE };
    let Some(mut servers) = Servers::start_with(&unsynced) else { return };
    let mut log = servers.log();
    let told = "the server m2 syncs every 120 s";
    refuses(&mut log, told);
    refuses(&mut log, "set `sync_interval: always` below `jetstream`");
    log.read_from(LogPosition(1));
    let unread = log.message().map(drop).unwrap_err().to_string();
    assert!(unread.contains(told), "{unread}");
    let untrimmed = log.trim(LogPosition(2)).unwrap_err().to_string();
    assert!(untrimmed.contains(told), "{untrimmed}");
    servers.kill(2);
    servers.configure(2, "sync_interval: \"2m\"", "sync_interval: always");
    servers.start_and_wait(2);
    let first = log.append_surely("m");
    log.read_from(first);
    assert_eq!(log.messages(1), [(first, "m".to_owned())]);
    // One that comes back otherwise has the log refused while it is used.
    servers.kill(1);
    servers.configure(1, "sync_interval: always", "sync_interval: 10s");
    servers.start_and_wait(1);
    wait_until("it is noticed", || {
        log.read_from(first);
        while log.message().is_ok() {
            log.read_from(first);
        }
        matches!(log.append("n"), Err(LogError::Unavailable { reason }) if reason.contains("m1 syncs every 10 s"))
    });
}

#[test]
fn servers_that_nobody_could_ask_are_refused_unless_somebody_states_that_they_sync() {
    let Some(servers) = Servers::start() else { return };
    let nowhere = crate::free_ports::free_ports(1)[0];
    let monitor = |port: u16| format!("http://127.0.0.1:{port}").parse().unwrap();
    // One answers, which is no majority; one is no server of NATS.
    let NatsSync::Monitored(all) = servers.monitored() else { panic!("it is") };
    let some = vec![all[0].clone(), monitor(nowhere), monitor(servers.port(1))];
    let with = |sync| NatsOptions { sync, ..servers.options(&[]) };
    let mut log = open(with(NatsSync::Monitored(some)));
    refuses(&mut log, "m1, m2 sync every write is not known");
    refuses(&mut log, &format!("ask http://127.0.0.1:{nowhere}/varz: "));
    let mut stated = open(with(NatsSync::Asserted));
    stated.append_surely("m");
    // With two of three it goes on: one may be down.
    open(with(NatsSync::Monitored(all[..2].to_vec()))).append_surely("m");
}

#[test]
fn streams_and_servers_that_cannot_keep_a_log_are_refused() {
    let Some(servers) = Servers::start() else { return };
    servers.set_stream(StreamCall::Create, r#""num_replicas":1"#);
    let mut log = servers.log();
    let told = format!("the stream {STREAM} cannot be a log: it has 1 replicas, and a log needs 3");
    refuses(&mut log, &told);
    let three = r#""num_replicas":3"#;
    servers.set_stream(StreamCall::Update, three);
    log.append_surely("m");
    // One that is set up otherwise while it is used takes nothing, once that was noticed.
    servers.set_stream(StreamCall::Update, &format!("{three},\"max_age\":3600000000000"));
    let told = "forgets messages by their age";
    wait_until("a reader notices", || {
        log.read_from(LogPosition(1));
        matches!(log.message(), Err(LogError::Unavailable { reason }) if reason.contains(told))
    });
    refuses(&mut log, told);
    servers.set_stream(StreamCall::Update, three);
    log.append_surely("m");
    drop((log, servers));

    let one = ServerOptions { count: 1, ..THREE };
    let Some(servers) = Servers::start_with(&one) else { return };
    refuses(&mut servers.log(), "three replicas");
    drop(servers);

    // A log is refused whose messages do not fit.
    let narrow = ServerOptions { more: "max_payload: 40000", ..THREE };
    let Some(servers) = Servers::start_with(&narrow) else { return };
    refuses(&mut servers.log(), "raise `max_payload`");
}

#[test]
fn a_stream_that_is_full_says_so_and_takes_appends_again_once_it_is_trimmed() {
    let Some(servers) = Servers::start() else { return };
    servers.set_stream(StreamCall::Create, r#""num_replicas":3,"max_bytes":20000"#);
    let mut log = servers.log();
    let text = "x".repeat(1000);
    let last = append_until_full(&mut log, &text);
    // It is not known whether the last one came, and what follows does not go out.
    wait_until(
        "the reason is told",
        || matches!(log.append(&text), Err(LogError::Unavailable { reason }) if reason.contains("maximum bytes exceeded")),
    );
    assert_eq!(log.trim(last), Ok(()));
    let after = log.append_surely("after");
    log.log.read_from(last, last);
    let read = log.messages(2);
    assert_eq!((read[0].0, &read[1]), (last, &(after, "after".to_owned())));
}

fn append_until_full(log: &mut TestLog<NatsLog>, text: &str) -> LogPosition {
    let mut last = log.append_surely(text);
    for _ in 0..100 {
        match log.append(text) {
            Ok(position) => last = position,
            Err(LogError::UnknownOutcome) => return last,
            Err(other) => panic!("{other}"),
        }
    }
    panic!("it is never full")
}
