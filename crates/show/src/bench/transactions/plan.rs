//! Plan: how much is measured of transactions, and what every measurement is given.

use clap::ValueEnum;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_terminal::console::Console;
use evergraph_terminal::meter::Meter;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A part of the benchmark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// LinkBench's mix, at snapshot isolation and serialisable.
    Social,
    /// Half writes on a skewed graph, at both levels.
    HalfWrites,
    /// Look-ups of single edges on a hub, with and without appends.
    HubLookUps,
    /// Appends to one hub, compared with appends to many vertices.
    HubAppends,
    /// Updates with and without a snapshot that stays open.
    HeldSnapshot,
    /// Time to open by the length of the log, and the share of checksums.
    Recovery,
}

/// How much is measured.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Plan {
    /// Nodes of the social graph at low contention; about as many vertices elsewhere.
    pub nodes: u32,
    /// Nodes at high contention.
    pub hot_nodes: u32,
    /// Runs of everything.
    pub rounds: usize,
    /// How long each run of clients takes.
    pub run_time: Duration,
    /// Edges of the hub that is looked at.
    pub hub_edges: u32,
    /// How long updates go on beside a held snapshot, and without one.
    pub held_time: Duration,
    /// Edges in the log to recover from, ascending.
    pub log_edges: Vec<u64>,
    /// LinkBench's measured distributions, if they are at hand.
    pub distributions: Option<PathBuf>,
    /// Random seed.
    pub seed: u64,
    /// The parts that are measured.
    pub parts: Vec<Part>,
}

impl Plan {
    /// The plan that takes about four minutes.
    #[must_use]
    pub fn full() -> Self {
        Self {
            nodes: 100_000,
            hot_nodes: 256,
            rounds: 15,
            run_time: Duration::from_millis(200),
            hub_edges: 1_000_000,
            held_time: Duration::from_secs(20),
            log_edges: [1, 2, 4, 8, 16].map(|quarters| quarters * 250_000).to_vec(),
            distributions: None,
            seed: 1,
            parts: Part::value_variants().to_vec(),
        }
    }

    /// The plan that takes some seconds, with figures that vary much.
    #[must_use]
    pub fn quick() -> Self {
        Self {
            nodes: 5_000,
            rounds: 2,
            run_time: Duration::from_millis(20),
            hub_edges: 50_000,
            held_time: Duration::from_millis(400),
            log_edges: vec![5_000, 10_000],
            ..Self::full()
        }
    }
}

/// What every measurement is given.
pub struct Work<'a> {
    /// How much to measure.
    pub plan: &'a Plan,
    /// Where databases go.
    pub folder: &'a Path,
    /// Where progress is shown.
    pub console: &'a Console,
    /// What Ctrl-C sets.
    pub cancel: &'a CancelFlag,
}

impl Work<'_> {
    /// Tells that a part of `phase`, 0 to 1, is done, and goes on unless somebody asked to stop.
    ///
    /// # Errors
    /// `cancelled`.
    pub fn tell(&self, meter: &Meter, phase: &str, done: f64) -> Result<()> {
        meter.tell(phase, Some(done), String::new);
        self.cancel.check()
    }

    /// As [`Work::tell`], after `round` rounds.
    ///
    /// # Errors
    /// `cancelled`.
    pub fn round(&self, meter: &Meter, phase: &str, round: usize) -> Result<()> {
        self.tell(meter, phase, round as f64 / self.plan.rounds as f64)
    }
}
