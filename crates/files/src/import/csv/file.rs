//! CSV file: one opened file of a plan, split into records, with its header.

use crate::import::bytes::input::Input;
use crate::import::bytes::source::Source;
use crate::import::csv::delimiter::{check_delimiter, detect_in};
use crate::import::csv::header::Header;
use crate::import::csv::records::{BLANK, CsvFormat, CsvRecords};
use crate::import::file_name::stem;
use crate::import::mapping::rule::FileRule;
use crate::import::mapping::words::header_words;
use crate::import::options::ImportOptions;
use crate::import::role::Role;
use evergraph_graph::error::{Error, Result};
use std::path::Path;

/// A longer first line is no header.
const HEADER_BYTES_MAX: usize = 64 * 1024;

/// A CSV file and how to read it.
#[derive(Debug)]
pub struct CsvFile {
    /// Where it is.
    pub input: Input,
    /// How it is read.
    pub rule: FileRule,
}

/// A CSV file whose header is read, and whose rows are still to come.
pub struct OpenCsv {
    /// The records behind the header.
    pub records: CsvRecords,
    /// What the columns hold.
    pub header: Header,
    /// The label or type of rows that name none.
    pub name: String,
    /// The text that stands for no value, besides an empty one.
    pub null: Option<String>,
    /// What stands between the elements of an array, and between several labels.
    pub array_delimiter: u8,
    /// Whether a pair of vertices has one edge at most.
    pub undirected: bool,
}

impl CsvFile {
    /// Opens the file and reads its header.
    ///
    /// # Errors
    /// As reading; `invalid` if the header is missing or malformed, or if the rule doesn't fit it.
    pub fn open(&self, options: &ImportOptions) -> Result<OpenCsv> {
        self.read_header(self.input.open()?, options)
    }

    /// What the file holds, by its header.
    ///
    /// # Errors
    /// As [`CsvFile::open`].
    pub fn look(&self, options: &ImportOptions) -> Result<Role> {
        Ok(self.read_header(self.input.look()?, options)?.header.role)
    }

    fn read_header(&self, mut source: Source, options: &ImportOptions) -> Result<OpenCsv> {
        let rule = &self.rule;
        let name = source.name().to_owned();
        let delimiter = match rule.delimiter.or(options.csv.delimiter) {
            Some(delimiter) => {
                let is_plain = rule.comment.is_none() && delimiter != BLANK;
                if rule.header && rule.columns.is_none() && is_plain {
                    check_delimiter(&mut source, delimiter).map_err(|error| {
                        rule.origin.iter().fold(error, |error, origin| error.context(origin))
                    })?;
                }
                delimiter
            }
            None => detect_in(&mut source)?,
        };
        let format = CsvFormat {
            delimiter,
            quote: rule.quote.unwrap_or(options.csv.quote),
            escape: rule.escape.or(options.csv.escape),
            comment: rule.comment,
        };
        let mut records = CsvRecords::new(source, format);
        let first = if rule.header { records.read_header()? } else { None };
        let words = match (&rule.columns, &first) {
            (Some(columns), Some(first)) if columns.len() != first.len() => {
                return Err(Error::invalid(rule.blame(format!(
                    "{name}: its first line has {} columns, the header that replaces it has {}",
                    first.len(),
                    columns.len()
                ))));
            }
            (Some(columns), _) => columns.clone(),
            (None, Some(first)) => first.clone(),
            (None, None) if rule.header => {
                return Err(Error::invalid(format!(
                    "{name}: is empty: expected a header, such as id:ID,name,born:int"
                )));
            }
            (None, None) => {
                return Err(Error::invalid(rule.blame(format!(
                    "{name}: has no header: give `columns`, a word for each of its columns"
                ))));
            }
        };
        let words =
            header_words(&words, rule).map_err(|why| Error::invalid(rule.blame(format!("{name}: {why}"))))?;
        let array_delimiter = rule.array_delimiter.unwrap_or(options.csv.array_delimiter);
        let mut header =
            Header::parse(&name, &words, array_delimiter).map_err(|error| match &rule.origin {
                Some(origin) => error.context(origin),
                None => error,
            })?;
        // Errors name a column as the file does, whatever recognition or a mapping made of it.
        for (field, word) in header.fields.iter_mut().zip(first.into_iter().flatten()) {
            field.text = word.trim().to_owned();
        }
        let stated = if header.role == Role::Nodes { &rule.label } else { &rule.edge_type };
        Ok(OpenCsv {
            name: stated.clone().unwrap_or_else(|| stem(self.input.path())),
            records,
            header,
            null: rule.null.clone().or_else(|| options.csv.null.clone()),
            array_delimiter,
            undirected: rule.undirected,
        })
    }
}

/// The first line of the file at `path`: the header of other files.
///
/// # Errors
/// As reading; `invalid` if it is empty, not UTF-8, or longer than 64 KiB.
pub fn header_line(path: &Path) -> Result<String> {
    let mut source = Source::open(path)?;
    let name = source.name().to_owned();
    let start = source.peek(HEADER_BYTES_MAX)?;
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if line.is_empty() || line.len() >= HEADER_BYTES_MAX - 2 {
        return Err(Error::invalid(format!(
            "{name}: expected a header in its first line, of at most 64 KiB"
        )));
    }
    String::from_utf8(line.to_vec())
        .map_err(|_| Error::invalid(format!("{name}: the header is not UTF-8; convert the file with iconv")))
}
