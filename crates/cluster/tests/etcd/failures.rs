//! Members that are killed, stopped, restored or not there.

use crate::acknowledged::check_survival;
use crate::members::{Clusters, MemberOptions, Members};
use crate::test_log::{TestLog, assert_unavailable, pass, shown, wait_until};
use evergraph_cluster::log::etcd::options::EtcdOptions;
use evergraph_cluster::log::shared_log::{LogError, SharedLog as _};
use evergraph_cluster::log_position::LogPosition;
use evergraph_storage::io::clock::{Clock as _, SystemClock};
use std::collections::BTreeMap;
use std::time::Duration;

/// How much later than its time limit an answer may come on a busy machine.
const LATENESS_MAX: Duration = Duration::from_secs(10);

#[test]
fn a_stream_ends_with_its_member_and_the_next_one_misses_nothing() {
    let Some(mut members) = Members::start(3) else { return };
    // The stream reads from member 2, which need not lead; requests go to member 0.
    let (mut reader, mut writer) = (TestLog::open(members.options(&[2])), members.log());
    let mut expected: Vec<(LogPosition, String)> = Vec::new();
    for number in 0..20 {
        let text = format!("message {number}");
        expected.push((writer.append(&text).unwrap(), text));
    }
    reader.read_from(LogPosition(1));
    let mut read = reader.messages(20);
    members.kill(2);
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
    // An append whose member was the leader may be in the log twice, under positions of its own.
    let acknowledged: BTreeMap<_, _> = expected.into_iter().collect();
    let found: BTreeMap<_, _> = read.iter().cloned().collect();
    assert_eq!(found.len(), read.len(), "nothing is read twice");
    assert!(acknowledged.iter().all(|(position, text)| found.get(position) == Some(text)), "{found:?}");
}

#[test]
fn what_is_acknowledged_survives_the_leader_and_the_rest_may() {
    let Some(mut members) = Members::start(3) else { return };
    let (mut log, mut reader) = (members.log(), members.log());
    check_survival(&mut log, &mut reader, || members.kill(members.leader()));
}

#[test]
fn a_member_that_is_stopped_holds_nobody_up_for_longer_than_the_time_limit() {
    let Some(members) = Members::start(3) else { return };
    let limit = Duration::from_secs(2);
    let mut log = TestLog::open(EtcdOptions { time_limit: limit, ..members.options(&[1]) });
    let patient_limit = Duration::from_secs(40);
    let mut patient = TestLog::open(EtcdOptions { time_limit: patient_limit, ..members.options(&[1]) });
    let mut read = vec![(log.append("before").unwrap(), "before".to_owned())];
    read.push((patient.append("patiently").unwrap(), "patiently".to_owned()));
    log.read_from(LogPosition(1));
    assert_eq!(log.messages(2), read);
    members.pause(1);
    let clock = SystemClock::new();
    let answer = log.append("meanwhile");
    assert!(matches!(answer, Err(LogError::UnknownOutcome)), "it is in a socket: {answer:?}");
    assert!(clock.now() < limit + LATENESS_MAX, "{:?}", clock.now());
    assert_unavailable(log.message(), "silent");
    assert!(clock.now() < limit + limit + LATENESS_MAX, "{:?}", clock.now());
    // An append goes out again long before its time limit.
    let asked_at = clock.now();
    let answer = patient.append("patiently");
    assert!(matches!(answer, Err(LogError::UnknownOutcome)), "it is in a socket: {answer:?}");
    assert!(clock.now() - asked_at < patient_limit / 2, "{:?}", clock.now() - asked_at);
    // Others take its place, whether it led or not.
    let after = log.append_surely("after");
    log.read_on(&mut read, after);
    assert_eq!(read.last(), Some(&(after, "after".to_owned())));
    members.resume(1);
    // What it had in its socket may come now, at a position behind everything.
    pass(Duration::from_millis(500));
    let last = log.append_surely("last");
    log.read_on(&mut read, last);
    assert!(read.is_sorted_by(|one, next| one.0 < next.0), "{read:?}");
    assert!(read.iter().filter(|(_, text)| text == "meanwhile").count() <= 1, "{read:?}");
}

