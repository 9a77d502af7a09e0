//! Sorted run: what the records of one or several memory graphs come to at one timestamp, as sorted arrays.
//!
//! ```text
//! graphs, newest first --scan, merge--> lists       (subject, vertex) ...        12 bytes a list
//!                                       starts      where each list begins
//!                                       neighbors   discriminators  operations   7 bytes a record, mostly 5
//! ```
//!
//! One record an item, no stamps: a merge passes a list on as it is where no file has it. Deletes stay, since files
//! below may have their items. Properties stay in the graphs.
//!
//! Source: disk-engine, section 6. Differs: 5 to 7 bytes a record and 12 a list in place of 12 a record.

use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::format::tree_key::ListId;
use crate::memory_graph::graph::MemoryGraph;
use crate::memory_graph::graph_scan::GraphScan;
use crate::merge::delete_rule::{Below, DeleteRule};
use crate::merge::list_merge::ListMerge;
use crate::merge::list_source::{ListKey, ListSlice, ListSource};
use crate::merge::merged_run::MergedRun;
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Records that a slice has at most.
const SLICE_RECORDS_MAX: usize = 4096;

/// Net records of memory graphs, in key order.
pub struct SortedRun {
    /// Ascending.
    lists: Vec<ListKey>,
    /// Where the records of each list begin, and where the last one's end.
    starts: Vec<u32>,
    neighbors: Vec<u32>,
    /// Empty if all are 0.
    discriminators: Vec<u16>,
    operations: Vec<RecordOperation>,
    /// Of the arrays, as long as they live.
    _reservation: Reservation,
}

impl fmt::Debug for SortedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lists, records) = (self.lists.len(), self.neighbors.len());
        f.debug_struct("SortedRun").field("lists", &lists).field("records", &records).finish_non_exhaustive()
    }
}

impl SortedRun {
    /// The records that a snapshot at `timestamp` sees of `graphs`, the newest graph first, in the subjects that are
    /// `wanted`.
    ///
    /// Cost: a sort of each list and one merge, 100 to 200 ns a record.
    ///
    /// # Errors
    /// `limit` if the budget refuses, or for more than 2^32 records; `corrupt` if records of two graphs contradict
    /// each other: a graph is missing.
    pub fn new(
        graphs: &[Arc<MemoryGraph>],
        timestamp: Timestamp,
        wanted: impl Fn(Subject) -> bool,
        budget: &Arc<dyn Budget>,
    ) -> Result<Self> {
        let mut size = (0, 0);
        for graph in graphs {
            let (lists, records) = graph.at(timestamp).size_of_subjects(&wanted);
            size = (size.0 + lists, size.1 + records);
        }
        let (lists, records) = size;
        if records > u64::from(u32::MAX) {
            let text = "memory graphs have more than 2^32 records: wait until they are flushed";
            return Err(Error::new(ErrorKind::Limit, text));
        }
        let bytes = lists * (size_of::<ListKey>() + 4) as u64 + 4 + records * 7;
        // Ahead of the arrays.
        let reservation = budget.reserve("records of memory graphs", bytes)?;
        let mut run = Self {
            lists: Vec::with_capacity(lists as usize),
            starts: Vec::with_capacity(lists as usize + 1),
            neighbors: Vec::with_capacity(records as usize),
            discriminators: Vec::new(),
            operations: Vec::with_capacity(records as usize),
            _reservation: reservation,
        };
        let scans =
            graphs.iter().map(|graph| GraphScan::new(graph.at(timestamp).scan_subjects(&wanted))).collect();
        let mut merge = ListMerge::new(scans, timestamp, DeleteRule::new(Below::OlderRecords, []));
        while let Some(records) = merge.next_run()? {
            run.push(&records, size.1 as usize);
        }
        run.starts.push(run.neighbors.len() as u32);
        Ok(run)
    }

    fn push(&mut self, records: &MergedRun<'_>, records_max: usize) {
        let before = self.neighbors.len();
        if self.lists.last() != Some(&records.list) {
            self.lists.push(records.list);
            self.starts.push(before as u32);
        }
        self.neighbors.extend_from_slice(records.neighbors);
        let are_parallel = records.discriminators.iter().any(|one| *one != 0);
        if are_parallel && self.discriminators.is_empty() {
            self.discriminators.reserve_exact(records_max);
            self.discriminators.resize(before, 0);
        }
        if are_parallel {
            self.discriminators.extend_from_slice(records.discriminators);
        } else if !self.discriminators.is_empty() {
            self.discriminators.resize(self.neighbors.len(), 0);
        }
        match records.operations {
            [] => self.operations.resize(self.neighbors.len(), RecordOperation::Insert),
            operations => self.operations.extend_from_slice(operations),
        }
    }

    /// How many records there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.neighbors.len()
    }

    /// Whether the graphs have no visible record of the subjects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.neighbors.is_empty()
    }

    /// The lists of a range of vertices in one subject, as a source of a merge. Cost: two binary searches.
    #[must_use]
    pub fn scan(&self, subject: Subject, vertices: Range<u32>) -> RunScan<'_> {
        let place = |vertex| {
            let key = ListKey { subject, vertex: VertexId(vertex) };
            self.lists.partition_point(|list| *list < key)
        };
        let list = place(vertices.start);
        let end = place(vertices.end).max(list);
        RunScan { run: self, list, end, record: self.starts[list] as usize }
    }

    /// Whether there are records of a list. Cost: a binary search.
    #[must_use]
    pub fn has_list(&self, list: ListId) -> bool {
        let ListId { subject, vertex } = list;
        self.lists.binary_search(&ListKey { subject, vertex }).is_ok()
    }

    fn slice(&self, list: usize, records: Range<usize>) -> ListSlice<'_> {
        ListSlice {
            list: self.lists[list],
            neighbors: &self.neighbors[records.clone()],
            discriminators: self.discriminators.get(records.clone()).unwrap_or_default(),
            operations: &self.operations[records.clone()],
            stamps: None,
            first_rank: records.start as u64,
        }
    }
}

/// A walk through some lists of a [`SortedRun`]. The rank of a record is its place in the run.
#[derive(Clone, Debug)]
pub struct RunScan<'r> {
    run: &'r SortedRun,
    /// The list in front.
    list: usize,
    /// The first list behind the range.
    end: usize,
    /// The record in front.
    record: usize,
}

impl RunScan<'_> {
    /// Where the slice in front ends.
    fn slice_end(&self) -> usize {
        (self.run.starts[self.list + 1] as usize).min(self.record + SLICE_RECORDS_MAX)
    }
}

impl ListSource for RunScan<'_> {
    type Error = Error;

    fn slice(&self) -> Option<ListSlice<'_>> {
        (self.list < self.end).then(|| self.run.slice(self.list, self.record..self.slice_end()))
    }

    fn advance(&mut self) -> Result<()> {
        if self.list < self.end {
            self.record = self.slice_end();
            self.list += usize::from(self.record == self.run.starts[self.list + 1] as usize);
        }
        Ok(())
    }
}
