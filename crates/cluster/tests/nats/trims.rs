//! Trims by JetStream's means: a purge forgets exactly what lies before a number, and what was read comes again by its number.

use crate::log_promises::appends::appended;
use crate::real_log::RealLog as _;
use crate::servers::Servers;
use evergraph_cluster::log::shared_log::{LogError, SharedLog as _};
use evergraph_cluster::log_position::LogPosition;

#[test]
fn the_message_before_a_trim_is_gone_and_the_trimmed_one_stays() {
    let Some(servers) = Servers::start_three() else { return };
    let (mut log, mut other) = (servers.patient_log(&[]), servers.patient_log(&[2]));
    appended(&mut log, 30);
    assert_eq!(log.trim(LogPosition(1)), Ok(()), "nothing lies before");
    assert_eq!(log.trim(LogPosition(11)), Ok(()));
    other.read_from(LogPosition(10));
    assert_eq!(other.message(), Err(LogError::Trimmed { first: LogPosition(11) }));
    other.read_from(LogPosition(11));
    assert_eq!(other.messages(20)[0].0, LogPosition(11));
}

#[test]
fn a_trim_is_noticed_by_a_stream_that_reads_again_by_number() {
    let Some(servers) = Servers::start_three() else { return };
    let mut log = servers.patient_log(&[]);
    appended(&mut log, 3);
    log.read_from(LogPosition(1));
    log.messages(3);
    assert_eq!(log.trim(LogPosition(4)), Ok(()));
    log.log.read_from(LogPosition(3), LogPosition(3));
    assert_eq!(log.message(), Err(LogError::Trimmed { first: LogPosition(4) }));
}
