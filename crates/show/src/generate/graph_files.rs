//! Graph files: a graph in blocks, written so that `evergraph import` reads it back.
//!
//! ```text
//! lists   NAME.v   17                        NAME.e   17 4
//! CSV     Account.csv   id:ID(Account){id-type:long},opened:date,...
//!         TRANSFER.csv  :START_ID(Account),:END_ID(Account),amount_cents:long,...
//! ```
//!
//! They go into a new or an empty folder, unless older files may be replaced. What was written goes again if
//! the rest can't be.

use csv::Writer;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::load::{Blocks, Load, VertexTable};
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::value::{Value, ValueType};
use evergraph_terminal::failure::Failure;
use evergraph_terminal::meter::Meter;
use evergraph_terminal::number::count;
use evergraph_terminal::result_file::ResultFile;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Rows between two looks at the flag that Ctrl-C sets.
const ROWS_PER_LOOK: u64 = 1 << 16;

/// Writes files into one folder. Dropped unfinished, it leaves what it found.
#[derive(Debug)]
pub struct GraphFiles<'a> {
    folder: &'a Path,
    found: Found,
    meter: &'a Meter,
    cancel: &'a CancelFlag,
    written: Vec<PathBuf>,
}

/// What was where the files go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Found {
    Nothing,
    EmptyFolder,
    /// Files, which may be replaced; or the finished ones.
    Files,
}

