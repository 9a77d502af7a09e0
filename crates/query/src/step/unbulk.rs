//! Unbulk: a row that represents several traversers becomes as many rows, before a step that writes for each.

use crate::batch::Batch;
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use evergraph_graph::error::Result;

/// Gives each traverser its own row, a batch at a time, however many a row represents.
#[derive(Default)]
pub struct Unbulk {
    row: usize,
    /// How many of the row's traversers went on.
    gone: u64,
}

impl Unbulk {
    /// The rows of the next traversers, at most `rows_max`.
    fn next(&mut self, batch: &Batch, rows_max: usize) -> Vec<u32> {
        let mut rows = Vec::new();
        while rows.len() < rows_max && self.row < batch.len() {
            let left = batch.bulk(self.row) - self.gone;
            let now = left.min((rows_max - rows.len()) as u64);
            rows.resize(rows.len() + now as usize, self.row as u32);
            self.gone += now;
            if now == left {
                (self.row, self.gone) = (self.row + 1, 0);
            }
        }
        rows
    }
}

impl Step for Unbulk {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if input.as_ref().is_none_or(|batch| batch.bulk.is_none()) {
            return Ok(input.take());
        }
        let Some(batch) = input else { return Ok(None) };
        let mut made = batch.gather(&self.next(batch, cx.charge.batch_rows()).into());
        made.bulk = None;
        if self.row == batch.len() {
            (*input, self.row) = (None, 0);
        }
        Ok(Some(made))
    }

    fn reset(&mut self, _origins: u32) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::column::Column;
    use crate::value::item::Item;

    #[test]
    fn rows_come_as_often_as_they_stand_for_and_a_batch_at_a_time() {
        let items = (0..3).map(Item::from).collect();
        let mut batch = Batch::new(Column::of_items(items), vec![0; 3]);
        batch.bulk = Some(vec![3, 0, u64::MAX]);
        let mut step = Unbulk::default();
        let found = [2, 2, 3].map(|rows_max| step.next(&batch, rows_max));
        assert_eq!(found, [vec![0, 0], vec![0, 2], vec![2, 2, 2]]);
        assert_eq!(step.row, 2, "the last stands for more than anybody waits for");
    }
}
