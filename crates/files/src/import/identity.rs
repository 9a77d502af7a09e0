//! Identity: the row of a vertex, by its id in the files.
//!
//! ```text
//! integer ids   small ones   direct   [ - 0 1 - 2 ]        4 bytes for each id up to the largest
//!               the others   hashed   (id, row)            13 bytes a slot
//! string ids    hashed row ──> where its text ends ──> one long text
//! ```
//!
//! Most files number their vertices densely from 0 or 1: a plain array then finds a row at the
//! price of one load. It grows as long as about every eighth of its places is used; ids beyond it,
//! and the negative ones, are hashed. Rows are given out in the order in which ids come.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// A row that no vertex can have: marks the free places of the direct array, and ids that aren't known.
pub const VACANT: u32 = u32::MAX;

/// The direct array may always be this long: 4 MiB.
const DIRECT_FLOOR: u64 = 1 << 20;

/// What became of an id that was inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InsertOutcome {
    /// It is new and has this row.
    New(u32),
    /// It was there before, with this row.
    Known(u32),
    /// There are 4,294,967,295 others, which is as many as rows go.
    Full,
}

/// Rows by 64-bit ids. Signed ids are kept by their bits.
#[derive(Default)]
pub struct IntegerIds {
    direct: Vec<u32>,
    hashed: HashTable<[u32; 3]>,
    hasher: DefaultHashBuilder,
    rows: u32,
}

impl IntegerIds {
    /// No ids.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many ids are known.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.rows
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The row of `id`, if it is known. Cost: one load for small ids, one hash look-up for others.
    #[must_use]
    pub fn get(&self, id: u64) -> Option<u32> {
        if let Some(&row) = usize::try_from(id).ok().and_then(|at| self.direct.get(at)) {
            return (row != VACANT).then_some(row);
        }
        let hash = self.hasher.hash_one(id);
        self.hashed.find(hash, |slot| slot_id(slot) == id).map(|slot| slot[2])
    }

    /// As [`IntegerIds::get`] of each of `ids`, [`VACANT`] if it isn't known. Waits for memory overlap.
    #[must_use]
    pub fn get_all(&self, ids: &[u64]) -> Vec<u32> {
        ids.iter().map(|id| self.get(*id).unwrap_or(VACANT)).collect()
    }

    /// The row of `id`, which gets the next one if it is new.
    pub fn insert(&mut self, id: u64) -> InsertOutcome {
        if let Some(row) = self.get(id) {
            return InsertOutcome::Known(row);
        }
        if self.rows == VACANT {
            return InsertOutcome::Full;
        }
        let row = self.rows;
        self.rows += 1;
        self.place(id, row);
        InsertOutcome::New(row)
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        (self.direct.capacity() * size_of::<u32>() + self.hashed.allocation_size()) as u64
    }

    /// Hands out every id with its row, in any order.
    ///
    /// # Errors
    /// The first of `visit`.
    pub fn for_each<E>(&self, mut visit: impl FnMut(u64, u32) -> Result<(), E>) -> Result<(), E> {
        let direct = (0..).zip(&self.direct).filter(|(_, row)| **row != VACANT);
        direct.map(|(id, row)| (id, *row)).try_for_each(|(id, row)| visit(id, row))?;
        self.hashed.iter().try_for_each(|slot| visit(slot_id(slot), slot[2]))
    }

    fn place(&mut self, id: u64, row: u32) {
        let reach = self.direct.len() as u64;
        if id < reach.max(DIRECT_FLOOR).max(u64::from(self.rows) * 8) {
            if id >= reach {
                self.widen(id);
            }
            self.direct[id as usize] = row;
            return;
        }
        let hasher = &self.hasher;
        self.hashed.insert_unique(hasher.hash_one(id), [id as u32, (id >> 32) as u32, row], |slot| {
            hasher.hash_one(slot_id(slot))
        });
    }

    /// Lengthens the direct array so that it reaches `id`, by half at least, and takes over what it
    /// covers now.
    fn widen(&mut self, id: u64) {
        let length = (id as usize + 1).max(self.direct.len() + self.direct.len() / 2).max(64);
        self.direct.resize(length, VACANT);
        let direct = &mut self.direct;
        self.hashed.retain(|slot| {
            let place = usize::try_from(slot_id(slot)).ok().and_then(|at| direct.get_mut(at));
            match place {
                Some(place) => {
                    *place = slot[2];
                    false
                }
                None => true,
            }
        });
    }
}

fn slot_id(slot: &[u32; 3]) -> u64 {
    u64::from(slot[0]) | u64::from(slot[1]) << 32
}

