//! Breadth-first search: its entry.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{Column, ColumnDescription, ColumnKind, ColumnValues, VERTEX};
use crate::input::Input;
use crate::parameter::Parameter;
use crate::vertex_rows::where_known;
use evergraph_algorithms::bfs::{BfsParameters, bfs};
use evergraph_algorithms::control::Control;
use evergraph_graph::count::counted;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;

pub static BFS: Algorithm = Algorithm {
    name: "bfs",
    group: Group::WaysAndNeighbourhoods,
    summary: "Distance of each vertex from a source, in edges.",
    details: "\
In files that `evergraph run` writes, the level of a vertex without a path is 9223372036854775807,
as in Graphalytics. In Python it is null.",
    example: "bank.eg bfs --source 10034831 --direction both",
    parameters: &[
        Parameter::vertex("source").means("Begin at this vertex."),
        Parameter::direction(Direction::Out).means("Direction in which edges are followed."),
    ],
    reads: Reads::Direction,
    columns: &[VERTEX, ColumnDescription::new("level", ColumnKind::U32)],
    order: Order::Nearest,
    figures: &["reached", "depth"],
    cost: Cost { time: "*E* at most", memory: "17 B · *V*", memory_bytes: Some(|of| 17 * of.vertices) },
    stops: Stops::Soon,
    kernel: run,
};

pub fn parameters(arguments: &Arguments) -> BfsParameters {
    BfsParameters { direction: arguments.direction(), ..BfsParameters::default() }
}

fn run(input: &Input<'_>, arguments: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let lists = input.lists(Direction::Both, None, control)?;
    let source = arguments.vertex("source");
    let found = input.timed(|| bfs(&lists, source, &parameters(arguments), control))?;
    let (reached, depth) = (found.reached(), found.depth());
    let (near, far) = (counted(reached, "vertex", "vertices"), counted(u64::from(depth), "edge", "edges"));
    let column = |members: &[_]| {
        let (levels, known) = where_known(members, |vertex| found.level(vertex));
        Column { values: ColumnValues::U32(levels), known }
    };
    Ok(Answer::of(lists.vertices(), column)
        .figure("reached", reached)
        .figure("depth", depth)
        .summary(format!("reached {near}, the farthest over {far}")))
}
