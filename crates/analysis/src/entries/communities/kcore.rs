//! Cores: their entry.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{Column, ColumnDescription, ColumnKind, ColumnValues, VERTEX};
use crate::input::Input;
use crate::vertex_rows::each;
use evergraph_algorithms::control::Control;
use evergraph_algorithms::kcore::kcore;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;

pub static KCORE: Algorithm = Algorithm {
    name: "kcore",
    group: Group::CommunitiesAndDensity,
    summary: "Core number: the largest k for which each vertex is in the k-core.",
    details: "",
    example: "bank.eg kcore --where 'risk<0.5' --output cores.csv",
    parameters: &[],
    reads: Reads::BothWays,
    columns: &[VERTEX, ColumnDescription::new("core", ColumnKind::U32)],
    order: Order::Highest,
    figures: &["degeneracy"],
    cost: Cost {
        time: "2 *E*, and sorting",
        memory: "8 B · *E* + 28 B · *V*; else 9 B · *V*, out of core",
        memory_bytes: Some(|of| 8 * of.edges + 28 * of.vertices),
    },
    stops: Stops::Soon,
    kernel: run,
};

fn run(input: &Input<'_>, _: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let lists = input.lists(Direction::Both, None, control)?;
    let found = input.timed(|| kcore(&lists, control))?;
    let cores = |members: &[_]| ColumnValues::U32(each(members, |vertex| found.cores()[vertex as usize]));
    Ok(Answer::of(lists.vertices(), |members| Column::new(cores(members)))
        .figure("degeneracy", found.degeneracy())
        .summary(format!("the innermost core is the {}-core", found.degeneracy())))
}
