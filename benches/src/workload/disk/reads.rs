//! Reads: what a question costs, about one item and about a batch, with its pages in the cache and without.
//!
//! ```text
//! cold      the cache is emptied, then each question is about another item: time, and pages read
//! warm      the same questions until their pages are there, then timed
//! settled   items drawn evenly, caches as they are: look-ups, lists, a scan of all       beside RocksDB and fjall
//! ```
//!
//! The first question of each kind is not counted: it begins a snapshot's work.

use crate::disk_plan::{DiskPlan, DiskStore};
use crate::edges::Contents;
use crate::engine::limited::{LimitedStore, MeasuredEngine};
use crate::engine::store::{Commit, Edge, Reader, Store};
use crate::plan::{Work, wrong};
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::{Spent, Stopwatch};
use crate::workload::disk::graph::{DiskGraph, Properties};
use crate::workload::disk::inserts::BATCH;
use crate::workload::disk::peers::open_peer;
use crate::workload::disk::questions::{Cost, Questions};
use crate::workload::disk::tree::note_tree;
use evergraph::generate::random::Random;
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::figure::Unit;
use evergraph_memory_engine::engine::MemoryEngine;
use std::path::Path;

/// Edges of a hundred that are inserted after the load, so that several levels have files.
const LATER_PERCENT: u64 = 1;
const PURPOSE: u64 = 410;
/// Runs of what reads all edges: some stores take minutes for one.
const SCAN_ROUNDS: usize = 2;

/// A store and what it is called.
struct Contender {
    name: &'static str,
    store: Box<dyn Store>,
}

/// Measures questions to ours, then what all stores can answer.
///
/// # Errors
/// `corrupt` if an answer is wrong; what engines say.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let plan = work.plan.disk.clone();
    let graph = DiskGraph::draw(&plan, work.plan.seed, LATER_PERCENT)?;
    let place = work.place("disk-reads");
    let mut columns = Vec::new();
    let mut contenders = Vec::new();
    let disk = filled::<DiskEngine>(&place.join("disk"), plan.limit_bytes, &graph)?;
    note_tree(work, &disk, "disk engine");
    let questions = Questions::draw(&disk, &graph, &plan, work.plan.seed)?;
    columns.push(questions.ask(disk.open_store(), &|| disk.pages_read(), &|| disk.empty_cache())?);
    contenders.push(Contender { name: DiskEngine::MEASURED, store: Box::new(disk) });
    if plan.peers.contains(&DiskStore::MemoryEngine) {
        let memory = filled::<MemoryEngine>(&place.join("memory"), u64::MAX, &graph)?;
        columns.push(questions.ask(memory.open_store(), &|| 0, &|| Ok(()))?);
        contenders.push(Contender { name: MemoryEngine::MEASURED, store: Box::new(memory) });
    }
    add_costs(work, &plan, &columns);
    for peer in &plan.peers {
        let folder = place.join(peer.name());
        make(&folder)?;
        let Some(store) = open_peer(*peer, &folder, plan.limit_bytes)? else { continue };
        store.load(&graph.loaded)?;
        graph.later.chunks(BATCH).try_for_each(|edges| store.put(edges))?;
        store.settle()?;
        contenders.push(Contender { name: peer.name(), store });
    }
    let mut edges = graph.loaded;
    edges.extend(&graph.later);
    edges.sort_unstable();
    look_ups(work, &plan, &contenders, &edges)?;
    lists(work, &plan, &contenders)?;
    scan(work, &plan, &contenders, &edges)?;
    work.note(format!(
        "{} edges, R-MAT, 2^{} vertices; memory limit {}; ours keeps both directions and a property of each vertex, the \
         others one direction",
        edges.len(),
        plan.scale,
        ByteSize(plan.limit_bytes)
    ));
    work.note("page reads: of 16 KiB, that the cache did not save, filters included");
    contenders.into_iter().try_for_each(|contender| contender.store.close())
}

fn filled<E: MeasuredEngine>(folder: &Path, limit_bytes: u64, graph: &DiskGraph) -> Result<LimitedStore<E>>
where
    LimitedStore<E>: Store,
{
    make(folder)?;
    let store = LimitedStore::<E>::open(folder, limit_bytes, Commit::Unsynced)?;
    store.load_graph(&DiskGraph::load(graph.vertices, &graph.loaded, Properties::Ids))?;
    graph.later.chunks(BATCH).try_for_each(|edges| store.put(edges))?;
    store.settle()?;
    Ok(store)
}

