//! Statistics: what `Database.stats` tells, as dictionaries.

use evergraph::Statistics;
use evergraph::disk_engine::statistics::{GraphStatistics, GraphUse, TreeStatistics};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// The dictionary of `found`.
///
/// # Errors
/// Only those of Python, such as a lack of memory.
pub fn statistics<'py>(py: Python<'py>, found: &Statistics) -> PyResult<Bound<'py, PyDict>> {
    let stats = PyDict::new(py);
    stats.set_item("engine", found.engine.name())?;
    stats.set_item("vertices", counts(py, &found.vertices)?)?;
    stats.set_item("edges", counts(py, &found.edges)?)?;
    let (store, engine) = (&found.store, &found.store.engine);
    stats.set_item("commits", store.commits)?;
    stats.set_item("conflicts", store.conflicts)?;
    stats.set_item("open_snapshots", store.readers)?;
    stats.set_item("open_transactions", store.writers)?;
    stats.set_item("newest_commit", store.published.0)?;
    stats.set_item("oldest_snapshot", store.oldest_snapshot.map(|oldest| oldest.0))?;
    stats.set_item("oldest_snapshot_seconds", store.oldest_reader.map(|(_, age)| age.as_secs_f64()))?;
    stats.set_item("oldest_transaction", store.oldest_writer.map(|oldest| oldest.0))?;
    // The others have these in files.
    let in_memory = |bytes: u64| if found.engine.keeps_graph_in_memory() { bytes } else { 0 };
    stats.set_item("topology_bytes", in_memory(engine.topology_bytes))?;
    stats.set_item("property_bytes", in_memory(engine.property_bytes))?;
    stats.set_item("index_bytes", store.index_bytes)?;
    stats.set_item("retained_bytes", if found.mapped.is_some() { 0 } else { engine.retained_bytes })?;
    stats.set_item("merges", engine.merges)?;
    let limit = found.memory_limit_bytes;
    stats.set_item("memory_limit", (limit < u64::MAX).then_some(limit))?;
    let reserved = PyDict::new(py);
    store.reservations.iter().try_for_each(|(purpose, bytes)| reserved.set_item(&**purpose, bytes))?;
    stats.set_item("reserved", reserved)?;
    stats.set_item("log_bytes", store.log.disk_bytes)?;
    stats.set_item("log_syncs", store.log.syncs_count)?;
    stats.set_item("checkpoints", found.checkpoints.checkpoints)?;
    stats.set_item("checkpoint_failure", &found.checkpoints.failure)?;
    let recovery = PyDict::new(py);
    recovery.set_item("created", found.recovery.created)?;
    recovery.set_item("body_bytes", found.recovery.body_bytes)?;
    recovery.set_item("commits", found.recovery.commits)?;
    recovery.set_item("payload_bytes", found.recovery.payload_bytes)?;
    recovery.set_item("torn_end", found.recovery.torn_end)?;
    stats.set_item("recovery", recovery)?;
    stats.set_item("tree", found.tree.as_ref().map(|found| tree(py, found)).transpose()?)?;
    stats.set_item("mapped", mapped(py, found)?)?;
    Ok(stats)
}

/// What the mapped engine has in its files and beside them; nothing with another engine.
fn mapped<'py>(py: Python<'py>, found: &Statistics) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(mapped) = found.mapped else { return Ok(None) };
    let engine = &found.store.engine;
    let row = [
        ("files", mapped.files),
        ("file_bytes", mapped.file_bytes),
        ("free_bytes", mapped.free_bytes),
        ("topology_bytes", engine.topology_bytes),
        ("property_bytes", engine.property_bytes),
        ("index_bytes", found.store.index_file_bytes),
        ("live_bytes", mapped.live_bytes),
        ("live_limit_bytes", mapped.live_limit_bytes),
        ("live_file_bytes", mapped.live_file_bytes),
    ];
    numbers(py, &row).map(Some)
}

fn counts<'py>(py: Python<'py>, rows: &[(String, u64)]) -> PyResult<Bound<'py, PyDict>> {
    let counts = PyDict::new(py);
    rows.iter().try_for_each(|(name, count)| counts.set_item(name, count))?;
    Ok(counts)
}

