//! In place: PageRank and WCC where the graph lives, against taking its edges elsewhere first.
//!
//! ```text
//!          prepare                                             run
//! ours     snapshot, freeze                                    kernel on the live lists
//! theirs   export: a scan into pairs   load: a static array    the same kernel on the array
//! ```
//!
//! Before each run 1 % of the edges is inserted: into ours an edge a transaction, so that some wait for their
//! merge; into the others all in one, which is in their favour. Answers must be the same.

use crate::edges::distinct;
use crate::engine::evergraph::EvergraphStore;
use crate::engine::kind::Kind;
use crate::engine::store::{Commit, Edge, Store};
use crate::folder::make_folder;
use crate::plan::{Work, wrong};
use crate::race::{Race, Sample, order};
use crate::results::{Heading, Median};
use crate::stopwatch::{Spent, Stopwatch};
use crate::workload::pool::pool;
use crate::workload::stores::names;
use evergraph_algorithms::csr::StaticCsr;
use evergraph_analysis::lists::Lists;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_measure::figure::Unit;
use evergraph_measure::kernel::{Answer, Kernel};

const KERNELS: [Kernel; 2] = [Kernel::PageRank, Kernel::Wcc];
/// The part of the edges that is inserted before a run.
const FRESH: f64 = 0.01;
/// Scores of two runs may differ by so much: sums in another order.
const TOLERANCE: f64 = 1e-9;

/// What one way from a store to an answer took.
struct Way {
    export: Spent,
    load: Spent,
    run: Spent,
    answer: Answer,
}

/// Measures both kernels on each number of threads.
///
/// # Errors
/// `corrupt` if an answer differs; what engines say.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let edges = distinct(work.plan, 16)?;
    let runs = work.plan.rounds * KERNELS.len() * work.plan.threads.len();
    let batch = ((edges.len() as f64 * FRESH) as usize).max(1);
    let (first, later) = edges.split_at(edges.len().saturating_sub(runs * batch));
    let mut first = first.to_vec();
    first.sort_unstable();
    let folder = work.place("in-place");
    make_folder(&folder)?;
    let ours = EvergraphStore::open(&folder, work.plan.vertices(), Commit::Unsynced)?;
    ours.load(&first)?;
    let open = |kind: &Kind| {
        let store = kind.open(&folder.join(kind.name()), work.plan.vertices(), Commit::Unsynced)?;
        store.load(&first)?;
        store.settle()?;
        Ok(store)
    };
    let others = Kind::ALL[1..].iter().map(open).collect::<Result<Vec<_>>>()?;
    let mut later = later.chunks(batch);
    for kernel in KERNELS {
        for threads in work.plan.threads.clone() {
            let batches = later.by_ref().take(work.plan.rounds);
            beside(work, kernel, threads, &ours, &others, batches)?;
        }
    }
    Box::new(ours).close()?;
    others.into_iter().try_for_each(Store::close)?;
    work.note("ours: snapshot, freeze and kernel on the live lists, 1 % of the edges inserted right before");
    work.note("theirs: a scan of all edges into pairs, a static array of those, the same kernel on it");
    work.note(
        "a static array is built on the same threads; a scan has one; ours freezes on the same threads",
    );
    work.note("LiveGraph (2020), table 10: PageRank in place 266 ms, beside 156 ms of Gemini after 1,520 ms of export and load");
    Ok(())
}

