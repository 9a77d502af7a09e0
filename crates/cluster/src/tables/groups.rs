//! Groups: which vertex groups a graph has, and how many rows of each were given to authors of vertices.
//!
//! ```text
//! partition 0 of 4   group 0 Person, 4096 rows   group 4 Person, 512 rows   group 8 free ...
//! partition 1 of 4   group 1 Post, 256 rows      group 5 free ...
//! ```
//!
//! A record of rows gives its author the next [`RANGE_ROWS`] rows of a label in a partition: of the lowest group of both that
//! has rows left, else of the lowest free group of the partition, which has that label from then on. So an author asks
//! the log once in 256 vertices, and no row is given twice. Rows that their author never uses are not given again.
//!
//! Group g belongs to partition g mod P, so that every node finds the partition of a vertex by its id alone. Labels of
//! groups and their rows follow from the log: every node has the same table.

use crate::planted::{Bug, planted};
use evergraph_graph::bytes::{Decoded, Reader, put_varint};
use evergraph_graph::id::{GROUP_SIZE, GroupId, LabelId, PartitionId, VertexId};
use evergraph_graph::partition::PartitionCount;
use evergraph_storage::checkpoint::manifest::StoredGroup;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Rows that a record gives; fewer at the end of a group.
pub const RANGE_ROWS: u16 = 256;

/// The fewest bytes of a group in a checkpoint.
const GROUP_BYTES_MIN: usize = 3;

/// Rows that were given to one author.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowRange {
    /// Their group.
    pub group: GroupId,
    /// The first of them.
    pub first: u16,
    /// How many they are: 1 to [`RANGE_ROWS`].
    pub count: u16,
}

impl RowRange {
    /// The vertices that may be inserted there.
    pub fn vertices(self) -> impl ExactSizeIterator<Item = VertexId> {
        (self.first..self.first + self.count).map(move |row| VertexId::new(self.group, row))
    }
}

/// Why no rows are given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RowsRefusal {
    /// No label has this number.
    UnknownLabel,
    /// The graph has fewer partitions.
    UnknownPartition,
    /// Every group of the partition has a label, and those of this label are full.
    Full,
}

/// The groups of a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Groups {
    partitions: PartitionCount,
    groups: BTreeMap<GroupId, GivenRows>,
    /// Those that have rows left.
    open: BTreeSet<(PartitionId, LabelId, GroupId)>,
    /// The lowest free group of each partition, or the number behind its last one.
    free: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct GivenRows {
    label: LabelId,
    rows: u16,
}

impl Groups {
    /// None yet.
    #[must_use]
    pub fn new(partitions: PartitionCount) -> Self {
        let free = (0..partitions.get()).map(u32::from).collect();
        Self { partitions, groups: BTreeMap::new(), open: BTreeSet::new(), free }
    }

    /// How many partitions the graph has.
    #[must_use]
    pub fn partitions(&self) -> PartitionCount {
        self.partitions
    }

    /// The label of a group; `None` if it is free.
    #[must_use]
    pub fn label(&self, group: GroupId) -> Option<LabelId> {
        self.groups.get(&group).map(|given| given.label)
    }

    /// Whether somebody was given the row of this vertex.
    #[must_use]
    pub fn was_given(&self, vertex: VertexId) -> bool {
        self.groups.get(&vertex.group()).is_some_and(|given| vertex.row() < given.rows)
    }

    /// Every group that has a label, ascending, and the rows of it that were given.
    pub fn all(&self) -> impl ExactSizeIterator<Item = StoredGroup> {
        self.groups.iter().map(|(id, given)| StoredGroup { id: *id, label: given.label, rows: given.rows })
    }

    /// Adds a group with rows that were given elsewhere; whether it was free. Whoever adopts one
    /// says that values do not place its vertices.
    ///
    /// # Panics
    /// If no graph has such a group, or no group so many rows.
    pub(super) fn add(&mut self, group: StoredGroup) -> bool {
        assert!(group.id.0 < GroupId::END, "group {} is beyond every vertex id", group.id.0);
        assert!(u32::from(group.rows) <= GROUP_SIZE, "group {} has {} rows", group.id.0, group.rows);
        if self.groups.contains_key(&group.id) {
            return false;
        }
        self.groups.insert(group.id, GivenRows { label: group.label, rows: group.rows });
        let partition = self.partitions.of_group(group.id);
        if u32::from(group.rows) < GROUP_SIZE {
            self.open.insert((partition, group.label, group.id));
        }
        let free = usize::from(partition.0);
        while self.groups.contains_key(&GroupId(self.free[free])) {
            self.free[free] += u32::from(self.partitions.get());
        }
        true
    }