impl<'a> GraphFiles<'a> {
    /// Writes into `folder`, which is created if it isn't there. Files of the same names are replaced if
    /// `overwrite` says so; without it the folder has to be new or empty.
    ///
    /// # Errors
    /// `invalid` if there are files that aren't to be replaced; `io` if the folder can't be looked at or
    /// created.
    pub fn new(
        folder: &'a Path,
        overwrite: bool,
        meter: &'a Meter,
        cancel: &'a CancelFlag,
    ) -> Result<Self, Failure> {
        let failed = |doing: &str, error: io::Error| {
            let text = format!("{doing} folder {}: {error}", folder.display());
            Error::new(ErrorKind::Io, text).because(error)
        };
        let found = match fs::read_dir(folder).map(|mut entries| entries.next().is_some()) {
            Ok(true) if overwrite => Found::Files,
            Ok(true) => {
                return Err(Error::invalid(format!(
                    "{} already exists and has content: name another folder, or replace files of the same \
                     names (--overwrite)",
                    folder.display()
                ))
                .into());
            }
            Ok(false) => Found::EmptyFolder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(folder).map_err(|error| failed("create", error))?;
                Found::Nothing
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(Error::invalid(format!("{} is a file: name a folder", folder.display())).into());
            }
            Err(error) => return Err(failed("look at", error).into()),
        };
        Ok(Self { folder, found, meter, cancel, written: Vec::new() })
    }

    /// Keeps the files, and names them.
    #[must_use]
    pub fn finish(mut self) -> Vec<PathBuf> {
        self.found = Found::Files; // nothing of it goes
        std::mem::take(&mut self.written)
    }

    /// Writes a graph of one label, whose ids are numbers, as `NAME.v` and `NAME.e`.
    ///
    /// # Errors
    /// `cancelled`; what writing meets.
    pub fn lists(&mut self, name: &str, load: &Load) -> Result<(), Failure> {
        let ids = Ids::of_all(load)?;
        for (table, ids) in load.vertices.iter().zip(&ids) {
            let mut lines = self.lines(format!("{name}.v"), table.rows)?;
            for row in 0..table.rows as usize {
                lines.write(|line| writeln!(line, "{}", ids.get(row)))?;
            }
            lines.file.finish()?;
        }
        for table in &load.edges {
            let (sources, targets) = (&ids[table.source_label], &ids[table.target_label]);
            let mut lines = self.lines(format!("{name}.e"), table.rows)?;
            each_block(&*table.blocks, |block| {
                for (source, target) in block.sources.iter().zip(&block.targets) {
                    let (source, target) = (sources.get(*source as usize), targets.get(*target as usize));
                    lines.write(|line| writeln!(line, "{source} {target}"))?;
                }
                Ok(())
            })?;
            lines.file.finish()?;
        }
        Ok(())
    }

    /// Writes a graph with one table a type as CSV files with Neo4j's headers, named after labels and
    /// types.
    ///
    /// # Errors
    /// `cancelled`; what writing meets.
    pub fn csv(&mut self, load: &Load) -> Result<(), Failure> {
        let ids = Ids::of_all(load)?;
        for (table, ids) in load.vertices.iter().zip(&ids) {
            let kept: Vec<usize> = (0..table.properties.len())
                .filter(|at| Some(&table.properties[*at].0) != table.unique_key.as_ref())
                .collect();
            let properties = kept.iter().map(|at| property_header(&table.properties[*at]));
            let header: Vec<String> = [ids.header(table)].into_iter().chain(properties).collect();
            let mut records = self.records(&table.label, &header, table.rows)?;
            let mut first = 0;
            each_block(&*table.blocks, |block| {
                for row in 0..block.rows {
                    let cells = kept.iter().map(|at| cell(block.column(*at), row));
                    records.write([ids.get(first + row)].into_iter().chain(cells))?;
                }
                first += block.rows;
                Ok(())
            })?;
            records.finish()?;
        }
        for table in &load.edges {
            let (sources, targets) = (&ids[table.source_label], &ids[table.target_label]);
            let space = |label: usize| &load.vertices[label].label;
            let ends_header = [
                format!(":START_ID({})", space(table.source_label)),
                format!(":END_ID({})", space(table.target_label)),
            ];
            let properties = table.properties.iter().map(property_header);
            let header: Vec<String> = ends_header.into_iter().chain(properties).collect();
            let mut records = self.records(&table.edge_type, &header, table.rows)?;
            each_block(&*table.blocks, |block| {
                for (row, (source, target)) in block.sources.iter().zip(&block.targets).enumerate() {
                    let cells = (0..table.properties.len()).map(|at| cell(block.column(at), row));
                    let ends = [sources.get(*source as usize), targets.get(*target as usize)];
                    records.write(ends.into_iter().chain(cells))?;
                }
                Ok(())
            })?;
            records.finish()?;
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

    fn lines(&mut self, name: String, rows: u64) -> Result<Lines<'a>, Failure> {
        let file = self.create(&name)?;
        Ok(Lines { file, look: self.look(name, rows) })
    }

    fn records(&mut self, stem: &str, header: &[String], rows: u64) -> Result<Records<'a>, Failure> {
        let name = format!("{stem}.csv");
        let file = Writer::from_writer(self.create(&name)?);
        let mut records = Records { file, look: self.look(name, rows) };
        records.file.write_record(header).map_err(|error| records.failed(error))?;
        Ok(records)
    }

    fn look(&self, name: String, rows: u64) -> Look<'a> {
        Look { name, row: 0, rows, meter: self.meter, cancel: self.cancel }
    }

    fn create(&mut self, name: &str) -> Result<ResultFile, Failure> {
        let path = self.folder.join(name);
        let file = ResultFile::create(&path, self.found == Found::Files)?;
        self.written.push(path);
        Ok(file)
    }
}

impl Drop for GraphFiles<'_> {
    fn drop(&mut self) {
        if self.found == Found::Files {
            return; // what was replaced doesn't come back by removing the new
        }
        // Why it ends like this is told already: what can't be removed stays.
        for path in &self.written {
            let _ = fs::remove_file(path);
        }
        if self.found == Found::Nothing {
            let _ = fs::remove_dir(self.folder);
        }
    }
}

/// Where one file's writing stands.
struct Look<'a> {
    name: String,
    row: u64,
    rows: u64,
    meter: &'a Meter,
    cancel: &'a CancelFlag,
}

