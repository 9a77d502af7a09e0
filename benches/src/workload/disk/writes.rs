//! Writes into a graph of several times the memory: four fifths are loaded, one fifth is inserted in random order, with
//! a deletion for each twenty inserts. The second half of the inserts counts. One thread, not synced.
//!
//! ```text
//! load 80 % ── settle ── one edge a transaction: 1/4  1/4 counts ── copy, opened ── batches: 1/4  1/4 counts ── settle
//! ```
//!
//! A store at a time, from its load to its end: compactions of one would be paid by another.

use crate::edges::{Contents, distinct};
use crate::engine::limited::{LimitedStore, MeasuredEngine};
#[cfg(feature = "rocksdb")]
use crate::engine::rocksdb::RocksDbStore;
use crate::engine::store::{Commit, Edge, Store};
use crate::plan::{Plan, Work, wrong};
use crate::race::{Race, order};
use crate::results::Heading;
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_disk_engine::statistics::TreeStatistics;
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::disk_size::disk_bytes;
use evergraph_measure::figure::Unit;
use evergraph_memory_engine::engine::MemoryEngine;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Edges a vertex before parallel ones go: so a graph of 2^21 vertices has four times 64 MiB of files.
const DEGREE: u32 = 24;
const BATCH: usize = 1000;
/// Inserts for each deletion.
const INSERTS_A_DELETION: usize = 20;

/// What was measured of one store.
#[derive(Default)]
struct Measured {
    load: f64,
    load_bytes: f64,
    one: Inserts,
    batches: Inserts,
    open: Option<f64>,
}

/// A run of inserts and deletions, of which the second half counts.
#[derive(Clone, Copy, Default)]
struct Inserts {
    /// Edges inserted or deleted a second.
    rate: f64,
    /// Seconds that 99 of 100 transactions take at most, and the longest took.
    p99: f64,
    longest: f64,
}

/// Measures all of it.
///
/// # Errors
/// `corrupt` if a store has other edges in the end; what engines say.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let plan = Plan { scale: work.plan.disk_scale, file_graph: None, ..work.plan.clone() };
    let mut edges = distinct(&plan, DEGREE)?;
    let mut later = edges.split_off(edges.len() / 5 * 4);
    edges.sort_unstable();
    shuffle(&mut later, plan.seed);
    let graph = Graph { vertices: 1 << plan.scale, loaded: edges, later };
    let names = || {
        let peers: &[&str] = if cfg!(feature = "rocksdb") { &["rocksdb"] } else { &[] };
        [DiskEngine::MEASURED, MemoryEngine::MEASURED].into_iter().chain(peers.iter().copied())
    };
    let races = |_| Race::new(names());
    let mut figures: [Race; 7] = std::array::from_fn(races);
    let mut opens = Vec::new();
    for round in 0..plan.disk_rounds {
        let mut measured: Vec<Option<Measured>> = names().map(|_| None).collect();
        for place in order(round, measured.len()) {
            let folder = work.place(&format!("disk-writes-{round}-{place}"));
            fs::create_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
            let limit = plan.disk_limit_bytes;
            measured[place] = Some(match place {
                0 => of_ours::<DiskEngine>(work, &folder, limit, &graph)?,
                1 => of_ours::<MemoryEngine>(work, &folder, u64::MAX, &graph)?,
                #[cfg(feature = "rocksdb")]
                _ => of_peer(&folder, limit, &graph)?,
                #[cfg(not(feature = "rocksdb"))]
                _ => unreachable!("two stores are ours"),
            });
            fs::remove_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
        }
        let measured: Vec<Measured> = measured.into_iter().flatten().collect();
        let of = |value: &dyn Fn(&Measured) -> f64| measured.iter().map(value).collect::<Vec<_>>();
        figures[0].note(&of(&|run| run.one.rate));
        figures[1].note(&of(&|run| run.one.p99));
        figures[2].note(&of(&|run| run.batches.rate));
        figures[3].note(&of(&|run| run.batches.p99));
        figures[4].note(&of(&|run| run.load));
        figures[5].note(&of(&|run| run.load_bytes));
        figures[6].note(&of(&|run| run.one.longest));
        // Of ours alone: nobody kills RocksDB here.
        opens.extend(measured[0].open);
    }
    let headings = [
        ("disk.insert.one", "edges inserted and deleted, 1 a transaction", Unit::PerSecond),
        ("disk.insert.one.p99", "the 99th percentile of such a transaction", Unit::Seconds),
        ("disk.insert.batch_1000", "edges inserted and deleted, 1,000 a transaction", Unit::PerSecond),
        ("disk.insert.batch_1000.p99", "the 99th percentile of such a transaction", Unit::Seconds),
        ("disk.load", "edges loaded in bulk", Unit::PerSecond),
        ("disk.load.bytes", "bytes of files an edge after the load", Unit::BytesPerEdge),
        ("disk.insert.one.longest", "the longest transaction of one edge", Unit::Seconds),
    ];
    for ((name, title, unit), race) in headings.into_iter().zip(&figures) {
        let heading = Heading::new(name, title, unit).of_commits(Commit::Unsynced);
        work.add_race(&heading.with("memory limit", ByteSize(plan.disk_limit_bytes)), race);
    }
    work.add(&Heading::new("disk.open", "opening what a kill leaves", Unit::Seconds), &opens);
    work.note(format!(
        "{} edges loaded, {} inserted in random order; R-MAT, 2^{} vertices; memory limit {}",
        graph.loaded.len(),
        graph.later.len(),
        plan.scale,
        ByteSize(plan.disk_limit_bytes)
    ));
    work.note("the memory engine has no limit: it is what the same commits cost where everything fits");
    work.note(
        "ours keeps both directions and looks each edge up before it inserts it; RocksDB writes one direction, blindly, \
         always 1,000 edges a batch",
    );
    Ok(())
}

