//! `evergraph run DB lcc`: local clustering coefficients, the highest first.

use crate::command::run::answer::{Amount, Answer, Found, Kind, Values};
use crate::command::run::choices::CommonArguments;
use crate::command::run::setting::{Run, Setting};
use clap::Args;
use evergraph_algorithms::lcc::{LccParameters, lcc};
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;
use serde_json::json;

/// What clustering coefficients are told.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  evergraph run bank.eg lcc --undirected --output lcc.csv")]
pub struct LccArguments {
    /// An edge one way connects two neighbours fully.
    #[arg(long)]
    pub undirected: bool,
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl Run for LccArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn run(&self, setting: &Setting<'_>) -> Result<Answer> {
        let topology = setting.freeze(Direction::Both, None)?;
        let found = lcc(&topology, &LccParameters { directed: !self.undirected }, &setting.control)?;
        let (mean, values) = (found.mean, found.coefficients);
        let value = move |vertex| Amount::Real(values[vertex as usize]);
        let (vertices, top) = (topology.vertices(), setting.top);
        Ok(Answer {
            summary: format!("mean coefficient {mean:.6}"),
            figures: json!({ "directed": !self.undirected, "mean": mean }),
            found: Found::Values(Values::highest(vertices, Kind::Real, "coefficient", top, value)),
        })
    }
}
