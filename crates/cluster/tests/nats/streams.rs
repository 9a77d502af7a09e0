//! Streams by JetStream's means: what was read comes again by its number, what is new by a consumer, which pulls.

use crate::log_promises::appends::appended;
use crate::real_log::RealLog as _;
use crate::real_log::test_log::pass;
use crate::servers::Servers;
use evergraph_cluster::log::shared_log::{AppendId, LogAnswer, SharedLog as _};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record::message::MESSAGE_BYTES_MAX;
use std::time::Duration;

#[test]
fn what_was_read_is_read_again_by_its_number_while_the_consumer_goes_on_behind_it() {
    let Some(servers) = Servers::start_three() else { return };
    let mut log = servers.patient_log(&[]);
    appended(&mut log, 20);
    log.read_from(LogPosition(1));
    log.messages(20);
    log.log.append(AppendId(1000), vec![b'm'; MESSAGE_BYTES_MAX].into());
    let largest = log.message().unwrap();
    assert_eq!(log.answer(), LogAnswer::Append { id: AppendId(1000), result: Ok(largest.position) });
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
}

#[test]
fn a_reader_waits_for_longer_than_a_pull_lives() {
    let Some(servers) = Servers::start_three() else { return };
    let (mut log, mut reader) = (servers.patient_log(&[]), servers.patient_log(&[2]));
    let expected = appended(&mut log, 200);
    // It goes back further than to what is asked for by number.
    reader.log.read_from(LogPosition(3), LogPosition(200));
    assert_eq!(reader.messages(198), expected[2..]);
    pass(Duration::from_secs(33));
    let later = (log.append("later").unwrap(), "later".to_owned());
    assert_eq!(reader.messages(1), [later]);
}
