//! Plan: how much is measured, and what every measurement is given.

use evergraph::generate::rmat::RmatOptions;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_terminal::console::Console;
use evergraph_terminal::meter::Meter;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// How much is measured.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Plan {
    /// The graph has 2^scale vertices and 16 edges a vertex (R-MAT).
    pub scale: u32,
    /// Runs of everything.
    pub rounds: usize,
    /// How long each run of transactions takes.
    pub commits_time: Duration,
    /// How much log a restart replays.
    pub log_bytes: u64,
    /// What everything random follows from.
    pub seed: u64,
}

impl Plan {
    /// The plan that takes about three minutes at scale 17.
    #[must_use]
    pub fn full(scale: u32) -> Self {
        Self { scale, rounds: 5, commits_time: Duration::from_millis(500), log_bytes: 32 << 20, seed: 1 }
    }

    /// The plan that takes some ten seconds, with figures that vary more.
    #[must_use]
    pub fn quick(scale: u32) -> Self {
        Self { rounds: 3, commits_time: Duration::from_millis(100), log_bytes: 8 << 20, ..Self::full(scale) }
    }

    /// The graph that is measured.
    #[must_use]
    pub fn graph(&self) -> RmatOptions {
        RmatOptions::new(self.scale, self.seed)
    }

    /// Its vertices.
    #[must_use]
    pub fn vertices(&self) -> u32 {
        1 << self.scale
    }

    /// As a sentence.
    #[must_use]
    pub fn graph_name(&self) -> String {
        format!("R-MAT, 2^{} vertices with 16 edges each, directed, both directions kept", self.scale)
    }
}

/// What every measurement is given.
pub struct Work<'a> {
    /// How much to measure.
    pub plan: &'a Plan,
    /// Where databases and files go.
    pub folder: &'a Path,
    /// Where progress is shown.
    pub console: &'a Console,
    /// What Ctrl-C sets.
    pub cancel: &'a CancelFlag,
}

impl Work<'_> {
    /// Tells that `phase` has done `round` rounds, and goes on unless somebody asked to stop.
    ///
    /// # Errors
    /// `cancelled`.
    pub fn round(&self, meter: &Meter, phase: &str, round: usize) -> Result<()> {
        meter.tell(phase, Some(round as f64 / self.plan.rounds as f64), String::new);
        self.cancel.check()
    }
}
