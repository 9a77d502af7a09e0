//! Commits: transactions a second in each durability mode, beside what the bare disk does.
//!
//! A transaction adds edges between random vertices, by id, both directions kept. Each combination has
//! a database of its own; in every round each combination has its turn.

use crate::bench::plan::Work;
use crate::bench::section::Section;
use evergraph::generate::random::Random;
use evergraph::{Database, Durability, Options};
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;
use evergraph_graph::load::{Load, VertexBlock, VertexTable};
use evergraph_graph::transaction::Transaction as _;
use evergraph_measure::disk_sync::DiskSync;
use evergraph_measure::figure::{Figure, Unit};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

const PURPOSE: u64 = 100;

/// A way to commit.
#[derive(Clone, Copy)]
struct Way {
    mode: &'static str,
    durability: Durability,
    clients: u64,
    edges: u64,
}

const fn way(mode: &'static str, durability: Durability, clients: u64, edges: u64) -> Way {
    Way { mode, durability, clients, edges }
}

const INTERVAL: Durability = Durability::Interval(Duration::from_millis(10));

const WAYS: [Way; 8] = [
    way("none", Durability::None, 1, 1),
    way("none", Durability::None, 1, 1000),
    way("interval 10 ms", INTERVAL, 1, 1),
    way("interval 10 ms", INTERVAL, 1, 1000),
    way("sync", Durability::Sync, 1, 1),
    way("sync", Durability::Sync, 1, 1000),
    way("sync", Durability::Sync, 64, 1),
    way("sync", Durability::Sync, 64, 1000),
];

/// Measures all ways to commit, and the bare disk beside them.
///
/// # Errors
/// `cancelled`; what writing meets.
pub fn measure(work: &Work<'_>) -> Result<Section> {
    let folder = work.folder.join("commits");
    let mut benches = Vec::new();
    for (index, way) in (0..).zip(WAYS) {
        let database = open(&folder.join(format!("way-{index}")), way.durability, work.plan.vertices())?;
        let seed = work.plan.seed.wrapping_add(index);
        let randoms = (0..way.clients).map(|client| Random::new(seed, PURPOSE, client)).collect();
        benches.push(Bench { way, database, randoms, vertices: work.plan.vertices(), rates: Vec::new() });
    }
    let mut disk = DiskSync::prepare(work.folder)?;
    let mut disk_rates = Vec::new();
    let meter = work.console.meter();
    for round in 0..work.plan.rounds {
        for bench in &mut benches {
            work.round(&meter, "commits", round)?;
            bench.run(work.plan.commits_time)?;
        }
        disk_rates.push(disk.run(work.plan.commits_time)?.rate());
    }
    let mut figures: Vec<Figure> = benches.iter().map(Bench::figure).collect();
    figures.push(Figure::new(
        "disk.write_4k_fdatasync",
        "bare disk: 4 KiB written over, fdatasync, 1 thread",
        Unit::PerSecond,
        &disk_rates,
    ));
    for bench in benches {
        bench.database.close()?;
    }
    Ok(Section {
        title: format!(
            "Transactions a second: edges between 2^{} random vertices, both directions kept",
            work.plan.scale
        ),
        figures,
        notes: vec![
            "lies if the folder is in memory or the disk doesn't keep its word: then sync costs nothing"
                .to_owned(),
            "a transaction of 1,000 edges counts as one; clients are threads of this process".to_owned(),
            "merges go on in the background and take their share of the cores".to_owned(),
        ],
    })
}

/// A new database with `vertices` vertices of one label.
fn open(path: &Path, durability: Durability, vertices: u32) -> Result<Database> {
    let database = Database::open_with(path, &Options { durability, ..Options::default() })?;
    let table = VertexTable::new("Vertex", Vec::new(), vec![VertexBlock::bare(vertices as usize)]);
    let load = Load { vertices: vec![table], edges: Vec::new() };
    database.load(&load, &|_| (), &Default::default())?;
    Ok(database)
}

/// One way to commit, and how fast it was so far.
struct Bench {
    way: Way,
    database: Database,
    /// One for each client.
    randoms: Vec<Random>,
    vertices: u32,
    rates: Vec<f64>,
}

impl Bench {
    fn run(&mut self, time: Duration) -> Result<()> {
        let Self { way, database, vertices, .. } = self;
        let (database, edges, vertices) = (&*database, way.edges, *vertices);
        let began = Instant::now();
        let commits: u64 = thread::scope(|scope| {
            let clients: Vec<_> = self
                .randoms
                .iter_mut()
                .map(|random| scope.spawn(move || client(database, random, vertices, edges, began + time)))
                .collect();
            let counts =
                clients.into_iter().map(|client| client.join().expect("a panic was printed by its thread"));
            counts.sum::<Result<u64>>()
        })?;
        self.rates.push(commits as f64 / began.elapsed().as_secs_f64());
        Ok(())
    }

    fn figure(&self) -> Figure {
        let Way { mode, clients, edges, .. } = self.way;
        let name =
            format!("commits.{}.clients_{clients}.edges_{edges}", mode.split(' ').next().unwrap_or(mode));
        let plural = if clients == 1 { "" } else { "s" };
        let title =
            format!("{mode}, {clients} client{plural}, {edges} edge{}", if edges == 1 { "" } else { "s" });
        Figure::new(name, title, Unit::PerSecond, &self.rates)
            .with("mode", mode)
            .with("clients", clients)
            .with("edges", edges)
    }
}

/// Commits until `end`; how many transactions.
fn client(database: &Database, random: &mut Random, vertices: u32, edges: u64, end: Instant) -> Result<u64> {
    let mut commits = 0;
    while Instant::now() < end {
        let ends: Vec<[VertexId; 2]> =
            (0..edges).map(|_| [0; 2].map(|_| VertexId(random.below(u64::from(vertices)) as u32))).collect();
        database.transact(|transaction| {
            let transaction = transaction.by_id();
            let edge_type = transaction.edge_type("EDGE")?;
            for [source, target] in &ends {
                transaction.add_edge(*source, edge_type, *target, &[])?;
            }
            Ok(())
        })?;
        commits += 1;
    }
    Ok(commits)
}
