//! Queries: Gremlin beside the loop that somebody would write by hand on the same snapshot.
//!
//! ```text
//! evergraph   g.V(start).both().both().count()     text to answer: parsed, planned, run
//! loop        vertices of a hop with how many paths lead there, the next hop from those; degrees at the end
//! ```
//!
//! Both run on one thread, ask the snapshot in the same batches, and must agree.

use crate::edges::distinct;
use crate::goals::baseline;
use crate::plan::{Work, wrong};
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::Stopwatch;
use evergraph::generate::random::Random;
use evergraph::gremlin::query::Limits;
use evergraph::import::options::{ImportOptions, InputFile};
use evergraph::{Database, ReadByName as _, Snapshot};
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::topology::{Projection, Topology as _};
use evergraph_graph::view::{Freeze as _, GraphView, NeighborBatch, NeighborCursor};
use evergraph_measure::figure::Unit;

const PURPOSE: u64 = 406;
/// Rows of a batch, ours and the loop's.
pub const ROWS: usize = 1024;
/// Questions in a run of k hops; each begins at a vertex of its own.
const STARTS: usize = 20;
const HOPS: u32 = 4;
/// Questions in a run of short queries.
const SHORT: usize = 2_000;
/// The walks of eight steps on the songs of the Grateful Dead, as TinkerPop's own tests have them.
const WALKS: i64 = 2_505_037_961_767_380;

/// Measures traversals of edges.
///
/// # Errors
/// `corrupt` if query and loop answer differently; what reading meets.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let database = load(work)?;
    let snapshot = database.snapshot();
    let starts = starts(work, &snapshot)?;
    let bound = snapshot.freeze(&Projection::all(Direction::Out))?.bound() as usize;
    for hops in 1..=HOPS {
        let walks = |start: u32| format!("g.V({start}){}.count()", ".both()".repeat(hops as usize));
        let title = format!("walks of {hops} hops, both ways");
        beside(work, &snapshot, (&format!("walks.hops_{hops}"), &title), &starts, walks, |start| {
            walks_by_hand(&snapshot, bound, start, hops)
        })?;
    }
    for hops in 1..=HOPS {
        let reached = |start: u32| format!("g.V({start}).repeat(both()).times({hops}).dedup().count()");
        let title = format!("vertices {hops} hops away, both ways");
        beside(work, &snapshot, (&format!("reached.hops_{hops}"), &title), &starts, reached, |start| {
            reached_by_hand(&snapshot, bound, start, hops)
        })?;
    }
    children(work, &snapshot)?;
    short(work, &snapshot, &starts)?;
    if let Some(path) = work.plan.walks.clone() {
        let songs = Database::in_memory()?;
        songs.import(&ImportOptions::new([InputFile::new(&path)]), &|_| ())?;
        let mut race = Race::new(["evergraph"]);
        for round in 0..work.plan.rounds {
            race.round(round, |_| {
                let watch = Stopwatch::start();
                let found = one(&songs.snapshot(), "g.V().repeat(out()).times(8).count()", ROWS)?;
                let spent = watch.stop();
                if found != WALKS {
                    return Err(wrong("evergraph", "walks of eight steps", found, WALKS));
                }
                Ok(Sample::timed(spent.wall, spent))
            })?;
        }
        let title = "2,505,037,961,767,380 walks of 8 steps counted, Grateful Dead";
        work.add_race(&Heading::new("query.walks_of_8", title, Unit::Seconds), &race);
    }
    work.note("text to answer: parsed, planned and run anew each time; one thread; the loop asks in batches of 1,024 too");
    Ok(())
}

/// The plan's edges, in memory.
fn load(work: &Work<'_>) -> Result<Database> {
    let edges = distinct(work.plan, 16)?;
    let vertices = work.plan.vertices() as usize;
    let blocks = edges.chunks(BLOCK_ROWS).map(|edges| EdgeBlock::bare(edges.iter().copied()));
    let load = Load {
        vertices: vec![VertexTable::new("Vertex", Vec::new(), vec![VertexBlock::bare(vertices)])],
        edges: vec![EdgeTable::new("EDGE", 0, 0, Vec::new(), blocks.collect())],
    };
    let database = Database::in_memory()?;
    database.load(&load, &|_| (), &Default::default())?;
    Ok(database)
}

/// Vertices with edges, drawn evenly.
fn starts(work: &Work<'_>, snapshot: &Snapshot) -> Result<Vec<u32>> {
    let mut random = Random::new(work.plan.seed, PURPOSE, 0);
    let (mut starts, mut degrees) = (Vec::new(), Vec::new());
    while starts.len() < STARTS {
        let vertex = random.below(u64::from(work.plan.vertices())) as u32;
        degrees.clear();
        snapshot.degrees(&[VertexId(vertex)], None, Direction::Both, &mut degrees)?;
        if degrees[0] > 0 {
            starts.push(vertex);
        }
    }
    Ok(starts)
}

