//! Triangles: their entry.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{Column, ColumnDescription, ColumnKind, ColumnValues, VERTEX};
use crate::input::Input;
use crate::vertex_rows::each;
use evergraph_algorithms::control::Control;
use evergraph_algorithms::triangles::triangles;
use evergraph_graph::count::counted;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;

pub static TRIANGLES: Algorithm = Algorithm {
    name: "triangles",
    group: Group::CommunitiesAndDensity,
    summary: "How many triangles each vertex is in.",
    details: "",
    example: "bank.eg triangles --type TRANSFER",
    parameters: &[],
    reads: Reads::BothWays,
    columns: &[VERTEX, ColumnDescription::new("triangles", ColumnKind::U64)],
    order: Order::Highest,
    figures: &["triangles"],
    cost: Cost {
        time: "*E*^1.5 at most",
        memory: "4 B · *E* + 44 B · *V*, and 4 B · *V* a thread; else 17 B · *V* and more, out of core",
        memory_bytes: Some(|of| 4 * of.edges + (44 + 4 * of.threads) * of.vertices),
    },
    stops: Stops::Soon,
    kernel: run,
};

fn run(input: &Input<'_>, _: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let lists = input.lists(Direction::Both, None, control)?;
    let found = input.timed(|| triangles(&lists, control))?;
    let counts = |members: &[_]| ColumnValues::U64(each(members, |vertex| found.counts()[vertex as usize]));
    Ok(Answer::of(lists.vertices(), |members| Column::new(counts(members)))
        .figure("triangles", found.total())
        .summary(counted(found.total(), "triangle", "triangles")))
}
