//! Merges: raw edges in the mapped engine's segments, by the part of a body at which its records are merged.
//!
//! ```text
//! insert      edges a second of one side behind a warm-up, by one thread, merges included
//! bytes       written back for each of these edges;      fresh     the part of the edges that is in no body at the end
//! pagerank    on both sides as the insertions leave them, and with every segment just below a merge, beside a static array
//! ```

use crate::edges::Contents;
use crate::engine::store::Edge;
use crate::plan::{Work, expect};
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::Stopwatch;
use crate::workload::live::busiest;
use crate::workload::mapped::kernels::{KernelSeries, race};
use crate::workload::mapped::raw_lists::contents;
use crate::workload::mapped::segments::SegmentStore;
use crate::workload::mapped::store::{RawOptions, Sides};
use crate::workload::mapped::{shuffled, split};
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;
use evergraph_measure::figure::Unit;
use evergraph_measure::kernel::{Kernel, static_copy};

/// Its name in results.
const NAME: &str = "segments of the mapped engine";
/// The engine's own part of a body, for the worst case.
const ITEMS_A_RECORD: usize = 8;
/// The part of the edges that is merged in the worst case; the others are more than fit on top of that.
const MERGED: f64 = 0.7;

/// Measures each part of a body.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let edges = shuffled(work.plan, work.plan.mapped.degree)?;
    for items in work.plan.mapped.items_a_record.clone() {
        inserts(work, &edges, items)?;
        let folder = work.folder_for("segments")?;
        let options = RawOptions::new(work.plan, edges.len(), Sides::Both);
        let store = SegmentStore::create(folder.path(), &options, items)?;
        store.insert(&edges)?;
        let lists = store.lists()?;
        expect(NAME, "all its edges", contents(&lists)?, Contents::of(&edges))?;
        drop(lists);
        let graph = format!(" on the mapped engine's segments, merged at 1/{items} of the body");
        page_rank(work, &store, &edges, (&format!("mapped.segments.items_{items}"), &graph))?;
    }
    worst(work, &edges)?;
    work.note("segments: the mapped engine's, without a log and so not durable; merges are made by the thread that inserts");
    Ok(())
}

fn inserts(work: &mut Work<'_>, edges: &[Edge], items: usize) -> Result<()> {
    let (warm, measured) = split(edges);
    let mut race = Race::new([NAME]).undisturbed();
    let (mut written, mut fresh) = (Vec::new(), Vec::new());
    let options = RawOptions::new(work.plan, edges.len(), Sides::Out);
    for round in 0..work.plan.rounds {
        race.round(round, |_| {
            let folder = work.folder_for("segments")?;
            let store = SegmentStore::create(folder.path(), &options, items)?;
            store.insert(warm)?;
            let before = store.counts();
            let watch = Stopwatch::start();
            store.insert(measured)?;
            let spent = watch.stop();
            let counts = store.counts();
            expect(NAME, "as many edges as were inserted", counts.edges, edges.len() as u64)?;
            let bytes = counts.bytes_written_back - before.bytes_written_back;
            written.push(bytes as f64 / measured.len() as f64);
            fresh.push(counts.fresh as f64 / counts.edges as f64);
            Ok(Sample::timed(measured.len() as f64 / spent.wall, spent))
        })?;
    }
    let heading = |name: &str, title: &str, unit| {
        let title = format!("{title}, mapped engine's segments, one side, merged at 1/{items} of the body");
        Heading::new(format!("mapped.segments.{name}.items_{items}"), title, unit)
    };
    work.add_race(
        &heading(
            "insert",
            "edges inserted one by one, durable with the next merge alone, no log, 1 thread",
            Unit::PerSecond,
        ),
        &race,
    );
    work.add(&heading("bytes", "bytes written back an edge, no log", Unit::BytesPerEdge), &written);
    work.add(&heading("fresh", "part of the edges that is in no body yet", Unit::Share), &fresh);
    Ok(())
}

/// PageRank where every segment has about as many records as it can have before a merge is due.
fn worst(work: &mut Work<'_>, edges: &[Edge]) -> Result<()> {
    let folder = work.folder_for("segments")?;
    let options = RawOptions::new(work.plan, edges.len(), Sides::Both);
    let store = SegmentStore::create(folder.path(), &options, ITEMS_A_RECORD)?;
    let (merged, more) = edges.split_at((edges.len() as f64 * MERGED) as usize);
    store.insert(merged)?;
    store.merge_everything()?;
    expect(NAME, "edges that no merge took", store.counts().fresh, 0)?;
    let inserted = store.fill(more)?;
    let lists = store.lists()?;
    expect(NAME, "all its edges", contents(&lists)?, Contents::of(merged.iter().chain(&inserted)))?;
    drop(lists);
    let counts = store.counts();
    expect(NAME, "edges that no merge took", counts.fresh, inserted.len() as u64)?;
    let share = 100.0 * counts.fresh as f64 / counts.edges as f64;
    work.note(format!(
        "at worst: {share:.1} % of the edges are in no body yet, in every segment just below a merge"
    ));
    page_rank(
        work,
        &store,
        edges,
        ("mapped.segments.worst", " on the mapped engine's segments, just below a merge"),
    )
}

fn page_rank(
    work: &mut Work<'_>,
    store: &SegmentStore,
    edges: &[Edge],
    (name, graph): (&str, &str),
) -> Result<()> {
    let source = VertexId(busiest(edges, work.plan.vertices()));
    // Of the edges that it has, and of its very vertices, whose last group may not be full.
    let fixed = static_copy(&store.lists()?)?;
    let series = KernelSeries { name, graph, kernels: &[Kernel::PageRank] };
    race(work, &series, &[NAME], |kernel, place| match place {
        Some(_) => kernel.run(&store.lists()?, source),
        None => kernel.run(&fixed, source),
    })
}
