//! Portions: hands on a result of any size in batches of the usual size.

use crate::batch::Batch;
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use crate::execute::waiting::Giving;
use evergraph_graph::error::Result;

/// A step whose batches go on in portions.
pub struct InPortions {
    step: Box<dyn Step>,
    /// What was made and hasn't gone on yet.
    giving: Option<Giving>,
    /// Whether the step is through with its input, in whose place an empty batch stands until all has gone on.
    is_through: bool,
}

impl InPortions {
    /// What `step` makes.
    #[must_use]
    pub fn new(step: Box<dyn Step>) -> Self {
        Self { step, giving: None, is_through: false }
    }

    fn begin(&mut self) {
        (self.giving, self.is_through) = (None, false);
    }
}

impl Step for InPortions {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let rows_max = cx.charge.batch_rows();
        if let Some(giving) = &mut self.giving {
            if let Some(portion) = giving.next(rows_max) {
                return Ok(Some(portion));
            }
            self.giving = None;
            if std::mem::take(&mut self.is_through) {
                *input = None;
                return Ok(None);
            }
        }
        let Some(batch) = self.step.process(input, cx)? else { return Ok(None) };
        if batch.len() <= rows_max {
            return Ok(Some(batch));
        }
        self.is_through = input.is_none();
        input.get_or_insert_with(Batch::empty);
        Ok(self.giving.insert(Giving::new(batch, &mut cx.charge)?).next(rows_max))
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        self.step.finish(cx)
    }

    fn reset(&mut self, origins: u32) {
        self.begin();
        self.step.reset(origins);
    }

    fn again(&mut self, origins: u32) {
        self.begin();
        self.step.again(origins);
    }

    fn is_done(&self) -> bool {
        self.giving.is_none() && self.step.is_done()
    }

    fn settles(&self) -> bool {
        self.step.settles()
    }

    fn settle(&mut self, cx: &mut Context<'_>) -> Result<()> {
        self.step.settle(cx)
    }
}
