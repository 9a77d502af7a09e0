//! Louvain: its entry.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{COMMUNITY, VERTEX};
use crate::input::Input;
use crate::parameter::{MISSING_WEIGHT, Parameter, WEIGHT};
use evergraph_algorithms::control::Control;
use evergraph_algorithms::louvain::{LouvainParameters, louvain};
use evergraph_algorithms::range::RealRange;
use evergraph_graph::count::counted;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;

pub static LOUVAIN: Algorithm = Algorithm {
    name: "louvain",
    group: Group::CommunitiesAndDensity,
    summary: "Communities by modularity.",
    details: "\
Communities are numbered from 0, the largest first; of two of equal size, the one with the lowest
vertex id is first.",
    example: "bank.eg louvain --weight amount_cents --output communities.parquet",
    parameters: &[
        Parameter::real("resolution", "R", RealRange::FiniteFromZero, 1.0)
            .means("Above 1 for more and smaller communities, below for fewer and larger ones."),
        Parameter::real("tolerance", "T", RealRange::FiniteFromZero, 1e-7)
            .means("Stop at the first level that raises modularity by no more than this."),
        WEIGHT,
        MISSING_WEIGHT,
    ],
    reads: Reads::BothWays,
    columns: &[VERTEX, COMMUNITY],
    order: Order::Groups,
    figures: &["communities", "modularity", "levels"],
    cost: Cost {
        time: "a few *E*",
        memory: "40 B · *V* and more",
        memory_bytes: Some(|of| (40 + 4 + 16 * of.threads) * of.vertices + 48 * of.edges),
    },
    stops: Stops::Soon,
    kernel: run,
};

pub fn parameters(arguments: &Arguments) -> LouvainParameters {
    LouvainParameters { resolution: arguments.real("resolution"), tolerance: arguments.real("tolerance") }
}

fn run(input: &Input<'_>, arguments: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let weight = input.weight(arguments.property("weight"), arguments.optional_real("missing_weight"))?;
    let lists = input.lists(Direction::Both, weight, control)?;
    let found = input.timed(|| louvain(&lists, &parameters(arguments), control))?;
    let labels = found.labels.as_slice();
    let communities = counted(found.communities, "community", "communities");
    Ok(Answer::groups(lists.vertices(), |vertex| labels[vertex as usize])
        .figure("communities", found.communities)
        .figure("modularity", found.modularity)
        .figure("levels", found.levels)
        .summary(format!("{communities} of modularity {:.6}", found.modularity)))
}
