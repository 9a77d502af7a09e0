//! Stage workers: the threads of a node that run stages of queries.
//!
//! A worker takes what one query has to do, does it, and is through: it opens the graph, takes a message of rows, ends a stage, or
//! does the next part of these. So queries take turns, however long a stage runs. What is made goes on at once. A panic fails the
//! query, and no thread.

use crate::travel::journey::{Journey, Running, StageStep, StageWork};
use crate::travel::message::{BeginTravel, TravelId};
use crate::travel::stage_view::StageView;
use crate::travel::travelling_queries::{TravellingQueries, WorkDone};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::PartitionId;
use evergraph_graph::stage_programs::{StageContext, StageLimits, StageProgress, StageRunner};
use evergraph_graph::travel::{EncodedRows, RowsOutput, RowsTarget};
use evergraph_storage::sync::thread::{JoinHandle, spawn};
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Threads that run stages. Dropped, it stops them, and waits for that.
pub struct StageWorkers {
    queries: TravellingQueries,
    threads: Vec<JoinHandle<()>>,
}

impl StageWorkers {
    /// Starts the threads of the node `name`, which run `queries`.
    ///
    /// # Errors
    /// What the system says if it has no thread to give.
    pub fn start(name: &str, queries: &TravellingQueries) -> io::Result<Self> {
        let mut workers = Self { queries: queries.clone(), threads: Vec::new() };
        for number in 0..queries.parts().options.threads.max(1) {
            let queries = queries.clone();
            let run = move || {
                while let Some((id, begin, work)) = queries.wait_for_work() {
                    do_work(&queries, id, &begin, work);
                }
            };
            workers.threads.push(spawn(&format!("{name}-stages-{number}"), run)?);
        }
        Ok(workers)
    }
}

impl Drop for StageWorkers {
    fn drop(&mut self) {
        self.queries.end_all();
        for thread in self.threads.drain(..) {
            // One that panicked has ended, too.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for StageWorkers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StageWorkers").field("queries", &self.queries).finish_non_exhaustive()
    }
}

/// Does what a query has to do. Waits for nobody.
pub fn do_work(queries: &TravellingQueries, id: TravelId, begin: &Arc<BeginTravel>, work: StageWork) {
    let clock = &queries.parts().clock;
    let began_at = clock.now();
    // What unwinds was this query's alone: it only reads.
    let done = catch_unwind(AssertUnwindSafe(|| run(queries, id, begin, work)));
    let done = match done {
        Ok(Ok(done)) => done,
        Ok(Err(error)) => WorkDone::Failed(error),
        Err(_) => WorkDone::Failed(Error::new(ErrorKind::Io, "a stage of the query panicked")),
    };
    queries.worked(id, clock.now().saturating_sub(began_at), done);
}

fn run(
    queries: &TravellingQueries,
    id: TravelId,
    begin: &Arc<BeginTravel>,
    work: StageWork,
) -> Result<WorkDone> {
    let (mut running, step) = match work {
        StageWork::Open => return Ok(WorkDone::Opened(Box::new(open(queries, id, begin)?))),
        StageWork::Run(running, step) => (running, step),
    };
    let input = step.input();
    let mut out = StageOutput::new(queries, id, input.stage);
    let read_before = running.view.edges_read();
    let progress = with(&mut running, begin, &mut out, &mut |runner, context| match &step {
        StageStep::Take(rows) => runner.take(rows.stage, &rows.rows, context),
        StageStep::End(stage) => runner.end(*stage, context),
        StageStep::GoOn(_) => runner.go_on(context),
    });
    // Also of what has failed; before its last rows, which tell what was done.
    queries.count_edges(id, input.stage, running.view.edges_read() - read_before);
    let progress = progress?;
    let has_ended = input.is_end && progress == StageProgress::Done;
    out.send_held(has_ended.then(|| queries.targets(id, input.stage)))?;
    Ok(WorkDone::Ran { running, input, progress })
}

fn open(queries: &TravellingQueries, id: TravelId, begin: &Arc<BeginTravel>) -> Result<Running> {
    let parts = queries.parts();
    let cancel = queries.cancel_of(id).unwrap_or_default();
    let time = queries.ends_at(id).unwrap_or_default().saturating_sub(parts.clock.now());
    let partitions: Vec<PartitionId> = begin.routes.partitions_of(own_place(queries, begin)).collect();
    let view: Box<dyn StageView> = parts.views.open(begin.at, &partitions)?;
    let budget = Arc::clone(&parts.budget);
    let limits = StageLimits { memory_bytes: begin.memory_bytes, time, cancel, budget };
    let runner = Journey::runner(begin, limits, &*parts.programs)?;
    Ok(Running { view, runner })
}

/// The number of this node in a query, which has it since the query began here.
fn own_place(queries: &TravellingQueries, begin: &BeginTravel) -> u16 {
    let own = queries.parts().author;
    begin.places.iter().position(|place| *place == own).unwrap_or_default() as u16
}

type Run<'r> = dyn FnMut(&mut dyn StageRunner, &mut StageContext<'_>) -> Result<StageProgress> + 'r;

/// Runs with the graph of a query.
fn with(
    running: &mut Running,
    begin: &BeginTravel,
    out: &mut StageOutput<'_>,
    run: &mut Run<'_>,
) -> Result<StageProgress> {
    let Running { view, runner } = running;
    let (place, groups) = (own_place(out.queries, begin), view.group_count());
    let mut ran = Ok(StageProgress::Done);
    view.with(&mut |view| {
        let mut context = StageContext { view, place, groups, routes: &begin.routes, out: &mut *out };
        ran = run(&mut **runner, &mut context);
    });
    ran
}

/// Sends what a stage makes: of each target one message later, so that the last one can say that it is.
struct StageOutput<'q> {
    queries: &'q TravellingQueries,
    id: TravelId,
    stage: u16,
    held: Vec<(RowsTarget, EncodedRows)>,
}

impl<'q> StageOutput<'q> {
    fn new(queries: &'q TravellingQueries, id: TravelId, stage: u16) -> Self {
        Self { queries, id, stage, held: Vec::new() }
    }

    /// Sends what is held; to each of `last` as the last message.
    fn send_held(self, last: Option<Vec<RowsTarget>>) -> Result<()> {
        let Self { queries, id, stage, mut held } = self;
        let is_last = last.is_some();
        for target in last.into_iter().flatten() {
            if !held.iter().any(|(of, _)| *of == target) {
                held.push((target, EncodedRows { count: 0, bytes: Vec::new() }));
            }
        }
        queries.send(id, stage, held, is_last)
    }
}

impl RowsOutput for StageOutput<'_> {
    fn put(&mut self, to: RowsTarget, rows: EncodedRows) -> Result<()> {
        match self.held.iter_mut().find(|(target, _)| *target == to) {
            None => {
                self.held.push((to, rows));
                Ok(())
            }
            Some((_, held)) => {
                let before = std::mem::replace(held, rows);
                self.queries.send(self.id, self.stage, [(to, before)], false)
            }
        }
    }
}
