//! Read rows: vertices of rows that change, read with their look-up as long as they take little memory.
//!
//! A vertex that is looked up is read to see that it is the one; read whole, it is not read again when its row is compared
//! with it. But all rows are looked up before the first is written. So only so many are read then as [`ReadBudget`] allows;
//! the others when they are written, one at a time.

use crate::apply::attempt::Attempt;
use crate::apply::error::ApplyResult;
use crate::apply::rule_fold::{KeyFold, RuleFold};
use evergraph_graph::id::KeyId;
use evergraph_graph::value::Value;
use evergraph_storage::snapshot::holders::FoundVertex;

/// Rows of a rule that are read at their look-up, at most.
const ROWS_MAX: usize = 512;
/// Bytes of their properties, at most, beside the last few rows.
const BYTES_MAX: usize = 1 << 20;
/// Rows that are read in one call, at most.
const CALL_ROWS_MAX: usize = 16;

/// How many rows are read.
#[derive(Debug, Default)]
struct ReadBudget {
    rows: usize,
    bytes: usize,
}

impl ReadBudget {
    /// How many rows may be read next, if they are as large as those before; one that nobody knows is read alone.
    fn next_rows(&self) -> usize {
        if self.rows >= ROWS_MAX || self.bytes >= BYTES_MAX {
            return 0;
        }
        match self.bytes.checked_div(self.rows) {
            None => 1,
            Some(of_row) => ((BYTES_MAX - self.bytes) / of_row.max(1)).clamp(1, CALL_ROWS_MAX),
        }
    }

    fn spend(&mut self, rows: usize, bytes: usize) {
        self.rows += rows;
        self.bytes += bytes;
    }
}

impl Attempt<'_> {
    /// Reads the vertices of the first rows of a rule that are shown and asked for: an entry a key, up to the last one that was
    /// read.
    pub(super) fn read_rows(
        &mut self,
        fold: &RuleFold,
        is_asked: impl Fn(&KeyFold) -> bool,
    ) -> ApplyResult<Vec<Option<FoundVertex>>> {
        let schema = self.schema.vertex(fold.rule);
        let keys = fold.keys.iter().enumerate();
        let mut rows = keys.filter(|(_, key)| is_asked(key) && fold.shown(key).is_some());
        let (mut budget, mut read) = (ReadBudget::default(), Vec::new());
        let (mut numbers, mut asked, mut found) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            for (number, key) in rows.by_ref().take(budget.next_rows()) {
                numbers.push(number);
                asked.push(key.key.first.clone());
            }
            let Some(last) = numbers.last() else { return Ok(read) };
            self.graph.find_vertices(schema.label, schema.key, &asked, &mut found)?;
            read.resize_with(last + 1, || None);
            let bytes = found.iter().flatten().map(|vertex| bytes_of(vertex.properties())).sum();
            budget.spend(numbers.len(), bytes);
            for (number, vertex) in numbers.drain(..).zip(found.drain(..)) {
                read[number] = vertex;
            }
            asked.clear();
        }
    }
}

fn bytes_of(properties: &[(KeyId, Value)]) -> usize {
    let values: usize = properties.iter().map(|(_, value)| value.heap_bytes()).sum();
    size_of_val(properties) + values
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `rows` rows are read at each call, if each takes so many bytes.
    fn calls(rows: usize, bytes: impl Fn(usize) -> usize) -> Vec<usize> {
        let (mut budget, mut calls, mut read) = (ReadBudget::default(), Vec::new(), 0);
        while read < rows {
            let next = budget.next_rows().min(rows - read);
            if next == 0 {
                break;
            }
            budget.spend(next, (read..read + next).map(&bytes).sum());
            read += next;
            calls.push(next);
        }
        calls
    }

    #[test]
    fn of_wide_rows_few_are_read_before_the_first_is_written() {
        assert_eq!(calls(4000, |_| 1 << 20), [1]);
        assert_eq!(calls(4000, |_| 300 << 10), [1, 2, 1]);
        // A few small ones before them say nothing of those behind.
        let mixed = calls(4000, |row| if row < 100 { 50 } else { 1 << 20 });
        assert!(mixed.iter().sum::<usize>() <= 100 + CALL_ROWS_MAX, "{mixed:?}");
    }

    #[test]
    fn small_rows_are_read_many_at_a_time_and_some_hundred_in_all() {
        assert_eq!(calls(1, |_| 100), [1]);
        assert_eq!(calls(20, |_| 100), [1, 16, 3]);
        let all: usize = calls(100_000, |_| 100).into_iter().sum();
        assert!((ROWS_MAX..ROWS_MAX + CALL_ROWS_MAX).contains(&all), "{all}");
        assert_eq!(calls(3, |_| 0), [1, 2], "rows that are not there");
    }
}
