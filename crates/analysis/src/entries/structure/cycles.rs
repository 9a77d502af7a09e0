//! Cycles: their entry, for all of the graph or through one vertex.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{Column, ColumnDescription, ColumnKind, ColumnValues, POSITION, VERTEX};
use crate::input::Input;
use crate::parameter::{DefaultValue, Parameter};
use evergraph_algorithms::control::Control;
use evergraph_algorithms::cycles::{CyclesParameters, cycles, through};
use evergraph_graph::count::counted;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, VertexId};

pub static CYCLES: Algorithm = Algorithm {
    name: "cycles",
    group: Group::ComponentsAndOrder,
    summary: "Simple cycles up to a length.",
    details: "Each cycle begins at its vertex with the lowest id. `through` reads only a neighbourhood.",
    example: "bank.eg cycles --through 10034831 --where-edge 'amount_cents>=1000000'",
    parameters: &[
        Parameter::vertex("through").optional().means("Only cycles through this vertex."),
        Parameter::whole("length_min", "L", 1, DefaultValue::Whole(2))
            .most(CyclesParameters::LENGTH_LIMIT as u64)
            .means("The fewest edges; 1 is a loop."),
        Parameter::whole("length_max", "L", 1, DefaultValue::Whole(6))
            .most(CyclesParameters::LENGTH_LIMIT as u64)
            .means("The most edges."),
        Parameter::whole("limit", "N", 1, DefaultValue::Whole(1_000_000))
            .most(u64::MAX)
            .means("Stop after this many cycles."),
    ],
    reads: Reads::SourceToTarget,
    columns: &[ColumnDescription::new("cycle", ColumnKind::U64), POSITION, VERTEX],
    order: Order::Cycles,
    figures: &["cycles", "complete"],
    cost: Cost {
        time: "proportional to the number of cycles: see `limit`",
        memory: "its answer",
        memory_bytes: None,
    },
    stops: Stops::Soon,
    kernel: run,
};

pub fn parameters(arguments: &Arguments) -> CyclesParameters {
    CyclesParameters {
        length_min: arguments.count("length_min"),
        length_max: arguments.count("length_max"),
        limit: arguments.whole("limit"),
    }
}

fn run(input: &Input<'_>, arguments: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let parameters = parameters(arguments);
    let found = if let Some(root) = arguments.optional_vertex("through") {
        let (view, scope) = input.view()?;
        input.timed(|| through(view, scope, root, &parameters, control))?
    } else {
        let lists = input.lists(Direction::Both, None, control)?;
        input.timed(|| cycles(&lists, &parameters, control))?
    };
    let (mut numbers, mut positions, mut vertices) = (Vec::new(), Vec::new(), Vec::new());
    for (number, cycle) in (0_u64..).zip(found.iter()) {
        numbers.extend(cycle.iter().map(|_| number));
        positions.extend(0..cycle.len() as u32);
        vertices.extend(cycle.iter().copied().map(VertexId));
    }
    let columns = [ColumnValues::U64(numbers), ColumnValues::U32(positions)].map(Column::new);
    let cut = if found.is_complete() { "" } else { "; the limit left others out" };
    Ok(Answer::listed(vertices, columns.into())
        .figure("cycles", found.len())
        .figure("complete", found.is_complete())
        .summary(format!("{}{cut}", counted(found.len() as u64, "cycle", "cycles"))))
}
