//! Settling: the log is away for longer than a commit waits, so that nobody knows what became of some. Whoever asks later learns it.

use crate::cycles::{Cycles, explain};
use crate::faults::{Fault, FaultKind};
use crate::site::{Site, member};
use std::time::Duration;

/// Commits wait for 10 seconds, and for another 10 until they are called off.
const AWAY: Duration = Duration::from_millis(21_500);

#[test]
fn a_commit_of_unknown_outcome_is_settled_by_its_name_and_the_answer_is_the_truth() {
    let Some(site) = Site::start(3, 2) else { return };
    let mut cycles = Cycles::begin(site, 1);
    // The majority: the third member answers, and decides nothing.
    let fault = Fault { kind: FaultKind::Pause(vec![member(0), member(1)]), time: AWAY };
    let wrong = cycles.run(&fault);
    assert!(wrong.is_empty(), "{}", explain(&mut cycles.site, &wrong));
    let counts = cycles.judge.counts;
    println!("{counts:?}");
    assert!(counts.settled > 0, "nothing was unknown: {counts:?}");
}
