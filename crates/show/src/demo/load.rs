//! Load: the first step, a new database with the network in it.

use crate::demo::network::Network;
use evergraph::{Database, EngineKind, Options};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_report::disk_size::disk_bytes;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// What was loaded.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct LoadFigures {
    /// Accounts.
    pub accounts: u64,
    /// Transfers.
    pub transfers: u64,
    /// Until all of it was durable, in seconds.
    pub seconds: f64,
    /// Bytes that an edge takes where its engine keeps it, both directions together; properties not included.
    pub bytes_per_edge: f64,
    /// Bytes on disk.
    pub disk_bytes: u64,
}

impl LoadFigures {
    /// Accounts and transfers loaded a second.
    #[must_use]
    pub fn rows_rate(&self) -> f64 {
        (self.accounts + self.transfers) as f64 / self.seconds
    }
}

/// Loads `network` into a new database of `engine` at `path` and closes it.
///
/// # Errors
/// Those of creating, loading and closing; `cancelled`.
pub fn load(network: &Network, path: &Path, engine: EngineKind, cancel: &CancelFlag) -> Result<LoadFigures> {
    let began = Instant::now();
    let database = Database::open_with(path, &Options { engine: Some(engine), ..Options::default() })?;
    database.load(&network.payments.load, &|_| (), cancel)?;
    let seconds = began.elapsed().as_secs_f64();
    let topology_bytes = database.statistics()?.store.engine.topology_bytes;
    database.close()?;
    let transfers = network.loaded_transfers();
    Ok(LoadFigures {
        accounts: u64::from(network.accounts()),
        transfers,
        seconds,
        bytes_per_edge: topology_bytes as f64 / transfers as f64,
        disk_bytes: disk_bytes(path)?,
    })
}
