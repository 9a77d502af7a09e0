//! Plan of the disk engine's ablations: what is chosen otherwise or left out, and for how many edges.

use clap::{Args, ValueEnum};
use evergraph_disk_engine::format::filter::FilterChoice;
use evergraph_disk_engine::tuning::Tuning;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What is chosen otherwise, or left out, to see what it is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize, Deserialize)]
pub enum Ablation {
    /// Files without filters.
    NoFilters,
    /// Levels 4 times as large as the one above them, in place of 10.
    T4,
    /// Levels 16 times as large.
    T16,
    /// L0 compacted from 2 sorted runs on, in place of 4.
    Runs2,
    /// From 8 on.
    Runs8,
    /// Stamps of L0: readers hold the memory graph that was open when they began, as they would have to without stamps.
    Stamps,
    /// Transactions: edges go to the engine without log and look-up, from one thread and from two, beside transactions and
    /// beside RocksDB without its log.
    Transactions,
    /// The memory graph: skip lists and arrays in its place.
    MemoryGraph,
}

impl Ablation {
    /// Its name in results, and what the engine is opened with, if it is a choice of that kind.
    #[must_use]
    pub fn tuning(self) -> Option<(&'static str, Tuning)> {
        let default = Tuning::default();
        Some(match self {
            Self::NoFilters => ("no filters", Tuning { filters: FilterChoice::Omitted, ..default }),
            Self::T4 => ("T = 4", Tuning { size_ratio: 4, ..default }),
            Self::T16 => ("T = 16", Tuning { size_ratio: 16, ..default }),
            Self::Runs2 => ("2 runs", Tuning { flushed_runs: 2, ..default }),
            Self::Runs8 => ("8 runs", Tuning { flushed_runs: 8, ..default }),
            Self::Stamps | Self::Transactions | Self::MemoryGraph => return None,
        })
    }
}

/// Which ablations are measured, and with how much.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AblationPlan {
    /// Those that are.
    pub chosen: Vec<Ablation>,
    /// Edges that each run of inserts has, so that levels are compacted as often for all.
    pub edges: usize,
    /// A run of inserts ends after this all the same.
    pub time: Duration,
}

impl AblationPlan {
    /// All, with 4 million edges.
    #[must_use]
    pub fn full() -> Self {
        let chosen = Ablation::value_variants().to_vec();
        Self { chosen, edges: 4_000_000, time: Duration::from_secs(60) }
    }

    /// All, with few.
    #[must_use]
    pub fn smoke() -> Self {
        Self { edges: 10_000, time: Duration::from_secs(10), ..Self::full() }
    }

    /// Whether `ablation` is measured.
    #[must_use]
    pub fn has(&self, ablation: Ablation) -> bool {
        self.chosen.contains(&ablation)
    }
}

/// What of the plan may be chosen.
#[derive(Args, Debug)]
#[command(next_help_heading = "Ablations of the disk engine: part disk-ablations")]
pub struct AblationArguments {
    /// What is chosen otherwise or left out, beside the engine as it is: all.
    #[arg(long, value_delimiter = ',', value_name = "ABLATION")]
    disk_ablations: Option<Vec<Ablation>>,
    /// Edges of each run of inserts: 4000000.
    #[arg(long, value_name = "EDGES")]
    disk_ablation_edges: Option<usize>,
    /// A run of inserts ends after this all the same: 60.
    #[arg(long, value_name = "SECONDS")]
    disk_ablation_time: Option<u64>,
}

impl AblationArguments {
    /// Changes what was chosen.
    pub fn apply_to(&self, plan: &mut AblationPlan) {
        if let Some(chosen) = &self.disk_ablations {
            plan.chosen.clone_from(chosen);
        }
        plan.edges = self.disk_ablation_edges.unwrap_or(plan.edges).max(1);
        plan.time = self.disk_ablation_time.map_or(plan.time, Duration::from_secs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tuning_differs_from_the_engine_s_and_from_the_others() {
        let mut tunings: Vec<_> = AblationPlan::full().chosen.iter().filter_map(|one| one.tuning()).collect();
        tunings.push(("default", Tuning::default()));
        for (at, (name, tuning)) in tunings.iter().enumerate() {
            let others = &tunings[at + 1..];
            assert!(others.iter().all(|other| other.0 != *name && other.1 != *tuning), "{name}");
        }
        assert_eq!(tunings.len(), 6);
    }
}
