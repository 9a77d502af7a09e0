//! Edge lists: the sorted lists of a group's edges, of one type and side, borrowed from whoever keeps them.
//!
//! ```text
//! dense    ends[row]                      where the list of each row ends; as long as the last row needs
//! sparse   rows[i] ends[i]                only rows with edges
//! neighbors      u32 an edge              ascending by (neighbour, discriminator) in a row
//! discriminators u16 an edge              absent while every one is zero
//! ```
//!
//! One home for reading lists, whether they lie on the heap ([`EdgeBody`](crate::edge_body::EdgeBody)) or in a mapped
//! file ([`EdgeLists::parse`]).
//!
//! Source: GART (ATC 2023) 5.1 (SegCSR); core-protocol section 7 (dense and sparse).

use evergraph_graph::id::GROUP_SIZE;
use evergraph_storage::record::RecordKey;
use std::cmp::Ordering;
use std::ops::{ControlFlow, Range};

/// The most rows that lists tell apart.
pub(crate) const ROWS: usize = GROUP_SIZE as usize;

/// The lists of a group at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EdgeLists<'a> {
    /// The row of each end; `None` if the rows are 0, 1, 2 and so on.
    pub(crate) rows: Option<&'a [u16]>,
    pub(crate) ends: &'a [u32],
    pub(crate) neighbors: &'a [u32],
    /// Empty while every discriminator is zero.
    pub(crate) discriminators: &'a [u16],
}

#[inline]
fn end_before(ends: &[u32], at: usize) -> usize {
    at.checked_sub(1).map_or(0, |before| ends[before] as usize)
}

impl<'a> EdgeLists<'a> {
    /// No edges.
    pub const EMPTY: Self = Self { rows: None, ends: &[], neighbors: &[], discriminators: &[] };

    /// Lists of these arrays, as the module describes them.
    ///
    /// # Errors
    /// As [`EdgeLists::check`].
    pub fn new(
        rows: Option<&'a [u16]>,
        ends: &'a [u32],
        neighbors: &'a [u32],
        discriminators: &'a [u16],
    ) -> Result<Self, String> {
        let lists = Self { rows, ends, neighbors, discriminators };
        lists.check()?;
        Ok(lists)
    }

