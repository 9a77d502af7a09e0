//! Appends and streams of a log that nothing happens to.

use crate::http;
use crate::members::Members;
use crate::test_log::{TestLog, shown};
use evergraph_cluster::log::shared_log::{AppendId, LogAnswer, SharedLog as _};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record::message::MESSAGE_BYTES_MAX;
use std::collections::BTreeMap;

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("message {number}")).collect()
}

/// Appends one after the other.
fn appended(log: &mut TestLog, count: usize) -> Vec<(LogPosition, String)> {
    texts(count).into_iter().map(|text| (log.append(&text).unwrap(), text)).collect()
}

#[test]
fn messages_are_read_back_at_their_positions_in_order() {
    let Some(members) = Members::start(1) else { return };
    let mut log = members.log();
    let expected = appended(&mut log, 20);
    assert!(expected.is_sorted_by(|one, next| one.0 < next.0), "{expected:?}");
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
}

#[test]
fn a_reader_that_is_far_behind_reads_on_over_other_keys_and_a_deletion() {
    let Some(members) = Members::start(1) else { return };
    let (mut log, mut reader) = (members.log(), members.log());
    let mut expected = appended(&mut log, 100);
    // Keys are in base 64: other, and that of the log.
    for _ in 0..70 {
        http::post(members.port(0), "/v3/kv/put", r#"{"key":"b3RoZXI=","value":"bQ=="}"#);
    }
    expected.extend(appended(&mut log, 50));
    http::post(members.port(0), "/v3/kv/deleterange", r#"{"key":"ZXZlcmdyYXBoL3Rlc3Q="}"#);
    expected.extend(appended(&mut log, 40));
    reader.read_from(LogPosition(1));
    assert_eq!(reader.messages(190), expected);
    assert_eq!(reader.log.next_message(), Ok(None));
    let later = (log.append("later").unwrap(), "later".to_owned());
    assert_eq!(reader.messages(1), [later], "by the watch");
    // From the middle, and while more is written than is read one by one.
    reader.log.read_from(expected[30].0, expected[189].0);
    let more = appended(&mut log, 64);
    let read = reader.messages(160 + 1 + 64);
    assert_eq!((&read[..160], &read[161..]), (&expected[30..], &more[..]));
}

#[test]
fn appends_that_are_under_way_at_once_are_all_answered_and_read_once() {
    let Some(members) = Members::start(3) else { return };
    let mut log = members.log();
    log.read_from(LogPosition(1));
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
}

#[test]
fn two_connections_see_the_same_and_the_end_is_what_was_acknowledged() {
    let Some(members) = Members::start(3) else { return };
    let (mut one, mut other) = (members.log(), TestLog::open(members.options(&[2])));
    other.read_from(LogPosition(1));
    for number in 0..10 {
        let (writer, asker) = if number % 2 == 0 { (&mut one, &mut other) } else { (&mut other, &mut one) };
        let position = writer.append(&format!("message {number}")).unwrap();
        assert_eq!(asker.end(), Ok(position), "by a linearizable read, at whichever member");
    }
    one.read_from(LogPosition(1));
    assert_eq!(one.messages(10), other.messages(10));
}

#[test]
fn changes_of_other_keys_leave_gaps_and_are_not_the_end() {
    let Some(members) = Members::start(1) else { return };
    let mut log = members.log();
    assert_eq!(log.end(), Ok(LogPosition::START), "nobody wrote anything");
    let before = log.append("before").unwrap();
    // Another key, `foo`.
    (0..5).for_each(|_| {
        http::post(members.port(0), "/v3/kv/put", r#"{"key":"Zm9v","value":"YmFy"}"#);
    });
    assert_eq!(log.end(), Ok(before));
    let after = log.append("after").unwrap();
    assert_eq!(after.0, before.0 + 6);
    // From a position that is empty, also one behind which nothing is yet.
    log.read_from(LogPosition(before.0 + 2));
    assert_eq!(log.messages(1), [(after, "after".to_owned())]);
    log.read_from(after.next());
    let last = log.append("last").unwrap();
    assert_eq!(log.messages(1), [(last, "last".to_owned())]);
}

#[test]
fn a_stream_may_begin_anywhere_near_the_end_or_far_behind() {
    let Some(members) = Members::start(3) else { return };
    let mut log = members.log();
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
#[test]
fn streams_that_begin_again_and_again_miss_nothing_of_a_busy_log() {
    let Some(members) = Members::start(1) else { return };
    let (mut writer, mut reader) = (members.log(), members.log());
    let (mut expected, mut read) = (Vec::new(), Vec::new());
    for round in 0..40 {
        for number in 0..10 {
            let text = format!("{round} {number}");
            expected.push((writer.append(&text).unwrap(), text));
            while let Some(message) = reader.log.next_message().unwrap() {
                read.push(shown(&message));
            }
        }
        // Everything is read before the next stream, which begins three messages back.
        if round == 0 {
            reader.read_from(LogPosition(1));
        }
        while read.len() < expected.len() {
            read.push(shown(&reader.message().unwrap()));
        }
        let first = read.len() - 3;
        reader.log.read_from(read[first].0, read[read.len() - 1].0);
        assert_eq!(reader.messages(3), read[first..], "round {round}");
    }
    assert_eq!(read, expected);
}

#[test]
fn more_requests_than_there_may_be_are_refused_and_answered() {
    let Some(members) = Members::start(1) else { return };
    let mut log = members.log();
    let count = 300;
    (0..count).for_each(|_| {
        log.begin_append("m");
    });
    let mut fine = 0;
    for _ in 0..count {
        let LogAnswer::Append { result, .. } = log.answer() else { panic!("only appends were asked for") };
        fine += usize::from(result.is_ok());
    }
    assert!((256..300).contains(&fine), "{fine} of {count}");
    assert!(log.append("m").is_ok(), "there is room again");
}
