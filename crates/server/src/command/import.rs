//! `evergraph import`: files of vertices and edges become a database, or are added to one.
//!
//! Everything is read and understood before the database is touched: a bad row in the last file leaves
//! nothing behind.

use crate::amount;
use crate::context::Context;
use crate::loading::{Destination, LabelRow, LoadReport};
use crate::terminal::failure::Failure;
use crate::terminal::number::{count, counted, rate, size};
use crate::terminal::table::visible;
use clap::{Args, ValueEnum};
use evergraph::import::csv_file::header_line;
use evergraph::import::faults::{BadRows, OnBadRow};
use evergraph::import::id_type::IdType;
use evergraph::import::known::Known;
use evergraph::import::mapping::document::Mapping;
use evergraph::import::options::{HeaderPlace, ImportOptions, Imported, InputFile, Progress, Role};
use evergraph::import::plan::{is_database, propose};
use evergraph::import::policy::{OnDuplicate, OnUnknown, Settled};
use evergraph::import::read::read_beside;
use evergraph_graph::error::{Error, Result};
use serde::Serialize;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Files of a kind that a summary names.
const FILES_SHOWN: usize = 10;

const AFTER_HELP: &str = "\
Examples:
  evergraph import social.eg people.csv knows.csv         CSV with Neo4j's headers, or plain ones
  evergraph import snb.eg social_network/                 a folder; LDBC's file names are known
  evergraph import p2p.eg p2p-31.v.gz p2p-31.e.gz         Graphalytics: vertices, edges
  evergraph import web.eg links.txt --vertices 0..1000    an edge list, ids without edges declared
  evergraph import s.eg --nodes Person=people.csv --edges KNOWS=knows.csv
  evergraph import f.eg people.csv --delimiter '|' --quote none --header 'id:ID|name|born:int'
  evergraph import --propose data/ > mapping.toml         how a folder would be read, to be changed
  evergraph import d.eg data/ --mapping mapping.toml      and is read then
  evergraph import b.eg data/ --on-error skip --report bad.csv
  evergraph import t.eg edges_only/ --on-unknown create   vertices that only edges speak of
  zcat a.json.gz | evergraph import g.eg -                standard input: any of these but Parquet

What a file holds follows from its name and first lines:
  .v              vertices, an id a line           .csv .tsv  what the header says: :ID vertices,
  .e .edges .el   edges, `source target [weight]           :START_ID and :END_ID edges; else what
  .txt            [time]` a line                           names and values look like
  .gr .mtx        DIMACS, Matrix Market            each also with .gz or .zst
  .json .graphson GraphSON, with its edges         .parquet   as CSV, by the names of its columns
  .xml .graphml   GraphML             .gexf .gml  GEXF (Gephi), GML
  .json .cyjs     nodes and links     .net .paj   Pajek
A database that has data gets more. Edges name its vertices by the unique key of their label (of
several the one called id, or :START_ID(Person){key:name}): the header's :START_ID(Person), without
a file of persons, means those that are there. To files with plain headers, where several labels may
be meant, give it by --replace-header ':START_ID(Person),:END_ID(Person),since:int'.
Headers: id:ID(Person)  name:string  born:int  tags:string[]  :LABEL  :START_ID(Person)
  :END_ID(Person)  :TYPE  since:date  seen:datetime{epoch:milliseconds}  :IGNORE";

