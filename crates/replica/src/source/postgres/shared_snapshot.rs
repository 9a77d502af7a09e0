//! `SharedSnapshot`: one moment of a database that several connections read, without a slot and its rights.

use evergraph_graph::cancel::CancelFlag;

use crate::source::error::{SourceError, SourceResult};
use crate::source::postgres::connection::Connection;
use crate::source::postgres::settings::ConnectionSettings;
use crate::wire::startup::Purpose;

/// A snapshot that other connections may read in, as long as this lives. Meanwhile the server keeps rows that were deleted.
#[derive(Debug)]
pub struct SharedSnapshot {
    name: String,
    /// Its transaction holds the snapshot.
    _connection: Connection,
}

impl SharedSnapshot {
    /// Takes a snapshot of now. Any role may.
    ///
    /// # Errors
    /// If the server cannot be asked.
    pub fn export(settings: &ConnectionSettings, cancel: &CancelFlag) -> SourceResult<Self> {
        let doing = "export a snapshot of";
        let mut connection = Connection::open(settings, Purpose::Queries, cancel)?;
        connection.query(doing, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        let rows = connection.query(doing, "SELECT pg_export_snapshot()")?;
        match rows.first().map(Vec::as_slice) {
            Some([Some(name)]) => Ok(Self { name: name.clone(), _connection: connection }),
            _ => Err(SourceError::Invalid(format!(
                "{doing} {}: the server's answer is no name of a snapshot",
                connection.place()
            ))),
        }
    }

    /// The snapshot's name, for [`CopyRequest`](crate::source::contract::CopyRequest).
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}
