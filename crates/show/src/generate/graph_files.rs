//! Graph files: a graph in blocks, written so that `evergraph import` reads it back.
//!
//! ```text
//! lists   NAME.v   17                        NAME.e   17 4
//! CSV     Account.csv   id:ID(Account){id-type:long},opened:date,...
//!         TRANSFER.csv  :START_ID(Account),:END_ID(Account),amount_cents:long,...
//! ```
//!
//! They go into a new or an empty folder, unless older files may be replaced. What was written goes again if
//! the rest can't be. Rows are encoded on all threads and written in their order.

use csv::Writer;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::load::{BLOCK_ROWS, Blocks, Load, VertexTable};
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::value::{Value, ValueType};
use evergraph_terminal::failure::Failure;
use evergraph_terminal::meter::Meter;
use evergraph_terminal::number::count;
use evergraph_terminal::result_file::ResultFile;
use rayon::prelude::*;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Rows that one thread encodes at a time: a fraction of a block, so that every thread has some.
const ENCODED_AT_ONCE: usize = 1 << 12;

/// Writes files into one folder. Dropped unfinished, it leaves what it found.
#[derive(Debug)]
pub struct GraphFiles<'a> {
    folder: &'a Path,
    found: ExistingFiles,
    meter: &'a Meter,
    cancel: &'a CancelFlag,
    written: Vec<PathBuf>,
}

/// What was where the files go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ExistingFiles {
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
            Ok(true) if overwrite => ExistingFiles::Files,
            Ok(true) => {
                return Err(Error::invalid(format!(
                    "{} already exists and has content: name another folder, or replace files of the same \
                     names (--overwrite)",
                    folder.display()
                ))
                .into());
            }
            Ok(false) => ExistingFiles::EmptyFolder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(folder).map_err(|error| failed("create", error))?;
                ExistingFiles::Nothing
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
        self.found = ExistingFiles::Files; // nothing of it goes
        std::mem::take(&mut self.written)
    }

    /// Writes a graph of one label, whose ids are numbers, as `NAME.v` and `NAME.e`.
    ///
    /// # Errors
    /// `cancelled`; what writing meets.
    pub fn lists(&mut self, name: &str, load: &Load) -> Result<(), Failure> {
        let ids = Ids::of_all(load)?;
        for (table, ids) in load.vertices.iter().zip(&ids) {
            let mut lines = self.rows(format!("{name}.v"), table.rows)?;
            for first in (0..table.rows as usize).step_by(BLOCK_ROWS) {
                let count = BLOCK_ROWS.min(table.rows as usize - first);
                lines.append(count, |rows, file| {
                    rows.into_iter().try_for_each(|row| {
                        ids.append_to(file, first + row);
                        writeln!(file)
                    })
                })?;
            }
            lines.file.finish()?;
        }
        for table in &load.edges {
            let (sources, targets) = (&ids[table.source_label], &ids[table.target_label]);
            let mut lines = self.rows(format!("{name}.e"), table.rows)?;
            each_block(&*table.blocks, |block| {
                lines.append(block.sources.len(), |rows, file| {
                    rows.into_iter().try_for_each(|row| {
                        sources.append_to(file, block.sources[row] as usize);
                        file.push(b' ');
                        targets.append_to(file, block.targets[row] as usize);
                        writeln!(file)
                    })
                })
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
                records.append(block.rows, |rows, file| {
                    let mut records = Records::new(file);
                    for row in rows {
                        records.field(|field| ids.append_to(field, first + row))?;
                        kept.iter().try_for_each(|at| {
                            records.field(|field| append_cell(field, block.column(*at), row))
                        })?;
                        records.end()?;
                    }
                    records.finish()
                })?;
                first += block.rows;
                Ok(())
            })?;
            records.file.finish()?;
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
                records.append(block.sources.len(), |rows, file| {
                    let mut records = Records::new(file);
                    for row in rows {
                        records.field(|field| sources.append_to(field, block.sources[row] as usize))?;
                        records.field(|field| targets.append_to(field, block.targets[row] as usize))?;
                        (0..table.properties.len()).try_for_each(|at| {
                            records.field(|field| append_cell(field, block.column(at), row))
                        })?;
                        records.end()?;
                    }
                    records.finish()
                })
            })?;
            records.file.finish()?;
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

    /// Begins a file of so many rows.
    fn rows(&mut self, name: String, rows: u64) -> Result<Rows<'a>, Failure> {
        let file = self.create(&name)?;
        Ok(Rows { file, name, written: 0, rows, meter: self.meter, cancel: self.cancel })
    }

    /// Begins a file of CSV records.
    fn records(&mut self, stem: &str, header: &[String], rows: u64) -> Result<Rows<'a>, Failure> {
        let mut records = self.rows(format!("{stem}.csv"), rows)?;
        let mut line = Vec::new();
        let mut fields = Records::new(&mut line);
        let encoded = header
            .iter()
            .try_for_each(|name| fields.field(|field| field.extend_from_slice(name.as_bytes())))
            .and_then(|()| fields.end())
            .and_then(|()| fields.finish());
        encoded.and_then(|()| records.file.write_all(&line)).map_err(|error| records.file.failed(error))?;
        Ok(records)
    }

    fn create(&mut self, name: &str) -> Result<ResultFile, Failure> {
        let path = self.folder.join(name);
        let file = ResultFile::create(&path, self.found == ExistingFiles::Files)?;
        self.written.push(path);
        Ok(file)
    }
}

impl Drop for GraphFiles<'_> {
    fn drop(&mut self) {
        if self.found == ExistingFiles::Files {
            return; // what was replaced doesn't come back by removing the new
        }
        // Why it ends like this is told already: what can't be removed stays.
        for path in &self.written {
            let _ = fs::remove_file(path);
        }
        if self.found == ExistingFiles::Nothing {
            let _ = fs::remove_dir(self.folder);
        }
    }
}