/// What the disk engine has made of the graph.
fn tree<'py>(py: Python<'py>, found: &TreeStatistics) -> PyResult<Bound<'py, PyDict>> {
    let tree = PyDict::new(py);
    let levels = PyList::empty(py);
    for (number, level) in found.levels.iter().enumerate() {
        let row = [
            ("level", number as u64),
            ("files", level.files),
            ("topology_bytes", level.topology_bytes),
            ("property_bytes", level.property_bytes),
            ("memory_bytes", level.memory_bytes),
            ("pages_read", level.pages_read),
        ];
        levels.append(numbers(py, &row)?)?;
    }
    tree.set_item("levels", levels)?;
    let (cache, flushes, compactions, stalls) = (found.cache, found.flushes, found.compactions, found.stalls);
    let row = [
        ("bytes", cache.bytes),
        ("hits", cache.hits),
        ("misses", cache.misses),
        ("evictions", cache.evictions),
    ];
    tree.set_item("cache", numbers(py, &row)?)?;
    let row = [
        ("frozen", found.frozen_graphs),
        ("bytes", found.graph_bytes),
        ("retained", found.retained_graphs),
        ("retained_bytes", found.retained_bytes),
    ];
    let row = numbers(py, &row)?;
    let graphs = found.graphs.iter().map(|found| graph(py, found));
    row.set_item("graphs", graphs.collect::<PyResult<Vec<_>>>()?)?;
    tree.set_item("memory_graphs", row)?;
    let row = numbers(py, &[("count", found.lists.lists), ("pages_read", found.lists.pages)])?;
    row.set_item("pages_a_list", found.page_reads_a_list())?;
    tree.set_item("lists", row)?;
    tree.set_item("write_amplification", found.write_amplification())?;
    tree.set_item("pinned", numbers(py, &[("files", found.pinned.files), ("bytes", found.pinned.bytes)])?)?;
    let row = numbers(py, &[("files", flushes.files), ("bytes", flushes.bytes)])?;
    row.set_item("seconds", flushes.flushing.as_secs_f64())?;
    row.set_item("failure", &found.flush_failure)?;
    tree.set_item("flushes", row)?;
    let row = [
        ("count", compactions.compactions),
        ("read_bytes", compactions.read_bytes),
        ("written_bytes", compactions.written_bytes),
    ];
    let row = numbers(py, &row)?;
    row.set_item("seconds", compactions.compacting.as_secs_f64())?;
    row.set_item("failure", &found.compaction_failure)?;
    tree.set_item("compactions", row)?;
    let row = numbers(py, &[("count", stalls.stalls)])?;
    row.set_item("seconds", stalls.stalled.as_secs_f64())?;
    row.set_item("longest_seconds", stalls.stall_max.as_secs_f64())?;
    tree.set_item("stalls", row)?;
    tree.set_item("direct_io", found.direct_io)?;
    Ok(tree)
}

/// A memory graph, and why it is there.
fn graph<'py>(py: Python<'py>, found: &GraphStatistics) -> PyResult<Bound<'py, PyDict>> {
    let (kept_for, transaction) = match found.used_for {
        GraphUse::Open => ("commits", None),
        GraphUse::Flush => ("flush", None),
        GraphUse::Transaction(snapshot) => ("transaction", Some(snapshot.0)),
        GraphUse::Nothing => ("nothing", None),
    };
    let graph = numbers(py, &[("bytes", found.bytes)])?;
    graph.set_item("last_commit", found.last.map(|last| last.0))?;
    graph.set_item("kept_for", kept_for)?;
    graph.set_item("transaction", transaction)?;
    Ok(graph)
}

fn numbers<'py>(py: Python<'py>, rows: &[(&str, u64)]) -> PyResult<Bound<'py, PyDict>> {
    let numbers = PyDict::new(py);
    rows.iter().try_for_each(|(name, number)| numbers.set_item(*name, number))?;
    Ok(numbers)
}
