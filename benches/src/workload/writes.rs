//! Writes, not synced: edges one a transaction and a thousand, in random and skewed order; deletions among
//! them. One thread.

use crate::edges::{Contents, Order, there_before};
use crate::engine::kind::Kind;
use crate::engine::store::{Commit, Edge, Store};
use crate::plan::Work;
use crate::race::Race;
use crate::results::Heading;
use crate::workload::stores::{names_of, open_each};
use evergraph_graph::error::Result;
use evergraph_measure::figure::Unit;
use std::time::Instant;

const BATCH: usize = 1000;
/// Inserts for each deletion of the mix.
const INSERTS_A_DELETION: usize = 20;

/// Measures all ways to write.
///
/// # Errors
/// `corrupt` if a store has other edges in the end; what engines say.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let there = there_before(work.plan)?;
    for order in Order::ALL {
        inserts(work, &there, order, 1, work.plan.commits)?;
        inserts(work, &there, order, BATCH, work.plan.batches)?;
    }
    mix(work, &there)?;
    work.note(
        "one thread; the log is written and not synced; merges, compactions and page writes go on beside",
    );
    work.note(format!("into a graph of {} edges, loaded and compacted before", there.len()));
    work.note(
        "lmdb is whole after a power cut if the file system keeps the order of writes (lmdb.h), which ext4 and XFS \
         don't promise; lmdb_writemap changes pages where they lie",
    );
    work.note("ours keeps both directions of every edge and checks both ends; the others keep one direction");
    Ok(())
}

/// A store of each engine with the edges that are there before.
fn open_with(work: &Work<'_>, name: &str, there: &[Edge]) -> Result<Vec<Box<dyn Store>>> {
    let stores = open_each(work, Kind::UNSYNCED, name, Commit::Unsynced)?;
    for store in &stores {
        store.load(there)?;
        store.settle()?;
    }
    Ok(stores)
}

fn inserts(
    work: &mut Work<'_>,
    there: &[Edge],
    order: Order,
    batch: usize,
    transactions: usize,
) -> Result<()> {
    let what = if batch == 1 { "one".to_owned() } else { format!("batch_{batch}") };
    let name = format!("insert.{what}.{}", order.name());
    let edges = order.edges(work.plan, work.plan.rounds * transactions * batch, there)?;
    let stores = open_with(work, &name, there)?;
    let mut race = Race::new(names_of(Kind::UNSYNCED));
    for (round, edges) in edges.chunks(transactions * batch).enumerate() {
        race.round(round, |place| {
            let began = Instant::now();
            edges.chunks(batch).try_for_each(|edges| stores[place].put(edges))?;
            Ok(edges.len() as f64 / began.elapsed().as_secs_f64())
        })?;
    }
    close(stores, Contents::of(there.iter().chain(&edges)))?;
    let plural = if batch == 1 { "1 edge".to_owned() } else { format!("{batch} edges") };
    let title = format!("edges inserted, {plural} a transaction, {} order", order.name());
    let heading = Heading::new(name, title, Unit::PerSecond)
        .of_commits(Commit::Unsynced)
        .with("edges a run", transactions * batch);
    work.add_race(&heading, &race);
    Ok(())
}

/// Twenty inserts of new edges, then a deletion of one of those; each a transaction.
fn mix(work: &mut Work<'_>, there: &[Edge]) -> Result<()> {
    let edges = Order::Skewed.edges(work.plan, work.plan.rounds * work.plan.commits, there)?;
    let stores = open_with(work, "mix", there)?;
    let mut race = Race::new(names_of(Kind::UNSYNCED));
    for (round, edges) in edges.chunks(work.plan.commits).enumerate() {
        race.round(round, |place| {
            let began = Instant::now();
            let mut transactions = 0;
            for edges in edges.chunks(INSERTS_A_DELETION) {
                edges.iter().try_for_each(|edge| stores[place].put(&[*edge]))?;
                stores[place].delete(&[deleted(edges)])?;
                transactions += edges.len() + 1;
            }
            Ok(transactions as f64 / began.elapsed().as_secs_f64())
        })?;
    }
    let left =
        |edges: &[Edge]| edges.iter().copied().filter(|edge| *edge != deleted(edges)).collect::<Vec<_>>();
    let rounds = edges.chunks(work.plan.commits);
    let left: Vec<Edge> = rounds.flat_map(|edges| edges.chunks(INSERTS_A_DELETION)).flat_map(left).collect();
    close(stores, Contents::of(there.iter().chain(&left)))?;
    let title = "transactions of one edge, 20 inserts for each deletion, skewed order";
    let heading = Heading::new("mix.20_to_1", title, Unit::PerSecond).of_commits(Commit::Unsynced);
    work.add_race(&heading, &race);
    Ok(())
}

/// The edge of a stretch that is deleted after it.
fn deleted(edges: &[Edge]) -> Edge {
    edges[edges.len() / 2]
}

/// Checks what each store has, and closes it.
fn close(stores: Vec<Box<dyn Store>>, expected: Contents) -> Result<()> {
    for (name, store) in names_of(Kind::UNSYNCED).zip(stores) {
        expected.check(name, &*store)?;
        store.close()?;
    }
    Ok(())
}
