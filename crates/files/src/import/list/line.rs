//! Line: parses lines of `source target [weight] [time]` and lines of vertices from bytes.
//!
//! ```text
//! # comment                      edges     7 12 0.5 1254192988
//! % comment                      vertices  7 3
//! ```
//!
//! Fields stand between blanks and tabs (any number of them), or between commas or another character
//! that the first line shows or an option fixes. Ids are whole numbers from -2^63 to 2^64-1. Every
//! line is an edge: the same pair twice is two edges.

use crate::import::bad_row::Fault;
use crate::import::faults::{FaultRules, Faults};
use crate::import::field::cell::{CellType, Cells, shortened};
use crate::import::field::integer::{IntegerError, parse_u64};

/// What stands between the fields of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Separator {
    /// Blanks and tabs, any number of them.
    Blanks,
    /// One character; blanks around a field don't count.
    Byte(u8),
}

/// How the lines of a file are made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineFormat {
    /// What stands between fields.
    pub separator: Separator,
    /// Ids at the beginning of a line: 2 in lists of edges, 1 in lists of vertices.
    pub ids: usize,
    /// The columns behind the ids; `None` for one that is left out.
    pub columns: Vec<Option<(String, CellType)>>,
    /// The text that stands for no value, besides an empty one.
    pub null: Option<Vec<u8>>,
    /// The letter that stands before the ids of every line: `a` in DIMACS files, whose lines with `c` are
    /// comments. `None`: there is none.
    pub marker: Option<u8>,
}

/// The rows of one block of lines.
#[derive(Debug)]
pub struct LineRows {
    /// The first id of each row, by its bits.
    pub sources: Vec<u64>,
    /// The second id of each row, by its bits; empty in lists of vertices.
    pub targets: Vec<u64>,
    /// The columns that are kept, in the order of the format.
    pub columns: Vec<Cells>,
    /// The first row with a negative id.
    pub negative: Option<usize>,
    /// The first row with an id above 2^63 - 1.
    pub beyond: Option<usize>,
    /// The block.
    block: Vec<u8>,
    /// Lines in the block.
    pub lines: u64,
    /// Lines without a row, counted from 0, in order.
    skipped: Vec<u64>,
    /// Rows that were left out, by their lines.
    pub faults: Faults,
}

impl Separator {
    /// What stands between the fields of `line`: a comma if there is one, blanks and tabs otherwise.
    #[must_use]
    pub fn detect(line: &[u8]) -> Self {
        if line.contains(&b',') { Self::Byte(b',') } else { Self::Blanks }
    }

    /// The separator that an option names: a blank and a tab mean any number of both.
    #[must_use]
    pub fn from_option(delimiter: u8) -> Self {
        if delimiter == b' ' || delimiter == b'\t' { Self::Blanks } else { Self::Byte(delimiter) }
    }

    /// The fields of `line`.
    pub fn fields(self, line: &[u8]) -> Fields<'_> {
        Fields { separator: self, rest: Some(line) }
    }
}

/// The fields of one line, from left to right.
pub struct Fields<'a> {
    separator: Separator,
    rest: Option<&'a [u8]>,
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        match self.separator {
            Separator::Blanks => {
                let Some(start) = rest.iter().position(|byte| !is_blank(*byte)) else {
                    self.rest = None;
                    return None;
                };
                let rest = &rest[start..];
                let end = rest.iter().position(|byte| is_blank(*byte)).unwrap_or(rest.len());
                self.rest = Some(&rest[end..]);
                Some(&rest[..end])
            }
            Separator::Byte(separator) => {
                let end = rest.iter().position(|byte| *byte == separator);
                let field = &rest[..end.unwrap_or(rest.len())];
                self.rest = end.map(|end| &rest[end + 1..]);
                Some(field.trim_ascii())
            }
        }
    }
}

/// The first line of `block` that holds data.
#[must_use]
pub fn first_data_line(block: &[u8]) -> Option<&[u8]> {
    block.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).find(|line| holds_data(line))
}

