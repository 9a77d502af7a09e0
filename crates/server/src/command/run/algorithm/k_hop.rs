//! `evergraph run DB k-hop`: the neighbourhood of some vertices, the nearest first, nothing frozen.

use crate::command::run::answer::{Amount, Answer, Found, Kind, Values};
use crate::command::run::choices::{CommonArguments, DirectionArgument};
use crate::command::run::setting::{Run, Setting};
use crate::terminal::number::counted;
use clap::Args;
use evergraph_algorithms::k_hop::{KHopParameters, k_hop};
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;
use serde_json::json;

/// What a neighbourhood is told.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  evergraph run bank.eg k-hop --source 10034831 --depth 2 --direction both --output near.csv

The file has the vertices that were found alone, the nearest first; the value is the distance.")]
pub struct KHopArguments {
    /// Where it begins.
    #[command(flatten)]
    pub sources: SourcesArguments,
    /// How many edges far.
    #[arg(long, value_name = "K", default_value_t = 2)]
    pub depth: u32,
    /// Stop after so many vertices [default: all].
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Along which edges it goes.
    #[arg(long, value_enum, default_value_t)]
    pub direction: DirectionArgument,
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

/// Where a neighbourhood begins.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
pub struct SourcesArguments {
    /// Begin at the vertices with these unique keys; repeat it for more.
    #[arg(long = "source", value_name = "KEY", allow_hyphen_values = true)]
    pub keys: Vec<String>,
    /// Begin at the vertices with these numbers; repeat it for more.
    #[arg(long = "source-vertex", value_name = "N")]
    pub vertices: Vec<u32>,
}

impl Run for KHopArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn run(&self, setting: &Setting<'_>) -> Result<Answer> {
        let named = self.sources.keys.iter().map(|key| setting.vertex("source", Some(key), None));
        let numbered = self.sources.vertices.iter().map(|vertex| Ok(VertexId(*vertex)));
        let sources = named.chain(numbered).collect::<Result<Vec<_>>>()?;
        let parameters = KHopParameters {
            direction: self.direction.direction(),
            depth: self.depth,
            limit: self.limit.unwrap_or(usize::MAX),
        };
        let found = k_hop(setting.snapshot, &setting.scope, &sources, &parameters, &setting.control)?;
        let rows = found.iter().map(|(vertex, distance)| (vertex, Amount::Whole(u64::from(distance))));
        let farthest = found.level_ends.len() as u64 - 1;
        let reached = counted(found.vertices.len() as u64, "vertex", "vertices");
        let cut = if found.complete { "" } else { "; the limit left others out" };
        Ok(Answer {
            summary: format!("{reached}, the farthest over {}{cut}", counted(farthest, "edge", "edges")),
            figures: json!({
                "direction": self.direction.name(),
                "source_vertices": sources.iter().map(|source| source.0).collect::<Vec<_>>(),
                "depth": self.depth,
                "reached": found.vertices.len(),
                "farthest": farthest,
                "complete": found.complete,
            }),
            found: Found::Values(Values::in_order(rows.collect(), Kind::Whole, "distance", setting.top)),
        })
    }
}
