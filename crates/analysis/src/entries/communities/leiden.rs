//! Leiden: its entry.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{COMMUNITY, VERTEX};
use crate::input::Input;
use crate::parameter::{DefaultValue, MISSING_WEIGHT, Parameter, WEIGHT};
use evergraph_algorithms::control::Control;
use evergraph_algorithms::leiden::{LeidenParameters, leiden};
use evergraph_algorithms::range::RealRange;
use evergraph_graph::count::counted;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;

pub static LEIDEN: Algorithm = Algorithm {
    name: "leiden",
    group: Group::CommunitiesAndDensity,
    summary: "Connected communities by modularity.",
    details: "\
Communities are numbered from 0, the largest first; of two of equal size, the one with the lowest
vertex id is first.
Communities are connected, and better than those of louvain, in about twice the time.",
    example: "bank.eg leiden --weight amount_cents --output communities.parquet",
    parameters: &[
        Parameter::real("resolution", "R", RealRange::FiniteFromZero, 1.0)
            .means("Above 1 for more and smaller communities, below for fewer and larger ones."),
        Parameter::whole("iterations", "N", 1, DefaultValue::Whole(3))
            .means("Iterations at most; each begins with the communities of the one before."),
        Parameter::real("tolerance", "T", RealRange::FiniteFromZero, 1e-7)
            .means("Stop after an iteration that raises modularity by no more than this."),
        WEIGHT,
        MISSING_WEIGHT,
    ],
    reads: Reads::BothWays,
    columns: &[VERTEX, COMMUNITY],
    order: Order::Groups,
    figures: &["communities", "modularity", "iterations"],
    cost: Cost {
        time: "some *E* an iteration, 3 iterations",
        memory: "60 B · *V* and more",
        memory_bytes: Some(|of| (60 + 4 + 16 * of.threads) * of.vertices + 48 * of.edges),
    },
    stops: Stops::Soon,
    kernel: run,
};

pub fn parameters(arguments: &Arguments) -> LeidenParameters {
    LeidenParameters {
        resolution: arguments.real("resolution"),
        iterations: arguments.count("iterations"),
        tolerance: arguments.real("tolerance"),
    }
}

fn run(input: &Input<'_>, arguments: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let weight = input.weight(arguments.property("weight"), arguments.optional_real("missing_weight"))?;
    let lists = input.lists(Direction::Both, weight, control)?;
    let found = input.timed(|| leiden(&lists, &parameters(arguments), control))?;
    let labels = found.labels.as_slice();
    let communities = counted(found.communities, "community", "communities");
    let iterations = counted(u64::from(found.iterations), "iteration", "iterations");
    Ok(Answer::groups(lists.vertices(), |vertex| labels[vertex as usize])
        .figure("communities", found.communities)
        .figure("modularity", found.modularity)
        .figure("iterations", found.iterations)
        .summary(format!("{communities} of modularity {:.6} after {iterations}", found.modularity)))
}
