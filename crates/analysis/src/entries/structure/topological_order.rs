//! Topological order: its entry, and the error that names a cycle.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{Column, ColumnDescription, ColumnKind, ColumnValues, VERTEX};
use crate::input::Input;
use crate::parameter::Parameter;
use evergraph_algorithms::control::Control;
use evergraph_algorithms::topological_order::{
    TopologicalOrder, TopologicalOrderParameters, topological_order,
};
use evergraph_graph::count::{Count, counted};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, VertexId};

pub static TOPOLOGICAL_ORDER: Algorithm = Algorithm {
    name: "topological_order",
    group: Group::ComponentsAndOrder,
    summary: "Every vertex after those that it depends on.",
    details: "\
Rows are in topological order; the value is the position, from 0. A graph with a cycle has no
topological order: the error names a cycle.",
    example: "build.eg topological-order --direction in --type NEEDS --output order.csv",
    parameters: &[Parameter::directions(
        &[(Direction::Out, "The source."), (Direction::In, "The target: an edge says `needs`.")],
        Direction::Out,
    )
    .means("Which end of an edge comes first.")],
    reads: Reads::Direction,
    columns: &[VERTEX, ColumnDescription::new("place", ColumnKind::U64)],
    order: Order::InOrder,
    figures: &["ordered"],
    cost: Cost { time: "*E* and a heap", memory: "12 B · *V*", memory_bytes: Some(|of| 12 * of.vertices) },
    stops: Stops::Soon,
    kernel: run,
};

/// More vertices of a cycle than this are not worth reading.
const CYCLE_SHOWN: usize = 20;

pub fn parameters(arguments: &Arguments) -> TopologicalOrderParameters {
    TopologicalOrderParameters { direction: arguments.direction() }
}

fn run(input: &Input<'_>, arguments: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let parameters = parameters(arguments);
    let lists = input.lists(parameters.direction, None, control)?;
    let order = match input.timed(|| topological_order(&lists, &parameters, control))? {
        TopologicalOrder::Order(order) => order,
        TopologicalOrder::Cycle(cycle) => return Err(no_order(input, &cycle)?),
    };
    let vertices: Vec<VertexId> = order.into_iter().map(VertexId).collect();
    let count = vertices.len();
    let places = ColumnValues::U64((0..count as u64).collect());
    Ok(Answer::listed(vertices, vec![Column::new(places)])
        .figure("ordered", count)
        .summary(format!("an order of {}", counted(count as u64, "vertex", "vertices"))))
}

/// Why there is no order.
fn no_order(input: &Input<'_>, cycle: &[u32]) -> Result<Error> {
    let shown: Vec<VertexId> = cycle.iter().take(CYCLE_SHOWN).copied().map(VertexId).collect();
    let mut steps = input.vertex_names(&shown)?;
    let first = steps.first().cloned();
    if cycle.len() > CYCLE_SHOWN {
        steps.push(format!("{} more", Count((cycle.len() - CYCLE_SHOWN) as u64)));
    }
    steps.extend(first);
    Ok(Error::invalid(format!("there is no order: the edges form a cycle, {}", steps.join(" -> "))))
}
