//! Consumers: what a comparison keeps of the entities of one subject: sums by key ranges, hashes, or all of the first ones.
//!
//! A key range is a range of hashes of keys, so that each has about as many entities.

use crate::verify::entity::{Entity, EntityHash, OwnedEntity};
use std::collections::{BTreeMap, BTreeSet};

/// Key ranges of a subject: a power of two.
pub const RANGES: usize = 1024;

/// What is kept of the entities of one subject.
pub trait EntityConsumer: Send + Sized {
    /// Takes an entity.
    fn take(&mut self, entity: Entity<'_>);

    /// Takes over what another one kept of other entities of the subject.
    fn join(&mut self, other: Self);
}

/// Counts and sums of hashes by key range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RangeSums {
    ranges: Vec<RangeSum>,
    bytes: Vec<u8>,
}

/// Count and sum of one key range.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RangeSum {
    /// How many entities.
    pub count: u64,
    /// The sum of their hashes, which does not depend on their order.
    pub sum: u64,
}

/// The key range of an entity.
#[must_use]
pub fn range_of(hash: EntityHash) -> usize {
    (hash.identity >> (u64::BITS - RANGES.trailing_zeros())) as usize
}

impl Default for RangeSums {
    fn default() -> Self {
        Self { ranges: vec![RangeSum::default(); RANGES], bytes: Vec::new() }
    }
}

impl RangeSums {
    /// How many entities.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.ranges.iter().map(|range| range.count).sum()
    }

    /// The key ranges whose sums are not those of `other`, with the entities that both have there.
    pub fn differing<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (usize, u64)> + 'a {
        let pairs = self.ranges.iter().zip(&other.ranges).enumerate();
        pairs.filter(|(_, (one, other))| one != other).map(|(at, (one, other))| (at, one.count + other.count))
    }
}

impl EntityConsumer for RangeSums {
    fn take(&mut self, entity: Entity<'_>) {
        let hash = entity.hash(&mut self.bytes);
        let range = &mut self.ranges[range_of(hash)];
        range.count += 1;
        range.sum = range.sum.wrapping_add(hash.content);
    }

    fn join(&mut self, other: Self) {
        for (own, other) in self.ranges.iter_mut().zip(other.ranges) {
            own.count += other.count;
            own.sum = own.sum.wrapping_add(other.sum);
        }
    }
}

/// Hashes of the entities in some key ranges.
#[derive(Clone, Debug, Default)]
pub struct RangeHashes {
    ranges: BTreeSet<usize>,
    /// The hashes.
    pub hashes: Vec<EntityHash>,
    bytes: Vec<u8>,
}

impl RangeHashes {
    /// Those of `ranges`.
    #[must_use]
    pub fn of(ranges: BTreeSet<usize>) -> Self {
        Self { ranges, ..Self::default() }
    }
}

impl EntityConsumer for RangeHashes {
    fn take(&mut self, entity: Entity<'_>) {
        let hash = entity.hash(&mut self.bytes);
        if self.ranges.contains(&range_of(hash)) {
            self.hashes.push(hash);
        }
    }

    fn join(&mut self, other: Self) {
        self.hashes.extend(other.hashes);
    }
}

/// The entities with some identities, whole.
#[derive(Clone, Debug, Default)]
pub struct WholeEntities {
    wanted: BTreeSet<u64>,
    /// The entities, by the hash of their identity.
    pub found: BTreeMap<u64, Vec<OwnedEntity>>,
    bytes: Vec<u8>,
}

impl WholeEntities {
    /// Those with the identities `wanted`.
    #[must_use]
    pub fn of(wanted: BTreeSet<u64>) -> Self {
        Self { wanted, ..Self::default() }
    }
}

impl EntityConsumer for WholeEntities {
    fn take(&mut self, entity: Entity<'_>) {
        let hash = entity.hash(&mut self.bytes);
        if self.wanted.contains(&hash.identity) {
            self.found.entry(hash.identity).or_default().push(entity.into_owned());
        }
    }

    fn join(&mut self, other: Self) {
        for (identity, entities) in other.found {
            self.found.entry(identity).or_default().extend(entities);
        }
    }
}
