//! Commits: what transactions of the mapped engine write back and fence, counted, with log, merges and checkpoints.
//!
//! Both directions of each edge are kept, and each file counts: bytes are those of an edge and side. A loaded graph has no fresh
//! records, and its first merges are still to come. So as many commits go ahead that are not counted. The fresh part of the edges, before
//! and after the counted commits, tells how steady the state was.

use crate::engine::store::Edge;
use crate::plan::{Work, expect};
use crate::results::Heading;
use crate::workload::mapped::engine::loaded::{fresh_share, insert, load};
use crate::workload::mapped::{dax_directory, shuffled, split};
use evergraph::{Database, Durability, EngineKind, Options};
use evergraph_graph::error::Result;
use evergraph_measure::figure::Unit;
use evergraph_storage::io::dax::{DaxDirectory, WriteBackCounts};
use evergraph_storage::io::directory::Directory;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Edges of transactions: of the smallest, and of large ones.
const SIZES: [usize; 2] = [1, 1_000];
/// Commits of an edge, for each that other parts measure: enough for several merges of each segment. As many go ahead.
const COMMITS: usize = 20;
/// Each edge is in two lists.
const SIDES: f64 = 2.0;
/// Kinds of files: what a commit waits for, and bodies with what checkpoints write beside them.
const LOG: &str = "log";
pub const ARRAYS: &str = "array";

/// Counts both sizes, once: nothing of it depends on time but when merges are made.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let edges = shuffled(work.plan, work.plan.mapped.degree)?;
    SIZES.into_iter().try_for_each(|size| commits(work, &edges, size))
}

fn commits(work: &mut Work<'_>, edges: &[Edge], size: usize) -> Result<()> {
    let (warm, rest) = split(edges);
    let count = (rest.len() / 2).min(size.saturating_mul(work.plan.commits * COMMITS));
    let (ahead, measured) = rest[..2 * count].split_at(count);
    let folder = work.folder_for("commits")?;
    let dax = dax_directory(folder.path(), work.plan.mapped.is_emulated)?;
    let directory: Arc<dyn Directory> = Arc::<DaxDirectory>::clone(&dax);
    let options =
        Options { durability: Durability::Sync, engine: Some(EngineKind::Mapped), ..Options::default() };
    let database = Database::open_in(directory, &options)?;
    load(&database, 0, work.plan.vertices(), warm)?;
    insert(&database, ahead, size)?;
    let (fresh_before, before) = (fresh_share(&database), dax.write_backs());
    insert(&database, measured, size)?;
    let (after, fresh_after) = (dax.write_backs(), fresh_share(&database));
    let found = database.statistics()?.edges_count();
    expect(
        "the mapped engine",
        "as many edges as were inserted",
        found,
        (warm.len() + ahead.len() + measured.len()) as u64,
    )?;
    database.close()?;

    let counted = |kind: &str| since(&before, &after, kind);
    let fences_of_all: u64 = after.keys().map(|kind| counted(kind).fences).sum();
    let sides = SIDES * measured.len() as f64;
    let plural = if size == 1 { "" } else { "s" };
    let what = format!("transactions of {size} edge{plural}, each durable");
    let heading = |name: &str, title: &str, unit| {
        Heading::new(format!("mapped.commits.{name}.edges_{size}"), format!("{title}, {what}"), unit)
    };
    let per_side = Unit::BytesPerEdge;
    let figures = [
        (
            "bytes",
            "bytes written back an edge and side",
            per_side,
            bytes_since(&before, &after) as f64 / sides,
        ),
        ("log", "those of the log", per_side, counted(LOG).bytes() as f64 / sides),
        ("arrays", "those of array files", per_side, counted(ARRAYS).bytes() as f64 / sides),
        ("fresh_before", "part of the edges that is in no body yet, before", Unit::Share, fresh_before),
        ("fresh", "part of the edges that is in no body yet, after", Unit::Share, fresh_after),
        (
            "fences",
            "fences of the log a commit",
            Unit::Number,
            counted(LOG).fences as f64 / measured.len().div_ceil(size) as f64,
        ),
        (
            "fences_of_all",
            "fences of all files an edge",
            Unit::Number,
            fences_of_all as f64 / measured.len() as f64,
        ),
    ];
    for (name, title, unit, value) in figures {
        work.add(&heading(name, title, unit).with("edges", measured.len()), &[value]);
    }
    Ok(())
}

/// Bytes that all files wrote back from one look to another.
pub fn bytes_since(
    before: &BTreeMap<String, WriteBackCounts>,
    after: &BTreeMap<String, WriteBackCounts>,
) -> u64 {
    after.keys().map(|kind| since(before, after, kind).bytes()).sum()
}

/// What files of a kind wrote back from one look to another.
pub fn since(
    before: &BTreeMap<String, WriteBackCounts>,
    after: &BTreeMap<String, WriteBackCounts>,
    kind: &str,
) -> WriteBackCounts {
    let [before, after] = [before, after].map(|counts| counts.get(kind).copied().unwrap_or_default());
    WriteBackCounts { lines: after.lines - before.lines, fences: after.fences - before.fences }
}
