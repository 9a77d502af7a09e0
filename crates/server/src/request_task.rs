//! Request task: a request on its way to its answer, as a state machine that runs in slices.
//!
//! ```text
//!        ┌──> Streaming ─────────────────────────────────────────> done   reads; queries of a session
//! Begun ─┼──> Collecting ──> Committing ──> Streaming ───────────> done   writes outside of sessions
//!        └──> Committing ────────────────────────────────────────> done   commit of a session
//! ```
//!
//! It waits without a thread in two places: for its client to read, and for the disk. Results of a write outside of a
//! session are sent once their commit is durable, so that what a client has seen is never taken back.

use crate::answer::format::{AnswerEncoder, AnswerFormat, EncoderPurpose, ResultOptions};
use crate::answer::memory::{AnswerMemory, KeptBytes, KeptPurpose};
use crate::answer::meter::AnswerMeter;
use crate::answer_stream::{AnswerStream, StreamStep, try_out};
use crate::databases::target::RequestTarget;
use crate::failure::Failure;
use crate::outbox::Frame;
use crate::query_registry::QueryState;
use crate::request_context::{Job, QueryText, RequestContext, WriteRule};
use crate::request_log::{LoggedQuery, RequestLog, RequestUsage};
use crate::result_chunk::{ChunkDetail, RESULTS_MAX, ResultChunk, renamed_attribute};
use crate::scheduler::{Progress, Slice, TaskHandle, Work};
use crate::security::access::Access;
use crate::security::role::Role;
use crate::session::{QueryTerms, Session, chosen_isolation, refuse_files, transaction_options};
use evergraph::Database;
use evergraph::gremlin::elements::ElementDetail;
use evergraph::gremlin::graph::{SharedSnapshotTarget, Streams as _};
use evergraph::gremlin::note::Notes;
use evergraph::gremlin::query::{Limits, QuerySource};
use evergraph::gremlin::results::Results;
use evergraph::gremlin::task::Task;
use evergraph::shared_transaction::SharedTransaction;
use evergraph::transaction::Transaction;
use evergraph_graph::id::EdgeId;
use evergraph_graph::transaction::Committed;
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView as _;
use evergraph_protocol::request::operation::{MaterializeProperties, QueryOptions};
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::frame::ResultForm;
use evergraph_protocol::response::status::Status;
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_storage::planted::{Bug, planted};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What the results of a write are kept for.
const WRITTEN: KeptPurpose = KeptPurpose {
    name: "results of a write",
    results: "the results of a write are kept until it is committed",
    advice: "end it with discard() or count(), or write less at a time",
};

/// A request on its way to its answer.
pub struct RequestTask {
    context: RequestContext,
    answer: Box<dyn AnswerFormat>,
    job: Job,
    session: Option<Arc<Session>>,
    state: State,
    /// What its user may do, for the log: the target is given up before the request ends.
    access: Option<Access>,
    usage: RequestUsage,
    is_done: bool,
}

enum State {
    Begun,
    Streaming(Box<Streaming>),
    Collecting(Box<Collection>),
    Committing(Box<Commit>),
    Ended,
}

/// Results that are sent as they are found.
struct Streaming {
    stream: AnswerStream,
    /// Whether its query, of a session, writes: it breaks the transaction if it fails.
    writes: bool,
}

/// Results of a write, until it is committed.
struct Collection {
    transaction: SharedTransaction,
    results: Results<'static>,
    chunks: VecDeque<(ResultChunk, KeptBytes)>,
    memory: Arc<AnswerMemory>,
    /// Finds results that cannot be sent while nothing is committed yet, and holds the memory that their answer takes.
    trial: Box<dyn AnswerEncoder>,
    meter: AnswerMeter,
    stream: AnswerStream,
}

struct Commit {
    outcome: Arc<Mutex<Option<evergraph_graph::error::Result<Committed>>>>,
    /// What is sent when it is durable; `None` for a commit of a session.
    stream: Option<AnswerStream>,
    renamed: Vec<(EdgeId, EdgeId)>,
}

