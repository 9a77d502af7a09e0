//! Tally: how often something happened.

use crate::simulation::tally::tally;
use crate::simulation::trace::Trace;

tally! {
    /// Counts of a script, or of several.
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
}
