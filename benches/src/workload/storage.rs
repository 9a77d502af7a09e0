//! Storage: bytes an edge in memory and on disk; how long opening takes; what checkpoints and a snapshot that
//! stays open cost those who write.

use crate::edges::{Contents, Order, sorted};
use crate::engine::evergraph::EvergraphStore;
use crate::engine::kind::Kind;
use crate::engine::store::{Commit, Edge, Store};
use crate::failed;
use crate::folder::make_folder;
use crate::goals::baseline;
use crate::plan::Work;
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::{Spent, Stopwatch};
use crate::workload::stores::{names, open_all};
use evergraph_graph::error::Result;
use evergraph_measure::figure::Unit;
use std::collections::HashSet;
use std::fs;
use std::hint::black_box;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Measures all of it.
///
/// # Errors
/// `corrupt` if a store has other edges after it was opened again; what engines say.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let edges = sorted(work.plan, 16)?;
    files_and_restart(work, &edges)?;
    memory(work, &edges)?;
    let checkpoints =
        Heading::new("checkpoint.commits", "commits/s while checkpoints are made on and on", Unit::PerSecond);
    disturbed(work, &edges, &checkpoints, None, |store, done| {
        while !done.load(Ordering::Relaxed) {
            store.database().checkpoint()?;
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    })?;
    let held = Heading::new(
        "held_snapshot.commits",
        "commits/s while a snapshot from before is held",
        Unit::PerSecond,
    );
    let held_memory = Heading::new(
        "held_snapshot.memory",
        "bytes of the graph while a snapshot from before is held",
        Unit::Bytes,
    );
    disturbed(work, &edges, &held, Some(&held_memory), |store, done| {
        let snapshot = store.database().snapshot();
        while !done.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
        drop(black_box(snapshot));
        Ok(())
    })?;
    work.note("memory: lists of both directions as the engine counts them, without properties; the process has more");
    work.note("disk: blocks that the files have, after a clean end; ours has both directions, checksums and the log");
    work.note(
        "opening: files are in the system's cache; after a crash of the machine, add the time to read them",
    );
    work.note(
        "commits of one edge into the loaded graph, not synced, one thread; runs with and without the \
               disturbance take turns on one database",
    );
    Ok(())
}

/// Loads each engine, closes it, and opens it again and again.
fn files_and_restart(work: &mut Work<'_>, edges: &[Edge]) -> Result<()> {
    let stores = open_all(work, "files", Commit::Unsynced)?;
    for store in stores {
        store.load(edges)?;
        store.settle()?;
        store.close()?;
    }
    let (place, vertices, rounds) = (work.place("files"), work.plan.vertices(), work.plan.rounds);
    let folders: Vec<_> = names().map(|name| place.join(name)).collect();
    let mut sizes = Race::new(names());
    let bytes: Vec<f64> = folders.iter().map(|folder| disk_bytes(folder)).collect::<Result<_>>()?;
    sizes.note(&bytes.iter().map(|bytes| bytes / edges.len() as f64).collect::<Vec<_>>());
    work.add_race(&Heading::new("disk", "bytes on disk an edge", Unit::BytesPerEdge), &sizes);

    let expected = Contents::of(edges);
    let mut race = Race::new(names().chain([baseline::BYTES]));
    for round in 0..rounds {
        race.round(round, |place| {
            let watch = Stopwatch::start();
            let sample = |spent: Spent| Sample::timed(spent.wall, spent);
            let Some(kind) = Kind::ALL.get(place) else {
                // Our files, as those are what is opened.
                read_files(&folders[0])?;
                return Ok(sample(watch.stop()));
            };
            let store = kind.open(&folders[place], vertices, Commit::Unsynced)?;
            let sample = sample(watch.stop());
            expected.check(kind.name(), &*store)?;
            store.close()?;
            Ok(sample)
        })?;
    }
    let heading = Heading::new("restart.open", "opening a database from its files", Unit::Seconds);
    work.add_race(&heading.with("edges", edges.len()), &race);
    Ok(())
}

