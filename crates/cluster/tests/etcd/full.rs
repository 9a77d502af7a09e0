//! A log that takes all the room that it has.

use crate::http;
use crate::members::{Clusters, MemberOptions, Members};
use crate::real_log::RealLog as _;
use crate::real_log::test_log::{assert_unavailable, wait_until};
use evergraph_cluster::log::shared_log::{LogError, SharedLog as _};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record::message::MESSAGE_BYTES_MAX;

#[test]
fn a_full_etcd_says_what_to_do_and_serves_again_after_that() {
    let flags = ["--quota-backend-bytes=4194304".to_owned()];
    let options = MemberOptions { count: 1, clusters: Clusters::One, scheme: "http", flags: &flags };
    let Some(members) = Members::start_with(&options) else { return };
    let mut log = members.log();
    let large = "m".repeat(MESSAGE_BYTES_MAX);
    let (mut last, mut unknown) = (LogPosition::START, 0);
    let full = loop {
        match log.append(&large) {
            Ok(position) => last = position,
            // etcd says the same of one that it refuses and of one that took the last room. The next one is not sent.
            Err(LogError::UnknownOutcome) => unknown += 1,
            Err(error) => break error,
        }
        assert!(last.0 < 1000 && unknown < 10, "4 MiB have no room for that");
    };
    assert!(unknown >= 1, "nobody knows of the first one");
    assert_unavailable::<()>(Err(full), "etcdctl alarm disarm");
    // Reading and trimming go on.
    log.log.read_from(last, last);
    assert_eq!(log.messages(1)[0].0, last);
    assert_eq!(log.trim(last), Ok(()));
    let port = members.port(0);
    // It forgets in the background. The alarm is of a member, by its number.
    wait_until("the log has room", || {
        http::post(port, "/v3/maintenance/defragment", "{}");
        let alarms = http::post(port, "/v3/maintenance/alarm", r#"{"action":"GET"}"#);
        if let Some(member) = alarms.split("\"memberID\":\"").nth(1).and_then(|rest| rest.split('"').next()) {
            let disarm = format!(r#"{{"action":"DEACTIVATE","memberID":"{member}","alarm":"NOSPACE"}}"#);
            http::post(port, "/v3/maintenance/alarm", &disarm);
        }
        log.append("m").is_ok()
    });
}
