//! Report: the file of bad rows that an import writes, for people and programs to correct them.
//!
//! ```text
//! file,line,column,name,reason,row
//! people.csv,4,3,born:int,"""18x5"" is not a valid int: expected digits ...","2,B,18x5"
//! ```
//!
//! CSV as RFC 4180 has it, a row for each bad row, in the order of files and lines. It is written as
//! bad rows come, so that it is there when the import stops as well. `column` (counted from 1) and
//! `name` are empty where the whole row is meant.

use crate::import::bad_row::BadRow;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const HEADER: &str = "file,line,column,name,reason,row\n";

/// An open report.
#[derive(Debug)]
pub struct ReportFile {
    path: PathBuf,
    file: BufWriter<File>,
}

impl ReportFile {
    /// Creates the report at `path`, over an older one.
    ///
    /// # Errors
    /// `io` if it can't be written.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(|error| failed(path, error))?;
        let mut report = Self { path: path.to_owned(), file: BufWriter::new(file) };
        report.put(HEADER)?;
        report.flush()?;
        Ok(report)
    }

    /// Appends `bad_row`.
    ///
    /// # Errors
    /// `io` if it can't be written.
    pub fn write(&mut self, bad_row: &BadRow) -> Result<()> {
        let BadRow { file, line, fault } = bad_row;
        let (number, name) = match &fault.column {
            Some(column) => (column.number.to_string(), column.name.as_str()),
            None => (String::new(), ""),
        };
        let fields = [file, &line.to_string(), &number, name, &fault.reason, &fault.text];
        self.put(&(fields.map(quoted).join(",") + "\n"))
    }

    /// Hands everything over to the operating system.
    ///
    /// # Errors
    /// `io` if it can't be written.
    pub fn flush(&mut self) -> Result<()> {
        self.file.flush().map_err(|error| failed(&self.path, error))
    }

    fn put(&mut self, text: &str) -> Result<()> {
        self.file.write_all(text.as_bytes()).map_err(|error| failed(&self.path, error))
    }
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

fn failed(path: &Path, error: io::Error) -> Error {
    let text = format!("{}: the report of bad rows can't be written: {error}", path.display());
    Error::new(ErrorKind::Io, text).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::bad_row::Fault;
    use std::fs;

    #[test]
    fn every_field_can_be_read_back_as_csv() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bad.csv");
        let mut report = ReportFile::create(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), HEADER, "there before the first bad row");
        let fault = Fault::of_column(2, "born:int", "\"x\" is not a valid int".to_owned(), b"1,\"a\nb\",x");
        report.write(&BadRow { file: "a,b.csv".to_owned(), line: 7, fault }).unwrap();
        let fault = Fault::of_row("3 fields expected".to_owned(), b"1 2");
        report.write(&BadRow { file: "g.e".to_owned(), line: 8, fault }).unwrap();
        report.flush().unwrap();
        let expected = "\"a,b.csv\",7,3,born:int,\"\"\"x\"\" is not a valid int\",\"1,\"\"a\nb\"\",x\"\n\
                        g.e,8,,,3 fields expected,1 2\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{HEADER}{expected}"));
    }

    #[test]
    fn a_report_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = ReportFile::create(&folder.path().join("no/bad.csv")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.to_string().contains("bad.csv: the report of bad rows can't be written"), "{error}");
    }
}
