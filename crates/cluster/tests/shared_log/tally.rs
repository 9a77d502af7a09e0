//! Tally: how often something happened.

use crate::simulation::trace::Trace;
use std::ops::AddAssign;

/// Counts of a script, or of several.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tally {
    /// Records that the log said it had.
    pub acknowledged: u64,
    /// Appends whose outcome nobody knew.
    pub unknown: u64,
    /// Appends that were refused.
    pub refused: u64,
    /// Records that came again.
    pub doubled: u64,
    /// Records that a packer did not take.
    pub full: u64,
    /// Nodes that were killed, and started from their checkpoints.
    pub kills: u64,
    /// Trims of something.
    pub trims: u64,
    /// Messages of other logs, and positions that the log took back.
    pub alarms: u64,
    /// Times that the log lost something.
    pub losses: u64,
    /// Nodes that stopped because of that.
    pub stopped: u64,
    /// Nodes that did not.
    pub ran_on: u64,
    /// Steps, appends, answers, and what nodes applied.
    pub trace: Trace,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.acknowledged += other.acknowledged;
        self.unknown += other.unknown;
        self.refused += other.refused;
        self.doubled += other.doubled;
        self.full += other.full;
        self.kills += other.kills;
        self.trims += other.trims;
        self.alarms += other.alarms;
        self.losses += other.losses;
        self.stopped += other.stopped;
        self.ran_on += other.ran_on;
        self.trace += other.trace;
    }
}
