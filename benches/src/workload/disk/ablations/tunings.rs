//! Tunings: the disk engine without filters, with other T, and with other numbers of runs in L0, beside it as it is.
//!
//! ```text
//! load ── settle ── one edge a transaction ── 1,000, as many edges for all ── flush, settle: write amplification
//!      ── L0 filled up to a run below its trigger: bytes, cold questions, scans ── all edges compared
//! ```
//!
//! A store at a time, from its load to its end. One thread, mode `none`, a deletion for each twenty inserts.

use crate::disk_plan::DiskPlan;
use crate::edges::Contents;
use crate::engine::limited::LimitedStore;
use crate::engine::store::{Commit, Edge, Store};
use crate::plan::{Work, wrong};
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::disk::graph::{DiskGraph, Properties};
use crate::workload::disk::inserts::{BATCH, INSERTS_A_DELETION, Inserts, MANY, ONE, Way, expected, insert};
use crate::workload::disk::questions::{Cost, Questions};
use crate::workload::disk::tree::note_tree;
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_disk_engine::tuning::Tuning;
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::error::Result;
use evergraph_measure::figure::{Unit, median_and_spread};
use evergraph_storage::engine::Engine as _;
use std::time::{Duration, Instant};

/// The engine as it is.
const DEFAULT: &str = "default";
/// The part of the later edges that is inserted one a transaction.
const ONES_DIVISOR: usize = 4;
/// Edges of a run that fills up L0: less than a memory graph of 16 MiB holds, and whole stretches of inserts, so that what
/// is left of several runs is what is left of one.
const RUN_EDGES: usize = 5 * BATCH * INSERTS_A_DELETION;
/// Scans of a store, whose median counts.
const SCANS: usize = 3;

/// What was measured of one choice.
#[derive(Clone, Default)]
struct Measured {
    one: Run,
    many: Run,
    amplification: f64,
    bytes: f64,
    list: Question,
    no_edge: Question,
    scan: f64,
}

/// A run of inserts.
#[derive(Clone, Copy, Default)]
struct Run {
    inserts: Inserts,
    /// Pages that readers and writers read, for each edge inserted or deleted.
    pages: f64,
}

/// What a question costs.
#[derive(Clone, Copy, Default)]
struct Question {
    seconds: f64,
    pages: f64,
}

impl Question {
    /// A page in all at least, so that ratios are numbers.
    fn of(cost: &Cost, plan: &DiskPlan) -> Self {
        Self { seconds: cost.seconds, pages: cost.page_reads.max(1.0 / plan.questions as f64) }
    }
}

/// Name, title, unit and value of each figure.
type Figure = (&'static str, &'static str, Unit, fn(&Measured) -> f64);

const FIGURES: [Figure; 11] = [
    ("insert.one", "edges inserted and deleted, 1 a transaction", Unit::PerSecond, |run| {
        run.one.inserts.rate
    }),
    ("insert.batch_1000", "the same, 1,000 a transaction", Unit::PerSecond, |run| run.many.inserts.rate),
    ("insert.one.pages", "pages read an edge, 1 a transaction", Unit::Number, |run| run.one.pages),
    ("insert.batch_1000.pages", "pages read an edge, 1,000 a transaction", Unit::Number, |run| {
        run.many.pages
    }),
    (
        "write_amplification",
        "bytes that flushes and compactions write, by those of flushes",
        Unit::Times,
        |run| run.amplification,
    ),
    ("bytes", "bytes of lists and filters in files, an edge", Unit::BytesPerEdge, |run| run.bytes),
    ("out_list.cold", "out list, cold", Unit::Seconds, |run| run.list.seconds),
    ("out_list.cold.pages", "pages read: out list, cold", Unit::Number, |run| run.list.pages),
    ("no_edge.cold", "edge that doesn't exist, cold", Unit::Seconds, |run| run.no_edge.seconds),
    ("no_edge.cold.pages", "pages read: edge that doesn't exist, cold", Unit::Number, |run| {
        run.no_edge.pages
    }),
    ("scan", "edges read in a scan of all out lists, one thread", Unit::PerSecond, |run| run.scan),
];

/// Measures the tunings that were chosen; nothing if none was.
///
/// # Errors
/// `corrupt` if a store has other edges in the end; what engines say.
pub fn measure(work: &mut Work<'_>, plan: &DiskPlan, graph: &DiskGraph) -> Result<()> {
    let chosen = plan.ablations.chosen.iter().filter_map(|ablation| ablation.tuning());
    let tunings: Vec<_> = [(DEFAULT, Tuning::default())].into_iter().chain(chosen).collect();
    if tunings.len() == 1 {
        return Ok(());
    }
    let mut races: [Race; FIGURES.len()] =
        std::array::from_fn(|_| Race::new(tunings.iter().map(|(name, _)| *name)));
    for round in 0..plan.rounds {
        let mut measured = vec![Measured::default(); tunings.len()];
        for place in order(round, tunings.len()) {
            eprintln!("{}:", tunings[place].0);
            measured[place] = of_tuning(work, plan, graph, tunings[place])?;
        }
        for ((_, _, _, value), race) in FIGURES.iter().zip(&mut races) {
            race.note(&measured.iter().map(value).collect::<Vec<_>>());
        }
    }
    for ((name, title, unit, _), race) in FIGURES.iter().zip(&races) {
        let heading = Heading::new(format!("disk.ablation.{name}"), *title, *unit);
        work.add_race(&heading.with("memory limit", ByteSize(plan.limit_bytes)), race);
    }
    work.note("the peers are the disk engine itself, with one thing chosen otherwise; a ratio is the default's value by theirs");
    work.note("with other numbers of runs in L0 writers are slowed at twice as many, and wait at three times as many, as by default");
    Ok(())
}

