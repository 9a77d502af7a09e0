//! Writes into a graph of several times the memory: four fifths are loaded, of the rest as many are inserted in random
//! order as the time allows, with a deletion for each twenty. The second half of each run counts. One thread, not synced.
//!
//! ```text
//! ours     load ── settle ── one edge a transaction ── copy, opened ── 1,000 ── 1,000, a reader held ── settle
//! others   load ── settle ── 1,000 blindly ── one blindly ── 1,000 with look-ups ── one with a look-up ── settle
//! ```
//!
//! A store at a time, from its load to its end: compactions of one would be paid by another. Those that only the system can
//! limit run in a process of their own ([`super::helper`]).

use crate::disk_plan::{DiskPlan, DiskStore};
use crate::edges::Contents;
use crate::engine::limited::{LimitedStore, MeasuredEngine};
use crate::engine::store::{Access, Commit, Edge, Store};
use crate::failed;
use crate::folder::make_folder;
use crate::goals::baseline;
use crate::line_process::Requests;
use crate::plan::{Work, wrong};
use crate::process::MemoryPeak;
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::disk::graph::{DiskGraph, Properties};
use crate::workload::disk::helper::{Assignment, HelperPart, limitable, started};
use crate::workload::disk::inserts::{
    BATCH, Inserts, MANY, MANY_CHECKED, ONE, ONE_CHECKED, Way, expected, insert,
};
use crate::workload::disk::peers::open_peer;
use crate::workload::disk::tree::{BudgetPeaks, note_tree};
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::figure::Unit;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_report::disk_size::disk_bytes;
use serde::{Deserialize, Serialize};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

/// Edges of a hundred that are inserted after the load.
const LATER_PERCENT: u64 = 20;
/// Parts of those: one for each run of a store.
const RUNS: usize = 4;

/// What was measured of one store.
#[derive(Default, Serialize, Deserialize)]
struct Measured {
    load: f64,
    load_bytes: f64,
    settled_bytes: f64,
    one: Inserts,
    one_checked: Inserts,
    many: Inserts,
    many_checked: Inserts,
    /// Of ours alone.
    is_ours: bool,
    open: Option<f64>,
    held: Option<Inserts>,
    memory_bytes: f64,
}

impl Measured {
    /// Ours, one edge a transaction; of others what they are usually fed with.
    fn one_beside_batches(&self) -> f64 {
        if self.is_ours { self.one.rate } else { self.many.rate }
    }
}

/// Measures all of it.
///
/// # Errors
/// `corrupt` if a store has other edges in the end; `limit` if a store of ours reserves more than it may; what engines say.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let plan = work.plan.disk.clone();
    let graph = DiskGraph::draw(&plan, work.plan.seed, LATER_PERCENT)?;
    let stores = limitable(work, plan.stores());
    let mut rounds: Vec<Vec<Option<Measured>>> = Vec::new();
    for round in 0..plan.rounds {
        let mut of_round: Vec<Option<Measured>> = stores.iter().map(|_| None).collect();
        for place in order(round, stores.len()) {
            let is_left_out = rounds.iter().any(|round| round[place].is_none());
            if !is_left_out {
                let folder = work.place(&format!("disk-writes-{round}-{place}"));
                make_folder(&folder)?;
                eprintln!("{}:", stores[place].name());
                of_round[place] = of_store(work, stores[place], &folder, &graph)?;
                fs::remove_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
            }
        }
        rounds.push(of_round);
    }
    // Whoever had too little memory once is in no figure; ours, the first, always has enough or ends the run.
    let is_whole = |place: &usize| rounds.iter().all(|round| round[*place].is_some());
    let places: Vec<usize> = (0..stores.len()).filter(is_whole).collect();
    let mut figures: [Race; FIGURES.len()] =
        std::array::from_fn(|_| Race::new(places.iter().map(|place| stores[*place].name())));
    let (mut opens, mut held) = (Vec::new(), Race::new(["disk engine", baseline::WITHOUT]));
    for round in &rounds {
        let measured: Vec<&Measured> = places.iter().filter_map(|place| round[*place].as_ref()).collect();
        for ((_, _, _, value), race) in FIGURES.iter().zip(&mut figures) {
            race.note(&measured.iter().map(|measured| value(measured)).collect::<Vec<_>>());
        }
        // Of ours alone: nobody kills the others here.
        opens.extend(measured[0].open);
        if let Some(inserts) = measured[0].held {
            held.note(&[inserts.rate, measured[0].many.rate]);
        }
    }
    for ((name, title, unit, _), race) in FIGURES.iter().zip(&figures) {
        let heading = Heading::new(*name, *title, *unit).of_commits(Commit::Unsynced);
        work.add_race(&heading.with("memory limit", ByteSize(plan.limit_bytes)), race);
    }
    work.add(&Heading::new("disk.open", "opening what a kill leaves", Unit::Seconds), &opens);
    let title = "edges inserted and deleted, 1,000 a transaction, while a reader is held";
    work.add_race(&Heading::new("disk.insert.held", title, Unit::PerSecond), &held);
    notes(work, &plan, &graph);
    Ok(())
}

