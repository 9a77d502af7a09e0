//! Reads by engine: edges looked up, lists of random vertices, all lists, and PageRank on top of those.
//!
//! ```text
//! seek        the first neighbour of a vertex           a run of as many vertices
//! a neighbour (all neighbours - the first) / further neighbours, of the same vertices
//! ```
//!
//! Vertices are drawn by Zipf's law, exponent 0.8, so that some come again and again.

use crate::edges::{Contents, degrees, sorted};
use crate::engine::kind::Kind;
use crate::engine::store::{Commit, Edge, Reader, Store};
use crate::goals::baseline;
use crate::plan::{Work, expect, wrong};
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::{Spent, Stopwatch};
use crate::workload::pool::pool;
use crate::workload::stores::{names, open_all};
use evergraph::generate::random::Random;
use evergraph_algorithms::control::Control;
use evergraph_algorithms::csr::StaticCsr;
use evergraph_algorithms::pagerank::PageRankParameters;
use evergraph_analysis::kernels::pagerank;
use evergraph_analysis::lists::Lists;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::vertex_set::VertexSet;
use evergraph_measure::figure::Unit;
use evergraph_measure::social::shape::{Shuffle, Zipf};

const PURPOSE: u64 = 402;
const EXPONENT: f64 = 0.8;
const DAMPING: f64 = 0.85;
const ITERATIONS: u32 = 20;
/// Some engines take seconds for one PageRank.
const PAGERANK_ROUNDS: usize = 3;
/// Two engines add the same numbers in other orders.
const TOLERANCE: f64 = 1e-9;

/// Measures reads at two average degrees.
///
/// # Errors
/// `corrupt` if engines answer differently; what they say.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let degrees = degrees(work.plan);
    for degree in &degrees {
        let edges = sorted(work.plan, *degree)?;
        let name = format!("degree_{degree}");
        let stores = open_all(work, &name, Commit::Unsynced)?;
        for (kind, store) in Kind::ALL.iter().zip(&stores) {
            store.load(&edges)?;
            store.settle()?;
            Contents::of(&edges).check(kind.name(), &**store)?;
        }
        look_ups(work, &name, &stores, &edges)?;
        lists(work, &name, &stores)?;
        scans(work, &name, &stores, &edges)?;
        if Some(degree) == degrees.last() {
            page_rank(work, &stores, &edges)?;
        }
        stores.into_iter().try_for_each(Store::close)?;
    }
    work.note(
        "one thread; each run in one snapshot or read transaction; data is in memory or the system's cache",
    );
    work.note("loaded in order, merged or compacted before: what an engine is after a while without writes");
    work.note("PageRank pushes ranks along a scan of all lists, twenty times, the same code on every engine's scan, \
               beside our kernel on a static array of the same edges; ours by its own kernel stands under \
               \"Algorithms on live data\"");
    Ok(())
}

/// What a reader of `store` answers, and what that took; opening the reader doesn't count.
fn timed_read<T>(
    store: &dyn Store,
    question: &mut impl FnMut(&mut dyn Reader) -> Result<T>,
) -> Result<(T, Spent)> {
    let mut answered = None;
    store.read(&mut |reader| {
        let watch = Stopwatch::start();
        let answer = question(reader)?;
        answered = Some((answer, watch.stop()));
        Ok(())
    })?;
    Ok(answered.expect("a store that reads calls its reader"))
}

/// Asks every engine in every round; a wrong answer ends it.
fn ask<T: PartialEq + std::fmt::Debug>(
    rounds: usize,
    stores: &[Box<dyn Store>],
    what: &str,
    mut question: impl FnMut(&mut dyn Reader) -> Result<T>,
    value: impl Fn(f64, &T) -> f64,
) -> Result<Race> {
    let mut race = Race::new(names()).undisturbed();
    let mut expected: Option<T> = None;
    for round in 0..rounds {
        race.round(round, |place| {
            let (answer, spent) = timed_read(&*stores[place], &mut question)?;
            let measured = Sample::timed(value(spent.wall, &answer), spent);
            match &expected {
                Some(expected) => {
                    if answer != *expected {
                        return Err(wrong(Kind::ALL[place].name(), what, answer, expected));
                    }
                }
                None => expected = Some(answer),
            }
            Ok(measured)
        })?;
    }
    Ok(race)
}

