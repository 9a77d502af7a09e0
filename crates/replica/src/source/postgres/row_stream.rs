//! `PostgresRows`: the rows of a table by COPY.

use evergraph_graph::cancel::CancelFlag;
use postgres_protocol::escape::{escape_identifier, escape_literal};

use crate::source::batch::{BATCH_BYTES, RowBatch};
use crate::source::contract::{CopyRequest, RowStream};
use crate::source::error::{SourceError, SourceResult};
use crate::source::postgres::connection::{Connection, QUERY_TIME_MAX, server, wire};
use crate::source::postgres::settings::ConnectionSettings;
use crate::source::postgres::socket::Deadline;
use crate::wire::server_error::ServerError;
use crate::wire::session::Event;
use crate::wire::startup::Purpose;

/// Rows of a table as they come.
#[derive(Debug)]
pub struct PostgresRows {
    connection: Connection,
    doing: String,
    cancel: CancelFlag,
    failure: Option<Box<ServerError>>,
    is_over: bool,
}

impl PostgresRows {
    /// Begins to copy.
    ///
    /// # Errors
    /// If the table, a column or the snapshot is not there, or may not be read.
    pub fn begin(
        settings: &ConnectionSettings,
        request: &CopyRequest,
        cancel: &CancelFlag,
    ) -> SourceResult<Self> {
        let mut connection = Connection::open(settings, Purpose::Queries, cancel)?;
        let doing = format!("copy {}.{} of", request.schema, request.table);
        let mut begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY".to_owned();
        if let Some(snapshot) = &request.snapshot {
            begin.push_str(&format!("; SET TRANSACTION SNAPSHOT {}", escape_literal(snapshot)));
        }
        connection.query(&doing, &begin)?;
        let columns: Vec<_> = request.columns.iter().map(|column| escape_identifier(column)).collect();
        // A query, since COPY of a partitioned table's name copies nothing.
        connection.begin_copy(
            &doing,
            &format!(
                "COPY (SELECT {} FROM {}.{}) TO STDOUT",
                columns.join(", "),
                escape_identifier(&request.schema),
                escape_identifier(&request.table)
            ),
        )?;
        Ok(Self { connection, doing, cancel: cancel.clone(), failure: None, is_over: false })
    }
}

impl RowStream for PostgresRows {
    fn next_batch(&mut self, batch: &mut RowBatch) -> SourceResult<bool> {
        batch.clear();
        while !self.is_over && batch.size_bytes() < BATCH_BYTES {
            let place = self.connection.place().to_owned();
            let (session, _) = self.connection.parts();
            match session.next_event().map_err(|error| wire(&self.doing, &place, error))? {
                Some(Event::CopyData(row)) => batch.push(row),
                Some(Event::Failed(error)) if error.is_fatal() => {
                    return Err(server(&self.doing, &place, error));
                }
                Some(Event::Failed(error)) => self.failure = Some(error),
                Some(Event::Ready(_)) => {
                    self.is_over = true;
                    if let Some(error) = self.failure.take() {
                        batch.clear();
                        return Err(server(&self.doing, &place, error));
                    }
                }
                Some(_) => {}
                None => {
                    // The server may look for a first row for long; whoever waits cancels.
                    let cancel = self.cancel.clone();
                    let received =
                        self.connection.receive(&self.doing, Deadline::within(QUERY_TIME_MAX, &cancel));
                    match received {
                        Err(SourceError::Late { .. }) | Ok(()) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Ok(!batch.is_empty())
    }
}