/// One kernel on one number of threads, a batch of fresh edges a round.
fn beside<'a>(
    work: &mut Work<'_>,
    kernel: Kernel,
    threads: usize,
    ours: &EvergraphStore,
    others: &[Box<dyn Store>],
    batches: impl Iterator<Item = &'a [Edge]>,
) -> Result<()> {
    let (pool, vertices) = (pool(threads)?, work.plan.vertices());
    let [mut whole, mut prepare, mut run] = [(); 3].map(|()| Race::new(names()));
    let mut stages: Vec<[Vec<f64>; 2]> = others.iter().map(|_| [Vec::new(), Vec::new()]).collect();
    for (round, batch) in batches.enumerate() {
        others.iter().try_for_each(|store| store.put(batch))?;
        batch.iter().try_for_each(|edge| ours.put(&[*edge]))?;
        let mut ways: Vec<Option<Way>> = names().map(|_| None).collect();
        for place in order(round, ways.len()) {
            let way = match place.checked_sub(1) {
                None => pool.install(|| in_place(kernel, ours, vertices))?,
                Some(other) => pool.install(|| exported(kernel, &*others[other], vertices))?,
            };
            ways[place] = Some(way);
        }
        let ways: Vec<Way> = ways.into_iter().flatten().collect();
        for (name, way) in names().zip(&ways) {
            let apart = ways[0].answer.difference(&way.answer)?;
            if apart > TOLERANCE {
                return Err(wrong(name, "scores that differ from ours", apart, 0.0));
            }
        }
        let samples = |spent: fn(&Way) -> Spent| {
            ways.iter().map(|way| Sample::timed(spent(way).wall, spent(way))).collect::<Vec<_>>()
        };
        whole.note_samples(&samples(|way| way.export + way.load + way.run), 0);
        prepare.note_samples(&samples(|way| way.export + way.load), 0);
        run.note_samples(&samples(|way| way.run), 0);
        for (stages, way) in stages.iter_mut().zip(&ways[1..]) {
            stages[0].push(way.export.wall);
            stages[1].push(way.load.wall);
        }
    }
    let plural = if threads == 1 { "" } else { "s" };
    let heading = |part: &str, what: &str| {
        let name = format!("in_place.{}.{part}.threads_{threads}", kernel.name());
        let title = format!("{}, {threads} thread{plural}: {what}", kernel.title());
        Heading::new(name, title, Unit::Seconds)
    };
    work.add_race(&heading("whole", "from the store to the answer"), &whole);
    let mut prepared = heading("prepare", "until it can run");
    for (name, [export, load]) in names().skip(1).zip(&stages) {
        let [export, load] = [export, load].map(|seconds| Unit::Seconds.show(Median::of(seconds).median));
        let split = format!("export {export}, load {load}");
        if kernel == Kernel::PageRank {
            work.note(format!("{name}, {threads} thread{plural}: {split}"));
        }
        prepared = prepared.with(name, split);
    }
    work.add_race(&prepared, &prepare);
    work.add_race(&heading("run", "the run alone"), &run);
    Ok(())
}

/// Ours: nothing is exported; freezing is what there is to load.
fn in_place(kernel: Kernel, store: &EvergraphStore, vertices: u32) -> Result<Way> {
    let watch = Stopwatch::start();
    let topology = kernel.freeze(&store.database().snapshot(), None)?;
    let load = watch.stop();
    let watch = Stopwatch::start();
    let answer = kernel.run(&topology, VertexId(0))?;
    let run = watch.stop();
    Ok(Way { export: Spent::default(), load, run, answer: of_first(answer, vertices as usize) })
}

/// The answer for the first vertices: ours has room behind the last one, to the end of its group.
fn of_first(answer: Answer, vertices: usize) -> Answer {
    match answer {
        Answer::Numbers(mut numbers) => {
            numbers.truncate(vertices);
            Answer::Numbers(numbers)
        }
        Answer::Labels(mut labels) => {
            labels.truncate(vertices);
            Answer::Labels(labels)
        }
        sum @ Answer::Sum(_) => sum,
    }
}

fn exported(kernel: Kernel, store: &dyn Store, vertices: u32) -> Result<Way> {
    let watch = Stopwatch::start();
    let mut pairs: Vec<Edge> = Vec::new();
    store.read(&mut |reader| {
        reader.scan(&mut |source, targets| pairs.extend(targets.iter().map(|target| (source, *target))))
    })?;
    let export = watch.stop();
    let watch = Stopwatch::start();
    let array = Lists::from(StaticCsr::new(VertexSet::full(vertices), &pairs, None, Direction::Both)?);
    drop(pairs);
    let load = watch.stop();
    let watch = Stopwatch::start();
    let answer = kernel.run(&array, VertexId(0))?;
    Ok(Way { export, load, run: watch.stop(), answer })
}
