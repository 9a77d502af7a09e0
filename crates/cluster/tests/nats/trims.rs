//! Trims: what is forgotten, for whom, and that positions go on.

use crate::servers::{Servers, open};
use evergraph_cluster::log::shared_log::{LogError, SharedLog as _};
use evergraph_cluster::log_position::LogPosition;

#[test]
fn messages_before_a_trim_are_gone_for_all_and_positions_go_on() {
    let Some(servers) = Servers::start() else { return };
    let (mut log, mut other) = (servers.log(), open(servers.options(&[2])));
    for number in 1..=30 {
        log.append_surely(&format!("message {number}"));
    }
    assert_eq!(log.trim(LogPosition(1)), Ok(()), "nothing lies before");
    assert_eq!(log.trim(LogPosition(11)), Ok(()));
    other.read_from(LogPosition(10));
    assert_eq!(other.message(), Err(LogError::Trimmed { first: LogPosition(11) }));
    other.read_from(LogPosition(11));
    assert_eq!(other.messages(20)[0].0, LogPosition(11));
    // Less than before, and far behind the end: the place behind the end is meant.
    assert_eq!(other.trim(LogPosition(5)), Ok(()));
    assert_eq!(other.trim(LogPosition(1000)), Ok(()));
    log.read_from(LogPosition(30));
    assert_eq!(log.message(), Err(LogError::Trimmed { first: LogPosition(31) }));
    log.log.read_from(LogPosition(31), LogPosition(30));
    assert_eq!(log.append("later"), Ok(LogPosition(31)));
    assert_eq!(log.messages(1), [(LogPosition(31), "later".to_owned())]);
    // One that was read, by a stream that reads it again by its number.
    assert_eq!(log.trim(LogPosition(32)), Ok(()));
    log.read_from(LogPosition(31));
    assert_eq!(log.message(), Err(LogError::Trimmed { first: LogPosition(32) }));
}
