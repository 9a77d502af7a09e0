//! Split: writers of the source while PageRank runs without pause, source and replica on a processor each.
//!
//! ```text
//! one processor       PostgreSQL's processes, the writers
//! another one         the replica, the database, PageRank on one thread: a new snapshot each time
//! ```
//!
//! Without PageRank the replica follows, too: what is lost is what analysis takes from the source.
//!
//! Source: GART (USENIX ATC 2023), figure 9a.

use crate::goals::baseline::WITHOUT;
use crate::plan::Work;
use crate::processors::{ProcessorPair, family};
use crate::race::{Race, order};
use crate::results::{Heading, Median};
use crate::workload::pool::pool;
use crate::workload::replica::analytics::freeze;
use crate::workload::replica::pgbench::{clients, write};
use crate::workload::replica::readers::catch_up;
use crate::workload::replica::source_server::run;
use crate::workload::replica::{Bench, EPOCHS, OURS};
use evergraph::ReadByName as _;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::figure::Unit;
use evergraph_measure::kernel::Kernel;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

const PURPOSE: u64 = 472;
/// Sides of a pair of processors.
const SOURCE: usize = 0;
const REPLICA: usize = 1;

/// Measures transactions a second.
///
/// # Errors
/// Those of server and replica; `io` if processes cannot be kept on their processors.
pub fn measure(work: &mut Work<'_>, bench: &mut Bench) -> Result<()> {
    let pair = match ProcessorPair::find() {
        Ok(pair) => pair,
        Err(error) => {
            eprintln!("left out, the part split: {error}");
            return Ok(());
        }
    };
    let measured = measure_apart(work, bench, &pair);
    let released = family(bench.server.process()?)
        .into_iter()
        .chain([process::id()])
        .try_for_each(|process| pair.release(process));
    measured.and(released)
}

fn measure_apart(work: &mut Work<'_>, bench: &mut Bench, pair: &ProcessorPair) -> Result<()> {
    let mut clients = clients(bench, work.plan.seed, PURPOSE)?;
    for server in family(bench.server.process()?) {
        pair.keep_process(server, SOURCE)?;
    }
    pair.keep_process(process::id(), REPLICA)?;
    let replica = bench.follow(EPOCHS)?;
    catch_up(&replica)?;
    let mut race = Race::new([OURS, WITHOUT]);
    let mut times = Vec::new();
    for round in 0..bench.plan.rounds {
        let mut rates = [0.0; 2];
        for place in order(round, rates.len()) {
            run(&mut bench.connection, "CHECKPOINT")?;
            // Relaxed: it publishes nothing but itself.
            let is_over = AtomicBool::new(false);
            rates[place] = thread::scope(|scope| -> Result<f64> {
                let analysis = (place == 0).then(|| scope.spawn(|| rank_again_and_again(bench, &is_over)));
                let of_source = scope.spawn(|| {
                    pair.keep_this_thread(SOURCE)?;
                    write(bench, &mut clients)
                });
                let rate = of_source.join().expect("a panic was printed by its thread");
                is_over.store(true, Ordering::Relaxed);
                if let Some(analysis) = analysis {
                    times.extend(analysis.join().expect("a panic was printed by its thread")?);
                }
                rate
            })?;
        }
        race.note(&rates);
    }
    replica.stop()?;
    let count = bench.plan.clients;
    let title = format!(
        "transactions of {count} writers at the source while PageRank runs, source and replica on a processor each"
    );
    work.add_race(
        &Heading::new("replica.split.transactions", title, Unit::PerSecond).with("clients", count),
        &race,
    );
    let title = "PageRank meanwhile, on the replica's one processor";
    work.add(&Heading::new("replica.split.pagerank", title, Unit::Seconds), &times);
    let median = Unit::Seconds.show(Median::of(&times).median);
    work.note(format!("split: PageRank ran {} times beside writers, a new snapshot each time, {median} each; processors {} (source, writers) and {} (replica, PageRank)", times.len(), pair.sides[SOURCE], pair.sides[REPLICA]));
    Ok(())
}

/// Seconds of each run of PageRank, one at least.
fn rank_again_and_again(bench: &Bench, is_over: &AtomicBool) -> Result<Vec<f64>> {
    let pool = pool(1)?;
    let accounts = bench.database.snapshot().vertices(Some("Account"))?;
    let source = accounts.first().copied();
    let source = source.ok_or_else(|| Error::new(ErrorKind::Corrupt, "the copy has no accounts"))?;
    let mut times = Vec::new();
    pool.install(|| {
        while times.is_empty() || !is_over.load(Ordering::Relaxed) {
            let began = Instant::now();
            let lists = freeze(&bench.database.snapshot(), Kernel::PageRank)?;
            Kernel::PageRank.run(&lists, source)?;
            times.push(began.elapsed().as_secs_f64());
        }
        Ok(times)
    })
}
