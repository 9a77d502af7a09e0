//! Parallel: runs a part of a query on several threads, a batch of rows each.
//!
//! ```text
//! rows ──> batches wait ──> [ steps ... partial result ]   thread 1 ──┐
//!          a group at once  [ steps ... partial result ]   thread 2 ──┴──> the whole result
//! ```
//!
//! Every thread has steps of its own, made from the same operators, and keeps them from group to group; what each found is
//! put together behind. A query with few rows never leaves its thread. Source: G-Tran, section 5.2, where the steps of one
//! query run on all threads of a machine.

use crate::batch::Batch;
use crate::execute::context::{Context, Graph};
use crate::execute::pending_batches::PendingBatches;
use crate::execute::pipeline::{Pipeline, Step};
use crate::execute::step_measures::Measurements;
use evergraph_graph::error::Result;
use evergraph_graph::wait_limit::WaitLimit;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Batches that wait for a group: enough that threads seldom wait for each other.
const GROUP: usize = 64;
/// Fewer batches than this are run where they are.
const FEW: usize = 8;

/// Builds the steps for one more thread.
pub type MakeWorker = Box<dyn Fn() -> Result<Pipeline> + Send>;

/// Steps on several threads.
pub struct Parallel {
    /// At least one; the others are made once there are many rows.
    workers: Vec<Pipeline>,
    make: MakeWorker,
    waiting: PendingBatches,
    found: PendingBatches,
    /// Workers that had any rows, from the first on.
    used: usize,
    origins: u32,
    finished: bool,
}

impl Parallel {
    /// The steps that `first` has, which are those that `make` makes, for each thread.
    #[must_use]
    pub fn new(first: Pipeline, make: MakeWorker) -> Self {
        Self {
            workers: vec![first],
            make,
            origins: 1,
            waiting: PendingBatches::default(),
            found: PendingBatches::default(),
            used: 0,
            finished: false,
        }
    }

    /// Adds `more` of the same.
    pub fn add(&mut self, more: Vec<Pipeline>) {
        self.workers.extend(more);
    }

    /// Makes what is missing of so many workers.
    fn grow(&mut self, threads: usize) -> Result<()> {
        while self.workers.len() < threads {
            let mut worker = (self.make)()?;
            worker.reset(self.origins);
            self.workers.push(worker);
        }
        Ok(())
    }

    /// Runs all that waits; with `ended`, to the end of each worker.
    fn run(&mut self, ended: bool, cx: &mut Context<'_>) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let few = waiting.len() < FEW && self.used <= 1;
        let threads = if few { 1 } else { cx.charge.threads() };
        self.grow(threads)?;
        self.used = self.used.max(threads);
        if threads == 1 && self.used == 1 {
            let mut waiting = waiting;
            while let Some(batch) = waiting.pop() {
                self.workers[0].push(batch);
                while let Some(found) = self.workers[0].pull(false, cx)? {
                    self.found.push(found, &mut cx.charge)?;
                }
            }
            while ended && let Some(found) = self.workers[0].pull(true, cx)? {
                self.found.push(found, &mut cx.charge)?;
            }
            return Ok(());
        }
        // Relaxed: the number is all that threads tell each other.
        let next = AtomicUsize::new(0);
        let batches: Vec<&Batch> = waiting.iter().collect();
        let work =
            |worker: &mut Pipeline, mut context: Context<'_>| -> Result<(PendingBatches, Measurements)> {
                let mut found = PendingBatches::default();
                while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                    worker.push((*batch).clone());
                    while let Some(batch) = worker.pull(false, &mut context)? {
                        found.push(batch, &mut context.charge)?;
                    }
                }
                while ended && let Some(batch) = worker.pull(true, &mut context)? {
                    found.push(batch, &mut context.charge)?;
                }
                Ok((found, context.measurements))
            };
        let done = Mutex::new(Vec::with_capacity(threads));
        let (view, charge, kernels) = (cx.view(), &cx.charge, cx.kernels);
        let (measurements, computed, waits) = (&cx.measurements, &cx.computed, WaitLimit::of_thread());
        // While this thread waits for its workers, it may be given work of another query, whose waits this one does not limit.
        let _apart = WaitLimit::default().enter();
        rayon::scope(|scope| {
            for worker in &mut self.workers[..self.used] {
                let mut context = Context::new(Graph::Read(view), charge.clone(), kernels);
                context.measurements = measurements.begin_again();
                context.computed = computed.clone();
                let (work, done, waits) = (&work, &done, waits.clone());
                scope.spawn(move |_| {
                    let _waits = waits.enter();
                    let found = work(worker, context);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(found);
                });
            }
        });
        for found in done.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let (found, measurements) = found?;
            self.found.append(found);
            cx.measurements.add(&measurements);
        }
        Ok(())
    }
}

impl Step for Parallel {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if let Some(batch) = input.take() {
            self.waiting.push(batch, &mut cx.charge)?;
            if self.waiting.len() >= GROUP {
                self.run(false, cx)?;
            }
        }
        Ok(self.found.pop())
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if !std::mem::replace(&mut self.finished, true) {
            self.run(true, cx)?;
        }
        Ok(self.found.pop())
    }

    fn reset(&mut self, origins: u32) {
        self.workers.iter_mut().for_each(|worker| worker.reset(origins));
        self.origins = origins;
        self.waiting.clear();
        self.found.clear();
        (self.used, self.finished) = (0, false);
    }
}
