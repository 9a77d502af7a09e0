//! Run buffer: the records of a merged run while they are gathered.

use crate::format::operation::RecordOperation;
use crate::format::tree_key::ItemKey;
use crate::merge::list_cursor::ListCursor;
use crate::merge::list_source::ListKey;
use crate::merge::merged_run::{LaterSet, MergedRun, Origin, PropertyRun};
use evergraph_graph::id::VertexId;

/// Records of the output that wait to be handed out.
#[derive(Debug, Default)]
pub(super) struct RunBuffer {
    neighbors: Vec<u32>,
    /// Empty as long as all are 0.
    discriminators: Vec<u16>,
    /// Empty as long as all are Inserts.
    operations: Vec<RecordOperation>,
    property_runs: Vec<PropertyRun>,
    pub(super) later_sets: Vec<LaterSet>,
}

impl RunBuffer {
    pub(super) fn clear(&mut self) {
        self.neighbors.clear();
        self.discriminators.clear();
        self.operations.clear();
        self.property_runs.clear();
        self.later_sets.clear();
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.neighbors.len()
    }

    /// Appends one record; its Sets are in `later_sets`.
    #[inline]
    pub(super) fn push(&mut self, key: ItemKey, operation: RecordOperation, base: Origin) {
        debug_assert!(self.neighbors.last().is_none_or(|last| {
            ItemKey::edge(VertexId(*last), self.discriminators.last().copied().unwrap_or(0)) < key
        }));
        if key.discriminator() > 0 || !self.discriminators.is_empty() {
            self.discriminators.resize(self.neighbors.len(), 0);
            self.discriminators.push(key.discriminator());
        }
        if operation != RecordOperation::Insert || !self.operations.is_empty() {
            self.operations.resize(self.neighbors.len(), RecordOperation::Insert);
            self.operations.push(operation);
        }
        self.neighbors.push(key.neighbor().0);
        self.push_run(PropertyRun { first: base, count: 1 });
    }

    /// Appends the next `count` records of `cursor`, which is of source `source`, and takes them from it.
    pub(super) fn take_from(&mut self, cursor: &mut ListCursor, source: usize, count: usize) {
        if count == 0 {
            return;
        }
        let (first_record, records) = (self.len(), cursor.front(count));
        self.neighbors.extend(records.keys.iter().map(|key| key.neighbor().0));
        if records.has_discriminators {
            self.discriminators.resize(first_record, 0);
            self.discriminators.extend(records.keys.iter().map(|key| key.discriminator()));
        } else if !self.discriminators.is_empty() {
            self.discriminators.resize(self.neighbors.len(), 0);
        }
        if records.operations.iter().any(|one| *one != RecordOperation::Insert) {
            self.operations.resize(first_record, RecordOperation::Insert);
            self.operations.extend_from_slice(records.operations);
        } else if !self.operations.is_empty() {
            self.operations.resize(self.neighbors.len(), RecordOperation::Insert);
        }
        match records.ranks {
            None => {
                let rank = records.first_rank;
                self.push_run(PropertyRun { first: Origin { source, rank }, count });
            }
            Some(ranks) => {
                for rank in ranks {
                    self.push_run(PropertyRun { first: Origin { source, rank: *rank }, count: 1 });
                }
            }
        }
        let position = records.position;
        let moved =
            |set: &LaterSet| LaterSet { record: set.record - position + first_record, origin: set.origin };
        self.later_sets.extend(records.later_sets.iter().map(moved));
        cursor.skip(count);
    }

    /// Makes the buffer the plan of a run that is passed on as it is.
    pub(super) fn plan_whole(&mut self, first: Origin, count: usize) {
        debug_assert!(self.neighbors.is_empty(), "a run of this buffer was handed out before");
        self.property_runs.clear();
        self.property_runs.push(PropertyRun { first, count });
    }

    /// The plan.
    pub(super) fn property_runs(&self) -> &[PropertyRun] {
        &self.property_runs
    }

    /// All of it, as records of `list`.
    pub(super) fn run(&self, list: ListKey) -> MergedRun<'_> {
        MergedRun {
            list,
            neighbors: &self.neighbors,
            discriminators: &self.discriminators,
            operations: &self.operations,
            property_runs: &self.property_runs,
            later_sets: &self.later_sets,
        }
    }

    #[inline]
    fn push_run(&mut self, run: PropertyRun) {
        match self.property_runs.last_mut() {
            Some(last)
                if last.first.source == run.first.source
                    && last.first.rank + last.count as u64 == run.first.rank =>
            {
                last.count += run.count;
            }
            _ => self.property_runs.push(run),
        }
    }
}
