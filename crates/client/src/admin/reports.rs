//! Reports: statistics and schema of a database, how the node of a cluster is that it is, and what became of a transaction there.
//!
//! They are documents of the form that `evergraph stats --json` and `:schema` print: read them as `serde_json::Value`, or as the types
//! of the crate `evergraph-report`.

use crate::admin::call::Admin;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::unknown_commit::UnknownCommit;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use ureq::http::Method;

/// Which transaction is to be settled.
#[derive(Serialize)]
struct UnsettledTransaction {
    transaction: String,
}

/// What became of it.
#[derive(Deserialize)]
struct SettledTransaction {
    timestamp: Option<u64>,
}

impl Admin {
    /// What the database holds and takes, as `evergraph_report::statistics::StatisticsReport`. Needs the role reader.
    ///
    /// Cost: the server counts degrees, which takes some tens of nanoseconds a vertex and edge type.
    ///
    /// # Errors
    /// `not_found` for an unknown database; `busy` if it is not open.
    pub fn statistics<T: DeserializeOwned>(&self) -> Result<T> {
        self.get(&self.database_path(&["statistics"])?)
    }

    /// Labels, edge types, properties and indexes, with counts, as `evergraph_report::schema::SchemaReport`. Needs the role
    /// reader.
    ///
    /// # Errors
    /// `not_found` for an unknown database; `busy` if it is not open.
    pub fn schema<T: DeserializeOwned>(&self) -> Result<T> {
        self.get(&self.database_path(&["schema"])?)
    }

    /// How the node of a cluster is that the database is, as `evergraph cluster status --json` prints it. Needs the role admin.
    ///
    /// # Errors
    /// `not_found` for an unknown database, and for one that is no node of a cluster.
    pub fn cluster_status<T: DeserializeOwned>(&self) -> Result<T> {
        self.get(&self.database_path(&["cluster"])?)
    }

    /// What became of a transaction of a cluster whose commit ended with the kind `unknown`: the timestamp of its commit, or `None` if
    /// it has not committed, and never will. Any node may be asked. Needs the role writer.
    ///
    /// # Errors
    /// `invalid` for a database that is no node of a cluster, and a name that none has given; `unknown` if the log does not answer, or
    /// has forgotten the transaction.
    pub fn settle(&self, unknown: UnknownCommit) -> Result<Option<Timestamp>> {
        let document = UnsettledTransaction { transaction: unknown.to_string() };
        let path = self.database_path(&["settle"])?;
        let settled: SettledTransaction = self.change(Method::POST, &path, &document)?;
        Ok(settled.timestamp.map(Timestamp))
    }
}
