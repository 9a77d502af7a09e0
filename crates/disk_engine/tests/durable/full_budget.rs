//! A memory budget that others have taken: what frees memory goes on, and what takes memory is counted before it is there.
//!
//! ```text
//! flush        of a frozen graph, though nothing is left for the index of its file
//! checkpoint   freezes the open graph, though nothing is left for the next one
//! compaction   with memory for itself alone; of many runs in a small budget
//! commits      values are reserved ahead; a large one waits for what a small one waits for
//! ```

use evergraph_disk_engine::compact::job::CompactionJob;
use evergraph_disk_engine::durable::files::DatabaseFiles;
use evergraph_disk_engine::engine::{DiskEngine, EngineParts};
use evergraph_disk_engine::file::page_reader::PageReader;
use evergraph_disk_engine::file_set::FileSet;
use evergraph_disk_engine::flusher::FLUSH_PURPOSE;
use evergraph_disk_engine::groups::GroupTable;
use evergraph_disk_engine::index_table::IndexTable;
use evergraph_disk_engine::memory_graph::reserved_memory::GRAPHS_PURPOSE;
use evergraph_disk_engine::merge::delete_rule::{Below, DeleteRule};
use evergraph_disk_engine::pacing::PacingLimits;
use evergraph_disk_engine::pick::limits::PickLimits;
use evergraph_disk_engine::tuning::Tuning;
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::{PieceBuffer, Projection, Topology, Visit};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_storage::engine::{Engine, FreezeRequest};
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::io::clock::{Clock as _, SystemClock};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::{Background, Environment};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::transaction::handle::TRANSACTIONS_PURPOSE;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const LIMIT: u64 = 64 << 20;

/// An engine whose writers flush by themselves, and wait for no compaction.
fn engine(budget_bytes: u64, graph_bytes: u64) -> DiskEngine {
    let budget = Arc::new(MemoryBudget::new(budget_bytes));
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("disk"));
    let engine = DiskEngine::open_parts(EngineParts {
        timeline: Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published)),
        reader: PageReader::start(&budget, Background::Stepped).unwrap(),
        budget,
        files: DatabaseFiles::empty(&directory),
        set: FileSet::new(),
        groups: GroupTable::new(),
        indexes: IndexTable::new([], 1 << 24),
        background: Background::Stepped,
        compaction_threads: 1,
        graph_bytes: Some(graph_bytes),
        limits: PacingLimits::UNCOMPACTED,
        tuning: Tuning::default(),
    })
    .unwrap();
    (0..4).for_each(|group| engine.open_group(GroupId(group), LabelId(0)));
    engine
}

fn commit(engine: &DiskEngine, mutations: &[Mutation]) -> Result<()> {
    let prepared = engine.prepare(mutations, &IndexChanges::NONE, Duration::ZERO)?;
    let timeline = engine.timeline();
    let mut latch = timeline.latch();
    let timestamp = timeline.published().next();
    let displaced = engine.append(timestamp, prepared);
    timeline.publish(timestamp, &mut latch);
    drop(latch);
    drop(displaced);
    Ok(())
}

fn set(vertex: u32, length: usize) -> Mutation {
    let value = Value::from("x".repeat(length).as_str());
    let properties = Properties::new(vec![(KeyId(0), Some(value))]);
    Mutation::SetVertexProperties { vertex: VertexId(vertex), properties }
}

/// Edges between 8,000 vertices, a few of each: lists take more than 64 bytes a record.
fn edges(numbers: Range<u32>) -> Vec<Mutation> {
    let edge = |at: u32| EdgeId {
        source: VertexId(at % 8000),
        edge_type: TypeId(0),
        target: VertexId((at * 7 + at / 8000) % 8000),
        discriminator: 0,
    };
    numbers.map(|at| Mutation::InsertEdge { edge: edge(at), properties: Properties::EMPTY }).collect()
}

/// Takes all but `left` bytes.
fn take_all_but(engine: &DiskEngine, left: u64) -> Reservation {
    let budget = engine.budget();
    budget.reserve("others", budget.limit_bytes() - budget.used_bytes() - left).unwrap()
}

fn reserved(engine: &DiskEngine, purpose: &str) -> u64 {
    let all = engine.budget().reservations();
    all.iter().filter(|(of, _)| **of == *purpose).map(|(_, bytes)| bytes).sum()
}

/// A file of level 0.
fn flush(engine: &DiskEngine, mutations: &[Mutation]) {
    commit(engine, mutations).unwrap();
    let before = engine.tree().current().set.flushed_runs();
    engine.flush_all().unwrap();
    assert_eq!(engine.tree().current().set.flushed_runs(), before + 1);
}

fn insert_vertices(count: u32) -> Vec<Mutation> {
    let insert = |vertex| Mutation::InsertVertex {
        vertex: VertexId(vertex),
        label: LabelId(0),
        properties: Properties::EMPTY,
    };
    (0..count).map(insert).collect()
}

