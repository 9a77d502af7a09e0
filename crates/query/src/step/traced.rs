//! Paths: a step that moves traversers also makes their paths longer.

use crate::batch::Batch;
use crate::batch::path::PathId;
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use evergraph_graph::error::Result;

/// A step after which traversers are elsewhere, in a query that asks where they have been.
pub struct Traced(pub Box<dyn Step>);

fn longer(batch: Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
    let Some(mut batch) = batch else { return Ok(None) };
    let mut paths = batch.path.take().unwrap_or_else(|| vec![PathId::ROOT; batch.len()]);
    for (path, item) in paths.iter_mut().zip(batch.current.items()) {
        *path = cx.extend_path(*path, item)?;
    }
    batch.path = Some(paths);
    Ok(Some(batch))
}

impl Step for Traced {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let made = self.0.process(input, cx)?;
        longer(made, cx)
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let made = self.0.finish(cx)?;
        longer(made, cx)
    }

    fn reset(&mut self, origins: u32) {
        self.0.reset(origins);
    }

    fn again(&mut self, origins: u32) {
        self.0.again(origins);
    }

    fn is_done(&self) -> bool {
        self.0.is_done()
    }

    fn settles(&self) -> bool {
        self.0.settles()
    }

    fn settle(&mut self, cx: &mut Context<'_>) -> Result<()> {
        self.0.settle(cx)
    }
}