/// Ours: lists in memory with 1 % just inserted, and with all merged.
fn memory(work: &mut Work<'_>, edges: &[Edge]) -> Result<()> {
    let (mut hot, mut cold) = (Vec::new(), Vec::new());
    for round in 0..work.plan.rounds {
        let folder = work.place(&format!("memory-{round}"));
        let store = open(&folder, work.plan.vertices())?;
        // Every hundredth edge comes later, in another order.
        let later: Vec<Edge> = edges.iter().skip(round).step_by(100).rev().copied().collect();
        let first = edges.iter().enumerate().filter(|(at, _)| at % 100 != round % 100).map(|(_, edge)| *edge);
        store.load(&first.collect::<Vec<_>>())?;
        later.iter().try_for_each(|edge| store.put(&[*edge]))?;
        let bytes = |records: bool| {
            let engine = store.database().store().statistics().engine;
            let records = if records { engine.record_bytes } else { 0 };
            (engine.topology_bytes + records) as f64 / edges.len() as f64
        };
        hot.push(bytes(true));
        store.settle()?;
        cold.push(bytes(false));
        Box::new(store).close()?;
    }
    let heading = |name: &str, title: &str| Heading::new(name, title, Unit::BytesPerEdge);
    work.add(&heading("memory.hot", "bytes an edge in memory, both directions, 1 % just inserted"), &hot);
    work.add(&heading("memory.cold", "bytes an edge in memory, both directions, all merged"), &cold);
    Ok(())
}

/// Commits with `disturb` on another thread and without, in turn, on one database that has `loaded` already;
/// and what it takes in memory after each stretch, still disturbed.
fn disturbed(
    work: &mut Work<'_>,
    loaded: &[Edge],
    commits: &Heading,
    memory: Option<&Heading>,
    disturb: impl Fn(&EvergraphStore, &AtomicBool) -> Result<()> + Sync,
) -> Result<()> {
    let edges = Order::Random.edges(work.plan, 2 * work.plan.rounds * work.plan.commits, &[])?;
    let store = open(&work.place(&commits.name), work.plan.vertices())?;
    store.load(loaded)?;
    let [mut rates, mut bytes] = [(); 2].map(|()| Race::new(["evergraph", baseline::WITHOUT]));
    let mut stretches = edges.chunks(work.plan.commits);
    for round in 0..work.plan.rounds {
        let mut taken = [0.0; 2];
        rates.round(round, |place| {
            let edges = stretches.next().expect("there are two stretches a round");
            // Relaxed: it publishes nothing but itself.
            let done = AtomicBool::new(false);
            thread::scope(|scope| {
                let other = (place == 0).then(|| scope.spawn(|| disturb(&store, &done)));
                let watch = Stopwatch::start();
                let written = edges.iter().try_for_each(|edge| store.put(&[*edge]));
                let spent = watch.stop();
                taken[place] = graph_bytes(&store);
                done.store(true, Ordering::Relaxed);
                let other =
                    other.map_or(Ok(()), |other| other.join().expect("a panic was printed by its thread"));
                written.and(other).map(|()| Sample::timed(edges.len() as f64 / spent.wall, spent))
            })
        })?;
        bytes.note(&taken);
    }
    let all: HashSet<Edge> = loaded.iter().chain(&edges).copied().collect();
    Contents::of(&all).check("evergraph", &store)?;
    Box::new(store).close()?;
    work.add_race(commits, &rates);
    if let Some(memory) = memory {
        work.add_race(memory, &bytes);
    }
    Ok(())
}

/// What the graph takes in memory: lists, records that no merge has taken in, and what old snapshots still need.
fn graph_bytes(store: &EvergraphStore) -> f64 {
    let engine = store.database().store().statistics().engine;
    (engine.topology_bytes + engine.record_bytes + engine.retained_bytes) as f64
}

fn open(folder: &Path, vertices: u32) -> Result<EvergraphStore> {
    make_folder(folder)?;
    EvergraphStore::open(folder, vertices, Commit::Unsynced)
}

/// Bytes of all blocks below `folder`; files with holes have fewer than their length.
fn disk_bytes(folder: &Path) -> Result<f64> {
    let mut blocks = 0;
    visit(folder, &mut |file| {
        blocks += fs::metadata(file)?.blocks();
        Ok(())
    })?;
    Ok(blocks as f64 * 512.0)
}

fn read_files(folder: &Path) -> Result<()> {
    visit(folder, &mut |file| fs::read(file).map(|bytes| drop(black_box(bytes))))
}

/// Calls `each` with every file in a folder, and in those below it.
///
/// # Errors
/// `io`.
pub fn visit(folder: &Path, each: &mut dyn FnMut(&Path) -> std::io::Result<()>) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, &error))? {
        let path = entry.map_err(|error| failed(folder, &error))?.path();
        if path.is_dir() {
            visit(&path, each)?;
        } else {
            each(&path).map_err(|error| failed(&path, &error))?;
        }
    }
    Ok(())
}
