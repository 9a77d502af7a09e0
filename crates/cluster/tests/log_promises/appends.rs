//! Appends and streams of a log that nothing happens to.

use crate::real_log::RealLog;
use crate::real_log::test_log::{TestLog, assert_unavailable, shown};
use evergraph_cluster::log::shared_log::{AppendId, LogAnswer, LogError, SharedLog};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record::message::MESSAGE_BYTES_MAX;
use evergraph_storage::io::clock::{Clock as _, SystemClock};
use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("message {number}")).collect()
}

/// Appends one after the other.
pub fn appended<L: SharedLog>(log: &mut TestLog<L>, count: usize) -> Vec<(LogPosition, String)> {
    texts(count).into_iter().map(|text| (log.append_once_led(&text), text)).collect()
}

/// What a log says of its end, whose newest message lies at `position`.
pub fn end_at<R: RealLog>(position: LogPosition) -> Result<LogPosition, LogError> {
    if R::TELLS_END { Ok(position) } else { Err(LogError::BarrierNeeded) }
}

pub fn messages_are_read_back_at_their_positions_in_order<R: RealLog>() {
    let Some(servers) = R::start_fewest() else { return };
    let mut log = servers.patient_log(&[]);
    assert_eq!(log.end(), end_at::<R>(LogPosition::START), "nobody wrote anything");
    let expected = appended(&mut log, 20);
    let positions: Vec<LogPosition> = expected.iter().map(|(position, _)| *position).collect();
    assert!(R::are_positions_of_new_log(&positions), "{positions:?}");
    log.read_from(LogPosition(1));
    assert_eq!(log.messages(20), expected);
    assert_eq!(log.log.next_message(), Ok(None));
    // What comes later comes on the same stream.
    let later = (log.append("later").unwrap(), "later".to_owned());
    assert_eq!(log.messages(1), [later]);
    // The largest message, of bytes that are no text.
    let bytes: Vec<u8> = (0..MESSAGE_BYTES_MAX).map(|at| (at * 7 % 256) as u8).collect();
    log.log.append(AppendId(1000), bytes.as_slice().into());
    let largest = log.message().unwrap();
    assert!(largest.bytes[..] == bytes[..], "other bytes");
    assert_eq!(log.answer(), LogAnswer::Append { id: AppendId(1000), result: Ok(largest.position) });
    assert_eq!(log.end(), end_at::<R>(largest.position));
}

pub fn a_reader_that_is_far_behind_reads_everything_while_more_is_written<R: RealLog>() {
    let Some(servers) = R::start_three() else { return };
    let (mut log, mut reader) = (servers.patient_log(&[]), servers.patient_log(&[2]));
    let mut expected = appended(&mut log, 150);
    reader.read_from(LogPosition(1));
    expected.extend(appended(&mut log, 50));
    assert_eq!(reader.messages(200), expected);
    assert_eq!(reader.log.next_message(), Ok(None));
    let later = (log.append("later").unwrap(), "later".to_owned());
    assert_eq!(reader.messages(1), std::slice::from_ref(&later));
    expected.push(later);
    // From the middle.
    reader.log.read_from(expected[30].0, expected[200].0);
    expected.extend(appended(&mut log, 50));
    assert_eq!(reader.messages(221), expected[30..]);
}

pub fn appends_that_are_under_way_at_once_are_all_answered_and_read_once<R: RealLog>() {
    let Some(servers) = R::start_three() else { return };
    let (mut log, mut other) = (servers.patient_log(&[]), servers.patient_log(&[1]));
    log.read_from(LogPosition(1));
    other.read_from(LogPosition(1));
    let mut texts_by_id = BTreeMap::new();
    for text in texts(64) {
        texts_by_id.insert(log.begin_append(&text), text);
    }
    let mut expected = Vec::new();
    while !texts_by_id.is_empty() {
        let LogAnswer::Append { id, result } = log.answer() else { panic!("only appends were asked for") };
        expected.push((result.unwrap(), texts_by_id.remove(&id).expect("each is answered once")));
    }
    expected.sort();
    assert_eq!(log.messages(64), expected);
    assert_eq!(other.messages(64), expected, "by another server");
}

