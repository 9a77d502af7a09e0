//! Label propagation: its entry.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{COMMUNITY, VERTEX};
use crate::input::Input;
use crate::parameter::{DefaultValue, Parameter};
use evergraph_algorithms::cdlp::{CdlpParameters, cdlp};
use evergraph_algorithms::control::Control;
use evergraph_graph::count::counted;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;

pub static CDLP: Algorithm = Algorithm {
    name: "cdlp",
    group: Group::CommunitiesAndDensity,
    summary: "Communities by label propagation.",
    details: "\
Communities are numbered from 0, the largest first; of two of equal size, the one with the lowest
vertex id is first.",
    example: "bank.eg cdlp --iterations 20 --output communities.parquet",
    parameters: &[Parameter::whole("iterations", "N", 0, DefaultValue::Whole(10))
        .means("Maximum number of rounds; a round that changes nothing is the last.")],
    reads: Reads::BothWays,
    columns: &[VERTEX, COMMUNITY],
    order: Order::Groups,
    figures: &["communities", "iterations"],
    cost: Cost {
        time: "*E* a round, 10 rounds",
        memory: "16 B · *V*",
        memory_bytes: Some(|of| 16 * of.vertices),
    },
    stops: Stops::Soon,
    kernel: run,
};

pub fn parameters(arguments: &Arguments) -> CdlpParameters {
    CdlpParameters { iterations: arguments.count("iterations"), labels: None }
}

fn run(input: &Input<'_>, arguments: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let lists = input.lists(Direction::Both, None, control)?;
    let found = input.timed(|| cdlp(&lists, &parameters(arguments), control))?;
    let (communities, iterations) = (found.communities(), found.iterations());
    let rounds = counted(u64::from(iterations), "round", "rounds");
    // Labels begin as numbers of vertices, so each is one.
    Ok(Answer::groups(lists.vertices(), |vertex| found.labels()[vertex as usize] as u32)
        .figure("communities", communities)
        .figure("iterations", iterations)
        .summary(format!("{} after {rounds}", counted(communities, "community", "communities"))))
}
