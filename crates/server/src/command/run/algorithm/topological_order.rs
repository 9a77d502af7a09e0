//! `evergraph run DB topological-order`: the order, or an error with a cycle that forbids it.

use crate::command::run::answer::{Amount, Answer, Found, Kind, Values};
use crate::command::run::choices::CommonArguments;
use crate::command::run::setting::{Run, Setting};
use crate::terminal::number::{count, counted};
use clap::{Args, ValueEnum};
use evergraph_algorithms::topological_order::{
    TopologicalOrder, TopologicalOrderParameters, topological_order,
};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, VertexId};
use serde_json::json;

/// What an order is told.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  evergraph run build.eg topological-order --direction in --type NEEDS --output order.csv

The rows come in order; the value is the place, from 0. If the edges form a cycle, one is named,
and the exit code is 2.")]
pub struct TopologicalOrderArguments {
    /// Which end of an edge comes first.
    #[arg(long, value_enum, default_value_t)]
    pub direction: OrderDirection,
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

/// Which end of an edge comes first.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum OrderDirection {
    /// The source.
    #[default]
    Out,
    /// The target: an edge says `needs`.
    In,
}

/// More vertices of a cycle than this are not worth reading.
const CYCLE_SHOWN: usize = 20;

impl Run for TopologicalOrderArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn run(&self, setting: &Setting<'_>) -> Result<Answer> {
        let (direction, name) = match self.direction {
            OrderDirection::Out => (Direction::Out, "out"),
            OrderDirection::In => (Direction::In, "in"),
        };
        let topology = setting.freeze(direction, None)?;
        let found =
            topological_order(&topology, &TopologicalOrderParameters { direction }, &setting.control)?;
        let order = match found {
            TopologicalOrder::Order(order) => order,
            TopologicalOrder::Cycle(cycle) => return Err(no_order(setting, &cycle)?),
        };
        let rows: Vec<_> = order.into_iter().map(VertexId).zip((0..).map(Amount::Whole)).collect();
        Ok(Answer {
            summary: format!("an order of {}", counted(rows.len() as u64, "vertex", "vertices")),
            figures: json!({ "direction": name, "ordered": rows.len() }),
            found: Found::Values(Values::in_order(rows, Kind::Whole, "place", setting.top)),
        })
    }
}

/// Why there is no order.
fn no_order(setting: &Setting<'_>, cycle: &[u32]) -> Result<Error> {
    let shown: Vec<VertexId> = cycle.iter().take(CYCLE_SHOWN).copied().map(VertexId).collect();
    let names = setting.keys.names(setting.snapshot, &shown)?;
    let mut steps: Vec<String> = names.iter().map(|name| format!("{} {}", name.label, name.key)).collect();
    if cycle.len() > CYCLE_SHOWN {
        steps.push(format!("{} more", count((cycle.len() - CYCLE_SHOWN) as u64)));
    }
    steps.push(steps[0].clone());
    Ok(Error::invalid(format!("there is no order: the edges form a cycle, {}", steps.join(" -> "))))
}
