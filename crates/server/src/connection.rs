//! Connection: the requests and sessions of one client, without the network that carries them.
//!
//! ```text
//! message ──> Request ──┬─> a task                                    outside of sessions: several at once
//!                       └─> the session's queue ──> one task a time   in a session: in order
//! ```
//!
//! A session belongs to the connection that named it first, and ends with it. If there are users, nothing runs before one
//! has logged in.

use crate::answer::message::Reply;
use crate::client::Client;
use crate::connection_login::ConnectionLogin;
use crate::databases::name::DEFAULT_ALIAS;
use crate::databases::open_database::UsePurpose;
use crate::databases::served_database::ServedDatabase;
use crate::databases::target::ResolvedDatabase;
use crate::end_reason::EndReason;
use crate::failure::Failure;
use crate::message_meter::{MessageMeter, NO_ROOM, RequestPlace, Sender};
use crate::metrics::{RequestMeter, Transport};
use crate::outbox::{Frame, FrameKind, Outbox};
use crate::pending_request::{Binding, OrderedSession, PendingRequest, RunningRequest};
use crate::request_content::{RequestContent, query_timeout, read_request};
use crate::request_context::{Job, RequestContext, WriteRule};
use crate::request_task::RequestTask;
use crate::scheduler::TaskHandle;
use crate::security::access::Principal;
use crate::security::login_gate::{Admission, WaitingRequest};
use crate::security::quota::Quota;
use crate::server_core::ServerCore;
use crate::session::Session;
use crate::session_owners::Ownership;
use crate::turns::OwnerId;
use evergraph_graph::cancel::CancelFlag;
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::{Operation, Request};
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::frame::encode_response;
use evergraph_protocol::response::status::Status;
use evergraph_storage::planted::{Bug, planted};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use uuid::Uuid;

/// Sessions that a connection has at once. A driver opens a connection for each.
const SESSIONS_MAX: usize = 64;

/// The requests and sessions of one client.
///
/// Concurrency: one lock, held to enter or remove a request; nothing runs within it. Within it those of a session and
/// of the owners of sessions and of the log-in gate are taken. One task reads requests: it waits for [`Connection::may_read`], and takes those
/// that have waited for a log-in ([`Connection::next_released`]) before others.
pub struct Connection {
    core: Arc<ServerCore>,
    number: u64,
    client: Arc<Client>,
    outbox: Arc<Outbox>,
    login: Arc<ConnectionLogin>,
    state: Mutex<State>,
    end: watch::Sender<Option<EndReason>>,
}

struct State {
    requests: HashMap<u64, RunningRequest>,
    sessions: HashMap<Box<str>, OrderedSession>,
    /// When the client sent something last.
    last_used: Instant,
    is_closed: bool,
}

impl Connection {
    /// A connection of `client`, whose answers go to an outbox of its own.
    #[must_use]
    pub fn new(core: &Arc<ServerCore>, client: Arc<Client>) -> Arc<Self> {
        let number = core.next_number.fetch_add(1, Ordering::Relaxed);
        let outbox = Arc::new(Outbox::new(core.options.outbox_bytes_max));
        let login = ConnectionLogin::new(core, &client, &outbox);
        client.messages().begin(if login.gate().is_open() { Sender::Known } else { Sender::Stranger });
        let state = Mutex::new(State {
            requests: HashMap::new(),
            sessions: HashMap::new(),
            last_used: Instant::now(),
            is_closed: false,
        });
        let (end, _) = watch::channel(None);
        Arc::new(Self { core: Arc::clone(core), number, client, outbox, login, state, end })
    }

    /// Where its answers are.
    #[must_use]
    pub fn outbox(&self) -> &Arc<Outbox> {
        &self.outbox
    }

    /// What its messages take.
    #[must_use]
    pub fn messages(&self) -> &Arc<MessageMeter> {
        self.client.messages()
    }

    /// Requests that are not answered yet.
    #[must_use]
    pub fn requests_count(&self) -> usize {
        let state = self.state();
        state.requests.len() + state.sessions.values().map(|session| session.waiting.len()).sum::<usize>()
    }