    /// Gives the next rows of `label` in `partition`.
    ///
    /// # Errors
    /// [`RowsRefusal::UnknownPartition`] and [`RowsRefusal::Full`]; nothing has changed then.
    pub fn give(&mut self, label: LabelId, partition: PartitionId) -> Result<RowRange, RowsRefusal> {
        if partition.0 >= self.partitions.get() {
            return Err(RowsRefusal::UnknownPartition);
        }
        let of_label = (partition, label, GroupId(0))..=(partition, label, GroupId(u32::MAX));
        let open = self.open.range(of_label).next().map(|(_, _, group)| *group);
        let group = match open {
            Some(group) => group,
            None => {
                let group = self.lowest_free(partition).ok_or(RowsRefusal::Full)?;
                self.add(StoredGroup { id: group, label, rows: 0 });
                group
            }
        };
        let given = self.groups.get_mut(&group).expect("an open group has a label");
        let first = given.rows;
        let count = RANGE_ROWS.min(GROUP_SIZE as u16 - first);
        if !planted(Bug::RowsGivenAgain) {
            given.rows += count;
        }
        if u32::from(given.rows) == GROUP_SIZE {
            self.open.remove(&(partition, label, group));
        }
        Ok(RowRange { group, first, count })
    }

    fn lowest_free(&self, partition: PartitionId) -> Option<GroupId> {
        let of_partition = self.free[usize::from(partition.0)];
        let free = match planted(Bug::GroupOfAnotherPartition) {
            true => self.free.iter().copied().min().unwrap_or(of_partition),
            false => of_partition,
        };
        (free < GroupId::END).then_some(GroupId(free))
    }

    /// Appends the form in a checkpoint: count:varint, then group, label and rows as varints, ascending.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.groups.len() as u64);
        for StoredGroup { id, label, rows } in self.all() {
            for number in [id.0, u32::from(label.0), u32::from(rows)] {
                put_varint(out, u64::from(number));
            }
        }
    }

    /// Reads what [`Groups::encode`] wrote, of a graph of `partitions`.
    ///
    /// # Errors
    /// If there is something else.
    pub fn decode(reader: &mut Reader<'_>, partitions: PartitionCount) -> Decoded<Self> {
        let mut groups = Self::new(partitions);
        let mut last = None;
        for _ in 0..reader.count(GROUP_BYTES_MIN)? {
            let start = reader.clone();
            let id = GroupId(reader.at_most(u64::from(GroupId::END) - 1)? as u32);
            let label = LabelId(reader.at_most(u64::from(u16::MAX))? as u16);
            let rows = reader.at_most(u64::from(GROUP_SIZE))? as u16;
            if last.is_some_and(|last| last >= id) {
                return Err(start.error("groups in ascending order expected"));
            }
            last = Some(id);
            groups.add(StoredGroup { id, label, rows });
        }
        Ok(groups)
    }
}