/// What `evergraph import` is told.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ImportArguments {
    /// The database to add to; created if there is none.
    #[arg(required_unless_present = "propose")]
    pub database: Option<PathBuf>,
    /// Files and folders to read; `-` is standard input.
    #[arg(required_unless_present_any = ["nodes", "relationships", "edges", "vertex_lists", "graphson", "graphml", "mapping", "propose"])]
    pub files: Vec<PathBuf>,
    /// Print a mapping file that says how the files would be read, and import nothing. A database before
    /// them is where they would go.
    #[arg(long, conflicts_with = "mapping", help_heading = "Files")]
    pub propose: bool,
    /// Read the files as this TOML file says (`--propose` writes one to begin with). Without FILES: those
    /// in its folder. Without this option a folder's own import.toml counts, if it has one.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["nodes", "relationships", "edges", "vertex_lists", "graphson", "graphml", "header", "replace_header", "label", "edge_type"],
        help_heading = "Files"
    )]
    pub mapping: Option<PathBuf>,
    /// A CSV or Parquet file of vertices, and their label if no column tells it. Further CSV files behind
    /// commas have its header. LABEL=- is CSV from standard input.
    #[arg(long, value_name = "[LABEL=]FILE", value_parser = named_files, help_heading = "Files")]
    pub nodes: Vec<NamedFiles>,
    /// A file of edges, as CSV, Parquet or list, and their type if no column tells it; further ones behind
    /// commas.
    #[arg(long, value_name = "[TYPE=]FILE", value_parser = named_files, help_heading = "Files")]
    pub edges: Vec<NamedFiles>,
    /// The same, but never a list; TYPE=- is CSV from standard input.
    #[arg(long, value_name = "[TYPE=]FILE", value_parser = named_files, help_heading = "Files")]
    pub relationships: Vec<NamedFiles>,
    /// A list of vertices, an id a line.
    #[arg(long = "vertex-list", value_name = "FILE", help_heading = "Files")]
    pub vertex_lists: Vec<PathBuf>,
    /// A file of GraphSON, whatever it is called; `-` is standard input.
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    pub graphson: Vec<PathBuf>,
    /// The same of GraphML.
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    pub graphml: Vec<PathBuf>,
    /// What stands between fields: a character or `tab` [default: what the first line shows].
    #[arg(long, value_name = "CHARACTER", value_parser = character, help_heading = "CSV files and lists")]
    pub delimiter: Option<u8>,
    /// What encloses fields, or `none` [default: "].
    #[arg(long, value_name = "CHARACTER", value_parser = quote, help_heading = "CSV files and lists")]
    pub quote: Option<Quote>,
    /// What stands between the elements of an array.
    #[arg(long, value_name = "CHARACTER", value_parser = character, default_value = ";", help_heading = "CSV files and lists")]
    pub array_delimiter: u8,
    /// What stands before a quote inside quotes, besides doubling it: usually a backslash.
    #[arg(long, value_name = "CHARACTER", value_parser = character, help_heading = "CSV files and lists")]
    pub escape: Option<u8>,
    /// The text that stands for no value, besides an empty one.
    #[arg(long, value_name = "TEXT", help_heading = "CSV files and lists")]
    pub null: Option<String>,
    /// The header of CSV files that have none: its text, or a file whose first line it is.
    #[arg(
        long,
        value_name = "HEADER",
        conflicts_with = "replace_header",
        help_heading = "CSV files and lists"
    )]
    pub header: Option<String>,
    /// The header to read instead of the first line of CSV files, or a file whose first line it is.
    #[arg(long, value_name = "HEADER", help_heading = "CSV files and lists")]
    pub replace_header: Option<String>,
    /// The type of ids in CSV files whose header doesn't say.
    #[arg(long, value_enum, default_value_t, value_name = "TYPE", help_heading = "CSV files and lists")]
    pub id_type: IdTypeArgument,
    /// The label of vertices in lists [default: Vertex], and in the CSV files named.
    #[arg(long, value_name = "LABEL", help_heading = "CSV files and lists")]
    pub label: Option<String>,
    /// The type of edges in lists [default: EDGE], and in the CSV files named.
    #[arg(long = "type", value_name = "TYPE", help_heading = "CSV files and lists")]
    pub edge_type: Option<String>,
    /// The ids that there are, with or without edges in lists, say 0..1000 (without 1000).
    #[arg(long, value_name = "FROM..TO", value_parser = id_range, help_heading = "CSV files and lists")]
    pub vertices: Option<Range<i64>>,
    /// What follows source and target in lists of edges, say `weight,time` or `time:datetime{epoch:seconds}`
    /// [default: weight, then time].
    #[arg(long, value_name = "COLUMNS", help_heading = "CSV files and lists")]
    pub columns: Option<String>,
    /// What follows the id in lists of vertices [default: value].
    #[arg(long, value_name = "COLUMNS", help_heading = "CSV files and lists")]
    pub vertex_columns: Option<String>,
    /// What to do about a vertex whose id was there before.
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", help_heading = "Bad rows")]
    pub on_duplicate: OnDuplicateArgument,
    /// What to do about an edge to or from a vertex that isn't there.
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", help_heading = "Bad rows")]
    pub on_unknown: OnUnknownArgument,
    /// The property that keeps the ids of vertices in files of vertices and edges [default: id, or _id if they
    /// have a property id of their own].
    #[arg(long, value_name = "KEY", help_heading = "Files of vertices and edges")]
    pub vertex_id: Option<String>,
    /// The property that keeps the ids of edges there [default: they are not kept].
    #[arg(long, value_name = "KEY", help_heading = "Files of vertices and edges")]
    pub edge_id: Option<String>,
    /// What to do about a row that can't be loaded.
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", help_heading = "Bad rows")]
    pub on_error: OnError,
    /// Stop all the same at more than N bad rows (means --on-error skip).
    #[arg(long, value_name = "N", help_heading = "Bad rows")]
    pub max_bad: Option<u64>,
    /// Write every bad row to FILE, as CSV: file, line, column, name, reason, row.
    #[arg(long, value_name = "FILE", help_heading = "Bad rows")]
    pub report: Option<PathBuf>,
    /// Memory beside ids and the finished graph, say 512M or 4G: half for rows, half to sort edges; rows
    /// beyond it go through a temporary file [default: a quarter of this machine's].
    #[arg(long, value_name = "SIZE", value_parser = amount::memory)]
    pub memory: Option<u64>,
    /// The folder for the temporary file [default: that of the database].
    #[arg(long, value_name = "FOLDER")]
    pub temporary: Option<PathBuf>,
}

