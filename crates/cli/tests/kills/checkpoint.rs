//! Killed while it makes a checkpoint of what was written: the one before, or the new one, is whole.

use crate::bank::{Bank, run};
use crate::moments::{Moments, cycles, engines, start_and_kill, timed};
use evergraph::EngineKind;
use std::time::Duration;

/// Only those that the test asks for.
const NEVER: u64 = 1 << 40;

#[test]
fn a_checkpoint_that_is_killed_leaves_all_that_was_acknowledged() {
    engines().into_iter().for_each(make_checkpoints);
}

fn make_checkpoints(engine: EngineKind) {
    let (mut bank, mut moments) = (Bank::new(engine), Moments::new());
    let (mut kills, cycles) = (0, cycles(20));
    let mut takes = Duration::from_millis(50);
    while kills < cycles {
        let ended = bank.write_and_kill(&mut bank.writing(NEVER), Duration::from_millis(200));
        assert!(ended.status.code().is_none(), "it was killed, and did not end by itself: {}", ended.error);
        for _ in 0..2 {
            kills += u64::from(start_and_kill(&mut bank.command(&["checkpoint"]), moments.within(takes)));
        }
        bank.verify();
        takes = timed(|| run(&mut bank.command(&["checkpoint"]))).1;
    }
    bank.verify();
    println!("{engine}: {kills} kills, {} transfers", bank.booked());
}
