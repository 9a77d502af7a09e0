//! Live graph: scan and PageRank on a snapshot of a graph that has just been written to, beside a static graph
//! of the very same edges; and what the graph takes in memory.
//!
//! ```text
//! each round, for each way:   insert 1 %, an edge a transaction
//!                             live     snapshot + freeze + run      (fresh share before and after)
//!                             static   copy (not timed), run
//! then, all merged:           each way again, nothing inserted
//! ```

use crate::bench::plan::BenchContext;
use crate::bench::section::Section;
use evergraph::generate::rmat;
use evergraph::{Database, Durability, Options};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable};
use evergraph_graph::transaction::Transaction as _;
use evergraph_measure::figure::{Figure, Unit};
use evergraph_measure::kernel::{Kernel, static_copy};
use evergraph_measure::machine::resident_bytes;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::thread;
use std::time::{Duration, Instant};

/// One edge in this many is inserted before each run.
const INSERT_SHARE: usize = 100;
/// A scan takes a few milliseconds: so many of them are one run, each on a snapshot of its own.
const SCANS_PER_RUN: u32 = 10;
/// Everything is merged within this.
const PATIENCE: Duration = Duration::from_secs(120);

/// What is run, on how many threads.
struct KernelRun {
    kernel: Kernel,
    pool: ThreadPool,
    hot: Runs,
    cold: Runs,
}

/// Seconds, and shares, of all runs.
#[derive(Default)]
struct Runs {
    live: Vec<f64>,
    fixed: Vec<f64>,
    fresh_before: Vec<f64>,
    fresh_after: Vec<f64>,
}

/// Measures scans and PageRank, then memory.
///
/// # Errors
/// `cancelled`; `corrupt` if a live answer differs from the static one; what reading and writing meet.
pub fn measure(work: &BenchContext<'_>) -> Result<Vec<Section>> {
    let mut graph = Graph::load(work)?;
    let mut ways = Vec::new();
    for kernel in [Kernel::Scan, Kernel::PageRank] {
        for threads in [1, 2] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build();
            let pool = pool.map_err(|error| {
                Error::new(ErrorKind::Io, format!("start {threads} threads: {error}")).because(error)
            })?;
            ways.push(KernelRun { kernel, pool, hot: Runs::default(), cold: Runs::default() });
        }
    }
    let meter = work.console.meter();
    let mut memory = Memory::default();
    let mut difference: f64 = 0.0;
    for round in 0..work.plan.rounds {
        for way in &mut ways {
            work.round(&meter, "live", round)?;
            graph.insert()?;
            memory.hot.push(graph.bytes_per_edge()?);
            difference = difference.max(way.run(&graph, |way| &mut way.hot)?);
        }
    }
    graph.wait_until_merged(work)?;
    for round in 0..work.plan.rounds {
        for way in &mut ways {
            work.round(&meter, "live, all merged", round)?;
            difference = difference.max(way.run(&graph, |way| &mut way.cold)?);
        }
    }
    memory.cold.push(graph.bytes_per_edge()?);
    let resident = resident_bytes()?;
    graph.database.close()?;
    Ok(vec![speed(work, &ways, difference), memory.section(work, resident)])
}

fn speed(work: &BenchContext<'_>, ways: &[KernelRun], difference: f64) -> Section {
    let mut figures = Vec::new();
    for way in ways {
        let threads = way.pool.current_num_threads();
        let (name, title) = (way.kernel.name(), way.kernel.title());
        let title = format!("{title}, {threads} thread{}", if threads == 1 { "" } else { "s" });
        for (state, told, runs) in [("hot", "1 % just inserted", &way.hot), ("cold", "all merged", &way.cold)]
        {
            let name = |what: &str| format!("{name}.threads_{threads}.{state}.{what}");
            let ratios: Vec<f64> =
                runs.live.iter().zip(&runs.fixed).map(|(live, fixed)| live / fixed).collect();
            let figure = |what: &str, told: String, unit, samples: &[f64]| {
                Figure::new(name(what), told, unit, samples).with("threads", threads).with("state", state)
            };
            figures.push(figure("live", format!("{title}: live, {told}"), Unit::Seconds, &runs.live));
            figures.push(figure(
                "static",
                "  static graph of the same edges".to_owned(),
                Unit::Seconds,
                &runs.fixed,
            ));
            figures.push(figure("ratio", "  live / static".to_owned(), Unit::Times, &ratios));
            if state == "hot" {
                let told = |when: &str| format!("  edges not merged yet, {when}");
                figures.push(figure("fresh_before", told("before"), Unit::Share, &runs.fresh_before));
                figures.push(figure("fresh_after", told("after"), Unit::Share, &runs.fresh_after));
            }
        }
    }
    figures.push(Figure::new(
        "pagerank.difference",
        "largest difference of a live and a static score",
        Unit::Number,
        &[difference],
    ));
    Section {
        title: format!("Analysis of live data: {}", work.plan.graph_name()),
        figures,
        notes: vec![
            "the live time has everything: taking the snapshot, freezing it, running".to_owned(),
            "static: compressed sparse rows, same kernel; copying the edges into them is not timed"
                .to_owned(),
            "the live run comes first after the inserts, so that it bears the merges that they cause"
                .to_owned(),
            "lies if the graph fits the cache (a small --scale): then everything is fast".to_owned(),
        ],
    }
}

