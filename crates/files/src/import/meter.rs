//! Meter: counts what an import has read, reports progress, and stops on request.

use crate::import::bytes::source::BytesRead;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_graph::load::ReadProgress;

/// How far an import is.
pub struct Meter<'a> {
    progress: &'a dyn Fn(ReadProgress<'_>),
    cancel: CancelFlag,
    bytes_total: Option<u64>,
    /// Bytes and rows of the files that are finished.
    bytes_before: u64,
    rows_before: u64,
}

impl<'a> Meter<'a> {
    /// Nothing is read yet of `bytes_total` bytes.
    pub fn new(progress: &'a dyn Fn(ReadProgress<'_>), cancel: CancelFlag, bytes_total: Option<u64>) -> Self {
        Self { progress, cancel, bytes_total, bytes_before: 0, rows_before: 0 }
    }

    /// Tells that `rows` rows were taken from `file` so far.
    ///
    /// # Errors
    /// `cancelled`, if the import was asked to stop.
    pub fn tick(&self, file: &str, bytes: &BytesRead, rows: u64) -> Result<()> {
        (self.progress)(ReadProgress {
            file,
            bytes_read: self.bytes_before + bytes.get(),
            bytes_total: self.bytes_total,
            rows: self.rows_before + rows,
        });
        self.cancel.check()
    }

    /// Tells that a file is finished, which had `rows` rows.
    pub fn finish_file(&mut self, bytes: &BytesRead, rows: u64) {
        self.bytes_before += bytes.get();
        self.rows_before += rows;
    }
}
