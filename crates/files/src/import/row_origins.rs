//! Row origins: the file and line that each row came from, so that a duplicate can name both.
//!
//! Rows that follow one another line by line share one entry: a file without comments and without
//! line breaks in quotes costs a few bytes in all.

/// Where rows came from.
#[derive(Debug, Default)]
pub struct RowOrigins {
    files: Vec<String>,
    /// Sorted by row. A run ends where the next one begins.
    runs: Vec<Run>,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    row: u32,
    file: u32,
    line: u64,
}

impl RowOrigins {
    /// Rows that come from now on are from `file`.
    pub fn enter(&mut self, file: &str) {
        self.files.push(file.to_owned());
    }

    /// Notes the `line` of `row`, which is above all rows before it.
    ///
    /// # Panics
    /// If no file was entered.
    pub fn push(&mut self, row: u32, line: u64) {
        let file = self.files.len() as u32 - 1;
        let continues = self
            .runs
            .last()
            .is_some_and(|run| run.file == file && line == run.line + u64::from(row - run.row));
        if !continues {
            self.runs.push(Run { row, file, line });
        }
    }

    /// The place of `row` as `file:line`; rows that were never in a file have none.
    #[must_use]
    pub fn find(&self, row: u32) -> Option<String> {
        let at = self.runs.partition_point(|run| run.row <= row).checked_sub(1)?;
        let run = self.runs[at];
        Some(format!("{}:{}", self.files[run.file as usize], run.line + u64::from(row - run.row)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_leads_back_to_its_file_and_line() {
        let mut places = RowOrigins::default();
        places.enter("a.csv");
        for (row, line) in [(10, 2), (11, 3), (12, 7), (13, 8)] {
            places.push(row, line);
        }
        places.enter("b.csv");
        places.push(14, 9);
        assert_eq!(places.find(9), None, "declared by a range, not by a line");
        for (row, place) in
            [(10, "a.csv:2"), (11, "a.csv:3"), (12, "a.csv:7"), (13, "a.csv:8"), (14, "b.csv:9")]
        {
            assert_eq!(places.find(row).as_deref(), Some(place));
        }
        assert_eq!(places.runs.len(), 3);
    }
}