impl LineFormat {
    /// Reads a block of whole lines. A row that can't be read is left out and described; where the
    /// first one stops an import, the block ends there.
    ///
    /// Cost: one pass, no allocation a line (strings and lists among the columns apart).
    #[must_use]
    pub fn parse(&self, block: Vec<u8>, rules: FaultRules) -> LineRows {
        let mut rows = LineRows {
            sources: Vec::new(),
            targets: Vec::new(),
            columns: self.columns.iter().flatten().map(|(_, cell_type)| Cells::new(*cell_type)).collect(),
            negative: None,
            beyond: None,
            block: Vec::new(),
            lines: 0,
            skipped: Vec::new(),
            faults: Faults::new(rules),
        };
        let mut keep = Vec::new();
        let mut rest = block.as_slice();
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest);
            let line = rest[..end.unwrap_or(rest.len())].trim_ascii_end();
            rest = end.map_or(&[], |end| &rest[end + 1..]);
            let line_number = rows.lines;
            rows.lines += 1;
            if !self.holds_data(line) {
                rows.skipped.push(line_number);
                continue;
            }
            match self.parse_line(line, &mut rows) {
                Ok(()) => keep.push(true),
                Err(bad) => {
                    rows.skipped.push(line_number);
                    rows.faults.push(line_number, || self.describe(line, &bad));
                    if bad.cells_pushed {
                        keep.push(false);
                    }
                    if rules.stops {
                        break;
                    }
                }
            }
        }
        if keep.len() > rows.sources.len() {
            rows.columns.iter_mut().for_each(|column| column.retain(&keep));
        }
        rows.block = block;
        rows
    }

    /// Reads one line into the next row: all its fields, or none of them but cells that
    /// [`BadLine::cells_pushed`] tells of.
    fn parse_line(&self, line: &[u8], rows: &mut LineRows) -> Result<(), BadLine> {
        let mut fields = self.separator.fields(line);
        if let Some(marker) = self.marker
            && fields.next() != Some(&[marker])
        {
            return Err(BadLine { why: LineFault::Marker(marker), cells_pushed: false });
        }
        let mut ids = [Id::default(); 2];
        for (at, id) in ids.iter_mut().enumerate().take(self.ids) {
            let field = fields.next().ok_or(BadLine::fields())?;
            *id = Id::parse(field)
                .map_err(|error| BadLine { why: LineFault::Id(at, error), cells_pushed: false })?;
        }
        let mut failed = None;
        let mut columns = rows.columns.iter_mut();
        if !self.columns.is_empty() {
            // All cells of a line are read even after a bad one: the columns stay of one length.
            for (at, column) in self.columns.iter().enumerate() {
                let field = fields.next();
                if column.is_some() {
                    let cells = columns.next().expect("a column of cells for each that is kept");
                    let text = field.unwrap_or_default();
                    let is_null = self.null.as_deref() == Some(text);
                    let result = cells.push(if is_null { b"" } else { text });
                    failed = failed.or(result.err().map(|error| LineFault::Cell(self.ids + at, error)));
                }
                if field.is_none() {
                    failed = Some(LineFault::Fields);
                }
            }
        }
        if fields.next().is_some() {
            failed = Some(LineFault::Fields);
        }
        if let Some(why) = failed {
            return Err(BadLine { why, cells_pushed: true });
        }
        let row = rows.sources.len();
        rows.sources.push(ids[0].bits);
        if self.ids == 2 {
            rows.targets.push(ids[1].bits);
        }
        if ids[0].is_negative | ids[1].is_negative {
            rows.negative.get_or_insert(row);
        }
        if ids[0].is_beyond() | ids[1].is_beyond() {
            rows.beyond.get_or_insert(row);
        }
        Ok(())
    }

    fn describe(&self, line: &[u8], bad: &BadLine) -> Fault {
        match &bad.why {
            LineFault::Marker(marker) => {
                let why = format!(
                    "a line begins with {:?} here, or with 'c' if it is a comment",
                    char::from(*marker)
                );
                Fault::of_row(why, line)
            }
            LineFault::Fields => {
                let separator = match self.separator {
                    Separator::Blanks => "blanks or tabs".to_owned(),
                    Separator::Byte(byte) => format!("{:?}", char::from(byte)),
                };
                let expected: Vec<String> =
                    (0..self.ids + self.columns.len()).map(|at| self.name(at)).collect();
                let plural = if expected.len() == 1 { "" } else { "s" };
                let reason = format!(
                    "{} field{plural} expected ({}), {} found between {separator}",
                    expected.len(),
                    expected.join(" "),
                    self.separator.fields(line).count() - usize::from(self.marker.is_some())
                );
                Fault::of_row(reason, line)
            }
            LineFault::Id(at, error) => {
                let text = self.separator.fields(line).nth(*at + usize::from(self.marker.is_some()));
                let text = text.unwrap_or_default();
                let why = match error {
                    IntegerError::Syntax => "is not a whole number",
                    IntegerError::Range => "is outside -2^63 to 2^64-1",
                };
                Fault::of_column(*at, &self.name(*at), format!("{} {why}", shortened(text)), line)
            }
            LineFault::Cell(at, error) => Fault::of_column(*at, &self.name(*at), error.clone(), line),
        }
    }

    fn holds_data(&self, line: &[u8]) -> bool {
        let is_dimacs_comment = self.marker.is_some() && line.trim_ascii_start().starts_with(b"c");
        holds_data(line) && !is_dimacs_comment
    }

    /// What column `at` is called in errors.
    #[must_use]
    pub fn name(&self, at: usize) -> String {
        match (self.ids, at) {
            (1, 0) => "id".to_owned(),
            (_, 0) => "source".to_owned(),
            (2, 1) => "target".to_owned(),
            _ => match &self.columns[at - self.ids] {
                None => ":IGNORE".to_owned(),
                Some((key, cell_type)) => format!("{key}:{cell_type}"),
            },
        }
    }
}

