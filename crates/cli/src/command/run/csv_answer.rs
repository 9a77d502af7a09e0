//! CSV answer: the rows of an answer as text, after a line with the names of the columns.
//!
//! Numbers are written so that they read back the same; an infinite distance is `infinity`.

use crate::command::run::answer_rows::{AnswerWriter, Columns, Row};
use csv::{ErrorKind, Writer};
use evergraph_graph::error::Error;
use evergraph_report::vertex_names::VertexName;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::result_file::ResultFile;
use std::io;

/// A CSV file that is being written.
pub struct CsvAnswer {
    columns: Columns,
    file: Writer<ResultFile>,
}

impl CsvAnswer {
    /// Begins `file` with the names of `columns`.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn begin(file: ResultFile, columns: Columns) -> Result<Self, Failure> {
        let names: Vec<&str> = columns.names().collect();
        let mut answer = Self { columns, file: Writer::from_writer(file) };
        answer.put(names.into_iter())?;
        Ok(answer)
    }

    fn put<T: AsRef<[u8]>>(&mut self, fields: impl Iterator<Item = T>) -> Result<(), Failure> {
        self.file.write_record(fields).map_err(|error| match error.into_kind() {
            ErrorKind::Io(error) => self.file.get_ref().failed(error),
            // All rows have the header's length; texts are UTF-8.
            other => Error::invalid(format!("write CSV: {other:?}")).into(),
        })
    }
}

impl AnswerWriter for CsvAnswer {
    fn write(&mut self, rows: &[Row], names: &[VertexName]) -> Result<(), Failure> {
        for (row, name) in rows.iter().zip(names) {
            let place = row.place.map(|(path, position)| [path.to_string(), position.to_string()]);
            let label = self.columns.label.then(|| name.label.to_string());
            let values = row.values.into_iter().flatten().map(|value| value.to_string());
            let fields = place.into_iter().flatten().chain(label).chain([name.key.to_string()]);
            self.put(fields.chain(values))?;
        }
        Ok(())
    }

    fn finish(self) -> Result<(), Failure> {
        match self.file.into_inner() {
            Ok(file) => file.finish(),
            Err(unfinished) => {
                let error = io::Error::from(unfinished.error().kind());
                Err(unfinished.into_inner().get_ref().failed(error))
            }
        }
    }
}
