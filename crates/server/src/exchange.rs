//! Exchange: one request by HTTP and its answer, without the network that carries them.
//!
//! ```text
//! query ──> task ──> outbox of its own ──> body of the response
//!             ^                                │
//!             └──── cancelled when its reader is gone
//! ```
//!
//! HTTP has no sessions: a request is a transaction of its own.

use crate::algorithm::call::AlgorithmCall;
use crate::algorithm::rows::RowFormat;
use crate::algorithm::task::AlgorithmTask;
use crate::answer::format::AnswerFormat;
use crate::databases::name::DEFAULT_ALIAS;
use crate::databases::open_database::UsePurpose;
use crate::databases::target::ResolvedDatabase;
use crate::failure::Failure;
use crate::message_meter::{HeldRoom, NO_ROOM};
use crate::metrics::{RequestMeter, Transport};
use crate::outbox::Outbox;
use crate::query_registry::RunningText;
use crate::request_content::{RequestContent, query_timeout};
use crate::request_context::{Job, RequestContext, WriteRule};
use crate::request_task::RequestTask;
use crate::scheduler::{TaskHandle, Work};
use crate::security::access::Principal;
use crate::security::quota::{Quota, QuotaGuard};
use crate::server_core::ServerCore;
use crate::turns::OwnerId;
use evergraph_graph::cancel::CancelFlag;
use evergraph_protocol::request::operation::Request;
use evergraph_storage::planted::{Bug, planted};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use uuid::{Builder, Uuid};

/// One request by HTTP.
///
/// Concurrency: one lock, held for a moment; nothing runs within it.
pub struct Exchange {
    outbox: Arc<Outbox>,
    principal: Principal,
    cancel: CancelFlag,
    deadline: Option<Instant>,
    running: Mutex<Option<Running>>,
    /// Whether nobody reads its answer any more. Relaxed: it publishes nothing.
    is_abandoned: AtomicBool,
}

/// What there is until a request is answered.
struct Running {
    task: TaskHandle,
    /// What it takes, decoded.
    _room: Option<HeldRoom>,
}

/// What is agreed about a request before it begins.
struct ExchangeTerms<'a> {
    id: Uuid,
    /// What runs, for lists.
    text: RunningText,
    /// The database, as its client calls it.
    alias: &'a str,
    time_max: Duration,
    write_rule: WriteRule,
    quota: Option<QuotaGuard>,
    room: Option<HeldRoom>,
}

impl Exchange {
    /// Starts the query that `operation` asks for.
    ///
    /// # Errors
    /// What is wrong with its arguments; 403 without a role on the database that it names; `busy` if that is not open, or if
    /// its user has too many requests, or requests take too much memory.
    pub fn start(
        core: &ServerCore,
        principal: Principal,
        Request { id, operation }: Request,
        answer: Box<dyn AnswerFormat>,
        write_rule: WriteRule,
    ) -> Result<Arc<Self>, Failure> {
        let quota = principal.user().map(|user| core.quotas.take(user, Quota::Requests)).transpose();
        let quota = quota.map_err(Failure::busy)?;
        let room = core.messages.hold(operation.heap_bytes()).ok_or_else(|| Failure::busy(NO_ROOM))?;
        let (query, options, alias) = match RequestContent::read(operation)? {
            RequestContent::Job { job: Job::Query { query, options }, session: None, alias } => {
                (query, options, alias)
            }
            _ => return Err(Failure::arguments("HTTP has neither sessions nor requests to log in")),
        };
        if options.vertex_keys {
            let text = "the argument `vertexKeys`: keys of vertices come with frames, of a WebSocket";
            return Err(Failure::arguments(text));
        }
        let time_max = query_timeout(&core.options, &options);
        let job = Job::Query { query, options };
        let terms = ExchangeTerms {
            id,
            text: job.running_text(),
            alias: alias.as_deref().unwrap_or(DEFAULT_ALIAS),
            time_max,
            write_rule,
            quota,
            room: Some(room),
        };
        Self::launch(core, principal, terms, |context| Box::new(RequestTask::new(context, answer, job, None)))
    }