/// What a step led to.
enum Step {
    Continue,
    Wait,
    End,
}

impl RequestTask {
    /// A request that nothing was done for. `session` is the one that it runs in.
    #[must_use]
    pub fn new(
        context: RequestContext,
        answer: Box<dyn AnswerFormat>,
        job: Job,
        session: Option<Arc<Session>>,
    ) -> Self {
        let access = context.target.as_ref().map(|target| target.access.clone());
        let usage = RequestUsage::start();
        Self { context, answer, job, session, state: State::Begun, access, usage, is_done: false }
    }

    fn step(&mut self, task: &TaskHandle) -> Result<Step, Failure> {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Begun => self.begin(task),
            State::Streaming(streaming) => self.stream(streaming, task),
            State::Collecting(collection) => self.collect(collection, task),
            State::Committing(commit) => Ok(self.await_commit(commit)),
            State::Ended => Ok(Step::End),
        }
    }

    fn begin(&mut self, task: &TaskHandle) -> Result<Step, Failure> {
        match &self.job {
            Job::Query { query, options } => {
                let options = options.clone();
                // Before anything is read of the query: its errors tell names.
                let target = self.target()?;
                target.database.check()?;
                let role = target.access.role()?;
                let notes = Notes::default();
                let prepared = self.plan(query, &options, &notes)?;
                self.check_writes(&prepared)?;
                self.begin_query(&prepared, &options, role, &notes)
            }
            Job::RollBack => {
                if let Some(session) = &self.session {
                    session.roll_back();
                }
                self.answer_nothing(&Attributes::new())
            }
            Job::Commit => {
                self.target()?.database.check()?;
                let transaction = match &self.session {
                    Some(session) => session.take(self.database()?)?,
                    None => None,
                };
                match transaction {
                    Some(transaction) => self.commit(transaction, None, task),
                    None => self.answer_nothing(&Attributes::new()),
                }
            }
        }
    }

    fn log(&self) -> RequestLog<'_> {
        RequestLog::new(self.context.id, self.access.as_ref())
    }

    fn target(&self) -> Result<&RequestTarget, Failure> {
        // It was given with the job, and is taken away with the last need for it.
        self.context.target.as_ref().ok_or_else(Failure::internal)
    }

    fn database(&self) -> Result<&Arc<Database>, Failure> {
        Ok(self.target()?.database.database())
    }

    fn plan(&self, query: &QueryText, options: &QueryOptions, notes: &Notes) -> Result<Task, Failure> {
        let open = match &self.session {
            Some(session) => session.open_view(self.database()?)?,
            None => None,
        };
        let none = Bindings::new();
        let (source, bindings) = match query {
            QueryText::Text(text, bindings) => (QuerySource::Text(text), bindings),
            QueryText::Bytecode(bytecode) => (QuerySource::Bytecode(bytecode), &none),
        };
        let timeout = self
            .context
            .deadline
            .map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
        let memory_bytes = self.context.options.query_memory_bytes;
        let first_batch_rows = self.answer.chunk_results(options.batch_size);
        let limits =
            Limits { timeout, memory_bytes, batch_rows: RESULTS_MAX, first_batch_rows, ..Limits::default() };
        let cancel = &self.context.cancel.considerate();
        let terms = QueryTerms { bindings: bindings.clone(), limits, cancel, strict: options.strict, notes };
        let task = match open {
            Some(open) => open.task(source, terms),
            None => terms.of(self.database()?.ask(source)).task(),
        }?;
        refuse_files(&task)?;
        Ok(task)
    }

    /// Refuses a query that writes, of a user or by a method that only reads.
    fn check_writes(&self, task: &Task) -> Result<(), Failure> {
        if !task.writes() {
            return Ok(());
        }
        if self.context.write_rule == WriteRule::Never && !planted(Bug::GetsWrite) {
            return Err(Failure::arguments("this query writes, and a GET only reads: send it by POST"));
        }
        if !planted(Bug::ReadersWrite) {
            self.target()?.access.role_that_writes("this query writes")?;
        }
        Ok(())
    }

    fn begin_query(
        &mut self,
        task: &Task,
        options: &QueryOptions,
        role: Role,
        notes: &Notes,
    ) -> Result<Step, Failure> {
        let isolation = chosen_isolation(task)?.or(options.isolation);
        let parts = options.materialize_properties.unwrap_or_default();
        let elements = match parts {
            MaterializeProperties::All if !self.answer.leaves_properties_out() => ElementDetail::Properties,
            _ => ElementDetail::Labels,
        };
        let detail = ChunkDetail { elements, vertex_keys: options.vertex_keys };
        let warnings: Vec<Value> = notes.take().iter().map(|note| note.shown().into()).collect();
        let form = match self.job {
            Job::Query { query: QueryText::Bytecode(_), .. } => ResultForm::Traverser,
            _ => ResultForm::Bare,
        };
        let result_options = ResultOptions { form, batch_size: options.batch_size, properties: parts };
        let budget = Arc::clone(self.database()?.store().budget());
        let memory = AnswerMemory::new(budget, self.context.options.query_memory_bytes);
        let meter = AnswerMeter::new(&self.context.options);
        let encoder = |purpose| self.answer.encoder(result_options, purpose, &memory);
        let chunk_results = self.answer.chunk_results(options.batch_size);
        let stream = |results| {
            let encoder = encoder(EncoderPurpose::Answer);
            AnswerStream::new(results, detail, chunk_results, encoder, meter, warnings.clone())
        };
        let streaming =
            |results, writes| State::Streaming(Box::new(Streaming { stream: stream(Some(results)), writes }));
        let manages = options.session.as_ref().is_some_and(|session| session.manages_transactions);
        if let Some(session) = self.session.as_ref().filter(|_| !manages) {
            self.target()?.database.add_session(session);
            let results = session.view(self.database()?, isolation, role)?.results(task)?;
            self.state = streaming(results, task.writes());
        } else if task.writes() {
            let transaction = self.database()?.begin_with(transaction_options(isolation));
            let transaction = SharedTransaction::new(transaction);
            let results = transaction.target()?.results(task)?;
            self.state = State::Collecting(Box::new(Collection {
                transaction,
                results,
                chunks: VecDeque::new(),
                memory: Arc::clone(&memory),
                trial: encoder(EncoderPurpose::Trial),
                meter,
                stream: stream(None),
            }));
        } else {
            let snapshot = Arc::new(self.database()?.snapshot());
            let results = SharedSnapshotTarget::new(snapshot).results(task)?;
            self.state = streaming(results, false);
        }
        Ok(Step::Continue)
    }

    fn stream(&mut self, mut streaming: Box<Streaming>, task: &TaskHandle) -> Result<Step, Failure> {
        let writes = streaming.writes;
        let streamed = self.stream_on(&mut streaming.stream, task);
        match &streamed {
            Ok(Step::End) => {}
            Ok(_) => self.state = State::Streaming(streaming),
            Err(failure) => {
                // The transaction is given back before anybody rolls it back.
                drop(streaming);
                if let Some(session) = self.session.as_ref().filter(|_| writes) {
                    session.break_off(&format!("a query failed while writing in it ({})", failure.message));
                }
            }
        }
        streamed
    }

    fn stream_on(&mut self, stream: &mut AnswerStream, task: &TaskHandle) -> Result<Step, Failure> {
        if !stream.has_room(&self.context.outbox, task) {
            return Ok(Step::Wait);
        }
        match stream.step(|rows| self.usage.add_rows(rows))? {
            StreamStep::Continue => Ok(Step::Continue),
            StreamStep::Part(part) => {
                self.send(Status::PartialContent, part);
                Ok(Step::Continue)
            }
            StreamStep::Last(part) => {
                self.send(Status::Success, part);
                Ok(Step::End)
            }
        }
    }

    fn collect(&mut self, mut collection: Box<Collection>, task: &TaskHandle) -> Result<Step, Failure> {
        let detail = collection.stream.detail();
        if let Some(chunk) = ResultChunk::next(&mut collection.results, detail, RESULTS_MAX)? {
            let mut kept = collection.memory.keep(WRITTEN);
            kept.add(chunk.size_bytes())?;
            try_out(&chunk, &mut *collection.trial, &mut collection.meter)?;
            collection.chunks.push_back((chunk, kept));
            self.state = State::Collecting(collection);
            return Ok(Step::Continue);
        }
        let Collection { transaction, results, chunks, stream, .. } = *collection;
        drop(results);
        self.commit(transaction.take()?, Some((stream, chunks)), task)
    }

    fn commit(
        &mut self,
        transaction: Transaction,
        stream: Option<(AnswerStream, VecDeque<(ResultChunk, KeptBytes)>)>,
        task: &TaskHandle,
    ) -> Result<Step, Failure> {
        // The role may be another one than when the transaction began.
        if !planted(Bug::CommitsUnchecked) {
            self.target()?.access.role_that_writes("a commit writes")?;
        }
        let published = Instant::now();
        let metrics = Arc::clone(self.context.meter.metrics());
        let began = transaction.by_id_ref().timestamp();
        let outcome = transaction.publish();
        // A commit without writes is at the moment that its transaction saw, and needs no room.
        if !outcome.as_ref().is_ok_and(|pending| pending.committed().timestamp == began) {
            self.target()?.database.note_commit(outcome.as_ref().map(|_| ()));
        }
        let pending = outcome?;
        let renamed = pending.committed().renamed.clone();
        let outcome = Arc::new(Mutex::new(None));
        let stream = stream.map(|(stream, chunks)| stream.with_chunks(chunks, &renamed));
        self.state = State::Committing(Box::new(Commit { outcome: Arc::clone(&outcome), stream, renamed }));
        let task = task.clone();
        pending.when_acknowledged(move |committed| {
            metrics.commit(published.elapsed());
            *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(committed);
            task.wake();
        });
        Ok(Step::Continue)
    }

    fn await_commit(&mut self, commit: Box<Commit>) -> Step {
        let outcome = commit.outcome.lock().unwrap_or_else(PoisonError::into_inner).take();
        match outcome {
            None => {
                self.state = State::Committing(commit);
                Step::Wait
            }
            Some(Err(error)) => {
                self.log().unknown_outcome(&error);
                let failure = Failure::of_unknown_outcome(&error);
                self.send(failure.status, self.answer.failure(&failure));
                Step::End
            }
            Some(Ok(_)) => match commit.stream {
                Some(stream) => {
                    // All that is left to do is to send what was collected, whatever becomes of the database.
                    self.context.target = None;
                    self.state = State::Streaming(Box::new(Streaming { stream, writes: false }));
                    Step::Continue
                }
                None => {
                    let attributes = renamed_attribute(&commit.renamed);
                    self.send(Status::NoContent, self.answer.nothing(&attributes));
                    Step::End
                }
            },
        }
    }

    fn answer_nothing(&mut self, attributes: &Attributes) -> Result<Step, Failure> {
        self.send(Status::NoContent, self.answer.nothing(attributes));
        Ok(Step::End)
    }

    /// Sends a part of the answer, or all of it.
    fn send(&mut self, status: Status, frame: Frame) {
        if status != Status::PartialContent {
            self.context.quota = None;
        }
        self.usage.sent(status, frame.bytes.len());
        self.context.outbox.push(frame);
    }

    /// A failure if its time is over, or that of its database. A commit has none: it is written or not, whatever the clock says.
    fn check_time(&self) -> Result<(), Failure> {
        let is_commit = matches!(self.state, State::Committing(_)) || !matches!(self.job, Job::Query { .. });
        let is_late = self.context.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if is_late && !is_commit {
            let text = "the time limit of the query was reached before its client had read its results";
            return Err(Failure::timeout(text));
        }
        match &self.context.target {
            Some(target) if !is_commit => {
                target.database.check()?;
                Ok(self.context.cancel.check()?)
            }
            _ => Ok(()),
        }
    }

    /// Drops what it holds and says so, once.
    fn end(&mut self) {
        self.state = State::Ended;
        let target = self.context.target.take();
        if let Some(session) = &self.session {
            session.touch();
        }
        if !std::mem::replace(&mut self.is_done, true) {
            let query = match &self.job {
                Job::Query { query: QueryText::Text(text, _), .. } => LoggedQuery::Text(text),
                Job::Query { query: QueryText::Bytecode(bytecode), .. } => LoggedQuery::Bytecode(bytecode),
                Job::Commit => LoggedQuery::Other("g.tx().commit()"),
                Job::RollBack => LoggedQuery::Other("g.tx().rollback()"),
            };
            self.log().ended(&self.usage, self.context.options.slow_query_time, query);
            self.context.meter.end(self.job.name(), self.usage.status());
            // Its use of the database ends before others hear of its own end.
            drop(target);
            self.context.query = None;
            self.context.quota = None;
            (self.context.done)();
        }
    }
}

