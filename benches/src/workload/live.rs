//! Live: algorithms on snapshots of a graph that has just been written to, beside a static array of the very
//! same edges.
//!
//! ```text
//! a run    insert 0, 1 or 10 %, an edge a transaction; or let a thread insert on and on
//!          live     snapshot + freeze + run      share of edges not merged yet, before and after
//!          static   copy (not timed), run
//! ```
//!
//! The live run comes first after the inserts, so that it bears the merges that they cause.

use crate::edges::distinct;
use crate::engine::evergraph::wait_until_merged;
use crate::engine::store::Edge;
use crate::goals::baseline;
use crate::plan::Work;
use crate::race::{Race, Sample};
use crate::results::{Heading, Median};
use crate::stopwatch::{Spent, Stopwatch, steady};
use crate::workload::pool::pool;
use crate::workload::writer_thread::beside_writer;
use evergraph::generate::random::Random;
use evergraph::{Database, Durability, Options};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{KeyId, TypeId, VertexId};
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::{Value, ValueType};
use evergraph_measure::figure::Unit;
use evergraph_measure::kernel::{Kernel, static_copy};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const PURPOSE: u64 = 404;
/// Scores of two runs may differ by so much: sums in another order.
const TOLERANCE: f64 = 1e-9;
/// The part of the edges that is inserted rather than loaded.
const KEPT_BACK: f64 = 0.3;
/// A scan takes a few milliseconds: so many of them are one run, each on a snapshot of its own.
const SCANS_PER_RUN: u32 = 10;
const WEIGHT: &str = "weight";

/// What has just been written when a run begins.
#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    /// This share of the edges; with none, all is merged.
    Fresh(f64),
    /// A thread inserts as long as the run takes.
    Writer,
}

impl State {
    const ALL: [Self; 4] = [Self::Fresh(0.0), Self::Fresh(0.01), Self::Fresh(0.1), Self::Writer];

    fn name(self) -> String {
        match self {
            Self::Fresh(share) => format!("fresh_{:.0}", share * 100.0),
            Self::Writer => "writer".to_owned(),
        }
    }

    fn title(self) -> String {
        match self {
            Self::Fresh(0.0) => "all merged".to_owned(),
            Self::Fresh(share) => format!("{:.0} % just inserted", share * 100.0),
            Self::Writer => "while a thread inserts".to_owned(),
        }
    }
}

/// Measures every kernel in every state.
///
/// # Errors
/// `corrupt` if a live answer differs from the static one; what reading and writing meet.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let edges = distinct(work.plan, 16)?;
    let mut graph = Graph::load(&work.place("live-0"), &edges)?;
    let source = busiest(&edges, work.plan.vertices());
    let mut loads = 0;
    for state in State::ALL {
        // A writer needs the second core.
        let threads: Vec<usize> =
            work.plan.threads.iter().copied().filter(|n| state != State::Writer || *n == 1).collect();
        for kernel in Kernel::ALL {
            for threads in &threads {
                let pool = pool(*threads)?;
                let mut race = Race::new(["evergraph", baseline::STATIC]);
                let (mut before, mut after) = (Vec::new(), Vec::new());
                // With fresh edges or a writer, merges disturb the live run, and that is its price.
                let undisturbed = state == State::Fresh(0.0) && *threads == 1;
                for _ in 0..work.plan.rounds {
                    if !graph.fits(state) {
                        graph.database.close()?;
                        loads += 1;
                        graph = Graph::load(&work.place(&format!("live-{loads}")), &edges)?;
                    }
                    let again = || pool.install(|| graph.run(kernel, state, VertexId(source)));
                    let (run, repeated) = steady(again, |run| if undisturbed { run.gap() } else { 0.0 })?;
                    race.note_samples(&[run.live, run.fixed], repeated);
                    before.push(run.fresh_before);
                    after.push(run.fresh_after);
                }
                let share = |shares: &[f64]| format!("{:.2} %", Median::of(shares).median * 100.0);
                let name = format!("live.{}.{}.threads_{threads}", kernel.name(), state.name());
                let plural = if *threads == 1 { "" } else { "s" };
                let title = format!("{}, {}, {threads} thread{plural}", kernel.title(), state.title());
                let heading = Heading::new(name, title, Unit::Seconds)
                    .with("threads", threads)
                    .with("not merged before", share(&before))
                    .with("not merged after", share(&after));
                work.add_race(&heading, &race);
            }
        }
    }
    graph.database.close()?;
    work.note("the live time has everything: taking the snapshot, freezing it, running");
    work.note(
        "static: compressed sparse rows, the same kernel, the same edges; copying into them is not timed",
    );
    work.note("edges have a weight, a property that only SSSP reads; no two are parallel");
    work.note("beside a writer, the static run has the writer beside it too");
    Ok(())
}

/// The vertex with the most out-edges.
pub fn busiest(edges: &[Edge], vertices: u32) -> u32 {
    let mut degrees = vec![0u32; vertices as usize];
    edges.iter().for_each(|edge| degrees[edge.0 as usize] += 1);
    (0..vertices).max_by_key(|vertex| degrees[*vertex as usize]).unwrap_or(0)
}

