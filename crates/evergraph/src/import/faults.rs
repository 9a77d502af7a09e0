//! Faults: rows that cannot be loaded, and what an import does about them.
//!
//! Each block gathers its own faults while blocks are read in parallel; they are reported in the
//! order of the files, so that the same input gives the same report with any number of threads.

use evergraph_graph::error::{Error, Result};

/// What to do about a row that cannot be loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnBadRow {
    /// Stop: the first one is the error, and nothing is loaded.
    #[default]
    Stop,
    /// Leave it out and count it.
    Skip {
        /// How many are described in the report.
        report: usize,
    },
}

impl OnBadRow {
    /// How many faults are worth a text.
    #[must_use]
    pub fn described_max(self) -> usize {
        match self {
            Self::Stop => 1,
            Self::Skip { report } => report,
        }
    }
}

/// The rows that were left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BadRows {
    /// How many.
    pub count: u64,
    /// The first ones, as `file:line: what is wrong`, in the order of files and lines.
    pub first: Vec<String>,
}

impl BadRows {
    /// Takes over the `faults` of one block of `file`, whose line 0 is the file's `first_line`.
    ///
    /// # Errors
    /// `invalid`, with the first fault as its text, if a bad row is to stop the import.
    pub fn add(
        &mut self,
        file: &str,
        first_line: u64,
        mut faults: Faults,
        on_bad_row: OnBadRow,
    ) -> Result<()> {
        if faults.count == 0 {
            return Ok(());
        }
        faults.described.sort_by_key(|fault| fault.line);
        let mut texts = faults.described.iter().map(|fault| {
            let line = first_line + fault.line;
            format!("{file}:{line}: {}", fault.text)
        });
        if on_bad_row == OnBadRow::Stop {
            return Err(Error::invalid(texts.next().expect("one fault at least is described")));
        }
        self.count += faults.count;
        self.first.extend(texts.take(on_bad_row.described_max() - self.first.len()));
        Ok(())
    }
}

/// The faults of one block.
#[derive(Debug)]
pub struct Faults {
    described_max: usize,
    count: u64,
    described: Vec<Fault>,
}

#[derive(Debug)]
struct Fault {
    line: u64,
    text: String,
}

impl Faults {
    /// None, and room for the descriptions that `on_bad_row` wants.
    #[must_use]
    pub fn new(on_bad_row: OnBadRow) -> Self {
        Self { described_max: on_bad_row.described_max(), count: 0, described: Vec::new() }
    }

    /// Counts a fault in `line` of the block, and describes it while descriptions are wanted.
    ///
    /// Lines must come in order between two calls of [`Faults::join`].
    pub fn push(&mut self, line: u64, describe: impl FnOnce() -> String) {
        self.count += 1;
        if self.described.len() < self.described_max {
            self.described.push(Fault { line, text: describe() });
        }
    }

    /// Takes over other faults of the same block.
    pub fn join(&mut self, other: Self) {
        self.count += other.count;
        self.described.extend(other.described);
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(on_bad_row: OnBadRow, lines: &[u64]) -> Faults {
        let mut faults = Faults::new(on_bad_row);
        for line in lines {
            faults.push(*line, || format!("fault {line}"));
        }
        faults
    }

    #[test]
    fn the_first_fault_in_the_file_stops_whichever_was_found_first() {
        let mut block = faults(OnBadRow::Stop, &[7]);
        block.join(faults(OnBadRow::Stop, &[3]));
        let error = BadRows::default().add("a.csv", 10, block, OnBadRow::Stop).unwrap_err();
        assert_eq!(error.to_string(), "a.csv:13: fault 3");
    }

    #[test]
    fn skipped_rows_are_all_counted_and_the_first_ones_described() {
        let skip = OnBadRow::Skip { report: 3 };
        let mut bad_rows = BadRows::default();
        bad_rows.add("a.csv", 1, faults(skip, &[4, 5]), skip).unwrap();
        bad_rows.add("b.csv", 1, faults(skip, &[0, 1, 2, 3]), skip).unwrap();
        assert_eq!(bad_rows.count, 6);
        assert_eq!(bad_rows.first, ["a.csv:5: fault 4", "a.csv:6: fault 5", "b.csv:1: fault 0"]);
        let none = OnBadRow::Skip { report: 0 };
        bad_rows = BadRows::default();
        bad_rows.add("a.csv", 1, faults(none, &[4]), none).unwrap();
        assert_eq!((bad_rows.count, bad_rows.first.len()), (1, 0));
    }
}