impl Work for RequestTask {
    fn run(&mut self, slice: &Slice, task: &TaskHandle) -> Progress {
        self.usage.begin_slice();
        if let Some(query) = &self.context.query {
            query.begin_slice(task);
        }
        let progress = self.run_slice(slice, task);
        self.usage.end_slice();
        if let Some(query) = &self.context.query {
            let is_commit = matches!(self.state, State::Committing(_));
            query.end_slice(progress, if is_commit { QueryState::Committing } else { QueryState::Waiting });
        }
        progress
    }

    fn panicked(&mut self) {
        self.log().defect();
        self.fail(&Failure::internal());
    }
}

impl RequestTask {
    fn run_slice(&mut self, slice: &Slice, task: &TaskHandle) -> Progress {
        loop {
            if self.context.outbox.is_closed() {
                self.end();
                return Progress::Done;
            }
            let step = match &self.state {
                // Its own limits speak first, in words that say which query it was.
                State::Streaming(streaming) if streaming.stream.is_between_parts() => {
                    self.check_time().and_then(|()| self.step(task))
                }
                _ => self.step(task),
            };
            match step {
                Ok(Step::Continue) if slice.is_over() => return Progress::Ready,
                Ok(Step::Continue) => {}
                Ok(Step::Wait) => return Progress::Waiting,
                Ok(Step::End) => {
                    self.end();
                    return Progress::Done;
                }
                // Its client is gone, which has cancelled it.
                Err(failure) if failure.is_cancelled() && self.context.outbox.is_closed() => {}
                Err(failure) => {
                    let failure = self.why_cancelled(failure);
                    self.fail(&failure);
                    return Progress::Done;
                }
            }
        }
    }

    /// Why a query was cancelled, if its database did it, or somebody by its number.
    fn why_cancelled(&self, failure: Failure) -> Failure {
        if !failure.is_cancelled() {
            return failure;
        }
        let closed = self.context.target.as_ref().and_then(|target| target.database.check().err());
        let query = self.context.query.as_ref().filter(|query| query.is_cancelled());
        match (closed, query) {
            (Some(closed), _) => closed.into(),
            (None, Some(query)) => Failure::cancelled(query.id()),
            (None, None) => failure,
        }
    }

    fn fail(&mut self, failure: &Failure) {
        let breaks = match &self.state {
            State::Streaming(streaming) => streaming.writes,
            _ => false,
        };
        self.state = State::Ended;
        if let Some(session) = self.session.as_ref().filter(|_| breaks) {
            session.break_off(&format!("a query failed while writing in it ({})", failure.message));
        }
        self.log().failed(failure);
        self.send(failure.status, self.answer.failure(failure));
        self.end();
    }
}

impl Drop for RequestTask {
    fn drop(&mut self) {
        self.end();
    }
}