impl fmt::Display for RowsRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownLabel => "no label has this number",
            Self::UnknownPartition => "the graph has fewer partitions",
            Self::Full => "the partition has no free vertex ids for this label",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;
    use proptest::prelude::*;

    const PERSON: LabelId = LabelId(0);
    const POST: LabelId = LabelId(3);

    fn groups(partitions: u16) -> Groups {
        Groups::new(PartitionCount::new(partitions).unwrap())
    }

    fn range(group: u32, first: u16) -> RowRange {
        RowRange { group: GroupId(group), first, count: RANGE_ROWS }
    }

    #[test]
    fn no_row_is_given_twice_and_a_full_group_is_followed_by_the_lowest_free_one() {
        let mut groups = groups(4);
        assert_eq!(groups.give(PERSON, PartitionId(1)), Ok(range(1, 0)));
        assert_eq!(groups.give(PERSON, PartitionId(1)), Ok(range(1, 256)), "no row is given twice");
        assert_eq!(groups.give(POST, PartitionId(1)), Ok(range(5, 0)));
        for first in (512..4096).step_by(256) {
            assert_eq!(groups.give(PERSON, PartitionId(1)), Ok(range(1, first)));
        }
        assert_eq!(groups.give(PERSON, PartitionId(1)), Ok(range(9, 0)));
        assert_eq!(groups.give(POST, PartitionId(1)), Ok(range(5, 256)));
        assert_eq!(groups.label(GroupId(5)), Some(POST));
        assert_eq!(groups.label(GroupId(13)), None);
        let given = [(1, 4095), (9, 255), (9, 256), (5, 511), (5, 512), (13, 0)];
        let given = given.map(|(group, row)| groups.was_given(VertexId::new(GroupId(group), row)));
        assert_eq!(given, [true, true, false, true, false, false]);
        assert_eq!(groups.give(PERSON, PartitionId(4)), Err(RowsRefusal::UnknownPartition));
    }

    #[test]
    fn a_group_belongs_to_the_partition_that_was_asked_for() {
        let mut groups = groups(4);
        for partition in [3, 2, 3, 0].map(PartitionId) {
            let given = groups.give(LabelId(partition.0), partition).unwrap();
            assert_eq!(groups.partitions().of_group(given.group), partition, "the partition of its group");
        }
    }

    #[test]
    fn planted_bugs_are_found() {
        let twice = no_row_is_given_twice_and_a_full_group_is_followed_by_the_lowest_free_one;
        let partition = a_group_belongs_to_the_partition_that_was_asked_for;
        assert_found(Bug::RowsGivenAgain, twice, "no row is given twice");
        assert_found(Bug::GroupOfAnotherPartition, partition, "the partition of its group");
    }

    #[test]
    fn the_last_group_of_a_partition_is_given_and_then_it_is_full() {
        let mut groups = groups(4096);
        let partition = PartitionId(4095);
        // 256 groups of a partition; a label each.
        for label in 0..256 {
            assert!(groups.give(LabelId(label), partition).is_ok());
        }
        assert_eq!(groups.give(LabelId(256), partition), Err(RowsRefusal::Full));
        let last = groups.give(LabelId(255), partition).unwrap();
        assert_eq!(last, range(GroupId::END - 1, 256));
        assert_eq!(last.vertices().last(), Some(VertexId::new(GroupId(GroupId::END - 1), 511)));
        assert!(groups.give(LabelId(256), PartitionId(0)).is_ok(), "others have room");
    }

    #[test]
    fn groups_of_a_database_go_on_behind_their_rows() {
        let mut groups = groups(2);
        for (id, label, rows) in [(0, PERSON, 4096), (1, POST, 4000), (2, PERSON, 17), (6, POST, 0)] {
            assert!(groups.add(StoredGroup { id: GroupId(id), label, rows }));
        }
        assert!(!groups.add(StoredGroup { id: GroupId(2), label: POST, rows: 1 }), "it has a label");
        assert_eq!(groups.give(PERSON, PartitionId(0)), Ok(range(2, 17)));
        let rest = RowRange { group: GroupId(1), first: 4000, count: 96 };
        assert_eq!(groups.give(POST, PartitionId(1)), Ok(rest));
        assert_eq!(rest.vertices().map(|vertex| vertex.row()).max(), Some(4095));
        assert_eq!(groups.give(POST, PartitionId(1)), Ok(range(3, 0)));
        assert_eq!(groups.give(LabelId(9), PartitionId(0)), Ok(range(4, 0)), "6 has a label, 4 is free");
        assert_eq!(groups.give(LabelId(8), PartitionId(0)), Ok(range(8, 0)));
    }

    proptest! {
        #[test]
        fn rows_are_given_once_and_a_table_reads_back_whatever_was_asked_for(
            partitions in 1..6_u16, asked in proptest::collection::vec((0..4_u16, 0..7_u16), 0..40),
        ) {
            let mut groups = groups(partitions);
            let mut given = BTreeSet::new();
            for (label, partition) in asked {
                match groups.give(LabelId(label), PartitionId(partition)) {
                    Ok(range) => {
                        prop_assert_eq!(groups.label(range.group), Some(LabelId(label)));
                        prop_assert_eq!(groups.partitions().of_group(range.group), PartitionId(partition));
                        for vertex in range.vertices() {
                            prop_assert!(given.insert(vertex), "{} was given before", vertex);
                        }
                    }
                    Err(refusal) => {
                        prop_assert_eq!(refusal, RowsRefusal::UnknownPartition);
                        prop_assert!(partition >= partitions);
                    }
                }
            }
            let mut bytes = Vec::new();
            groups.encode(&mut bytes);
            let again = Groups::decode(&mut Reader::new(&bytes), groups.partitions());
            prop_assert_eq!(again, Ok(groups.clone()));
            for cut in 0..bytes.len() {
                prop_assert!(Groups::decode(&mut Reader::new(&bytes[..cut]), groups.partitions()).is_err());
            }
        }
    }
}
