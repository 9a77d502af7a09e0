//! `evergraph run DB pagerank`: scores, the highest first.

use crate::command::run::answer::{Answer, Found, Values};
use crate::command::run::choices::{CommonArguments, DirectionArgument};
use crate::command::run::rounds::{last_round, mean_change};
use crate::command::run::setting::{Run, Setting};
use clap::Args;
use evergraph_algorithms::pagerank::{PageRankParameters, pagerank};
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;
use serde_json::json;

/// What PageRank is told.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  evergraph run bank.eg pagerank --where 'country=DE' --output ranks.parquet"
)]
pub struct PageRankArguments {
    /// Along which edges rank flows.
    #[arg(long, value_enum, default_value_t)]
    pub direction: DirectionArgument,
    /// Rounds; with --tolerance, at most.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub iterations: u32,
    /// The probability of following an edge rather than jumping anywhere.
    #[arg(long, value_name = "D", default_value_t = 0.85)]
    pub damping: f64,
    /// Stop when scores change by less than this a vertex, on average, in a round.
    #[arg(long, value_name = "T")]
    pub tolerance: Option<f64>,
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl Run for PageRankArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn run(&self, setting: &Setting<'_>) -> Result<Answer> {
        let parameters = PageRankParameters {
            damping: self.damping,
            iterations: self.iterations,
            tolerance: self.tolerance,
            direction: self.direction.direction(),
            start: None,
        };
        let topology = setting.freeze(Direction::Both, None)?;
        let ranks = pagerank(&topology, &parameters, &setting.control)?;
        let (change, scores) = (ranks.change, ranks.scores);
        let change_mean = mean_change(change, topology.vertices().len());
        Ok(Answer {
            summary: last_round(ranks.iterations, change_mean, self.tolerance),
            figures: json!({
                "direction": self.direction.name(),
                "damping": self.damping,
                "iterations": ranks.iterations,
                "change": change,
                "change_mean": change_mean,
                "converged": ranks.converged,
            }),
            found: Found::Values(Values::scores(topology.vertices(), setting.top, scores)),
        })
    }
}