/// Rows by ids that are text.
#[derive(Default)]
pub struct StringIds {
    text: Vec<u8>,
    /// Where the text of each row ends.
    ends: Vec<u64>,
    rows: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl StringIds {
    /// No ids.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The row of `id`, if it is known.
    #[must_use]
    pub fn get(&self, id: &[u8]) -> Option<u32> {
        let (text, ends) = (&self.text, &self.ends);
        self.rows.find(self.hasher.hash_one(id), |&row| id_text(text, ends, row) == id).copied()
    }

    /// The row of `id`, which gets the next one if it is new.
    pub fn insert(&mut self, id: &[u8]) -> InsertOutcome {
        if let Some(row) = self.get(id) {
            return InsertOutcome::Known(row);
        }
        let Some(row) = u32::try_from(self.ends.len()).ok().filter(|row| *row != VACANT) else {
            return InsertOutcome::Full;
        };
        self.text.extend_from_slice(id);
        self.ends.push(self.text.len() as u64);
        let (text, ends, hasher) = (&self.text, &self.ends, &self.hasher);
        self.rows.insert_unique(hasher.hash_one(id), row, |&row| hasher.hash_one(id_text(text, ends, row)));
        InsertOutcome::New(row)
    }
}

impl StringIds {
    /// How many ids are known.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.ends.len() as u32
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        let ends = self.ends.capacity() * size_of::<u64>();
        (self.text.capacity() + ends + self.rows.allocation_size()) as u64
    }

    /// Hands out every id with its row, by row.
    ///
    /// # Errors
    /// The first of `visit`.
    pub fn for_each<E>(&self, mut visit: impl FnMut(&[u8], u32) -> Result<(), E>) -> Result<(), E> {
        (0..self.len()).try_for_each(|row| visit(id_text(&self.text, &self.ends, row), row))
    }
}

fn id_text<'a>(text: &'a [u8], ends: &[u64], row: u32) -> &'a [u8] {
    let row = row as usize;
    let start = if row == 0 { 0 } else { ends[row - 1] };
    &text[start as usize..ends[row] as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn an_id() -> impl Strategy<Value = u64> {
        prop_oneof![0u64..100, 0u64..3 * DIRECT_FLOOR, any::<u64>(), Just(u64::MAX), Just(1 << 63)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn integer_ids_agree_with_a_plain_map(ids in prop::collection::vec(an_id(), 0..300)) {
            let mut ours = IntegerIds::new();
            let mut model = HashMap::new();
            for &id in &ids {
                prop_assert_eq!(ours.get(id), model.get(&id).copied());
                let next = model.len() as u32;
                let expected = match model.get(&id) {
                    Some(&row) => InsertOutcome::Known(row),
                    None => { model.insert(id, next); InsertOutcome::New(next) }
                };
                prop_assert_eq!(ours.insert(id), expected);
            }
            prop_assert_eq!(ours.len() as usize, model.len());
            for (id, row) in &model {
                prop_assert_eq!(ours.get(*id), Some(*row));
            }
            let rows = ids.iter().chain(&[12_345_678_901]).map(|id| model.get(id).copied().unwrap_or(VACANT));
            let asked: Vec<u64> = ids.iter().copied().chain([12_345_678_901]).collect();
            prop_assert_eq!(ours.get_all(&asked), rows.collect::<Vec<_>>());
        }

        #[test]
        fn string_ids_agree_with_a_plain_map(ids in prop::collection::vec("[ab]{0,4}", 0..200)) {
            let mut ours = StringIds::new();
            let mut model = HashMap::new();
            for id in &ids {
                let next = model.len() as u32;
                let expected = match model.get(id) {
                    Some(&row) => InsertOutcome::Known(row),
                    None => { model.insert(id.clone(), next); InsertOutcome::New(next) }
                };
                prop_assert_eq!(ours.insert(id.as_bytes()), expected);
            }
            prop_assert_eq!(ours.get(b"never there"), None);
        }
    }

    #[test]
    fn hashed_ids_move_when_the_direct_array_reaches_them() {
        let mut ids = IntegerIds::new();
        let far = 2 * DIRECT_FLOOR;
        assert_eq!(ids.insert(far), InsertOutcome::New(0));
        for id in 0..far / 8 + 10 {
            assert_eq!(ids.insert(id), InsertOutcome::New(id as u32 + 1));
        }
        assert_eq!(ids.insert(far + 1), InsertOutcome::New(far as u32 / 8 + 11));
        assert_eq!((ids.get(far), ids.hashed.len()), (Some(0), 0));
    }
}