/// Name, title, unit and value of each figure.
type Figure = (&'static str, &'static str, Unit, fn(&Measured) -> f64);

const FIGURES: [Figure; 14] = [
    (
        "disk.insert.one",
        "edges inserted and deleted: ours 1 a transaction, others 1,000 blindly",
        Unit::PerSecond,
        Measured::one_beside_batches,
    ),
    ("disk.insert.one.alike", "the same, 1 a transaction for all", Unit::PerSecond, |run| run.one.rate),
    (
        "disk.insert.one.checked",
        "the same, 1 a transaction for all, looked up before",
        Unit::PerSecond,
        |run| run.one_checked.rate,
    ),
    ("disk.insert.batch_1000", "the same, 1,000 a transaction, by others blindly", Unit::PerSecond, |run| {
        run.many.rate
    }),
    (
        "disk.insert.batch_1000.checked",
        "the same, 1,000 a transaction, each looked up before",
        Unit::PerSecond,
        |run| run.many_checked.rate,
    ),
    ("disk.insert.one.p99", "the 99th percentile of a transaction of 1", Unit::Seconds, |run| run.one.p99),
    ("disk.insert.one.longest", "the longest of those", Unit::Seconds, |run| run.one.longest),
    (
        "disk.insert.one.checked.p99",
        "the 99th percentile of a transaction of 1, looked up before",
        Unit::Seconds,
        |run| run.one_checked.p99,
    ),
    ("disk.insert.batch_1000.p99", "the 99th percentile of a transaction of 1,000", Unit::Seconds, |run| {
        run.many.p99
    }),
    (
        "disk.insert.batch_1000.checked.p99",
        "the 99th percentile of a transaction of 1,000, each looked up before",
        Unit::Seconds,
        |run| run.many_checked.p99,
    ),
    ("disk.load", "edges loaded in bulk", Unit::PerSecond, |run| run.load),
    ("disk.load.bytes", "bytes of files an edge after the load", Unit::BytesPerEdge, |run| run.load_bytes),
    (
        "disk.settled.bytes",
        "bytes of files an edge in the end, logs included, all settled",
        Unit::BytesPerEdge,
        |run| run.settled_bytes,
    ),
    (
        "disk.memory",
        "memory of the process at most after the load, beyond what it had before the store was opened",
        Unit::Bytes,
        |run| run.memory_bytes,
    ),
];

fn notes(work: &mut Work<'_>, plan: &DiskPlan, graph: &DiskGraph) {
    work.note(format!(
        "{} edges loaded, {} for inserts in random order; R-MAT, 2^{} vertices; memory limit {}; a run of inserts ends \
         after {:?}",
        graph.loaded.len(),
        graph.later.len(),
        plan.scale,
        ByteSize(plan.limit_bytes),
        plan.insert_time,
    ));
    work.note("the memory engine has no limit: it is what the same commits cost where everything fits");
    work.note(
        "ours keeps both directions, checks both ends and looks each edge up before it inserts it, in all figures; the \
         others keep one direction and check no ends",
    );
    work.note(
        "rocksdb reads and writes past the system's cache, as ours does; fjall and lmdb have no such setting",
    );
}

