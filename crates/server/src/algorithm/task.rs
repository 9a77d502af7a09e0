//! Task: an algorithm on its way to its answer.
//!
//! ```text
//! Begun ──> computed, on the threads of algorithms ──> Sending, as its client reads ──> Ended
//! ```
//!
//! While it computes it does not give its thread of the scheduler back: that counts it out, and others get a spare one.

use crate::algorithm::call::{AlgorithmCall, NameKey};
use crate::algorithm::key_columns::read_keys;
use crate::algorithm::memory::AlgorithmMemory;
use crate::algorithm::name_columns::NameColumns;
use crate::algorithm::rows::{
    AnswerEnd, AnswerRows, AnswerSummary, RowFormat, VertexColumns, failure_frame, rows_bytes,
};
use crate::algorithm::threads::AlgorithmThreads;
use crate::answer::meter::AnswerMeter;
use crate::failure::Failure;
use crate::outbox::Frame;
use crate::query_registry::QueryState;
use crate::request_context::RequestContext;
use crate::request_log::{LoggedQuery, RequestLog, RequestUsage};
use crate::scheduler::{Progress, Slice, TaskHandle, Work};
use crate::security::access::Access;
use evergraph::algorithms::control::Control;
use evergraph::analysis::answer::Figure;
use evergraph::analysis::input::{Caller, Input};
use evergraph::analysis::names;
use evergraph::graph::catalogue::Catalogue;
use evergraph::{Freeze as _, GraphView as _, Snapshot};
use evergraph_graph::budget::{Budget as _, Reservation};
use evergraph_graph::error::Result as GraphResult;
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_protocol::response::status::Status;
use evergraph_report::vertex_names::VertexNames;
use std::sync::Arc;
use std::time::Instant;

/// An algorithm on its way to its answer.
pub struct AlgorithmTask {
    context: RequestContext,
    call: AlgorithmCall,
    format: RowFormat,
    threads: Arc<AlgorithmThreads>,
    state: State,
    /// What its user may do, for the log.
    access: Option<Access>,
    usage: RequestUsage,
    meter: AnswerMeter,
    is_begun: bool,
    is_done: bool,
}

enum State {
    Begun,
    Sending { rows: Box<AnswerRows>, _memory: Vec<Reservation> },
    Ended,
}

/// What a step led to.
enum Step {
    Continue,
    Wait,
    End,
}

impl AlgorithmTask {
    /// One that nothing was done for.
    #[must_use]
    pub fn new(
        context: RequestContext,
        call: AlgorithmCall,
        format: RowFormat,
        threads: Arc<AlgorithmThreads>,
    ) -> Self {
        let access = context.target.as_ref().map(|target| target.access.clone());
        let (usage, state, meter) = (RequestUsage::start(), State::Begun, AnswerMeter::new(&context.options));
        Self { context, call, format, threads, state, access, usage, meter, is_begun: false, is_done: false }
    }

    fn step(&mut self, task: &TaskHandle) -> Result<Step, Failure> {
        if let Err(error) = self.context.cancel.check() {
            return Err(self.why_cancelled(error.into()));
        }
        match &mut self.state {
            State::Begun => {
                let (rows, memory) = self.compute()?;
                self.state = State::Sending { rows: Box::new(rows), _memory: memory };
                Ok(Step::Continue)
            }
            State::Sending { rows, .. } => {
                let late = self.context.deadline.is_some_and(|deadline| Instant::now() >= deadline);
                if late {
                    let text = "the time limit was reached before the client had read all rows";
                    return Err(Failure::timeout(text));
                }
                if !self.context.outbox.has_room(task) {
                    return Ok(Step::Wait);
                }
                let before = rows.sent_count();
                let frame = rows.part()?;
                let sent_count = rows.sent_count() - before;
                self.meter.add_rows(sent_count)?;
                self.meter.add_bytes(frame.bytes.len() as u64, 0)?;
                self.usage.add_rows(sent_count);
                let is_last = rows.is_done();
                self.send(if is_last { Status::Success } else { Status::PartialContent }, frame);
                Ok(if is_last { Step::End } else { Step::Continue })
            }
            State::Ended => Ok(Step::End),
        }
    }

