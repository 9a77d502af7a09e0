//! Local clustering coefficients: their entry.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{ColumnDescription, ColumnKind, VERTEX};
use crate::input::Input;
use crate::parameter::{Flag, Parameter};
use evergraph_algorithms::control::Control;
use evergraph_algorithms::lcc::{LccParameters, lcc};
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;

pub static LCC: Algorithm = Algorithm {
    name: "lcc",
    group: Group::CommunitiesAndDensity,
    summary: "How well the neighbours of each vertex are connected.",
    details: "",
    example: "bank.eg lcc --undirected --output lcc.csv",
    parameters: &[Parameter::boolean(
        "directed",
        Flag { name: "undirected", summary: "An edge one way connects two neighbours fully." },
    )
    .means("Whether an edge between neighbours counts in each direction, as in Graphalytics.")],
    reads: Reads::BothWays,
    columns: &[VERTEX, ColumnDescription::new("coefficient", ColumnKind::F64)],
    order: Order::Highest,
    figures: &["mean"],
    cost: Cost {
        time: "as triangles",
        memory: "5 B · *E* + 56 B · *V*, and 4 B · *V* a thread; else 29 B · *V* and more, out of core",
        memory_bytes: Some(|of| 5 * of.edges + (56 + 4 * of.threads) * of.vertices),
    },
    stops: Stops::Soon,
    kernel: run,
};

pub fn parameters(arguments: &Arguments) -> LccParameters {
    LccParameters { directed: arguments.boolean("directed") }
}

fn run(input: &Input<'_>, arguments: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let lists = input.lists(Direction::Both, None, control)?;
    let found = input.timed(|| lcc(&lists, &parameters(arguments), control))?;
    Ok(Answer::scores(lists.vertices(), &found.coefficients)
        .figure("mean", found.mean)
        .summary(format!("mean coefficient {:.6}", found.mean)))
}
