//! Servers that are killed, stopped, restored or not there.

use crate::acknowledged::check_survival;
use crate::raw_client::{ask, ask_surely};
use crate::servers::{STREAM, Servers, hasty, open};
use crate::test_log::{TestLog, assert_unavailable, pass, shown, wait_until};
use evergraph_cluster::log::nats::nats_log::NatsLog;
use evergraph_cluster::log::shared_log::{LogError, SharedLog as _};
use evergraph_cluster::log_position::LogPosition;
use evergraph_storage::io::clock::{Clock as _, SystemClock};
use std::collections::BTreeMap;
use std::time::Duration;

/// How much later than its time limit an answer may come on a busy machine.
const LATENESS_MAX: Duration = Duration::from_secs(10);

/// The end of a stream, which begins again until it is another one than that nobody answers.
fn end_of_stream(log: &mut TestLog<NatsLog>, first: LogPosition, seen: LogPosition) -> LogError {
    let mut error = None;
    wait_until("the stream ends", || {
        log.log.read_from(first, seen);
        error = log.message().err();
        error.as_ref().is_some_and(|error| !matches!(error, LogError::Unavailable { .. }))
    });
    error.unwrap()
}

#[test]
fn a_stream_ends_with_its_server_and_the_next_one_misses_nothing() {
    let Some(mut servers) = Servers::start() else { return };
    // The stream is asked for at server 2; requests go to server 0.
    let (mut reader, mut writer) = (open(servers.options(&[2])), servers.log());
    let mut expected: Vec<(LogPosition, String)> = Vec::new();
    for number in 0..20 {
        let text = format!("message {number}");
        expected.push((writer.append_surely(&text), text));
    }
    reader.read_from(LogPosition(1));
    let mut read = reader.messages(20);
    servers.kill(2);
    let ended = loop {
        match reader.message() {
            Ok(message) => read.push(shown(&message)),
            Err(error) => break error,
        }
    };
    assert!(matches!(ended, LogError::Unavailable { .. }), "{ended}");
    assert_eq!(reader.log.next_message(), Ok(None), "it never goes on by itself");
    for number in 20..40 {
        let text = format!("message {number}");
        expected.push((writer.append_surely(&text), text));
    }
    reader.read_on(&mut read, expected[39].0);
    // An append whose answer was lost may be in the log twice, under positions of its own.
    let acknowledged: BTreeMap<_, _> = expected.into_iter().collect();
    let found: BTreeMap<_, _> = read.iter().cloned().collect();
    assert_eq!(found.len(), read.len(), "nothing is read twice");
    assert!(acknowledged.iter().all(|(position, text)| found.get(position) == Some(text)), "{found:?}");
}

/// The consumers of the stream by their names, each with the server that it lies on, as server `at` says.
fn consumers(servers: &Servers, at: usize) -> BTreeMap<String, usize> {
    let list = ask_surely(servers.port(at), &format!("$JS.API.CONSUMER.LIST.{STREAM}"), "");
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let place = |consumer: &serde_json::Value| {
        let server = consumer["cluster"]["leader"].as_str()?.strip_prefix('m')?.parse().ok()?;
        Some((consumer["name"].as_str()?.to_owned(), server))
    };
    list["consumers"].as_array().unwrap().iter().filter_map(place).collect()
}

