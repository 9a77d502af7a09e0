//! `evergraph run DB wcc`: weakly connected components, the largest first.

use crate::command::run::answer::{Answer, Found, Values};
use crate::command::run::choices::CommonArguments;
use crate::command::run::setting::{Run, Setting};
use crate::terminal::number::counted;
use clap::Args;
use evergraph_algorithms::wcc::{WccParameters, wcc};
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;
use serde_json::json;

/// What the search for components is told.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  evergraph run bank.eg wcc --type TRANSFER --json

The value of a vertex is the number of its component: 0 is the largest, then 1 and so on; of equally
large ones that with the lowest vertex is first. The table shows each with its lowest vertex.")]
pub struct WccArguments {
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl Run for WccArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn run(&self, setting: &Setting<'_>) -> Result<Answer> {
        let topology = setting.freeze(Direction::Both, None)?;
        let components = wcc(&topology, &WccParameters::default(), &setting.control)?;
        let count = components.components;
        let group = move |vertex| components.labels.as_slice()[vertex as usize];
        Ok(Answer {
            summary: counted(count, "component", "components"),
            figures: json!({ "components": count }),
            found: Found::Values(Values::groups(topology.vertices(), "component", setting.top, group)),
        })
    }
}
