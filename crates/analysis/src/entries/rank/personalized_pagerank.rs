//! Personalised PageRank: its entry.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{SCORE, VERTEX};
use crate::convergence::last_round;
use crate::input::Input;
use crate::parameter::{DefaultValue, Parameter};
use evergraph_algorithms::control::Control;
use evergraph_algorithms::personalized_pagerank::{PersonalizedPageRankParameters, personalized_pagerank};
use evergraph_algorithms::range::RealRange;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;

pub static PERSONALIZED_PAGERANK: Algorithm = Algorithm {
    name: "personalized_pagerank",
    group: Group::WhoMatters,
    summary: "How near each vertex is to given vertices, by random walks that restart there.",
    details: "\
The score of a vertex is the share of the walk's time spent there, 0 if no walk reaches it. If all
vertices are sources, the scores are those of PageRank. The tolerance limits the sum of all changes,
since most scores may be close to 0.",
    example: "bank.eg personalized-pagerank --source 10034831 --direction both",
    parameters: &[
        Parameter::vertices("sources").means("Begin at these vertices, with equal chances."),
        Parameter::direction(Direction::Out).means("Along which edges the walk goes."),
        Parameter::whole("iterations", "N", 0, DefaultValue::Whole(100)).means("Maximum number of rounds."),
        Parameter::real("damping", "D", RealRange::UpToOne, 0.85)
            .means("The probability of following an edge rather than beginning again."),
        Parameter::real("tolerance", "T", RealRange::FiniteFromZero, 1e-6)
            .means("Stop after a round in which the changes of all scores add up to less than this."),
    ],
    reads: Reads::Direction,
    columns: &[VERTEX, SCORE],
    order: Order::Highest,
    figures: &["iterations", "change", "converged"],
    cost: Cost {
        time: "*E* a round, at most 100 rounds",
        memory: "32 B · *V*",
        memory_bytes: Some(|of| 32 * of.vertices),
    },
    stops: Stops::Soon,
    kernel: run,
};

pub fn parameters(arguments: &Arguments) -> PersonalizedPageRankParameters {
    PersonalizedPageRankParameters {
        damping: arguments.real("damping"),
        iterations: arguments.count("iterations"),
        tolerance: arguments.optional_real("tolerance"),
        direction: arguments.direction(),
    }
}

fn run(input: &Input<'_>, arguments: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let parameters = parameters(arguments);
    let lists = input.lists(Direction::Both, None, control)?;
    let sources = arguments.vertices("sources");
    let found = input.timed(|| personalized_pagerank(&lists, sources, &parameters, control))?;
    Ok(Answer::scores(lists.vertices(), &found.scores)
        .figure("iterations", found.iterations)
        .figure("change", found.change)
        .figure("converged", found.converged)
        .summary(last_round(found.iterations, found.change, "in all", parameters.tolerance)))
}