    /// Notes that the client sent something.
    pub fn touch(&self) {
        self.state().last_used = Instant::now();
    }

    /// Waits until another request may be read: the client has read answers, those before are answered as far as they
    /// take much memory, and no log-in is being verified. One caller at a time.
    pub async fn may_read(&self) {
        self.login.gate().is_decided().await;
        self.messages().has_room().await;
        self.outbox.has_room_for_requests().await;
    }

    /// Whether its client has logged in, or need not: its requests run, and take places.
    #[must_use]
    pub fn is_logged_in(&self) -> bool {
        self.login.gate().is_open()
    }

    /// The next request that has waited for a log-in, before another one is read. Once those are answered that have waited
    /// for the last log-in that may fail, the connection ends.
    #[must_use]
    pub fn next_released(&self) -> Option<(WaitingRequest, Admission)> {
        let gate = self.login.gate();
        let next = gate.next_released();
        if next.is_none() && gate.is_refused() {
            self.end(EndReason::LoginFailed);
        }
        next
    }

    /// Takes a message. `place` is given back when its request is answered. It is `admitted` if it has waited for a log-in.
    pub fn receive(
        self: &Arc<Self>,
        message: &[u8],
        kind: FrameKind,
        place: RequestPlace,
        admitted: Option<Admission>,
    ) {
        if admitted.is_none() {
            self.touch();
        }
        let (format, read) = read_request(message, kind);
        let answered = match read {
            Ok(Request { id, operation: Operation::Authentication { sasl, mechanism } }) => {
                let reply = Reply { id, format, kind };
                let begun = self.login.authenticate(reply, &sasl, mechanism.as_deref());
                begun.map_err(|failure| (Some(id), failure))
            }
            Ok(Request { id, operation }) => {
                let reply = Reply { id, format, kind };
                let is_close = matches!(operation, Operation::Close { .. });
                let mut place = Some(place);
                let admission = admitted.unwrap_or_else(|| {
                    self.login.gate().admit(message.len(), || WaitingRequest {
                        message: message.to_vec(),
                        kind,
                        memory: place.take().expect("it is asked for once").message,
                    })
                });
                let answered = match admission {
                    Admission::Runs(login) => {
                        let principal = self.core.principal(self.client.address(), login);
                        self.accept(reply, operation, place, &principal)
                    }
                    Admission::AsksForLogin => {
                        self.outbox.push(reply.frame(Status::Authenticate, None, &Attributes::new()));
                        Ok(())
                    }
                    Admission::Waits => Ok(()),
                    Admission::Refused(_) if is_close => {
                        self.answer_close(reply);
                        Ok(())
                    }
                    Admission::Refused(why) => Err(Failure::unauthorized(why)),
                };
                answered.map_err(|failure| (Some(id), failure))
            }
            Err(error) => Err((error.id, Failure::from(error))),
        };
        if let Err((id, failure)) = answered {
            self.answer_failure(format, id, failure, kind);
        }
    }

    /// Answers a message that came when the server had begun to stop: nothing is done for it.
    pub fn refuse(&self, message: &[u8], kind: FrameKind) {
        let (format, read) = read_request(message, kind);
        if let Ok(Request { id, operation: Operation::Close { .. } }) = read {
            return self.answer_close(Reply { id, format, kind });
        }
        let id = read.map_or_else(|error| error.id, |request| Some(request.id));
        let failure =
            Failure::busy("the server stops, and nothing was done: run it again on another connection");
        self.answer_failure(format, id, failure, kind);
    }

    fn answer_failure(&self, format: Format, id: Option<Uuid>, failure: Failure, kind: FrameKind) {
        let Failure { status, message, attributes, .. } = failure;
        let bytes = encode_response(format, id, status, Some(&message), &attributes);
        self.outbox.push(Frame { bytes, kind });
    }

    /// Answers the close of a session that there is not, or not any more, as done. It is never an error: in a Node process
    /// nobody could catch it.
    fn answer_close(&self, reply: Reply) {
        self.outbox.push(reply.frame(Status::NoContent, None, &Attributes::new()));
    }

