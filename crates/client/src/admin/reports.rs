//! Reports: statistics and schema of a database.
//!
//! They are documents of the form that `evergraph stats --json` and `:schema` print: read them as `serde_json::Value`, or as the types
//! of the crate `evergraph-report`.

use crate::admin::call::Admin;
use evergraph_graph::error::{Error, ErrorKind, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Deserialize)]
struct Described<T> {
    state: String,
    statistics: Option<T>,
}

impl Admin {
    /// What the database holds and takes, as `evergraph_report::statistics::StatisticsReport`. Needs the role reader.
    ///
    /// Cost: the server counts degrees, which takes some tens of nanoseconds a vertex and edge type.
    ///
    /// # Errors
    /// `not_found` for an unknown database; `busy` if it is not open.
    pub fn statistics<T: DeserializeOwned>(&self) -> Result<T> {
        let Described { state, statistics } = self.get(&self.database_path(&[])?)?;
        statistics.ok_or_else(|| {
            let name = self.database_name().unwrap_or_default();
            Error::new(
                ErrorKind::Busy,
                format!("the database {name:?} is not open on the server: it is {state}"),
            )
        })
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
