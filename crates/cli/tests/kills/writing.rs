//! Killed while it writes: each cycle opens what the last one left, writes durable transactions from several
//! threads, with a checkpoint every few hundred kilobytes of log, and is killed at a random moment.

use crate::bank::Bank;
use crate::moments::{Moments, cycles, engines};
use evergraph::EngineKind;
use std::collections::BTreeSet;
use std::time::Duration;

#[test]
fn every_acknowledged_commit_survives_any_number_of_kills() {
    engines().into_iter().for_each(write);
}

fn write(engine: EngineKind) {
    let (mut bank, mut moments) = (Bank::new(engine), Moments::new());
    let mut checkpoints = BTreeSet::new();
    let cycles = cycles(30);
    // Some writes and checkpoints in each, or in others that follow on a machine that is slow to write.
    let is_enough = |bank: &Bank, checkpoints: &BTreeSet<String>| {
        bank.booked() > 100 * cycles && (cycles < 5 || checkpoints.len() > 2)
    };
    for cycle in 0..20 * cycles {
        if cycle >= cycles && is_enough(&bank, &checkpoints) {
            break;
        }
        let time = Duration::from_millis(50) + moments.within(Duration::from_millis(700));
        let ended = bank.write_and_kill(&mut bank.writing(30_000), time);
        assert!(ended.status.code().is_none(), "it was killed, and did not end by itself: {}", ended.error);
        bank.verify();
        checkpoints.extend(bank.checkpoints());
        println!("{engine}, cycle {cycle}: {} transfers after {time:?}", bank.booked());
    }
    assert!(bank.booked() > 100 * cycles, "hardly anything was written: {}", bank.booked());
    assert!(cycles < 5 || checkpoints.len() > 2, "hardly a checkpoint was made: {checkpoints:?}");
}
