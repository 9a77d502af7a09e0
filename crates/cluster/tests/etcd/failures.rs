//! Failures of members that no other log has: attempts that are shorter than a request, and members of another cluster.

use crate::members::{Clusters, MemberOptions, Members, open};
use crate::real_log::RealLog as _;
use crate::real_log::test_log::{TestLog, wait_until};
use evergraph_cluster::log::shared_log::LogError;
use evergraph_cluster::log_position::LogPosition;
use evergraph_storage::io::clock::{Clock as _, SystemClock};
use std::time::Duration;

#[test]
fn an_append_to_a_stopped_member_ends_long_before_its_time_limit() {
    let Some(members) = Members::start(3) else { return };
    let limit = Duration::from_secs(40);
    let mut patient = TestLog::of(members.open(&[1], Some(limit)));
    patient.append("before").unwrap();
    members.pause(1);
    let clock = SystemClock::new();
    let answer = patient.append("patiently");
    assert!(matches!(answer, Err(LogError::UnknownOutcome)), "it is in a socket: {answer:?}");
    assert!(clock.now() < limit / 2, "{:?}", clock.now());
    patient.append_surely("after");
}

#[test]
fn members_of_another_cluster_are_not_used() {
    let options = MemberOptions { count: 2, clusters: Clusters::OneEach, scheme: "http", flags: &[] };
    let Some(mut members) = Members::start_with(&options) else { return };
    let mut log = members.log();
    log.append("m").unwrap();
    members.kill(0);
    // The first append breaks off, or finds nobody else.
    let told = "name members of one cluster";
    wait_until(
        "the other member is asked",
        || matches!(log.append("n"), Err(LogError::Unavailable { reason }) if reason.contains(told)),
    );
    let mut other = open(members.options_of(&[1]));
    other.read_from(LogPosition(1));
    let only = other.append("only").unwrap();
    assert_eq!(other.messages(1), [(only, "only".to_owned())], "nothing was sent there");
}
