//! Tally: how often what happened in histories.

use crate::simulation::trace::Trace;
use std::fmt;
use std::ops::AddAssign;

/// What happened in a history.
#[derive(Clone, Copy, Default, Debug)]
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

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.begun += other.begun;
        self.committed += other.committed;
        self.conflicts += other.conflicts;
        self.too_old += other.too_old;
        self.incomplete += other.incomplete;
        self.cancelled += other.cancelled;
        self.doubled += other.doubled;
        self.crashes += other.crashes;
        self.copies += other.copies;
        self.lost_suffixes += other.lost_suffixes;
        self.stops += other.stops;
        self.refused += other.refused;
        self.alarms += other.alarms;
        self.undecided += other.undecided;
        self.trace += other.trace;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { begun, committed, conflicts, too_old, incomplete, doubled, crashes, copies, .. } = self;
        write!(
            f,
            "{begun} transactions begun, {committed} committed, {conflicts} conflicts, {too_old} too old, "
        )?;
        write!(
            f,
            "{incomplete} incomplete, {doubled} doubled records, {crashes} crashes, {copies} copies of "
        )?;
        let Self { lost_suffixes, stops, refused, alarms, undecided, trace, .. } = self;
        write!(
            f,
            "partitions, {lost_suffixes} lost suffixes, {stops} nodes stopped, {refused} other logs refused, "
        )?;
        write!(f, "{alarms} alarms, {undecided} nodes undecided, trace {trace:?}")
    }
}