#[test]
fn without_a_majority_appends_are_answered_and_may_happen_later() {
    let Some(mut members) = Members::start(3) else { return };
    let mut log = TestLog::open(EtcdOptions { time_limit: Duration::from_secs(2), ..members.options(&[0]) });
    log.append("before").unwrap();
    members.kill(1);
    members.kill(2);
    let clock = SystemClock::new();
    let mut refused = 0;
    while refused < 3 {
        match log.append("meanwhile") {
            Err(LogError::Unavailable { .. }) => refused += 1,
            Err(LogError::UnknownOutcome) => {}
            other => panic!("two of three members are gone: {other:?}"),
        }
        assert!(clock.now() < Duration::from_secs(80), "the last member has not noticed");
    }
    assert!(log.end().is_err(), "nobody can agree on it");
    members.start_again(1);
    let after = log.append_surely("after");
    let mut read = Vec::new();
    log.read_on(&mut read, after);
    assert_eq!(read.first().map(|(_, text)| text.as_str()), Some("before"));
}

#[test]
fn a_log_that_was_restored_from_an_older_copy_has_lost_its_suffix() {
    let Some(mut members) = Members::start(1) else { return };
    let mut log = members.log();
    let kept = log.append("kept").unwrap();
    members.kill(0);
    let copy = members.copy_data(0);
    members.start_again(0);
    let lost: Vec<LogPosition> = (0..5).map(|_| log.append_surely("lost")).collect();
    log.log.read_from(kept, kept);
    assert_eq!(log.messages(6).len(), 6);
    members.kill(0);
    members.restore_data(0, &copy);
    members.start_again(0);
    assert!(matches!(log.message(), Err(LogError::Unavailable { .. })), "its connection broke");
    log.log.read_from(kept, lost[4]);
    let mut ended = log.message();
    // The connection may still be the old one.
    while let Err(LogError::Unavailable { .. }) = ended {
        log.log.read_from(kept, lost[4]);
        ended = log.message();
    }
    let end = kept;
    assert_eq!(ended, Err(LogError::LostSuffix { position: lost[4], end }));
    // A reader that never saw them reads what is there.
    log.log.read_from(LogPosition(1), kept);
    let again = log.append_surely("again");
    assert_eq!(again, lost[0], "positions are given again");
    assert_eq!(log.messages(2), [(kept, "kept".to_owned()), (again, "again".to_owned())]);
}

#[test]
fn a_log_that_was_restored_from_before_its_first_message_is_empty() {
    let Some(mut members) = Members::start(1) else { return };
    members.kill(0);
    let copy = members.copy_data(0);
    members.start_again(0);
    let mut log = members.log();
    assert_eq!(log.end(), Ok(LogPosition::START));
    let lost = log.append("lost").unwrap();
    members.kill(0);
    members.restore_data(0, &copy);
    members.start_again(0);
    let mut ended = Ok(());
    wait_until("the member answers", || {
        log.log.read_from(LogPosition(1), lost);
        ended = log.message().map(drop);
        !matches!(ended, Err(LogError::Unavailable { .. }))
    });
    assert_eq!(ended, Err(LogError::LostSuffix { position: lost, end: LogPosition::START }));
    assert_eq!(members.log().end(), Ok(LogPosition::START));
}

#[test]
fn without_any_member_nothing_is_sent_and_the_reason_names_each() {
    let Some(mut members) = Members::start(2) else { return };
    let (first, second) = (members.port(0), members.port(1));
    let options = members.options(&[]);
    members.kill(0);
    members.kill(1);
    let mut log = TestLog::open(options);
    for port in [first, second] {
        assert_unavailable(log.append("m"), &format!("http://127.0.0.1:{port}: connect: Connection refused"));
    }
    assert_unavailable(log.end(), "Connection refused");
    assert_unavailable(log.trim(LogPosition(9)), "Connection refused");
    log.read_from(LogPosition(1));
    assert_unavailable(log.message(), "Connection refused");
}

#[test]
fn members_of_another_cluster_are_not_used() {
    let options = MemberOptions { count: 2, clusters: Clusters::OneEach, scheme: "http", flags: &[] };
    let Some(mut members) = Members::start_with(&options) else { return };
    let mut log = members.log();
    log.append("m").unwrap();
    members.kill(0);
    // The first append breaks off, or finds nobody else.
    let told = "name members of one cluster";
    wait_until(
        "the other member is asked",
        || matches!(log.append("n"), Err(LogError::Unavailable { reason }) if reason.contains(told)),
    );
    let mut other = TestLog::open(members.options_of(&[1]));
    other.read_from(LogPosition(1));
    let only = other.append("only").unwrap();
    assert_eq!(other.messages(1), [(only, "only".to_owned())], "nothing was sent there");
}