    /// Whether the arrays fit together. Cost: one pass over them.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), String> {
        let edges = self.neighbors.len();
        if let Some(rows) = self.rows {
            if rows.len() != self.ends.len() || !rows.is_sorted_by(|a, b| a < b) {
                return Err("ascending rows expected, one for each end".to_owned());
            }
            if rows.last().is_some_and(|row| usize::from(*row) >= ROWS) {
                return Err(format!("rows below {ROWS} expected"));
            }
        }
        let last = self.ends.last().copied().unwrap_or(0) as usize;
        if self.ends.len() > ROWS || !self.ends.is_sorted() || last != edges {
            return Err(format!("ends of at most {ROWS} lists that ascend to {edges} expected"));
        }
        if !self.discriminators.is_empty() && self.discriminators.len() != edges {
            return Err(format!("{edges} discriminators expected, found {}", self.discriminators.len()));
        }
        let mut unsorted = None;
        self.for_each_row(|row, range| {
            let list = &self.neighbors[range.clone()];
            let is_sorted = match self.discriminators.get(range) {
                None | Some([]) => list.is_sorted_by(|a, b| a < b),
                Some(own) => list.iter().zip(own).is_sorted_by(|a, b| a < b),
            };
            if !is_sorted {
                unsorted = unsorted.or(Some(row));
            }
        });
        match unsorted {
            None => Ok(()),
            Some(row) => Err(format!("edges of row {row} in ascending order, none twice, expected")),
        }
    }

    /// Number of edges.
    #[must_use]
    #[inline]
    pub fn edges_count(&self) -> usize {
        self.neighbors.len()
    }

    /// Where the list of `row` lies in [`EdgeLists::neighbors`]. Cost: a look, or a search in sparse lists.
    #[must_use]
    #[inline]
    pub fn range(&self, row: u16) -> Range<usize> {
        // The dense look by itself: behind the search of the other it took twice as long.
        match self.rows {
            None => self.list_at(usize::from(row)),
            Some(rows) => rows.binary_search(&row).map_or(0..0, |at| self.list_at(at)),
        }
    }

    /// Where the list of an entry lies; in dense lists the entry is the row.
    #[inline]
    pub(crate) fn list_at(&self, at: usize) -> Range<usize> {
        match self.ends.get(at) {
            Some(end) => end_before(self.ends, at)..*end as usize,
            None => 0..0,
        }
    }

    /// Edges of all rows before `row`. Cost: as [`EdgeLists::range`].
    #[must_use]
    #[inline]
    pub fn edges_before(&self, row: u16) -> usize {
        let at = match self.rows {
            None => usize::from(row).min(self.ends.len()),
            Some(rows) => rows.partition_point(|other| *other < row),
        };
        end_before(self.ends, at)
    }

    /// Where the list of each row ends, if every row up to the last has an entry.
    #[must_use]
    #[inline]
    pub fn dense_ends(&self) -> Option<&'a [u32]> {
        self.rows.is_none().then_some(self.ends)
    }

    /// Calls `visit` with each row that has edges, ascending, and where its list lies.
    #[inline]
    pub fn for_each_row(&self, mut visit: impl FnMut(u16, Range<usize>)) {
        let mut start = 0;
        let mut visit_end = |row: u16, end: u32| {
            let end = end as usize;
            if start < end {
                visit(row, start..end);
            }
            start = end;
        };
        match self.rows {
            None => self.ends.iter().enumerate().for_each(|(row, end)| visit_end(row as u16, *end)),
            Some(rows) => rows.iter().zip(self.ends).for_each(|(row, end)| visit_end(*row, *end)),
        }
    }

    /// Calls `edge` with (neighbour, discriminator) of each edge at `range`, which is of one row, after `changes`, until it
    /// breaks: sorted. Changes name keys of the row, ascending, and say whether the edge is there.
    #[inline]
    pub fn for_each_after(
        &self,
        range: Range<usize>,
        changes: impl Iterator<Item = (RecordKey, bool)>,
        edge: &mut impl FnMut(u32, u16) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut at = range.start;
        for (key, is_there) in changes {
            let key = (key.neighbor(), key.discriminator());
            while at < range.end {
                let here = (self.neighbors[at], self.discriminator(at));
                match here.cmp(&key) {
                    Ordering::Less => edge(here.0, here.1)?,
                    Ordering::Equal => {
                        at += 1;
                        break;
                    }
                    Ordering::Greater => break,
                }
                at += 1;
            }
            if is_there {
                edge(key.0, key.1)?;
            }
        }
        (at..range.end).try_for_each(|at| edge(self.neighbors[at], self.discriminator(at)))
    }

    /// The neighbours of all rows, one list after the other.
    #[must_use]
    #[inline]
    pub fn neighbors(&self) -> &'a [u32] {
        self.neighbors
    }

    /// The discriminators of all edges, in the order of [`EdgeLists::neighbors`]; empty if each is zero.
    #[must_use]
    #[inline]
    pub fn discriminators(&self) -> &'a [u16] {
        self.discriminators
    }

    /// The discriminator of the edge at a place.
    #[must_use]
    #[inline]
    pub fn discriminator(&self, at: usize) -> u16 {
        self.discriminators.get(at).copied().unwrap_or(0)
    }

    /// Where the edges from `row` to `neighbor` lie. Cost: two binary searches.
    #[must_use]
    #[inline]
    pub fn parallel(&self, row: u16, neighbor: u32) -> Range<usize> {
        let range = self.range(row);
        let list = &self.neighbors[range.clone()];
        let from = list.partition_point(|found| *found < neighbor);
        let count = list[from..].iter().take_while(|found| **found == neighbor).count();
        range.start + from..range.start + from + count
    }

    /// Where the edges of a row behind `key` lie, whether that is there or not. Cost: as [`EdgeLists::parallel`].
    #[must_use]
    #[inline]
    pub fn range_after(&self, key: RecordKey) -> Range<usize> {
        let parallel = self.parallel(key.row(), key.neighbor());
        let passed = match self.discriminators.get(parallel.clone()) {
            Some(discriminators) => discriminators.partition_point(|found| *found <= key.discriminator()),
            None => parallel.len(),
        };
        parallel.start + passed..self.range(key.row()).end
    }

    /// Where an edge lies. Cost: as [`EdgeLists::parallel`].
    #[must_use]
    #[inline]
    pub fn find(&self, key: RecordKey) -> Option<usize> {
        let parallel = self.parallel(key.row(), key.neighbor());
        if self.discriminators.is_empty() {
            return (key.discriminator() == 0 && !parallel.is_empty()).then_some(parallel.start);
        }
        let found = self.discriminators[parallel.clone()].binary_search(&key.discriminator()).ok()?;
        Some(parallel.start + found)
    }

    /// Where the list of `row` lies; where it would begin if the row has no edges.
    #[must_use]
    #[inline]
    pub fn places(&self, row: u16) -> Range<usize> {
        let range = self.range(row);
        if !range.is_empty() {
            return range;
        }
        let start = self.edges_before(row);
        start..start
    }

    /// The row of the edge at a place, if there is one. Cost: a search.
    #[must_use]
    pub fn row_at(&self, at: usize) -> Option<u16> {
        let list = self.ends.partition_point(|end| *end as usize <= at);
        match self.rows {
            None => (list < self.ends.len()).then_some(list as u16),
            Some(rows) => rows.get(list).copied(),
        }
    }

    /// Whether the edge at a place of its row is this one.
    #[must_use]
    #[inline]
    pub fn is_at(&self, key: RecordKey, at: usize) -> bool {
        self.neighbors[at] == key.neighbor() && self.discriminator(at) == key.discriminator()
    }

    /// Where an edge lies, or would lie, not before `from`, which lies in the same row.
    #[must_use]
    #[inline]
    pub fn lower_bound(&self, key: RecordKey, range: &Range<usize>, from: usize) -> usize {
        let list = &self.neighbors[from..range.end];
        let mut at = from + list.partition_point(|found| *found < key.neighbor());
        while at < range.end
            && self.neighbors[at] == key.neighbor()
            && self.discriminator(at) < key.discriminator()
        {
            at += 1;
        }
        at
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Edges as (row, neighbour, discriminator).
    pub(crate) type Edges = BTreeSet<(u16, u32, u16)>;

    /// The arrays of lists.
    pub(crate) struct Arrays {
        rows: Option<Vec<u16>>,
        ends: Vec<u32>,
        neighbors: Vec<u32>,
        discriminators: Vec<u16>,
    }

    impl Arrays {
        pub(crate) fn of(edges: &Edges, is_sparse: bool) -> Self {
            let last = edges.last().map_or(0, |edge| usize::from(edge.0) + 1);
            let degree = |row: &u16| edges.range((*row, 0, 0)..=(*row, u32::MAX, u16::MAX)).count() as u32;
            let rows = (0..last as u16).filter(|row| !is_sparse || degree(row) > 0);
            let ends = rows.clone().scan(0, |end, row| {
                *end += degree(&row);
                Some(*end)
            });
            let mut discriminators: Vec<u16> = edges.iter().map(|edge| edge.2).collect();
            if discriminators.iter().all(|own| *own == 0) {
                discriminators.clear();
            }
            Self {
                ends: ends.collect(),
                rows: is_sparse.then(|| rows.collect()),
                neighbors: edges.iter().map(|edge| edge.1).collect(),
                discriminators,
            }
        }

        pub(crate) fn lists(&self) -> EdgeLists<'_> {
            let rows = self.rows.as_deref();
            EdgeLists::new(rows, &self.ends, &self.neighbors, &self.discriminators).unwrap()
        }
    }

    pub(crate) fn any_edges() -> impl Strategy<Value = Edges> {
        let row = prop_oneof![3 => 0u16..20, 1 => 4000u16..4096];
        let discriminator = prop_oneof![9 => Just(0u16), 1 => any::<u16>()];
        proptest::collection::btree_set((row, 0u32..50, discriminator), 0..60)
    }

    proptest! {
        #[test]
        fn lists_answer_as_a_set_of_edges_does(
            edges in any_edges(), is_sparse in any::<bool>(), row in 0u16..4096, neighbor in 0u32..50, own in 0u16..3,
        ) {
            let arrays = Arrays::of(&edges, is_sparse);
            let lists = arrays.lists();
            prop_assert_eq!((lists.edges_count(), lists.dense_ends().is_none()), (edges.len(), is_sparse));
            let all: Vec<_> = edges.iter().copied().collect();
            let found = |range: Range<usize>| {
                range.map(|at| (lists.neighbors()[at], lists.discriminator(at))).collect::<Vec<_>>()
            };
            let listed = |keep: &dyn Fn(&(u16, u32, u16)) -> bool| {
                all.iter().filter(|edge| keep(edge)).map(|edge| (edge.1, edge.2)).collect::<Vec<_>>()
            };
            let rows = all.iter().map(|edge| edge.0).chain([row, 0, 4095]).collect::<BTreeSet<_>>();
            for row in rows {
                let before = all.iter().filter(|edge| edge.0 < row).count();
                let own_count = all.iter().filter(|edge| edge.0 == row).count();
                prop_assert_eq!(found(lists.range(row)), listed(&|edge| edge.0 == row));
                prop_assert_eq!((lists.edges_before(row), lists.places(row)), (before, before..before + own_count));
                prop_assert_eq!(found(lists.parallel(row, neighbor)), listed(&|edge| (edge.0, edge.1) == (row, neighbor)));
                for key in [(row, neighbor, own)].into_iter().chain(all.iter().copied()) {
                    let record = RecordKey::edge(key.0, key.1, key.2);
                    let place = all.binary_search(&key);
                    prop_assert_eq!(lists.find(record), place.ok());
                    prop_assert_eq!(found(lists.range_after(record)), listed(&|edge| edge.0 == key.0 && *edge > key));
                    let range = lists.places(key.0);
                    let bound = lists.lower_bound(record, &range, range.start);
                    prop_assert_eq!(bound, place.unwrap_or_else(|at| at));
                    prop_assert_eq!(bound < range.end && lists.is_at(record, bound), place.is_ok());
                }
            }
            for (at, edge) in all.iter().enumerate() {
                prop_assert_eq!(lists.row_at(at), Some(edge.0));
            }
            prop_assert_eq!(lists.row_at(all.len()), None);
            let mut visited = Vec::new();
            lists.for_each_row(|row, range| visited.push((row, found(range))));
            let rows: BTreeSet<u16> = all.iter().map(|edge| edge.0).collect();
            let expected: Vec<_> = rows.into_iter().map(|row| (row, listed(&|edge| edge.0 == row))).collect();
            prop_assert_eq!(visited, expected);
        }
    }

    #[test]
    fn each_broken_rule_is_told() {
        let told = |rows: Option<&[u16]>, ends: &[u32], neighbors: &[u32], discriminators: &[u16]| {
            EdgeLists::new(rows, ends, neighbors, discriminators).unwrap_err()
        };
        let cases = [
            (told(Some(&[2, 1]), &[1, 2], &[5, 6], &[]), "ascending rows"),
            (told(Some(&[1]), &[1, 2], &[5, 6], &[]), "one for each end"),
            (told(Some(&[4096]), &[1], &[5], &[]), "rows below 4096"),
            (told(None, &[2, 1, 2], &[5, 6], &[]), "ascend to 2"),
            (told(None, &[1], &[5, 6], &[]), "ascend to 2"),
            (told(None, &[2; 4097], &[5, 6], &[]), "at most 4096 lists"),
            (told(None, &[2], &[5, 6], &[1]), "2 discriminators expected, found 1"),
            (told(None, &[0, 2], &[6, 5], &[]), "edges of row 1"),
            (told(None, &[2], &[5, 5], &[]), "none twice"),
            (told(None, &[2], &[5, 5], &[3, 3]), "none twice"),
        ];
        for (problem, expected) in cases {
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
