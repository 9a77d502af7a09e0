//! Trims: where a trimmed log begins, and for whom.

use crate::log_promises::appends::{appended, end_at};
use crate::real_log::RealLog;
use crate::real_log::test_log::{TestLog, assert_unavailable};
use evergraph_cluster::log::shared_log::{LogAnswer, LogError, SharedLog as _};
use evergraph_cluster::log_position::LogPosition;

pub fn a_trimmed_log_says_where_it_begins_and_is_read_from_there<R: RealLog>() {
    let Some(servers) = R::start_three() else { return };
    let mut log = servers.patient_log(&[]);
    let expected = appended(&mut log, 50);
    let first_read_from = |log: &mut TestLog<R::Log>, at: usize| {
        log.log.read_from(expected[at].0, expected[49].0);
        log.message().map(|message| message.position)
    };
    assert_eq!(log.trim(expected[20].0), Ok(()));
    for too_early in [0, 10, 18] {
        let trimmed = Err(LogError::Trimmed { first: expected[20].0 });
        assert_eq!(first_read_from(&mut log, too_early), trimmed, "{too_early}");
        assert_eq!(log.log.next_message(), Ok(None), "the stream has ended");
    }
    for at in [20, 45] {
        log.log.read_from(expected[at].0, expected[49].0);
        assert_eq!(log.messages(50 - at), expected[at..]);
    }
    // For all, by whichever server.
    let mut other = servers.patient_log(&[2]);
    assert_eq!(first_read_from(&mut other, 18), Err(LogError::Trimmed { first: expected[20].0 }));
    // Once more, or less than before: it is done.
    for first in [expected[20].0, expected[3].0, LogPosition(1)] {
        assert_eq!(other.trim(first), Ok(()));
    }
    assert_eq!(log.trim(expected[47].0), Ok(()));
    assert_eq!(first_read_from(&mut other, 45), Err(LogError::Trimmed { first: expected[47].0 }));
    log.log.read_from(expected[47].0, expected[49].0);
    assert_eq!(log.messages(3), expected[47..]);
}

pub fn a_trim_behind_the_end_is_one_up_to_the_end<R: RealLog>() {
    let Some(servers) = R::start_fewest() else { return };
    let mut log = servers.patient_log(&[]);
    let last = appended(&mut log, 5)[4].0;
    assert_eq!(log.trim(LogPosition(last.0 + 1000)), Ok(()));
    log.log.read_from(LogPosition(2), last);
    assert_eq!(log.message(), Err(LogError::Trimmed { first: last.next() }));
    assert_eq!(log.end(), end_at::<R>(last), "it ends where it did");
    log.log.read_from(last.next(), last);
    let next = log.append("next").unwrap();
    assert_eq!(next, last.next(), "positions go on");
    assert_eq!(log.messages(1), [(next, "next".to_owned())]);
}

pub fn a_reader_that_is_not_behind_does_not_notice_a_trim<R: RealLog>() {
    let Some(servers) = R::start_fewest() else { return };
    let (mut reader, mut other) = (servers.patient_log(&[]), servers.patient_log(&[]));
    reader.read_from(LogPosition(1));
    for round in 0..20 {
        let text = format!("message {round}");
        let position = other.append(&text).unwrap();
        assert_eq!(reader.messages(1), [(position, text)]);
        assert_eq!(other.trim(position), Ok(()));
    }
}

pub fn one_trim_is_under_way_at_a_time_and_each_is_answered<R: RealLog>() {
    let Some(servers) = R::start_three() else { return };
    let mut log = servers.patient_log(&[]);
    let positions: Vec<LogPosition> =
        appended(&mut log, 20).into_iter().map(|(position, _)| position).collect();
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
