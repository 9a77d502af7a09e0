//! Pending request: a request of a connection from its arrival to its answer, and the session in which it waits.

use crate::answer::message::Reply;
use crate::databases::served_database::ServedDatabase;
use crate::databases::target::RequestTarget;
use crate::message_meter::RequestPlace;
use crate::request_context::Job;
use crate::scheduler::TaskHandle;
use crate::security::quota::QuotaGuard;
use crate::session::Session;
use evergraph_graph::cancel::CancelFlag;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// A request that is not answered yet.
pub(crate) struct RunningRequest {
    pub(crate) task: TaskHandle,
    pub(crate) cancel: CancelFlag,
    pub(crate) deadline: Option<Instant>,
    /// Its place among the requests of its connection.
    pub(crate) _place: Option<RequestPlace>,
}

/// A session and the requests that wait for the one before.
pub(crate) struct OrderedSession {
    pub(crate) session: Arc<Session>,
    /// The database of the first request of its transaction, which the others are for.
    pub(crate) served: Arc<ServedDatabase>,
    /// Whether its last request ends the transaction: the next one begins another, perhaps in another database.
    pub(crate) is_ending: bool,
    pub(crate) waiting: VecDeque<PendingRequest>,
    pub(crate) is_busy: bool,
}

/// Which database a session is of.
pub(crate) struct Binding {
    pub(crate) served: Arc<ServedDatabase>,
    pub(crate) is_ending: bool,
}

/// A request that has not begun.
pub(crate) struct PendingRequest {
    pub(crate) reply: Reply,
    pub(crate) job: Job,
    /// `None` for a rollback, which is possible whatever becomes of the database.
    pub(crate) target: Option<RequestTarget>,
    pub(crate) cancel: CancelFlag,
    pub(crate) place: Option<RequestPlace>,
    /// Its place among the requests of its user; a close takes none, since all may be taken.
    pub(crate) quota: Option<QuotaGuard>,
}
