//! `evergraph run DB sssp`: distances by weight, the nearest first.

use crate::command::run::answer::{Amount, Answer, Found, Kind, Values};
use crate::command::run::choices::{CommonArguments, DirectionArgument, SourceArguments};
use crate::command::run::setting::{Run, Setting};
use crate::terminal::number::counted;
use clap::Args;
use evergraph_algorithms::sssp::{SsspParameters, sssp};
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;
use evergraph_graph::topology::Topology;
use serde_json::json;

/// What shortest paths are told.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  evergraph run bank.eg sssp --source 10034831 --weight amount_cents

Where there is no path the distance is infinite.")]
pub struct SsspArguments {
    /// Where paths begin.
    #[command(flatten)]
    pub source: SourceArguments,
    /// Along which edges paths go.
    #[arg(long, value_enum, default_value_t)]
    pub direction: DirectionArgument,
    /// The edge property that is the weight: a number, not negative.
    #[arg(long, value_name = "PROPERTY", default_value = "weight")]
    pub weight: String,
    /// The weight of edges without the property [default: such an edge is an error].
    #[arg(long, value_name = "W")]
    pub missing_weight: Option<f64>,
    /// The width of a bin, in units of weight [default: derived]; the answer doesn't depend on it.
    #[arg(long, value_name = "W")]
    pub delta: Option<f64>,
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl Run for SsspArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn run(&self, setting: &Setting<'_>) -> Result<Answer> {
        let source = setting.source(&self.source)?;
        let weight = setting.weight_named(&self.weight, self.missing_weight)?;
        let direction = self.direction.direction();
        let topology = setting.freeze(direction, Some(weight))?;
        let paths =
            sssp(&topology, source, &SsspParameters { direction, delta: self.delta }, &setting.control)?;
        // Out of scope the distance is infinite too.
        let reached = paths.distances.iter().filter(|distance| distance.is_finite()).count() as u64;
        let delta = paths.delta;
        let value = move |vertex| paths.distance(VertexId(vertex)).map(Amount::Real);
        let none = Amount::Real(f64::INFINITY);
        let (vertices, top) = (topology.vertices(), setting.top);
        Ok(Answer {
            summary: format!("reached {}", counted(reached, "vertex", "vertices")),
            figures: json!({
                "direction": self.direction.name(),
                "source_vertex": source.0,
                "reached": reached,
                "weight": self.weight,
                "delta": delta,
            }),
            found: Found::Values(Values::nearest(vertices, Kind::Real, "distance", top, none, value)),
        })
    }
}
