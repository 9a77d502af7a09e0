//! `evergraph run DB scc`: strongly connected components, the largest first.

use crate::command::run::answer::{Answer, Found, Values};
use crate::command::run::choices::CommonArguments;
use crate::command::run::setting::{Run, Setting};
use crate::terminal::number::{count, counted};
use clap::Args;
use evergraph_algorithms::scc::scc;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;
use serde_json::json;

/// What the search for strong components is told.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  evergraph run bank.eg scc --output components.csv

The value of a vertex is the number of its component: 0 is the largest, then 1 and so on; of equally
large ones that with the lowest vertex is first. The table shows each with its lowest vertex.")]
pub struct SccArguments {
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl Run for SccArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn run(&self, setting: &Setting<'_>) -> Result<Answer> {
        let topology = setting.freeze(Direction::Both, None)?;
        let components = scc(&topology, &setting.control)?;
        let (number, largest) = (components.components, components.largest);
        let group = move |vertex| components.labels.as_slice()[vertex as usize];
        let found = counted(number, "component", "components");
        Ok(Answer {
            summary: format!("{found}, the largest of {}", count(largest)),
            figures: json!({ "components": number, "largest": largest }),
            found: Found::Values(Values::groups(topology.vertices(), "component", setting.top, group)),
        })
    }
}