#[test]
fn a_graph_is_flushed_though_nothing_is_left_for_the_index_of_its_file() {
    // Less than a flush takes, or nothing.
    for left in [0, (4 << 20) + 100] {
        let engine = engine(LIMIT, 1 << 20);
        commit(&engine, &edges(0..5000)).unwrap();
        engine.freeze_open().unwrap();
        let others = take_all_but(&engine, left);
        assert!(engine.flush_oldest().unwrap(), "{left} bytes are left");
        assert!(engine.budget().used_bytes() <= LIMIT, "the graph had more than the index takes");
        drop(others);
        commit(&engine, &[set(1, 10)]).unwrap();
    }
}

#[test]
fn a_checkpoint_freezes_the_open_graph_though_nothing_is_left_for_the_next_one() {
    let engine = engine(LIMIT, 1 << 20);
    commit(&engine, &edges(0..20)).unwrap();
    let others = take_all_but(&engine, 0);
    let (through, ()) = engine.freeze_and(|_| ()).unwrap();
    assert!(engine.flush_oldest_through(through).unwrap().is_some());
    assert!(engine.budget().used_bytes() <= LIMIT, "the next graph takes less than this one did");
    drop(others);
}

#[test]
fn a_writer_flushes_the_open_graph_though_nothing_is_left_for_the_next_one() {
    let engine = engine(LIMIT, 1 << 20);
    commit(&engine, &[set(0, 200_000)]).unwrap();
    let _others = take_all_but(&engine, 0);
    // What was reserved ahead goes first.
    for vertex in 0..20 {
        commit(&engine, &[set(vertex, 50_000)]).unwrap();
        assert!(engine.budget().used_bytes() <= LIMIT, "{vertex}");
    }
    assert!(!engine.tree().current().set.flushed().is_empty());
}

#[test]
fn a_compaction_with_memory_for_itself_alone_comes_to_its_end() {
    let engine = engine(LIMIT, 1 << 20);
    let limits = PickLimits { flushed_runs: 2, ..PickLimits::default() };
    // So many pages that their index takes more than rounding.
    (0..2).for_each(|round| flush(&engine, &edges(round * 60_000..(round + 1) * 60_000)));
    let inputs = engine.tree().current().set.flushed().to_vec();
    let job = CompactionJob::new(inputs, 5, DeleteRule::new(Below::Nothing, [])).within(LIMIT, 1);
    let others = take_all_but(&engine, job.memory_bytes());
    assert!(engine.compact_by(&limits).unwrap());
    assert!(engine.tree().current().set.flushed().is_empty());
    drop(others);
    assert_eq!(reserved(&engine, "compaction"), 0);
}

#[test]
fn many_runs_are_compacted_in_a_small_budget_and_fewer_at_once_where_memory_is_short() {
    let engine = engine(LIMIT, 1 << 20);
    flush(&engine, &insert_vertices(60));
    (1..60).for_each(|at| flush(&engine, &[set(0, 10), set(at, 10)]));
    assert!(engine.compact_once().unwrap());
    let runs = || engine.tree().current().set.flushed_runs();
    assert_eq!(runs(), 44, "sixteen at once");
    let others = take_all_but(&engine, 16 << 20);
    assert!(engine.compact_once().unwrap());
    assert!((40..44).contains(&runs()), "{} are left", runs());
    drop(others);
    while engine.compact_once().unwrap() {}
    assert!(runs() < 4);
    let others = take_all_but(&engine, 4 << 20);
    (1..5).for_each(|at| flush(&engine, &[set(0, 10), set(at, 10)]));
    assert!(engine.compact_once().is_err(), "not even two fit");
    drop(others);
}