pub fn two_connections_see_the_same_and_the_end_is_what_was_acknowledged<R: RealLog>() {
    let Some(servers) = R::start_three() else { return };
    let mut logs = [(servers.patient_log(&[]), Vec::new()), (servers.patient_log(&[2]), Vec::new())];
    let mut last = LogPosition::START;
    for number in 0..10 {
        let [(one, _), (other, read)] = &mut logs;
        let written = (one.append(&format!("message {number}")).unwrap(), format!("message {number}"));
        let told = other.end();
        assert_eq!(told, end_at::<R>(written.0), "at whichever server");
        // By a barrier else.
        last = told.unwrap_or_else(|_| other.append("barrier").unwrap());
        other.read_on(read, last);
        assert!(
            last >= written.0 && read.contains(&written),
            "{written:?} is missing before {last}: {read:?}"
        );
        logs.reverse();
    }
    let [(one, read), (other, read_by_other)] = &mut logs;
    one.read_on(read, last);
    other.read_on(read_by_other, last);
    assert_eq!(read, read_by_other);
    assert_eq!(read.len(), if R::TELLS_END { 10 } else { 20 });
}

pub fn a_stream_may_begin_anywhere_near_the_end_or_far_behind<R: RealLog>() {
    let Some(servers) = R::start_three() else { return };
    let mut log = servers.patient_log(&[]);
    let mut expected = appended(&mut log, 200);
    for back in [200, 100, 33, 32, 31, 16, 1] {
        let rest = &expected[expected.len() - back..];
        log.log.read_from(rest[0].0, rest[back - 1].0);
        assert_eq!(log.messages(back), rest, "{back} messages back");
        // The stream goes on where the messages before ended.
        let more = (log.append("more").unwrap(), "more".to_owned());
        assert_eq!(log.messages(1), std::slice::from_ref(&more), "{back} messages back");
        expected.push(more);
    }
}

/// As readers do every second, faster, beside somebody who writes.
pub fn streams_that_begin_again_and_again_miss_nothing_of_a_busy_log<R: RealLog>() {
    let Some(servers) = R::start_fewest() else { return };
    let (mut writer, mut reader) = (servers.patient_log(&[]), servers.patient_log(&[]));
    let (mut expected, mut read) = (Vec::new(), Vec::new());
    for round in 0..40 {
        for number in 0..10 {
            let text = format!("{round} {number}");
            expected.push((writer.append_once_led(&text), text));
            while let Some(message) = reader.log.next_message().unwrap() {
                read.push(shown(&message));
            }
        }
        // Everything is read before the next stream, which begins three messages back. A server may end a stream, such as one that
        // knows no leader just then: another one goes on.
        reader.read_on(&mut read, expected[expected.len() - 1].0);
        let first = read.len() - 3;
        reader.log.read_from(read[first].0, read[read.len() - 1].0);
        assert_eq!(reader.messages(3), read[first..], "round {round}");
    }
    assert_eq!(read, expected);
}

/// How long a thread sleeps that nobody wakes: far longer than what it waits for takes.
const SLEEP: Duration = Duration::from_secs(30);

/// What this thread finds, which looks for it only when it is woken.
fn woken_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let clock = SystemClock::new();
    loop {
        if let Some(found) = look() {
            return found;
        }
        thread::park_timeout(SLEEP);
        assert!(clock.now() < SLEEP, "nobody is woken for {what}");
    }
}

/// Nodes look for nothing in between: one that is not woken stands still until its own timers are due.
pub fn whoever_sleeps_is_woken_by_answers_and_messages<R: RealLog>() {
    let Some(servers) = R::start_fewest() else { return };
    let (mut writer, mut reader) = (servers.patient_log(&[]), servers.patient_log(&[]));
    let id = writer.begin_append("message");
    let answer = woken_for("an answer", || writer.log.next_answer());
    let LogAnswer::Append { id: of, result: Ok(position) } = answer else { panic!("{answer:?}") };
    assert_eq!(of, id);
    // Nothing else is under way: whatever wakes it is of the stream.
    reader.read_from(LogPosition(1));
    let message = woken_for("a message", || reader.log.next_message().unwrap());
    assert_eq!(shown(&message), (position, "message".to_owned()));
    reader.log.trim(position);
    let trimmed = woken_for("a trim", || reader.log.next_answer());
    assert_eq!(trimmed, LogAnswer::Trim { first: position, result: Ok(()) });
}

pub fn more_requests_than_there_may_be_are_refused_and_answered<R: RealLog>() {
    let Some(servers) = R::start_fewest() else { return };
    let mut log = servers.patient_log(&[]);
    let count = 300;
    (0..count).for_each(|_| {
        log.begin_append("m");
    });
    let (mut done, mut refused) = (0, 0);
    for _ in 0..count {
        let LogAnswer::Append { result, .. } = log.answer() else { panic!("only appends were asked for") };
        match result {
            Ok(_) => done += 1,
            // Three servers sync all of them on one disk.
            Err(LogError::UnknownOutcome) => {}
            refusal => {
                assert_unavailable(refusal, "are under way");
                refused += 1;
            }
        }
    }
    assert_eq!(refused, count - 256);
    assert!(done > 0, "none is in the log");
    log.append_surely("there is room again");
}