/// Keeps what each kind of question cost: ours first, then the memory engine's, if it took part.
fn add_costs(work: &mut Work<'_>, plan: &DiskPlan, columns: &[Vec<Cost>]) {
    let names = [DiskEngine::MEASURED, MemoryEngine::MEASURED];
    for (at, cost) in columns.first().into_iter().flatten().enumerate() {
        let mut race = Race::new(names.into_iter().take(columns.len()));
        race.note(&columns.iter().map(|column| column[at].seconds).collect::<Vec<_>>());
        let name = format!("disk.read.{}", cost.name);
        let heading = Heading::new(&name, cost.title, Unit::Seconds);
        work.add_race(&heading.with("memory limit", ByteSize(plan.limit_bytes)), &race);
        let title = format!("pages read: {}", cost.title);
        work.add(&Heading::new(format!("{name}.pages"), title, Unit::Number), &[cost.page_reads]);
    }
}

/// Half of what is asked for is there; each round asks for others.
fn look_ups(work: &mut Work<'_>, plan: &DiskPlan, contenders: &[Contender], edges: &[Edge]) -> Result<()> {
    let vertices = u64::from(plan.vertices());
    let questions: Vec<Vec<Edge>> = (0..work.plan.rounds)
        .map(|round| {
            let mut random = Random::new(work.plan.seed, PURPOSE, 2 * round as u64);
            let mut draw = |number| match number % 2 {
                0 => edges[random.below(edges.len() as u64) as usize],
                _ => (random.below(vertices) as u32, random.below(vertices) as u32),
            };
            (0..plan.questions).map(&mut draw).collect()
        })
        .collect();
    let race = ask(work.plan.rounds, contenders, "edges found", |round, reader| {
        let mut found = 0_u64;
        for edge in &questions[round] {
            found += u64::from(reader.has(*edge)?);
        }
        Ok(found)
    })?;
    let race = race.map(|seconds| seconds / plan.questions as f64);
    work.add_race(&Heading::new("disk.settled.look_up", "look-up of one edge", Unit::Seconds), &race);
    Ok(())
}

/// All neighbours of vertices drawn evenly, others in each round.
fn lists(work: &mut Work<'_>, plan: &DiskPlan, contenders: &[Contender]) -> Result<()> {
    let vertices = u64::from(plan.vertices());
    let starts: Vec<Vec<u32>> = (0..work.plan.rounds)
        .map(|round| {
            let mut random = Random::new(work.plan.seed, PURPOSE, 2 * round as u64 + 1);
            (0..plan.questions).map(|_| random.below(vertices) as u32).collect()
        })
        .collect();
    let race = ask(work.plan.rounds, contenders, "neighbours read", |round, reader| {
        let (mut list, mut sum) = (Vec::new(), 0_u64);
        for start in &starts[round] {
            list.clear();
            reader.neighbors(*start, usize::MAX, &mut list)?;
            sum += list.iter().map(|neighbor| u64::from(*neighbor)).sum::<u64>();
        }
        Ok(sum)
    })?;
    let race = race.map(|seconds| seconds / plan.questions as f64);
    work.add_race(&Heading::new("disk.settled.list", "all neighbours of a vertex", Unit::Seconds), &race);
    Ok(())
}

/// All edges, in order.
fn scan(work: &mut Work<'_>, plan: &DiskPlan, contenders: &[Contender], edges: &[Edge]) -> Result<()> {
    let expected = Contents::of(edges);
    contenders.iter().try_for_each(|contender| expected.check(contender.name, &*contender.store))?;
    let race = ask(
        work.plan.rounds.min(SCAN_ROUNDS).max(plan.rounds),
        contenders,
        "all neighbours",
        |_, reader| {
            let mut sum = 0_u64;
            reader.scan(&mut |_, targets| {
                sum += targets.iter().map(|target| u64::from(*target)).sum::<u64>()
            })?;
            Ok(sum)
        },
    )?;
    let race = race.map(|seconds| edges.len() as f64 / seconds);
    let title = "edges read in a scan of all, one thread";
    work.add_race(&Heading::new("disk.settled.scan", title, Unit::PerSecond), &race);
    Ok(())
}

/// Asks every contender in every round; a wrong answer ends it. The figure is in seconds.
fn ask(
    rounds: usize,
    contenders: &[Contender],
    what: &str,
    mut question: impl FnMut(usize, &mut dyn Reader) -> Result<u64>,
) -> Result<Race> {
    let mut race = Race::new(contenders.iter().map(|contender| contender.name));
    for round in 0..rounds {
        let mut expected: Option<u64> = None;
        race.round(round, |place| {
            let Contender { name, store } = &contenders[place];
            let mut answered: Option<(u64, Spent)> = None;
            store.read(&mut |reader| {
                let watch = Stopwatch::start();
                let answer = question(round, reader)?;
                answered = Some((answer, watch.stop()));
                Ok(())
            })?;
            let (answer, spent) = answered.expect("a store that reads calls its reader");
            let expected = *expected.get_or_insert(answer);
            if answer != expected {
                return Err(wrong(name, what, answer, expected));
            }
            Ok(Sample::timed(spent.wall, spent))
        })?;
    }
    Ok(race)
}

fn make(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Error::new(ErrorKind::Io, format!("make the folder {}: {error}", folder.display())).because(error)
    })
}