/// A file of rows that is being written.
struct Rows<'a> {
    file: ResultFile,
    name: String,
    written: u64,
    /// How many there will be.
    rows: u64,
    meter: &'a Meter,
    cancel: &'a CancelFlag,
}

impl Rows<'_> {
    /// Appends rows `0..count` of a block, which `encode` makes in parts on all threads; looks at the flag that Ctrl-C
    /// sets and tells the meter.
    fn append(
        &mut self,
        count: usize,
        encode: impl Fn(Range<usize>, &mut Vec<u8>) -> io::Result<()> + Sync,
    ) -> Result<(), Failure> {
        self.cancel.check()?;
        let written = self.written;
        let share = written as f64 / self.rows.max(1) as f64;
        self.meter
            .tell(&format!("write {}", self.name), Some(share), || format!("{} rows", self::count(written)));
        let parts: Vec<io::Result<Vec<u8>>> = (0..count.div_ceil(ENCODED_AT_ONCE))
            .into_par_iter()
            .map(|part| {
                let first = part * ENCODED_AT_ONCE;
                let mut bytes = Vec::new();
                encode(first..count.min(first + ENCODED_AT_ONCE), &mut bytes)?;
                Ok(bytes)
            })
            .collect();
        for part in parts {
            part.and_then(|part| self.file.write_all(&part)).map_err(|error| self.file.failed(error))?;
        }
        self.written += count as u64;
        Ok(())
    }
}

/// CSV records on their way to a part of a file.
struct Records<'a> {
    writer: Writer<&'a mut Vec<u8>>,
    field: Vec<u8>,
}

impl<'a> Records<'a> {
    fn new(file: &'a mut Vec<u8>) -> Self {
        Self { writer: Writer::from_writer(file), field: Vec::new() }
    }

    /// The next field of a record, which `append` puts behind an empty string.
    fn field(&mut self, append: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.field.clear();
        append(&mut self.field);
        Ok(self.writer.write_field(&self.field)?)
    }

    /// Ends a record.
    fn end(&mut self) -> io::Result<()> {
        Ok(self.writer.write_record(None::<&[u8]>)?)
    }

    fn finish(mut self) -> io::Result<()> {
        self.writer.flush()
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

    fn append_to(&self, text: &mut Vec<u8>, row: usize) {
        match &self.0 {
            Some(column) => append_cell(text, Some(column), row),
            None => append(text, &row),
        }
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

/// The value of item `row`, as text; nothing if it has none.
fn append_cell(text: &mut Vec<u8>, column: Option<&PackedColumn>, row: usize) {
    match column.and_then(|column| column.get(row)) {
        Some(Value::String(value)) => text.extend_from_slice(value.as_bytes()),
        Some(value) => append(text, &value),
        None => {}
    }
}

fn append(text: &mut Vec<u8>, value: &dyn fmt::Display) {
    write!(text, "{value}").expect("a vector takes all that is written");
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::load::{EdgeBlock, EdgeTable, VertexBlock};

    #[test]
    fn rows_that_threads_encode_are_in_their_order() {
        let rows = 2 * ENCODED_AT_ONCE + 3;
        let texts: Vec<Option<Value>> =
            (0..rows).map(|row| (row % 3 != 0).then(|| Value::from(format!("a \"{row}\",")))).collect();
        let notes = PackedColumn::from_values(texts.iter().map(Option::as_ref));
        let numbers: Vec<Value> = (0..rows).map(|row| Value::I64(7 * row as i64)).collect();
        let ids = PackedColumn::from_values(numbers.iter().map(Some));
        let properties = vec![("id".to_owned(), ValueType::I64), ("note".to_owned(), ValueType::String)];
        let block = VertexBlock { rows, columns: vec![ids, notes.clone()] };
        let (sources, targets): (Vec<u32>, Vec<u32>) =
            (0..rows as u32).map(|row| (row, rows as u32 - 1 - row)).unzip();
        let ends = EdgeBlock { sources, targets, columns: vec![notes] };
        let notes = vec![("note".to_owned(), ValueType::String)];
        let load = Load {
            vertices: vec![VertexTable::new("V", properties, vec![block]).unique_key("id")],
            edges: vec![EdgeTable::new("E", 0, 0, notes, vec![ends])],
        };
        let folder = tempfile::tempdir().unwrap();
        let (meter, cancel) = (Meter::silent(), CancelFlag::default());
        let mut files = GraphFiles::new(folder.path(), false, &meter, &cancel).unwrap();
        files.lists("l", &load).unwrap();
        files.csv(&load).unwrap();
        drop(files.finish());

        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let (id, other) = (|row: usize| 7 * row, |row: usize| 7 * (rows - 1 - row));
        let note =
            |row: usize| if !row.is_multiple_of(3) { format!("\"a \"\"{row}\"\",\"") } else { String::new() };
        let lines =
            |line: &dyn Fn(usize) -> String| (0..rows).map(|row| line(row) + "\n").collect::<String>();
        assert_eq!(read("l.v"), lines(&|row| id(row).to_string()));
        assert_eq!(read("l.e"), lines(&|row| format!("{} {}", id(row), other(row))));
        let header = "id:ID(V){id-type:long},note:string\n";
        assert_eq!(read("V.csv"), header.to_owned() + &lines(&|row| format!("{},{}", id(row), note(row))));
        let header = ":START_ID(V),:END_ID(V),note:string\n";
        let edge = |row| format!("{},{},{}", id(row), other(row), note(row));
        assert_eq!(read("E.csv"), header.to_owned() + &lines(&edge));
    }

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
