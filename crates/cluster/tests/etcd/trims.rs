//! Trims, and a log that takes all the room that it has.

use crate::http;
use crate::members::{Clusters, MemberOptions, Members};
use crate::test_log::{TestLog, assert_unavailable, wait_until};
use evergraph_cluster::log::shared_log::{LogAnswer, LogError, SharedLog as _};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record::message::MESSAGE_BYTES_MAX;

#[test]
fn a_trimmed_log_says_where_it_begins_and_is_read_from_there() {
    let Some(members) = Members::start(3) else { return };
    let mut log = members.log();
    let positions: Vec<LogPosition> = (0..50).map(|_| log.append("m").unwrap()).collect();
    let read = |log: &mut TestLog, at: usize| {
        log.log.read_from(positions[at], positions[49]);
        log.messages(50 - at)
    };
    assert_eq!(log.trim(positions[20]), Ok(()));
    for too_early in [0, 10, 18] {
        log.log.read_from(positions[too_early], positions[49]);
        assert_eq!(log.message(), Err(LogError::Trimmed { first: positions[20] }), "{too_early}");
        assert_eq!(log.log.next_message(), Ok(None), "the stream has ended");
    }
    assert_eq!(read(&mut log, 20)[0].0, positions[20]);
    assert_eq!(read(&mut log, 45).len(), 5);
    // Once more, or less than before: it is done.
    assert_eq!(
        [log.trim(positions[20]), log.trim(positions[3]), log.trim(LogPosition(1))],
        [Ok(()), Ok(()), Ok(())]
    );
    assert_eq!(log.trim(positions[47]), Ok(()));
    assert_eq!(read(&mut log, 47).len(), 3);
}

#[test]
fn a_trim_behind_the_end_is_one_up_to_the_end() {
    let Some(members) = Members::start(1) else { return };
    let mut log = members.log();
    let last = (0..5).map(|_| log.append("m").unwrap()).last().unwrap();
    assert_eq!(log.trim(LogPosition(last.0 + 1000)), Ok(()));
    log.log.read_from(LogPosition(2), last);
    assert_eq!(log.message(), Err(LogError::Trimmed { first: last.next() }));
    assert_eq!(log.end(), Ok(last), "the newest message stays, to count by");
    log.log.read_from(last.next(), last);
    let next = log.append("next").unwrap();
    assert_eq!(log.messages(1), [(next, "next".to_owned())]);
}

#[test]
fn a_reader_that_is_not_behind_does_not_notice_a_trim() {
    let Some(members) = Members::start(1) else { return };
    let (mut reader, mut other) = (members.log(), members.log());
    reader.read_from(LogPosition(1));
    for round in 0..20 {
        let text = format!("message {round}");
        let position = other.append(&text).unwrap();
        assert_eq!(reader.messages(1), [(position, text)]);
        assert_eq!(other.trim(position), Ok(()));
    }
}

#[test]
fn one_trim_is_under_way_at_a_time_and_each_is_answered() {
    let Some(members) = Members::start(3) else { return };
    let mut log = members.log();
    let positions: Vec<LogPosition> = (0..20).map(|_| log.append("m").unwrap()).collect();
    positions.iter().for_each(|first| log.log.trim(*first));
    let mut done = 0;
    for _ in &positions {
        match log.answer() {
            LogAnswer::Trim { result: Ok(()), .. } => done += 1,
            LogAnswer::Trim { result, .. } => assert_unavailable(result, "another trim"),
            other => panic!("{other:?}"),
        }
    }
    assert!(done >= 1);
    assert_eq!(log.trim(positions[19]), Ok(()));
}

#[test]
fn a_full_etcd_says_what_to_do_and_serves_again_after_that() {
    let flags = ["--quota-backend-bytes=4194304".to_owned()];
    let options = MemberOptions { count: 1, clusters: Clusters::One, scheme: "http", flags: &flags };
    let Some(members) = Members::start_with(&options) else { return };
    let mut log = members.log();
    let large = "m".repeat(MESSAGE_BYTES_MAX);
    let (mut last, mut unknown) = (LogPosition::START, 0);
    let full = loop {
        match log.append(&large) {
            Ok(position) => last = position,
            // etcd says the same of one that it refuses and of one that took the last room. The next one is not sent.
            Err(LogError::UnknownOutcome) => unknown += 1,
            Err(error) => break error,
        }
        assert!(last.0 < 1000 && unknown < 10, "4 MiB have no room for that");
    };
    assert!(unknown >= 1, "nobody knows of the first one");
    assert_unavailable::<()>(Err(full), "etcdctl alarm disarm");
    // Reading and trimming go on.
    log.log.read_from(last, last);
    assert_eq!(log.messages(1)[0].0, last);
    assert_eq!(log.trim(last), Ok(()));
    let port = members.port(0);
    // It forgets in the background. The alarm is of a member, by its number.
    wait_until("the log has room", || {
        http::post(port, "/v3/maintenance/defragment", "{}");
        let alarms = http::post(port, "/v3/maintenance/alarm", r#"{"action":"GET"}"#);
        if let Some(member) = alarms.split("\"memberID\":\"").nth(1).and_then(|rest| rest.split('"').next()) {
            let disarm = format!(r#"{{"action":"DEACTIVATE","memberID":"{member}","alarm":"NOSPACE"}}"#);
            http::post(port, "/v3/maintenance/alarm", &disarm);
        }
        log.append("m").is_ok()
    });
}
