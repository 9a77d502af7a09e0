//! Appends and streams of a log that nothing happens to.

use crate::servers::{Servers, open};
use crate::test_log::{TestLog, pass, shown};
use evergraph_cluster::log::nats::nats_log::NatsLog;
use evergraph_cluster::log::shared_log::{AppendId, LogAnswer, LogError, SharedLog as _};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record::message::MESSAGE_BYTES_MAX;
use std::collections::BTreeMap;
use std::time::Duration;

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("message {number}")).collect()
}

/// Appends one after the other.
fn appended(log: &mut TestLog<NatsLog>, count: usize) -> Vec<(LogPosition, String)> {
    texts(count).into_iter().map(|text| (log.append_surely(&text), text)).collect()
}

#[test]
fn messages_are_read_back_at_their_positions_in_order() {
    let Some(servers) = Servers::start() else { return };
    let mut log = servers.log();
    let expected = appended(&mut log, 20);
    let positions: Vec<u64> = expected.iter().map(|(position, _)| position.0).collect();
    assert_eq!(positions, (1..=20).collect::<Vec<_>>(), "without gaps");
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
    // Read again by their numbers, while the consumer goes on behind them; and the largest once more.
    let mut behind = Vec::new();
    for back in [16, 1, 0] {
        let first = LogPosition(largest.position.0 - back);
        log.log.read_from(first, largest.position);
        let again: Vec<_> = (0..=back).map(|_| log.message().unwrap()).collect();
        assert_eq!(again.last(), Some(&largest));
        assert_eq!(again[0].position, first);
        behind.push((log.append("more").unwrap(), "more".to_owned()));
        assert_eq!(log.messages(behind.len()), behind);
    }
    assert_eq!(log.end(), Err(LogError::BarrierNeeded));
}

#[test]
fn a_reader_that_is_far_behind_reads_everything_while_more_is_written() {
    let Some(servers) = Servers::start() else { return };
    let (mut log, mut reader) = (servers.log(), open(servers.options(&[2])));
    let mut expected = appended(&mut log, 150);
    reader.read_from(LogPosition(1));
    let more = appended(&mut log, 50);
    expected.extend(more);
    assert_eq!(reader.messages(200), expected);
    assert_eq!(reader.log.next_message(), Ok(None));
    // It goes back further than to what is asked for by number, and longer than a pull lives nothing comes.
    reader.log.read_from(LogPosition(3), LogPosition(200));
    assert_eq!(reader.messages(198), expected[2..]);
    pass(Duration::from_secs(33));
    let later = (log.append("later").unwrap(), "later".to_owned());
    assert_eq!(reader.messages(1), [later]);
}

#[test]
fn appends_that_are_under_way_at_once_are_all_answered_and_read_once() {
    let Some(servers) = Servers::start() else { return };
    let (mut log, mut other) = (servers.log(), open(servers.options(&[1])));
    log.append_surely("first");
    log.read_from(LogPosition(2));
    other.read_from(LogPosition(2));
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
    let seen: Vec<_> = (0..64).map(|_| shown(&other.message().unwrap())).collect();
    assert_eq!(seen, expected, "by another server");
}
