//! `evergraph run DB closeness`: scores, the highest first.

use crate::command::run::answer::{Answer, Found, Values};
use crate::command::run::choices::{CommonArguments, DirectionArgument, SampleArguments};
use crate::command::run::setting::{Run, Setting};
use crate::terminal::number::counted;
use clap::Args;
use evergraph_algorithms::closeness::{ClosenessParameters, closeness};
use evergraph_graph::error::Result;
use evergraph_graph::topology::Topology;
use serde_json::json;

/// What closeness is told.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  evergraph run bank.eg closeness --sample 1000 --direction both

The exact answer searches from every vertex: for more than some 100,000 vertices take a sample.")]
pub struct ClosenessArguments {
    /// Along which edges ways go: `in` from the others to the vertex, `out` from it to the others.
    #[arg(long, value_enum, default_value = "in")]
    pub direction: DirectionArgument,
    /// To whom distances are measured.
    #[command(flatten)]
    pub sample: SampleArguments,
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl Run for ClosenessArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn run(&self, setting: &Setting<'_>) -> Result<Answer> {
        let direction = self.direction.direction();
        let parameters = ClosenessParameters { pivots: self.sample.sources(), direction };
        // Searches go from the others, against the way that is measured.
        let topology = setting.freeze(direction.reversed(), None)?;
        let found = closeness(&topology, &parameters, &setting.control)?;
        let (pivots, scores) = (found.pivots, found.scores);
        Ok(Answer {
            summary: format!("distances to {}", counted(pivots, "vertex", "vertices")),
            figures: json!({ "direction": self.direction.name(), "pivots": pivots }),
            found: Found::Values(Values::scores(topology.vertices(), setting.top, scores)),
        })
    }
}
