//! Graph scan: the records of a memory graph as a source of merges, list by list.
//!
//! Records of one item come from the oldest to the newest, with their timestamps. All vertices are one list, as
//! merges have it; it comes in slices of one vertex. The rank of a record is its place in the scan.

use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::memory_graph::scan::{SortedList, SortedScan};
use crate::merge::list_source::{ListKey, ListSlice, ListSource};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;

/// A scan of a graph that a merge reads. It never fails.
#[derive(Debug)]
pub struct GraphScan<'g> {
    scan: SortedScan<'g>,
    /// The list in front.
    list: Option<ListKey>,
    neighbors: Vec<u32>,
    discriminators: Vec<u16>,
    operations: Vec<RecordOperation>,
    stamps: Vec<Timestamp>,
    first_rank: u64,
}

impl<'g> GraphScan<'g> {
    /// Stands at the first list of `scan`. Memory: twice the longest list.
    #[must_use]
    pub fn new(scan: SortedScan<'g>) -> Self {
        let mut source = Self {
            scan,
            list: None,
            neighbors: Vec::new(),
            discriminators: Vec::new(),
            operations: Vec::new(),
            stamps: Vec::new(),
            first_rank: 0,
        };
        source.load();
        source
    }

    fn load(&mut self) {
        self.first_rank += self.neighbors.len() as u64;
        self.neighbors.clear();
        self.discriminators.clear();
        self.operations.clear();
        self.stamps.clear();
        let Some(SortedList { id, records }) = self.scan.next_list() else {
            self.list = None;
            return;
        };
        let is_vertex = id.subject == Subject::VERTICES;
        let vertex = if is_vertex { VertexId(0) } else { id.vertex };
        self.list = Some(ListKey { subject: id.subject, vertex });
        let neighbor = |item: VertexId| if is_vertex { id.vertex.0 } else { item.0 };
        self.neighbors.extend(records.iter().map(|record| neighbor(record.item.neighbor())));
        if records.iter().any(|record| record.item.discriminator() != 0) {
            self.discriminators.extend(records.iter().map(|record| record.item.discriminator()));
        }
        self.operations.extend(records.iter().map(|record| record.operation));
        self.stamps.extend(records.iter().map(|record| record.timestamp));
    }
}

impl ListSource for GraphScan<'_> {
    type Error = Error;

    fn slice(&self) -> Option<ListSlice<'_>> {
        Some(ListSlice {
            list: self.list?,
            neighbors: &self.neighbors,
            discriminators: &self.discriminators,
            operations: &self.operations,
            stamps: Some(&self.stamps),
            first_rank: self.first_rank,
        })
    }

    fn advance(&mut self) -> Result<()> {
        self.load();
        Ok(())
    }
}
