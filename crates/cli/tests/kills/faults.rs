//! A system that fails once, below a program that doesn't expect it: strace answers in its place.
//!
//! ```text
//! fdatasync  EIO       the log takes nothing more: outcomes are unknown, acknowledged commits stay
//! pwrite64   EIO       the same in the log; a checkpoint fails and the one before stays
//! pwrite64   ENOSPC    refused with `limit`
//! rename     EIO       no new manifest
//! ```
//!
//! Skipped, and said so, where there is no strace or it may not trace.

use crate::bank::Bank;
use crate::moments::{Moments, cycles, engines};
use crate::skips::skipped;
use evergraph::EngineKind;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The system call, its error, and up to which call it may come.
const FAULTS: [(&str, &str, u64); 4] =
    [("fdatasync", "EIO", 40), ("pwrite64", "EIO", 40), ("pwrite64", "ENOSPC", 40), ("rename", "EIO", 3)];

/// Whether strace is here, and may trace.
pub fn can_trace() -> bool {
    let mut strace = Command::new("strace");
    strace.args(["-qq", "-f", "-o", "/dev/null", "-e", "trace=fdatasync", "true"]);
    let ended = strace.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    ended.is_ok_and(|status| status.success())
}

#[test]
fn a_call_that_fails_once_takes_nothing_that_was_acknowledged() {
    if !can_trace() {
        skipped("strace is not here, or may not trace");
        return;
    }
    engines().into_iter().for_each(meet_faults);
}

fn meet_faults(engine: EngineKind) {
    let (mut bank, mut moments) = (Bank::new(engine), Moments::new());
    let mut met = [0; FAULTS.len()];
    let cycles = cycles(48).max(FAULTS.len() as u64);
    for cycle in 0..20 * cycles {
        // More of them on a machine that is slow to write.
        if cycle >= cycles && met[..3].iter().all(|met| *met > 0) {
            break;
        }
        let fault = cycle as usize % FAULTS.len();
        let (call, error, calls) = FAULTS[fault];
        let when = 1 + moments.below(calls);
        let writing = bank.writing(100_000);
        let mut traced = Command::new("strace");
        traced.args(["-qq", "-f", "-o", "/dev/null", "-e", &format!("trace={call}")]);
        traced.args(["-e", &format!("inject={call}:error={error}:when={when}")]);
        traced.arg(writing.get_program()).args(writing.get_args()).stdin(Stdio::null());
        let ended = bank.write_and_kill(&mut traced, Duration::from_millis(1500));
        if let Some(code) = ended.status.code() {
            // It said why: which file, and what the system answered.
            let said = &ended.error;
            let kind = if error == "ENOSPC" { [6, 7] } else { [7, 7] };
            assert!(kind.contains(&code), "{call} {error} {when}: exit code {code}, {said}");
            assert!(said.contains("bank.eg/") && said.contains("os error"), "{call} {error} {when}: {said}");
            met[fault] += 1;
        }
        bank.verify();
        let (booked, status) = (bank.booked(), ended.status);
        println!(
            "{engine}, {call} {error}, call {when}: {} acknowledged, {booked} in all, {status}",
            ended.acknowledged
        );
    }
    // A manifest that could not be renamed ends nobody.
    assert!(met[..3].iter().all(|met| *met > 0), "not every fault ended a writer: {met:?}");
}