impl KernelRun {
    /// A live run, then a static one on the same edges; the largest difference of their answers.
    fn run(&mut self, graph: &Graph, runs: impl FnOnce(&mut Self) -> &mut Runs) -> Result<f64> {
        let kernel = self.kernel;
        let fresh_before = graph.fresh_share();
        let times = if kernel == Kernel::Scan { SCANS_PER_RUN } else { 1 };
        let began = Instant::now();
        let (topology, live) = self.pool.install(|| {
            repeat(times, || {
                let topology = kernel.freeze(&graph.database.snapshot(), None)?;
                let answer = kernel.run(&topology, graph.vertices[0])?;
                Ok((topology, answer))
            })
        })?;
        let live_time = began.elapsed() / times;
        let fresh_after = graph.fresh_share();
        let copy = static_copy(&topology)?;
        let began = Instant::now();
        let fixed = self.pool.install(|| repeat(times, || kernel.run(&copy, graph.vertices[0])))?;
        let fixed_time = began.elapsed() / times;
        let runs = runs(self);
        runs.live.push(live_time.as_secs_f64());
        runs.fixed.push(fixed_time.as_secs_f64());
        runs.fresh_before.push(fresh_before);
        runs.fresh_after.push(fresh_after);
        live.difference(&fixed)
    }
}

/// What the last of `times` runs of `work` gave.
fn repeat<T>(times: u32, mut work: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 1..times {
        work()?;
    }
    work()
}

/// The graph that is measured, a part of it still to be inserted.
struct Graph {
    database: Database,
    vertices: Vec<VertexId>,
    edges: u64,
    /// In batches of 1 % of all edges.
    waiting: Vec<Vec<(u32, u32)>>,
}

impl Graph {
    /// Loads all but what is inserted later.
    fn load(work: &BenchContext<'_>) -> Result<Self> {
        let mut load = rmat::generate(&work.plan.graph())?;
        let pairs = load.edges[0].ends()?;
        let batch = pairs.len() / INSERT_SHARE;
        // Four ways a round.
        let later = pairs.len() - (batch * 4 * work.plan.rounds).min(pairs.len());
        let (now, pairs) = pairs.split_at(later);
        let blocks = now.chunks(BLOCK_ROWS).map(|pairs| EdgeBlock::bare(pairs.iter().copied()));
        load.edges[0] = EdgeTable::new("EDGE", 0, 0, Vec::new(), blocks.collect());
        let options = Options { durability: Durability::None, ..Options::default() };
        let database = Database::open_with(work.folder.join("live"), &options)?;
        let loaded = database.load(&load, &|_| (), work.cancel)?;
        let first = loaded.first_vertices[0].0;
        Ok(Self {
            database,
            vertices: (first..first + work.plan.vertices()).map(VertexId).collect(),
            edges: later as u64,
            waiting: pairs.chunks(batch.max(1)).map(<[_]>::to_vec).collect(),
        })
    }

    /// Inserts 1 % of the edges, each in a transaction of its own.
    fn insert(&mut self) -> Result<()> {
        let batch = self.waiting.pop().unwrap_or_default();
        for (source, target) in &batch {
            let [source, target] = [source, target].map(|row| self.vertices[*row as usize]);
            self.database.transact(|transaction| {
                let transaction = transaction.by_id();
                let edge_type = transaction.edge_type("EDGE")?;
                transaction.add_edge(source, edge_type, target, &[])
            })?;
        }
        self.edges += batch.len() as u64;
        Ok(())
    }

    /// The part of the edges that no merge has taken in yet.
    fn fresh_share(&self) -> f64 {
        let engine = self.database.store().statistics().engine;
        engine.fresh_edge_records as f64 / self.edges as f64
    }

    fn bytes_per_edge(&self) -> Result<[f64; 2]> {
        let engine = self.database.statistics()?.store.engine;
        let edges = self.edges as f64;
        Ok([
            engine.topology_bytes as f64 / edges,
            (engine.topology_bytes + engine.record_bytes) as f64 / edges,
        ])
    }

    /// Waits until merges have taken in everything: they do when nothing happens for a while.
    fn wait_until_merged(&self, work: &BenchContext<'_>) -> Result<()> {
        let began = Instant::now();
        while self.fresh_share() > 0.0 {
            work.cancel.check()?;
            if began.elapsed() > PATIENCE {
                let text = format!(
                    "{:.2} % of the edges are not merged after {PATIENCE:?}",
                    self.fresh_share() * 100.0
                );
                return Err(Error::new(ErrorKind::Limit, text));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

/// Bytes an edge: of lists alone, and with records that wait to be merged.
#[derive(Default)]
struct Memory {
    hot: Vec<[f64; 2]>,
    cold: Vec<[f64; 2]>,
}

impl Memory {
    fn section(&self, work: &BenchContext<'_>, resident: Option<u64>) -> Section {
        let column = |rows: &[[f64; 2]], at: usize| rows.iter().map(|row| row[at]).collect::<Vec<f64>>();
        let figure = |name: &str, title: &str, samples: Vec<f64>| {
            Figure::new(format!("memory.{name}"), title, Unit::BytesPerEdge, &samples)
        };
        let mut figures = vec![
            figure("hot.topology", "lists of both directions, 1 % just inserted", column(&self.hot, 0)),
            figure("hot.all", "  and the records that wait to be merged", column(&self.hot, 1)),
            figure("cold.topology", "lists of both directions, all merged", column(&self.cold, 0)),
        ];
        if let Some(bytes) = resident {
            let title = "all memory of this process";
            figures.push(Figure::new("memory.resident", title, Unit::Bytes, &[bytes as f64]));
        }
        Section {
            title: format!("Memory for an edge: {}", work.plan.graph_name()),
            figures,
            notes: vec![
                "lists: neighbours, offsets and numbers of parallel edges; edges have no properties here"
                    .to_owned(),
                "all memory is more: the index of ids, static copies, and what was measured before"
                    .to_owned(),
            ],
        }
    }
}