/// What to do about a vertex whose id was there before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum OnDuplicateArgument {
    /// It is a bad row.
    #[default]
    Fail,
    /// The first one counts.
    First,
    /// The last one counts.
    Last,
}

/// What to do about an edge to or from a vertex that isn't there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum OnUnknownArgument {
    /// It is a bad row.
    #[default]
    Fail,
    /// The edge is left out.
    Skip,
    /// The vertex is created, with its id only.
    Create,
}

/// What to do about a row that can't be loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum OnError {
    /// Name it and load nothing.
    #[default]
    Stop,
    /// Leave it out and count it.
    Skip,
}

/// Files and perhaps the label or type of their rows.
#[derive(Clone, Debug)]
pub struct NamedFiles {
    name: Option<String>,
    /// The first one has the header of all.
    paths: Vec<PathBuf>,
}

/// What encloses fields.
#[derive(Clone, Copy, Debug)]
pub struct Quote(Option<u8>);

/// The type of ids in CSV files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum IdTypeArgument {
    /// Text: 007 and 7 differ.
    #[default]
    String,
    /// Whole numbers of 64 bits.
    Integer,
}

/// Reads the files and loads them.
///
/// # Errors
/// Those of reading, of opening the database, and of loading.
pub fn execute(arguments: &ImportArguments, context: &Context) -> std::result::Result<(), Failure> {
    let mut options = arguments.options(context)?;
    let Some(database) = arguments.database.as_ref().filter(|_| !arguments.propose) else {
        let known = match arguments.database.as_deref() {
            Some(path) if is_database(path) => Destination::new(path)?.known(),
            _ => Known::default(),
        };
        return context.console.result(&Proposed { mapping: propose(&options, &known)? });
    };
    let destination = Destination::new(database)?;
    options.temporary.clone_from(&arguments.temporary);
    // Beside the database, which may not be there yet, and on its disk.
    options.temporary.get_or_insert_with(|| match database.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    });
    let memory_bytes = options.memory_bytes();
    let meter = context.console.meter();
    let began = Instant::now();
    let imported = read_beside(&options, destination.known(), &|progress: Progress<'_>| {
        let total = progress.bytes_total.filter(|total| *total > 0);
        let fraction = total.map(|total| progress.bytes_read as f64 / total as f64);
        meter.tell("read", fraction, || {
            let rate = rate(progress.rows, began.elapsed(), "rows");
            format!("{}, {} rows, {rate}", progress.file, count(progress.rows))
        });
    })?;
    let read_seconds = began.elapsed().as_secs_f64();
    arguments.check_names(&imported)?;
    let Imported { load, bad_rows, settled, spilled_bytes, notes, ignored_files, guessed_files } = imported;
    let load = destination.load(load, memory_bytes / 2, read_seconds, &meter, context)?;
    drop(meter);
    let shown = |paths: Vec<PathBuf>| paths.iter().map(|path| path.display().to_string()).collect();
    let (ignored_files, guessed_files) = (shown(ignored_files), shown(guessed_files));
    let report = arguments.report.as_ref().map(|path| path.display().to_string());
    let bad_rows = BadRowsReport { bad_rows, report };
    context.console.summary(&ImportReport {
        load,
        bad_rows,
        settled: settled.into(),
        memory_bytes,
        spilled_bytes,
        notes,
        ignored_files,
        guessed_files,
    })
}

