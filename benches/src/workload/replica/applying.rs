//! Applying: processor time of a replica for recorded transactions, without a server and its noise.
//!
//! What a processor does for a small transaction depends on its caches more than on anything else. So that is measured with
//! caches that the transaction before has left, and with caches that others have used in between: once before each transaction,
//! once before each ten of them.

use crate::plan::{Work, expect};
use crate::results::Heading;
use crate::stopwatch::Stopwatch;
use crate::workload::replica::recorded::{Caches, RecordedSource, RecordedWriter, mapping};
use crate::workload::replica::{EPOCHS, OURS, PATIENCE, open};
use evergraph::ReadByName as _;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::figure::Unit;
use evergraph_replica::follow::options::{ReplicaMapping, ReplicaOptions};
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::lsn::Lsn;
use evergraph_replica::source::batch::ChangeBatch;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Transactions that come at once, where some do.
const OF_BATCH: u32 = 10;
/// How often it is looked whether all is there: whoever waits for a position is woken by commits, which costs them.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Measures processor time.
///
/// # Errors
/// `corrupt` if the graph lacks entries of the history; those of the replica.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let plan = work.plan.replica.clone();
    let [small, cold, updates] = plan.recorded;
    let (mut warm_times, mut cold_times) = (Vec::new(), [Vec::new(), Vec::new()]);
    let mut rates = Vec::new();
    for round in 0..plan.rounds {
        let path = work.folder.join(format!("recorded-{round}.eg"));
        let database = open(&path)?;
        let source = RecordedSource::new(plan.accounts);
        let mut writer = RecordedWriter::new(plan.accounts, work.plan.seed);
        let mapping = ReplicaMapping { name: "recorded.toml".to_owned(), text: mapping() };
        let options =
            ReplicaOptions { epochs: EPOCHS, temporary: path.clone(), ..ReplicaOptions::new(mapping) };
        let replica = Replica::start(
            database.clone(),
            Box::new(source.clone()),
            options,
            &|_| (),
            &CancelFlag::default(),
        )?;
        let following = Following { source: &source, replica: &replica };
        // The first ones meet an empty history, and no merge.
        let batches = writer.small((small / 10).max(OF_BATCH), OF_BATCH);
        following.take(batches, writer.end(), Caches::Warm)?;
        if small > 0 {
            let batches = writer.small(small, OF_BATCH);
            warm_times.push(following.take(batches, writer.end(), Caches::Warm)? / f64::from(small));
        }
        for (times, of_batch) in cold_times.iter_mut().zip([1, OF_BATCH]).filter(|_| cold > 0) {
            let batches = writer.small(cold, of_batch);
            times.push(following.take(batches, writer.end(), Caches::Cold)? / f64::from(cold));
        }
        if updates > 0 {
            let batches = writer.updates(updates, plan.backlog_transaction);
            let rows = f64::from(updates) * f64::from(plan.backlog_transaction);
            rates.push(rows / following.take(batches, writer.end(), Caches::Warm)?.max(1e-9));
        }
        replica.stop()?;
        let entries = database.snapshot().vertices(Some("Entry"))?.len() as u64;
        expect(OURS, "entries of the history", entries, writer.entries())?;
        database.close()?;
        drop(database);
        fs::remove_dir_all(&path).map_err(|error| crate::failed(&path, &error))?;
    }
    let [cold_alone, cold_batches] = cold_times;
    for (name, title, times) in [
        ("warm", "a small transaction, caches as the one before left them", warm_times),
        ("cold", "a small transaction, caches used by others before each", cold_alone),
        ("cold_batches", "a small transaction, caches used by others before each ten", cold_batches),
    ] {
        if !times.is_empty() {
            let name = format!("replica.applying.{name}");
            work.add(&Heading::new(name, format!("processor time of {title}"), Unit::Seconds), &times);
        }
    }
    if !rates.is_empty() {
        let heading = Heading::new(
            "replica.applying.updates",
            "updates a second of processor time, of all threads of the replica",
            Unit::PerSecond,
        );
        work.add(&heading.with("rows of a transaction", plan.backlog_transaction), &rates);
    }
    work.note(
        "applying: recorded transactions, without a server: processor time of all threads, from the batches of a stream to commits; what \
         the socket costs is not in it",
    );
    Ok(())
}

/// A replica that follows a recorded source.
struct Following<'a> {
    source: &'a RecordedSource,
    replica: &'a Replica,
}

impl Following<'_> {
    /// Has `batches` applied, which end at `end`: seconds of processor time.
    fn take(&self, batches: Vec<ChangeBatch>, end: Lsn, caches: Caches) -> Result<f64> {
        self.source.send(batches, caches);
        let (watch, began) = (Stopwatch::start(), Instant::now());
        loop {
            let status = self.replica.status();
            if status.position >= end {
                break;
            }
            if let Some(pause) = status.state.pause() {
                return Err(Error::invalid(format!("the replica is paused: {pause}")));
            }
            if began.elapsed() > PATIENCE {
                return Err(Error::new(
                    ErrorKind::Limit,
                    format!("the replica is not at {end} after {PATIENCE:?}"),
                ));
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(watch.stop().cpu - self.source.take_other_time().as_secs_f64())
    }
}
