//! CSV records: cuts a file into batches of records, and each record into fields.
//!
//! ```text
//! bytes   1AdaLondon2Charles
//! ends    1 4 10 11 18 18            width fields a record, one behind the other
//! lines   2 4                        where each record begins
//! ```
//!
//! `csv-core`, the state machine of the `csv` crate, finds the fields (RFC 4180: quotes doubled inside,
//! line breaks in quotes). The crate around it is left out for one reason: it says of a record where
//! the one before ended, which is another line where lines end in CR LF or are blank, and errors here
//! must name the line.
//!
//! A quote that is never closed swallows the rest of the file in silence. So the file is read with
//! one more record behind it: if that one doesn't come out on its own, a quote is open.

use crate::import::bad_row::Fault;
use crate::import::bytes::source::{BytesRead, Source};
use crate::import::csv::blanks::Blanks;
use crate::import::faults::{FaultRules, Faults};
use csv_core::ReadRecordResult;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::io::{self, Read};

/// The record behind the last one. No text has these bytes.
const LAST_RECORD: &[u8] = b"\0end\0";
const LAST_LINES: &[u8] = b"\n\0end\0\n";

/// The delimiter of text whose fields stand between blanks and tabs.
pub const BLANK: u8 = b' ';

/// What some programs put before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Columns of a file: as many as a database has keys of properties.
pub const COLUMNS_MAX: usize = 1 << 16;

/// Bytes that are taken from the source at once.
const INPUT_BYTES: usize = 64 * 1024;

/// Longer records are refused: more likely a quote is open.
const RECORD_BYTES_MAX: usize = 1 << 26;

/// How records are split into fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CsvFormat {
    /// What stands between fields; a blank means blanks and tabs, any number of them.
    pub delimiter: u8,
    /// What encloses them, if anything.
    pub quote: Option<u8>,
    /// What stands before a quote inside quotes; doubling it says the same.
    pub escape: Option<u8>,
    /// What begins lines that are left out.
    pub comment: Option<u8>,
}

impl CsvFormat {
    /// Splits a header that was given as text.
    ///
    /// # Errors
    /// `invalid` if it isn't one record.
    pub fn split(self, line: &str) -> Result<Vec<String>> {
        let source = Source::from_reader(format!("{line:?}"), std::io::Cursor::new(line.to_owned()))?;
        let mut records = CsvRecords::new(source, self);
        let fields = records.read_header()?;
        match fields {
            Some(fields) if !records.advance()? => Ok(fields),
            _ => Err(Error::invalid(format!("the header {line:?} is not one line of CSV"))),
        }
    }

    fn parser(self) -> csv_core::Reader {
        let mut builder = csv_core::ReaderBuilder::new();
        builder.delimiter(if self.delimiter == BLANK { b'\t' } else { self.delimiter });
        builder.comment(self.comment);
        match self.quote {
            Some(quote) => builder.quote(quote),
            None => builder.quoting(false),
        };
        builder.escape(self.escape);
        builder.build()
    }
}

/// Reads the records of one file.
pub struct CsvRecords {
    name: String,
    bytes: BytesRead,
    source: Box<dyn Read + Send>,
    delimiter: u8,
    /// Whether something stands before quotes, or nothing is quoted.
    escapes: bool,
    parser: csv_core::Reader,
    input: Box<[u8]>,
    /// What of `input` is filled and not parsed yet.
    unparsed: std::ops::Range<usize>,
    record: Record,
    /// Whether anything was read.
    started: bool,
    at_end: bool,
}

/// The record that was read last.
#[derive(Default)]
struct Record {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Fields of the record: `bytes` and `ends` have room for more.
    fields: usize,
    /// The line where it begins, counted from 1.
    line: u64,
}

impl Record {
    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends[..self.fields].iter().map(move |end| {
            let field = &self.bytes[start..*end];
            start = *end;
            field
        })
    }

    fn text(&self) -> &[u8] {
        &self.bytes[..self.ends[..self.fields].last().copied().unwrap_or(0)]
    }
}

