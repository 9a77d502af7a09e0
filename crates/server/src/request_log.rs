//! Request log: what a request took, and what the log says of a slow one and of one that the server failed at.
//!
//! ```text
//! time      from its turn in its session until it is answered
//! waiting   the part of it without a thread: for its turn, for its client to read, for the disk
//! ```
//!
//! A record has no values: of the query only the words of the language are kept, see
//! [`normalise`](evergraph_query::gremlin::normalise). It is made when the request has ended, and costs others nothing.

use crate::failure::Failure;
use crate::log::target;
use crate::security::access::Access;
use evergraph_graph::error::Error;
use evergraph_protocol::response::status::Status;
use evergraph_query::gremlin::bytecode::Bytecode;
use evergraph_query::gremlin::normalise::{normalised_bytecode, normalised_text};
use evergraph_storage::planted::{Bug, planted};
use std::thread;
use std::time::{Duration, Instant};
use tracing::Level;
use uuid::Uuid;

/// Bytes of a query in the log.
const QUERY_BYTES_MAX: usize = 4096;

/// What a request asked for, for the log.
#[derive(Clone, Copy, Debug)]
pub enum LoggedQuery<'a> {
    /// A query as text.
    Text(&'a str),
    /// A query as bytecode.
    Bytecode(&'a Bytecode),
    /// What is neither, in words of ours.
    Other(&'static str),
}

/// What a request took so far.
#[derive(Debug)]
pub struct RequestUsage {
    began: Instant,
    slice_began: Option<Instant>,
    running: Duration,
    rows: u64,
    bytes: u64,
    status: Option<Status>,
}

impl RequestUsage {
    /// Of a request that begins now.
    #[must_use]
    pub fn start() -> Self {
        Self {
            began: Instant::now(),
            slice_began: None,
            running: Duration::ZERO,
            rows: 0,
            bytes: 0,
            status: None,
        }
    }

    /// Notes that it has a thread from now on.
    pub fn begin_slice(&mut self) {
        self.slice_began = Some(Instant::now());
    }

    /// Notes that it gives its thread back.
    pub fn end_slice(&mut self) {
        self.running += self.slice_began.take().map_or(Duration::ZERO, |began| began.elapsed());
    }

    /// Counts results in the answer.
    pub fn add_rows(&mut self, rows: u64) {
        self.rows += rows;
    }

    /// Counts a part of the answer of so many bytes. The status of the last part is that of the request.
    pub fn sent(&mut self, status: Status, bytes: usize) {
        if status != Status::PartialContent {
            self.status = Some(status);
        }
        self.bytes += bytes as u64;
    }

    /// The status of the answer; `None` until it is whole.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.status
    }
}

/// What is logged of a request. A rollback needs no access to a database.
#[derive(Clone, Copy)]
pub struct RequestLog<'a> {
    id: Uuid,
    access: Option<&'a Access>,
}

impl<'a> RequestLog<'a> {
    /// Of the request `id`, with what its user may do.
    #[must_use]
    pub fn new(id: Uuid, access: Option<&'a Access>) -> Self {
        Self { id, access }
    }

    /// Writes a record of a request that has ended, if it took at least `slow_time`. Without a status its client was gone.
    pub fn ended(&self, usage: &RequestUsage, slow_time: Option<Duration>, query: LoggedQuery<'_>) {
        let time = usage.began.elapsed();
        let is_fast = slow_time.is_none_or(|slow| time < slow);
        if is_fast || !tracing::event_enabled!(target: target::SLOW_QUERY, Level::INFO) {
            return;
        }
        let running = usage.running + usage.slice_began.map_or(Duration::ZERO, |began| began.elapsed());
        let query = match query {
            LoggedQuery::Text(text) if planted(Bug::SlowQueriesKeepValues) => text.to_owned(),
            LoggedQuery::Text(text) => normalised_text(text, QUERY_BYTES_MAX),
            LoggedQuery::Bytecode(bytecode) => normalised_bytecode(bytecode, QUERY_BYTES_MAX),
            LoggedQuery::Other(text) => text.to_owned(),
        };
        tracing::info!(
            target: target::SLOW_QUERY,
            time_ms = milliseconds(time),
            waiting_ms = milliseconds(time.saturating_sub(running)),
            rows = usage.rows,
            bytes = usage.bytes,
            status = usage.status.map(|status| i64::from(status.code())),
            user = self.access.and_then(Access::user),
            address = self.access.map(|access| display(access.address())),
            database = self.access.map(Access::database),
            request = %self.id,
            query = &*query,
            "slow query"
        );
    }

    /// Writes a record of a failure, if the server is its cause.
    pub fn failed(&self, failure: &Failure) {
        if failure.is_of_server() {
            tracing::error!(
                target: target::REQUEST,
                database = self.access.map(Access::database),
                request = %self.id,
                "a request failed: {}",
                failure.message
            );
        }
    }

    /// Writes that nobody knows whether a commit was written.
    pub fn unknown_outcome(&self, error: &Error) {
        tracing::error!(
            target: target::REQUEST,
            database = self.access.map(Access::database),
            request = %self.id,
            "it is not known whether a commit was written: {error}"
        );
    }

    /// Writes which request met the panic that this thread reported.
    pub fn defect(&self) {
        tracing::error!(
            target: target::DEFECT,
            user = self.access.and_then(Access::user),
            address = self.access.map(|access| display(access.address())),
            database = self.access.map(Access::database),
            request = %self.id,
            thread = thread::current().name().unwrap_or("?"),
            "a request failed because of the defect that this thread met before"
        );
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
