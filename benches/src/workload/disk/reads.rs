//! Reads: what a question costs, about one item and about a batch, with its pages in the cache and without.
//!
//! ```text
//! cold      the cache is emptied, then each question is about another item: time, and pages read
//! warm      the same questions until their pages are there, then timed
//! settled   items drawn evenly, caches as they are: look-ups, lists, a scan of all       beside RocksDB, fjall, LMDB
//! ```
//!
//! The first question of each kind is not counted: it begins a snapshot's work.

use crate::disk_plan::{DiskPlan, DiskStore};
use crate::edges::Contents;
use crate::engine::limited::{LimitedStore, MeasuredEngine};
use crate::engine::store::{Access, Edge, Reader, Store};
use crate::folder::make_folder;
use crate::line_process::Requests;
use crate::plan::{Work, expect};
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::{Spent, Stopwatch};
use crate::workload::disk::graph::{DiskGraph, Properties};
use crate::workload::disk::helper::{Assignment, Helper, HelperPart, limitable, started};
use crate::workload::disk::inserts::BATCH;
use crate::workload::disk::peers::open_peer;
use crate::workload::disk::questions::{Cost, Questions};
use crate::workload::disk::tree::note_tree;
use evergraph::generate::random::Random;
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::error::{Error, Result};
use evergraph_measure::figure::Unit;
use evergraph_memory_engine::engine::MemoryEngine;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// Edges of a hundred that are inserted after the load, so that several levels have files.
const LATER_PERCENT: u64 = 1;
const PURPOSE: u64 = 410;
/// Runs of what reads all edges: some stores take minutes for one.
const SCAN_ROUNDS: usize = 2;

/// What every store is asked in a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Settled {
    /// Edges, half of which are there.
    LookUps,
    /// All neighbours of vertices drawn evenly.
    Lists,
    /// All edges, in order.
    Scan,
}

/// What a store of another process is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Request {
    /// To be loaded, and settled.
    Fill,
    /// All that it has.
    Contents,
    /// A question, in a round.
    Ask(Settled, usize),
}

/// A store and what it is called.
struct Contender {
    name: &'static str,
    place: Place,
}

/// Where a store is.
enum Place {
    Here(Box<dyn Store>),
    Elsewhere(Helper),
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
    let (of_disk, of_memory) = (place.join("disk"), place.join("memory"));
    let disk = LimitedStore::<DiskEngine>::filled(&of_disk, plan.limit_bytes, &graph, Properties::Ids)?;
    note_tree(work, &disk, "disk engine");
    let questions = Questions::draw(&disk, &graph, &plan, work.plan.seed)?;
    columns.push(questions.ask(disk.open_store(), &|| disk.pages_read(), &|| disk.empty_cache())?);
    contenders.push(Contender { name: DiskEngine::MEASURED, place: Place::Here(Box::new(disk)) });
    if plan.peers.contains(&DiskStore::MemoryEngine) {
        let memory = LimitedStore::<MemoryEngine>::filled(&of_memory, u64::MAX, &graph, Properties::Ids)?;
        columns.push(questions.ask(memory.open_store(), &|| 0, &|| Ok(()))?);
        contenders.push(Contender { name: MemoryEngine::MEASURED, place: Place::Here(Box::new(memory)) });
    }
    add_costs(work, &plan, &columns);
    for peer in limitable(work, plan.peers.clone()) {
        let folder = place.join(peer.name());
        contenders.extend(peer_filled(work, peer, &folder, &graph)?);
    }
    let edges = all_edges(graph);
    let drawn = Drawn { plan: &plan, seed: work.plan.seed, edges: &edges };
    let asked = [
        (Settled::LookUps, "edges found", work.plan.rounds),
        (Settled::Lists, "neighbours read", work.plan.rounds),
        (Settled::Scan, "all neighbours", work.plan.rounds.min(SCAN_ROUNDS).max(plan.rounds)),
    ];
    for (settled, what, rounds) in asked {
        if settled == Settled::Scan {
            let expected = Contents::of(&edges);
            for Contender { name, place } in &mut contenders {
                expect(name, "all its edges", place.contents()?, expected)?;
            }
        }
        let race = ask(rounds, &mut contenders, &drawn, settled, what)?;
        let each = |seconds: f64| seconds / plan.questions as f64;
        let (name, title, unit, race) = match settled {
            Settled::LookUps => ("look_up", "look-up of one edge", Unit::Seconds, race.map(each)),
            Settled::Lists => ("list", "all neighbours of a vertex", Unit::Seconds, race.map(each)),
            Settled::Scan => {
                let rate = race.map(|seconds| edges.len() as f64 / seconds);
                ("scan", "edges read in a scan of all, one thread", Unit::PerSecond, rate)
            }
        };
        work.add_race(&Heading::new(format!("disk.settled.{name}"), title, unit), &race);
    }
    work.note(format!(
        "{} edges, R-MAT, 2^{} vertices; memory limit {}; ours keeps both directions and a property of each vertex, the \
         others one direction",
        edges.len(),
        plan.scale,
        ByteSize(plan.limit_bytes)
    ));
    work.note("page reads: of 16 KiB, that the cache did not save, filters included");
    for contender in contenders {
        match contender.place {
            Place::Here(store) => store.close()?,
            Place::Elsewhere(helper) => work.note(helper.text()),
        }
    }
    Ok(())
}

