//! List records: a source of lists in memory, cut into slices anywhere, and the records that a merge gives.

use evergraph_disk_engine::format::operation::RecordOperation;
use evergraph_disk_engine::format::subject::Subject;
use evergraph_disk_engine::merge::delete_rule::DeleteRule;
use evergraph_disk_engine::merge::group_counts::{GroupCount, GroupCounts};
use evergraph_disk_engine::merge::list_merge::ListMerge;
use evergraph_disk_engine::merge::list_source::{ListKey, ListSlice, ListSource};
use evergraph_disk_engine::merge::merge_error::MergeError;
use evergraph_disk_engine::merge::merged_run::{MergedRun, Origin};
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;
use std::convert::Infallible;

/// Subject, vertex, neighbour, discriminator.
pub type Key = (Subject, u32, u32, u16);

pub fn list_of(key: Key) -> ListKey {
    ListKey { subject: key.0, vertex: VertexId(key.1) }
}

/// Records of one list that are shown at once.
struct OwnedSlice {
    list: ListKey,
    neighbors: Vec<u32>,
    discriminators: Vec<u16>,
    operations: Vec<RecordOperation>,
    stamps: Option<Vec<Timestamp>>,
    first_rank: u64,
}

/// A source in memory. The rank of a record is its place.
pub struct MemorySource {
    slices: Vec<OwnedSlice>,
    position: usize,
}

impl MemorySource {
    /// Holds `records`, in slices that end before the records for which `ends_before` says so.
    pub fn new(
        records: &[(Key, RecordOperation)],
        stamps: Option<&[Timestamp]>,
        ends_before: impl Fn(usize) -> bool,
    ) -> Self {
        let mut slices: Vec<OwnedSlice> = Vec::new();
        for (rank, (key, operation)) in records.iter().enumerate() {
            let list = list_of(*key);
            if ends_before(rank) || slices.last().is_none_or(|last| last.list != list) {
                let (neighbors, discriminators, operations) = (Vec::new(), Vec::new(), Vec::new());
                let stamps = stamps.map(|_| Vec::new());
                let first_rank = rank as u64;
                slices.push(OwnedSlice { list, neighbors, discriminators, operations, stamps, first_rank });
            }
            let slice = slices.last_mut().unwrap();
            slice.neighbors.push(key.2);
            slice.discriminators.push(key.3);
            slice.operations.push(*operation);
            if let Some(of_slice) = &mut slice.stamps {
                of_slice.push(stamps.unwrap()[rank]);
            }
        }
        for slice in &mut slices {
            // As decoders do.
            if slice.discriminators.iter().all(|one| *one == 0) {
                slice.discriminators.clear();
            }
            if slice.operations.iter().all(|one| *one == RecordOperation::Insert) {
                slice.operations.clear();
            }
        }
        Self { slices, position: 0 }
    }
}

impl ListSource for MemorySource {
    type Error = Infallible;

    fn slice(&self) -> Option<ListSlice<'_>> {
        let slice = self.slices.get(self.position)?;
        Some(ListSlice {
            list: slice.list,
            neighbors: &slice.neighbors,
            discriminators: &slice.discriminators,
            operations: &slice.operations,
            stamps: slice.stamps.as_deref(),
            first_rank: slice.first_rank,
        })
    }

    fn advance(&mut self) -> Result<(), Infallible> {
        self.position += 1;
        Ok(())
    }
}

/// A record of the output, with the places of its properties.
#[derive(Clone, PartialEq, Debug)]
pub struct Merged {
    pub key: Key,
    pub operation: RecordOperation,
    pub base: Origin,
    pub later_sets: Vec<Origin>,
}

/// All records of a merge, and its counts.
pub type Output = (Vec<Merged>, Vec<GroupCount>);

pub fn merged(
    sources: Vec<MemorySource>,
    until: Timestamp,
    deletes: DeleteRule,
) -> Result<Output, MergeError<Infallible>> {
    let mut merge = ListMerge::new(sources, until, deletes);
    let (mut records, mut counts) = (Vec::new(), GroupCounts::default());
    while let Some(run) = merge.next_run()? {
        counts.add_run(&run);
        push(&mut records, &run);
    }
    Ok((records, counts.take()))
}

fn push(records: &mut Vec<Merged>, run: &MergedRun<'_>) {
    let count = run.neighbors.len();
    let bases: Vec<Origin> = run
        .property_runs
        .iter()
        .flat_map(|one| {
            let Origin { source, rank } = one.first;
            (rank..rank + one.count as u64).map(move |rank| Origin { source, rank })
        })
        .collect();
    assert!(count > 0 && bases.len() == count, "a base for each record");
    assert!(run.discriminators.is_empty() || run.discriminators.len() == count);
    assert!(run.operations.is_empty() || run.operations.len() == count);
    assert!(run.later_sets.is_sorted_by_key(|set| set.record));
    for (at, base) in bases.into_iter().enumerate() {
        let discriminator = run.discriminators.get(at).copied().unwrap_or(0);
        let key = (run.list.subject, run.list.vertex.0, run.neighbors[at], discriminator);
        let later = run.later_sets.iter().filter(|set| set.record == at).map(|set| set.origin);
        let operation = run.operations.get(at).copied().unwrap_or(RecordOperation::Insert);
        records.push(Merged { key, operation, base, later_sets: later.collect() });
    }
}
