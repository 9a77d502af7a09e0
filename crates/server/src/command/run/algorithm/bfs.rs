//! `evergraph run DB bfs`: levels, the nearest first.

use crate::command::run::answer::{Amount, Answer, Found, Kind, NO_PATH, Values};
use crate::command::run::choices::{CommonArguments, DirectionArgument, SourceArguments};
use crate::command::run::setting::{Run, Setting};
use crate::terminal::number::counted;
use clap::Args;
use evergraph_algorithms::bfs::{BfsParameters, bfs};
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::Topology;
use serde_json::json;

/// What breadth-first search is told.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  evergraph run bank.eg bfs --source 10034831 --direction both

Where there is no path the level is 9223372036854775807.")]
pub struct BfsArguments {
    /// Where it begins.
    #[command(flatten)]
    pub source: SourceArguments,
    /// Along which edges it goes.
    #[arg(long, value_enum, default_value_t)]
    pub direction: DirectionArgument,
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl Run for BfsArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn run(&self, setting: &Setting<'_>) -> Result<Answer> {
        let source = setting.source(&self.source)?;
        let parameters = BfsParameters { direction: self.direction.direction(), ..Default::default() };
        let topology = setting.freeze(Direction::Both, None)?;
        let levels = bfs(&topology, source, &parameters, &setting.control)?;
        let (reached, depth) = (levels.reached(), levels.depth());
        let found = counted(reached, "vertex", "vertices");
        let far = counted(u64::from(depth), "edge", "edges");
        let value = move |vertex| levels.level(VertexId(vertex)).map(|level| Amount::Whole(u64::from(level)));
        let (vertices, top) = (topology.vertices(), setting.top);
        Ok(Answer {
            summary: format!("reached {found}, the farthest over {far}"),
            figures: json!({
                "direction": self.direction.name(),
                "source_vertex": source.0,
                "reached": reached,
                "depth": depth,
            }),
            found: Found::Values(Values::nearest(vertices, Kind::Whole, "level", top, NO_PATH, value)),
        })
    }
}