/// A graph in two parts.
struct Graph {
    vertices: u32,
    loaded: Vec<Edge>,
    later: Vec<Edge>,
}

fn of_ours<E: MeasuredEngine>(
    work: &mut Work<'_>,
    folder: &Path,
    limit_bytes: u64,
    graph: &Graph,
) -> Result<Measured>
where
    LimitedStore<E>: Store,
{
    let home = folder.join("store");
    let store = LimitedStore::<E>::open(&home, limit_bytes, Commit::Unsynced)?;
    let is_done = AtomicBool::new(false);
    let (done, peaks) = thread::scope(|scope| {
        let sampler = scope.spawn(|| sample_memory(&store, &is_done));
        let done = run_ours(work, &store, (&home, &folder.join("copy"), limit_bytes), graph);
        is_done.store(true, Ordering::Release);
        (done, sampler.join().expect("a sampler looks at numbers alone"))
    });
    let measured = done?;
    expected_all(graph).check(E::MEASURED, &store)?;
    let total = peaks.values().max().copied().unwrap_or(0);
    let text: Vec<String> =
        peaks.iter().map(|(name, bytes)| format!("{name} {}", ByteSize(*bytes))).collect();
    work.note(format!("{}: the most memory reserved, by purpose: {}", E::MEASURED, text.join(", ")));
    if total > limit_bytes {
        let text = format!("{} reserved {} of {}", E::MEASURED, ByteSize(total), ByteSize(limit_bytes));
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
    graph: &Graph,
) -> Result<Measured>
where
    LimitedStore<E>: Store,
{
    let (one, batches) = graph.later.split_at(graph.later.len() / 2);
    let mut measured = Measured::default();
    let began = Instant::now();
    store.load_graph(graph.vertices, &graph.loaded)?;
    measured.load = graph.loaded.len() as f64 / began.elapsed().as_secs_f64();
    store.settle()?;
    measured.load_bytes = disk_bytes(home)? as f64 / graph.loaded.len() as f64;
    note_tree(work, store, "loaded");
    measured.one = insert(store, one, 1)?;
    note_tree(work, store, "one edge a transaction");
    copy_files(home, copy)?;
    let began = Instant::now();
    let opened = LimitedStore::<E>::open(copy, limit_bytes, Commit::Unsynced)?;
    measured.open = Some(began.elapsed().as_secs_f64());
    // A kill loses commits that were not written to the log yet, and nothing that was loaded.
    let found = Contents::read(&opened)?.edges;
    let newest = expected(&graph.loaded, &[(one, 1)]).edges;
    if found < graph.loaded.len() as u64 || found > newest + 1 {
        return Err(wrong(E::MEASURED, "edges after a kill", found, newest));
    }
    Box::new(opened).close()?;
    measured.batches = insert(store, batches, BATCH)?;
    note_tree(work, store, "batches");
    store.settle()?;
    note_tree(work, store, "settled");
    Ok(measured)
}

/// RocksDB, whose one-edge transactions are batches of 1,000, too: what it is usually fed with.
#[cfg(feature = "rocksdb")]
fn of_peer(folder: &Path, limit_bytes: u64, graph: &Graph) -> Result<Measured> {
    let store = RocksDbStore::open_limited(folder, limit_bytes, Commit::Unsynced)?;
    let (first, second) = graph.later.split_at(graph.later.len() / 2);
    let began = Instant::now();
    store.load(&graph.loaded)?;
    let load = graph.loaded.len() as f64 / began.elapsed().as_secs_f64();
    store.settle()?;
    let load_bytes = disk_bytes(&folder.join("rocksdb"))? as f64 / graph.loaded.len() as f64;
    let one = insert(&store, first, BATCH)?;
    let batches = insert(&store, second, BATCH)?;
    store.settle()?;
    expected(&graph.loaded, &[(first, BATCH), (second, BATCH)]).check("rocksdb", &store)?;
    Box::new(store).close()?;
    Ok(Measured { load, load_bytes, one, batches, open: None })
}

/// Inserts `edges` by batches and deletes one of each twenty; the second half is timed.
fn insert(store: &dyn Store, edges: &[Edge], batch: usize) -> Result<Inserts> {
    let mut times = Vec::with_capacity(edges.len() / batch + edges.len() / batch / INSERTS_A_DELETION + 2);
    let (mut began, mut counted) = (Instant::now(), 0);
    let mut is_counting = false;
    let stretch = batch * INSERTS_A_DELETION;
    for (at, stretch) in edges.chunks(stretch).enumerate() {
        if !is_counting && 2 * at * batch * INSERTS_A_DELETION >= edges.len() {
            (is_counting, began) = (true, Instant::now());
            times.clear();
            counted = 0;
        }
        for edges in stretch.chunks(batch) {
            let began = Instant::now();
            store.put(edges)?;
            times.push(began.elapsed());
        }
        let deleted: Vec<Edge> = deleted(stretch, batch).collect();
        let began = Instant::now();
        store.delete(&deleted)?;
        times.push(began.elapsed());
        counted += stretch.len() + deleted.len();
    }
    let rate = counted as f64 / began.elapsed().as_secs_f64();
    times.sort_unstable();
    let at = |share: f64| {
        times.get((times.len() as f64 * share) as usize).or(times.last()).map_or(0.0, Duration::as_secs_f64)
    };
    Ok(Inserts { rate, p99: at(0.99), longest: at(1.0) })
}

/// The edges of a stretch that are deleted after it: every twentieth.
fn deleted(stretch: &[Edge], batch: usize) -> impl Iterator<Item = Edge> {
    stretch.iter().step_by(INSERTS_A_DELETION).take(batch).copied()
}

fn expected(loaded: &[Edge], inserted: &[(&[Edge], usize)]) -> Contents {
    let left = inserted.iter().flat_map(|(edges, batch)| {
        edges.chunks(batch * INSERTS_A_DELETION).flat_map(|stretch| {
            let is_left =
                |at: &usize| !at.is_multiple_of(INSERTS_A_DELETION) || at / INSERTS_A_DELETION >= *batch;
            (0..stretch.len()).filter(is_left).map(|at| &stretch[at])
        })
    });
    Contents::of(loaded.iter().chain(left))
}

fn expected_all(graph: &Graph) -> Contents {
    let (one, batches) = graph.later.split_at(graph.later.len() / 2);
    expected(&graph.loaded, &[(one, 1), (batches, BATCH)])
}

/// The most that was reserved for each purpose, and in all, while it was looked.
fn sample_memory<E: MeasuredEngine>(store: &LimitedStore<E>, is_done: &AtomicBool) -> BTreeMap<String, u64> {
    let mut peaks = BTreeMap::new();
    let mut note = |name: &str, bytes: u64| {
        let peak = peaks.entry(name.to_owned()).or_insert(0);
        *peak = bytes.max(*peak);
    };
    while !is_done.load(Ordering::Acquire) {
        let budget = store.open_store().store().budget();
        note("all", budget.used_bytes());
        budget.reservations().iter().for_each(|(name, bytes)| note(name, *bytes));
        thread::sleep(Duration::from_millis(5));
    }
    peaks
}

/// Notes what flushes and compactions did up to now.
fn note_tree<E: MeasuredEngine>(work: &mut Work<'_>, store: &LimitedStore<E>, moment: &str) {
    let Some(tree) = store.open_store().store().engine().tree() else { return };
    let TreeStatistics { flushes, compactions, stalls, levels, .. } = &tree;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let seconds = |time: Duration| time.as_secs_f64().max(1e-9);
    let files: Vec<String> = levels
        .iter()
        .map(|level| format!("{} ({:.0} MB)", level.files, megabytes(level.topology_bytes)))
        .collect();
    let amplification = (flushes.bytes + compactions.written_bytes) as f64 / flushes.bytes.max(1) as f64;
    let note = format!(
        "{moment}: {} flushes, {:.0} MB/s, {:.2} s; {} compactions, {:.0} MB written, {:.2} s, {:.1} ns an edge and \
         side; write amplification {amplification:.1}; {} stalls, {:.2} s, the longest {:.3} s; files by level {}",
        flushes.files,
        megabytes(flushes.bytes) / seconds(flushes.flushing),
        flushes.flushing.as_secs_f64(),
        compactions.compactions,
        megabytes(compactions.written_bytes),
        compactions.compacting.as_secs_f64(),
        compactions.compacting.as_secs_f64() * 1e9 / compactions.written_records.max(1) as f64,
        stalls.stalls,
        stalls.stalled.as_secs_f64(),
        stalls.stall_max.as_secs_f64(),
        files.join(", "),
    );
    eprintln!("{note}");
    work.note(note);
}

/// Copies the files of an open database: what a kill leaves.
fn copy_files(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).map_err(|error| failed(to, &error))?;
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

/// Fisher and Yates' shuffle.
fn shuffle(edges: &mut [Edge], seed: u64) {
    let mut random = evergraph::generate::random::Random::new(seed, 401, 0);
    for at in (1..edges.len()).rev() {
        edges.swap(at, random.below(at as u64 + 1) as usize);
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{}: {error}", path.display()))
}
