//! Meter: counts what an export has read, reports progress, and stops on request.

use crate::export::options::ExportProgress;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use std::cell::Cell;

/// How far an export is.
pub struct Meter<'a> {
    progress: &'a dyn Fn(&ExportProgress<'_>),
    cancel: CancelFlag,
    rows_total: u64,
    rows: Cell<u64>,
}

impl<'a> Meter<'a> {
    /// Nothing is read yet of `rows` vertices and edges, which are read twice.
    pub fn new(progress: &'a dyn Fn(&ExportProgress<'_>), cancel: CancelFlag, rows: u64) -> Self {
        Self { progress, cancel, rows_total: rows.saturating_mul(2), rows: Cell::new(0) }
    }

    /// Tells that `rows` more are done, on the way to `file`.
    ///
    /// # Errors
    /// `cancelled`, if the export was asked to stop.
    pub fn tick(&self, file: &str, rows: usize) -> Result<()> {
        self.rows.set(self.rows.get() + rows as u64);
        (self.progress)(&ExportProgress { file, rows: self.rows.get(), rows_total: self.rows_total });
        self.cancel.check()
    }
}
