//! `WaitLimit`: what ends the waiting for a server, on the thread that waits.

use crate::interrupt::Interrupt;
use evergraph_storage::planted::{Bug, planted};
use std::fmt;
use std::io;
use std::time::{Duration, Instant};

/// What ends the waiting for a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitLimit {
    interrupt: Interrupt,
    deadline: Option<Instant>,
}

/// Why a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WaitEnd {
    /// The caller asked for it.
    Cancelled,
    /// The time is over.
    Late,
}

impl WaitLimit {
    /// Until `interrupt` is set.
    pub(crate) fn new(interrupt: &Interrupt) -> Self {
        Self { interrupt: interrupt.clone(), deadline: None }
    }

    /// The same, for at most `time` from now.
    pub(crate) fn within(self, time: Duration) -> Self {
        let time = if planted(Bug::AnswersWithoutEnd) { time + Duration::from_secs(40) } else { time };
        self.until(Instant::now().checked_add(time))
    }

    /// The same, until `deadline` if that is earlier.
    pub(crate) fn until(self, deadline: Option<Instant>) -> Self {
        let deadline = match (self.deadline, deadline) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Self { deadline, ..self }
    }

    /// How much time is left; `None` for no limit.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Whether the time is over.
    pub(crate) fn is_late(&self) -> bool {
        self.time_left().is_some_and(|left| left.is_zero())
    }

    /// # Errors
    /// A [`WaitEnd`] if the waiting ended.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.interrupt.is_set() {
            return Err(io::Error::other(WaitEnd::Cancelled));
        }
        if self.is_late() {
            return Err(io::Error::other(WaitEnd::Late));
        }
        Ok(())
    }
}

impl WaitEnd {
    /// The end that `error` tells of.
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl fmt::Display for WaitEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cancelled => "cancelled on request",
            Self::Late => "the server did not answer in time",
        })
    }
}

impl std::error::Error for WaitEnd {}
