//! Betweenness: its entry.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{SCORE, VERTEX};
use crate::input::Input;
use crate::parameter::{Flag, Parameter, SAMPLE, SEED};
use evergraph_algorithms::betweenness::{BetweennessParameters, betweenness};
use evergraph_algorithms::control::Control;
use evergraph_graph::count::counted;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;

pub static BETWEENNESS: Algorithm = Algorithm {
    name: "betweenness",
    group: Group::WhoMatters,
    summary: "How many shortest paths lead through each vertex.",
    details: "\
The exact result searches from every vertex: above about 100,000 vertices, use a sample.",
    example: "bank.eg betweenness --sample 100 --direction both",
    parameters: &[
        Parameter::direction(Direction::Out).means("Along which edges paths go."),
        SAMPLE,
        SEED,
        Parameter::boolean(
            "normalized",
            Flag {
                name: "raw",
                summary: "Count paths, instead of dividing by the number of pairs that a vertex could be between.",
            },
        )
        .means("Divide by the number of pairs that a vertex could be between."),
    ],
    reads: Reads::Direction,
    columns: &[VERTEX, SCORE],
    order: Order::Highest,
    figures: &["sources"],
    cost: Cost {
        time: "2 *E* for each source; all vertices, or `sample`",
        memory: "8 B · *V*, and 49 B · *V* for each source at once",
        // 64 sources at once, but no more than 2 Mi vertices in all, or one source.
        memory_bytes: Some(|of| 8 * of.vertices + 49 * of.vertices.max((64 * of.vertices).min(2 << 20))),
    },
    stops: Stops::Soon,
    kernel: run,
};

pub fn parameters(arguments: &Arguments) -> BetweennessParameters {
    BetweennessParameters {
        sources: arguments.sources(),
        direction: arguments.direction(),
        normalized: arguments.boolean("normalized"),
    }
}

fn run(input: &Input<'_>, arguments: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let lists = input.lists(Direction::Both, None, control)?;
    let found = input.timed(|| betweenness(&lists, &parameters(arguments), control))?;
    Ok(Answer::scores(lists.vertices(), &found.scores)
        .figure("sources", found.sources)
        .summary(format!("shortest paths from {}", counted(found.sources, "source", "sources"))))
}
