//! Inserts: runs of inserts with a deletion for each twenty; the second half of a run counts.

use crate::edges::Contents;
use crate::engine::store::{Edge, Store};
use evergraph_graph::error::Result;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Edges of a large transaction.
pub const BATCH: usize = 1000;
/// Inserts for each deletion.
pub const INSERTS_A_DELETION: usize = 20;

/// How edges are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// Edges of a transaction.
    pub batch: usize,
    /// Whether each edge is looked up before. Ours does that in any case.
    pub is_checked: bool,
}

/// One edge a transaction, blindly.
pub const ONE: Way = Way { batch: 1, is_checked: false };
/// The same with a look-up.
pub const ONE_CHECKED: Way = Way { batch: 1, is_checked: true };
/// A thousand, blindly.
pub const MANY: Way = Way { batch: BATCH, is_checked: false };
/// The same with look-ups.
pub const MANY_CHECKED: Way = Way { batch: BATCH, is_checked: true };

/// What a run showed.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Inserts {
    /// Edges inserted or deleted a second.
    pub rate: f64,
    /// Seconds that 99 of 100 transactions take at most.
    pub p99: f64,
    /// What the longest took.
    pub longest: f64,
    /// Edges inserted or deleted in the whole run.
    pub written: usize,
}

/// A part of a run, after which edges are deleted.
struct Stretch {
    /// Transactions before it, and edges before it.
    transactions: usize,
    edges: usize,
    began: Duration,
}

/// Inserts `edges` until `time` is over or none is left. Those that were inserted, and what it took.
///
/// # Errors
/// What the store says.
pub fn insert<'a>(
    store: &dyn Store,
    edges: &'a [Edge],
    way: Way,
    time: Duration,
) -> Result<(&'a [Edge], Inserts)> {
    let (mut times, mut stretches) = (Vec::new(), Vec::new());
    let (mut taken, mut written) = (0, 0);
    let began = Instant::now();
    for stretch in edges.chunks(way.batch * INSERTS_A_DELETION) {
        if began.elapsed() >= time {
            break;
        }
        stretches.push(Stretch { transactions: times.len(), edges: written, began: began.elapsed() });
        for edges in stretch.chunks(way.batch) {
            let began = Instant::now();
            if way.is_checked {
                store.put_missing(edges)?;
            } else {
                store.put(edges)?;
            }
            times.push(began.elapsed());
        }
        let deleted: Vec<Edge> = deleted(stretch, way.batch).collect();
        let began = Instant::now();
        store.delete(&deleted)?;
        times.push(began.elapsed());
        taken += stretch.len();
        written += stretch.len() + deleted.len();
    }
    let all = began.elapsed();
    let counted = stretches.iter().find(|stretch| 2 * stretch.edges >= written).or(stretches.last());
    let Some(counted) = counted else { return Ok((&edges[..0], Inserts::default())) };
    let rate = (written - counted.edges) as f64 / (all - counted.began).as_secs_f64();
    let mut times = times.split_off(counted.transactions);
    times.sort_unstable();
    let at = |share: f64| {
        let time = times.get((times.len() as f64 * share) as usize).or(times.last());
        time.map_or(0.0, Duration::as_secs_f64)
    };
    Ok((&edges[..taken], Inserts { rate, p99: at(0.99), longest: at(1.0), written }))
}

/// The edges of a stretch that are deleted after it: every twentieth.
fn deleted(stretch: &[Edge], batch: usize) -> impl Iterator<Item = Edge> {
    stretch.iter().step_by(INSERTS_A_DELETION).take(batch).copied()
}

/// What a store has that had `loaded`, and in which `inserted` was inserted by runs of so many edges a transaction.
#[must_use]
pub fn expected(loaded: &[Edge], inserted: &[(&[Edge], usize)]) -> Contents {
    let left = inserted.iter().flat_map(|(edges, batch)| {
        edges.chunks(batch * INSERTS_A_DELETION).flat_map(|stretch| {
            let is_left =
                |at: &usize| !at.is_multiple_of(INSERTS_A_DELETION) || at / INSERTS_A_DELETION >= *batch;
            (0..stretch.len()).filter(is_left).map(|at| &stretch[at])
        })
    });
    Contents::of(loaded.iter().chain(left))
}
