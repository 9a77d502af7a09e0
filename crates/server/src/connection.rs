//! Connection: the requests and sessions of one client, without the network that carries them.
//!
//! ```text
//! message ──> Request ──┬─> a task                                    outside of sessions: several at once
//!                       └─> the session's queue ──> one task a time   in a session: in order
//! ```
//!
//! A session belongs to the connection that named it first, and ends with it.

use crate::failure::Failure;
use crate::options::ServerOptions;
use crate::outbox::{Frame, FrameKind, Outbox};
use crate::request_task::{Job, QueryText, Reply, RequestContext, RequestTask};
use crate::scheduler::{OwnerId, Scheduler, TaskHandle};
use crate::session::Session;
use evergraph::Database;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::nearest::did_you_mean;
use evergraph_protocol::format::Format;
use evergraph_protocol::request::error::RequestError;
use evergraph_protocol::request::operation::{Operation, QueryOptions, Request};
use evergraph_protocol::request::read::RequestLimits;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::frame::encode_response;
use evergraph_protocol::response::status::Status;
use evergraph_query::gremlin::bytecode::Bytecode;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;

/// Languages that `eval` may name: all of them are read as Gremlin.
const LANGUAGES: [&str; 3] = ["gremlin-groovy", "gremlin-lang", "gremlin"];

/// What all connections share.
pub struct ServerCore {
    /// The database.
    pub database: Arc<Database>,
    /// Its name in aliases.
    pub name: Box<str>,
    /// Limits.
    pub options: ServerOptions,
    /// Who runs requests.
    pub scheduler: Scheduler,
    /// Which connection a session belongs to.
    pub session_owners: Mutex<HashMap<Box<str>, u64>>,
    /// Numbers connections and requests.
    pub next_number: AtomicU64,
}

/// The requests and sessions of one client.
///
/// Concurrency: one lock, held to enter or remove a request; nothing runs within it. Within it those of a session and
/// of `session_owners` are taken.
pub struct Connection {
    core: Arc<ServerCore>,
    number: u64,
    outbox: Arc<Outbox>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    requests: HashMap<u64, RunningRequest>,
    sessions: HashMap<Box<str>, OrderedSession>,
    is_closed: bool,
}

/// A request that is not answered yet.
struct RunningRequest {
    task: TaskHandle,
    cancel: CancelFlag,
    deadline: Option<Instant>,
    _permit: Option<OwnedSemaphorePermit>,
}

/// A session and the requests that wait for the one before.
#[derive(Default)]
struct OrderedSession {
    session: Arc<Session>,
    waiting: VecDeque<PendingRequest>,
    is_busy: bool,
}

/// A request that has not begun.
struct PendingRequest {
    reply: Reply,
    job: Job,
    permit: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// A connection whose answers go to an outbox of its own.
    #[must_use]
    pub fn new(core: &Arc<ServerCore>) -> Arc<Self> {
        let number = core.next_number.fetch_add(1, Ordering::Relaxed);
        let outbox = Arc::new(Outbox::new(core.options.outbox_bytes_max));
        Arc::new(Self { core: Arc::clone(core), number, outbox, state: Mutex::default() })
    }

    /// Where its answers are.
    #[must_use]
    pub fn outbox(&self) -> &Arc<Outbox> {
        &self.outbox
    }

    /// Requests that are not answered yet.
    #[must_use]
    pub fn requests_count(&self) -> usize {
        let state = self.state();
        state.requests.len() + state.sessions.values().map(|session| session.waiting.len()).sum::<usize>()
    }

    /// Takes a message. `permit` is given back when its request is answered.
    pub fn receive(self: &Arc<Self>, message: &[u8], kind: FrameKind, permit: Option<OwnedSemaphorePermit>) {
        let limits = RequestLimits::default();
        let (format, read) = match kind {
            FrameKind::Text => (Format::GraphSon, Request::read(Format::GraphSon, message, &limits)),
            FrameKind::Binary => match Format::split(message) {
                Ok((format, body)) => (format, Request::read(format, body, &limits)),
                Err(error) => (Format::GraphBinary, Err(RequestError::malformed(None, &error))),
            },
        };
        let answered = match read {
            Ok(request) => {
                let reply = Reply { id: request.id, format, kind };
                self.accept(reply, request.operation, permit).map_err(|failure| (Some(reply.id), failure))
            }
            Err(error) => Err((error.id, Failure::from(error))),
        };
        if let Err((id, failure)) = answered {
            let Failure { status, message, attributes } = failure;
            let bytes = encode_response(format, id, status, Some(&message), &attributes);
            self.outbox.push(Frame { bytes, kind });
        }
    }

