//! `evergraph run DB cycles`: simple cycles up to a length, in the whole graph or through one vertex.

use crate::command::run::answer::{Answer, Found, Paths};
use crate::command::run::choices::CommonArguments;
use crate::command::run::setting::{Run, Setting};
use crate::terminal::number::counted;
use clap::Args;
use evergraph_algorithms::cycles::{CyclesParameters, cycles, through};
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, VertexId};
use serde_json::json;

/// What the search for cycles is told.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  evergraph run bank.eg cycles --through 10034831 --where-edge 'amount_cents>=1000000'

Each cycle begins at the vertex with the lowest number. Through one vertex nothing is frozen.")]
pub struct CyclesArguments {
    /// Only cycles through the vertex with this unique key.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true, conflicts_with = "through_vertex")]
    pub through: Option<String>,
    /// Only cycles through the vertex with this number.
    #[arg(long, value_name = "N")]
    pub through_vertex: Option<u32>,
    /// The fewest edges; 1 is a loop.
    #[arg(long, value_name = "L", default_value_t = CyclesParameters::default().length_min)]
    pub length_min: u32,
    /// The most edges.
    #[arg(long, value_name = "L", default_value_t = CyclesParameters::default().length_max)]
    pub length_max: u32,
    /// Stop after so many cycles.
    #[arg(long, value_name = "N", default_value_t = CyclesParameters::default().limit)]
    pub limit: usize,
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl Run for CyclesArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn run(&self, setting: &Setting<'_>) -> Result<Answer> {
        let Self { length_min, length_max, limit, .. } = *self;
        let parameters = CyclesParameters { length_min, length_max, limit };
        let mut root = None;
        let found = if self.through.is_some() || self.through_vertex.is_some() {
            let vertex = setting.vertex("through", self.through.as_deref(), self.through_vertex)?;
            root = Some(vertex.0);
            through(setting.snapshot, &setting.scope, vertex, &parameters, &setting.control)?
        } else {
            cycles(&setting.freeze(Direction::Both, None)?, &parameters, &setting.control)?
        };
        let mut paths = Paths::cycles();
        found.iter().for_each(|cycle| paths.push(cycle.iter().copied().map(VertexId), &[]));
        let cut = if found.is_complete() { "" } else { "; the limit left others out" };
        Ok(Answer {
            summary: format!("{}{cut}", counted(found.len() as u64, "cycle", "cycles")),
            figures: json!({
                "through_vertex": root,
                "length_min": length_min,
                "length_max": length_max,
                "cycles": found.len(),
                "complete": found.is_complete(),
            }),
            found: Found::Paths(paths),
        })
    }
}
