//! `evergraph run DB betweenness`: scores, the highest first.

use crate::command::run::answer::{Answer, Found, Values};
use crate::command::run::choices::{CommonArguments, DirectionArgument, SampleArguments};
use crate::command::run::setting::{Run, Setting};
use crate::terminal::number::counted;
use clap::Args;
use evergraph_algorithms::betweenness::{BetweennessParameters, betweenness};
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;
use serde_json::json;

/// What betweenness is told.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  evergraph run bank.eg betweenness --sample 100 --direction both

The exact answer searches from every vertex: for more than some 100,000 vertices take a sample.")]
pub struct BetweennessArguments {
    /// Along which edges paths go.
    #[arg(long, value_enum, default_value_t)]
    pub direction: DirectionArgument,
    /// From which vertices paths start.
    #[command(flatten)]
    pub sample: SampleArguments,
    /// Count paths, instead of dividing by the number of pairs that a vertex could be between.
    #[arg(long)]
    pub raw: bool,
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl Run for BetweennessArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn run(&self, setting: &Setting<'_>) -> Result<Answer> {
        let parameters = BetweennessParameters {
            sources: self.sample.sources(),
            direction: self.direction.direction(),
            normalized: !self.raw,
        };
        let topology = setting.freeze(Direction::Both, None)?;
        let found = betweenness(&topology, &parameters, &setting.control)?;
        let (sources, scores) = (found.sources, found.scores);
        Ok(Answer {
            summary: format!("shortest paths from {}", counted(sources, "source", "sources")),
            figures: json!({
                "direction": self.direction.name(),
                "sources": sources,
                "normalized": !self.raw,
            }),
            found: Found::Values(Values::scores(topology.vertices(), setting.top, scores)),
        })
    }
}