/// A reader that is connected to server `at` and has read the message `first`, and another server, on which its consumer lies.
fn reader_by_another_server(servers: &Servers, at: usize, first: LogPosition) -> (TestLog<NatsLog>, usize) {
    let mut found = None;
    wait_until("a consumer lies on another server", || {
        let before = consumers(servers, at);
        let mut reader = open(servers.options(&[at]));
        reader.read_from(first);
        assert_eq!(reader.message().unwrap().position, first);
        let now = consumers(servers, at);
        let own = now.into_iter().find(|(name, _)| !before.contains_key(name));
        found = own.filter(|(_, server)| *server != at).map(|(_, server)| (reader, server));
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn a_consumer_that_is_lost_with_its_server_is_missed_however_often_reading_begins_anew() {
    let Some(mut servers) = Servers::start() else { return };
    let mut writer = servers.log();
    let first = writer.append_surely("first");
    // The leader stays, and so does the connection.
    let leader = servers.leader();
    let (mut reader, lost) = reader_by_another_server(&servers, leader, first);
    servers.kill(lost);
    let last = writer.append_surely("last");
    // As a node does, every second. Each of these streams began to wait anew, for longer than it lasted.
    let (clock, mut begun_at) = (SystemClock::new(), Duration::ZERO);
    wait_until("what came later is read", || {
        if clock.now() >= begun_at + Duration::from_secs(1) {
            reader.log.read_from(first, first);
            begun_at = clock.now();
        }
        matches!(reader.log.next_message(), Ok(Some(message)) if message.position == last)
    });
}

#[test]
fn what_is_acknowledged_survives_the_leader_and_the_rest_may() {
    let Some(mut servers) = Servers::start() else { return };
    let (mut log, mut reader) = (servers.log(), servers.log());
    // Whoever connects first makes the stream, which is empty then.
    let mut maker = servers.log();
    maker.read_from(LogPosition(1));
    let leader = servers.leader();
    check_survival(&mut log, &mut reader, || servers.kill(leader));
    servers.start_again(leader);
    let last = log.append_surely("once more");
    // By the one that was killed, first of all.
    let (mut reader, mut read) = (open(servers.options(&[leader])), Vec::new());
    reader.read_on(&mut read, last);
    let positions: Vec<u64> = read.iter().map(|(position, _)| position.0).collect();
    assert_eq!(positions, (1..=last.0).collect::<Vec<_>>());
}

#[test]
fn what_is_acknowledged_survives_all_servers_at_once() {
    let Some(mut servers) = Servers::start() else { return };
    let mut log = servers.log();
    let mut expected = Vec::new();
    for number in 0..100 {
        let text = format!("message {number}");
        expected.push((log.append_surely(&text), text));
    }
    (0..3).for_each(|at| servers.kill(at));
    (0..3).for_each(|at| servers.begin_again(at));
    (0..3).for_each(|at| servers.wait(at));
    let (mut reader, mut read) = (servers.log(), Vec::new());
    let last = log.append_surely("last");
    reader.read_on(&mut read, last);
    assert_eq!(&read[..100], &expected[..]);
}

#[test]
fn a_server_that_is_stopped_holds_nobody_up_for_long() {
    let Some(servers) = Servers::start() else { return };
    let mut log = open(hasty(servers.options(&[1])));
    let mut read = vec![(log.append_surely("before"), "before".to_owned())];
    log.read_from(LogPosition(1));
    assert_eq!(log.messages(1), read);
    servers.pause(1);
    let limit = Duration::from_secs(2);
    let clock = SystemClock::new();
    let answer = log.append("meanwhile");
    assert!(matches!(answer, Err(LogError::UnknownOutcome)), "it is in a socket: {answer:?}");
    assert!(clock.now() < limit + LATENESS_MAX, "{:?}", clock.now());
    assert_unavailable(log.message(), "silent");
    assert!(clock.now() < limit + limit + LATENESS_MAX, "{:?}", clock.now());
    // Others take its place, whether it led or not.
    let after = log.append_surely("after");
    log.read_on(&mut read, after);
    assert_eq!(read.last(), Some(&(after, "after".to_owned())));
    servers.resume(1);
    // What it had in its socket may come now, at a position behind everything.
    pass(Duration::from_millis(500));
    let last = log.append_surely("last");
    log.read_on(&mut read, last);
    assert!(read.is_sorted_by(|one, next| one.0 < next.0), "{read:?}");
    assert!(read.iter().filter(|(_, text)| text == "meanwhile").count() <= 1, "{read:?}");
}

#[test]
fn without_a_majority_appends_are_answered_and_may_happen_later() {
    let Some(mut servers) = Servers::start() else { return };
    let mut log = open(hasty(servers.options(&[0])));
    log.append_surely("before");
    servers.kill(1);
    servers.kill(2);
    let clock = SystemClock::new();
    for _ in 0..3 {
        match log.append("meanwhile") {
            Err(LogError::Unavailable { .. } | LogError::UnknownOutcome) => {}
            other => panic!("two of three servers are gone: {other:?}"),
        }
        assert!(clock.now() < Duration::from_secs(60), "answers come late");
    }
    servers.start_again(1);
    let after = log.append_surely("after");
    let mut read = Vec::new();
    log.read_on(&mut read, after);
    assert_eq!(read.first().map(|(_, text)| text.as_str()), Some("before"));
}

#[test]
fn a_log_that_was_restored_from_an_older_copy_has_lost_its_suffix() {
    let Some(mut servers) = Servers::start() else { return };
    let mut log = servers.log();
    let kept = log.append_surely("kept");
    let kill_all = |servers: &mut Servers| (0..3).for_each(|at| servers.kill(at));
    let start_all = |servers: &mut Servers| {
        (0..3).for_each(|at| servers.begin_again(at));
        (0..3).for_each(|at| servers.wait(at));
    };
    kill_all(&mut servers);
    let copies: Vec<_> = (0..3).map(|at| servers.copy_data(at)).collect();
    start_all(&mut servers);
    let lost: Vec<LogPosition> = (0..5).map(|_| log.append_surely("lost")).collect();
    let mut read = Vec::new();
    log.read_on(&mut read, lost[4]);
    kill_all(&mut servers);
    copies.iter().enumerate().for_each(|(at, copy)| servers.restore_data(at, copy));
    start_all(&mut servers);
    let ended = end_of_stream(&mut log, kept, lost[4]);
    assert_eq!(ended, LogError::LostSuffix { position: lost[4], end: kept });
    // A reader that never saw them reads what is there.
    let again = log.append_surely("again");
    assert_eq!(again, lost[0], "positions are given again");
    let mut read = Vec::new();
    log.read_on(&mut read, again);
    assert_eq!(read, [(kept, "kept".to_owned()), (again, "again".to_owned())]);
}

#[test]
fn a_stream_that_was_deleted_or_made_anew_is_another_log() {
    let Some(servers) = Servers::start() else { return };
    let mut log = servers.log();
    let last = (0..3).map(|_| log.append_surely("m")).last().unwrap();
    let port = servers.port(0);
    ask_surely(port, &format!("$JS.API.STREAM.DELETE.{STREAM}"), "");
    wait_until("the stream is missed", || {
        log.log.read_from(last, last);
        matches!(log.message(), Err(LogError::Unavailable { reason }) if reason.contains("is gone"))
    });
    // Whoever had not read it yet makes another one, and whoever had reads that it ends before.
    let mut other = open(servers.options(&[1]));
    assert_eq!(other.append_surely("other"), LogPosition(1));
    wait_until("the stream is another one", || {
        log.log.read_from(last, last);
        matches!(log.message(), Err(LogError::Unavailable { reason }) if reason.contains("and the log is the one of"))
    });
    assert!(matches!(log.append("m"), Err(LogError::Unavailable { .. } | LogError::UnknownOutcome)));
    let ended = end_of_stream(&mut servers.log(), last, last);
    assert_eq!(ended, LogError::LostSuffix { position: last, end: LogPosition(1) });
}

#[test]
fn nothing_is_read_over_a_message_that_is_missing() {
    let Some(servers) = Servers::start() else { return };
    let port = servers.port(0);
    // As nobody should make it: messages may be deleted one by one.
    let config = format!(
        r#"{{"name":"{STREAM}","subjects":["{STREAM}"],"retention":"limits","storage":"file","num_replicas":3,"discard":"new",
            "max_msgs":-1,"max_bytes":-1,"max_msgs_per_subject":-1,"max_consumers":-1}}"#
    );
    ask_surely(port, &format!("$JS.API.STREAM.CREATE.{STREAM}"), &config);
    let mut log = servers.log();
    for number in 0..40 {
        log.append_surely(&format!("message {number}"));
    }
    log.read_from(LogPosition(1));
    log.messages(40);
    ask_surely(port, &format!("$JS.API.STREAM.MSG.DELETE.{STREAM}"), r#"{"seq":35,"no_erase":true}"#);
    let told = "has no messages from 35 to 35";
    // By its number, and by a consumer.
    log.log.read_from(LogPosition(30), LogPosition(40));
    assert_unavailable(log.message(), told);
    let mut other = open(servers.options(&[2]));
    other.read_from(LogPosition(34));
    assert_eq!(other.messages(1), [(LogPosition(34), "message 33".to_owned())]);
    assert_unavailable(other.message(), told);
    // One that `deny_delete` was not left out of refuses.
    let own = ask(port, &format!("$JS.API.STREAM.DELETE.{STREAM}"), "");
    assert!(own.contains("true"), "{own}");
    servers.log().append_surely("m");
    let refused = ask(port, &format!("$JS.API.STREAM.MSG.DELETE.{STREAM}"), r#"{"seq":1,"no_erase":true}"#);
    assert!(refused.contains("\"error\""), "{refused}");
}

#[test]
fn without_any_server_nothing_is_sent_and_the_reason_names_each() {
    let Some(mut servers) = Servers::start() else { return };
    let options = servers.options(&[]);
    (0..3).for_each(|at| servers.kill(at));
    let mut log = open(options);
    for at in 0..3 {
        assert_unavailable(log.append("m"), &format!("{}: connect: ", servers.url(at)));
    }
    assert_unavailable(log.trim(LogPosition(9)), "connect: ");
    log.read_from(LogPosition(1));
    assert_unavailable(log.message(), "connect: ");
}
