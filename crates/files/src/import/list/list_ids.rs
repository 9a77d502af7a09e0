//! List ids: the rows of a list graph's vertices by their ids, and their ids by row.
//!
//! ```text
//! 1..1000001 announced     rows 0 to 999999, by subtraction: no memory
//! other ids                rows from there on, in the order in which they come
//! ```

use crate::import::identity::{InsertOutcome, IntegerIds, VACANT};

/// Ids, each with a row.
#[derive(Default)]
pub struct ListIds {
    /// The first id of the rows from 0 on, and how many follow it.
    first: u64,
    announced: u32,
    others: IntegerIds,
    /// The ids of the rows behind those.
    others_by_row: Vec<u64>,
}

impl ListIds {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        u64::from(self.announced) + self.others_by_row.len() as u64
    }

    /// The row of `id`, if it is known.
    #[must_use]
    #[inline]
    pub fn get(&self, id: u64) -> Option<u32> {
        self.announced_row(id).or_else(|| Some(self.others.get(id)? + self.announced))
    }

    /// The row of `id`, which gets the next one if it is new.
    #[inline]
    pub fn insert(&mut self, id: u64) -> InsertOutcome {
        if let Some(row) = self.announced_row(id) {
            return InsertOutcome::Known(row);
        }
        let row = |at: u32| at.checked_add(self.announced).filter(|row| *row != VACANT);
        match self.others.insert(id) {
            InsertOutcome::New(at) => {
                self.others_by_row.push(id);
                row(at).map_or(InsertOutcome::Full, InsertOutcome::New)
            }
            InsertOutcome::Known(at) => row(at).map_or(InsertOutcome::Full, InsertOutcome::Known),
            InsertOutcome::Full => InsertOutcome::Full,
        }
    }

    /// Adds `count` ids from `first` on, of which some may be known.
    ///
    /// # Errors
    /// `()` if there is no row left.
    pub fn announce(&mut self, first: i64, count: u32) -> Result<(), ()> {
        let begin = first.cast_unsigned();
        if self.others_by_row.is_empty() && (self.announced == 0 || self.first == begin) {
            (self.first, self.announced) = (begin, self.announced.max(count));
            return Ok(());
        }
        for id in (0..u64::from(count)).map(|at| begin.wrapping_add(at)) {
            if self.insert(id) == InsertOutcome::Full {
                return Err(());
            }
        }
        Ok(())
    }

    /// The id of `row`, by its bits.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn id(&self, row: u32) -> u64 {
        match row.checked_sub(self.announced) {
            None => self.first.wrapping_add(u64::from(row)),
            Some(at) => self.others_by_row[at as usize],
        }
    }

    /// The ids that were not announced, by row.
    #[must_use]
    pub fn others_by_row(&self) -> &[u64] {
        &self.others_by_row
    }

    /// Bytes that they take.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.others.heap_bytes() + (self.others_by_row.capacity() * size_of::<u64>()) as u64
    }

    /// Takes all ids out, by row, if none was announced.
    ///
    /// # Panics
    /// If some were.
    pub fn take_by_row(&mut self) -> Vec<u64> {
        assert_eq!(self.announced, 0, "an open world has no announced ids");
        std::mem::take(self).others_by_row
    }

    /// Frees what finds rows: ids are asked for by row only from now on.
    pub fn forget_rows(&mut self) {
        self.others = IntegerIds::new();
    }

    /// Makes `by_row` the ids, which are asked for by row only from now on.
    pub fn replace(&mut self, by_row: Vec<u64>) {
        *self = Self { others_by_row: by_row, ..Self::default() };
    }

    #[inline]
    fn announced_row(&self, id: u64) -> Option<u32> {
        let at = id.wrapping_sub(self.first);
        (at < u64::from(self.announced)).then_some(at as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announced_ids_come_first_and_take_no_memory_and_others_follow() {
        let mut ids = ListIds::default();
        ids.announce(-2, 3).unwrap();
        ids.announce(-2, 5).unwrap();
        assert_eq!((ids.len(), ids.heap_bytes()), (5, 0));
        assert_eq!([-3i64, -2, 2, 3].map(|id| ids.get(id.cast_unsigned())), [None, Some(0), Some(4), None]);
        assert_eq!(ids.insert(7), InsertOutcome::New(5));
        assert_eq!([ids.insert(7), ids.insert(0)], [InsertOutcome::Known(5), InsertOutcome::Known(2)]);
        ids.announce(1, 9).unwrap();
        assert_eq!(ids.len(), 5 + 1 + 6, "7 was there, and 3 to 9 came otherwise");
        assert_eq!([0, 4, 5, 6].map(|row| ids.id(row).cast_signed()), [-2, 2, 7, 3]);
        assert_eq!(ids.get(9), Some(11));
    }
}