#[test]
fn values_of_a_commit_are_reserved_before_it_is_appended() {
    let engine = engine(512 << 20, 64 << 20);
    let values: Vec<_> = (0..20).map(|vertex| set(vertex, 1 << 20)).collect();
    let prepared = engine.prepare(&values, &IndexChanges::NONE, Duration::ZERO).unwrap();
    assert!(reserved(&engine, GRAPHS_PURPOSE) > 20 << 20);
    drop(prepared);
    let _others = take_all_but(&engine, 1 << 20);
    let more: Vec<_> = (0..40).map(|vertex| set(vertex, 1 << 20)).collect();
    assert_eq!(commit(&engine, &more).unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn a_commit_of_many_bytes_in_few_records_has_a_graph_of_its_own() {
    let engine = engine(512 << 20, 1 << 20);
    commit(&engine, &[set(0, 10)]).unwrap();
    let values: Vec<_> = (0..20).map(|vertex| set(vertex, 100_000)).collect();
    commit(&engine, &values).unwrap();
    assert_eq!(engine.tree().current().generations.len(), 3);
    assert!(reserved(&engine, GRAPHS_PURPOSE) > 2_000_000);
}

#[test]
fn a_large_commit_waits_for_memory_as_a_small_one_does() {
    let engine = engine(LIMIT, 4 << 20);
    commit(&engine, &[set(0, 3_500_000)]).unwrap();
    let large = edges(0..40_000);
    // Not enough for 64 bytes a record.
    let _others = take_all_but(&engine, 80_000 * 64 - (50 << 10));
    commit(&engine, &large).unwrap();
    assert!(!engine.tree().current().set.flushed().is_empty(), "the graph before it was flushed");
}

#[test]
fn a_flush_reserves_the_pages_of_columns_that_wait_for_the_end_of_their_subject() {
    let (mut most, clock) = (0, SystemClock::new());
    // Until somebody who looks has a core while they wait.
    while most < 12 << 20 && clock.now() < Duration::from_secs(60) {
        most = most.max(most_reserved_in_a_flush());
    }
    assert!(most >= 12 << 20, "{most} bytes of 12 MB of pages that waited");
}

/// The most that was seen reserved for the flush of a column of 12 MB.
fn most_reserved_in_a_flush() -> u64 {
    let engine = engine(512 << 20, 64 << 20);
    let values: Vec<_> = (0..12_000).map(|vertex| set(vertex, 1000)).collect();
    commit(&engine, &values).unwrap();
    engine.freeze_open().unwrap();
    let flushed = AtomicBool::new(false);
    let most = std::thread::scope(|scope| {
        let watched = scope.spawn(|| {
            let mut most = 0;
            while !flushed.load(Ordering::Relaxed) {
                most = most.max(reserved(&engine, FLUSH_PURPOSE));
                std::thread::yield_now();
            }
            most
        });
        assert!(engine.flush_oldest().unwrap());
        flushed.store(true, Ordering::Relaxed);
        watched.join().unwrap()
    });
    assert_eq!(reserved(&engine, FLUSH_PURPOSE), 0);
    most
}

#[test]
fn a_frozen_topology_lets_go_of_graphs_that_are_flushed() {
    let engine = engine(LIMIT, 1 << 20);
    commit(&engine, &insert_vertices(8000)).unwrap();
    commit(&engine, &edges(0..5000)).unwrap();
    let newest = engine.timeline().published();
    let budget: Arc<dyn Budget> = Arc::clone(engine.budget()) as _;
    let (catalogue, projection) = (Catalogue::default(), Projection::all(Direction::Out));
    let cancel = CancelFlag::default();
    let request =
        FreezeRequest { catalogue: &catalogue, projection: &projection, budget: &budget, cancel: &cancel };
    let topology = engine.freeze(&engine.pin(newest), newest, &request).unwrap();
    let ends = || {
        let mut ends = Vec::new();
        let mut buffer = PieceBuffer::default();
        let visited = topology.visit(Direction::Out, 0..topology.bound(), &mut buffer, |vertex, piece| {
            ends.extend(piece.neighbors.iter().map(|neighbor| (vertex, *neighbor)));
            Visit::Continue
        });
        visited.unwrap();
        ends
    };
    let before = ends();
    assert_eq!(before.len(), 5000);
    let open = reserved(&engine, GRAPHS_PURPOSE);
    engine.flush_all().unwrap();
    assert!(engine.tree().current().frozen().is_empty());
    let left = reserved(&engine, GRAPHS_PURPOSE);
    let next = engine.tree().open_graph().size().total_bytes();
    assert!(left <= next, "{left} bytes of graphs, {open} before: the open graph has {next}");
    assert_eq!(ends(), before);
}

#[test]
fn writes_of_a_transaction_take_an_eighth_of_the_limit_by_default_and_are_counted() {
    for (chosen, expected) in [(None, 7..=8), (Some(20 << 20), 19..=20)] {
        let mut options = OpenOptions {
            environment: Environment::simulated(7),
            memory_limit_bytes: LIMIT,
            ..OpenOptions::default()
        };
        options.transaction_bytes_max = chosen.unwrap_or(options.transaction_bytes_max);
        let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
        let open = OpenStore::<DiskEngine>::open(directory, &options).unwrap();
        let mut tx = open.store().begin();
        let (label, key) = (tx.label("V").unwrap(), tx.key("text").unwrap());
        let vertex = tx.add_vertex(label, &[]).unwrap();
        let text = Value::from("x".repeat(1 << 20).as_str());
        let mut written: u64 = 0;
        let refused = loop {
            match tx.set_vertex_property(vertex, key, Some(text.clone())) {
                Ok(()) => written += 1,
                Err(refused) => break refused,
            }
        };
        assert!(refused.to_string().contains("transaction_bytes_max"), "{refused}");
        assert!(expected.contains(&written), "{written} MiB");
        assert!(reserved(open.store().engine(), TRANSACTIONS_PURPOSE) >= (written << 20) - (64 << 10));
        drop(tx);
        assert_eq!(reserved(open.store().engine(), TRANSACTIONS_PURPOSE), 0);
    }
}