    /// Ends the connection once what is to be sent was sent.
    fn end(&self, reason: EndReason) {
        self.end.send_if_modified(|end| end.is_none() && end.replace(reason).is_none());
        self.outbox.finish();
    }

    /// Why the server ends the connection, if it does.
    #[must_use]
    pub fn end_reason(&self) -> Option<EndReason> {
        *self.end.borrow()
    }

    /// Why the server ends the connection, once it does.
    pub async fn ended(&self) -> EndReason {
        let mut end = self.end.subscribe();
        let ended = end.wait_for(Option::is_some).await.ok().and_then(|reason| *reason);
        ended.expect("the sender lives as long as the connection")
    }

    fn accept(
        self: &Arc<Self>,
        reply: Reply,
        operation: Operation,
        mut place: Option<RequestPlace>,
        principal: &Principal,
    ) -> Result<(), Failure> {
        // A close is no larger than its message.
        let bytes = operation.heap_bytes();
        if place.as_mut().is_some_and(|place| place.message.resize(bytes).is_err()) {
            return Err(Failure::busy(NO_ROOM));
        }
        let cancel = CancelFlag::default();
        let (job, session, alias) = match RequestContent::read(operation)? {
            RequestContent::Job { job, session, alias } => (job, session, alias),
            RequestContent::Close { session } => {
                // What waits in it is given up, as in Gremlin Server; unknown sessions are closed already.
                match self.binding_of(&session) {
                    Some(Binding { served, .. }) => {
                        let job = Job::RollBack;
                        let request = PendingRequest { reply, job, target: None, cancel, place, quota: None };
                        self.enter(request, Some((session, served)));
                    }
                    None => {
                        self.core.session_owners.forgive(&session);
                        self.answer_close(reply);
                    }
                }
                return Ok(());
            }
        };
        let quota = principal.user().map(|user| self.core.quotas.take(user, Quota::Requests)).transpose();
        let quota = quota.map_err(Failure::busy)?;
        let bound = session.as_deref().and_then(|session| self.binding_of(session));
        let resolved = match (&job, &bound, &alias) {
            // Whatever becomes of the database, and of the role on it.
            (Job::RollBack, Some(_), _) => None,
            (_, Some(Binding { served, .. }), None) => {
                let (served, access) = (Arc::clone(served), principal.on(served.name()));
                Some(ResolvedDatabase { served, access })
            }
            (_, _, alias) => {
                let alias = alias.as_deref().unwrap_or(DEFAULT_ALIAS);
                Some(ResolvedDatabase::of(&self.core.databases, principal, alias)?)
            }
        };
        if let (Some(bound), Some(resolved)) = (&bound, &resolved)
            && !bound.is_ending
            && !Arc::ptr_eq(&bound.served, &resolved.served)
            && !planted(Bug::SessionsChangeDatabase)
        {
            return Err(Failure::arguments(format!(
                "this session is one of the database {:?}, and a session has one: open another session",
                bound.served.name()
            )));
        }
        let served = resolved.as_ref().map(|resolved| Arc::clone(&resolved.served));
        let served = served.or_else(|| bound.map(|bound| bound.served));
        let target = match job {
            Job::RollBack => None,
            _ => resolved.map(|resolved| resolved.begin(cancel.clone())).transpose()?,
        };
        let session = session.zip(served);
        if let Some((id, served)) = &session {
            self.check_session_room(id, &job)?;
            if matches!(job, Job::RollBack) {
                self.core.session_owners.forgive(id);
            }
            self.own(id, served, principal)?;
        }
        self.enter(PendingRequest { reply, job, target, cancel, place, quota }, session);
        Ok(())
    }

    /// The database of a session of this connection.
    fn binding_of(&self, session: &str) -> Option<Binding> {
        let state = self.state();
        let ordered = state.sessions.get(session)?;
        Some(Binding { served: Arc::clone(&ordered.served), is_ending: ordered.is_ending })
    }

