//! Hub look-ups: single edges of one vertex with very many, while somebody else appends to it.
//!
//! ```text
//! quiet     one thread: snapshot, is this edge there?, end of the snapshot
//! appends   the same, beside a thread that appends edges to the hub, one a transaction
//! ```
//!
//! Half of the edges asked for are there.

use crate::bench::section::Section;
use crate::bench::transactions::plan::TransactionsContext;
use crate::bench::transactions::section_table::TabledSection;
use evergraph::generate::random::Random;
use evergraph::{Database, Durability, Options};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, TypeId, VertexId};
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::view::GraphView;
use evergraph_measure::figure::{Figure, Unit};
use evergraph_terminal::number::count;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const PURPOSE: u64 = 302;

/// What a way of looking up gave, a value a round.
#[derive(Default)]
struct Runs {
    rate: Vec<f64>,
    median: Vec<f64>,
    slow: Vec<f64>,
    appends: Vec<f64>,
}

/// A hub whose even numbers are neighbours.
struct Hub {
    database: Database,
    first: u32,
    edges: u32,
    edge_type: TypeId,
    /// The next of the odd numbers to become a neighbour.
    next: u32,
}

/// Measures look-ups with and without appends.
///
/// # Errors
/// `cancelled`; `corrupt` if an answer is wrong; what reading and writing meet.
pub fn measure(work: &TransactionsContext<'_>) -> Result<TabledSection> {
    let mut hub = Hub::load(work)?;
    let mut random = Random::new(work.plan.seed, PURPOSE, 0);
    let (mut quiet, mut appends) = (Runs::default(), Runs::default());
    let meter = work.console.meter();
    for round in 0..work.plan.rounds {
        work.round(&meter, "look-ups on a hub", round)?;
        hub.run(&mut random, work.plan.run_time, false, &mut quiet)?;
        hub.run(&mut random, work.plan.run_time, true, &mut appends)?;
    }
    hub.database.close()?;
    let ratio: Vec<f64> =
        appends.rate.iter().zip(&quiet.rate).map(|(with, without)| with / without).collect();
    let (mut figures, mut rows) = (Vec::new(), Vec::new());
    for (name, title, runs) in
        [("quiet", "nobody writes", &quiet), ("appends", "a thread appends to the hub", &appends)]
    {
        let figure = |what: &str, unit, samples: &[f64]| {
            Figure::new(format!("hub_look_ups.{name}.{what}"), title, unit, samples)
        };
        let mut of_way = vec![
            figure("rate", Unit::PerSecond, &runs.rate),
            figure("p50", Unit::Seconds, &runs.median),
            figure("p99", Unit::Seconds, &runs.slow),
            figure("appends", Unit::PerSecond, &runs.appends),
        ];
        let mut row: Vec<String> = vec![title.to_owned()];
        row.extend(of_way.iter().map(Figure::value_text));
        rows.push(row);
        figures.append(&mut of_way);
    }
    let ratio = Figure::new("hub_look_ups.ratio", "look-ups with appends / without", Unit::Times, &ratio);
    let told = format!("look-ups with appends / without: {}", ratio.range_text());
    figures.push(ratio);
    Ok(TabledSection {
        section: Section {
            title: format!("Single edges of a hub of {} edges looked up, 1 thread", count(hub.edges.into())),
            figures,
            notes: vec![
                told,
                "each look-up takes a snapshot of its own; half of the edges asked for are there".to_owned(),
                "appends are transactions of one edge, mode `none`; merges run on a third thread".to_owned(),
                "reading the clock twice a look-up, some 50 ns, is in the figures".to_owned(),
            ],
        },
        columns: vec!["", "look-ups/s", "p50", "p99", "appends/s"],
        rows,
    })
}

