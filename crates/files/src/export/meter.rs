//! Meter: counts what an export has read, reports progress, and stops on request.

use crate::export::options::{ExportPhase, ExportProgress};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use std::cell::Cell;
use std::time::Instant;

/// How far an export is.
pub struct Meter<'a> {
    progress: &'a dyn Fn(&ExportProgress<'_>),
    cancel: CancelFlag,
    rows_total: u64,
    rows: Cell<u64>,
    phase: Cell<ExportPhase>,
    began: Cell<Instant>,
}

impl<'a> Meter<'a> {
    /// Nothing is surveyed yet of `rows` vertices and edges.
    pub fn new(progress: &'a dyn Fn(&ExportProgress<'_>), cancel: CancelFlag, rows: u64) -> Self {
        Self {
            progress,
            cancel,
            rows_total: rows,
            rows: Cell::new(0),
            phase: Cell::new(ExportPhase::Look),
            began: Cell::new(Instant::now()),
        }
    }

    /// All is surveyed; from now on `tick` counts what is written.
    pub fn begin_writing(&self) {
        self.phase.set(ExportPhase::Write);
        self.rows.set(0);
        self.began.set(Instant::now());
    }

    /// Tells that `rows` more are surveyed, or written to `file`.
    ///
    /// # Errors
    /// `cancelled`, if the export was asked to stop.
    pub fn tick(&self, file: &str, rows: usize) -> Result<()> {
        self.rows.set(self.rows.get() + rows as u64);
        (self.progress)(&ExportProgress {
            phase: self.phase.get(),
            file,
            rows: self.rows.get(),
            rows_total: self.rows_total,
            elapsed: self.began.get().elapsed(),
        });
        self.cancel.check()
    }
}
