//! Tally: how often what happened in histories.

use crate::simulation::tally::tally;
use crate::simulation::trace::Trace;

tally! {
    /// What happened in a history.
    pub struct Tally {
        pub begun: u64,
        pub committed: u64,
        pub conflicts: u64,
        pub too_old: u64,
        pub incomplete: u64,
        pub cancelled: u64,
        pub doubled: u64,
        pub crashes: u64,
        pub copies: u64,
        pub lost_suffixes: u64,
        pub stops: u64,
        pub refused: u64,
        /// Claims of another log that readers found wrong, and nodes that could not know that theirs was.
        pub alarms: u64,
        pub undecided: u64,
        /// Events, messages, decisions, reads, and what clients were told.
        pub trace: Trace,
    }
}