/// A query from each start beside the same by hand.
fn beside(
    work: &mut Work<'_>,
    snapshot: &Snapshot,
    (name, title): (&str, &str),
    starts: &[u32],
    query: impl Fn(u32) -> String,
    by_hand: impl Fn(u32) -> Result<i64>,
) -> Result<()> {
    let mut race = Race::new(["evergraph", baseline::LOOP]).undisturbed();
    let mut expected: Vec<Option<i64>> = vec![None; starts.len()];
    for round in 0..work.plan.rounds {
        race.round(round, |place| {
            let watch = Stopwatch::start();
            let found = starts
                .iter()
                .map(|start| if place == 0 { one(snapshot, &query(*start), ROWS) } else { by_hand(*start) })
                .collect::<Result<Vec<_>>>()?;
            let spent = watch.stop();
            for (expected, found) in expected.iter_mut().zip(found) {
                if *expected.get_or_insert(found) != found {
                    return Err(wrong(["evergraph", baseline::LOOP][place], title, found, expected));
                }
            }
            Ok(Sample::timed(spent.wall / starts.len() as f64, spent))
        })?;
    }
    work.add_race(&Heading::new(format!("query.{name}"), title, Unit::Seconds), &race);
    Ok(())
}

/// A child of 1,024 parents at once beside the same child row by row.
fn children(work: &mut Work<'_>, snapshot: &Snapshot) -> Result<()> {
    let text = "g.V().limit(20000).map(__.out().out().count()).sum()";
    let mut race = Race::new(["evergraph", baseline::ROW_BY_ROW]).undisturbed();
    let mut expected = None;
    for round in 0..work.plan.rounds {
        race.round(round, |place| {
            let watch = Stopwatch::start();
            let found = one(snapshot, text, [ROWS, 1][place])?;
            let spent = watch.stop();
            if *expected.get_or_insert(found) != found {
                return Err(wrong("evergraph", "the sum of children", found, expected));
            }
            Ok(Sample::timed(spent.wall, spent))
        })?;
    }
    let title = "a child of 20,000 rows, in batches of 1,024";
    work.add_race(&Heading::new("query.child", title, Unit::Seconds), &race);
    Ok(())
}

fn short(work: &mut Work<'_>, snapshot: &Snapshot, starts: &[u32]) -> Result<()> {
    let mut race = Race::new(["evergraph"]).undisturbed();
    for round in 0..work.plan.rounds {
        race.round(round, |_| {
            let watch = Stopwatch::start();
            for number in 0..SHORT {
                let start = starts[number % starts.len()];
                snapshot
                    .gremlin(&format!("g.V({start}).out('EDGE').limit(10)"))
                    .limits(limits(ROWS))
                    .run()?;
            }
            let spent = watch.stop();
            Ok(Sample::timed(spent.wall / SHORT as f64, spent))
        })?;
    }
    let title = "a short query: ten neighbours of a vertex";
    work.add_race(&Heading::new("query.short", title, Unit::Seconds), &race);
    Ok(())
}

/// One thread, and so many rows a batch.
#[must_use]
pub fn limits(batch_rows: usize) -> Limits {
    Limits { batch_rows, threads: 1, ..Limits::default() }
}

/// The whole number that a query gives.
fn one(snapshot: &Snapshot, text: &str, batch_rows: usize) -> Result<i64> {
    snapshot.gremlin(text).limits(limits(batch_rows)).one()
}

/// What `visit` is given of each neighbour: the place of the vertex that it is one of, and the neighbour.
fn neighbors(view: &dyn GraphView, of: &[VertexId], mut visit: impl FnMut(usize, VertexId)) -> Result<()> {
    let mut batch = NeighborBatch::default();
    for (number, chunk) in of.chunks(ROWS).enumerate() {
        let mut cursor = NeighborCursor::default();
        while !cursor.done {
            batch.clear();
            view.neighbors(chunk, None, Direction::Both, &mut cursor, ROWS, &mut batch)?;
            for (row, neighbor) in batch.rows.iter().zip(&batch.neighbors) {
                visit(number * ROWS + *row as usize, *neighbor);
            }
        }
    }
    Ok(())
}

/// Walks of `hops` from `start`: by how many a vertex is reached, hop by hop, and the degrees at the end.
fn walks_by_hand(snapshot: &Snapshot, bound: usize, start: u32, hops: u32) -> Result<i64> {
    let mut counts: Vec<u64> = vec![0; bound];
    let (mut at, mut walks) = (vec![VertexId(start)], vec![1_u64]);
    for _ in 1..hops {
        let mut next = Vec::new();
        neighbors(snapshot, &at, |from, to| {
            let count = &mut counts[to.0 as usize];
            if *count == 0 {
                next.push(to);
            }
            *count += walks[from];
        })?;
        walks = next.iter().map(|vertex| std::mem::take(&mut counts[vertex.0 as usize])).collect();
        at = next;
    }
    let mut degrees = Vec::new();
    snapshot.degrees(&at, None, Direction::Both, &mut degrees)?;
    Ok(walks.iter().zip(&degrees).map(|(walks, degree)| walks * degree).sum::<u64>() as i64)
}

/// Vertices that a walk of exactly `hops` reaches.
fn reached_by_hand(snapshot: &Snapshot, bound: usize, start: u32, hops: u32) -> Result<i64> {
    let mut at = vec![VertexId(start)];
    let mut seen = vec![false; bound];
    for _ in 0..hops {
        let mut next = Vec::new();
        neighbors(snapshot, &at, |_, to| {
            if !std::mem::replace(&mut seen[to.0 as usize], true) {
                next.push(to);
            }
        })?;
        next.iter().for_each(|vertex| seen[vertex.0 as usize] = false);
        at = next;
    }
    Ok(at.len() as i64)
}