impl LineRows {
    /// The line of `row` in its block, counted from 0.
    #[must_use]
    pub fn line_of(&self, row: usize) -> u64 {
        let mut line = row as u64;
        for skipped in &self.skipped {
            if *skipped > line {
                break;
            }
            line += 1;
        }
        line
    }

    /// The texts of the block's lines.
    #[must_use]
    pub fn texts(&self) -> LineTexts<'_> {
        LineTexts { rest: &self.block, line: 0 }
    }

    /// The lines of all rows, in order.
    pub fn row_lines(&self) -> impl Iterator<Item = u64> + '_ {
        let mut skipped = self.skipped.iter().peekable();
        let mut line = 0;
        (0..self.sources.len()).map(move |_| {
            while skipped.next_if(|skipped| **skipped == line).is_some() {
                line += 1;
            }
            line += 1;
            line - 1
        })
    }
}

/// The texts of a block's lines, found from front to back.
pub struct LineTexts<'a> {
    /// From the beginning of `line` on.
    rest: &'a [u8],
    line: u64,
}

impl<'a> LineTexts<'a> {
    /// The text of `line`, counted from 0. Cost: one pass over the block for all calls together.
    ///
    /// # Panics
    /// If a later line was asked for before.
    pub fn get(&mut self, line: u64) -> &'a [u8] {
        assert!(self.line <= line, "lines are asked for in order");
        loop {
            let end = memchr::memchr(b'\n', self.rest);
            if self.line == line {
                return self.rest[..end.unwrap_or(self.rest.len())].trim_ascii_end();
            }
            self.rest = end.map_or(&[], |end| &self.rest[end + 1..]);
            self.line += 1;
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Id {
    bits: u64,
    is_negative: bool,
}

impl Id {
    fn parse(text: &[u8]) -> Result<Self, IntegerError> {
        let Some(digits) = text.strip_prefix(b"-") else {
            return Ok(Self {
                bits: parse_u64(text.strip_prefix(b"+").unwrap_or(text))?,
                is_negative: false,
            });
        };
        let number = 0i64.checked_sub_unsigned(parse_u64(digits)?).ok_or(IntegerError::Range)?;
        Ok(Self { bits: number.cast_unsigned(), is_negative: number < 0 })
    }

    fn is_beyond(self) -> bool {
        !self.is_negative && self.bits > i64::MAX.cast_unsigned()
    }
}

struct BadLine {
    why: LineFault,
    /// Whether the columns got a row for the line.
    cells_pushed: bool,
}

enum LineFault {
    /// Another letter at the beginning than this one.
    Marker(u8),
    /// Too few fields or too many.
    Fields,
    /// The id in this column can't be read.
    Id(usize, IntegerError),
    /// The property in this column can't be read.
    Cell(usize, String),
}

impl BadLine {
    fn fields() -> Self {
        Self { why: LineFault::Fields, cells_pushed: false }
    }
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn holds_data(line: &[u8]) -> bool {
    match line.iter().find(|byte| !is_blank(**byte)) {
        None => false,
        Some(first) => *first != b'#' && *first != b'%',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::faults::{FaultCollector, OnBadRow};
    use evergraph_graph::value::Value;

    fn collector(on_bad_row: OnBadRow) -> FaultCollector {
        FaultCollector::new(on_bad_row, None)
    }

    fn parse(format: &LineFormat, block: &[u8]) -> LineRows {
        format.parse(block.to_vec(), collector(OnBadRow::Skip { at_most: None }).rules())
    }

    fn format(columns: &str) -> LineFormat {
        let columns = if columns.is_empty() {
            Vec::new()
        } else {
            crate::import::csv::header::parse_list_columns("columns", columns.split(',')).unwrap()
        };
        LineFormat { separator: Separator::Blanks, ids: 2, columns, null: None, marker: None }
    }

    fn texts(format: &LineFormat, block: &str) -> Vec<String> {
        let mut collector = collector(OnBadRow::Skip { at_most: None });
        collector.add("g.txt", 1, parse(format, block.as_bytes()).faults).unwrap();
        collector.finish().first.iter().map(ToString::to_string).collect()
    }

    fn column(rows: &mut LineRows, at: usize) -> Vec<Option<Value>> {
        let column = rows.columns.remove(at).finish().column.expect("there are values");
        (0..column.len()).map(|row| column.get(row)).collect()
    }

    #[test]
    fn blanks_tabs_comments_and_line_ends_of_every_kind_are_read() {
        let rows = parse(&format(""), b"# a\n1 2\r\n\n  3\t \t4  \n% b\n5 6");
        assert_eq!(
            (rows.sources.as_slice(), rows.targets.as_slice()),
            ([1, 3, 5].as_slice(), [2, 4, 6].as_slice())
        );
        assert_eq!(rows.lines, 6);
        assert_eq!(rows.row_lines().collect::<Vec<_>>(), [1, 3, 5]);
        assert_eq!((0..3).map(|row| rows.line_of(row)).collect::<Vec<_>>(), [1, 3, 5]);
        assert_eq!(rows.faults.count(), 0);
    }

    #[test]
    fn ids_of_64_bits_survive() {
        let rows = parse(&format(""), b"9007199254740993 9223372036854775807\n-9223372036854775808 1\n");
        assert_eq!(rows.sources, [9_007_199_254_740_993, 1 << 63]);
        assert_eq!(rows.targets, [i64::MAX as u64, 1]);
        assert_eq!((rows.negative, rows.beyond), (Some(1), None));
        let rows = parse(&format(""), b"1 18446744073709551615\n");
        assert_eq!((rows.targets[0], rows.negative, rows.beyond), (u64::MAX, None, Some(0)));
    }

    #[test]
    fn columns_behind_the_ends_are_properties() {
        let mut rows = parse(&format("weight,time"), b"1 2 8 1254192988\n1 2 0.5 7\n");
        assert_eq!(column(&mut rows, 0), [Some(Value::F64(8.0)), Some(Value::F64(0.5))]);
        assert_eq!(column(&mut rows, 0), [Some(Value::I64(1_254_192_988)), Some(Value::I64(7))]);
        let format = LineFormat { separator: Separator::Byte(b','), ..format("rating,:IGNORE") };
        let mut rows = parse(&format, b"6,2, -4 ,x\n6,5,,\n");
        assert_eq!(column(&mut rows, 0), [Some(Value::I64(-4)), None]);
    }

    #[test]
    fn bad_lines_are_named_and_leave_no_trace_in_the_columns() {
        let format = format("weight");
        let block = "1 2 1\n1 2 x\n1 b 1\n1 2\n1 2 3 4\n1 18446744073709551616 1\n3 4 2\n";
        assert_eq!(
            texts(&format, block),
            [
                "g.txt:2: column 3 (weight:double): \"x\" is not a valid double: expected digits with an optional point and exponent",
                "g.txt:3: column 2 (target): \"b\" is not a whole number",
                "g.txt:4: 3 fields expected (source target weight:double), 2 found between blanks or tabs",
                "g.txt:5: 3 fields expected (source target weight:double), 4 found between blanks or tabs",
                "g.txt:6: column 2 (target): \"18446744073709551616\" is outside -2^63 to 2^64-1",
            ]
        );
        let mut rows = parse(&format, block.as_bytes());
        assert_eq!(rows.sources, [1, 3]);
        let mut texts = rows.texts();
        assert_eq!(
            [texts.get(0), texts.get(0), texts.get(6)],
            ["1 2 1", "1 2 1", "3 4 2"].map(str::as_bytes)
        );
        assert_eq!(rows.row_lines().collect::<Vec<_>>(), [0, 6]);
        assert_eq!(column(&mut rows, 0), [Some(Value::F64(1.0)), Some(Value::F64(2.0))]);
    }

    #[test]
    fn a_block_ends_at_the_first_bad_line_where_it_stops_the_import() {
        let rows = format("").parse(b"1 2\nx y\n3 4\n".to_vec(), collector(OnBadRow::Stop).rules());
        assert_eq!((rows.sources.as_slice(), rows.lines, rows.faults.count()), ([1].as_slice(), 2, 1));
    }

    #[test]
    fn the_separator_shows_in_the_first_line() {
        assert_eq!(first_data_line(b"# x,y\n\n1 2\r\n3,4"), Some(b"1 2".as_slice()));
        assert_eq!(first_data_line(b"# x,y\n"), None);
        assert_eq!(Separator::detect(b"1, 2"), Separator::Byte(b','));
        assert_eq!(Separator::detect(b"1\t2"), Separator::Blanks);
        assert_eq!(Separator::from_option(b'|'), Separator::Byte(b'|'));
    }
}
