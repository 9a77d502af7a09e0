//! Faults: rows that cannot be loaded, and how an import handles them.
//!
//! ```text
//! parse a block ──> Faults ──┐
//! place its rows ─> Faults ──┴──> FaultCollector ──> the error that stops, or
//!   (unordered)                     by line, by file    the count, the first ones, the report
//! ```
//!
//! Each block gathers its own faults while blocks are read in parallel; they are taken in the order of
//! the files, so that the same input gives the same answer with any number of threads.

use crate::import::bad_row::{BadRow, Fault};
use crate::import::report::ReportFile;
use evergraph_graph::error::{Error, Result};

/// Bad rows that [`BadRows::first`] keeps.
const FIRST_MAX: usize = 10;

/// What to do about a row that cannot be loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnBadRow {
    /// Stop: the first one is the error, and nothing is loaded.
    #[default]
    Stop,
    /// Leave it out and count it.
    Skip {
        /// One more than this many stop the import all the same; `None`: any number may be bad.
        at_most: Option<u64>,
    },
}

/// The rows that were left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BadRows {
    /// How many.
    pub count: u64,
    /// The first ones, in the order of files and lines.
    pub first: Vec<BadRow>,
}

/// How the faults of a block are gathered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FaultRules {
    /// Whether the first one stops the import, so that no others need to be found.
    pub stops: bool,
    /// How many of a block are worth a description.
    described_max: usize,
}

/// Takes the faults of all blocks, in order.
#[derive(Debug)]
pub struct FaultCollector {
    on_bad_row: OnBadRow,
    bad_rows: BadRows,
    report: Option<ReportFile>,
}

impl FaultCollector {
    /// Nothing is wrong yet. What will be is told to `report` as well, if there is one.
    #[must_use]
    pub fn new(on_bad_row: OnBadRow, report: Option<ReportFile>) -> Self {
        Self { on_bad_row, bad_rows: BadRows::default(), report }
    }

    /// What blocks need to know.
    #[must_use]
    pub fn rules(&self) -> FaultRules {
        let described_max = match self.on_bad_row {
            OnBadRow::Stop => 1,
            OnBadRow::Skip { .. } if self.report.is_some() => usize::MAX,
            // The one that is too many is the error.
            OnBadRow::Skip { at_most } => {
                let too_many = at_most.and_then(|max| usize::try_from(max).ok()?.checked_add(1));
                FIRST_MAX.max(too_many.unwrap_or(0))
            }
        };
        FaultRules { stops: self.on_bad_row == OnBadRow::Stop, described_max }
    }

    /// Takes over the `faults` of one block of `file`, whose line 0 is the file's `first_line`.
    ///
    /// # Errors
    /// `invalid`, with the bad row as its text, if a bad row is to stop the import or is one too many;
    /// `io` if the report can't be written.
    pub fn add(&mut self, file: &str, first_line: u64, mut faults: Faults) -> Result<()> {
        if faults.count == 0 {
            return Ok(());
        }
        faults.described.sort_by_key(|(line, _)| *line);
        let count_after = self.bad_rows.count + faults.count;
        for (line, fault) in faults.described {
            let bad_row = BadRow { file: file.to_owned(), line: first_line + line, fault };
            if let Some(report) = &mut self.report {
                report.write(&bad_row)?;
            }
            self.bad_rows.count += 1;
            self.stop_if_too_many(&bad_row)?;
            if self.bad_rows.first.len() < FIRST_MAX {
                self.bad_rows.first.push(bad_row);
            }
        }
        self.bad_rows.count = count_after;
        self.report.as_mut().map_or(Ok(()), ReportFile::flush)
    }

    /// The rows that were left out.
    #[must_use]
    pub fn finish(self) -> BadRows {
        self.bad_rows
    }