/// A weight that follows from the ends: 1 to 256, a whole number.
pub fn weight((source, target): Edge) -> f64 {
    let mixed = (u64::from(source) << 32 | u64::from(target)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    1.0 + (mixed >> 56) as f64
}

/// One run, seconds and shares.
struct Run {
    live: Sample,
    fixed: Sample,
    /// What both took.
    spent: [Spent; 2],
    fresh_before: f64,
    fresh_after: f64,
}

impl Run {
    /// That of the more disturbed one.
    fn gap(&self) -> f64 {
        self.spent.map(Spent::gap).into_iter().fold(0.0, f64::max)
    }
}

/// The graph that is measured, a part of it still to be inserted.
struct Graph {
    database: Database,
    edge_type: TypeId,
    weight: KeyId,
    /// Edges that are in. Relaxed: it only counts.
    inserted: AtomicU64,
    all: usize,
    vertices: u32,
    waiting: Vec<Edge>,
}

impl Graph {
    /// Loads all but what is inserted later.
    fn load(folder: &Path, edges: &[Edge]) -> Result<Self> {
        let vertices = edges.iter().map(|edge| edge.0.max(edge.1)).max().map_or(0, |last| last as usize + 1);
        let (now, later) = edges.split_at(edges.len() - (edges.len() as f64 * KEPT_BACK) as usize);
        let blocks = now.chunks(BLOCK_ROWS).map(|edges| {
            let mut weights = PackedColumnBuilder::default();
            edges.iter().for_each(|edge| weights.push_f64(weight(*edge)));
            EdgeBlock { columns: vec![weights.finish()], ..EdgeBlock::bare(edges.iter().copied()) }
        });
        let properties = vec![(WEIGHT.to_owned(), ValueType::F64)];
        let load = Load {
            vertices: vec![VertexTable::new("Vertex", Vec::new(), vec![VertexBlock::bare(vertices)])],
            edges: vec![EdgeTable::new("EDGE", 0, 0, properties, blocks.collect())],
        };
        let options = Options { durability: Durability::None, ..Options::default() };
        let database = Database::open_with(folder, &options)?;
        database.load(&load, &|_| (), &Default::default())?;
        let catalogue = database.store().catalogue();
        let missing = || Error::new(ErrorKind::Corrupt, "a name of the measured graph was not loaded");
        Ok(Self {
            edge_type: catalogue.edge_type("EDGE").ok_or_else(missing)?,
            weight: catalogue.key(WEIGHT).ok_or_else(missing)?,
            inserted: AtomicU64::new(now.len() as u64),
            all: edges.len(),
            vertices: vertices as u32,
            waiting: later.to_vec(),
            database,
        })
    }

    /// Whether it is as it should be for a run in `state`: enough is left to insert, or it hasn't grown much.
    fn fits(&self, state: State) -> bool {
        let all = self.all as f64;
        match state {
            State::Fresh(share) => self.waiting.len() as f64 >= all * share,
            State::Writer => (self.inserted.load(Ordering::Relaxed) as f64) < all,
        }
    }

    fn run(&mut self, kernel: Kernel, state: State, source: VertexId) -> Result<Run> {
        match state {
            State::Fresh(0.0) => wait_until_merged(&self.database)?,
            State::Fresh(share) => {
                let left = self.waiting.len() - (self.all as f64 * share) as usize;
                let batch = self.waiting.split_off(left);
                batch.iter().try_for_each(|edge| self.insert(*edge))?;
            }
            State::Writer => return self.run_beside_a_writer(kernel, source),
        }
        self.both(kernel, source)
    }

    /// Runs while a thread inserts edges between random vertices, one a transaction.
    fn run_beside_a_writer(&mut self, kernel: Kernel, source: VertexId) -> Result<Run> {
        let mut random = Random::new(PURPOSE, self.inserted.load(Ordering::Relaxed), 0);
        let mut end = || random.below(u64::from(self.vertices)) as u32;
        let write = |is_over: &AtomicBool| {
            while !is_over.load(Ordering::Relaxed) {
                self.insert((end(), end()))?;
            }
            Ok(())
        };
        let (run, ()) = beside_writer(Duration::ZERO, write, || self.both(kernel, source))?;
        Ok(run)
    }

    /// The live run, then the static one on the same edges.
    fn both(&self, kernel: Kernel, source: VertexId) -> Result<Run> {
        let times = if kernel == Kernel::Scan { SCANS_PER_RUN } else { 1 };
        let fresh_before = self.fresh_share();
        let each = |spent: Spent| Sample::timed(spent.wall / f64::from(times), spent);
        let watch = Stopwatch::start();
        let mut last = None;
        for _ in 0..times {
            let topology = kernel.freeze(&self.database.snapshot(), Some(self.weight))?;
            let answer = kernel.run(&topology, source)?;
            last = Some((topology, answer));
        }
        let live = watch.stop();
        let fresh_after = self.fresh_share();
        let (topology, answer) = last.expect("it runs at least once");
        let copy = static_copy(&topology)?;
        let watch = Stopwatch::start();
        let mut fixed_answer = None;
        for _ in 0..times {
            fixed_answer = Some(kernel.run(&copy, source)?);
        }
        let fixed = watch.stop();
        let apart = answer.difference(&fixed_answer.expect("it runs at least once"))?;
        if apart > TOLERANCE {
            let text = format!("{}: live and static answers differ by {apart:e}", kernel.name());
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
        Ok(Run { live: each(live), fixed: each(fixed), spent: [live, fixed], fresh_before, fresh_after })
    }

    fn insert(&self, edge: Edge) -> Result<()> {
        let [source, target] = [edge.0, edge.1].map(VertexId);
        let properties = [(self.weight, Value::F64(weight(edge)))];
        self.database
            .transact(|tx| tx.by_id().add_edge(source, self.edge_type, target, &properties).map(drop))?;
        self.inserted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// The part of the edges that no merge has taken in yet.
    fn fresh_share(&self) -> f64 {
        let engine = self.database.store().statistics().engine;
        engine.fresh_edge_records as f64 / self.inserted.load(Ordering::Relaxed) as f64
    }
}
