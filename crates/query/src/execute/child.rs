//! Children: traversals that run for each row of a batch, for all rows at once.
//!
//! The rows of the parent's batch are the origins of the child's: its limits and reducers keep state an origin, so
//! that `by(out().count())` counts for each row what it would alone.

use crate::batch::Batch;
use crate::batch::column::Column;
use crate::execute::context::Context;
use crate::execute::limits::Holding;
use crate::execute::pipeline::Pipeline;
use crate::execute::waiting::Waiting;
use evergraph_graph::error::Result;

/// A traversal that runs for each row.
pub struct Child {
    pipeline: Pipeline,
}

impl Child {
    /// A child that runs `pipeline`.
    #[must_use]
    pub fn new(pipeline: Pipeline) -> Self {
        Self { pipeline }
    }

    /// Hands all that comes of the rows of `parent` to `sink`, until that says false. The origins are rows of `parent`,
    /// ascending within a batch.
    ///
    /// # Errors
    /// Errors of the child.
    pub fn run(
        &mut self,
        parent: &Batch,
        cx: &mut Context<'_>,
        mut sink: impl FnMut(Batch, &mut Context<'_>) -> Result<bool>,
    ) -> Result<()> {
        self.begin(parent);
        while let Some(batch) = self.next(cx)? {
            if !sink(batch, cx)? {
                break;
            }
        }
        Ok(())
    }

    /// Begins a run on the rows of `parent`, which are the origins of the results of [`Child::next`].
    pub fn begin(&mut self, parent: &Batch) {
        self.pipeline.reset(parent.len() as u32);
        // A row stands for itself alone in here, however many it stands for outside.
        let rows = Batch { origin: (0..parent.len() as u32).collect(), bulk: None, ..parent.clone() };
        self.pipeline.push(rows);
    }

    /// The next results of the run; `None` at its end.
    ///
    /// # Errors
    /// Errors of the child.
    pub fn next(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        self.pipeline.pull(true, cx)
    }

    /// As [`Child::run`], for rows that are in groups already: their origins are the groups, below `groups`. A row
    /// stands for as many as it does outside.
    ///
    /// # Errors
    /// Errors of the child.
    pub fn run_grouped(
        &mut self,
        rows: Batch,
        groups: u32,
        cx: &mut Context<'_>,
        mut sink: impl FnMut(Batch, &mut Context<'_>) -> Result<bool>,
    ) -> Result<()> {
        self.pipeline.reset(groups);
        self.pipeline.push(rows);
        while let Some(batch) = self.pipeline.pull(true, cx)? {
            if !sink(batch, cx)? {
                break;
            }
        }
        Ok(())
    }

    /// Whether each row has a result.
    ///
    /// # Errors
    /// Errors of the child.
    pub fn exists(&mut self, parent: &Batch, cx: &mut Context<'_>) -> Result<Vec<bool>> {
        let (mut found, mut left) = (vec![false; parent.len()], parent.len());
        self.run(parent, cx, |batch, _| {
            for origin in &batch.origin {
                left -= usize::from(!found[*origin as usize]);
                found[*origin as usize] = true;
            }
            Ok(left > 0)
        })?;
        Ok(found)
    }

    /// The first result of each row: the rows that have one, and the results.
    ///
    /// # Errors
    /// Errors of the child.
    pub fn first(&mut self, parent: &Batch, cx: &mut Context<'_>) -> Result<(Vec<u32>, Column)> {
        let (mut rows, mut firsts): (Vec<u32>, Vec<Column>) = (Vec::new(), Vec::new());
        let mut holding = Holding::default();
        let mut found = vec![false; parent.len()];
        self.run(parent, cx, |batch, cx| {
            let new: Vec<bool> = batch
                .origin
                .iter()
                .map(|origin| !std::mem::replace(&mut found[*origin as usize], true))
                .collect();
            let batch = batch.filter(&new);
            rows.extend(&batch.origin);
            let current = batch.current.trimmed();
            holding.join(cx.charge.holding(current.extent().heap_bytes)?);
            firsts.push(current);
            Ok(rows.len() < parent.len())
        })?;
        let columns: Vec<&Column> = firsts.iter().collect();
        let column = Column::concat(&columns);
        if rows.is_sorted() {
            return Ok((rows, column));
        }
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        order.sort_by_key(|at| rows[*at as usize]);
        rows.sort_unstable();
        Ok((rows, column.gather(&order.into())))
    }

    /// All results of the rows, by ascending origin, and their memory.
    ///
    /// # Errors
    /// Errors of the child; `limit`.
    pub fn all(&mut self, parent: &Batch, cx: &mut Context<'_>) -> Result<(Batch, Holding)> {
        let mut batches = Waiting::default();
        self.run(parent, cx, |batch, cx| batches.push(batch, &mut cx.charge).map(|()| true))?;
        let (all, holding) = batches.together(&mut cx.charge)?;
        Ok((all.sort_by_origin(), holding))
    }
}
