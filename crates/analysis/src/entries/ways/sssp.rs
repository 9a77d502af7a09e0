//! Shortest paths by weight from a source: their entry.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{Column, ColumnDescription, ColumnKind, ColumnValues, VERTEX};
use crate::input::Input;
use crate::parameter::{DefaultValue, MISSING_WEIGHT, Parameter};
use crate::vertex_rows::where_known;
use evergraph_algorithms::control::Control;
use evergraph_algorithms::range::RealRange;
use evergraph_algorithms::sssp::{SsspParameters, sssp};
use evergraph_graph::count::counted;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;

pub static SSSP: Algorithm = Algorithm {
    name: "sssp",
    group: Group::WaysAndNeighbourhoods,
    summary: "Distance of each vertex from a source, by edge weight.",
    details: "\
In files that `evergraph run` writes, the distance of a vertex without a path is infinite. In
Python it is null.",
    example: "bank.eg sssp --source 10034831 --weight amount_cents",
    parameters: &[
        Parameter::vertex("source").means("Begin at this vertex."),
        Parameter::direction(Direction::Out).means("Along which edges paths go."),
        Parameter::edge_property("weight", DefaultValue::Property("weight"))
            .means("The edge property that is the weight: a number, not negative."),
        MISSING_WEIGHT,
        Parameter::optional_real("delta", "W", RealRange::FiniteAboveZero, "derived")
            .means("The width of a bin, in units of weight; the answer doesn't depend on it."),
    ],
    reads: Reads::Direction,
    columns: &[VERTEX, ColumnDescription::new("distance", ColumnKind::F64)],
    order: Order::Nearest,
    figures: &["reached", "delta"],
    cost: Cost {
        time: "1 to 2 *E*",
        memory: "24 B · *V* and more",
        memory_bytes: Some(|of| 24 * of.vertices + 8 * (of.vertices + of.edges)),
    },
    stops: Stops::Soon,
    kernel: run,
};

pub fn parameters(arguments: &Arguments) -> SsspParameters {
    SsspParameters { direction: arguments.direction(), delta: arguments.optional_real("delta") }
}

fn run(input: &Input<'_>, arguments: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let parameters = parameters(arguments);
    let weight = input.weight(arguments.property("weight"), arguments.optional_real("missing_weight"))?;
    let lists = input.lists(parameters.direction, weight, control)?;
    let source = arguments.vertex("source");
    let found = input.timed(|| sssp(&lists, source, &parameters, control))?;
    // Out of scope the distance is infinite too.
    let reached = found.distances.iter().filter(|distance| distance.is_finite()).count() as u64;
    let column = |members: &[_]| {
        let (distances, known) = where_known(members, |vertex| found.distance(vertex));
        Column { values: ColumnValues::F64(distances), known }
    };
    Ok(Answer::of(lists.vertices(), column)
        .figure("reached", reached)
        .figure("delta", found.delta)
        .summary(format!("reached {}", counted(reached, "vertex", "vertices"))))
}
