//! Local children: a traversal that runs for each row of a batch, all rows at once.
//!
//! The rows of the parent's batch are the origins of the child's: its limits and reducers keep state an origin, so
//! that `by(out().count())` counts for each row what it would alone.

use crate::batch::Batch;
use crate::batch::column::Column;
use crate::execute::context::Context;
use crate::execute::pipeline::Pipeline;
use crate::step::bound::ROW_BYTES;
use evergraph_graph::error::Result;

/// A traversal that runs for each row.
pub struct Child {
    pipeline: Pipeline,
}

impl Child {
    /// The child that `pipeline` runs.
    #[must_use]
    pub fn new(pipeline: Pipeline) -> Self {
        Self { pipeline }
    }

    /// Hands all that comes of the rows of `parent` to `sink`, until that says false. The origins are rows of `parent`,
    /// ascending within a batch.
    ///
    /// # Errors
    /// What the child meets.
    pub fn run(
        &mut self,
        parent: &Batch,
        cx: &mut Context<'_>,
        mut sink: impl FnMut(Batch) -> Result<bool>,
    ) -> Result<()> {
        self.begin(parent);
        while let Some(batch) = self.next(cx)? {
            if !sink(batch)? {
                break;
            }
        }
        Ok(())
    }

    /// Begins a run on the rows of `parent`, which are the origins of what [`Child::next`] gives.
    pub fn begin(&mut self, parent: &Batch) {
        self.pipeline.reset(parent.len() as u32);
        // A row stands for itself alone in here, however many it stands for outside.
        let rows = Batch { origin: (0..parent.len() as u32).collect(), bulk: None, ..parent.clone() };
        self.pipeline.push(rows);
    }

    /// The next that comes of the run; `None` at its end.
    ///
    /// # Errors
    /// What the child meets.
    pub fn next(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        self.pipeline.pull(true, cx)
    }

    /// As [`Child::run`], for rows that are in groups already: their origins are the groups, below `groups`. A row
    /// stands for as many as it does outside.
    ///
    /// # Errors
    /// What the child meets.
    pub fn run_grouped(
        &mut self,
        rows: Batch,
        groups: u32,
        cx: &mut Context<'_>,
        mut sink: impl FnMut(Batch) -> Result<bool>,
    ) -> Result<()> {
        self.pipeline.reset(groups);
        self.pipeline.push(rows);
        while let Some(batch) = self.pipeline.pull(true, cx)? {
            if !sink(batch)? {
                break;
            }
        }
        Ok(())
    }

    /// Whether anything comes of each row.
    ///
    /// # Errors
    /// What the child meets.
    pub fn exists(&mut self, parent: &Batch, cx: &mut Context<'_>) -> Result<Vec<bool>> {
        let (mut found, mut left) = (vec![false; parent.len()], parent.len());
        self.run(parent, cx, |batch| {
            for origin in &batch.origin {
                left -= usize::from(!found[*origin as usize]);
                found[*origin as usize] = true;
            }
            Ok(left > 0)
        })?;
        Ok(found)
    }

    /// The first that comes of each row: the rows of which anything does, and what.
    ///
    /// # Errors
    /// What the child meets.
    pub fn first(&mut self, parent: &Batch, cx: &mut Context<'_>) -> Result<(Vec<u32>, Column)> {
        let (mut rows, mut firsts): (Vec<u32>, Vec<Batch>) = (Vec::new(), Vec::new());
        let mut found = vec![false; parent.len()];
        self.run(parent, cx, |batch| {
            let new: Vec<bool> = batch
                .origin
                .iter()
                .map(|origin| !std::mem::replace(&mut found[*origin as usize], true))
                .collect();
            let batch = batch.filter(&new);
            rows.extend(&batch.origin);
            firsts.push(batch);
            Ok(rows.len() < parent.len())
        })?;
        let columns: Vec<&Column> = firsts.iter().map(|batch| &batch.current).collect();
        let column = Column::concat(&columns);
        if rows.is_sorted() {
            return Ok((rows, column));
        }
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        order.sort_by_key(|at| rows[*at as usize]);
        rows.sort_unstable();
        Ok((rows, column.gather(&order.into())))
    }

    /// Everything that comes of the rows, by ascending origin.
    ///
    /// # Errors
    /// What the child meets; `limit`.
    pub fn all(&mut self, parent: &Batch, cx: &mut Context<'_>) -> Result<Batch> {
        let (mut batches, mut held_bytes) = (Vec::new(), 0);
        self.begin(parent);
        while let Some(batch) = self.next(cx)? {
            cx.charge.hold(batch.len() * ROW_BYTES)?;
            held_bytes += batch.len() * ROW_BYTES;
            batches.push(batch);
        }
        cx.charge.free(held_bytes);
        if batches.is_empty() {
            return Ok(Batch::empty());
        }
        Ok(Batch::concat(&batches).sort_by_origin())
    }
}
