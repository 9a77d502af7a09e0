//! Runner: a program at one place.
//!
//! ```text
//! rows of stage n ──> [ pipeline of stage n ] ──> outgoing ──> rows of stage n + 1, by place
//!     the end of n ──> its barriers give what they have, then the end of its rows
//! ```
//!
//! Each stage has steps of its own, which keep what they have met between two messages, so that rows may come in any order and
//! as often as there are messages. One thread at a time runs it, and waits for nobody. It pauses after so many calls of steps,
//! each of which makes a batch at most: a scan of a large graph holds no thread that another query needs.

use crate::batch::Batch;
use crate::batch::column::{Column, Data};
use crate::execute::context::{Context, Graph};
use crate::execute::limits::{Charge, QueryBudget, QueryLimits};
use crate::execute::pending_batches::CountedPortions;
use crate::execute::pipeline::{Pipeline, Pulled};
use crate::plan::operator::{Operator, Plan, Traversal};
use crate::step::build::Builder;
use crate::travel::no_kernels::NoKernels;
use crate::travel::outgoing::{Destination, Outgoing};
use crate::travel::{program, rows};
use crate::value::item::Item;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::stage_programs::{StageContext, StageLimits, StagePrograms, StageProgress, StageRunner};
use evergraph_graph::travel::Routes;

/// Rows that a pipeline is given at once.
const BATCH_ROWS: usize = 1024;
/// Calls of steps before a runner pauses: some milliseconds of work.
const PAUSE_CALLS: usize = 32;

/// Makes runners of the programs of queries.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueryStages;

impl StagePrograms for QueryStages {
    fn begin(&self, program: &[u8], limits: StageLimits) -> Result<Box<dyn StageRunner>> {
        begin_pausing(program, limits, PAUSE_CALLS)
    }
}

/// A runner as those of [`QueryStages`], which pauses after so many calls of steps, at least one.
///
/// # Errors
/// As [`StagePrograms::begin`].
pub fn begin_pausing(
    program: &[u8],
    limits: StageLimits,
    pause_calls: usize,
) -> Result<Box<dyn StageRunner>> {
    let stages = program::decode(program);
    // Nodes of another version may send others: whoever asked reads in another way.
    let stages = stages
        .map_err(|error| Error::new(ErrorKind::Busy, format!("stages of a query expected: {error}")))?;
    Ok(Box::new(Runner::new(stages, limits, pause_calls.max(1))?))
}

struct Runner {
    stages: Vec<StageSteps>,
    charge: Charge<'static>,
    pause_calls: usize,
    paused: Option<PendingInput>,
}

/// What a stage was given and is not through with.
struct PendingInput {
    stage: u16,
    rows: CountedPortions,
    /// Whether nothing comes behind it.
    is_last: bool,
}

struct StageSteps {
    pipeline: Pipeline,
    outgoing: Outgoing,
    /// Whether it begins with a scan, which takes the graph itself in place of rows.
    has_source: bool,
    has_ended: bool,
}

impl Runner {
    fn new(stages: Vec<Traversal>, limits: StageLimits, pause_calls: usize) -> Result<Self> {
        let StageLimits { memory_bytes, time, cancel, budget } = limits;
        let limits = QueryLimits { timeout: time, memory_bytes, threads: 1, ..QueryLimits::default() };
        let charge = Charge::with_budget(limits, cancel, QueryBudget::Shared(budget));
        let count = stages.len();
        let made = stages.into_iter().enumerate().map(|(number, root)| {
            let has_source = matches!(root.operators.first(), Some(Operator::Vertices(_)));
            let other_sources = root.operators.iter().skip(1).any(|of| matches!(of, Operator::Vertices(_)));
            if (has_source && number > 0) || other_sources {
                return Err(Error::invalid("only the first stage of a query begins with V()"));
            }
            let to = if number + 1 == count { Destination::Asker } else { Destination::Owners };
            let plan = Plan { root, bulks: true, ..Plan::default() };
            let pipeline = Builder::new(&plan).root()?;
            Ok(StageSteps { pipeline, outgoing: Outgoing::new(to), has_source, has_ended: false })
        });
        Ok(Self { stages: made.collect::<Result<_>>()?, charge, pause_calls, paused: None })
    }

    /// Whether a stage still takes rows.
    fn check_runs(&self, stage: u16) -> Result<&StageSteps> {
        let steps = self.stages.get(usize::from(stage)).filter(|steps| !steps.has_ended);
        let runs = steps.filter(|_| self.paused.is_none());
        runs.ok_or_else(|| Error::invalid(format!("the query has no stage {stage} that takes rows now")))
    }