impl Hub {
    fn load(work: &TransactionsContext<'_>) -> Result<Self> {
        let options = Options { durability: Durability::None, ..Options::default() };
        let database = Database::open_with(work.folder.join("hub-look-ups"), &options)?;
        let edges = work.plan.hub_edges;
        let table = VertexTable::new("Vertex", Vec::new(), vec![VertexBlock::bare(2 * edges as usize)]);
        let pairs: Vec<(u32, u32)> = (0..edges).map(|edge| (0, 2 * edge)).collect();
        let blocks = pairs.chunks(BLOCK_ROWS).map(|pairs| EdgeBlock::bare(pairs.iter().copied()));
        let edge_table = EdgeTable::new("EDGE", 0, 0, Vec::new(), blocks.collect());
        let load = Load { vertices: vec![table], edges: vec![edge_table] };
        let loaded = database.load(&load, &|_| (), work.cancel)?;
        let first = loaded.first_vertices.first().map_or(0, |vertex| vertex.0);
        let edge_type = database.transact(|tx| tx.by_id().edge_type("EDGE"))?;
        Ok(Self { database, first, edges, edge_type, next: 0 })
    }

    fn edge(&self, number: u32) -> EdgeId {
        let target = VertexId(self.first + number);
        EdgeId { source: VertexId(self.first), edge_type: self.edge_type, target, discriminator: 0 }
    }

    /// Looks up for `time`; with an appending thread beside it or without.
    fn run(&mut self, random: &mut Random, time: Duration, appends: bool, runs: &mut Runs) -> Result<()> {
        let stop = AtomicBool::new(false);
        let (next, began) = (self.next, Instant::now());
        let (latencies, took, appended) = thread::scope(|scope| {
            let appender = appends.then(|| scope.spawn(|| self.append(next, &stop)));
            let latencies = self.look_up(random, time, next);
            let took = began.elapsed();
            stop.store(true, Ordering::Relaxed);
            let appended = appender
                .map_or(Ok(0), |appender| appender.join().expect("a panic was printed by its thread"));
            Ok::<_, Error>((latencies?, took, appended?))
        })?;
        self.next = next + appended;
        let mut latencies = latencies;
        latencies.sort_unstable();
        let quantile = |share: f64| {
            let at = (latencies.len() as f64 * share) as usize;
            f64::from(latencies[at.min(latencies.len() - 1)]) / 1e9
        };
        runs.rate.push(latencies.len() as f64 / took.as_secs_f64());
        runs.median.push(quantile(0.5));
        runs.slow.push(quantile(0.99));
        runs.appends.push(f64::from(appended) / took.as_secs_f64());
        Ok(())
    }

    /// Nanoseconds of each look-up, at least one. Odd numbers below `next` may be there or not yet.
    fn look_up(&self, random: &mut Random, time: Duration, next: u32) -> Result<Vec<u32>> {
        let mut latencies = Vec::new();
        let end = Instant::now() + time;
        let mut found = Vec::with_capacity(1);
        loop {
            let number = random.below(u64::from(self.edges) * 2) as u32;
            let edge = [self.edge(number)];
            found.clear();
            let began = Instant::now();
            self.database.snapshot().has_edges(&edge, &mut found)?;
            let now = Instant::now();
            latencies.push(u32::try_from((now - began).as_nanos()).unwrap_or(u32::MAX));
            let must = number.is_multiple_of(2) || number / 2 < next;
            if must && found != [true] {
                let text = format!("edge {number} of the hub was not found: please report this");
                return Err(Error::new(ErrorKind::Corrupt, text));
            }
            if now >= end {
                return Ok(latencies);
            }
        }
    }

    /// Appends odd numbers from the one after the `next` first on, at least one; how many.
    fn append(&self, next: u32, stop: &AtomicBool) -> Result<u32> {
        let mut appended = 0;
        while next + appended < self.edges {
            let edge = self.edge(2 * (next + appended) + 1);
            self.database.transact(|tx| {
                tx.by_id().add_edge(edge.source, edge.edge_type, edge.target, &[]).map(drop)
            })?;
            appended += 1;
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(appended)
    }
}
