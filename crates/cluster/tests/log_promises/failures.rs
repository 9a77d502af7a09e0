//! Servers that are killed, stopped, restored or not there.

use crate::log_promises::acknowledged::check_survival;
use crate::log_promises::appends::end_at;
use crate::real_log::test_log::{TestLog, assert_unavailable, pass, shown, wait_until};
use crate::real_log::{HASTY_LIMIT, RealLog};
use evergraph_cluster::log::shared_log::{LogError, SharedLog};
use evergraph_cluster::log_position::LogPosition;
use evergraph_storage::io::clock::{Clock as _, SystemClock};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Range;
use std::time::Duration;

/// How much later than its time limit an answer may come on a busy machine.
const LATENESS_MAX: Duration = Duration::from_secs(10);

/// How long servers may take until they notice that they are no majority.
const NOTICED_WITHIN: Duration = Duration::from_secs(80);

/// The end of a stream, which begins again until it is another one than that nobody answers.
pub fn end_of_stream<L: SharedLog>(log: &mut TestLog<L>, first: LogPosition, seen: LogPosition) -> LogError {
    let mut error = None;
    wait_until("the stream ends", || {
        log.log.read_from(first, seen);
        error = log.message().err();
        error.as_ref().is_some_and(|error| !matches!(error, LogError::Unavailable { .. }))
    });
    error.unwrap()
}

/// Reads on until the stream ends.
fn read_to_error<L: SharedLog>(log: &mut TestLog<L>, read: &mut Vec<(LogPosition, String)>) -> LogError {
    loop {
        match log.message() {
            Ok(message) => read.push(shown(&message)),
            Err(error) => return error,
        }
    }
}

/// Appends one after the other, each until it is acknowledged: where they are in the log for certain.
fn appended_surely<L: SharedLog>(
    log: &mut TestLog<L>,
    numbers: Range<usize>,
) -> BTreeMap<LogPosition, String> {
    let texts = numbers.map(|number| format!("message {number}"));
    texts.map(|text| (log.append_surely(&text), text)).collect()
}

fn newest(acknowledged: &BTreeMap<LogPosition, String>) -> LogPosition {
    *acknowledged.last_key_value().expect("there are some").0
}

/// All of them were read, nothing twice. An append that nobody acknowledged may be there beside them, under a position of its own.
#[track_caller]
fn check_read(acknowledged: &BTreeMap<LogPosition, String>, read: &[(LogPosition, String)]) {
    let found: BTreeMap<_, _> = read.iter().cloned().collect();
    assert_eq!(found.len(), read.len(), "nothing is read twice");
    assert!(acknowledged.iter().all(|(position, text)| found.get(position) == Some(text)), "{found:?}");
}

pub fn a_stream_ends_with_its_server_and_the_next_one_misses_nothing<R: RealLog>() {
    let Some(mut servers) = R::start_three() else { return };
    // The stream is asked for at server 2, which need not lead; requests go to server 0.
    let (mut reader, mut writer) = (servers.log_by(&[2]), servers.log());
    let mut acknowledged = appended_surely(&mut writer, 0..20);
    let mut read = Vec::new();
    reader.read_on(&mut read, newest(&acknowledged));
    servers.kill(2);
    let ended = read_to_error(&mut reader, &mut read);
    assert!(matches!(ended, LogError::Unavailable { .. }), "{ended}");
    assert_eq!(reader.log.next_message(), Ok(None), "it never goes on by itself");
    acknowledged.append(&mut appended_surely(&mut writer, 20..40));
    reader.read_on(&mut read, newest(&acknowledged));
    check_read(&acknowledged, &read);
}

pub fn what_is_acknowledged_survives_the_leader_and_the_rest_may<R: RealLog>() {
    let Some(mut servers) = R::start_three() else { return };
    let (mut log, mut reader) = (servers.log(), servers.log());
    let leader = servers.leader();
    check_survival(&mut log, &mut reader, || servers.kill(leader));
    servers.start_and_wait(leader);
    let last = log.append_surely("once more");
    let (mut read, mut by_others) = (Vec::new(), Vec::new());
    // By the one that was killed, first of all.
    servers.log_by(&[leader]).read_on(&mut read, last);
    reader.read_on(&mut by_others, last);
    assert_eq!(read, by_others);
    let positions: Vec<LogPosition> = read.iter().map(|(position, _)| *position).collect();
    assert!(R::are_positions_of_new_log(&positions), "{positions:?}");
}

pub fn what_is_acknowledged_survives_all_servers_at_once<R: RealLog>() {
    let Some(mut servers) = R::start_three() else { return };
    let mut log = servers.log();
    let acknowledged = appended_surely(&mut log, 0..100);
    servers.kill_all();
    servers.start_all();
    let (mut reader, mut read) = (servers.log(), Vec::new());
    let last = log.append_surely("last");
    reader.read_on(&mut read, last);
    check_read(&acknowledged, &read);
}

