//! `evergraph run DB louvain`: communities by modularity, the largest first.

use crate::command::run::answer::{Answer, Found, Values};
use crate::command::run::choices::{CommonArguments, WeightArguments};
use crate::command::run::setting::{Run, Setting};
use crate::terminal::number::counted;
use clap::Args;
use evergraph_algorithms::louvain::{LouvainParameters, louvain};
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;
use serde_json::json;

/// What Louvain is told.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  evergraph run bank.eg louvain --weight amount_cents --output communities.parquet

The value of a vertex is the number of its community: 0 is the largest, then 1 and so on; of equally
large ones that with the lowest vertex is first. The table shows each with its lowest vertex.")]
pub struct LouvainArguments {
    /// Above 1 for more and smaller communities, below for fewer and larger ones.
    #[arg(long, value_name = "R", default_value_t = 1.0)]
    pub resolution: f64,
    /// Stop at the first level that raises modularity by no more than this.
    #[arg(long, value_name = "T", default_value_t = 1e-7)]
    pub tolerance: f64,
    /// How much an edge holds together.
    #[command(flatten)]
    pub weight: WeightArguments,
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl Run for LouvainArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn run(&self, setting: &Setting<'_>) -> Result<Answer> {
        let parameters = LouvainParameters { resolution: self.resolution, tolerance: self.tolerance };
        let topology = setting.freeze(Direction::Both, setting.weight(&self.weight)?)?;
        let found = louvain(&topology, &parameters, &setting.control)?;
        let (communities, modularity, levels) = (found.communities, found.modularity, found.levels);
        let count = counted(communities, "community", "communities");
        let group = move |vertex| found.labels.as_slice()[vertex as usize];
        Ok(Answer {
            summary: format!("{count} of modularity {modularity:.6}"),
            figures: json!({
                "weight": self.weight.weight,
                "communities": communities,
                "modularity": modularity,
                "levels": levels,
            }),
            found: Found::Values(Values::groups(topology.vertices(), "community", setting.top, group)),
        })
    }
}
