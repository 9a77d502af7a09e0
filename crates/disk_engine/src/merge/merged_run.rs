//! Merged run: a part of one list as a merge gives it, and where the properties of its records come from.
//!
//! ```text
//! record            0   1   2   3   4
//! neighbors         3   7   7   9  12
//! operations        +   +   +   r   s
//! property_runs     [source 1, ranks 40..43  ][0, 8..9][2, 5..6]      the base of each record
//! later_sets                2: source 0, rank 6                       laid over it, the oldest first
//! ```
//!
//! The writer of column pages reads the ranks of each property run in one piece, which is a copy of pages where
//! runs are long, and then applies the later Sets. The base of a Set is a Set: it names some properties, and keeps
//! doing so in the output. A Delete has its own record as base, which has no properties.

use crate::format::operation::RecordOperation;
use crate::merge::list_source::ListKey;
use std::ops::Range;

/// A record of a source, by the rank of its properties there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// Number of the source: 0 is the newest.
    pub source: usize,
    /// Rank of its properties in the source.
    pub rank: u64,
}

/// Consecutive records whose properties begin with those of consecutive ranks of one source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PropertyRun {
    /// The first one's.
    pub first: Origin,
    /// How many.
    pub count: usize,
}

/// A Set whose changes are laid over the base of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaterSet {
    /// Index of the record in its run.
    pub record: usize,
    /// Where the changes are.
    pub origin: Origin,
}

/// Consecutive records of one list, one a key, in key order.
#[derive(Clone, Copy, Debug)]
pub struct MergedRun<'a> {
    /// The list; the run before may have been of the same one.
    pub list: ListKey,
    /// The vertices at the other ends; at least one.
    pub neighbors: &'a [u32],
    /// Discriminators; empty if all are 0.
    pub discriminators: &'a [u16],
    /// Operations; empty if all are Inserts.
    pub operations: &'a [RecordOperation],
    /// Where the properties of the records begin; the counts come to the number of records.
    pub property_runs: &'a [PropertyRun],
    /// Sets on top, ascending by record, those of one record from the oldest to the newest.
    pub later_sets: &'a [LaterSet],
}

/// The keys and operations of consecutive records of one list: what a topology file has of them.
#[derive(Clone, Copy, Debug)]
pub struct RunKeys<'a> {
    /// The list.
    pub list: ListKey,
    /// The vertices at the other ends; at least one.
    pub neighbors: &'a [u32],
    /// Discriminators; empty if all are 0.
    pub discriminators: &'a [u16],
    /// Operations; empty if all are Inserts.
    pub operations: &'a [RecordOperation],
}

impl<'a> MergedRun<'a> {
    /// The keys and operations of some of the records.
    ///
    /// # Panics
    /// If the run does not have them.
    #[must_use]
    pub fn keys(&self, records: Range<usize>) -> RunKeys<'a> {
        RunKeys {
            list: self.list,
            neighbors: &self.neighbors[records.clone()],
            discriminators: self.discriminators.get(records.clone()).unwrap_or_default(),
            operations: self.operations.get(records).unwrap_or_default(),
        }
    }
}
