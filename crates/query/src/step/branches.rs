//! Branches: divides rows between traversals, and collects the results.
//!
//! ```text
//! rows    0 1 2 3        0 and 2 take branch a, 1 and 3 branch b
//!
//! Any                    a(0 2) b(1 3), a batch at a time            nobody reads the order
//! ByRow                  a(0) b(1) a(2) b(3)                         each row alone; of one row, by branch
//! ByBranch               a(0 2 and all others) b(1 3 and others)     a branch has a barrier, which needs all rows anyway
//! ```

use crate::batch::Batch;
use crate::execute::context::Context;
use crate::execute::pipeline::Pipeline;
use crate::execute::waiting::Waiting;
use crate::plan::facts::Pace;
use crate::plan::row_order::RowOrder;
use evergraph_graph::error::Result;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// The order in which the results of branches go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultOrder {
    /// As they come.
    Any,
    /// By the row that they come of. Each branch runs for each row alone, so what it does must not depend on others.
    ByRow,
    /// Those of the first branch, then those of the next, and at last the rows that took none.
    ByBranch,
}

impl ResultOrder {
    /// For rows in `order` and branches of these paces.
    #[must_use]
    pub fn of(order: RowOrder, paces: impl Iterator<Item = Pace>) -> Self {
        if !order.is_kept() {
            return Self::Any;
        }
        match Pace::of_all(paces) {
            Pace::Alone | Pace::AloneAtEnd => Self::ByRow,
            // Rows come one by one: see `Operator::keeps_order_one_by_one`.
            Pace::Remembers => Self::Any,
            Pace::Waits => Self::ByBranch,
        }
    }
}

impl ResultOrder {
    /// The same in a traversal that runs for each row alone: which result is the first counts there, and what one branch gives
    /// comes before what the next does, also if it gives nothing before its end.
    #[must_use]
    pub fn for_each_row(self, paces: impl Iterator<Item = Pace>) -> Self {
        match (self, Pace::of_all(paces)) {
            (Self::Any, Pace::AloneAtEnd | Pace::Waits) => Self::ByBranch,
            (order, _) => order,
        }
    }
}

/// Traversals that share the origins of their parent and end when it ends, with the rows that wait for them.
pub struct Branches {
    pipelines: Vec<Pipeline>,
    order: ResultOrder,
    /// Rows of an input and the branch that they go to; `None` for those that go on as they are.
    waiting: VecDeque<(Option<usize>, Batch)>,
    running: Option<usize>,
    /// Rows for each branch, then those for none, until the last input: see [`ResultOrder::ByBranch`].
    held: Vec<Waiting>,
    finishing: usize,
    /// Of which origins rows went to each branch.
    entered: Vec<HashSet<u32>>,
}

/// Rows of a batch, ascending, and the branch that they take, if any.
type Part = (Option<usize>, Arc<[u32]>);

impl Branches {
    /// Branches that run `pipelines`.
    #[must_use]
    pub fn new(pipelines: Vec<Pipeline>, order: ResultOrder) -> Self {
        let entered = vec![HashSet::new(); pipelines.len()];
        let held = (0..=pipelines.len()).map(|_| Waiting::default()).collect();
        Self { pipelines, order, waiting: VecDeque::new(), running: None, held, finishing: 0, entered }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.pipelines.len()
    }

