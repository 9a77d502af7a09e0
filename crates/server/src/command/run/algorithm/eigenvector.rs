//! `evergraph run DB eigenvector`: scores, the highest first.

use crate::command::run::answer::{Answer, Found, Values};
use crate::command::run::choices::{CommonArguments, DirectionArgument, WeightArguments};
use crate::command::run::rounds::{last_round, mean_change};
use crate::command::run::setting::{Run, Setting};
use clap::Args;
use evergraph_algorithms::eigenvector::{EigenvectorParameters, eigenvector};
use evergraph_graph::error::Result;
use evergraph_graph::topology::Topology;
use serde_json::json;

/// What eigenvector centrality is told.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  evergraph run bank.eg eigenvector --tolerance 1e-9 --iterations 500")]
pub struct EigenvectorArguments {
    /// Along which edges importance flows.
    #[arg(long, value_enum, default_value_t)]
    pub direction: DirectionArgument,
    /// How much flows.
    #[command(flatten)]
    pub weight: WeightArguments,
    /// Rounds at most.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub iterations: u32,
    /// Stop when scores change by less than this a vertex, on average, in a round.
    #[arg(long, value_name = "T", default_value_t = 1e-6)]
    pub tolerance: f64,
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl Run for EigenvectorArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn run(&self, setting: &Setting<'_>) -> Result<Answer> {
        let direction = self.direction.direction();
        let (iterations, tolerance) = (self.iterations, self.tolerance);
        let parameters = EigenvectorParameters { iterations, tolerance, direction };
        // Importance is pulled: along the lists of those that it comes from.
        let topology = setting.freeze(direction.reversed(), setting.weight(&self.weight)?)?;
        let found = eigenvector(&topology, &parameters, &setting.control)?;
        let (change, scores) = (found.change, found.scores);
        let change_mean = mean_change(change, topology.vertices().len());
        Ok(Answer {
            summary: last_round(found.iterations, change_mean, Some(tolerance)),
            figures: json!({
                "direction": self.direction.name(),
                "weight": self.weight.weight,
                "iterations": found.iterations,
                "change": change,
                "change_mean": change_mean,
                "converged": found.converged,
            }),
            found: Found::Values(Values::scores(topology.vertices(), setting.top, scores)),
        })
    }
}
