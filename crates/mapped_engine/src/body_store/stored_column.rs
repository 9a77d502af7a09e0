//! Stored column: the values of one property, where they lie in an array file.
//!
//! Nothing of it stays in the heap: values are read in place or copied for the time of a read, so that a scan of a database
//! takes no more memory than what it returns.

use crate::body_store::extent_bytes::ExtentBytes;
use evergraph_graph::bytes::Reader;
use evergraph_graph::column::ValueSink;
use evergraph_graph::error::Result;
use evergraph_graph::packed_column::column::PackedColumn;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::checkpoint::column_form::{item_at, items_at, plain_floats, take_column};
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use std::ops::Range;
use std::sync::Arc;
use zerocopy::FromBytes;

/// Items that are in the heap at a time while many are read.
const ITEMS_AT_ONCE: usize = 4096;

/// A column in an array file.
///
/// Concurrency: any thread reads; nothing in it changes.
#[derive(Debug)]
pub struct StoredColumn {
    extent: ExtentBytes,
    base: Timestamp,
}

impl StoredColumn {
    /// The column in `extent`, whose header says `base`. Nothing is read yet.
    #[must_use]
    pub fn new(extent: ExtentBytes, base: Timestamp) -> Self {
        Self { extent, base }
    }

    /// Where it lies.
    #[must_use]
    pub fn extent(&self) -> &ExtentBytes {
        &self.extent
    }

    /// The base of the merge that wrote it.
    #[must_use]
    pub fn base(&self) -> Timestamp {
        self.base
    }

    /// All values, in the heap. Cost: as [`take_column`].
    ///
    /// # Errors
    /// `corrupt`, naming file and byte.
    pub fn decode(&self) -> CheckpointResult<Arc<PackedColumn>> {
        let mut reader = Reader::new(self.extent.payload()?);
        let column = take_column(&mut reader, |_| true).map_err(|error| self.corrupt(&error.to_string()))?;
        if !reader.is_empty() {
            return Err(self.corrupt(&format!("{} bytes behind a column", reader.remaining())));
        }
        Ok(Arc::new(column))
    }

    /// The values of the items of `range`, in the heap; the column has them. Cost: as [`items_at`].
    ///
    /// # Errors
    /// As [`StoredColumn::decode`].
    pub fn part(&self, range: Range<usize>) -> CheckpointResult<PackedColumn> {
        let part = items_at(self.extent.payload()?, range);
        part.map_err(|error| self.corrupt(&error.to_string()))
    }

    /// All values where they lie, if they are `f64` and every item has one. Cost: constant.
    ///
    /// # Errors
    /// As [`StoredColumn::decode`].
    pub fn floats(&self) -> CheckpointResult<Option<&[f64]>> {
        let bytes = plain_floats(self.extent.payload()?).map_err(|error| self.corrupt(&error.to_string()))?;
        let floats = bytes.map(<[f64]>::ref_from_bytes).transpose();
        floats.map_err(|_| self.corrupt("numbers at a multiple of their size expected"))
    }

    /// The value of item `at`; none beyond the end.
    ///
    /// # Errors
    /// As [`StoredColumn::decode`].
    pub fn value(&self, at: usize) -> Result<Option<Value>> {
        if at >= self.items()? {
            return Ok(None);
        }
        let value = item_at(self.extent.payload()?, at);
        Ok(value.map_err(|error| self.corrupt(&error.to_string()))?)
    }

    /// Hands the values of the items of `range` to `values`, none for those beyond the end. Cost: a copy of them, some
    /// thousand at a time.
    ///
    /// # Errors
    /// As [`StoredColumn::decode`].
    pub fn put(&self, range: Range<usize>, values: &mut dyn ValueSink) -> Result<()> {
        let items = self.items()?;
        let mut from = range.start;
        while from < range.end.min(items) {
            let to = range.end.min(items).min(from + ITEMS_AT_ONCE);
            if to - from == 1 {
                values.put(self.value(from)?);
            } else {
                values.put_stored(Some(&self.part(from..to)?), 0..to - from);
            }
            from = to;
        }
        values.put_stored(None, from..range.end);
        Ok(())
    }

    /// How many items it has, with and without a value.
    ///
    /// # Errors
    /// As [`StoredColumn::decode`].
    pub fn items(&self) -> CheckpointResult<usize> {
        let head = self.extent.payload()?.get(4..8).and_then(|bytes| bytes.first_chunk());
        let items = head.map(|bytes| u32::from_le_bytes(*bytes) as usize);
        items.ok_or_else(|| self.corrupt("a column expected"))
    }

    /// Bytes of its payload.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.extent.place().payload_bytes
    }

    fn corrupt(&self, problem: &str) -> CheckpointError {
        self.extent.corrupt(problem.to_owned())
    }
}