/// Half of what is asked for is there.
fn look_ups(work: &mut Work<'_>, name: &str, stores: &[Box<dyn Store>], edges: &[Edge]) -> Result<()> {
    let (mut random, vertices) = (Random::new(work.plan.seed, PURPOSE, 0), u64::from(work.plan.vertices()));
    let questions: Vec<Edge> = (0..work.plan.questions)
        .map(|number| match number % 2 {
            0 => edges[random.below(edges.len() as u64) as usize],
            _ => (random.below(vertices) as u32, random.below(vertices) as u32),
        })
        .collect();
    let expected = questions.iter().filter(|edge| edges.binary_search(edge).is_ok()).count();
    let ask_all = |reader: &mut dyn Reader| {
        let mut found = 0;
        for edge in &questions {
            found += usize::from(reader.has(*edge)?);
        }
        expect("an engine", "edges found", found, expected)?;
        Ok(found)
    };
    let each = |seconds: f64, _: &usize| seconds / questions.len() as f64;
    let race = ask(work.plan.rounds, stores, "edges found", ask_all, each)?;
    let title = format!("look-up of one edge, {}", name.replace('_', " "));
    work.add_race(&Heading::new(format!("look_up.{name}"), title, Unit::Seconds), &race);
    Ok(())
}

/// The first neighbours of vertices, then all of them.
fn lists(work: &mut Work<'_>, name: &str, stores: &[Box<dyn Store>]) -> Result<()> {
    let mut random = Random::new(work.plan.seed, PURPOSE, 1);
    let (zipf, shuffle) =
        (Zipf::new(work.plan.vertices(), EXPONENT), Shuffle::new(work.plan.vertices(), &mut random));
    let starts: Vec<u32> = (0..work.plan.questions).map(|_| shuffle.at(zipf.draw(&mut random))).collect();
    let read_to = |limit: usize| {
        let starts = &starts;
        move |reader: &mut dyn Reader| {
            let (mut list, mut sum, mut read) = (Vec::new(), 0u64, 0u64);
            for start in starts {
                list.clear();
                reader.neighbors(*start, limit, &mut list)?;
                sum += list.iter().map(|neighbor| u64::from(*neighbor)).sum::<u64>();
                read += list.len() as u64;
            }
            Result::Ok((read, sum))
        }
    };
    let seconds = |seconds: f64, _: &(u64, u64)| seconds;
    let mut counts = [0; 2];
    let mut races = Vec::new();
    for (limit, count) in [1, usize::MAX].into_iter().zip(&mut counts) {
        let read = read_to(limit);
        let counted = |reader: &mut dyn Reader| {
            let answer = read(reader)?;
            *count = answer.0;
            Ok(answer)
        };
        races.push(ask(work.plan.rounds, stores, "neighbours read", counted, seconds)?);
    }
    let [first, all] = counts;
    let per = |race: &Race, count: u64| race.map(|seconds| seconds / count as f64);
    let degree = name.replace('_', " ");
    let heading =
        |what: &str, title: String| Heading::new(format!("neighbors.{name}.{what}"), title, Unit::Seconds);
    let seek = per(&races[0], work.plan.questions as u64);
    work.add_race(&heading("seek", format!("seek: the first neighbour of a vertex, {degree}")), &seek);
    let list = per(&races[1], work.plan.questions as u64);
    work.add_race(&heading("list", format!("all neighbours of a vertex, {degree}")), &list);
    let further = per(&races[1].less(&races[0]), (all - first).max(1));
    work.add_race(&heading("next", format!("each neighbour after the first, {degree}")), &further);
    Ok(())
}

fn scans(work: &mut Work<'_>, name: &str, stores: &[Box<dyn Store>], edges: &[Edge]) -> Result<()> {
    let expected: u64 = edges.iter().map(|edge| u64::from(edge.1)).sum();
    let read_all = |reader: &mut dyn Reader| {
        let mut sum = 0u64;
        reader.scan(&mut |_, targets| sum += targets.iter().map(|target| u64::from(*target)).sum::<u64>())?;
        expect("an engine", "the sum of all neighbours", sum, expected)?;
        Ok(sum)
    };
    let rate = |seconds: f64, _: &u64| edges.len() as f64 / seconds;
    let race = ask(work.plan.rounds, stores, "the sum of all neighbours", read_all, rate)?;
    let title = format!("edges read in a scan of all, {}", name.replace('_', " "));
    work.add_race(&Heading::new(format!("scan.{name}"), title, Unit::PerSecond), &race);
    Ok(())
}