impl ImportArguments {
    fn options(&self, context: &Context) -> Result<ImportOptions> {
        let header = match (&self.header, &self.replace_header) {
            (Some(header), _) => HeaderPlace::Given(header_text(header)?),
            (_, Some(header)) => HeaderPlace::Replaced(header_text(header)?),
            _ => HeaderPlace::FirstLine,
        };
        let mapping = self.mapping.as_deref().map(Mapping::read).transpose()?;
        // To propose needs no database: the first path may be a file as the others.
        let first = self.database.iter().filter(|path| self.propose && !is_database(path));
        let mut paths: Vec<PathBuf> = first.chain(&self.files).cloned().collect();
        if let (Some(mapping), true) = (&mapping, paths.is_empty()) {
            paths.push(mapping.folder.clone());
        }
        let mut files: Vec<InputFile> = Vec::new();
        for path in paths {
            let is_folder = path.is_dir();
            let mut file = InputFile::new(path).header(header.clone());
            if !is_folder {
                (file.label, file.edge_type) = (self.label.clone(), self.edge_type.clone());
            }
            files.push(file);
        }
        for (named, role) in [
            (&self.nodes, Role::Nodes),
            (&self.edges, Role::Edges),
            (&self.relationships, Role::Relationships),
        ] {
            for group in named {
                files.extend(group.inputs(role, &header)?);
            }
        }
        for (paths, role) in [
            (&self.vertex_lists, Role::VertexList),
            (&self.graphson, Role::GraphSon),
            (&self.graphml, Role::GraphMl),
        ] {
            files.extend(paths.iter().map(|path| InputFile::new(path).role(role)));
        }
        let mut options = ImportOptions::new(files);
        options.mapping = mapping;
        options.delimiter = self.delimiter;
        options.escape = self.escape;
        options.null.clone_from(&self.null);
        options.quote = self.quote.map_or(options.quote, |quote| quote.0);
        options.array_delimiter = self.array_delimiter;
        options.id_type = match self.id_type {
            IdTypeArgument::String => IdType::STRING,
            IdTypeArgument::Integer => IdType::LONG,
        };
        if let Some(label) = &self.label {
            options.vertex_label.clone_from(label);
        }
        if let Some(edge_type) = &self.edge_type {
            options.edge_type.clone_from(edge_type);
        }
        options.vertices = self.vertices.clone();
        options.edge_columns.clone_from(&self.columns);
        options.vertex_columns.clone_from(&self.vertex_columns);
        options.vertex_id_key.clone_from(&self.vertex_id);
        options.edge_id_key.clone_from(&self.edge_id);
        options.on_duplicate = match self.on_duplicate {
            OnDuplicateArgument::Fail => OnDuplicate::Fail,
            OnDuplicateArgument::First => OnDuplicate::First,
            OnDuplicateArgument::Last => OnDuplicate::Last,
        };
        options.on_unknown = match self.on_unknown {
            OnUnknownArgument::Fail => OnUnknown::Fail,
            OnUnknownArgument::Skip => OnUnknown::Skip,
            OnUnknownArgument::Create => OnUnknown::Create,
        };
        options.on_bad_row = match (self.on_error, self.max_bad) {
            (OnError::Stop, None) => OnBadRow::Stop,
            (_, at_most) => OnBadRow::Skip { at_most },
        };
        options.bad_rows_report.clone_from(&self.report);
        options.memory = self.memory;
        options.threads = context.threads;
        options.cancel = context.cancel.clone();
        Ok(options)
    }

    /// Refuses a name that nothing got: who gave it expects to find it.
    fn check_names(&self, imported: &Imported) -> Result<()> {
        if let Some(label) = &self.label
            && imported.load.vertex_table(label).is_none()
        {
            return Err(Error::invalid(format!(
                "--label {label}: no vertices got it, for columns or names tell theirs, or the files are in a \
                 folder; for one file say --nodes {label}=FILE"
            )));
        }
        if let Some(edge_type) = &self.edge_type
            && !imported.load.edges.iter().any(|table| table.edge_type == *edge_type)
        {
            return Err(Error::invalid(format!(
                "--type {edge_type}: no edges got it, for columns or names tell theirs, or the files are in a \
                 folder; for one file say --edges {edge_type}=FILE"
            )));
        }
        Ok(())
    }
}