fn of_tuning(
    work: &mut Work<'_>,
    plan: &DiskPlan,
    graph: &DiskGraph,
    (name, tuning): (&str, Tuning),
) -> Result<Measured> {
    let folder = work.folder_for("tuned-")?;
    let store = LimitedStore::open_tuned(folder.path(), plan.limit_bytes, Commit::Unsynced, tuning)?;
    store.load_graph(&DiskGraph::load(graph.vertices, &graph.loaded, Properties::Ids))?;
    store.settle()?;
    let (ones, rest) = graph.later.split_at(graph.later.len() / ONES_DIVISOR);
    let (ones, one) = counted(&store, ones, ONE, plan.insert_time)?;
    let (batches, rest) = rest.split_at(rest.len().min(plan.ablations.edges));
    let (batches, many) = counted(&store, batches, MANY, plan.ablations.time)?;
    store.open_store().store().engine().flush_all()?;
    store.settle()?;
    note_tree(work, &store, name);
    let amplification = write_amplification(&store);
    let filling = fill_l0(&store, rest, tuning, plan.ablations.time)?;
    let inserted = [(ones, 1), (batches, BATCH), (filling, BATCH)];
    let all = expected(&graph.loaded, &inserted);
    all.check(name, &store)?;
    let files = store.open_store().store().engine().tree_statistics();
    work.note(format!(
        "{name}: {} edges inserted one a transaction, {} in batches, {} until L0 had {} runs; files by level {:?}",
        ones.len(),
        batches.len(),
        filling.len(),
        runs(&store),
        files.levels.iter().map(|level| level.files).collect::<Vec<_>>(),
    ));
    let topology_bytes: u64 = files.levels.iter().map(|level| level.topology_bytes).sum();
    let in_files = store.open_store().store().engine().statistics().body_edges;
    let questions = Questions::draw(&store, graph, plan, work.plan.seed)?;
    let costs = questions.ask_cold(store.open_store(), &|| store.pages_read(), &|| store.empty_cache())?;
    let [list, no_edge] = costs.map(|cost| Question::of(&cost, plan));
    let measured = Measured {
        one,
        many,
        amplification,
        bytes: topology_bytes as f64 / in_files.max(1) as f64,
        list,
        no_edge,
        scan: scan(name, &store, all)?,
    };
    Box::new(store).close()?;
    Ok(measured)
}

/// Inserts, and counts the pages that are read for it.
fn counted<'e>(
    store: &LimitedStore<DiskEngine>,
    edges: &'e [Edge],
    way: Way,
    time: Duration,
) -> Result<(&'e [Edge], Run)> {
    let before = store.pages_read();
    let (taken, inserts) = insert(store, edges, way, time)?;
    // A page in all at least, so that ratios are numbers.
    let pages = (store.pages_read() - before).max(1) as f64 / inserts.written.max(1) as f64;
    eprintln!("{way:?}: {inserts:?}, {pages:.4} pages read an edge");
    Ok((taken, Run { inserts, pages }))
}

/// What flushes and compactions have written since the store was opened, by what flushes have.
fn write_amplification(store: &LimitedStore<DiskEngine>) -> f64 {
    let tree = store.open_store().store().engine().tree_statistics();
    (tree.flushes.bytes + tree.compactions.written_bytes) as f64 / tree.flushes.bytes.max(1) as f64
}

fn runs(store: &LimitedStore<DiskEngine>) -> usize {
    store.open_store().store().engine().tree().with_current(|current| current.set.flushed_runs())
}

/// Inserts and flushes until L0 has as many runs as it may have without being compacted, so that reads meet each choice at
/// its worst; those edges that this took. Everything is in files then.
fn fill_l0<'e>(
    store: &LimitedStore<DiskEngine>,
    edges: &'e [Edge],
    tuning: Tuning,
    time: Duration,
) -> Result<&'e [Edge]> {
    let (began, mut taken) = (Instant::now(), 0);
    for run in edges.chunks(RUN_EDGES) {
        if runs(store) + 1 >= tuning.flushed_runs || began.elapsed() > time {
            break;
        }
        taken += insert(store, run, MANY, Duration::MAX)?.0.len();
        store.open_store().store().engine().flush_all()?;
    }
    store.settle()?;
    Ok(&edges[..taken])
}

/// Edges a second.
fn scan(name: &str, store: &LimitedStore<DiskEngine>, all: Contents) -> Result<f64> {
    let mut times = Vec::with_capacity(SCANS);
    for _ in 0..SCANS {
        let (began, mut found) = (Instant::now(), 0_u64);
        store.read(&mut |reader| {
            reader.scan(&mut |_, targets| {
                found += std::hint::black_box(targets).len() as u64;
            })
        })?;
        times.push(began.elapsed().as_secs_f64());
        if found != all.edges {
            return Err(wrong(name, "edges of a scan", found, all.edges));
        }
    }
    Ok(all.edges as f64 / median_and_spread(&times).0)
}