/// By scans of every engine; beside them our kernel on a static array.
fn page_rank(work: &mut Work<'_>, stores: &[Box<dyn Store>], edges: &[Edge]) -> Result<()> {
    let vertices = work.plan.vertices();
    let array = Lists::from(StaticCsr::new(VertexSet::full(vertices), edges, None, Direction::Both)?);
    let one_thread = pool(1)?;
    let mut expected: Option<Vec<f64>> = None;
    let mut race = Race::new(names().chain([baseline::STATIC])).undisturbed();
    for round in 0..work.plan.rounds.min(PAGERANK_ROUNDS) {
        race.round(round, |place| {
            let (ranks, spent) = match stores.get(place) {
                Some(store) => timed_read(&**store, &mut |reader| pushed(reader, vertices as usize))?,
                None => {
                    let watch = Stopwatch::start();
                    let ranks = one_thread
                        .install(|| pagerank(&array, &PageRankParameters::default(), &Control::default()))?;
                    (ranks.scores, watch.stop())
                }
            };
            let first = expected.get_or_insert_with(|| ranks.clone());
            let apart = first.iter().zip(&ranks).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max);
            if apart > TOLERANCE {
                let who = names().nth(place).unwrap_or(baseline::STATIC);
                return Err(wrong(who, "ranks that differ from the first engine's", apart, 0.0));
            }
            Ok(Sample::timed(spent.wall, spent))
        })?;
    }
    work.add_race(
        &Heading::new("pagerank.by_scans", "PageRank, 20 iterations by scans", Unit::Seconds),
        &race,
    );
    Ok(())
}

/// PageRank by pushing along out lists; vertices without any share theirs with all.
fn pushed(reader: &mut dyn Reader, vertices: usize) -> Result<Vec<f64>> {
    let even = 1.0 / vertices as f64;
    let mut degrees = vec![0u32; vertices];
    reader.scan(&mut |source, targets| degrees[source as usize] += targets.len() as u32)?;
    let mut ranks = vec![even; vertices];
    for _ in 0..ITERATIONS {
        let lost: f64 =
            ranks.iter().zip(&degrees).filter(|(_, degree)| **degree == 0).map(|(rank, _)| rank).sum();
        let mut next = vec![0.0; vertices];
        reader.scan(&mut |source, targets| {
            let share = ranks[source as usize] / f64::from(degrees[source as usize]);
            targets.iter().for_each(|target| next[*target as usize] += share);
        })?;
        for (rank, next) in ranks.iter_mut().zip(&next) {
            *rank = (1.0 - DAMPING) * even + DAMPING * (next + lost * even);
        }
    }
    Ok(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Lists(Vec<(u32, Vec<u32>)>);

    impl Reader for Lists {
        fn has(&mut self, _: Edge) -> Result<bool> {
            unreachable!("only scanned")
        }

        fn neighbors(&mut self, _: u32, _: usize, _: &mut Vec<u32>) -> Result<()> {
            unreachable!("only scanned")
        }

        fn scan(&mut self, visit: &mut dyn FnMut(u32, &[u32])) -> Result<()> {
            self.0.iter().for_each(|(source, targets)| visit(*source, targets));
            Ok(())
        }
    }

    #[test]
    fn ranks_sum_to_one_and_a_cycle_is_even() {
        let cycle = pushed(&mut Lists(vec![(0, vec![1]), (1, vec![2]), (2, vec![0])]), 3).unwrap();
        assert!(cycle.iter().all(|rank| (rank - 1.0 / 3.0).abs() < 1e-12), "{cycle:?}");
        let star = pushed(&mut Lists(vec![(0, vec![3]), (1, vec![3]), (2, vec![3])]), 4).unwrap();
        assert!((star.iter().sum::<f64>() - 1.0).abs() < 1e-12 && star[3] > 2.0 * star[0], "{star:?}");
    }
}
