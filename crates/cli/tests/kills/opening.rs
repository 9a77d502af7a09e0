//! Killed while it opens: recovery of a log of some megabytes is cut off at random moments, several times in
//! a row, before it may end.

use crate::bank::Bank;
use crate::moments::{LONG, Moments, cycles, engines, start_and_kill, timed};
use evergraph::EngineKind;
use std::time::Duration;

/// No checkpoint comes in between.
const NEVER: u64 = 1 << 40;

#[test]
fn recovery_that_is_killed_again_and_again_loses_nothing() {
    engines().into_iter().for_each(recover);
}

fn recover(engine: EngineKind) {
    let (mut bank, mut moments) = (Bank::new(engine), Moments::new());
    let (mut kills, cycles) = (0, cycles(30));
    let (mut transfers, mut before) = (0, 0);
    while kills < cycles {
        let ended = bank.write_and_kill(&mut bank.writing(NEVER), Duration::from_millis(600));
        assert!(ended.status.code().is_none(), "it was killed, and did not end by itself: {}", ended.error);
        // `stats` opens and closes: what it leaves is opened again.
        let (_, whole) = timed(|| crate::bank::run(&mut bank.command(&["stats"])));
        for _ in 0..3 {
            kills += u64::from(start_and_kill(&mut bank.command(&["stats"]), moments.within(whole)));
        }
        bank.verify();
        transfers = before + bank.booked();
        if whole > LONG {
            (bank, before) = (Bank::new(engine), transfers);
        }
    }
    println!("{engine}: {kills} kills, {transfers} transfers");
}
