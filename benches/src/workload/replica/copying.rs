//! Copying: how fast a new replica has the tables, beside COPY of the same columns to nowhere.
//!
//! Ours is all that a user waits for: publication, slot, all rows, the load, its bytes on disk.

use crate::goals::baseline::COPY;
use crate::plan::Work;
use crate::race::Race;
use crate::results::Heading;
use crate::workload::replica::readers::{follow, options};
use crate::workload::replica::reload::copy_batches;
use crate::workload::replica::source_server::TABLES;
use crate::workload::replica::{Bench, EPOCHS, OURS, open};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::figure::Unit;
use evergraph_replica::follow::detach::detach;
use std::fs;
use std::time::Instant;

/// The slot and the publication of the replicas that are made here.
const NAME: &str = "copied";

/// Measures rows a second.
///
/// # Errors
/// Those of server and replica.
pub fn measure(work: &mut Work<'_>, bench: &Bench) -> Result<()> {
    let mut race = Race::new([OURS, COPY]);
    let mut rows = 0;
    for round in 0..bench.plan.rounds {
        race.round(round, |place| -> Result<f64> {
            let began = Instant::now();
            if place == 0 {
                let path = bench.folder.join(format!("copied-{round}.eg"));
                let database = open(&path)?;
                let began = Instant::now();
                let options = options(NAME, NAME, &bench.folder, EPOCHS);
                let replica = follow(&bench.server, &database, options)?;
                let time = began.elapsed().as_secs_f64();
                replica.stop()?;
                detach(&database, Some(&mut bench.server.source()))?;
                database.close()?;
                drop(database);
                fs::remove_dir_all(&path).map_err(|error| {
                    Error::new(ErrorKind::Io, format!("remove {}: {error}", path.display()))
                })?;
                Ok(time)
            } else {
                rows = read_tables(bench)?;
                Ok(began.elapsed().as_secs_f64())
            }
        })?;
    }
    let rates = race.map(|seconds| rows as f64 / seconds.max(1e-6));
    let heading = Heading::new("replica.copy", "rows of a new replica", Unit::PerSecond).with("rows", rows);
    work.add_race(&heading, &rates);
    work.note("copy: one connection, our socket, a table after the other, rows thrown away; the replica has four readers");
    Ok(())
}

/// Reads all tables by COPY, one after the other; how many rows came.
fn read_tables(bench: &Bench) -> Result<u64> {
    let (settings, mut rows) = (bench.server.connection_settings(), 0);
    for (table, columns) in TABLES {
        copy_batches(&settings, table, columns, |batch| {
            rows += batch.len() as u64;
            Ok(())
        })?;
    }
    Ok(rows)
}