pub fn a_server_that_is_stopped_holds_nobody_up_for_longer_than_the_time_limit<R: RealLog>() {
    let Some(servers) = R::start_three() else { return };
    // One whose first append was late would have gone to another server.
    let mut found = None;
    wait_until("the server answers in time", || {
        let mut log = servers.hasty_log(&[1]);
        found = log.append("before").ok().map(|before| (log, before));
        found.is_some()
    });
    let (mut log, before) = found.unwrap();
    let mut read = Vec::new();
    log.read_on(&mut read, before);
    assert_eq!(read.last(), Some(&(before, "before".to_owned())));
    servers.pause(1);
    let clock = SystemClock::new();
    let answer = log.append("meanwhile");
    assert!(matches!(answer, Err(LogError::UnknownOutcome)), "it is in a socket: {answer:?}");
    assert!(clock.now() < HASTY_LIMIT + LATENESS_MAX, "{:?}", clock.now());
    assert_unavailable::<()>(Err(read_to_error(&mut log, &mut read)), "silent");
    assert!(clock.now() < HASTY_LIMIT * 2 + LATENESS_MAX, "{:?}", clock.now());
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

pub fn without_a_majority_appends_are_answered_and_may_happen_later<R: RealLog>() {
    let Some(mut servers) = R::start_three() else { return };
    let mut log = servers.hasty_log(&[0]);
    log.append_surely("before");
    servers.kill(1);
    servers.kill(2);
    let clock = SystemClock::new();
    let (mut refused, mut unknown) = (0, 0);
    while refused < 3 {
        match log.append("meanwhile") {
            Err(LogError::Unavailable { .. }) => refused += 1,
            Err(LogError::UnknownOutcome) => unknown += 1,
            other => panic!("two of three servers are gone: {other:?}"),
        }
        assert!(clock.now() < NOTICED_WITHIN, "the last server has not noticed");
    }
    if R::TELLS_END {
        assert!(log.end().is_err(), "nobody can agree on it");
    }
    servers.start_and_wait(1);
    let after = log.append_surely("after");
    let mut read = Vec::new();
    log.read_on(&mut read, after);
    assert_eq!(read.first().map(|(_, text)| text.as_str()), Some("before"));
    let happened = read.iter().filter(|(_, text)| text == "meanwhile").count();
    assert!(
        happened <= unknown,
        "{happened} happened, {unknown} of unknown outcome: one that was refused is there"
    );
}

pub fn a_log_that_was_restored_from_an_older_copy_has_lost_its_suffix<R: RealLog>() {
    let Some(mut servers) = R::start_fewest() else { return };
    let mut log = servers.log();
    let kept = log.append_surely("kept");
    servers.kill_all();
    let copies = servers.copy_data();
    servers.start_all();
    let last = (0..5).map(|_| log.append_surely("lost")).last().expect("there are five");
    let mut read = Vec::new();
    log.read_on(&mut read, last);
    assert!(read.len() >= 6, "{read:?}");
    servers.kill_all();
    servers.restore_data(&copies);
    servers.start_all();
    // An append that was answered too late is there twice.
    let broken = read_to_error(&mut log, &mut read);
    assert!(matches!(broken, LogError::Unavailable { .. }), "its connection broke: {broken}");
    let (kept_messages, lost) = read.split_at(read.partition_point(|(_, text)| text == "kept"));
    assert!(kept_messages.iter().any(|(position, _)| *position == kept), "{read:?}");
    let (end, seen) = (kept_messages.last().unwrap().0, lost.last().unwrap().0);
    // The connection may still be the old one.
    let ended = end_of_stream(&mut log, kept, seen);
    assert_eq!(ended, LogError::LostSuffix { position: seen, end });
    // A reader that never saw them reads what is there.
    let again = log.append_surely("again");
    let mut read_again = Vec::new();
    log.read_on(&mut read_again, again);
    assert_eq!(&read_again[..kept_messages.len()], kept_messages);
    let new = &read_again[kept_messages.len()..];
    assert_eq!(new[0], (lost[0].0, "again".to_owned()), "positions are given again");
    assert!(new.iter().all(|(_, text)| text == "again"), "{new:?}");
}

pub fn a_log_that_was_restored_from_before_its_first_message_is_empty<R: RealLog>() {
    let Some(mut servers) = R::start_fewest() else { return };
    servers.kill_all();
    let copies = servers.copy_data();
    servers.start_all();
    let mut log = servers.log();
    assert_eq!(log.end(), end_at::<R>(LogPosition::START));
    let last = log.append_surely("lost");
    let mut read = Vec::new();
    log.read_on(&mut read, last);
    let first = read[0].0;
    servers.kill_all();
    servers.restore_data(&copies);
    servers.start_all();
    let ended = end_of_stream(&mut log, LogPosition(1), last);
    assert_eq!(ended, LogError::LostSuffix { position: last, end: LogPosition::START });
    let mut new = servers.log();
    assert_eq!(new.end(), end_at::<R>(LogPosition::START));
    let again = new.append_surely("again");
    let mut read = Vec::new();
    new.read_on(&mut read, again);
    assert_eq!(read[0], (first, "again".to_owned()), "nothing lies before it");
}

pub fn without_any_server_nothing_is_sent_and_the_reason_names_each<R: RealLog>() {
    let Some(mut servers) = R::start_three() else { return };
    servers.kill_all();
    let mut log = servers.log();
    for at in 0..3 {
        assert_refused(log.append("m"), servers.url(at));
    }
    match log.end() {
        Err(LogError::BarrierNeeded) if !R::TELLS_END => {}
        end => assert_refused(end, servers.url(0)),
    }
    assert_refused(log.trim(LogPosition(9)), servers.url(0));
    log.read_from(LogPosition(1));
    assert_refused(log.message(), servers.url(0));
}

/// Whether a result says that nobody listens at a URL.
#[track_caller]
fn assert_refused<T: Debug>(result: Result<T, LogError>, url: &str) {
    let Err(LogError::Unavailable { reason }) = result else { panic!("{url}: {result:?}") };
    assert!(reason.contains(&format!("{url}: connect: ")), "{url}: {reason}");
    assert!(reason.contains("Connection refused"), "{url}: {reason}");
}
