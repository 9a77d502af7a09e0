//! Graph files: a graph in columns, written so that `evergraph import` reads it back.
//!
//! ```text
//! lists   NAME.v   17                        NAME.e   17 4
//! CSV     Account.csv   id:ID(Account){id-type:long},opened:date,...
//!         TRANSFER.csv  :START_ID(Account),:END_ID(Account),amount_cents:long,...
//! ```

use crate::result_file::ResultFile;
use crate::terminal::failure::Failure;
use crate::terminal::meter::Meter;
use crate::terminal::number::count;
use csv::Writer;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::load::{EdgeTable, Load, VertexTable};
use evergraph_graph::value::{Value, ValueType};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Rows between two looks at the flag that Ctrl-C sets.
const ROWS_PER_LOOK: usize = 1 << 16;

/// Writes files into one folder.
#[derive(Debug)]
pub struct GraphFiles<'a> {
    folder: &'a Path,
    meter: &'a Meter,
    cancel: &'a CancelFlag,
    written: Vec<PathBuf>,
}

impl<'a> GraphFiles<'a> {
    /// Writes into `folder`, which is created if it isn't there. Files of the same names are replaced.
    ///
    /// # Errors
    /// `io` if the folder can't be created.
    pub fn new(folder: &'a Path, meter: &'a Meter, cancel: &'a CancelFlag) -> Result<Self, Failure> {
        fs::create_dir_all(folder).map_err(|error| {
            let text = format!("create folder {}: {error}", folder.display());
            Error::new(ErrorKind::Io, text).because(error)
        })?;
        Ok(Self { folder, meter, cancel, written: Vec::new() })
    }

    /// The files written so far.
    #[must_use]
    pub fn written(self) -> Vec<PathBuf> {
        self.written
    }

    /// Writes a graph of one label, whose ids are numbers, as `NAME.v` and `NAME.e`.
    ///
    /// # Errors
    /// `cancelled`; what writing meets.
    pub fn lists(&mut self, name: &str, load: &Load) -> Result<(), Failure> {
        for table in &load.vertices {
            let ids = Ids::of(table);
            self.lines(&format!("{name}.v"), table.rows as usize, |row, line| {
                writeln!(line, "{}", ids.get(row))
            })?;
        }
        for table in &load.edges {
            let (sources, targets) = ends(load, table);
            self.lines(&format!("{name}.e"), table.sources.len(), |row, line| {
                let (source, target) = (table.sources[row] as usize, table.targets[row] as usize);
                writeln!(line, "{} {}", sources.get(source), targets.get(target))
            })?;
        }
        Ok(())
    }

    /// Writes a graph with one table a type as CSV files with Neo4j's headers, named after labels and
    /// types.
    ///
    /// # Errors
    /// `cancelled`; what writing meets.
    pub fn csv(&mut self, load: &Load) -> Result<(), Failure> {
        for table in &load.vertices {
            let ids = Ids::of(table);
            let columns = || table.columns.iter().filter(|(key, _)| Some(key) != table.unique_key.as_ref());
            let header = [ids.header(table)].into_iter().chain(columns().map(property_header)).collect();
            self.records(&table.label, header, table.rows as usize, |row| {
                [ids.get(row)]
                    .into_iter()
                    .chain(columns().map(move |(_, column)| cell(column, row)))
                    .collect()
            })?;
        }
        for table in &load.edges {
            let (sources, targets) = ends(load, table);
            let space = |label: usize| &load.vertices[label].label;
            let ends_header = [
                format!(":START_ID({})", space(table.source_label)),
                format!(":END_ID({})", space(table.target_label)),
            ];
            let header = ends_header.into_iter().chain(table.columns.iter().map(property_header)).collect();
            self.records(&table.edge_type, header, table.sources.len(), |row| {
                let (source, target) = (table.sources[row] as usize, table.targets[row] as usize);
                let properties = table.columns.iter().map(|(_, column)| cell(column, row));
                [sources.get(source), targets.get(target)].into_iter().chain(properties).collect()
            })?;
        }
        Ok(())
    }

    /// Writes `text` to the file `name`.
    ///
    /// # Errors
    /// What writing meets.
    pub fn text(&mut self, name: &str, text: &str) -> Result<(), Failure> {
        let mut file = self.create(name)?;
        file.write_all(text.as_bytes()).map_err(|error| file.failed(error))?;
        file.finish()
    }

    fn lines(
        &mut self,
        name: &str,
        rows: usize,
        write: impl Fn(usize, &mut ResultFile) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut file = self.create(name)?;
        for row in 0..rows {
            self.look(name, row, rows)?;
            write(row, &mut file).map_err(|error| file.failed(error))?;
        }
        file.finish()
    }

    fn records(
        &mut self,
        stem: &str,
        header: Vec<String>,
        rows: usize,
        record: impl Fn(usize) -> Vec<String>,
    ) -> Result<(), Failure> {
        let name = format!("{stem}.csv");
        let mut file = Writer::from_writer(self.create(&name)?);
        let failed = |file: &Writer<ResultFile>, error: csv::Error| match error.into_kind() {
            csv::ErrorKind::Io(error) => file.get_ref().failed(error),
            other => Error::invalid(format!("write {name}: {other:?}")).into(),
        };
        file.write_record(&header).map_err(|error| failed(&file, error))?;
        for row in 0..rows {
            self.look(&name, row, rows)?;
            file.write_record(record(row)).map_err(|error| failed(&file, error))?;
        }
        match file.into_inner() {
            Ok(file) => file.finish(),
            Err(unfinished) => {
                let error = io::Error::from(unfinished.error().kind());
                Err(unfinished.into_inner().get_ref().failed(error))
            }
        }
    }

    fn create(&mut self, name: &str) -> Result<ResultFile, Failure> {
        let path = self.folder.join(name);
        let file = ResultFile::create(&path)?;
        self.written.push(path);
        Ok(file)
    }

    fn look(&self, name: &str, row: usize, rows: usize) -> Result<(), Failure> {
        if row.is_multiple_of(ROWS_PER_LOOK) {
            self.cancel.check()?;
            self.meter.tell(&format!("write {name}"), Some(row as f64 / rows as f64), || {
                format!("{} rows", count(row as u64))
            });
        }
        Ok(())
    }
}

/// What edges call the vertices of a table: its unique key, or the row.
struct Ids<'a>(Option<&'a Column>);

impl<'a> Ids<'a> {
    fn of(table: &'a VertexTable) -> Self {
        Self(table.unique_key.as_ref().and_then(|key| table.column(key)))
    }

    fn get(&self, row: usize) -> String {
        self.0.map_or_else(|| row.to_string(), |column| cell(column, row))
    }

    fn header(&self, table: &VertexTable) -> String {
        let key = table.unique_key.as_deref().unwrap_or_default();
        let is_text = self.0.is_some_and(|column| column.value_type == ValueType::String);
        let id_type = if is_text { "string" } else { "long" };
        format!("{key}:ID({}){{id-type:{id_type}}}", table.label)
    }
}

fn ends<'a>(load: &'a Load, table: &EdgeTable) -> (Ids<'a>, Ids<'a>) {
    (Ids::of(&load.vertices[table.source_label]), Ids::of(&load.vertices[table.target_label]))
}

fn property_header((key, column): &(String, Column)) -> String {
    format!("{key}:{}", column.value_type)
}

fn cell(column: &Column, row: usize) -> String {
    column.get(row).as_ref().map_or_else(String::new, Value::to_string)
}