    /// Whether all rows of the input have been through.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.running.is_none()
    }

    /// Sends the rows of `batch` to their branches.
    ///
    /// # Errors
    /// Errors of the branches; `limit`.
    pub(super) fn send(&mut self, batch: &Batch, parts: Vec<Part>, cx: &mut Context<'_>) -> Result<()> {
        if self.order == ResultOrder::ByRow {
            let made = self.by_row(batch, parts, cx)?;
            self.waiting.push_back((None, made));
            return Ok(());
        }
        for (branch, rows) in parts {
            let rows = if rows.len() == batch.len() { batch.clone() } else { batch.gather(&rows) };
            if rows.is_empty() {
                continue;
            }
            if let Some(branch) = branch {
                // Rows of one origin stand together: one look at each of these is enough.
                let first_of = |row: &usize| *row == 0 || rows.origin[*row] != rows.origin[*row - 1];
                self.entered[branch].extend((0..rows.len()).filter(first_of).map(|row| rows.origin[row]));
            }
            if self.order == ResultOrder::ByBranch {
                self.held[branch.unwrap_or(self.pipelines.len())].push(rows, &mut cx.charge)?;
            } else {
                self.waiting.push_back((branch, rows));
            }
        }
        Ok(())
    }

    /// The next batch of results; takes `input` after all earlier rows are through.
    ///
    /// # Errors
    /// Errors of the branches.
    pub(super) fn pass(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let made = self.next(cx)?;
        if self.is_idle() {
            *input = None;
        }
        Ok(made)
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        loop {
            if let Some(branch) = self.running {
                if let Some(batch) = self.pipelines[branch].pull(false, cx)? {
                    return Ok(Some(batch));
                }
                self.running = None;
            }
            match self.waiting.pop_front() {
                None => return Ok(None),
                Some((None, batch)) => return Ok(Some(batch)),
                Some((Some(branch), batch)) => {
                    self.pipelines[branch].push(batch);
                    self.running = Some(branch);
                }
            }
        }
    }

    /// What becomes of the rows of `batch`, in their order.
    fn by_row(&mut self, batch: &Batch, parts: Vec<Part>, cx: &mut Context<'_>) -> Result<Batch> {
        let mut made = Waiting::default();
        for (branch, rows) in parts {
            // A row stands for itself alone in here, however many it stands for outside.
            let rows = Batch { origin: rows.to_vec(), bulk: None, ..batch.gather(&rows) };
            let Some(branch) = branch else {
                made.push(rows, &mut cx.charge)?;
                continue;
            };
            let pipeline = &mut self.pipelines[branch];
            pipeline.reset(batch.len() as u32);
            pipeline.push(rows);
            while let Some(found) = pipeline.pull(true, cx)? {
                made.push(found, &mut cx.charge)?;
            }
        }
        batch.adopt(made.together(&mut cx.charge)?.0.sort_by_origin())
    }

    /// The next batch after the last input.
    ///
    /// # Errors
    /// Errors of the branches.
    pub(super) fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        while self.finishing <= self.pipelines.len() {
            if let Some(batch) = self.next(cx)? {
                return Ok(Some(batch));
            }
            let branch = (self.finishing < self.pipelines.len()).then_some(self.finishing);
            if let Some(rows) = self.held[self.finishing].pop() {
                self.waiting.push_back((branch, rows));
                continue;
            }
            // Of an origin that took another way, or that nothing came from, not even a count of 0 comes.
            if let Some(branch) = branch
                && !self.entered[branch].is_empty()
                && let Some(batch) = self.pipelines[branch].pull(true, cx)?
            {
                let keep: Vec<bool> =
                    batch.origin.iter().map(|origin| self.entered[branch].contains(origin)).collect();
                return Ok(Some(batch.filter(&keep)));
            }
            self.finishing += 1;
        }
        Ok(None)
    }

    /// Resets the branches for a new run.
    pub(super) fn reset(&mut self, origins: u32) {
        self.pipelines.iter_mut().for_each(|pipeline| pipeline.reset(origins));
        self.begin();
    }

    /// As [`Branches::reset`], for the next loop of a repeat.
    pub(super) fn again(&mut self, origins: u32) {
        self.pipelines.iter_mut().for_each(|pipeline| pipeline.again(origins));
        self.begin();
    }

    fn begin(&mut self) {
        self.waiting.clear();
        self.held.iter_mut().for_each(Waiting::clear);
        self.entered.iter_mut().for_each(HashSet::clear);
        (self.running, self.finishing) = (None, 0);
    }
}
