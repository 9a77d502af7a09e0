//! List buffer: a whole page of lists, decoded; used again for the next page.

use crate::format::lists::record::ListRecord;
use crate::format::operation::RecordOperation;
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;
use std::ops::Range;

/// The lists of one page, decoded. Its memory, at most 300 KB without flags, is taken once and reused by
/// every page after.
#[derive(Clone, Debug, Default)]
pub struct ListBuffer {
    /// A vertex for each list.
    pub(super) vertices: Vec<u32>,
    /// Where each list ends among the values.
    pub(super) ends: Vec<u32>,
    /// The first `values` are neighbours; the rest is what unpacking left.
    pub(super) neighbors: Vec<u32>,
    pub(super) values: usize,
    /// Empty: all are zero.
    pub(super) discriminators: Vec<u16>,
    /// Empty: all are inserts.
    pub(super) operations: Vec<RecordOperation>,
    /// Empty: the file has none.
    pub(super) stamps: Vec<Timestamp>,
}

impl ListBuffer {
    /// Number of lists.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.vertices.len()
    }

    /// Whether there are no lists.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.vertices.is_empty()
    }

    /// The neighbours of all lists, one list behind the other.
    #[must_use]
    #[inline]
    pub fn neighbors(&self) -> &[u32] {
        &self.neighbors[..self.values]
    }

    /// Each list: its vertex, and the range of its values. A list's range is not empty, except in a
    /// damaged page.
    #[inline]
    pub fn lists(&self) -> impl Iterator<Item = (VertexId, Range<usize>)> + '_ {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ranges = starts.zip(&self.ends).map(|(start, end)| start as usize..*end as usize);
        self.vertices.iter().map(|vertex| VertexId(*vertex)).zip(ranges)
    }

    /// The discriminators of all values; empty if all are zero, and after `decode_lists`.
    #[must_use]
    #[inline]
    pub fn discriminators(&self) -> &[u16] {
        &self.discriminators
    }

    /// The operations of all values; empty if all are inserts, and after `decode_lists`.
    #[must_use]
    #[inline]
    pub fn operations(&self) -> &[RecordOperation] {
        &self.operations
    }

    /// The stamps of all values; empty in a file without stamps, and after `decode_lists`.
    #[must_use]
    #[inline]
    pub fn stamps(&self) -> &[Timestamp] {
        &self.stamps
    }

    /// All values as records, in order. Cost: some 2 ns a record.
    pub fn records(&self) -> impl Iterator<Item = ListRecord> + '_ {
        self.lists().flat_map(move |(vertex, range)| range.map(move |at| self.record(vertex, at)))
    }

    /// Value `at`, which is in the list of `vertex`, as a record.
    ///
    /// # Panics
    /// If there is no such value.
    #[must_use]
    #[inline]
    pub fn record(&self, vertex: VertexId, at: usize) -> ListRecord {
        ListRecord {
            vertex,
            neighbor: VertexId(self.neighbors()[at]),
            discriminator: self.discriminators.get(at).copied().unwrap_or(0),
            operation: self.operations.get(at).copied().unwrap_or(RecordOperation::Insert),
            stamp: self.stamps.get(at).copied().unwrap_or(Timestamp::ZERO),
        }
    }
}
