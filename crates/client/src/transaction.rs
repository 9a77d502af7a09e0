//! `Transaction`: queries that are committed together, in a session of a connection of their own.
//!
//! ```text
//! begin ──> query ... ──> commit    ──> durable, refused, or of unknown outcome
//!                     └─> rollback, or dropped
//! ```
//!
//! The session ends with its connection: a client that is gone has nothing open.

use crate::connection::RequestFailure;
use crate::interrupt::Interrupt;
use crate::pool::{Lease, Pool};
use crate::query::{Query, Within, options};
use crate::results::Results;
use crate::server_answer::{UnknownOutcome, error_of};
use crate::wait_limit::WaitLimit;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::transaction::TransactionOptions;
use evergraph_protocol::request::operation::Operation;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::read::Response;
use evergraph_protocol::response::status::Status;
use evergraph_query::gremlin::bindings::Bindings;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the server may take to say that a session is over. If it takes longer, the connection is closed.
const END_TIME: Duration = Duration::from_secs(5);
/// A query that does nothing but begin.
const NOTHING: &str = "g.inject()";

/// A transaction on the server. Dropped, it is rolled back.
#[derive(Debug)]
pub struct Transaction {
    lease: Lease,
    database: Option<String>,
    within: Within,
    deadline: Option<Instant>,
    interrupt: Interrupt,
    /// Whether the server may know of it.
    is_open: bool,
}

/// What a commit did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RemoteCommit {
    /// Edges that have another id than the transaction showed: both ids, as Gremlin has them.
    pub renamed_edges: Vec<(String, String)>,
}

impl Transaction {
    /// A transaction that begins with its first query.
    pub(crate) fn new(
        pool: &Arc<Pool>,
        options: TransactionOptions,
        deadline: Option<Instant>,
        interrupt: Interrupt,
    ) -> Result<Self> {
        let lease = pool.take(&WaitLimit::new(&interrupt).until(deadline))?;
        let session = crate::connection::random_id()?.to_string().into();
        Ok(Self {
            lease,
            database: pool.destination.url.database.clone(),
            within: Within { session, isolation: options.isolation },
            deadline,
            interrupt,
            is_open: false,
        })
    }

    /// Begins on the server now: reads show the graph of this moment.
    pub(crate) fn begin(mut self) -> Result<Self> {
        self.check()?;
        Ok(self)
    }

    /// Runs a query in it. A query that fails may have made some of its writes; the server then takes nothing but a
    /// rollback.
    ///
    /// # Errors
    /// As [`Results::next_frame`].
    pub fn query(&mut self, query: &Query) -> Result<Results<'_>> {
        self.is_open = true;
        let limit = query.limit().until(self.deadline);
        Results::within(self.lease.connection(), query, self.database.as_deref(), &self.within, limit)
    }

    /// What stops it, from now on: its connection is closed, which rolls it back.
    pub fn set_cancel(&mut self, interrupt: impl Into<Interrupt>) {
        self.interrupt = interrupt.into();
    }

    /// Asks the server whether it goes on.
    ///
    /// # Errors
    /// `invalid` if a query failed while writing in it, or it was open for too long: it was rolled back. `io` if the
    /// connection was lost.
    pub fn check(&mut self) -> Result<()> {
        let query = Query::text(NOTHING).cancel(&self.interrupt);
        while self.query(&query)?.next_frame()?.is_some() {}
        Ok(())
    }

    /// Commits. When it returns, the commit is durable as the server's database is set.
    ///
    /// # Errors
    /// `conflict`: another transaction was first, nothing was written. `invalid` if the transaction was rolled back before.
    /// If the connection was lost before the answer came, [`UnknownOutcome::is_of`] the error: it may have been written.
    pub fn commit(mut self) -> Result<RemoteCommit> {
        if !std::mem::replace(&mut self.is_open, false) {
            return Ok(RemoteCommit::default());
        }
        let limit = WaitLimit::new(&self.interrupt).until(self.deadline);
        if limit.check().is_err() {
            self.end();
            let (kind, why) = match self.interrupt.is_set() {
                true => (ErrorKind::Cancelled, "cancelled on request"),
                false => (ErrorKind::Limit, "the time of the transaction is over"),
            };
            return Err(Error::new(kind, format!("{why}: it was rolled back")));
        }
        // Its time does not count once the server has it.
        let limit = WaitLimit::new(&self.interrupt);
        let response = match self.ask(self.command("commit"), &limit) {
            Ok(response) => response,
            Err(RequestFailure::NotSent(error)) => {
                return Err(Error::new(error.kind(), format!("{error}; nothing was committed")));
            }
            Err(RequestFailure::Lost(error)) => {
                let what = "the commit was sent, and it is not known whether it was written";
                return Err(UnknownOutcome::of(&error, what));
            }
        };
        if !response.status().is_some_and(Status::is_success) {
            self.end();
            return Err(error_of(&response, None));
        }
        let renamed = response.attributes.get(Attributes::RENAMED_EDGES).and_then(|edges| edges.as_str());
        let pair =
            |line: &str| line.split_once(' ').map(|(before, after)| (before.to_owned(), after.to_owned()));
        Ok(RemoteCommit { renamed_edges: renamed.unwrap_or_default().lines().filter_map(pair).collect() })
    }

    /// Rolls back.
    pub fn roll_back(mut self) {
        self.is_open = false;
        self.end();
    }

    /// Ends the session, or else the connection, which ends it as well.
    fn end(&mut self) {
        let limit = WaitLimit::default().within(END_TIME);
        let operation = Operation::Close { session: self.within.session.clone() };
        let is_ended =
            self.ask(operation, &limit).is_ok_and(|answer| answer.status() == Some(Status::NoContent));
        if !is_ended {
            self.lease.connection().close();
        }
    }

    fn command(&self, name: &str) -> Operation {
        Operation::Eval {
            gremlin: format!("g.tx().{name}()").into(),
            language: Some("gremlin-lang".into()),
            bindings: Bindings::new(),
            options: options(self.database.as_deref(), Some(&self.within)),
        }
    }

    /// Sends a request, and returns its last answer.
    fn ask(
        &mut self,
        operation: Operation,
        limit: &WaitLimit,
    ) -> std::result::Result<Response, RequestFailure> {
        let connection = self.lease.connection();
        let id = connection.send(operation, limit)?;
        loop {
            let response = connection.receive(id, limit)?;
            if response.status().is_none_or(Status::is_final) {
                return Ok(response);
            }
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.is_open {
            // Nobody waits here: the server rolls it back when its connection ends.
            self.lease.connection().close();
        }
    }
}
