//! Failures that no other log has: a consumer that is lost with its server, a stream that is another one, messages that are missing.

use crate::log_promises::failures::end_of_stream;
use crate::raw_client::{ask, ask_surely};
use crate::real_log::RealLog as _;
use crate::real_log::test_log::{TestLog, assert_unavailable, wait_until};
use crate::servers::{STREAM, Servers, StreamCall, open};
use evergraph_cluster::log::nats::nats_log::NatsLog;
use evergraph_cluster::log::shared_log::{LogError, SharedLog as _};
use evergraph_cluster::log_position::LogPosition;
use evergraph_storage::io::clock::{Clock as _, SystemClock};
use std::collections::BTreeMap;
use std::time::Duration;

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
    servers.set_stream(StreamCall::Create, r#""num_replicas":3"#);
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