    /// Runs a stage on `input` until it is through, or pauses.
    fn run(&mut self, mut input: PendingInput, context: &mut StageContext<'_>) -> Result<StageProgress> {
        let Self { stages, charge, pause_calls, paused } = self;
        let StageSteps { pipeline, outgoing, .. } = &mut stages[usize::from(input.stage)];
        let (mut calls, _waits) = (*pause_calls, charge.limit_waits());
        let mut cx = Context::new(Graph::Read(context.view), charge.clone(), &NoKernels);
        loop {
            let has_ended = input.is_last && input.rows.is_empty();
            match pipeline.pull_some(has_ended, &mut calls, &mut cx)? {
                Pulled::Batch(made) => {
                    outgoing.push(&made, &mut cx.charge, (context.routes, &mut *context.out))?;
                }
                Pulled::Paused => {
                    *paused = Some(input);
                    return Ok(StageProgress::Paused);
                }
                Pulled::Nothing => match input.rows.next(BATCH_ROWS) {
                    Some(rows) => pipeline.push(rows),
                    None => break,
                },
            }
        }
        if input.is_last {
            outgoing.flush(&mut cx.charge, (context.routes, &mut *context.out))?;
        }
        Ok(StageProgress::Done)
    }
}

/// Rows come to where they are read, and memory is taken by the number of a vertex: one that cannot be must not get in.
///
/// # Errors
/// `io` for a row at a vertex of another place, or of a group that the graph does not have.
fn check_rows(batch: &Batch, routes: &Routes, place: u16, groups: u32) -> Result<()> {
    let is_known = |vertex: VertexId| vertex.group().0 < groups;
    let is_here = |vertex: VertexId| is_known(vertex) && routes.place_of(vertex) == place;
    let strange = match batch.current.vertices() {
        Some(vertices) => vertices.into_iter().find(|vertex| !is_here(*vertex)).map(Item::Vertex),
        None => batch.current.items().find(|item| match item {
            Item::Vertex(vertex) => !is_here(*vertex),
            Item::Edge(edge) => !is_here(edge.source) || !is_known(edge.target),
            _ => false,
        }),
    };
    match strange {
        None => Ok(()),
        Some(item) => {
            let text = format!("rows of this node expected from another one, found one at {item:?}");
            Err(Error::new(ErrorKind::Io, text))
        }
    }
}

impl StageRunner for Runner {
    fn stages(&self) -> u16 {
        self.stages.len() as u16
    }

    fn take(&mut self, stage: u16, rows: &[u8], context: &mut StageContext<'_>) -> Result<StageProgress> {
        self.check_runs(stage)?;
        let batch = rows::decode(rows).map_err(|error| rows::unreadable(&error))?;
        check_rows(&batch, context.routes, context.place, context.groups)?;
        let rows = CountedPortions::new(batch, &mut self.charge)?;
        let ran = self.run(PendingInput { stage, rows, is_last: false }, context);
        self.charge.explained(ran)
    }

    fn end(&mut self, stage: u16, context: &mut StageContext<'_>) -> Result<StageProgress> {
        let rows = match self.check_runs(stage)?.has_source {
            true => Batch::new(Column::new(Data::Items(vec![Item::Null])), vec![0]),
            false => Batch::empty(),
        };
        self.stages[usize::from(stage)].has_ended = true;
        let rows = CountedPortions::new(rows, &mut self.charge)?;
        let ran = self.run(PendingInput { stage, rows, is_last: true }, context);
        self.charge.explained(ran)
    }

    fn go_on(&mut self, context: &mut StageContext<'_>) -> Result<StageProgress> {
        let paused = self.paused.take();
        let input =
            paused.ok_or_else(|| Error::invalid("a stage of the query that has not paused goes on"))?;
        let ran = self.run(input, context);
        self.charge.explained(ran)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::budget::Unlimited;
    use evergraph_graph::cancel::CancelFlag;
    use evergraph_graph::id::{EdgeId, TypeId};
    use evergraph_graph::partition::PartitionCount;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn rows_that_cannot_come_here_are_refused() {
        let routes = Routes::new(PartitionCount::new(2).unwrap(), 2, vec![0, 1]).unwrap();
        let here = VertexId(5);
        let (place, elsewhere) = (routes.place_of(here), 1 - routes.place_of(here));
        let at = |vertex| rows::of_vertices(&[(vertex, 1)]).bytes;
        let edge = |source, target| {
            let edge = EdgeId { source, edge_type: TypeId(0), target, discriminator: 0 };
            rows::of_items(&[(Item::Edge(edge), 1)]).unwrap().bytes
        };
        let check = |bytes: &[u8], place, groups| {
            check_rows(&rows::decode(bytes).unwrap(), &routes, place, groups).map_err(|error| error.kind())
        };
        assert_eq!(check(&at(here), place, 1), Ok(()));
        assert_eq!(check(&edge(here, here), place, 1), Ok(()));
        let far = VertexId(u32::MAX);
        for (bytes, place, groups) in [
            (at(here), elsewhere, 1),
            (at(here), place, 0),
            (at(far), routes.place_of(far), 1),
            (edge(here, here), elsewhere, 1),
            (edge(here, far), place, 1),
        ] {
            assert_eq!(check(&bytes, place, groups), Err(ErrorKind::Io), "{bytes:?} {place} {groups}");
        }
    }

    #[test]
    fn a_program_of_another_version_is_left_to_who_can_run_it() {
        let limits = StageLimits {
            memory_bytes: 1 << 20,
            time: Duration::from_secs(1),
            cancel: CancelFlag::default(),
            budget: Arc::new(Unlimited),
        };
        let error = QueryStages.begin(&[200, 1, 0], limits).err().unwrap();
        assert!(error.kind() == ErrorKind::Busy && error.to_string().contains("version"), "{error}");
    }
}
