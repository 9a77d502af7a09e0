//! Gaps: ranges of the key order that lie in damaged pages, and what is missing for it.
//!
//! ```text
//! pages of a file     [a ... c] [ ? ] [g ... k]      the gap: keys behind c and before g
//! ```
//!
//! What a gap's age says decides what it may hide: records that are older than it are believed only where
//! nothing newer can have changed them, or are counted as *stale*.

use crate::stored_file::StoredFile;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::salvage::loss::Damage;
use std::collections::BTreeMap;

/// How old a record is: 0 the log, then the files of L0, newest first, then a level each. The files of one load
/// are of one age.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Age(pub u32);

impl Age {
    /// The log's.
    pub(super) const LOG: Self = Self(0);
}

/// The ages of `files`, which are in the order of a manifest, and the first age of a level below L0.
pub(super) fn ages(files: &[StoredFile]) -> (Vec<Age>, Age) {
    let (mut newest, mut before) = (0, None);
    let mut flushed = Vec::new();
    for file in files.iter().filter(|file| file.level == 0) {
        // Files of one load have one timestamp, and their keys are disjoint.
        if before.replace((file.first_ts, file.last_ts)) != Some((file.first_ts, file.last_ts)) {
            newest += 1;
        }
        flushed.push(Age(newest));
    }
    let mut flushed = flushed.into_iter();
    let age = |file: &StoredFile| match file.level {
        0 => flushed.next().unwrap_or(Age(newest)),
        level => Age(newest + u32::from(level)),
    };
    (files.iter().map(age).collect(), Age(newest + 1))
}

/// Keys that lie in damaged pages of one file.
#[derive(Clone, Debug)]
pub(super) struct Gap {
    /// From here on, in order bytes.
    pub from: Vec<u8>,
    /// Up to here, this not included.
    pub to: Vec<u8>,
    /// Where they lay.
    pub damage: Damage,
    /// How many records there can be, if the index says so.
    pub records_max: Option<u64>,
    /// The oldest commit in the file.
    pub first_ts: Timestamp,
    /// Items that are as older records have them.
    pub stale: u64,
    /// Items of which something is missing.
    pub missing: u64,
}

impl Gap {
    /// Whether it has a key from `first` on up to `end`, this not included.
    pub(super) fn overlaps(&self, first: &[u8], end: &[u8]) -> bool {
        self.from.as_slice() < end && self.to.as_slice() > first
    }
}

/// The number of a gap.
pub(super) type GapNumber = usize;

/// A gap that may hide records of an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct HidingGap {
    /// How old what it hides is.
    pub age: Age,
    /// Its number.
    pub number: GapNumber,
    /// The oldest commit that it may hide.
    pub first_ts: Timestamp,
}

/// All gaps.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    gaps: Vec<Gap>,
    /// By age, and where they begin. Those of one age don't overlap, but for what damage hides.
    by_age: BTreeMap<Age, Vec<GapNumber>>,
}

impl Gaps {
    /// Adds one.
    pub(super) fn push(&mut self, age: Age, gap: Gap) {
        if gap.from < gap.to {
            self.by_age.entry(age).or_default().push(self.gaps.len());
            self.gaps.push(gap);
        }
    }

    /// Makes them ready for [`Gaps::covering`].
    pub(super) fn sort(&mut self) {
        let gaps = &self.gaps;
        self.by_age
            .values_mut()
            .for_each(|numbers| numbers.sort_by(|a, b| gaps[*a].from.cmp(&gaps[*b].from)));
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.gaps.is_empty()
    }

    /// The gaps that may have had records of `key`, newest first. Cost: a binary search for each age that has any.
    pub(super) fn covering<'g>(&'g self, key: &'g [u8]) -> impl Iterator<Item = HidingGap> + 'g {
        self.by_age.iter().filter_map(move |(age, numbers)| {
            let behind = numbers.partition_point(|number| self.gaps[*number].from.as_slice() <= key);
            let number = *numbers.get(behind.checked_sub(1)?)?;
            let Gap { to, first_ts, .. } = &self.gaps[number];
            (to.as_slice() > key).then_some(HidingGap { age: *age, number, first_ts: *first_ts })
        })
    }

    /// One of them.
    pub(super) fn get_mut(&mut self, number: GapNumber) -> &mut Gap {
        &mut self.gaps[number]
    }

    /// All of them with their ages.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Age, &Gap)> {
        self.by_age.iter().flat_map(|(age, numbers)| numbers.iter().map(|number| (*age, &self.gaps[*number])))
    }
}