/// Some records of one file.
#[derive(Debug)]
pub struct RecordBatch {
    /// Their fields.
    pub fields: RecordFields,
    /// The line where each record begins, counted from 1.
    pub lines: Vec<u64>,
    /// Records with another number of fields: they were left out.
    pub faults: Faults,
}

/// The fields of some records, all of one width.
#[derive(Debug)]
pub struct RecordFields {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    width: usize,
    delimiter: u8,
}

impl CsvRecords {
    /// Reads `source` in `format`.
    #[must_use]
    pub fn new(source: Source, format: CsvFormat) -> Self {
        let (name, bytes) = (source.name().to_owned(), source.bytes_read());
        let source: Box<dyn Read + Send> = if format.delimiter == BLANK {
            Box::new(Blanks::new(source, format.quote, format.comment).chain(LAST_LINES))
        } else {
            Box::new(source.chain(LAST_LINES))
        };
        Self {
            name,
            bytes,
            source,
            delimiter: format.delimiter,
            escapes: format.escape.is_some() || format.quote.is_none(),
            parser: format.parser(),
            input: vec![0; INPUT_BYTES].into_boxed_slice(),
            unparsed: 0..0,
            record: Record { bytes: vec![0; 1024], ends: vec![0; 64], fields: 0, line: 1 },
            started: false,
            at_end: false,
        }
    }

    /// The name of the file in errors.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Counts the bytes taken from the file.
    #[must_use]
    pub fn bytes_read(&self) -> BytesRead {
        self.bytes.clone()
    }

    /// The next record as text: the header. `None` if the file is empty.
    ///
    /// # Errors
    /// As reading; `invalid` if the record is not UTF-8; `limit` if it has more than 65,536 fields.
    pub fn read_header(&mut self) -> Result<Option<Vec<String>>> {
        if !self.advance()? {
            return Ok(None);
        }
        check_columns(self.record.fields).map_err(|error| error.context(&self.name))?;
        let fields = self.record.iter().enumerate().map(|(index, field)| {
            std::str::from_utf8(field).map(ToOwned::to_owned).map_err(|_| {
                Error::invalid(format!(
                    "{}: header column {}: is not UTF-8; convert the file with iconv",
                    self.name,
                    index + 1
                ))
            })
        });
        fields.collect::<Result<Vec<String>>>().map(Some)
    }

    /// The next records, of `width` fields each, about `block_bytes` of them; `None` at the end.
    ///
    /// # Errors
    /// As reading; and `invalid`, with its line, for a quote that isn't closed.
    pub fn next_batch(
        &mut self,
        width: usize,
        block_bytes: usize,
        rules: FaultRules,
    ) -> Result<Option<RecordBatch>> {
        let mut fields = RecordFields {
            bytes: Vec::with_capacity(block_bytes),
            ends: Vec::new(),
            width,
            delimiter: self.delimiter,
        };
        let (mut lines, mut faults) = (Vec::new(), Faults::new(rules));
        while fields.bytes.len() < block_bytes && self.advance()? {
            let found = self.record.fields;
            if found != width {
                faults.push(self.record.line, || {
                    let plural = if width == 1 { "" } else { "s" };
                    let mut reason =
                        format!("{width} field{plural} expected, as in the header, {found} found");
                    // What stood behind the backslash is no part of the field any more.
                    if !self.escapes && self.record.text().contains(&b'\\') {
                        reason += "; if a backslash escapes quotes, say --escape '\\'";
                    }
                    Fault::of_row(reason, &joined(self.record.iter(), self.delimiter))
                });
                if rules.stops {
                    break;
                }
                continue;
            }
            lines.push(self.record.line);
            let start = fields.bytes.len();
            fields.bytes.extend_from_slice(self.record.text());
            fields.ends.extend(self.record.ends[..width].iter().map(|end| start + end));
        }
        let batch = RecordBatch { fields, lines, faults };
        Ok((!batch.lines.is_empty() || batch.faults.count() > 0).then_some(batch))
    }

