//! `PostgresRows`: the rows of a table by COPY.

use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind};
use postgres_protocol::escape::{escape_identifier, escape_literal};

use crate::source::batch::{BATCH_BYTES, RowBatch};
use crate::source::contract::{CopyRequest, RowStream};
use crate::source::error::{SourceError, SourceResult};
use crate::source::postgres::connection::{Connection, QUERY_TIME_MAX, server, wire};
use crate::source::postgres::settings::ConnectionSettings;
use crate::source::postgres::socket::Deadline;
use crate::source::table_cuts::PageRange;
use crate::wire::server_error::ServerError;
use crate::wire::session::Event;
use crate::wire::startup::Purpose;

/// What a server says that waited for a lock as long as it was told.
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// Rows of a table as they come.
#[derive(Debug)]
pub struct PostgresRows {
    settings: ConnectionSettings,
    request: CopyRequest,
    /// Opened for the first batch, by the thread that takes it: connecting costs as much as some thousand rows.
    connection: Option<Connection>,
    doing: String,
    cancel: CancelFlag,
    failure: Option<Box<ServerError>>,
    is_over: bool,
}

impl PostgresRows {
    /// What is to be copied; the copy begins with the first batch.
    #[must_use]
    pub fn new(settings: &ConnectionSettings, request: &CopyRequest, cancel: &CancelFlag) -> Self {
        Self {
            settings: settings.clone(),
            request: request.clone(),
            connection: None,
            doing: format!("copy {}.{} of", request.schema, request.table),
            cancel: cancel.clone(),
            failure: None,
            is_over: false,
        }
    }

    fn begin(&self) -> SourceResult<Connection> {
        let Self { request, doing, .. } = self;
        let mut connection = Connection::open(&self.settings, Purpose::Queries, &self.cancel)?;
        let mut begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY".to_owned();
        if let Some(snapshot) = &request.snapshot {
            begin.push_str(&format!("; SET TRANSACTION SNAPSHOT {}", escape_literal(snapshot)));
        }
        if request.pages != PageRange::ALL {
            // Whoever waits for the table waits for the lock that keeps its rows in their pages: for us.
            begin.push_str("; SET LOCAL lock_timeout = '2s'");
        }
        connection.query(doing, &begin)?;
        connection.begin_copy(doing, &statement(request)).map_err(|error| match error.sqlstate() {
            Some(LOCK_NOT_AVAILABLE) => SourceError::Local(Error::new(
                ErrorKind::Busy,
                format!("{error}: somebody changes the table's definition, and waits for its copy; copy again when that is done"),
            )),
            _ => error,
        })?;
        Ok(connection)
    }
}

/// A query, since COPY of a partitioned table's name copies nothing.
fn statement(request: &CopyRequest) -> String {
    let columns: Vec<_> = request.columns.iter().map(|column| escape_identifier(column)).collect();
    let PageRange { first, end } = request.pages;
    let conditions = (first > 0).then(|| format!("ctid >= '({first},0)'")).into_iter();
    let conditions: Vec<_> = conditions.chain(end.map(|end| format!("ctid < '({end},0)'"))).collect();
    let condition = match conditions.as_slice() {
        [] => String::new(),
        _ => format!(" WHERE {}", conditions.join(" AND ")),
    };
    format!(
        "COPY (SELECT {} FROM {}.{}{condition}) TO STDOUT",
        columns.join(", "),
        escape_identifier(&request.schema),
        escape_identifier(&request.table)
    )
}

impl RowStream for PostgresRows {
    fn next_batch(&mut self, batch: &mut RowBatch) -> SourceResult<bool> {
        batch.clear();
        if self.connection.is_none() {
            self.connection = Some(self.begin()?);
        }
        let connection = self.connection.as_mut().expect("it was opened before");
        while !self.is_over && batch.size_bytes() < BATCH_BYTES {
            let (session, place) = connection.session_and_place();
            match session.next_event().map_err(|error| wire(&self.doing, place, error))? {
                Some(Event::CopyData(row)) => batch.push(row),
                Some(Event::Failed(error)) if error.is_fatal() => {
                    return Err(server(&self.doing, place, error));
                }
                Some(Event::Failed(error)) => self.failure = Some(error),
                Some(Event::Ready(_)) => {
                    self.is_over = true;
                    if let Some(error) = self.failure.take() {
                        batch.clear();
                        return Err(server(&self.doing, place, error));
                    }
                }
                Some(_) => {}
                None => {
                    // The server may look for a first row for long; whoever waits cancels.
                    match connection.receive(&self.doing, Deadline::within(QUERY_TIME_MAX, &self.cancel)) {
                        Err(SourceError::Late { .. }) | Ok(()) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Ok(!batch.is_empty())
    }
}
