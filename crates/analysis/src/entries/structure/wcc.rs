//! Weakly connected components: their entry.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{COMPONENT, VERTEX};
use crate::input::Input;
use evergraph_algorithms::control::Control;
use evergraph_algorithms::wcc::{WccParameters, wcc};
use evergraph_graph::count::counted;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;

pub static WCC: Algorithm = Algorithm {
    name: "wcc",
    group: Group::ComponentsAndOrder,
    summary: "Connected components, ignoring the direction of edges.",
    details: "\
Components are numbered from 0, the largest first; of two of equal size, the one with the lowest
vertex id is first.",
    example: "bank.eg wcc --type TRANSFER --json",
    parameters: &[],
    reads: Reads::BothWays,
    columns: &[VERTEX, COMPONENT],
    order: Order::Groups,
    figures: &["components"],
    cost: Cost { time: "*V* to *E*", memory: "4 B · *V*", memory_bytes: Some(|of| 4 * of.vertices) },
    stops: Stops::Soon,
    kernel: run,
};

fn run(input: &Input<'_>, _: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let lists = input.lists(Direction::Both, None, control)?;
    let found = input.timed(|| wcc(&lists, &WccParameters::default(), control))?;
    let labels = found.labels.as_slice();
    Ok(Answer::groups(lists.vertices(), |vertex| labels[vertex as usize])
        .figure("components", found.components)
        .summary(counted(found.components, "component", "components")))
}
