//! Entries: vertices that clients of a server add, numbered by each client, so that what is missing shows.
//!
//! ```text
//! client 0, 2, ...    one Entry, in a query of its own
//! client 1, 3, ...    an Entry and a Pair, in a transaction of two queries
//! ```

use crate::bank::{evergraph, run};
use evergraph::{Database, EngineKind, Options};
use evergraph_client::client::Client;
use evergraph_client::query::Query;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_graph::transaction::TransactionOptions;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Numbers of one client begin this far from those of the next one.
const STRIDE: i64 = 1 << 32;

/// A database of entries, and how far each client is known to be in it.
pub struct Entries {
    database: PathBuf,
    booked: Vec<i64>,
}

impl Entries {
    /// Makes one in `folder`, for so many clients.
    pub fn new(engine: EngineKind, folder: &Path, clients: usize) -> Self {
        let database = folder.join("entries.eg");
        let options = Options { engine: Some(engine), memory_limit_bytes: 64 << 20, ..Options::default() };
        Database::open_with(&database, &options).unwrap().close().unwrap();
        Self { database, booked: vec![0; clients] }
    }

    /// A server of it, with `arguments` besides.
    pub fn serve(&self, arguments: &[&str]) -> Command {
        let mut command = evergraph(&["serve", "--listen", "127.0.0.1:0", "--log-level", "error"]);
        command.arg(&self.database).args(arguments);
        command
    }

    /// How many entries of each client are there.
    pub fn booked(&self) -> &[i64] {
        &self.booked
    }

    /// Everything acknowledged is there but an end of each client's, if `may_lose`; nothing by half, no gaps, nothing that no
    /// client sent, and of what was not acknowledged at most one entry a client. `check` finds nothing.
    pub fn verify(&mut self, acknowledged: &[i64], may_lose: bool) {
        run(evergraph(&["check"]).arg(&self.database));
        let options = Options { memory_limit_bytes: 64 << 20, create: false, ..Options::default() };
        let database = Database::open_with(&self.database, &options).unwrap();
        let keys = |label: &str| {
            let text = format!("g.V().hasLabel('{label}').values('key')");
            let mut keys: Vec<i64> = database.gremlin(&text).values().unwrap();
            keys.sort_unstable();
            keys
        };
        let (entries, pairs) = (keys("Entry"), keys("Pair"));
        for (client, acknowledged) in acknowledged.iter().enumerate() {
            let first = client as i64 * STRIDE;
            let own = |keys: &[i64]| -> Vec<i64> {
                keys.iter().filter(|key| (first..first + STRIDE).contains(*key)).copied().collect()
            };
            let found = own(&entries);
            let count = found.len() as i64;
            assert_eq!(
                found,
                (first..first + count).collect::<Vec<_>>(),
                "client {client} has a gap, or one twice"
            );
            assert!(count <= acknowledged + 1, "client {client}: {count} found, {acknowledged} acknowledged");
            assert!(
                may_lose || count >= *acknowledged,
                "client {client}: {count} found of {acknowledged} acknowledged"
            );
            let expected = if client.is_multiple_of(2) { Vec::new() } else { found };
            assert_eq!(own(&pairs), expected, "client {client}: a transaction by half");
            self.booked[client] = count;
        }
        let known: i64 = self.booked.iter().sum();
        assert_eq!(entries.len() as i64, known, "nobody sent the others");
        database.close().unwrap();
    }
}

/// Adds the entry `number` of `client`; when it returns, the server has acknowledged it.
pub fn book(connection: &Client, client: usize, number: i64) -> Result<()> {
    let key = client as i64 * STRIDE + number;
    let add = |label: &str| Query::text(format!("g.addV('{label}').property('key', {key}L)"));
    if client.is_multiple_of(2) {
        return connection.query(&add("Entry"))?.collect().map(drop);
    }
    connection.transact(TransactionOptions::default(), &CancelFlag::default(), |tx| {
        tx.query(&add("Entry"))?.collect()?;
        tx.query(&add("Pair"))?.collect()
    })?;
    Ok(())
}
