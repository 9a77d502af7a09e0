//! Pipelines: decide which step runs when.
//!
//! ```text
//! push ──> [step 0] ──> [step 1] ──> [step 2] ──> pull      the deepest step with input runs; at most one batch
//!           input         input        input                waits before each step, so memory is depth x a batch
//! ```
//!
//! Every batch that a step makes is counted as long as it waits, and refused if a value in it is nested too deeply: so no step
//! need count what it hands on.
//!
//! A step gives at most one batch a call and keeps its input until it is through, so that a hub's neighbours come in
//! pieces and a limit stops what is before it. Source: DuckDB's operator states (need input, have more output).

use crate::batch::Batch;
use crate::execute::context::Context;
use crate::execute::limits::MemoryShare;
use crate::stack::deeper;
use evergraph_graph::error::Result;

/// A step of a query, which turns batches into batches.
///
/// Rows of an input come by ascending origin, and so must those of an output. Rows of one origin may come in several
/// inputs.
pub trait Step: Send {
    /// Turns `input` into the next batch. A step that isn't through with its input leaves it there and is called
    /// again; one that is takes it.
    ///
    /// # Errors
    /// Errors of the step.
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>>;

    /// The next batch after the last input of this run; `None` when there is no more.
    ///
    /// # Errors
    /// Errors of the step.
    fn finish(&mut self, _cx: &mut Context<'_>) -> Result<Option<Batch>> {
        Ok(None)
    }

    /// Resets the steps for a new run with `origins` origins, from 0.
    fn reset(&mut self, _origins: u32) {}

    /// As [`Step::reset`], for the next loop of a repeat: what counts within a loop is forgotten, what was met in any
    /// loop isn't.
    fn again(&mut self, origins: u32) {
        self.reset(origins);
    }

    /// Whether nothing that may still come would change what this step gives.
    fn is_done(&self) -> bool {
        false
    }

    /// Whether [`Step::settle`] does anything.
    fn settles(&self) -> bool {
        false
    }

    /// Does what waited until all that becomes of the input so far has come; more input may follow.
    ///
    /// # Errors
    /// Errors of the step.
    fn settle(&mut self, _cx: &mut Context<'_>) -> Result<()> {
        Ok(())
    }
}

struct Stage {
    step: Box<dyn Step>,
    input: Option<Batch>,
    /// The memory of the input.
    holding: MemoryShare,
}

impl Stage {
    fn clear(&mut self) {
        self.input = None;
        self.holding = MemoryShare::default();
    }
}

/// Batches of fewer bytes are not counted: few wait at once.
const SMALL_BYTES: usize = 4096;

/// What comes of pulling for a while.
pub enum Pulled {
    /// A batch.
    Batch(Batch),
    /// None before the next push, or ever, if the input has ended.
    Nothing,
    /// It has taken as many calls of steps as it may, and goes on with the next pull.
    Paused,
}

/// Steps, each of which gets its input from the one before.
pub struct Pipeline {
    stages: Vec<Stage>,
    /// The input of a pipeline without steps.
    passing: Option<Batch>,
    /// The memory of what was given last: whoever was given it is at work on it.
    given: MemoryShare,
    /// No stage behind this one has input.
    deepest: usize,
    /// The first stage that isn't finished, once the input has ended.
    finishing: usize,
    satisfied: bool,
    /// Whether a step settles.
    settles: bool,
}

impl Pipeline {
    /// The pipeline of `steps`, as after a reset with one origin.
    #[must_use]
    pub fn new(steps: Vec<Box<dyn Step>>) -> Self {
        let settles = steps.iter().any(|step| step.settles());
        let stages = steps
            .into_iter()
            .map(|step| Stage { step, input: None, holding: MemoryShare::default() })
            .collect();
        let mut pipeline = Self {
            stages,
            passing: None,
            given: MemoryShare::default(),
            deepest: 0,
            finishing: 0,
            satisfied: false,
            settles,
        };
        pipeline.reset(1);
        pipeline
    }

    /// Resets the steps for a new run with `origins` origins, from 0.
    pub fn reset(&mut self, origins: u32) {
        deeper(|| {
            for stage in &mut self.stages {
                stage.clear();
                stage.step.reset(origins);
            }
        });
        self.begin();
    }

