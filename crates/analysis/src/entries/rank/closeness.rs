//! Closeness: its entry.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{SCORE, VERTEX};
use crate::input::Input;
use crate::parameter::{Parameter, SAMPLE, SEED};
use evergraph_algorithms::closeness::{ClosenessParameters, closeness};
use evergraph_algorithms::control::Control;
use evergraph_graph::count::counted;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;

pub static CLOSENESS: Algorithm = Algorithm {
    name: "closeness",
    group: Group::WhoMatters,
    summary: "How near each vertex is to all others.",
    details: "\
The exact result searches from every vertex: above about 100,000 vertices, use a sample.",
    example: "bank.eg closeness --sample 1000 --direction both",
    parameters: &[
        Parameter::direction(Direction::In).means(
            "Direction of the paths: `in` from the others to the vertex, `out` from it to the others.",
        ),
        SAMPLE,
        SEED,
    ],
    reads: Reads::Direction,
    columns: &[VERTEX, SCORE],
    order: Order::Highest,
    figures: &["pivots", "sources"],
    cost: Cost {
        time: "as many *E* as levels, for each 64 vertices; or `sample`",
        memory: "20 B · *V*, and 40 B · *V* a thread",
        memory_bytes: Some(|of| (20 + 40 * of.threads) * of.vertices),
    },
    stops: Stops::Soon,
    kernel: run,
};

pub fn parameters(arguments: &Arguments) -> ClosenessParameters {
    ClosenessParameters { pivots: arguments.sources(), direction: arguments.direction() }
}

fn run(input: &Input<'_>, arguments: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let parameters = parameters(arguments);
    // Searches go from the others, against the way that is measured.
    let lists = input.lists(parameters.direction.reversed(), None, control)?;
    let found = input.timed(|| closeness(&lists, &parameters, control))?;
    Ok(Answer::scores(lists.vertices(), &found.scores)
        .figure("pivots", found.pivots)
        .figure("sources", found.pivots)
        .summary(format!("distances to {}", counted(found.pivots, "vertex", "vertices"))))
}
