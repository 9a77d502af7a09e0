//! Pending batches: batches that a step keeps, counted while it keeps them.

use crate::batch::{Batch, Portions};
use crate::execute::limits::{Charge, MemoryShare};
use evergraph_graph::error::Result;
use std::collections::VecDeque;

/// Batches that wait, in the order they came. Whatever becomes of them, they are counted no longer than they are here.
#[derive(Default)]
pub struct PendingBatches {
    batches: VecDeque<(Batch, MemoryShare)>,
    rows: usize,
}

impl PendingBatches {
    /// Keeps `batch` until it is taken.
    ///
    /// # Errors
    /// `limit` past the query's memory.
    pub fn push(&mut self, batch: Batch, charge: &mut Charge<'_>) -> Result<()> {
        let batch = batch.trimmed();
        let holding = charge.holding(batch.extent().heap_bytes)?;
        self.rows += batch.len();
        self.batches.push_back((batch, holding));
        Ok(())
    }

    /// Takes the batch that came first.
    pub fn pop(&mut self) -> Option<Batch> {
        let (batch, _) = self.batches.pop_front()?;
        self.rows -= batch.len();
        Some(batch)
    }

    /// Appends the batches of `more`.
    pub fn append(&mut self, mut more: Self) {
        self.rows += more.rows;
        self.batches.append(&mut more.batches);
    }

    /// Rows of all batches.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Batches that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.batches.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// The first that came.
    #[must_use]
    pub fn first(&self) -> Option<&Batch> {
        self.batches.front().map(|(batch, _)| batch)
    }

    /// The batches, in the order they came.
    pub fn iter(&self) -> impl Iterator<Item = &Batch> {
        self.batches.iter().map(|(batch, _)| batch)
    }

    /// Drops all batches.
    pub fn clear(&mut self) {
        self.batches.clear();
        self.rows = 0;
    }

    /// Takes all rows as one batch, counted as long as its holding exists.
    ///
    /// # Errors
    /// `limit` if there isn't enough memory for both at once.
    pub fn together(&mut self, charge: &mut Charge<'_>) -> Result<(Batch, MemoryShare)> {
        self.rows = 0;
        if self.batches.len() == 1
            && let Some(alone) = self.batches.pop_front()
        {
            return Ok(alone);
        }
        let bytes = self.batches.iter().map(|(_, holding)| holding.bytes()).sum::<u64>();
        let holding = charge.holding(bytes as usize)?;
        let (batches, before): (Vec<Batch>, Vec<MemoryShare>) = self.batches.drain(..).unzip();
        let all = if batches.is_empty() { Batch::empty() } else { Batch::concat(&batches) };
        drop((batches, before));
        Ok((all, holding))
    }
}

/// Rows that are given a batch at a time, counted until the last is given.
pub struct CountedPortions {
    rows: Portions,
    _holding: MemoryShare,
}

impl CountedPortions {
    /// All rows of `batch`.
    ///
    /// # Errors
    /// `limit` past the query's memory.
    pub fn new(batch: Batch, charge: &mut Charge<'_>) -> Result<Self> {
        let holding = charge.holding(batch.extent().heap_bytes)?;
        Ok(Self { rows: batch.into(), _holding: holding })
    }

    /// The next rows, at most `rows_max`; `None` when all are given.
    pub fn next(&mut self, rows_max: usize) -> Option<Batch> {
        self.rows.next(rows_max)
    }

    /// Whether all are given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::column::Column;
    use crate::execute::limits::QueryLimits;
    use crate::value::item::Item;
    use evergraph_graph::budget::Unlimited;
    use evergraph_graph::cancel::CancelFlag;

    fn batch(rows: i32) -> Batch {
        let items = (0..rows).map(|row| Item::from("x".repeat(1000 + row as usize))).collect();
        Batch::new(Column::of_items(items), vec![0; rows as usize])
    }

    fn charge(memory_bytes: u64) -> Charge<'static> {
        let limits = QueryLimits { memory_bytes, ..QueryLimits::default() };
        Charge::new(limits, CancelFlag::default(), &Unlimited)
    }

    #[test]
    fn what_waits_is_counted_until_it_is_gone_however_it_goes() {
        let mut charge = charge(1 << 16);
        let free = charge.room();
        let mut waiting = PendingBatches::default();
        (0..3).for_each(|_| waiting.push(batch(10), &mut charge).unwrap());
        assert!(charge.room().bytes < free.bytes - 30_000 && waiting.rows() == 30);
        assert_eq!(waiting.pop().map(|batch| batch.len()), Some(10));
        let (all, holding) = waiting.together(&mut charge).unwrap();
        assert!(all.len() == 20 && waiting.is_empty() && waiting.rows() == 0);
        assert!(charge.room().bytes < free.bytes - 20_000);
        drop(holding);
        assert_eq!(charge.room(), free);
        waiting.push(batch(10), &mut charge).unwrap();
        waiting.clear();
        assert_eq!(charge.room(), free);
        assert!(waiting.push(batch(100), &mut charge).is_err());
        assert_eq!(charge.room(), free, "what was refused is not counted");
    }

    #[test]
    fn a_few_rows_of_many_are_counted_as_few_and_keep_no_others() {
        let mut charge = charge(1 << 20);
        let free = charge.room();
        let mut waiting = PendingBatches::default();
        waiting.push(batch(100).slice(3, 5), &mut charge).unwrap();
        let held = free.bytes - charge.room().bytes;
        assert!((2000..3000).contains(&held), "{held}");
    }
}