impl NamedFiles {
    /// The files, each holding `role`; `header` is theirs if it isn't in the first one's first line.
    fn inputs(&self, role: Role, header: &HeaderPlace) -> Result<Vec<InputFile>> {
        let mut header = header.clone();
        let mut inputs = Vec::with_capacity(self.paths.len());
        for (index, path) in self.paths.iter().enumerate() {
            if index == 1 && header == HeaderPlace::FirstLine {
                header = HeaderPlace::Given(header_line(&self.paths[0])?);
            }
            let mut input = InputFile::new(path).role(role).header(header.clone());
            match role {
                Role::Nodes => input.label.clone_from(&self.name),
                _ => input.edge_type.clone_from(&self.name),
            }
            inputs.push(input);
        }
        Ok(inputs)
    }
}

/// The header that `text` is, or that is the first line of the file `text` names.
fn header_text(text: &str) -> Result<String> {
    // Every header has a colon: id:ID, or :START_ID and :END_ID.
    if Path::new(text).is_file() || !text.contains(':') {
        return header_line(Path::new(text));
    }
    Ok(text.to_owned())
}

fn named_files(text: &str) -> std::result::Result<NamedFiles, String> {
    let (name, paths) = match text.split_once('=') {
        Some((name, paths)) => (Some(name.to_owned()), paths),
        None => (None, text),
    };
    let is_one = !paths.contains(',') || Path::new(paths).exists();
    let paths: Vec<PathBuf> =
        if is_one { vec![paths.into()] } else { paths.split(',').map(PathBuf::from).collect() };
    if paths.iter().any(|path| path.as_os_str().is_empty()) || name.as_ref().is_some_and(String::is_empty) {
        return Err("NAME=FILE or FILE is wanted".to_owned());
    }
    Ok(NamedFiles { name, paths })
}

fn character(text: &str) -> std::result::Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] => Ok(*byte),
        _ => Err("one ASCII character or `tab` is wanted".to_owned()),
    }
}

fn quote(text: &str) -> std::result::Result<Quote, String> {
    match text {
        "none" => Ok(Quote(None)),
        _ => character(text).map(|byte| Quote(Some(byte))).map_err(|why| why.replace("`tab`", "`none`")),
    }
}

fn id_range(text: &str) -> std::result::Result<Range<i64>, String> {
    let (from, to) = text.split_once("..").ok_or("FROM..TO is wanted, say 0..1000")?;
    let bound = |text: &str| text.parse::<i64>().map_err(|error| format!("{text:?}: {error}"));
    let range = bound(from)?..bound(to)?;
    if range.start > range.end {
        return Err("FROM is above TO".to_owned());
    }
    Ok(range)
}

/// A mapping file that isn't written yet.
#[derive(Debug, Serialize)]
struct Proposed {
    mapping: String,
}

impl fmt::Display for Proposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.mapping)
    }
}

/// What an import did.
#[derive(Debug, Serialize)]
struct ImportReport {
    #[serde(flatten)]
    load: LoadReport,
    bad_rows: BadRowsReport,
    settled: SettledReport,
    /// What `--memory` said or was.
    memory_bytes: u64,
    /// Bytes of rows that went through the temporary file.
    spilled_bytes: u64,
    notes: Vec<String>,
    ignored_files: Vec<String>,
    guessed_files: Vec<String>,
}

/// What was done as `--on-duplicate` and `--on-unknown` say, and to files without direction.
#[derive(Debug, Serialize)]
struct SettledReport {
    duplicates: u64,
    unknown: u64,
    repeated_pairs: u64,
    created: Vec<LabelRow>,
}

impl From<Settled> for SettledReport {
    fn from(settled: Settled) -> Self {
        let Settled { duplicates, unknown, created, repeated_pairs } = settled;
        let created = created.into_iter().map(|(label, vertices)| LabelRow { label, vertices });
        Self { duplicates, unknown, repeated_pairs, created: created.collect() }
    }
}

