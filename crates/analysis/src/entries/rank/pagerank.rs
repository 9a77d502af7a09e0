//! PageRank: its entry.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{SCORE, VERTEX};
use crate::convergence::{last_round, mean_change};
use crate::input::Input;
use crate::parameter::{DefaultValue, Parameter};
use evergraph_algorithms::control::Control;
use evergraph_algorithms::pagerank::{PageRankParameters, pagerank};
use evergraph_algorithms::range::RealRange;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;

pub static PAGERANK: Algorithm = Algorithm {
    name: "pagerank",
    group: Group::WhoMatters,
    summary: "Importance of each vertex, as the share of a random walk's time spent there.",
    details: "",
    example: "bank.eg pagerank --where 'country=DE' --output ranks.parquet",
    parameters: &[
        Parameter::direction(Direction::Out).means("Along which edges rank flows."),
        Parameter::whole("iterations", "N", 0, DefaultValue::Whole(20))
            .means("Number of rounds; with a tolerance, the maximum."),
        Parameter::real("damping", "D", RealRange::UpToOne, 0.85)
            .means("The probability of following an edge rather than jumping anywhere."),
        Parameter::optional_real("tolerance", "T", RealRange::FiniteFromZero, "")
            .means("Stop after a round in which the mean change of a score is below this."),
    ],
    reads: Reads::Direction,
    columns: &[VERTEX, SCORE],
    order: Order::Highest,
    figures: &["iterations", "change", "change_mean", "converged"],
    cost: Cost {
        time: "*E* a round, 20 rounds",
        memory: "32 B · *V*",
        memory_bytes: Some(|of| 32 * of.vertices),
    },
    stops: Stops::Soon,
    kernel: run,
};

pub fn parameters(arguments: &Arguments) -> PageRankParameters {
    PageRankParameters {
        damping: arguments.real("damping"),
        iterations: arguments.count("iterations"),
        tolerance: arguments.optional_real("tolerance"),
        direction: arguments.direction(),
        start: None,
    }
}

fn run(input: &Input<'_>, arguments: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let parameters = parameters(arguments);
    let lists = input.lists(Direction::Both, None, control)?;
    let found = input.timed(|| pagerank(&lists, &parameters, control))?;
    let change_mean = mean_change(found.change, lists.vertices().len());
    Ok(Answer::scores(lists.vertices(), &found.scores)
        .figure("iterations", found.iterations)
        .figure("change", found.change)
        .figure("change_mean", change_mean)
        .figure("converged", found.converged)
        .summary(last_round(found.iterations, change_mean, "on average", parameters.tolerance)))
}
