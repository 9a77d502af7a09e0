//! Keys of others: what they write shares the revisions of the log.

use crate::http;
use crate::log_promises::appends::appended;
use crate::members::Members;
use crate::real_log::RealLog as _;
use evergraph_cluster::log::shared_log::SharedLog as _;
use evergraph_cluster::log_position::LogPosition;

#[test]
fn a_reader_that_is_far_behind_reads_on_over_other_keys_and_a_deletion() {
    let Some(members) = Members::start(1) else { return };
    let (mut log, mut reader) = (members.patient_log(&[]), members.patient_log(&[]));
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
fn changes_of_other_keys_leave_gaps_and_are_not_the_end() {
    let Some(members) = Members::start(1) else { return };
    let mut log = members.patient_log(&[]);
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