/// A store of others with the graph; none for ours, and if the system ended its process, which a note says.
fn peer_filled(
    work: &mut Work<'_>,
    peer: DiskStore,
    folder: &Path,
    graph: &DiskGraph,
) -> Result<Option<Contender>> {
    let name = peer.name();
    if peer.is_limited_by_system() {
        let plan = work.plan.disk.clone();
        let started = started::<()>(work, (peer, HelperPart::Reads), &plan, folder, &Request::Fill)?;
        return Ok(started.map(|(helper, ())| Contender { name, place: Place::Elsewhere(helper) }));
    }
    make_folder(folder)?;
    let store = open_peer(peer, folder, work.plan.disk.limit_bytes, Access::Single)?;
    let contender = |store: Box<dyn Store>| {
        fill_peer(&*store, graph)?;
        Ok(Contender { name, place: Place::Here(store) })
    };
    store.map(contender).transpose()
}

fn fill_peer(store: &dyn Store, graph: &DiskGraph) -> Result<()> {
    store.load(&graph.loaded)?;
    graph.later.chunks(BATCH).try_for_each(|edges| store.put(edges))?;
    store.settle()
}

/// Both parts, ascending.
fn all_edges(graph: DiskGraph) -> Vec<Edge> {
    let mut edges = graph.loaded;
    edges.extend(&graph.later);
    edges.sort_unstable();
    edges
}

/// Works as a helper: fills its store, then answers questions.
///
/// # Errors
/// `io` if nobody listens.
pub fn serve(assignment: &Assignment, requests: Requests) -> Result<()> {
    let Assignment { store: peer, plan, seed, folder, .. } = assignment;
    let open = |access| {
        let store = open_peer(*peer, folder, plan.limit_bytes, access)?;
        store.ok_or_else(|| Error::invalid(format!("{} is no peer", peer.name())))
    };
    let prepare = || {
        let graph = DiskGraph::draw(plan, *seed, LATER_PERCENT)?;
        let edges = all_edges(graph.clone());
        assignment.join()?;
        Ok((graph, edges, Some((open(Access::Single)?, Access::Single))))
    };
    requests.serve(prepare, |(graph, edges, store), request| {
        let (mut opened, mut access) =
            store.take().ok_or_else(|| Error::invalid("an answer failed before"))?;
        // What is asked says how it is read, which some stores must know when they are opened.
        let wanted = match request {
            Request::Fill | Request::Ask(Settled::LookUps | Settled::Lists, _) => Access::Single,
            Request::Contents | Request::Ask(Settled::Scan, _) => Access::Scan,
        };
        if access != wanted {
            opened.close()?;
            (opened, access) = (open(wanted)?, wanted);
        }
        let reply = match request {
            Request::Fill => fill_peer(&*opened, graph).map(|()| Value::Null),
            Request::Contents => Contents::read(&*opened).and_then(value),
            Request::Ask(settled, round) => {
                Drawn { plan, seed: *seed, edges }.ask(settled, round, &*opened).and_then(value)
            }
        };
        *store = Some((opened, access));
        reply
    })
}