impl Look<'_> {
    /// One row more: now and then looks at the flag and tells the meter.
    fn row(&mut self) -> Result<(), Failure> {
        let row = self.row;
        self.row += 1;
        if row.is_multiple_of(ROWS_PER_LOOK) {
            self.cancel.check()?;
            let share = row as f64 / self.rows as f64;
            self.meter.tell(&format!("write {}", self.name), Some(share), || format!("{} rows", count(row)));
        }
        Ok(())
    }
}

/// A file of lines.
struct Lines<'a> {
    file: ResultFile,
    look: Look<'a>,
}

impl Lines<'_> {
    fn write(&mut self, line: impl FnOnce(&mut ResultFile) -> io::Result<()>) -> Result<(), Failure> {
        self.look.row()?;
        line(&mut self.file).map_err(|error| self.file.failed(error))
    }
}

/// A file of CSV records.
struct Records<'a> {
    file: Writer<ResultFile>,
    look: Look<'a>,
}

impl Records<'_> {
    fn write(&mut self, record: impl Iterator<Item = String>) -> Result<(), Failure> {
        self.look.row()?;
        self.file.write_record(record).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: csv::Error) -> Failure {
        match error.into_kind() {
            csv::ErrorKind::Io(error) => self.file.get_ref().failed(error),
            other => Error::invalid(format!("write {}: {other:?}", self.look.name)).into(),
        }
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

/// Calls `visit` with each block until it fails.
fn each_block<B>(
    blocks: &dyn Blocks<B>,
    mut visit: impl FnMut(&B) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut failure = None;
    let read = blocks.for_each(&mut |block| {
        visit(block).map_err(|met| {
            failure = Some(met);
            Error::new(ErrorKind::Cancelled, "stopped by a failure that is kept aside")
        })
    });
    match failure {
        Some(failure) => Err(failure),
        None => Ok(read?),
    }
}

/// What edges call the vertices of a table: its unique key, or the row.
struct Ids(Option<PackedColumn>);

impl Ids {
    /// Those of each vertex table.
    fn of_all(load: &Load) -> Result<Vec<Self>, Failure> {
        let column = |table: &VertexTable| match &table.unique_key {
            Some(key) => table.column(key),
            None => Ok(None),
        };
        load.vertices.iter().map(|table| Ok(Self(column(table)?))).collect()
    }

    fn get(&self, row: usize) -> String {
        self.0.as_ref().map_or_else(|| row.to_string(), |column| cell(Some(column), row))
    }

    fn header(&self, table: &VertexTable) -> String {
        let key = table.unique_key.as_deref().unwrap_or_default();
        let is_text = self.0.as_ref().is_some_and(|column| column.value_type() == ValueType::String);
        let id_type = if is_text { "string" } else { "long" };
        format!("{key}:ID({}){{id-type:{id_type}}}", table.label)
    }
}

fn property_header((key, value_type): &(String, ValueType)) -> String {
    format!("{key}:{value_type}")
}

fn cell(column: Option<&PackedColumn>, row: usize) -> String {
    column.and_then(|column| column.get(row)).as_ref().map_or_else(String::new, Value::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finished_leaves_the_folder_as_it_was() {
        let root = tempfile::tempdir().unwrap();
        let (new, empty) = (root.path().join("new"), root.path().join("empty"));
        fs::create_dir(&empty).unwrap();
        let (meter, cancel) = (Meter::silent(), CancelFlag::default());
        for folder in [&new, &empty] {
            let mut files = GraphFiles::new(folder, false, &meter, &cancel).unwrap();
            files.text("a.txt", "a").unwrap();
            drop(files);
        }
        assert!(!new.exists() && fs::read_dir(&empty).unwrap().next().is_none());
        let mut files = GraphFiles::new(&new, false, &meter, &cancel).unwrap();
        files.text("a.txt", "a").unwrap();
        assert_eq!(files.finish(), [new.join("a.txt")]);
        assert!(GraphFiles::new(&new, false, &meter, &cancel).is_err());
        let mut files = GraphFiles::new(&new, true, &meter, &cancel).unwrap();
        files.text("a.txt", "b").unwrap();
        drop(files);
        assert_eq!(fs::read_to_string(new.join("a.txt")).unwrap(), "b");
    }
}
