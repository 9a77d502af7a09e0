//! Batches: rows of traversers, as columns.
//!
//! ```text
//! row   current   slot a   slot b   bulk   sack   path   loops   origin
//!  0    v4        v1       "x"       3      1.0    #17    ...      0
//!  1    v9        v1       "y"       1      1.0    #18    ...      0        origin: the row of the parent's batch that
//!  2    v4        v2       "x"       1      0.5    #21    ...      2        a row of a child comes from, ascending
//! ```
//!
//! A column that nobody reads any more isn't there: liveness of the plan says which. Source: GraphScope's records
//! (current, columns), there a row at a time; Kùzu's factorised vectors for the shared lists of places.

pub mod column;
pub mod path;

use crate::batch::column::{Column, RowSelection};
use crate::batch::path::PathId;
use crate::value::extent::Extent;
use crate::value::item::Item;
use crate::value::number;
use evergraph_graph::error::Result;
use std::sync::Arc;

/// A batch of traversers, one row for each or for several equal ones.
#[derive(Clone, Debug)]
pub struct Batch {
    /// What each is at.
    pub current: Column,
    /// What the labels of the plan's frame are, by number; `None` where no row has that label.
    pub slots: Vec<Option<Column>>,
    /// How many traversers a row stands for; one where there is no list.
    pub bulk: Option<Vec<u64>>,
    /// What each carries along.
    pub sack: Option<Column>,
    /// Where each has been, if anybody asks.
    pub path: Option<Vec<PathId>>,
    /// The parent's row that each comes from, ascending.
    pub origin: Vec<u32>,
}

/// Which rows of a batch something comes from, ascending, with what they became: at most one item a row for a map, any
/// number for an expansion, the same item for a filter.
#[derive(Debug)]
pub enum Rows {
    /// Each row once.
    All,
    /// These.
    Some(Arc<[u32]>),
}

impl Batch {
    /// Traversers at `current` with nothing else, that come from `origin`.
    #[must_use]
    pub fn new(current: Column, origin: Vec<u32>) -> Self {
        Self { current, slots: Vec::new(), bulk: None, sack: None, path: None, origin }
    }

    /// An empty batch.
    #[must_use]
    pub fn empty() -> Self {
        Self::new(Column::of_items(Vec::new()), Vec::new())
    }

    /// Rows of the batch.
    #[must_use]
    pub fn len(&self) -> usize {
        self.origin.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.origin.is_empty()
    }

    /// How many traversers `row` represents.
    #[must_use]
    #[inline]
    pub fn bulk(&self, row: usize) -> u64 {
        self.bulk.as_ref().map_or(1, |bulk| bulk[row])
    }

    /// The item in slot `slot` of `row`.
    #[must_use]
    pub fn slot(&self, slot: usize, row: usize) -> Option<Item> {
        self.slots.get(slot)?.as_ref()?.get(row)
    }