/// All that is measured of one store; nothing if the system ended its process, which a note says.
fn of_store(
    work: &mut Work<'_>,
    store: DiskStore,
    folder: &Path,
    graph: &DiskGraph,
) -> Result<Option<Measured>> {
    let plan = work.plan.disk.clone();
    let peak = MemoryPeak::begin();
    let measured = match store {
        DiskStore::DiskEngine => of_ours::<DiskEngine>(work, folder, plan.limit_bytes, graph)?,
        DiskStore::MemoryEngine => of_ours::<MemoryEngine>(work, folder, u64::MAX, graph)?,
        _ if store.is_limited_by_system() => return of_helper(work, store, folder),
        _ => of_peer(store, folder, &plan, graph)?,
    };
    Ok(Some(Measured { memory_bytes: beyond(peak), ..measured }))
}

/// A page at least, so that ratios are numbers.
fn beyond(peak: MemoryPeak) -> f64 {
    peak.bytes().max(4096) as f64
}

fn of_helper(work: &mut Work<'_>, store: DiskStore, folder: &Path) -> Result<Option<Measured>> {
    let plan = work.plan.disk.clone();
    // It makes its folder anew if it has to begin again.
    let place = folder.join(store.name());
    let started = started(work, (store, HelperPart::Writes), &plan, &place, &())?;
    Ok(started.map(|(helper, measured)| {
        work.note(helper.text());
        measured
    }))
}

/// Works as a helper: measures its store when it is asked.
///
/// # Errors
/// `io` if nobody listens.
pub fn serve(assignment: &Assignment, requests: Requests) -> Result<()> {
    let Assignment { store, plan, seed, folder, .. } = assignment;
    let prepare = || {
        let graph = DiskGraph::draw(plan, *seed, LATER_PERCENT)?;
        assignment.join()?;
        Ok(graph)
    };
    requests.serve(prepare, |graph, (): ()| {
        let peak = MemoryPeak::begin();
        let measured = of_peer(*store, folder, plan, graph)?;
        Ok(Measured { memory_bytes: beyond(peak), ..measured })
    })
}

fn of_ours<E: MeasuredEngine>(
    work: &mut Work<'_>,
    folder: &Path,
    limit_bytes: u64,
    graph: &DiskGraph,
) -> Result<Measured>
where
    LimitedStore<E>: Store,
{
    let home = folder.join("store");
    let store = LimitedStore::<E>::open(&home, limit_bytes, Commit::Unsynced)?;
    let is_done = AtomicBool::new(false);
    let (done, peaks) = thread::scope(|scope| {
        let sampler = scope.spawn(|| BudgetPeaks::sample(&store, &is_done));
        let done = run_ours(work, &store, (&home, &folder.join("copy"), limit_bytes), graph);
        is_done.store(true, Ordering::Release);
        (done, sampler.join().expect("a sampler looks at numbers alone"))
    });
    let measured = done?;
    work.note(format!("{}: the most memory reserved, by purpose: {}", E::MEASURED, peaks.text()));
    if peaks.total() > limit_bytes {
        let text =
            format!("{} reserved {} of {}", E::MEASURED, ByteSize(peaks.total()), ByteSize(limit_bytes));
        return Err(Error::new(ErrorKind::Limit, text));
    }
    Box::new(store).close()?;
    Ok(measured)
}