    fn accept(
        self: &Arc<Self>,
        reply: Reply,
        operation: Operation,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Result<(), Failure> {
        let (query, options) = match operation {
            Operation::Bytecode { bytecode, options } => (QueryText::Bytecode(bytecode), options),
            Operation::Eval { gremlin, language, bindings, options } => {
                if let Some(language) = language.filter(|language| !LANGUAGES.contains(&&**language)) {
                    return Err(Failure::arguments(format!(
                        "the argument `language`: this server reads gremlin-groovy, as Gremlin; found {language:?}"
                    )));
                }
                (QueryText::Text(gremlin, bindings), options)
            }
            Operation::Authentication { .. } => {
                return Err(Failure::arguments(
                    "this server has no users yet: connect without user and password",
                ));
            }
            Operation::Close { session } => {
                // What waits in it is given up, as in Gremlin Server; unknown sessions are closed already.
                let is_known = self.state().sessions.contains_key(&session);
                if is_known {
                    self.enter(PendingRequest { reply, job: Job::RollBack, permit }, Some(session));
                } else {
                    self.outbox.push(reply.frame(Status::NoContent, None, &Attributes::new()));
                }
                return Ok(());
            }
        };
        self.check_aliases(&options)?;
        let session = options.session.as_ref().map(|session| session.id.clone());
        let job = match transaction_operation(&query) {
            Some(TransactionOperation::Commit) => Job::Commit,
            Some(TransactionOperation::RollBack) => Job::RollBack,
            None => Job::Query { query, options },
        };
        if session.is_none() && !matches!(job, Job::Query { .. }) {
            return Err(Failure::arguments(
                "there is no transaction to commit or roll back outside of a session: each request is one of its own",
            ));
        }
        if let Some(id) = &session {
            self.own(id)?;
        }
        self.enter(PendingRequest { reply, job, permit }, session);
        Ok(())
    }

    fn check_aliases(&self, options: &QueryOptions) -> Result<(), Failure> {
        let name = &*self.core.name;
        let long_name = format!("g_{name}");
        for alias in &options.aliases {
            let known = ["g", name, &long_name];
            if &*alias.alias != "g" || !known.contains(&&*alias.name) {
                let guess = did_you_mean(&alias.name, known);
                return Err(Failure::arguments(format!(
                    "the argument `aliases`: `g` as a name of `g` or {name:?} expected, found {:?} as a name of \
                     {:?}{guess}",
                    alias.alias, alias.name
                )));
            }
        }
        Ok(())
    }

    /// Enters that the session is this connection's.
    fn own(&self, session: &str) -> Result<(), Failure> {
        let mut owners = self.core.session_owners.lock().unwrap_or_else(PoisonError::into_inner);
        match owners.get(session) {
            Some(owner) if *owner != self.number => {
                Err(Failure::arguments("this session belongs to another connection: open one of its own"))
            }
            Some(_) => Ok(()),
            None => {
                owners.insert(session.into(), self.number);
                Ok(())
            }
        }
    }

    fn enter(self: &Arc<Self>, request: PendingRequest, session: Option<Box<str>>) {
        let Some(id) = session else {
            self.start(request, None);
            return;
        };
        let session = {
            let mut state = self.state();
            let ordered = state.sessions.entry(id.clone()).or_default();
            ordered.waiting.push_back(request);
            if std::mem::replace(&mut ordered.is_busy, true) {
                return;
            }
            Arc::clone(&ordered.session)
        };
        self.start_next(&id, &session);
    }

    /// Starts the next request of a session, or notes that there is none.
    fn start_next(self: &Arc<Self>, id: &str, session: &Arc<Session>) {
        let next = {
            let mut state = self.state();
            let Some(ordered) = state.sessions.get_mut(id) else { return };
            let next = ordered.waiting.pop_front();
            ordered.is_busy = next.is_some();
            if next.is_none() && session.is_unused() {
                state.sessions.remove(id);
                let mut owners = self.core.session_owners.lock().unwrap_or_else(PoisonError::into_inner);
                owners.remove(id);
            }
            next
        };
        if let Some(request) = next {
            self.start(request, Some((id.into(), Arc::clone(session))));
        }
    }

    fn start(self: &Arc<Self>, request: PendingRequest, session: Option<(Box<str>, Arc<Session>)>) {
        let number = self.core.next_number.fetch_add(1, Ordering::Relaxed);
        let PendingRequest { reply, job, permit } = request;
        let cancel = CancelFlag::default();
        let deadline = Instant::now().checked_add(self.timeout(&job));
        let connection: Weak<Self> = Arc::downgrade(self);
        let own_session = session.as_ref().map(|(_, session)| Arc::clone(session));
        let done = move || {
            if let Some(connection) = connection.upgrade() {
                connection.finish(number, session.as_ref());
            }
        };
        let context = RequestContext {
            database: Arc::clone(&self.core.database),
            options: self.core.options,
            outbox: Arc::clone(&self.outbox),
            cancel: cancel.clone(),
            deadline,
            done: Arc::new(done),
        };
        let work = RequestTask::new(context, reply, job, own_session);
        let task = self.core.scheduler.create(OwnerId(self.number), Box::new(work));
        {
            let mut state = self.state();
            if state.is_closed {
                // Outside of the lock, since its end is told here.
                drop(state);
                return drop(task);
            }
            let running = RunningRequest { task: task.clone(), cancel, deadline, _permit: permit };
            state.requests.insert(number, running);
        }
        task.wake();
    }

    /// The time of a request: its own, below the server's.
    fn timeout(&self, job: &Job) -> Duration {
        let limit = self.core.options.query_timeout;
        match job {
            Job::Query { options, .. } => match options.evaluation_timeout_ms {
                None | Some(0) => limit,
                Some(milliseconds) => Duration::from_millis(milliseconds).min(limit),
            },
            _ => limit,
        }
    }

    fn finish(self: &Arc<Self>, number: u64, session: Option<&(Box<str>, Arc<Session>)>) {
        let finished = self.state().requests.remove(&number);
        drop(finished);
        if let Some((id, session)) = session {
            self.start_next(id, session);
        }
    }

    /// Ends what has reached its time: requests whose client does not read, transactions that are idle or old.
    pub fn sweep(&self) {
        let now = Instant::now();
        let (late, sessions) = {
            let state = self.state();
            let late =
                state.requests.values().filter(|request| request.deadline.is_some_and(|end| end <= now));
            let late: Vec<TaskHandle> = late.map(|request| request.task.clone()).collect();
            let sessions: Vec<(Arc<Session>, bool)> = state
                .sessions
                .values()
                .map(|ordered| (Arc::clone(&ordered.session), ordered.is_busy))
                .collect();
            (late, sessions)
        };
        late.iter().for_each(TaskHandle::wake);
        let options = &self.core.options;
        for (session, is_busy) in sessions {
            let overdue =
                session.overdue(is_busy, options.transaction_idle_max, options.transaction_time_max);
            if let Some(why) = overdue {
                session.break_off(&why);
            }
        }
    }

    /// Cancels all requests and rolls back all sessions: the client is gone, or the server stops.
    pub fn close(&self) {
        self.outbox.close();
        let (requests, sessions) = {
            let mut state = self.state();
            state.is_closed = true;
            let requests: Vec<(TaskHandle, CancelFlag)> = state
                .requests
                .values()
                .map(|request| (request.task.clone(), request.cancel.clone()))
                .collect();
            (requests, std::mem::take(&mut state.sessions))
        };
        for (task, cancel) in requests {
            cancel.cancel();
            task.wake();
        }
        {
            let mut owners = self.core.session_owners.lock().unwrap_or_else(PoisonError::into_inner);
            owners.retain(|id, _| !sessions.contains_key(id));
        }
        for ordered in sessions.into_values() {
            ordered.session.roll_back();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a request does to the transaction of its session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TransactionOperation {
    Commit,
    RollBack,
}

fn transaction_operation(query: &QueryText) -> Option<TransactionOperation> {
    let name = match query {
        QueryText::Bytecode(bytecode) => transaction_call(bytecode)?,
        QueryText::Text(text, _) => {
            text.trim().trim_end_matches(';').strip_prefix("g.tx().")?.strip_suffix("()")?
        }
    };
    match name {
        "commit" => Some(TransactionOperation::Commit),
        "rollback" => Some(TransactionOperation::RollBack),
        _ => None,
    }
}

/// `NAME` of the bytecode `g.tx().NAME()`.
fn transaction_call(bytecode: &Bytecode) -> Option<&str> {
    match bytecode.instructions() {
        ([tx, operation], []) if &*tx.name == "tx" && operation.arguments.is_empty() => Some(&operation.name),
        _ => None,
    }
}