    /// Puts `column` into `slot`.
    pub fn set_slot(&mut self, slot: usize, column: Column) {
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, None);
        }
        self.slots[slot] = Some(column);
    }

    /// What the rows keep in memory, columns that they share with others included, and how deep an item of theirs is
    /// nested. Cost: the first time that a column of items is asked, a look at each of them.
    #[must_use]
    pub fn extent(&self) -> Extent {
        let columns: Vec<&Column> =
            [&self.current].into_iter().chain(self.slots.iter().flatten()).chain(&self.sack).collect();
        let mut extent = Extent::default();
        for (at, column) in columns.iter().enumerate() {
            let places = column.parts().1.map_or(0, |places| places.len() * size_of::<u32>());
            extent = extent.plus(places);
            if !columns[..at].iter().any(|other| other.shares(column)) {
                extent = extent.beside(column.extent());
            }
        }
        let bulk = self.bulk.as_ref().map_or(0, |bulk| bulk.len() * size_of::<u64>());
        let path = self.path.as_ref().map_or(0, |path| path.len() * size_of::<PathId>());
        extent.plus(bulk + path + self.origin.len() * size_of::<u32>())
    }

    /// The rows `rows`, in that order, which ascends unless the caller sorts by origin later.
    #[must_use]
    pub fn gather(&self, rows: &Arc<[u32]>) -> Self {
        let mut gathering = RowSelection::new(rows);
        let current = gathering.column(&self.current);
        self.gather_rest(current, rows, gathering)
    }

    /// The batch of what the rows became: `column` has an item for each of `rows`. The past of a row goes along.
    #[must_use]
    pub fn follow(self, rows: &Rows, column: Column) -> Self {
        match rows {
            Rows::All => Self { current: column, ..self },
            Rows::Some(rows) => self.gather_rest(column, rows, RowSelection::new(rows)),
        }
    }

    /// The rows for which `keep` is true.
    #[must_use]
    pub fn filter(self, keep: &[bool]) -> Self {
        let kept = keep.iter().filter(|keep| **keep).count();
        if kept == self.len() {
            return self;
        }
        // Without branches: each row is written, and overwritten unless it stays.
        let mut rows = vec![0_u32; self.len() + 1];
        let mut at = 0;
        for (row, keep) in (0_u32..).zip(keep) {
            rows[at] = row;
            at += usize::from(*keep);
        }
        rows.truncate(kept);
        self.gather(&rows.into())
    }

    /// The rows `first..end`.
    #[must_use]
    pub fn slice(&self, first: usize, end: usize) -> Self {
        if first == 0 && end == self.len() {
            return self.clone();
        }
        self.gather(&(first as u32..end as u32).collect())
    }

    /// The same rows, which keep no data of other rows that is more than their own: for rows that stay.
    #[must_use]
    pub fn trimmed(self) -> Self {
        Self {
            current: self.current.trimmed(),
            slots: self.slots.into_iter().map(|slot| slot.map(Column::trimmed)).collect(),
            sack: self.sack.map(Column::trimmed),
            ..self
        }
    }

    /// All rows of `batches`, one batch after the other. Rows of one origin are side by side only if the batches follow
    /// each other so: see [`Batch::sort_by_origin`].
    #[must_use]
    pub fn concat(batches: &[Self]) -> Self {
        if let [batch] = batches {
            return batch.clone();
        }
        let column = |of: &dyn Fn(&Self) -> Option<Column>| -> Option<Column> {
            let columns: Vec<Option<Column>> = batches.iter().map(of).collect();
            columns.iter().any(Option::is_some).then(|| {
                let filled: Vec<Column> = columns
                    .into_iter()
                    .zip(batches)
                    .map(|(column, batch)| column.unwrap_or_else(|| Column::nothing(batch.len())))
                    .collect();
                Column::concat(&filled.iter().collect::<Vec<_>>())
            })
        };
        let slots = batches.iter().map(|batch| batch.slots.len()).max().unwrap_or(0);
        let any_bulk = batches.iter().any(|batch| batch.bulk.is_some());
        let bulks = || batches.iter().flat_map(|batch| (0..batch.len()).map(|row| batch.bulk(row)));
        let path = batches.iter().map(|batch| batch.path.clone()).collect::<Option<Vec<_>>>();
        Self {
            current: Column::concat(&batches.iter().map(|batch| &batch.current).collect::<Vec<_>>()),
            slots: (0..slots).map(|slot| column(&|batch| batch.slots.get(slot).cloned().flatten())).collect(),
            bulk: any_bulk.then(|| bulks().collect()),
            sack: column(&|batch| batch.sack.clone()),
            path: path.filter(|paths| !paths.is_empty()).map(|paths| paths.concat()),
            origin: batches.iter().flat_map(|batch| batch.origin.iter().copied()).collect(),
        }
    }

    /// The same rows by origin; rows of one origin keep their order. Cost: none if they are in order.
    #[must_use]
    pub fn sort_by_origin(self) -> Self {
        if self.origin.is_sorted() {
            return self;
        }
        let mut rows: Vec<u32> = (0..self.len() as u32).collect();
        rows.sort_by_key(|row| self.origin[*row as usize]);
        self.gather(&rows.into())
    }

    /// Multiplies the number of traversers that each row represents.
    ///
    /// # Errors
    /// `limit` beyond 2^64 - 1.
    pub fn multiply_bulk(&mut self, by: impl Iterator<Item = u64>) -> Result<()> {
        let product = |(row, by): (usize, u64)| self.bulk(row).checked_mul(by).ok_or_else(number::too_many);
        self.bulk = Some(by.enumerate().map(product).collect::<Result<_>>()?);
        Ok(())
    }

    /// The rows `made` of a traversal that ran for each row of this batch alone, as rows beside these: each has the origin of
    /// the row that it comes of, and stands for as many as both together.
    ///
    /// # Errors
    /// `limit` beyond 2^64 - 1.
    pub fn adopt(&self, mut made: Self) -> Result<Self> {
        if self.bulk.is_some() {
            let bulks: Vec<u64> = made.origin.iter().map(|row| self.bulk(*row as usize)).collect();
            made.multiply_bulk(bulks.into_iter())?;
        }
        made.origin.iter_mut().for_each(|row| *row = self.origin[*row as usize]);
        Ok(made)
    }

    /// The rows `made` of a traversal that ran for each row of this batch alone, with the past of these rows in place of
    /// their own: each stands for as many as both together.
    ///
    /// # Errors
    /// `limit` beyond 2^64 - 1.
    pub fn become_rows(self, made: Self) -> Result<Self> {
        let mut became = self.follow(&Rows::Some(made.origin.into()), made.current);
        if let Some(bulk) = made.bulk {
            became.multiply_bulk(bulk.into_iter())?;
        }
        Ok(became)
    }

    fn gather_rest(&self, current: Column, rows: &Arc<[u32]>, mut gathering: RowSelection<'_>) -> Self {
        fn chosen<T: Copy>(of: &[T], rows: &[u32]) -> Vec<T> {
            rows.iter().map(|row| of[*row as usize]).collect()
        }
        Self {
            current,
            slots: self.slots.iter().map(|slot| slot.as_ref().map(|slot| gathering.column(slot))).collect(),
            bulk: self.bulk.as_ref().map(|bulk| chosen(bulk, rows)),
            sack: self.sack.as_ref().map(|sack| gathering.column(sack)),
            path: self.path.as_ref().map(|path| chosen(path, rows)),
            origin: chosen(&self.origin, rows),
        }
    }
}

