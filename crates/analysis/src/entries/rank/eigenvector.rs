//! Eigenvector centrality: its entry.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{SCORE, VERTEX};
use crate::convergence::{last_round, mean_change};
use crate::input::Input;
use crate::parameter::{DefaultValue, MISSING_WEIGHT, Parameter, WEIGHT};
use evergraph_algorithms::control::Control;
use evergraph_algorithms::eigenvector::{EigenvectorParameters, eigenvector};
use evergraph_algorithms::range::RealRange;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;

pub static EIGENVECTOR: Algorithm = Algorithm {
    name: "eigenvector",
    group: Group::WhoMatters,
    summary: "Importance of each vertex, from the importance of its in-neighbours.",
    details: "",
    example: "bank.eg eigenvector --tolerance 1e-9 --iterations 500",
    parameters: &[
        Parameter::direction(Direction::Out).means("Along which edges importance flows."),
        WEIGHT,
        MISSING_WEIGHT,
        Parameter::whole("iterations", "N", 0, DefaultValue::Whole(100)).means("Maximum number of rounds."),
        Parameter::real("tolerance", "T", RealRange::FiniteFromZero, 1e-6)
            .means("Stop after a round in which the mean change of a score is below this."),
    ],
    reads: Reads::Direction,
    columns: &[VERTEX, SCORE],
    order: Order::Highest,
    figures: &["iterations", "change", "change_mean", "converged"],
    cost: Cost {
        time: "*E* a round, until it converges",
        memory: "20 B · *V*",
        memory_bytes: Some(|of| 20 * of.vertices),
    },
    stops: Stops::Soon,
    kernel: run,
};

pub fn parameters(arguments: &Arguments) -> EigenvectorParameters {
    EigenvectorParameters {
        iterations: arguments.count("iterations"),
        tolerance: arguments.real("tolerance"),
        direction: arguments.direction(),
    }
}

fn run(input: &Input<'_>, arguments: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let parameters = parameters(arguments);
    let weight = input.weight(arguments.property("weight"), arguments.optional_real("missing_weight"))?;
    // Importance is pulled: along the lists of those that it comes from.
    let lists = input.lists(parameters.direction.reversed(), weight, control)?;
    let found = input.timed(|| eigenvector(&lists, &parameters, control))?;
    let change_mean = mean_change(found.change, lists.vertices().len());
    Ok(Answer::scores(lists.vertices(), &found.scores)
        .figure("iterations", found.iterations)
        .figure("change", found.change)
        .figure("change_mean", change_mean)
        .figure("converged", found.converged)
        .summary(last_round(found.iterations, change_mean, "on average", Some(parameters.tolerance))))
}