fn value(reply: impl Serialize) -> Result<Value> {
    serde_json::to_value(reply).map_err(|error| Error::invalid(error.to_string()))
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

/// What is asked for is drawn from this, in each round anew.
struct Drawn<'a> {
    plan: &'a DiskPlan,
    seed: u64,
    edges: &'a [Edge],
}

impl Drawn<'_> {
    /// Asks a store: a number that all stores must find, and what that took.
    fn ask(&self, settled: Settled, round: usize, store: &dyn Store) -> Result<(u64, Spent)> {
        let vertices = u64::from(self.plan.vertices());
        // Even numbers are those of look-ups, odd ones those of lists.
        let mut random =
            Random::new(self.seed, PURPOSE, 2 * round as u64 + u64::from(settled != Settled::LookUps));
        let mut below = |bound: u64| random.below(bound);
        let (mut look_ups, mut starts): (Vec<Edge>, Vec<u32>) = (Vec::new(), Vec::new());
        match settled {
            Settled::LookUps => look_ups.extend((0..self.plan.questions).map(|number| match number % 2 {
                0 => self.edges[below(self.edges.len() as u64) as usize],
                _ => (below(vertices) as u32, below(vertices) as u32),
            })),
            Settled::Lists => starts.extend((0..self.plan.questions).map(|_| below(vertices) as u32)),
            Settled::Scan => {}
        }
        let mut answered: Option<(u64, Spent)> = None;
        store.read(&mut |reader| {
            let watch = Stopwatch::start();
            let answer = match settled {
                Settled::LookUps => has(reader, &look_ups)?,
                Settled::Lists => neighbors(reader, &starts)?,
                Settled::Scan => scan(reader)?,
            };
            answered = Some((answer, watch.stop()));
            Ok(())
        })?;
        Ok(answered.expect("a store that reads calls its reader"))
    }
}

/// How many of the edges are there.
fn has(reader: &mut dyn Reader, edges: &[Edge]) -> Result<u64> {
    let mut found = 0;
    for edge in edges {
        found += u64::from(reader.has(*edge)?);
    }
    Ok(found)
}

/// The sum of all neighbours.
fn neighbors(reader: &mut dyn Reader, starts: &[u32]) -> Result<u64> {
    let (mut list, mut sum) = (Vec::new(), 0);
    for start in starts {
        list.clear();
        reader.neighbors(*start, usize::MAX, &mut list)?;
        sum += list.iter().map(|neighbor| u64::from(*neighbor)).sum::<u64>();
    }
    Ok(sum)
}

/// The sum of all targets.
fn scan(reader: &mut dyn Reader) -> Result<u64> {
    let mut sum = 0;
    reader.scan(&mut |_, targets| sum += targets.iter().map(|target| u64::from(*target)).sum::<u64>())?;
    Ok(sum)
}

impl Place {
    fn ask(&mut self, drawn: &Drawn<'_>, settled: Settled, round: usize) -> Result<(u64, Spent)> {
        match self {
            Self::Here(store) => drawn.ask(settled, round, &**store),
            Self::Elsewhere(helper) => helper.ask(&Request::Ask(settled, round)),
        }
    }

    fn contents(&mut self) -> Result<Contents> {
        match self {
            Self::Here(store) => Contents::read(&**store),
            Self::Elsewhere(helper) => helper.ask(&Request::Contents),
        }
    }
}

/// Asks every contender in every round; a wrong answer ends it. The figure is in seconds.
fn ask(
    rounds: usize,
    contenders: &mut [Contender],
    drawn: &Drawn<'_>,
    settled: Settled,
    what: &str,
) -> Result<Race> {
    let mut race = Race::new(contenders.iter().map(|contender| contender.name));
    for round in 0..rounds {
        let mut expected: Option<u64> = None;
        race.round(round, |turn| {
            let Contender { name, place } = &mut contenders[turn];
            let (answer, spent) = place.ask(drawn, settled, round)?;
            expect(name, what, answer, *expected.get_or_insert(answer))?;
            Ok(Sample::timed(spent.wall, spent))
        })?;
    }
    Ok(race)
}