    /// Refuses a query in a further session if there are too many.
    fn check_session_room(&self, session: &str, job: &Job) -> Result<(), Failure> {
        let state = self.state();
        let is_full = state.sessions.len() >= SESSIONS_MAX && !state.sessions.contains_key(session);
        if !is_full || !matches!(job, Job::Query { .. }) || planted(Bug::SessionsUnlimited) {
            return Ok(());
        }
        Err(Failure::busy(format!(
            "this connection has {SESSIONS_MAX} sessions open, and nothing was done: commit, roll back or close one of them, or open \
             another connection"
        )))
    }

    /// Enters that the session is this connection's.
    fn own(&self, session: &str, served: &ServedDatabase, principal: &Principal) -> Result<(), Failure> {
        match self.core.session_owners.own(session, self.number) {
            Ownership::Own => Ok(()),
            Ownership::New => {
                principal.log_session("began", served.name(), session);
                Ok(())
            }
            Ownership::Another => {
                Err(Failure::arguments("this session belongs to another connection: open one of its own"))
            }
            Ownership::Lost => Err(Failure::busy(
                "the transaction of this session was rolled back, because its connection was lost or its time was over, and \
                 nothing of it was written: run it again, in another one",
            )),
        }
    }

    fn enter(self: &Arc<Self>, request: PendingRequest, session: Option<(Box<str>, Arc<ServedDatabase>)>) {
        let Some((id, served)) = session else {
            self.start(request, None);
            return;
        };
        let session = {
            let mut state = self.state();
            let ordered = state.sessions.entry(id.clone()).or_insert_with(|| OrderedSession {
                session: Arc::default(),
                served: Arc::clone(&served),
                is_ending: false,
                waiting: VecDeque::new(),
                is_busy: false,
            });
            ordered.served = served;
            ordered.is_ending = !matches!(request.job, Job::Query { .. });
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
            let name = Arc::clone(ordered.served.name());
            ordered.is_busy = next.is_some();
            if next.is_none() && session.is_unused() {
                state.sessions.remove(id);
                self.core.session_owners.end(id);
                self.login.principal().log_session("ended", &name, id);
            }
            next
        };
        if let Some(request) = next {
            self.start(request, Some((id.into(), Arc::clone(session))));
        }
    }

    fn start(self: &Arc<Self>, request: PendingRequest, session: Option<(Box<str>, Arc<Session>)>) {
        let number = self.core.next_number.fetch_add(1, Ordering::Relaxed);
        let PendingRequest { reply, job, target, cancel, place, quota } = request;
        let database_use = target.as_ref().map(|target| target.database.handle());
        let query = target.as_ref().map(|target| {
            let (text, access) = (job.running_text(), target.access.clone());
            let query = self.core.queries.enter(text, access, Some(reply.id), cancel.clone());
            target.database.note_purpose(UsePurpose::Query(query.id()));
            query
        });
        let deadline = Instant::now().checked_add(self.timeout(&job));
        let connection: Weak<Self> = Arc::downgrade(self);
        let own_session = session.as_ref().map(|(_, session)| Arc::clone(session));
        let done = move || {
            if let Some(connection) = connection.upgrade() {
                connection.finish(number, session.as_ref());
            }
        };
        let context = RequestContext {
            id: reply.id,
            target,
            query,
            quota,
            options: self.core.options,
            outbox: Arc::clone(&self.outbox),
            cancel: cancel.clone(),
            deadline,
            write_rule: WriteRule::ByRole,
            meter: RequestMeter::new(&self.core.metrics, Transport::WebSocket),
            done: Arc::new(done),
        };
        let work = RequestTask::new(context, Box::new(reply), job, own_session);
        let task = self.core.scheduler.create(OwnerId(self.number), Box::new(work));
        {
            let mut state = self.state();
            if state.is_closed {
                // Outside of the lock, since its end is told here.
                drop(state);
                return drop(task);
            }
            let running = RunningRequest { task: task.clone(), cancel, deadline, _place: place };
            state.requests.insert(number, running);
        }
        if let Some(database_use) = database_use {
            let connection: Weak<Self> = Arc::downgrade(self);
            database_use.on_interrupt(move || {
                if let Some(connection) = connection.upgrade() {
                    connection.wake(number);
                }
            });
        }
        task.wake();
    }

