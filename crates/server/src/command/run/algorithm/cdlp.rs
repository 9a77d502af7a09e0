//! `evergraph run DB cdlp`: communities by label propagation, the largest first.

use crate::command::run::answer::{Answer, Found, Values};
use crate::command::run::choices::CommonArguments;
use crate::command::run::setting::{Run, Setting};
use crate::terminal::number::counted;
use clap::Args;
use evergraph_algorithms::cdlp::{CdlpParameters, cdlp};
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;
use serde_json::json;

/// What label propagation is told.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  evergraph run bank.eg cdlp --iterations 20 --output communities.parquet

The value of a vertex is the number of its community: 0 is the largest, then 1 and so on; of equally
large ones that with the lowest vertex is first. The table shows each with its lowest vertex.")]
pub struct CdlpArguments {
    /// Rounds; fewer only if one changes nothing.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub iterations: u32,
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl Run for CdlpArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn run(&self, setting: &Setting<'_>) -> Result<Answer> {
        let topology = setting.freeze(Direction::Both, None)?;
        let parameters = CdlpParameters { iterations: self.iterations, labels: None };
        let found = cdlp(&topology, &parameters, &setting.control)?;
        let (communities, iterations) = (found.communities(), found.iterations());
        let rounds = counted(u64::from(iterations), "round", "rounds");
        // Labels begin as numbers of vertices, so each is one.
        let group = move |vertex| found.labels()[vertex as usize] as u32;
        Ok(Answer {
            summary: format!("{} after {rounds}", counted(communities, "community", "communities")),
            figures: json!({ "communities": communities, "iterations": iterations }),
            found: Found::Values(Values::groups(topology.vertices(), "community", setting.top, group)),
        })
    }
}
