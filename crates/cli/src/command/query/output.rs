//! Output: results one by one, as lines, as tables where maps of the same keys follow each other, or as lines of JSON.
//!
//! A table's columns are as wide as what is in them, so its rows wait for each other, and a long table is printed in parts.

use crate::command::query::printed_item::PrintedItem;
use evergraph_terminal::table::{Side, Table, visible};
use std::io::{self, Write};

/// Rows of one part of a table.
const ROWS_MAX: usize = 1000;
/// Columns of a table; a map of more keys is a line, as is one that counts by some key.
const COLUMNS_MAX: usize = 16;

/// What prints results.
pub struct Output<W> {
    out: W,
    json: bool,
    /// Maps of the same keys that wait to be a table.
    rows: Vec<Vec<(PrintedItem, PrintedItem)>>,
    /// Results that are printed; others are counted.
    rows_max: u64,
    results_count: u64,
}

impl<W: Write> Output<W> {
    /// Prints to `out`, JSON if `json`. Who prints keeps to `rows_max`.
    pub fn new(out: W, json: bool, rows_max: u64) -> Self {
        Self { out, json, rows: Vec::new(), rows_max, results_count: 0 }
    }

    /// How many results are to be printed at most.
    pub fn rows_max(&self) -> u64 {
        self.rows_max
    }

    /// Prints one result, or lets it wait for others of its table.
    ///
    /// # Errors
    /// If `out` doesn't take it.
    pub fn result(&mut self, result: PrintedItem) -> io::Result<()> {
        self.results_count += 1;
        if self.json {
            serde_json::to_writer(&mut self.out, &result)?;
            return self.out.write_all(b"\n");
        }
        match result {
            PrintedItem::Map(entries) if is_row(&entries) => {
                let fits = self.rows.first().is_none_or(|first| same_keys(first, &entries));
                if !fits || self.rows.len() == ROWS_MAX {
                    self.table()?;
                }
                self.rows.push(entries);
                Ok(())
            }
            result => {
                self.table()?;
                writeln!(self.out, "{}", visible(&result.to_string()))
            }
        }
    }

    /// Counts `count` results that aren't printed; what waits is.
    ///
    /// # Errors
    /// If `out` doesn't take it.
    pub fn leave_out(&mut self, count: u64) -> io::Result<()> {
        // What a server says occurs often need not be true.
        self.results_count = self.results_count.saturating_add(count);
        self.table()
    }

    /// Prints what waits.
    ///
    /// # Errors
    /// If `out` doesn't take it.
    pub fn finish(&mut self) -> io::Result<()> {
        self.table()?;
        self.out.flush()
    }

    /// Results that there were.
    pub fn results_count(&self) -> u64 {
        self.results_count
    }

    fn table(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        let Some(first) = rows.first() else { return Ok(()) };
        let names: Vec<String> = first.iter().map(|(key, _)| visible(&key.to_string())).collect();
        let side = |column: usize| {
            let is_number = rows.iter().all(|row| row[column].1.is_number());
            if is_number { Side::Right } else { Side::Left }
        };
        let columns: Vec<(&str, Side)> =
            names.iter().enumerate().map(|(column, name)| (&**name, side(column))).collect();
        let mut table = Table::new(&columns);
        for row in &rows {
            table.row(row.iter().map(|(_, value)| value.to_string()));
        }
        write!(self.out, "{table}")
    }
}

fn is_row(entries: &[(PrintedItem, PrintedItem)]) -> bool {
    (1..=COLUMNS_MAX).contains(&entries.len()) && entries.iter().all(|(key, _)| key.is_name())
}

fn same_keys(one: &[(PrintedItem, PrintedItem)], other: &[(PrintedItem, PrintedItem)]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.0 == other.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::value::Value;

    fn map(entries: &[(&str, Value)]) -> PrintedItem {
        let entry = |(key, value): &(&str, Value)| {
            (PrintedItem::Value((*key).into()), PrintedItem::Value(value.clone()))
        };
        PrintedItem::Map(entries.iter().map(entry).collect())
    }

    fn printed(json: bool, results: impl IntoIterator<Item = PrintedItem>) -> String {
        let mut bytes = Vec::new();
        let mut output = Output::new(&mut bytes, json, u64::MAX);
        results.into_iter().for_each(|result| output.result(result).unwrap());
        output.finish().unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn maps_of_the_same_keys_are_a_table_and_others_begin_one() {
        let ann = map(&[("name", "ann\u{1b}".into()), ("age", 41.into())]);
        let bob = map(&[("name", "bob".into()), ("age", 7.into())]);
        let other = map(&[("age", 7.into()), ("name", "bob".into())]);
        let text = printed(false, [ann, bob, other, PrintedItem::Null]);
        let wanted = "name       age\n──────────────\nann\\u{1b}   41\nbob          7\n\
                      age  name\n─────────\n  7  bob\nnull\n";
        assert_eq!(text, wanted);
    }

    #[test]
    fn a_map_of_many_keys_or_of_others_than_texts_is_a_line() {
        let wide = PrintedItem::Map(
            (0..17).map(|at| (PrintedItem::Value(at.to_string().into()), PrintedItem::Null)).collect(),
        );
        let by_number = PrintedItem::Map(vec![(PrintedItem::Value(1.into()), PrintedItem::Null)]);
        let text = printed(false, [wide, by_number, map(&[])]);
        assert_eq!(text.lines().count(), 3);
        assert!(text.ends_with("\n{1: null}\n{:}\n"), "{text}");
    }

    #[test]
    fn a_long_table_comes_in_parts() {
        let rows = (0..2001).map(|at: i32| map(&[("at", at.into())]));
        let text = printed(false, rows);
        assert_eq!(text.lines().count(), 2001 + 3 * 2);
        assert_eq!(text.lines().filter(|line| line.trim() == "at").count(), 3);
    }

    #[test]
    fn each_result_is_a_line_of_json() {
        let text = printed(true, [map(&[("a", "x\ny".into())]), PrintedItem::Null]);
        assert_eq!(text, "{\"a\":\"x\\ny\"}\nnull\n");
    }
}