/// All that is measured of a store of ours; its home and its limit are given for a copy.
fn run_ours<E: MeasuredEngine>(
    work: &mut Work<'_>,
    store: &LimitedStore<E>,
    (home, copy, limit_bytes): (&Path, &Path, u64),
    graph: &DiskGraph,
) -> Result<Measured>
where
    LimitedStore<E>: Store,
{
    let time = work.plan.disk.insert_time;
    let [first, second, third, _] = runs(&graph.later);
    let mut measured = Measured { is_ours: true, ..Measured::default() };
    let load = DiskGraph::load(graph.vertices, &graph.loaded, Properties::Bare);
    let began = Instant::now();
    store.load_graph(&load)?;
    measured.load = graph.loaded.len() as f64 / began.elapsed().as_secs_f64();
    drop(load);
    store.settle()?;
    // The edges of the load were the harness' own.
    MemoryPeak::forget();
    measured.load_bytes = disk_bytes(home)? as f64 / graph.loaded.len() as f64;
    note_tree(work, store, "loaded");
    let (ones, one) = insert(store, first, ONE, time)?;
    note_tree(work, store, "one edge a transaction");
    copy_files(home, copy)?;
    let began = Instant::now();
    let opened = LimitedStore::<E>::open(copy, limit_bytes, Commit::Unsynced)?;
    measured.open = Some(began.elapsed().as_secs_f64());
    // A kill loses commits that were not written to the log yet, and nothing that was loaded.
    let found = Contents::read(&opened)?.edges;
    let newest = expected(&graph.loaded, &[(ones, 1)]).edges;
    if found < graph.loaded.len() as u64 || found > newest + 1 {
        return Err(wrong(E::MEASURED, "edges after a kill", found, newest));
    }
    Box::new(opened).close()?;
    let (batches, many) = insert(store, second, MANY, time)?;
    note_tree(work, store, "batches");
    let snapshot = store.open_store().store().snapshot();
    let (beside_reader, held) = insert(store, third, MANY, time)?;
    note_tree(work, store, "batches, a reader held");
    drop(snapshot);
    store.settle()?;
    note_tree(work, store, "settled");
    let all = expected(&graph.loaded, &[(ones, 1), (batches, BATCH), (beside_reader, BATCH)]);
    all.check(E::MEASURED, store)?;
    // What compactions have replaced goes with the next manifest.
    store.open_store().checkpoint(&mut |_| ControlFlow::Continue(()))?;
    measured.settled_bytes = disk_bytes(home)? as f64 / all.edges as f64;
    // Ours always looks up.
    (measured.one, measured.one_checked) = (one, one);
    (measured.many, measured.many_checked) = (many, many);
    measured.held = Some(held);
    Ok(measured)
}

fn of_peer(peer: DiskStore, folder: &Path, plan: &DiskPlan, graph: &DiskGraph) -> Result<Measured> {
    let store = open_peer(peer, folder, plan.limit_bytes, Access::Single)?;
    let store = store.ok_or_else(|| Error::invalid(format!("{} is no peer", peer.name())))?;
    let mut measured = Measured::default();
    let began = Instant::now();
    store.load(&graph.loaded)?;
    measured.load = graph.loaded.len() as f64 / began.elapsed().as_secs_f64();
    store.settle()?;
    MemoryPeak::forget();
    measured.load_bytes = disk_bytes(folder)? as f64 / graph.loaded.len() as f64;
    let mut inserted = Vec::new();
    let mut run = |edges, way: Way| -> Result<Inserts> {
        let (taken, inserts) = insert(&*store, edges, way, plan.insert_time)?;
        eprintln!("{way:?}: {inserts:?}");
        inserted.push((taken, way.batch));
        Ok(inserts)
    };
    let [first, second, third, fourth] = runs(&graph.later);
    measured.many = run(first, MANY)?;
    measured.one = run(second, ONE)?;
    measured.many_checked = run(third, MANY_CHECKED)?;
    measured.one_checked = run(fourth, ONE_CHECKED)?;
    store.settle()?;
    let all = expected(&graph.loaded, &inserted);
    all.check(peer.name(), &*store)?;
    measured.settled_bytes = disk_bytes(folder)? as f64 / all.edges as f64;
    store.close()?;
    Ok(measured)
}

/// As many edges for each run of a store.
fn runs(later: &[Edge]) -> [&[Edge]; RUNS] {
    let each = later.len() / RUNS;
    std::array::from_fn(|run| &later[run * each..(run + 1) * each])
}

/// Copies the files of an open database: what a kill leaves.
fn copy_files(from: &Path, to: &Path) -> Result<()> {
    make_folder(to)?;
    for entry in fs::read_dir(from).map_err(|error| failed(from, &error))? {
        let entry = entry.map_err(|error| failed(from, &error))?;
        // A file may be removed meanwhile: then the manifest, which is copied, names it no more.
        match fs::copy(entry.path(), to.join(entry.file_name())) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed(&entry.path(), &error));
            }
            _ => {}
        }
    }
    Ok(())
}
