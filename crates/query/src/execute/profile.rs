//! Profiling: measures the output and the time of each step.

use crate::batch::Batch;
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use evergraph_graph::error::Result;
use std::time::Instant;

/// A step that is measured.
pub struct Profiled {
    step: Box<dyn Step>,
    /// Its line in the explanation of its plan.
    line: usize,
}

impl Profiled {
    /// `step`, which stands in `line` of the explanation.
    #[must_use]
    pub fn new(step: Box<dyn Step>, line: usize) -> Self {
        Self { step, line }
    }

    fn note(&self, began: Instant, made: Option<&Batch>, cx: &mut Context<'_>) {
        let Some(measured) = cx.measurements.note(self.line, began) else { return };
        if let Some(batch) = made {
            measured.batches += 1;
            measured.rows += batch.len() as u64;
            measured.traversers =
                (0..batch.len()).fold(measured.traversers, |sum, row| sum.saturating_add(batch.bulk(row)));
        }
    }
}

impl Step for Profiled {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let began = Instant::now();
        let made = self.step.process(input, cx)?;
        self.note(began, made.as_ref(), cx);
        Ok(made)
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let began = Instant::now();
        let made = self.step.finish(cx)?;
        self.note(began, made.as_ref(), cx);
        Ok(made)
    }

    fn reset(&mut self, origins: u32) {
        self.step.reset(origins);
    }

    fn again(&mut self, origins: u32) {
        self.step.again(origins);
    }

    fn is_done(&self) -> bool {
        self.step.is_done()
    }

    fn settles(&self) -> bool {
        self.step.settles()
    }

    fn settle(&mut self, cx: &mut Context<'_>) -> Result<()> {
        let began = Instant::now();
        self.step.settle(cx)?;
        self.note(began, None, cx);
        Ok(())
    }
}