    /// As [`Pipeline::reset`], for the next loop of a repeat.
    pub fn again(&mut self, origins: u32) {
        deeper(|| {
            for stage in &mut self.stages {
                stage.clear();
                stage.step.again(origins);
            }
        });
        self.begin();
    }

    fn begin(&mut self) {
        (self.passing, self.deepest, self.finishing, self.satisfied) = (None, 0, 0, false);
        self.given = MemoryShare::default();
    }

    /// Whether further input cannot change the output.
    #[must_use]
    pub fn is_satisfied(&self) -> bool {
        self.satisfied
    }

    /// Gives the first step its next input, after [`Pipeline::pull`] asked for it by `None`.
    pub fn push(&mut self, batch: Batch) {
        if batch.is_empty() || self.satisfied {
            return;
        }
        match self.stages.first_mut() {
            Some(stage) => stage.input = Some(batch),
            None => self.passing = Some(batch),
        }
    }

    /// The next batch that comes out; `None` if there is none before the next push, or ever, if the input has `ended`.
    ///
    /// # Errors
    /// Errors of a step; `limit`, `cancelled`.
    pub fn pull(&mut self, ended: bool, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        deeper(|| {
            loop {
                match self.pull_here(ended, &mut { usize::MAX }, cx)? {
                    Pulled::Batch(batch) => return Ok(Some(batch)),
                    Pulled::Nothing => return Ok(None),
                    Pulled::Paused => {}
                }
            }
        })
    }

    /// As [`Pipeline::pull`], with at most `calls` of steps, of which those that were made are subtracted: whoever has other things
    /// to do comes back.
    ///
    /// # Errors
    /// As [`Pipeline::pull`].
    pub fn pull_some(&mut self, ended: bool, calls: &mut usize, cx: &mut Context<'_>) -> Result<Pulled> {
        deeper(|| self.pull_here(ended, calls, cx))
    }

    fn pull_here(&mut self, ended: bool, calls: &mut usize, cx: &mut Context<'_>) -> Result<Pulled> {
        self.given = MemoryShare::default();
        if let Some(batch) = self.passing.take() {
            return Ok(Pulled::Batch(batch));
        }
        loop {
            cx.charge.check()?;
            let Some(left) = calls.checked_sub(1) else { return Ok(Pulled::Paused) };
            *calls = left;
            let (at, made) = match self.with_input() {
                Some(at) => {
                    let stage = &mut self.stages[at];
                    let made = stage.step.process(&mut stage.input, cx)?;
                    if stage.input.is_none() {
                        stage.holding = MemoryShare::default();
                    }
                    if stage.step.is_done() {
                        self.satisfied = true;
                        self.stages[..=at].iter_mut().for_each(Stage::clear);
                        self.finishing = self.finishing.max(at);
                    }
                    (at, made)
                }
                None if (ended || self.satisfied) && self.finishing < self.stages.len() => {
                    let at = self.finishing;
                    let made = self.stages[at].step.finish(cx)?;
                    if made.is_none() {
                        self.finishing += 1;
                    }
                    (at, made)
                }
                None => {
                    if self.settles && !ended {
                        self.stages.iter_mut().try_for_each(|stage| stage.step.settle(cx))?;
                    }
                    return Ok(Pulled::Nothing);
                }
            };
            if let Some(batch) = made.filter(|batch| !batch.is_empty()) {
                let extent = batch.extent();
                extent.check_depth()?;
                let holding = match extent.heap_bytes {
                    ..SMALL_BYTES => MemoryShare::default(),
                    bytes => cx.charge.holding(bytes)?,
                };
                match self.stages.get_mut(at + 1) {
                    Some(next) => {
                        (next.input, next.holding) = (Some(batch), holding);
                        self.deepest = at + 1;
                    }
                    None => {
                        self.given = holding;
                        return Ok(Pulled::Batch(batch));
                    }
                }
            }
        }
    }

    /// The deepest stage that has input.
    fn with_input(&mut self) -> Option<usize> {
        let last = self.deepest.min(self.stages.len().checked_sub(1)?);
        let found = self.stages[..=last].iter().rposition(|stage| stage.input.is_some());
        self.deepest = found.unwrap_or(0);
        found
    }
}