    fn stop_if_too_many(&mut self, bad_row: &BadRow) -> Result<()> {
        let text = match self.on_bad_row {
            OnBadRow::Stop => bad_row.to_string(),
            OnBadRow::Skip { at_most: Some(max) } if self.bad_rows.count > max => {
                let rows = if max == 1 { "row" } else { "rows" };
                let count = self.bad_rows.count;
                format!("{bad_row} (bad row {count}; at most {max} bad {rows} may be left out)")
            }
            OnBadRow::Skip { .. } => return Ok(()),
        };
        self.report.as_mut().map_or(Ok(()), ReportFile::flush)?;
        Err(Error::invalid(text))
    }
}

/// The faults of one block: described for people, or as what found them knows them.
#[derive(Debug)]
pub struct Faults<Description = Fault> {
    described_max: usize,
    count: u64,
    /// By the line of the block.
    described: Vec<(u64, Description)>,
}

impl<Description> Faults<Description> {
    /// None, and room for the descriptions that `rules` want.
    #[must_use]
    pub fn new(rules: FaultRules) -> Self {
        Self { described_max: rules.described_max, count: 0, described: Vec::new() }
    }

    /// Counts a fault in `line` of the block, and describes it while descriptions are wanted.
    ///
    /// Lines must come in order between two calls of [`Faults::join`].
    pub fn push(&mut self, line: u64, describe: impl FnOnce() -> Description) {
        self.count += 1;
        if self.described.len() < self.described_max {
            self.described.push((line, describe()));
        }
    }

    /// The same faults in other words.
    #[must_use]
    pub fn map<Other>(self, mut translate: impl FnMut(Description) -> Other) -> Faults<Other> {
        let Self { described_max, count, described } = self;
        let described = described.into_iter().map(|(line, said)| (line, translate(said))).collect();
        Faults { described_max, count, described }
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

    /// The first one that is described.
    #[must_use]
    pub fn first(&self) -> Option<&Description> {
        self.described.first().map(|(_, description)| description)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(collector: &FaultCollector, lines: &[u64]) -> Faults {
        let mut faults = Faults::new(collector.rules());
        for line in lines {
            faults.push(*line, || Fault::of_row(format!("fault {line}"), b"a,b"));
        }
        faults
    }

    fn skip(at_most: Option<u64>) -> FaultCollector {
        FaultCollector::new(OnBadRow::Skip { at_most }, None)
    }

    #[test]
    fn the_first_fault_in_the_file_stops_whichever_was_found_first() {
        let mut collector = FaultCollector::new(OnBadRow::Stop, None);
        let mut block = faults(&collector, &[7]);
        block.join(faults(&collector, &[3]));
        let error = collector.add("a.csv", 10, block).unwrap_err();
        assert_eq!(error.to_string(), "a.csv:13: fault 3");
    }

    #[test]
    fn skipped_rows_are_all_counted_and_the_first_ones_kept() {
        let mut collector = skip(None);
        collector.add("a.csv", 1, faults(&collector, &[4, 5])).unwrap();
        collector.add("b.csv", 1, faults(&collector, &(0..20).collect::<Vec<_>>())).unwrap();
        let bad_rows = collector.finish();
        assert_eq!((bad_rows.count, bad_rows.first.len()), (22, FIRST_MAX));
        let texts: Vec<String> = bad_rows.first.iter().take(3).map(ToString::to_string).collect();
        assert_eq!(texts, ["a.csv:5: fault 4", "a.csv:6: fault 5", "b.csv:1: fault 0"]);
    }

    #[test]
    fn one_bad_row_too_many_stops_and_is_named() {
        let mut collector = skip(Some(30));
        collector.add("a.csv", 1, faults(&collector, &(0..15).collect::<Vec<_>>())).unwrap();
        collector.add("a.csv", 100, faults(&collector, &(0..15).collect::<Vec<_>>())).unwrap();
        let error = collector.add("a.csv", 200, faults(&collector, &[5, 6])).unwrap_err();
        assert_eq!(error.to_string(), "a.csv:205: fault 5 (bad row 31; at most 30 bad rows may be left out)");
        let mut collector = skip(Some(0));
        let error = collector.add("a.csv", 1, faults(&collector, &[0])).unwrap_err();
        assert!(error.to_string().contains("at most 0 bad rows"), "{error}");
    }
}
