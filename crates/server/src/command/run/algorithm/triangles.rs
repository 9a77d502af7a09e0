//! `evergraph run DB triangles`: triangles at each vertex, the most first.

use crate::command::run::answer::{Amount, Answer, Found, Kind, Values};
use crate::command::run::choices::CommonArguments;
use crate::command::run::setting::{Run, Setting};
use crate::terminal::number::counted;
use clap::Args;
use evergraph_algorithms::triangles::triangles;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;
use serde_json::json;

/// What the count of triangles is told.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  evergraph run bank.eg triangles --type TRANSFER")]
pub struct TriangleArguments {
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl Run for TriangleArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn run(&self, setting: &Setting<'_>) -> Result<Answer> {
        let topology = setting.freeze(Direction::Both, None)?;
        let found = triangles(&topology, &setting.control)?;
        let total = found.total();
        let value = move |vertex| Amount::Whole(found.counts()[vertex as usize]);
        let (vertices, top) = (topology.vertices(), setting.top);
        Ok(Answer {
            summary: counted(total, "triangle", "triangles"),
            figures: json!({ "triangles": total }),
            found: Found::Values(Values::highest(vertices, Kind::Whole, "triangles", top, value)),
        })
    }
}