    /// Wakes a request that may wait for its client.
    fn wake(&self, number: u64) {
        let task = self.state().requests.get(&number).map(|request| request.task.clone());
        if let Some(task) = task {
            task.wake();
        }
    }

    /// The time of a request: its own, below the server's.
    fn timeout(&self, job: &Job) -> Duration {
        match job {
            Job::Query { options, .. } => query_timeout(&self.core.options, options),
            _ => self.core.options.query_timeout,
        }
    }

    fn finish(self: &Arc<Self>, number: u64, session: Option<&(Box<str>, Arc<Session>)>) {
        let finished = {
            let mut state = self.state();
            // The client has had nothing to say until now.
            state.last_used = Instant::now();
            state.requests.remove(&number)
        };
        drop(finished);
        if let Some((id, session)) = session {
            self.start_next(id, session);
        }
    }

    /// Ends what has reached its time: requests whose client does not read, transactions that are idle or old, sessions
    /// whose client does not roll back what was broken off.
    pub fn sweep(&self) {
        let now = Instant::now();
        let (late, sessions, idle_time) = {
            let state = self.state();
            let is_idle = state.requests.is_empty() && !self.login.gate().is_verifying();
            let idle_time = is_idle.then(|| now.saturating_duration_since(state.last_used));
            let late =
                state.requests.values().filter(|request| request.deadline.is_some_and(|end| end <= now));
            let late: Vec<TaskHandle> = late.map(|request| request.task.clone()).collect();
            let sessions: Vec<(Arc<Session>, bool)> = state
                .sessions
                .values()
                .map(|ordered| (Arc::clone(&ordered.session), ordered.is_busy))
                .collect();
            (late, sessions, idle_time)
        };
        late.iter().for_each(TaskHandle::wake);
        let options = &self.core.options;
        let gate = self.login.gate();
        let idle_max = if gate.is_open() { options.idle_max } else { options.login_idle_max };
        if idle_time.is_some_and(|time| time >= idle_max) || gate.is_overdue(options.login_idle_max) {
            self.end(EndReason::Idle);
        }
        if self.client.messages().is_overdue(options.body_time_max) {
            self.end(EndReason::EndlessMessage);
        }
        if gate.login().is_some() && self.login.principal().has_ended() {
            self.end(EndReason::LoginEnded);
        }
        self.lose_abandoned_sessions();
        for (session, is_busy) in sessions {
            let overdue =
                session.overdue(is_busy, options.transaction_idle_max, options.transaction_time_max);
            if let Some(why) = overdue {
                session.break_off(&why);
            }
        }
    }

    /// Forgets sessions whose transaction was broken off for so long that its client may never ask for it again. If it does,
    /// it reads that nothing was written.
    fn lose_abandoned_sessions(&self) {
        let time = self.core.options.transaction_time_max;
        let abandoned: Vec<_> = {
            let mut state = self.state();
            let abandoned = state
                .sessions
                .extract_if(|_, ordered| !ordered.is_busy && ordered.session.is_abandoned(time));
            abandoned.map(|(id, ordered)| (id, Arc::clone(ordered.served.name()))).collect()
        };
        for (id, name) in abandoned {
            self.core.session_owners.lose(&id);
            self.login.principal().log_session("ended", &name, &id);
        }
    }

    /// Cancels all requests and rolls back all sessions: the client is gone, or the server stops.
    pub fn close(&self) {
        if planted(Bug::GoneClientsUnnoticed) {
            return;
        }
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
        self.login.end();
        let principal = self.login.principal();
        for (id, ordered) in sessions {
            // Whether a commit that runs succeeds, nobody knows yet.
            match ordered.is_ending {
                true => self.core.session_owners.end(&id),
                false => self.core.session_owners.lose(&id),
            }
            ordered.session.roll_back();
            principal.log_session("ended", ordered.served.name(), &id);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