    /// Starts the algorithm `call` on the database `name`. Its user's quota is counted by whoever calls this.
    ///
    /// # Errors
    /// 403 without a role on the database; 499 for an unknown one; `busy` if it is not open; `io` if the system has no random
    /// bytes.
    pub fn start_algorithm(
        core: &ServerCore,
        principal: Principal,
        name: &str,
        call: AlgorithmCall,
        format: RowFormat,
    ) -> Result<Arc<Self>, Failure> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|_| Failure::internal())?;
        let terms = ExchangeTerms {
            id: Builder::from_random_bytes(bytes).into_uuid(),
            text: RunningText::Other(call.algorithm.name),
            alias: name,
            time_max: core.options.query_timeout,
            write_rule: WriteRule::Never,
            quota: None,
            room: None,
        };
        let threads = Arc::clone(&core.algorithm_threads);
        Self::launch(core, principal, terms, |context| {
            Box::new(AlgorithmTask::new(context, call, format, threads))
        })
    }

    fn launch(
        core: &ServerCore,
        principal: Principal,
        ExchangeTerms { id, text, alias, time_max, write_rule, quota, room }: ExchangeTerms<'_>,
        make: impl FnOnce(RequestContext) -> Box<dyn Work>,
    ) -> Result<Arc<Self>, Failure> {
        let cancel = CancelFlag::default();
        let target = ResolvedDatabase::of(&core.databases, &principal, alias)?.begin(cancel.clone())?;
        let database_use = target.database.handle();
        let entry = core.queries.enter(text, target.access.clone(), Some(id), cancel.clone());
        target.database.note_purpose(UsePurpose::Query(entry.id()));
        let deadline = Instant::now().checked_add(time_max);
        let exchange = Arc::new(Self {
            outbox: Arc::new(Outbox::new(core.options.outbox_bytes_max)),
            principal,
            cancel: cancel.clone(),
            deadline,
            running: Mutex::new(None),
            is_abandoned: AtomicBool::new(false),
        });
        let own: Weak<Self> = Arc::downgrade(&exchange);
        let done = move || {
            if let Some(exchange) = own.upgrade() {
                let finished = exchange.running().take();
                drop(finished);
            }
        };
        let work = make(RequestContext {
            id,
            target: Some(target),
            query: Some(entry),
            quota,
            options: core.options,
            outbox: Arc::clone(&exchange.outbox),
            cancel,
            deadline,
            write_rule,
            meter: RequestMeter::new(&core.metrics, Transport::Http),
            done: Arc::new(done),
        });
        let number = core.next_number.fetch_add(1, Ordering::Relaxed);
        let task = core.scheduler.create(OwnerId(number), work);
        *exchange.running() = Some(Running { task: task.clone(), _room: room });
        let own: Weak<Self> = Arc::downgrade(&exchange);
        database_use.on_interrupt(move || {
            if let Some(exchange) = own.upgrade() {
                exchange.wake();
            }
        });
        task.wake();
        Ok(exchange)
    }

    /// Where its answer is.
    #[must_use]
    pub fn outbox(&self) -> &Arc<Outbox> {
        &self.outbox
    }

    /// Whether it is answered, and the answer was taken.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.running().is_none() && self.outbox.is_empty()
    }

    /// Ends it if its time is over, or its user is gone.
    pub fn sweep(&self) {
        if self.principal.has_ended() {
            self.close();
        }
        let is_late = self.deadline.is_some_and(|deadline| deadline <= Instant::now());
        if is_late {
            self.wake();
        }
    }

    /// Cancels it: nobody reads its answer.
    pub fn close(&self) {
        if planted(Bug::QueriesOutliveClients) {
            return;
        }
        self.outbox.close();
        self.cancel.cancel();
        self.wake();
    }

    fn wake(&self) {
        let task = self.running().as_ref().map(|running| running.task.clone());
        if let Some(task) = task {
            task.wake();
        }
    }

    /// Whether its query has ended, and nobody reads its answer.
    fn is_over(&self) -> bool {
        self.is_abandoned.load(Ordering::Relaxed) && self.running().is_none()
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The requests by HTTP that are not answered yet, those included whose query has not noticed that its client is gone.
#[derive(Default)]
pub struct Exchanges(Mutex<HashMap<usize, Arc<Exchange>>>);

impl Exchanges {
    /// Enters `exchange`; when what this returns is dropped, it is cancelled.
    #[must_use]
    pub fn enter(self: &Arc<Self>, exchange: Arc<Exchange>) -> ExchangeGuard {
        self.all().insert(Arc::as_ptr(&exchange) as usize, Arc::clone(&exchange));
        ExchangeGuard { all: Arc::clone(self), exchange }
    }

    /// Ends those whose time is over, and forgets those that have ended.
    pub fn sweep(&self) {
        self.list().iter().for_each(|exchange| exchange.sweep());
        self.all().retain(|_, exchange| !exchange.is_over());
    }

    /// Those that there are now.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<Exchange>> {
        self.all().values().cloned().collect()
    }

    /// Those whose query runs, or whose answer is not sent.
    #[must_use]
    pub fn unfinished_count(&self) -> usize {
        self.list().iter().filter(|exchange| !exchange.is_done()).count()
    }

    fn all(&self) -> MutexGuard<'_, HashMap<usize, Arc<Exchange>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request by HTTP whose answer somebody reads.
pub struct ExchangeGuard {
    all: Arc<Exchanges>,
    exchange: Arc<Exchange>,
}

impl ExchangeGuard {
    /// The request.
    #[must_use]
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }
}

impl Drop for ExchangeGuard {
    fn drop(&mut self) {
        self.exchange.is_abandoned.store(true, Ordering::Relaxed);
        self.exchange.close();
        if self.exchange.is_over() {
            self.all.all().remove(&(Arc::as_ptr(&self.exchange) as usize));
        }
    }
}
