//! Newest: the ten newest edges of hubs whose lists are larger than a page by far, with their pages in the cache and without.
//!
//! ```text
//! hubs       each with as many edges, whose times are in no order of their targets     loaded, declared newest-first
//! cold       the cache is emptied, then a hub is asked: time, and pages read
//! warm       the same hub again
//! ```
//!
//! First without an index, when the list is read and sorted, then with one of kind `newest`.

use crate::engine::limited::LimitedStore;
use crate::engine::store::{Commit, Store as _};
use crate::folder::make_folder;
use crate::goals::baseline;
use crate::plan::{Work, expect};
use crate::race::Race;
use crate::results::Heading;
use crate::shuffle::shuffle;
use crate::workload::disk::graph::{EDGE, LABEL};
use evergraph::generate::random::Random;
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::index::IndexKind;
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::look_up::{OrderedMatches, RangeCursor};
use evergraph_graph::newest::NewestEdges;
use evergraph_graph::packed_column::builder::PackedColumnBuilder;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView as _;
use evergraph_measure::figure::Unit;
use evergraph_storage::indexing::{IndexRequest, OwnerName};
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
    make_folder(&folder)?;
    let store = LimitedStore::<DiskEngine>::open(&folder, plan.limit_bytes, Commit::Unsynced)?;
    store.load_graph(&load(plan.hub_edges, work.plan.seed))?;
    let missing = || Error::new(ErrorKind::Corrupt, "the property of edges was not loaded");
    let key = store.open_store().store().catalogue().key(TIME).ok_or_else(missing)?;
    store.open_store().store().transact(|tx| tx.declare_newest_first(store.edge_type(), key))?;
    store.settle()?;
    let sorted = ask(&store, key, plan.hub_edges)?;
    let request =
        IndexRequest { owner: OwnerName::EdgeType(EDGE), key: TIME, kind: IndexKind::Newest, unique: false };
    store.open_store().store().create_index(&request, &mut |_| Ok(()))?;
    store.settle()?;
    let indexed = ask(&store, key, plan.hub_edges)?;
    let of = format!("the newest {ASKED} of {} edges of a vertex", plan.hub_edges);
    for (name, how, unit, figure) in [
        ("cold", "cold", Unit::Seconds, 0),
        ("warm", "warm", Unit::Seconds, 1),
        ("cold.pages", "pages read, cold", Unit::Number, 2),
    ] {
        let mut race = Race::new([baseline::INDEX, baseline::WITHOUT]);
        for (with, without) in indexed[figure].iter().zip(&sorted[figure]) {
            race.note(&[*with, *without]);
        }
        work.add_race(
            &Heading::new(format!("disk.newest_{ASKED}.{name}"), format!("{of}: {how}"), unit),
            &race,
        );
    }
    work.add(
        &Heading::new(
            format!("disk.newest_{ASKED}.pages"),
            format!("{of}: pages read, cold, with an index"),
            Unit::Number,
        ),
        &indexed[2],
    );
    Box::new(store).close()
}

/// Seconds cold, seconds warm and pages read cold, of each hub.
fn ask(store: &LimitedStore<DiskEngine>, key: KeyId, hub_edges: u32) -> Result<[Vec<f64>; 3]> {
    let mut figures = [const { Vec::new() }; 3];
    for hub in 0..HUBS {
        store.empty_cache()?;
        for is_warm in [false, true] {
            let before = store.pages_read();
            let (snapshot, began) = (store.open_store().store().snapshot(), Instant::now());
            let asked = NewestEdges::new(VertexId(hub), store.edge_type(), key);
            let mut newest = OrderedMatches::default();
            snapshot.newest(&asked, &mut RangeCursor::default(), ASKED, &mut newest)?;
            figures[usize::from(is_warm)].push(began.elapsed().as_secs_f64());
            if !is_warm {
                figures[2].push((store.pages_read() - before) as f64);
            }
            let seen: Vec<_> = newest.values.iter().map(Value::as_i64).collect();
            let last = i64::from(hub_edges);
            let expected: Vec<_> = (0..ASKED as i64).map(|place| Some(last - 1 - place)).collect();
            expect("disk engine", "the newest edges of a hub", seen, expected)?;
        }
    }
    Ok(figures)
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
        shuffle(&mut times, &mut random);
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
