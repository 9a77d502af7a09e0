//! Neighbourhood: its entry.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{Column, ColumnDescription, ColumnKind, ColumnValues, VERTEX};
use crate::input::Input;
use crate::parameter::{DefaultValue, Parameter};
use evergraph_algorithms::control::Control;
use evergraph_algorithms::k_hop::{KHopParameters, k_hop};
use evergraph_graph::count::counted;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;

pub static K_HOP: Algorithm = Algorithm {
    name: "k_hop",
    group: Group::WaysAndNeighbourhoods,
    summary: "The vertices within a few edges.",
    details: "The file lists only the vertices found, the nearest first; the value is the distance.",
    example: "bank.eg k-hop --source 10034831 --depth 2 --direction both --output near.csv",
    parameters: &[
        Parameter::vertices("sources").means("Begin at these vertices."),
        Parameter::whole("depth", "K", 0, DefaultValue::Whole(2)).means("Maximum distance, in edges."),
        Parameter::whole("limit", "N", 1, DefaultValue::Nothing("all"))
            .most(u64::MAX)
            .means("Stop after this many vertices."),
        Parameter::direction(Direction::Out).means("Direction in which edges are followed."),
    ],
    reads: Reads::Direction,
    columns: &[VERTEX, ColumnDescription::new("distance", ColumnKind::U32)],
    order: Order::InOrder,
    figures: &["reached", "farthest", "complete"],
    cost: Cost {
        time: "the neighbourhood",
        memory: "30 B a vertex found",
        memory_bytes: Some(|of| 2 * 30 * (of.vertices + 4096)),
    },
    stops: Stops::Soon,
    kernel: run,
};

pub fn parameters(arguments: &Arguments) -> KHopParameters {
    let limit = arguments.optional_whole("limit").unwrap_or(u64::MAX);
    KHopParameters {
        direction: arguments.direction(),
        depth: arguments.count("depth"),
        limit: usize::try_from(limit).unwrap_or(usize::MAX),
    }
}

fn run(input: &Input<'_>, arguments: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let (view, scope) = input.view()?;
    let sources = arguments.vertices("sources");
    let found = input.timed(|| k_hop(view, scope, sources, &parameters(arguments), control))?;
    let (vertices, distances): (Vec<_>, Vec<_>) = found.iter().unzip();
    let farthest = found.level_ends.len() as u64 - 1;
    let reached = counted(vertices.len() as u64, "vertex", "vertices");
    let cut = if found.complete { "" } else { "; the limit left others out" };
    let summary = format!("{reached}, the farthest over {}{cut}", counted(farthest, "edge", "edges"));
    let rows = vertices.len();
    Ok(Answer::listed(vertices, vec![Column::new(ColumnValues::U32(distances))])
        .figure("reached", rows)
        .figure("farthest", farthest)
        .figure("complete", found.complete)
        .summary(summary))
}
