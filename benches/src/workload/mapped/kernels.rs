//! Kernels: algorithms that read a store's lists in place, beside the same kernel on a static array.

use crate::edges::Contents;
use crate::goals::baseline;
use crate::plan::{Work, expect, wrong};
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::Stopwatch;
use crate::workload::live::busiest;
use crate::workload::mapped::shuffled;
use crate::workload::mapped::store::{COLUMNS, Ending, RawOptions, Sides, names};
use crate::workload::pool::pool;
use evergraph_algorithms::csr::StaticCsr;
use evergraph_analysis::lists::Lists;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_measure::figure::Unit;
use evergraph_measure::kernel::{Answer, Kernel};

/// Those of the paper.
const KERNELS: [Kernel; 4] = [Kernel::PageRank, Kernel::Bfs, Kernel::Wcc, Kernel::Betweenness];
/// Scores of two runs may differ by so much: sums in another order.
const TOLERANCE: f64 = 1e-9;

/// Measures all kernels on each number of threads, on the graph as its insertions leave it.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let edges = shuffled(work.plan, work.plan.mapped.degree)?;
    let vertices = work.plan.vertices();
    let options = RawOptions::new(work.plan, edges.len(), Sides::Both);
    let mut folders = Vec::new();
    let mut stores = Vec::new();
    let mut contenders = Vec::new();
    for column in COLUMNS {
        let folder = work.folder_for(column.name)?;
        let store = (column.create)(folder.path(), &options)?;
        store.insert(&edges)?;
        let lists = store.lists()?;
        expect(column.name, "all its edges", lists.contents()?, Contents::of(&edges))?;
        let counts = store.counts();
        if counts.log_capacity > 0 {
            let share = counts.logged as f64 / (2 * edges.len()) as f64;
            work.note(format!(
                "{}: {:.1} % of the edges wait in logs while kernels run",
                column.name,
                100.0 * share
            ));
        }
        contenders.push(lists);
        stores.push(store);
        folders.push(folder);
    }
    let fixed = Lists::from(StaticCsr::new(VertexSet::full(vertices), &edges, None, Direction::Both)?);
    let source = VertexId(busiest(&edges, vertices));
    race(work, &KernelSeries::all("mapped"), &names().collect::<Vec<_>>(), |kernel, place| {
        match place.and_then(|place| contenders.get(place)) {
            Some(lists) => lists.run(kernel, source),
            None => kernel.run(&fixed, source),
        }
    })?;
    drop(contenders);
    stores.into_iter().try_for_each(|store| store.end(Ending::Dropped))
}

/// Kernels that are raced on one graph.
pub struct KernelSeries<'a> {
    /// What the names of their figures begin with.
    pub name: &'a str,
    /// What their titles say of the graph.
    pub graph: &'a str,
    /// Which ones.
    pub kernels: &'a [Kernel],
}

impl<'a> KernelSeries<'a> {
    /// Those of the paper, on a graph of which nothing has to be said.
    pub fn all(name: &'a str) -> Self {
        Self { name, graph: "", kernels: &KERNELS }
    }
}

/// Races `contenders` and, last, a static array: each kernel on each number of threads. `run` runs a kernel on what the contender
/// of a number has, or on the array, and their answers are compared.
///
/// # Errors
/// Those of `run`; an answer that differs from the array's.
pub fn race(
    work: &mut Work<'_>,
    series: &KernelSeries<'_>,
    contenders: &[&'static str],
    run: impl Fn(Kernel, Option<usize>) -> Result<Answer> + Sync,
) -> Result<()> {
    for kernel in series.kernels.iter().copied() {
        for threads in work.plan.threads.clone() {
            let pool = pool(threads)?;
            let mut race = Race::new(contenders.iter().copied().chain([baseline::STATIC]));
            if threads == 1 {
                race = race.undisturbed();
            }
            let expected = pool.install(|| run(kernel, None))?;
            for round in 0..work.plan.rounds {
                race.round(round, |place| {
                    let contender = Some(place).filter(|place| *place < contenders.len());
                    let watch = Stopwatch::start();
                    let answer = pool.install(|| run(kernel, contender))?;
                    let spent = watch.stop();
                    let apart = answer.difference(&expected)?;
                    if apart > TOLERANCE {
                        let who = contenders.get(place).copied().unwrap_or(baseline::STATIC);
                        return Err(wrong(who, "scores that differ from the static array's", apart, 0.0));
                    }
                    Ok(Sample::timed(spent.wall, spent))
                })?;
            }
            let plural = if threads == 1 { "" } else { "s" };
            let title = format!("{}{}, {threads} thread{plural}", kernel.title(), series.graph);
            let name = format!("{}.{}.threads_{threads}", series.name, kernel.name());
            work.add_race(&Heading::new(name, title, Unit::Seconds).with("threads", threads), &race);
        }
    }
    Ok(())
}
