//! Reports: statistics and schema of a database.
//!
//! They are documents of the form that `evergraph stats --json` and `:schema` print: read them as `serde_json::Value`, or as the types
//! of the crate `evergraph-report`.

use crate::admin::call::Admin;
use evergraph_graph::error::Result;
use serde::de::DeserializeOwned;

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
}