    /// Reads the next record; false at the end.
    fn advance(&mut self) -> Result<bool> {
        if self.at_end {
            return Ok(false);
        }
        let read = self.parse_record()?;
        let text = self.record.text();
        if read && self.record.fields == 1 && text == LAST_RECORD {
            self.at_end = true;
            return Ok(false);
        }
        if !read || text.ends_with(LAST_LINES) {
            let escape = if !self.escapes && text.contains(&b'\\') {
                "; if a backslash escapes quotes, say --escape '\\'"
            } else {
                ""
            };
            return Err(Error::invalid(format!(
                "{}:{}: a quote that opens in this record is never closed; if quotes are ordinary characters in \
                 the file, say --quote none{escape}",
                self.name, self.record.line
            )));
        }
        Ok(true)
    }

    /// Parses the next record into `self.record`; false if there is none.
    fn parse_record(&mut self) -> Result<bool> {
        let record = &mut self.record;
        let (mut bytes, mut fields) = (0, 0);
        loop {
            if self.unparsed.is_empty() {
                let count = fill(&mut self.source, &mut self.input, !self.started).map_err(Source::error)?;
                (self.unparsed, self.started) = (0..count, true);
            }
            let input = &self.input[self.unparsed.clone()];
            let (result, taken, bytes_put, fields_put) =
                self.parser.read_record(input, &mut record.bytes[bytes..], &mut record.ends[fields..]);
            // What ends a record is a byte of the call that ends it, or the end of the file.
            let ended_by_line_break = input[..taken].last() == Some(&b'\n');
            self.unparsed.start += taken;
            bytes += bytes_put;
            fields += fields_put;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if bytes >= RECORD_BYTES_MAX => {
                    let inside = memchr::memchr_iter(b'\n', &record.bytes[..bytes]).count() as u64;
                    return Err(Error::invalid(format!(
                        "{}:{}: a record of more than {} MiB begins here: is a quote never closed?",
                        self.name,
                        self.parser.line() - inside,
                        RECORD_BYTES_MAX >> 20
                    )));
                }
                ReadRecordResult::OutputFull => record.bytes.resize(record.bytes.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => record.ends.resize(record.ends.len() * 2, 0),
                ReadRecordResult::Record => {
                    record.fields = fields;
                    let inside = memchr::memchr_iter(b'\n', record.text()).count() as u64;
                    let behind = u64::from(ended_by_line_break);
                    record.line = self.parser.line() - inside - behind;
                    return Ok(true);
                }
                ReadRecordResult::End => {
                    record.fields = 0;
                    return Ok(false);
                }
            }
        }
    }
}

impl RecordBatch {
    /// How many records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

impl RecordFields {
    /// Bytes that they take.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        (self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()) as u64
    }

    /// The text of a field.
    ///
    /// # Panics
    /// If there is no such record or column.
    #[must_use]
    pub fn field(&self, record: usize, column: usize) -> &[u8] {
        let at = record * self.width + column;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start..self.ends[at]]
    }

    /// The fields of `record` with delimiters between, for errors: quotes are gone.
    ///
    /// # Panics
    /// If there is no such record.
    #[must_use]
    pub fn text(&self, record: usize) -> Vec<u8> {
        joined((0..self.width).map(|column| self.field(record, column)), self.delimiter)
    }
}

/// Reads on into `input`; how many bytes, 0 at the end.
///
/// The parser takes a byte order mark off the first piece of a file, and an empty piece for the end: the
/// mark must come in one piece, with something behind it.
fn fill(source: &mut impl Read, input: &mut [u8], is_first: bool) -> io::Result<usize> {
    let mut count = source.read(input)?;
    while is_first && (1..=BYTE_ORDER_MARK.len()).contains(&count) {
        match source.read(&mut input[count..])? {
            0 => break,
            more => count += more,
        }
    }
    Ok(count)
}

/// Fails if a file has too many columns: neither would the database have keys for them all.
///
/// # Errors
/// `limit`, with the number.
pub fn check_columns(columns: usize) -> Result<()> {
    if columns <= COLUMNS_MAX {
        return Ok(());
    }
    let text = format!("{columns} columns, {COLUMNS_MAX} at most are read: is the delimiter right?");
    Err(Error::new(ErrorKind::Limit, text))
}