    fn compute(&self) -> Result<(AnswerRows, Vec<Reservation>), Failure> {
        // It was given with the call, and is taken away at its end.
        let target = self.context.target.as_ref().ok_or_else(Failure::internal)?;
        target.database.check()?;
        target.access.role()?;
        let snapshot = target.database.database().snapshot();
        let cancel = self.context.cancel.considerate();
        let cancel = match self.context.deadline {
            Some(deadline) => cancel.until(deadline),
            None => cancel,
        };
        let computed = self.threads.get()?.install(|| {
            let catalogue = snapshot.names()?;
            let scope = self.call.scope.scope(&catalogue)?;
            let memory = AlgorithmMemory::new(snapshot.budget(), self.context.options.query_memory_bytes);
            let control = Control::new(&memory).with_cancel(&cancel);
            let AlgorithmCall { algorithm, arguments, names, .. } = &self.call;
            let names = names.as_ref().map(|by| vertex_names(&catalogue, by)).transpose()?;
            let caller = NamesOfGraph { snapshot: &snapshot, catalogue: &catalogue, names: names.as_ref() };
            let input = Input::new(&snapshot, &scope, &caller);
            let mut answer = algorithm.run(&input, arguments, &control)?;
            let end = AnswerEnd {
                figures: vec![
                    ("freeze_seconds", Figure::Real(input.freezing_time().as_secs_f64())),
                    ("kernel_seconds", Figure::Real(input.kernel_time().as_secs_f64())),
                ],
                summary: self.call.with_summary.then(|| AnswerSummary {
                    sentence: std::mem::take(&mut answer.summary),
                    timestamp: snapshot.timestamp().0,
                    frozen: input.frozen(),
                }),
            };
            drop(input);
            let rows = memory.reserve("rows of the answer", rows_bytes(&answer))?;
            let (keys, mut reserved) = read_keys(
                &snapshot,
                &self.call.keys,
                scope.labels.as_deref(),
                &answer.vertices,
                &memory,
                &cancel,
            )?;
            reserved.push(rows);
            let mut beside = VertexColumns { keys, names: None };
            if let Some(names) = &names {
                let (read, memory) = NameColumns::read(&snapshot, names, &answer.vertices, &memory, &cancel)?;
                beside.names = Some(read);
                reserved.extend(memory);
            }
            Ok((AnswerRows::new(algorithm, answer, beside, end, self.format)?, reserved))
        });
        let computed: GraphResult<_> = computed;
        computed.map_err(|error| self.why_cancelled(Failure::from(&error)))
    }

    /// Why it was cancelled: by its database, by somebody who gave its number, or by the clock.
    fn why_cancelled(&self, failure: Failure) -> Failure {
        if !failure.is_cancelled() {
            return failure;
        }
        let closed = self.context.target.as_ref().and_then(|target| target.database.check().err());
        let query = self.context.query.as_ref().filter(|query| query.is_cancelled());
        let is_late = self.context.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        match (closed, query) {
            (Some(closed), _) => closed.into(),
            (None, Some(query)) => Failure::cancelled(query.id()),
            (None, None) if is_late => Failure::timeout("the time limit was reached while the algorithm ran"),
            (None, None) => failure,
        }
    }

    /// Sends a part of the answer, or all of it.
    fn send(&mut self, status: Status, frame: Frame) {
        self.is_begun = true;
        self.usage.sent(status, frame.bytes.len());
        self.context.outbox.push(frame);
    }

    fn log(&self) -> RequestLog<'_> {
        RequestLog::new(self.context.id, self.access.as_ref())
    }

    fn fail(&mut self, failure: &Failure) {
        self.log().failed(failure);
        let frame = failure_frame(failure, self.format, self.is_begun);
        self.send(failure.status, frame);
        self.end();
    }

    /// Drops what it holds and says so, once.
    fn end(&mut self) {
        self.state = State::Ended;
        let target = self.context.target.take();
        if !std::mem::replace(&mut self.is_done, true) {
            let query = LoggedQuery::Other(self.call.algorithm.name);
            self.log().ended(&self.usage, self.context.options.slow_query_time, query);
            self.context.meter.end("algorithm", self.usage.status());
            // Its use of the database ends before others hear of its own end.
            drop(target);
            self.context.query = None;
            (self.context.done)();
        }
    }

    fn run_slice(&mut self, slice: &Slice, task: &TaskHandle) -> Progress {
        loop {
            if self.context.outbox.is_closed() {
                self.end();
                return Progress::Done;
            }
            match self.step(task) {
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
                    self.fail(&failure);
                    return Progress::Done;
                }
            }
        }
    }
}

impl Work for AlgorithmTask {
    fn run(&mut self, slice: &Slice, task: &TaskHandle) -> Progress {
        self.usage.begin_slice();
        if let Some(query) = &self.context.query {
            query.begin_slice(task);
        }
        let progress = self.run_slice(slice, task);
        if let Some(query) = &self.context.query {
            query.end_slice(progress, QueryState::Waiting);
        }
        self.usage.end_slice();
        progress
    }

    fn panicked(&mut self) {
        self.log().defect();
        self.fail(&Failure::internal());
    }
}

impl Drop for AlgorithmTask {
    fn drop(&mut self) {
        self.end();
    }
}

/// By what the vertices of an answer are called.
fn vertex_names(catalogue: &Arc<Catalogue>, by: &NameKey) -> GraphResult<VertexNames> {
    let key = match by {
        NameKey::Unique => None,
        NameKey::Property(name) => Some(names::key(catalogue, name)?),
    };
    Ok(VertexNames::new(Arc::clone(catalogue), key))
}

/// How names of the graph are found, and what vertices are called in errors.
struct NamesOfGraph<'a> {
    snapshot: &'a Snapshot,
    catalogue: &'a Catalogue,
    names: Option<&'a VertexNames>,
}

impl Caller for NamesOfGraph<'_> {
    fn key(&self, name: &str) -> GraphResult<KeyId> {
        names::key(self.catalogue, name)
    }

    fn vertex_names(&self, vertices: &[VertexId]) -> GraphResult<Vec<String>> {
        let Some(names) = self.names else {
            return Ok(vertices.iter().map(|vertex| format!("vertex {}", vertex.0)).collect());
        };
        Ok(names.names(self.snapshot, vertices)?.iter().map(ToString::to_string).collect())
    }
}
