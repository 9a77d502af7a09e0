//! Strongly connected components: their entry.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{COMPONENT, VERTEX};
use crate::input::Input;
use evergraph_algorithms::control::Control;
use evergraph_algorithms::scc::scc;
use evergraph_graph::count::{Count, counted};
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;

pub static SCC: Algorithm = Algorithm {
    name: "scc",
    group: Group::ComponentsAndOrder,
    summary: "Strongly connected components: vertices that reach each other.",
    details: "\
Components are numbered from 0, the largest first; of two of equal size, the one with the lowest
vertex id is first.",
    example: "bank.eg scc --output components.csv",
    parameters: &[],
    reads: Reads::SourceToTarget,
    columns: &[VERTEX, COMPONENT],
    order: Order::Groups,
    figures: &["components", "largest"],
    cost: Cost {
        time: "a few *E*",
        memory: "29 B · *V*, and 36 B · *V* + 4 B · *E* outside of the largest",
        memory_bytes: Some(|of| (29 + 36) * of.vertices + 4 * of.edges),
    },
    stops: Stops::Soon,
    kernel: run,
};

fn run(input: &Input<'_>, _: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let lists = input.lists(Direction::Both, None, control)?;
    let found = input.timed(|| scc(&lists, control))?;
    let labels = found.labels.as_slice();
    let components = counted(found.components, "component", "components");
    Ok(Answer::groups(lists.vertices(), |vertex| labels[vertex as usize])
        .figure("components", found.components)
        .figure("largest", found.largest)
        .summary(format!("{components}, the largest of {}", Count(found.largest))))
}