/// Rows that are given a batch at a time.
#[derive(Debug)]
pub struct Portions {
    all: Batch,
    given: usize,
}

impl From<Batch> for Portions {
    fn from(all: Batch) -> Self {
        Self { all, given: 0 }
    }
}

impl Portions {
    /// The next rows, at most `rows_max`; `None` when all are given.
    pub fn next(&mut self, rows_max: usize) -> Option<Batch> {
        let end = self.all.len().min(self.given.saturating_add(rows_max));
        let first = std::mem::replace(&mut self.given, end);
        (first < end).then(|| self.all.slice(first, end))
    }

    /// Whether all are given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.given == self.all.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::error::ErrorKind;

    fn batch(numbers: &[i64]) -> Batch {
        let items = numbers.iter().map(|number| Item::from(*number)).collect();
        let mut batch = Batch::new(Column::of_items(items), (0..numbers.len() as u32).collect());
        batch.set_slot(1, batch.current.clone());
        batch
    }

    fn shown(batch: &Batch) -> Vec<(Item, Option<Item>, u64, u32)> {
        let row =
            |row| (batch.current.get(row).unwrap(), batch.slot(1, row), batch.bulk(row), batch.origin[row]);
        (0..batch.len()).map(row).collect()
    }

    #[test]
    fn what_a_row_became_keeps_its_past() {
        let mut first = batch(&[1, 2, 3]);
        first.bulk = Some(vec![5, 6, 7]);
        let became = Column::of_items([10, 30, 31].map(Item::from).to_vec());
        let then = first.follow(&Rows::Some([0, 2, 2].into()), became);
        let number = |number: i64| Item::from(number);
        assert_eq!(
            shown(&then),
            [
                (Item::from(10), Some(number(1)), 5, 0),
                (Item::from(30), Some(number(3)), 7, 2),
                (Item::from(31), Some(number(3)), 7, 2)
            ]
        );
    }

    #[test]
    fn a_label_that_only_some_batches_have_is_missing_in_the_rows_of_the_others() {
        let mut bare = batch(&[9]);
        bare.slots.clear();
        let both = Batch::concat(&[batch(&[1, 2]).filter(&[false, true]), bare]);
        let found: Vec<_> = shown(&both).into_iter().map(|row| (row.1, row.2)).collect();
        assert_eq!(found, [(Some(Item::from(2_i64)), 1), (None, 1)]);
        assert_eq!(both.sort_by_origin().origin, [0, 1]);
    }

    #[test]
    fn what_a_row_stands_for_never_wraps_around() {
        let mut rows = batch(&[1]);
        rows.multiply_bulk([u64::MAX].into_iter()).unwrap();
        assert_eq!(rows.multiply_bulk([2].into_iter()).unwrap_err().kind(), ErrorKind::Limit);
    }
}