impl fmt::Display for SettledReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, one, many) in [
            (
                self.duplicates,
                "vertex that came again (--on-duplicate)",
                "vertices that came again (--on-duplicate)",
            ),
            (self.unknown, "edge to a vertex that isn't there", "edges to vertices that aren't there"),
            (
                self.repeated_pairs,
                "repeated edge of files without direction",
                "repeated edges of files without direction",
            ),
        ] {
            if count > 0 {
                writeln!(f, "left out {}", counted(count, one, many))?;
            }
        }
        for LabelRow { label, vertices } in &self.created {
            let vertices = counted(*vertices, "vertex", "vertices");
            writeln!(f, "created {vertices} of label {} for edges that name them", visible(label))?;
        }
        Ok(())
    }
}

#[derive(Debug)]
struct BadRowsReport {
    bad_rows: BadRows,
    /// The file that has them all.
    report: Option<String>,
}

impl Serialize for BadRowsReport {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Form<'a> {
            count: u64,
            first: Vec<String>,
            report: Option<&'a str>,
        }
        let first = self.bad_rows.first.iter().map(ToString::to_string).collect();
        Form { count: self.bad_rows.count, first, report: self.report.as_deref() }.serialize(serializer)
    }
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.load)?;
        write!(f, "{}", self.settled)?;
        if self.spilled_bytes > 0 {
            let (spilled, memory) = (size(self.spilled_bytes), size(self.memory_bytes));
            writeln!(f, "{spilled} of rows went through a temporary file: memory was {memory} (--memory)")?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "{}", visible(note)))?;
        let BadRows { count, first } = &self.bad_rows.bad_rows;
        if *count > 0 {
            let rows = counted(*count, "bad row", "bad rows");
            match &self.bad_rows.report {
                Some(report) => writeln!(f, "left out {rows}; {} has them all:", visible(report))?,
                None => writeln!(f, "left out {rows} (--report FILE keeps them):")?,
            }
            first.iter().try_for_each(|row| writeln!(f, "  {}", visible(&row.to_string())))?;
            if *count > first.len() as u64 {
                writeln!(f, "  ...")?;
            }
        }
        let ignored = |files| format!("left out {files} that nothing tells how to read");
        write_files(f, &self.ignored_files, &ignored)?;
        let guessed = |files| format!("guessed how to read {files} (evergraph import --propose shows it)");
        write_files(f, &self.guessed_files, &guessed)
    }
}

/// Writes what `title` says of the number of `files`, and the first ones.
fn write_files(
    f: &mut fmt::Formatter<'_>,
    files: &[String],
    title: &dyn Fn(String) -> String,
) -> fmt::Result {
    if files.is_empty() {
        return Ok(());
    }
    writeln!(f, "{}:", title(counted(files.len() as u64, "file", "files")))?;
    files.iter().take(FILES_SHOWN).try_for_each(|file| writeln!(f, "  {}", visible(file)))?;
    match files.len().saturating_sub(FILES_SHOWN) {
        0 => Ok(()),
        more => writeln!(f, "  and {more} more (--json names all)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_characters_are_read_as_people_write_them() {
        let named = named_files("Person=a=b.csv").unwrap();
        assert_eq!((named.name.as_deref(), named.paths), (Some("Person"), vec![PathBuf::from("a=b.csv")]));
        let named = named_files("Person=header.csv,1.csv,2.csv").unwrap();
        assert_eq!(named.paths, ["header.csv", "1.csv", "2.csv"].map(PathBuf::from));
        assert!(named_files("a.csv").unwrap().name.is_none());
        assert!(["Person=", "=a.csv", "P=a.csv,,b.csv"].iter().all(|text| named_files(text).is_err()));
        assert_eq!((character("tab"), character("|")), (Ok(b'\t'), Ok(b'|')));
        assert!(character("||").is_err() && character("").is_err() && character("ü").is_err());
        assert_eq!((quote("none").unwrap().0, quote("'").unwrap().0), (None, Some(b'\'')));
    }

    #[test]
    fn ranges_of_ids_have_both_ends() {
        assert_eq!(id_range("0..1000"), Ok(0..1000));
        assert_eq!(id_range("-5..5"), Ok(-5..5));
        assert!(id_range("5").is_err() && id_range("5..4").is_err() && id_range("0..x").is_err());
    }
}
