//! Request context: what a request is to do, and what it needs of the server for that.

use crate::databases::target::RequestTarget;
use crate::metrics::RequestMeter;
use crate::options::ServerOptions;
use crate::outbox::Outbox;
use crate::query_registry::{QueryGuard, RunningText};
use crate::security::quota::QuotaGuard;
use evergraph_graph::cancel::CancelFlag;
use evergraph_protocol::request::operation::QueryOptions;
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::bytecode::Bytecode;
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

/// What is to be done.
pub enum Job {
    /// Run a query.
    Query {
        /// What it says.
        query: QueryText,
        /// Where and how it runs.
        options: QueryOptions,
    },
    /// Commit the transaction of the session.
    Commit,
    /// Roll it back.
    RollBack,
}

impl Job {
    /// What it does, in metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Query { .. } => "query",
            Self::Commit => "commit",
            Self::RollBack => "rollback",
        }
    }

    /// What it runs, for lists.
    #[must_use]
    pub fn running_text(&self) -> RunningText {
        match self {
            Self::Query { query: QueryText::Text(text, _), .. } => RunningText::Text(Arc::clone(text)),
            Self::Query { query: QueryText::Bytecode(bytecode), .. } => {
                RunningText::Bytecode(Arc::clone(bytecode))
            }
            Self::Commit => RunningText::Other("g.tx().commit()"),
            Self::RollBack => RunningText::Other("g.tx().rollback()"),
        }
    }
}

/// A query as a client said it.
pub enum QueryText {
    /// A text and its variables.
    Text(Arc<str>, Bindings),
    /// Bytecode.
    Bytecode(Arc<Bytecode>),
}

/// What a request needs of the server and of its connection.
pub struct RequestContext {
    /// The request's id.
    pub id: Uuid,
    /// The database and what its user may do there; `None` for a rollback.
    pub target: Option<RequestTarget>,
    /// Its entry among the requests that run; `None` for a rollback.
    pub query: Option<QueryGuard>,
    /// Its place among the requests of its user, given back before the last of its answer is sent: who has read that may ask again.
    pub quota: Option<QuotaGuard>,
    /// Limits.
    pub options: ServerOptions,
    /// Where answers go.
    pub outbox: Arc<Outbox>,
    /// Stops it.
    pub cancel: CancelFlag,
    /// When its time is over.
    pub deadline: Option<Instant>,
    /// What the way that it came allows, whoever its user is.
    pub write_rule: WriteRule,
    /// Measures it.
    pub meter: RequestMeter,
    /// Called when it is answered, or given up.
    pub done: Arc<dyn Fn() + Send + Sync>,
}

/// Whether a request may write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteRule {
    /// If its user may.
    ByRole,
    /// Never: it came by a method of HTTP that is safe, which any link can make a browser send.
    Never,
}
