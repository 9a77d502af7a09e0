//! Newest: the ten newest edges of hubs whose lists are larger than a page by far, with their pages in the cache and without.
//!
//! ```text
//! hubs       each with as many edges, whose times are in no order of their targets     loaded, declared newest-first
//! cold       the cache is emptied, then a hub is asked: time, and pages read
//! warm       the same hub again
//! ```

use crate::engine::limited::LimitedStore;
use crate::engine::store::{Commit, Store as _};
use crate::plan::{Work, expect};
use crate::results::Heading;
use crate::workload::disk::graph::{EDGE, LABEL};
use evergraph::generate::random::Random;
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::look_up::{OrderedMatches, RangeCursor};
use evergraph_graph::newest::NewestEdges;
use evergraph_graph::packed_column::builder::PackedColumnBuilder;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::ValueType;
use evergraph_graph::view::GraphView as _;
use evergraph_measure::figure::Unit;
use std::fs;
use std::time::Instant;

const TIME: &str = "time";
const HUBS: u32 = 8;
/// Edges that are asked for.
const ASKED: usize = 10;
const PURPOSE: u64 = 412;

/// Measures it.
///
/// # Errors
/// `corrupt` if an answer is wrong; what the engine says.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let plan = work.plan.disk.clone();
    let folder = work.place("disk-newest");
    fs::create_dir_all(&folder).map_err(|error| {
        Error::new(ErrorKind::Io, format!("make the folder {}: {error}", folder.display()))
    })?;
    let store = LimitedStore::<DiskEngine>::open(&folder, plan.limit_bytes, Commit::Unsynced)?;
    store.load_graph(&load(plan.hub_edges, work.plan.seed))?;
    let missing = || Error::new(ErrorKind::Corrupt, "the property of edges was not loaded");
    let key = store.open_store().store().catalogue().key(TIME).ok_or_else(missing)?;
    store.open_store().store().transact(|tx| tx.declare_newest_first(store.edge_type(), key))?;
    store.settle()?;
    let [mut cold, mut warm, mut pages] = [const { Vec::new() }; 3];
    for hub in 0..HUBS {
        store.empty_cache()?;
        for times in [&mut cold, &mut warm] {
            let before = store.pages_read();
            let (snapshot, began) = (store.open_store().store().snapshot(), Instant::now());
            let asked = NewestEdges::new(VertexId(hub), store.edge_type(), key);
            let mut newest = OrderedMatches::default();
            snapshot.newest(&asked, &mut RangeCursor::default(), ASKED, &mut newest)?;
            times.push(began.elapsed().as_secs_f64());
            if times.len() > pages.len() {
                pages.push((store.pages_read() - before) as f64);
            }
            let seen: Vec<_> = newest.values.iter().map(evergraph_graph::value::Value::as_i64).collect();
            let last = i64::from(plan.hub_edges);
            let expected: Vec<_> = (0..ASKED as i64).map(|place| Some(last - 1 - place)).collect();
            expect("disk engine", "the newest edges of a hub", seen, expected)?;
        }
    }
    let of = format!("the newest {ASKED} of {} edges of a vertex", plan.hub_edges);
    let name = format!("disk.newest_{ASKED}");
    work.add(&Heading::new(format!("{name}.cold"), format!("{of}, cold"), Unit::Seconds), &cold);
    work.add(&Heading::new(format!("{name}.warm"), format!("{of}, warm"), Unit::Seconds), &warm);
    work.add(
        &Heading::new(format!("{name}.cold.pages"), format!("pages read: {of}, cold"), Unit::Number),
        &pages,
    );
    Box::new(store).close()
}

/// Hubs that are the first vertices, each with edges to as many others, whose times are drawn without repeats.
fn load(hub_edges: u32, seed: u64) -> Load {
    let mut random = Random::new(seed, PURPOSE, 0);
    let vertices = (HUBS + hub_edges) as usize;
    let vertex_blocks = (0..vertices).step_by(BLOCK_ROWS);
    let vertex_blocks = vertex_blocks.map(|first| VertexBlock::bare(BLOCK_ROWS.min(vertices - first)));
    let mut rows = Vec::new();
    for hub in 0..HUBS {
        let mut times: Vec<u32> = (0..hub_edges).collect();
        (1..times.len()).rev().for_each(|at| times.swap(at, random.below(at as u64 + 1) as usize));
        rows.extend(times.into_iter().enumerate().map(|(at, time)| ((hub, HUBS + at as u32), time)));
    }
    let edge_blocks = rows.chunks(BLOCK_ROWS).map(|rows| {
        let mut times = PackedColumnBuilder::default();
        rows.iter().for_each(|(_, time)| times.push_i64(i64::from(*time)));
        EdgeBlock { columns: vec![times.finish()], ..EdgeBlock::bare(rows.iter().map(|(edge, _)| *edge)) }
    });
    let properties = vec![(TIME.to_owned(), ValueType::I64)];
    Load {
        vertices: vec![VertexTable::new(LABEL, Vec::new(), vertex_blocks.collect())],
        edges: vec![EdgeTable::new(EDGE, 0, 0, properties, edge_blocks.collect())],
    }
}