fn joined<'a>(fields: impl Iterator<Item = &'a [u8]>, delimiter: u8) -> Vec<u8> {
    fields.collect::<Vec<_>>().join(&delimiter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::faults::{FaultCollector, OnBadRow};
    use std::io::Cursor;

    const RFC: CsvFormat = CsvFormat { delimiter: b',', quote: Some(b'"'), escape: None, comment: None };

    fn records(text: &str, format: CsvFormat) -> CsvRecords {
        CsvRecords::new(
            Source::from_reader("a.csv", Cursor::new(text.to_owned().into_bytes())).unwrap(),
            format,
        )
    }

    fn read(text: &str, format: CsvFormat, width: usize) -> Result<Vec<(u64, Vec<String>)>> {
        let mut records = records(text, format);
        let mut all = Vec::new();
        let mut collector = FaultCollector::new(OnBadRow::Stop, None);
        while let Some(batch) = records.next_batch(width, 8, collector.rules())? {
            collector.add("a.csv", 0, batch.faults)?;
            for (record, line) in batch.lines.iter().enumerate() {
                let field = |column| String::from_utf8(batch.fields.field(record, column).to_vec()).unwrap();
                all.push((*line, (0..width).map(field).collect()));
            }
        }
        Ok(all)
    }

    fn record(line: u64, fields: &[&str]) -> (u64, Vec<String>) {
        (line, fields.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn quotes_line_breaks_and_doubled_quotes_are_read() {
        let text = "a,b\n\"x,\"\"y\"\"\nz\",1\n,\"\"\n5,6";
        let expected = [
            record(1, &["a", "b"]),
            record(2, &["x,\"y\"\nz", "1"]),
            record(4, &["", ""]),
            record(5, &["5", "6"]),
        ];
        assert_eq!(read(text, RFC, 2).unwrap(), expected);
    }

    #[test]
    fn a_byte_order_mark_is_none_of_the_first_field_even_alone_or_in_pieces() {
        assert_eq!(read("\u{feff}", RFC, 1).unwrap(), []);
        assert_eq!(read("\u{feff}a,b\n", RFC, 2).unwrap(), [record(1, &["a", "b"])]);
        assert_eq!(read("\u{feff}\"a\",b\n", RFC, 2).unwrap(), [record(1, &["a", "b"])]);
        let pieces: [&[u8]; 4] = [b"\xef", b"\xbb", b"\xbfa", b",b\n"];
        let pieces = pieces
            .into_iter()
            .map(Cursor::new)
            .fold(Box::new(io::empty()) as Box<dyn Read + Send>, |before, piece| {
                Box::new(before.chain(piece))
            });
        let source = Source::from_reader("a.csv", pieces).unwrap();
        assert_eq!(CsvRecords::new(source, RFC).read_header().unwrap().unwrap(), ["a", "b"]);
    }

    #[test]
    fn more_columns_than_a_database_has_keys_are_refused() {
        assert_eq!(
            records(&",".repeat(COLUMNS_MAX - 1), RFC).read_header().unwrap().unwrap().len(),
            COLUMNS_MAX
        );
        let error = records(&",".repeat(COLUMNS_MAX), RFC).read_header().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert_eq!(
            error.to_string(),
            "a.csv: 65537 columns, 65536 at most are read: is the delimiter right?"
        );
    }

    #[test]
    fn lines_are_counted_over_blank_ones_and_every_line_end() {
        let text = "a,b\r\n\r\n\r\n1,2\r\n3,4\r\n\n5,6\n";
        let expected =
            [record(1, &["a", "b"]), record(4, &["1", "2"]), record(5, &["3", "4"]), record(7, &["5", "6"])];
        assert_eq!(read(text, RFC, 2).unwrap(), expected);
    }

    #[test]
    fn without_quoting_a_quote_is_a_character() {
        let format = CsvFormat { delimiter: b'|', quote: None, escape: None, comment: None };
        let expected = [record(1, &["\"a", "b\"\"c"]), record(2, &["d", "\""])];
        assert_eq!(read("\"a|b\"\"c\nd|\"\n", format, 2).unwrap(), expected);
    }

    #[test]
    fn comments_are_left_out_and_blanks_stand_between_fields() {
        let format = CsvFormat { delimiter: BLANK, comment: Some(b'#'), ..RFC };
        let text = "# a \"b\n\n Adam \t Eve\n#\n\"Ada B.\" Eve";
        assert_eq!(
            read(text, format, 2).unwrap(),
            [record(3, &["Adam", "Eve"]), record(5, &["Ada B.", "Eve"])]
        );
        let format = CsvFormat { comment: Some(b'#'), ..RFC };
        assert_eq!(
            read("#a,b\n1,2\n3,#4\n", format, 2).unwrap(),
            [record(2, &["1", "2"]), record(3, &["3", "#4"])]
        );
        let open = read("a \"b c\n1 2\n", CsvFormat { delimiter: BLANK, ..RFC }, 2).unwrap_err();
        assert!(open.to_string().starts_with("a.csv:1: a quote that opens"), "{open}");
    }

    #[test]
    fn an_escape_keeps_a_quote_inside_quotes() {
        let format = CsvFormat { escape: Some(b'\\'), ..RFC };
        let text = r#""[\"a,b\"]",\x"#;
        assert_eq!(read(text, format, 2).unwrap(), [record(1, &["[\"a,b\"]", "\\x"])]);
    }

    #[test]
    fn a_quote_that_is_never_closed_is_named_by_the_line_where_it_opens() {
        for text in ["a,b\n1,\"2\n3,4\n5,6\n", "a,b\n1,\"2", "a,b\n\"", "a,b\n1,\"2\"\"\n"] {
            assert_eq!(
                read(text, RFC, 2).unwrap_err().to_string(),
                "a.csv:2: a quote that opens in this record is never closed; if quotes are ordinary \
                 characters in the file, say --quote none",
                "{text:?}"
            );
        }
    }

    #[test]
    fn backslashes_before_quotes_are_suspected_where_a_record_is_cut_wrong() {
        let text = "a,b\n1,\"The \\\"Comet\\\", Inc.\"\n";
        assert_eq!(
            read(text, RFC, 2).unwrap_err().to_string(),
            "a.csv:2: 2 fields expected, as in the header, 3 found; if a backslash escapes quotes, say --escape '\\'"
        );
        assert_eq!(read(text, CsvFormat { escape: Some(b'\\'), ..RFC }, 2).unwrap().len(), 2);
        let open = read("a,b\n1,\"x\\\"\"\n", RFC, 2).unwrap_err().to_string();
        assert!(
            open.ends_with("say --quote none; if a backslash escapes quotes, say --escape '\\'"),
            "{open}"
        );
    }

    #[test]
    fn a_record_that_does_not_end_is_refused_before_it_fills_the_memory() {
        let text = format!("a,b\n1,\"{}", "x\n".repeat(RECORD_BYTES_MAX));
        assert_eq!(
            read(&text, RFC, 2).unwrap_err().to_string(),
            "a.csv:2: a record of more than 64 MiB begins here: is a quote never closed?"
        );
    }

    #[test]
    fn records_of_another_width_are_named() {
        assert_eq!(
            read("a,b\n1\n2,3\n", RFC, 2).unwrap_err().to_string(),
            "a.csv:2: 2 fields expected, as in the header, 1 found"
        );
        let mut records = records("1\n1,2\n1,2,3\n", RFC);
        let mut collector = FaultCollector::new(OnBadRow::Skip { at_most: None }, None);
        let batch = records.next_batch(2, 100, collector.rules()).unwrap().unwrap();
        assert_eq!((batch.len(), batch.faults.count()), (1, 2));
        assert!(records.next_batch(2, 100, collector.rules()).unwrap().is_none());
        collector.add("a.csv", 0, batch.faults).unwrap();
        let texts = collector.finish().first.into_iter().map(|row| row.fault.text);
        assert_eq!(texts.collect::<Vec<_>>(), ["1", "1,2,3"]);
    }

    #[test]
    fn an_empty_file_has_no_header_and_no_records() {
        for text in ["", "\n", "\r\n\n"] {
            assert_eq!(records(text, RFC).read_header().unwrap(), None);
        }
        assert_eq!(RFC.split("a,\"b,c\"").unwrap(), ["a", "b,c"]);
        assert!(RFC.split("a\nb").is_err());
    }
}
