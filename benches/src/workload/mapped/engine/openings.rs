//! Openings: from the end of a process that was killed to the first answer, by id and by key.
//!
//! What a killed process leaves is a copy of its folder, made while it has the database open: the system keeps what was written, and
//! nobody has the locks. Each run opens a copy of its own, in the system's cache.
//!
//! The goal grows with the graph, by the bytes that lie in array files: neither what is free between them counts nor the log, however
//! long it takes to replay.

use crate::folder::copy_folder_synced;
use crate::plan::{Work, expect};
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::Stopwatch;
use crate::workload::live::busiest;
use crate::workload::mapped::engine::ENGINES;
use crate::workload::mapped::engine::loaded::{LABEL, NUMBER, create, edge_type, file_bytes, insert, load};
use crate::workload::mapped::{shuffled, split};
use evergraph::{Database, Durability, EngineKind, ReadByName as _};
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::view::{GraphView as _, NeighborBatch, NeighborCursor};
use evergraph_measure::figure::Unit;
use tempfile::TempDir;

/// Transactions of one edge behind the last load: the log that an opening replays.
const COMMITS: usize = 1_000;
/// Seconds that the goal allows for each byte of the graph: 10 ms a GB.
const SECONDS_A_BYTE: f64 = 10e-3 / 1e9;

/// What is asked first.
#[derive(Clone, Copy)]
enum Question {
    Id,
    Key,
}

/// Measures each size: how many times the plan's graph is loaded.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    for loads in work.plan.mapped.opening_loads.clone() {
        openings(work, loads, &ENGINES)?;
    }
    for loads in work.plan.mapped.opening_alone_loads.clone() {
        openings(work, loads, &ENGINES[..1])?;
    }
    work.note("opening: of a copy of the folder, in the system's cache, made while the database was open");
    Ok(())
}

fn openings(work: &mut Work<'_>, loads: u32, engines: &[(EngineKind, &'static str)]) -> Result<()> {
    let edges = shuffled(work.plan, work.plan.mapped.degree)?;
    let vertices = work.plan.vertices();
    let (_, inserted) = split(&edges);
    let inserted = &inserted[..inserted.len().min(COMMITS)];
    let source = busiest(&edges, vertices);
    let mut expected = Vec::new();
    let mut left: Vec<TempDir> = Vec::new();
    let mut graph_bytes = Vec::new();
    for (engine, _) in engines {
        let folder = work.folder_for("opening")?;
        // A commit is in the file when it returned: a copy has it.
        let database = create(*engine, folder.path(), Durability::Sync)?;
        for number in 0..loads {
            load(&database, u64::from(number) * u64::from(vertices), vertices, &edges)?;
        }
        database.create_unique_index(LABEL, NUMBER)?;
        database.checkpoint()?;
        insert(&database, inserted, 1)?;
        expected.push(neighbors(&database, Question::Id, source)?);
        let copy = work.folder_for("killed")?;
        copy_folder_synced(folder.path(), copy.path())?;
        graph_bytes.push(file_bytes(&database));
        database.close()?;
        left.push(copy);
    }
    for (question, what, title) in [
        (Question::Id, "id", "neighbours of a vertex by its id"),
        (Question::Key, "key", "neighbours of a vertex by a unique number"),
    ] {
        let mut race = Race::new(engines.iter().map(|(_, name)| *name));
        for round in 0..work.plan.rounds {
            race.round(round, |place| {
                let folder = work.folder_for("again")?;
                copy_folder_synced(left[place].path(), folder.path())?;
                let watch = Stopwatch::start();
                let database = Database::open(folder.path())?;
                let found = neighbors(&database, question, source)?;
                let spent = watch.stop();
                expect(engines[place].1, title, found, expected[place])?;
                database.close()?;
                Ok(Sample::timed(spent.wall, spent))
            })?;
        }
        let gigabytes = graph_bytes[0] / 1e9;
        let title = format!("opening after a kill until {title} are there, {loads} loads, {gigabytes:.2} GB");
        let heading = Heading::new(format!("mapped_engine.open.{what}.loads_{loads}"), title, Unit::Seconds)
            .allowing(SECONDS_A_BYTE * graph_bytes[0])
            .with("edges", edges.len() * loads as usize)
            .with("bytes", Unit::Bytes.show(graph_bytes[0]));
        work.add_race(&heading, &race);
    }
    Ok(())
}

/// How many out-neighbours the vertex has that is asked for.
fn neighbors(database: &Database, question: Question, vertex: u32) -> Result<usize> {
    let edge_type = edge_type(database)?;
    let snapshot = database.snapshot();
    let vertex = match question {
        Question::Id => Some(VertexId(vertex)),
        Question::Key => snapshot.find(LABEL, NUMBER, i64::from(vertex))?,
    };
    let Some(vertex) = vertex else { return Ok(0) };
    let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
    let (vertices, types) = ([vertex], [edge_type]);
    snapshot.neighbors(&vertices, Some(&types), Direction::Out, &mut cursor, usize::MAX, &mut batch)?;
    Ok(batch.neighbors.len())
}
