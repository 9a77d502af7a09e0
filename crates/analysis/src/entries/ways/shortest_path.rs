//! Shortest path: its entry.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{Column, ColumnDescription, ColumnKind, ColumnValues, VERTEX};
use crate::input::Input;
use crate::parameter::{MISSING_WEIGHT, Parameter, WEIGHT};
use crate::real_text::reals;
use evergraph_algorithms::control::Control;
use evergraph_algorithms::range::RealRange;
use evergraph_algorithms::shortest_path::{ShortestPathParameters, shortest_path};
use evergraph_graph::count::counted;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;

pub static SHORTEST_PATH: Algorithm = Algorithm {
    name: "shortest_path",
    group: Group::WaysAndNeighbourhoods,
    summary: "One shortest path between two vertices.",
    details: "With a weight, a row also has the length of the path up to its vertex.",
    example: "bank.eg shortest-path --source 10034831 --target 10012143 --weight amount_cents",
    parameters: &[
        Parameter::vertex("source").means("Begin at this vertex."),
        Parameter::vertex("target").means("End at this vertex."),
        Parameter::direction(Direction::Out).means("Direction in which edges are followed."),
        WEIGHT,
        MISSING_WEIGHT,
        Parameter::real("length_max", "LENGTH", RealRange::FromZero, f64::INFINITY)
            .means("Maximum length of the path."),
    ],
    reads: Reads::Direction,
    columns: &[VERTEX, ColumnDescription::new("length", ColumnKind::F64)],
    order: Order::Paths,
    figures: &["found", "length", "edges"],
    cost: Cost {
        time: "the neighbourhoods of both ends",
        memory: "100 B a vertex visited",
        memory_bytes: Some(|of| 2 * 100 * (2 * of.vertices + 4096)),
    },
    stops: Stops::Soon,
    kernel: run,
};

pub fn parameters(input: &Input<'_>, arguments: &Arguments) -> Result<ShortestPathParameters> {
    Ok(ShortestPathParameters {
        direction: arguments.direction(),
        weight: input.weight(arguments.property("weight"), arguments.optional_real("missing_weight"))?,
        length_max: arguments.real("length_max"),
    })
}

fn run(input: &Input<'_>, arguments: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let parameters = parameters(input, arguments)?;
    let (source, target) = (arguments.vertex("source"), arguments.vertex("target"));
    let (view, scope) = input.view()?;
    let path = input.timed(|| shortest_path(view, scope, source, target, &parameters, control))?;
    let (length, edges) =
        (path.as_ref().map(|path| path.length()), path.as_ref().map(|path| path.edges.len()));
    let mut summary = "no path".to_owned();
    if let (Some(length), Some(edges)) = (length, edges) {
        summary = format!("a path over {}", counted(edges as u64, "edge", "edges"));
        if parameters.weight.is_some() {
            summary += &format!(" of length {}", reals(&[length]).concat());
        }
    }
    let (vertices, lengths) = path.map(|path| (path.vertices, path.lengths)).unwrap_or_default();
    Ok(Answer::listed(vertices, vec![Column::new(ColumnValues::F64(lengths))])
        .figure("found", length.is_some())
        .figure("length", length)
        .figure("edges", edges)
        .summary(summary))
}
