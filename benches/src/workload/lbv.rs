//! Lbv: the micro-benchmarks of Lissandrini, Brugnara and Velegrakis as G-Tran has them, by clients in turn.
//!
//! ```text
//! read-only          Q11 to Q15, Q22 to Q27, equal shares         read_only
//! read-intensive     80 % of those, 20 % of the writes            reads_80
//! write-intensive    20 % of those, 80 % of the writes            reads_20
//! writes             Q2 to Q7, Q16 to Q21, equal shares
//! ```
//!
//! Each query is a transaction: one that reads is a text to the database, which asks a snapshot; one that writes is a text
//! in a transaction, tried again after a conflict. Each run has a database of its own, made anew, and is held against
//! what its clients were acknowledged ([`check`]).
//!
//! Source: Lissandrini et al. (PVLDB 12, 2018), table 2; G-Tran (PVLDB 15, 2022), section 6. Differs: Q22 to Q24 give the
//! vertices; Q11 to Q13 count, as the authors' programs do.

pub mod check;
pub mod client;
pub mod graph;
pub mod query;

use crate::goals::baseline;
use crate::plan::Work;
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::lbv::client::{Client, Workload};
use crate::workload::lbv::graph::Shape;
use crate::workload::lbv::query::{READS, WRITES};
use crate::workload::linkbench::home::mean_and_tails;
use evergraph::Isolation;
use evergraph::generate::random::Random;
use evergraph_graph::error::Result;
use evergraph_measure::clients;
use evergraph_measure::figure::Unit;

const PURPOSE: u64 = 409;
const CLIENTS: [usize; 3] = [1, 2, 8];
const LEVELS: [Isolation; 2] = [Isolation::Snapshot, Isolation::Serializable];
/// Mixes: name, title, and the share of reads in percent.
pub const MIXES: [(&str, &str, u64); 3] =
    [("read_only", "reads only", 100), ("reads_80", "80 % reads", 80), ("reads_20", "20 % reads", 20)];

/// What a run comes to.
struct Figures {
    rate: f64,
    mean: f64,
    p99: f64,
    aborted: f64,
}

/// Measures each mix with each number of clients at both levels of isolation.
///
/// # Errors
/// `corrupt` if the graph is not what was acknowledged; what the database says.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let shape = Shape::of(work.plan)?;
    // By query, one client at snapshot isolation: the mean of each round.
    let mut by_query: Vec<Vec<f64>> = vec![Vec::new(); 28];
    for (name, title, reads) in MIXES {
        for clients in CLIENTS {
            let mut races = [(); 3].map(|()| Race::new(["evergraph", baseline::SERIALIZABLE]));
            let mut aborted = [Vec::new(), Vec::new()];
            for round in 0..work.plan.rounds {
                let mut figures = [None, None];
                for place in order(round, LEVELS.len()) {
                    let (found, times) = run(work, &shape, clients, reads, LEVELS[place], round)?;
                    aborted[place].push(found.aborted);
                    if clients == 1 && place == 0 && name != "reads_80" {
                        note_queries(&mut by_query, &times, reads == 100);
                    }
                    figures[place] = Some(found);
                }
                let figures = figures.map(|figures| figures.expect("both levels ran"));
                races[0].note(&figures.each_ref().map(|figures| figures.rate));
                races[1].note(&figures.each_ref().map(|figures| figures.mean));
                races[2].note(&figures.each_ref().map(|figures| figures.p99));
            }
            let who = if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") };
            let heading = |what: &str, words: &str, unit| {
                Heading::new(
                    format!("lbv.{name}.clients_{clients}{what}"),
                    format!("{title}, {who}: {words}"),
                    unit,
                )
            };
            work.add_race(&heading("", "transactions", Unit::PerSecond), &races[0]);
            work.add_race(&heading(".mean", "mean of a transaction", Unit::Seconds), &races[1]);
            work.add_race(&heading(".p99", "P99 of a transaction", Unit::Seconds), &races[2]);
            for (level, aborted) in LEVELS.iter().zip(&aborted) {
                let (what, words) =
                    (format!(".aborted.{}", level.name()), format!("refused at {}", level.name()));
                work.add(&heading(&what, &words, Unit::Share), aborted);
            }
        }
    }
    for query in READS.iter().chain(&WRITES) {
        let means = &by_query[usize::from(*query)];
        if !means.is_empty() {
            let title = format!("Q{query}, 1 client: {}", query::text(*query).gremlin);
            work.add(&Heading::new(format!("lbv.query.{query}"), title, Unit::Seconds), means);
        }
    }
    work.note(format!("{}; in memory, made anew for each run", shape.title()));
    work.note("ours is snapshot isolation, beside it serialisable; a query is a transaction, with its attempts after conflicts");
    work.note("refused: attempts that met a conflict, of all attempts");
    work.note("Q13 visits all edges of a type, and takes most of the time of all reads");
    Ok(())
}

/// Notes the means of the round's queries: of those that read, or of those that write.
fn note_queries(by_query: &mut [Vec<f64>], times: &[(u8, f64)], reads: bool) {
    for query in if reads { READS.as_slice() } else { WRITES.as_slice() } {
        let of = || times.iter().filter(|(of, _)| of == query).map(|(_, time)| *time);
        let count = of().count();
        if count > 0 {
            by_query[usize::from(*query)].push(of().sum::<f64>() / count as f64);
        }
    }
}

/// A run on a database of its own, whose end is checked; what it comes to, and which query took how long.
fn run(
    work: &Work<'_>,
    shape: &Shape,
    clients: usize,
    reads: u64,
    isolation: Isolation,
    round: usize,
) -> Result<(Figures, Vec<(u8, f64)>)> {
    let made = shape.make(work.plan.seed)?;
    let random = |number| Random::new(work.plan.seed, PURPOSE + round as u64, number as u64);
    let mut all: Vec<Client> = (0..clients).map(|number| Client::new(number, random(number))).collect();
    let workload = Workload::new(&made.population, reads, isolation);
    let run = clients::run(&mut all, work.plan.run_time, |client| client.step(&made.database, &workload))?;
    let acknowledged: Vec<_> = all.iter().map(|client| &client.acknowledged).collect();
    check::check(&made, &acknowledged)?;
    let times: Vec<(u8, f64)> = all.into_iter().flat_map(|client| client.times).collect();
    let mut seconds: Vec<f64> = times.iter().map(|(_, time)| *time).collect();
    let [mean, p99, _] = mean_and_tails(&mut seconds);
    Ok((Figures { rate: run.rate(), mean, p99, aborted: run.aborted() }, times))
}
