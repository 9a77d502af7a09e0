//! Plan: which files there are, what each holds, and in which order they are read.
//!
//! | name | holds |
//! |---|---|
//! | `.v` | a list of vertices |
//! | `.e`, `.edges`, `.el`, `.txt` | a list of edges |
//! | `.csv`, `.tsv` | what the header says: `:ID` vertices, `:START_ID` and `:END_ID` edges; LDBC's names; or a list of edges, if the first line begins with two whole numbers |
//!
//! Each may end in `.gz`, `.zst` or `.zstd` too. Headers are looked at before anything is loaded, so that a typing error
//! in the last file is told first and not after an hour. What can be read once only (standard input,
//! a pipe) is not looked at: it is a list of edges unless its role is told.

use crate::import::csv_records::{CsvFormat, CsvRecords};
use crate::import::header::Header;
use crate::import::integer::parse_i64;
use crate::import::layout;
use crate::import::options::{HeaderPlace, ImportOptions, InputFile, Role};
use crate::import::source::{Source, is_standard_input, open_error, unpacked_name};
use evergraph_graph::error::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// What is to be read.
#[derive(Debug, Default)]
pub struct Plan {
    /// Lists of vertices.
    pub vertex_lists: Vec<PathBuf>,
    /// Lists of edges, and their type if the option's isn't meant.
    pub edge_lists: Vec<(PathBuf, Option<String>)>,
    /// CSV files of vertices.
    pub nodes: Vec<CsvFile>,
    /// CSV files of edges.
    pub relationships: Vec<CsvFile>,
    /// Files in folders whose names don't tell what they hold.
    pub ignored_files: Vec<PathBuf>,
    /// Bytes of all files, if each tells its size.
    pub bytes_total: Option<u64>,
}

/// A CSV file and how to read it.
#[derive(Debug)]
pub struct CsvFile {
    /// Where it is.
    pub path: PathBuf,
    /// How it is split into fields.
    pub format: CsvFormat,
    /// Where its header is.
    pub header: HeaderPlace,
    /// The label or type of its rows, if no column tells them.
    pub name: Option<String>,
}

impl Plan {
    /// Finds all files of `options`, and what they hold.
    ///
    /// # Errors
    /// `not_found` or `io` for a file that can't be opened; `invalid` for one whose content nobody
    /// tells, or whose header is wrong.
    pub fn new(options: &ImportOptions) -> Result<Self> {
        let mut plan = Self { bytes_total: Some(0), ..Self::default() };
        for input in &options.files {
            let metadata = if is_standard_input(&input.path) {
                None
            } else {
                Some(fs::metadata(&input.path).map_err(|error| open_error(&input.path, error))?)
            };
            match metadata {
                Some(metadata) if metadata.is_dir() => plan.add_folder(input, options)?,
                Some(metadata) if metadata.is_file() => {
                    plan.add_file(input.clone(), metadata.len(), options)?
                }
                _ => plan.add_stream(input, options)?,
            }
        }
        Ok(plan)
    }

    fn add_folder(&mut self, folder: &InputFile, options: &ImportOptions) -> Result<()> {
        let mut found = Vec::new();
        walk(&folder.path, &mut found)?;
        found.sort();
        let before = self.files_count();
        let report = options.bad_rows_report.as_deref().and_then(|report| fs::canonicalize(report).ok());
        for path in found {
            // The report of an import before is no input of this one.
            if report.is_some() && fs::canonicalize(&path).ok() == report {
                continue;
            }
            if folder.role.is_none() && role_by_name(&path).is_none() {
                self.ignored_files.push(path);
                continue;
            }
            let metadata = fs::metadata(&path).map_err(|error| open_error(&path, error))?;
            self.add_file(InputFile { path, ..folder.clone() }, metadata.len(), options)?;
        }
        if self.files_count() == before {
            return Err(Error::invalid(format!(
                "{}: no file in this folder has a name that tells what it holds: {KNOWN_ENDINGS}",
                folder.path.display()
            )));
        }
        Ok(())
    }

    fn add_file(&mut self, input: InputFile, bytes: u64, options: &ImportOptions) -> Result<()> {
        if let Some(report) = &options.bad_rows_report
            && let (Ok(report_file), Ok(file)) = (fs::canonicalize(report), fs::canonicalize(&input.path))
            && report_file == file
        {
            return Err(Error::invalid(format!(
                "{}: is to be read, and overwritten by the report of bad rows: name another report",
                report.display()
            )));
        }
        self.bytes_total = self.bytes_total.map(|total| total + bytes);
        let Some(guess) = input.role.map(Guess::Is).or_else(|| role_by_name(&input.path)) else {
            return Err(Error::invalid(format!(
                "{}: its name doesn't tell what it holds ({KNOWN_ENDINGS}): state its role",
                input.path.display()
            )));
        };
        match guess {
            Guess::Is(Role::EdgeList) => self.edge_lists.push((input.path, input.name)),
            Guess::Is(Role::VertexList) => self.vertex_lists.push(input.path),
            Guess::Is(role) => {
                let file = csv_file(input, options);
                let found = file.open(options)?.1.role;
                if found != role {
                    return Err(Error::invalid(format!(
                        "{}: the header is that of {}, not of {}",
                        file.path.display(),
                        role_name(found),
                        role_name(role)
                    )));
                }
                self.add_csv(file, role);
            }
            Guess::Csv => self.add_unknown_csv(input, options)?,
        }
        Ok(())
    }

    fn add_unknown_csv(&mut self, input: InputFile, options: &ImportOptions) -> Result<()> {
        let mut file = csv_file(input, options);
        if file.header == HeaderPlace::FirstLine {
            let ldbc = CsvFormat { delimiter: b'|', quote: None };
            let first_line =
                CsvRecords::new(Source::open(&file.path)?, ldbc).read_header()?.unwrap_or_default();
            if let Some(ldbc_file) = layout::recognise(&file.path, &first_line.join("|")) {
                file.format = ldbc;
                file.header = HeaderPlace::Replaced(ldbc_file.header);
                file.name = file.name.or(Some(ldbc_file.name));
            } else if is_edge(&CsvRecords::new(Source::open(&file.path)?, file.format).read_header()?) {
                self.edge_lists.push((file.path, file.name));
                return Ok(());
            }
        }
        let role = file.open(options)?.1.role;
        file.name = file.name.or_else(|| Some(stem(&file.path)));
        self.add_csv(file, role);
        Ok(())
    }

    fn add_stream(&mut self, input: &InputFile, options: &ImportOptions) -> Result<()> {
        self.bytes_total = None;
        match input.role {
            None | Some(Role::EdgeList) => self.edge_lists.push((input.path.clone(), input.name.clone())),
            Some(Role::VertexList) => self.vertex_lists.push(input.path.clone()),
            Some(role) => self.add_csv(csv_file(input.clone(), options), role),
        }
        Ok(())
    }

    fn add_csv(&mut self, file: CsvFile, role: Role) {
        match role {
            Role::Nodes => self.nodes.push(file),
            _ => self.relationships.push(file),
        }
    }

    fn files_count(&self) -> usize {
        self.vertex_lists.len() + self.edge_lists.len() + self.nodes.len() + self.relationships.len()
    }
}

impl CsvFile {
    /// Opens the file, with its header read.
    ///
    /// # Errors
    /// As reading; `invalid` if the header is missing or malformed.
    pub fn open(&self, options: &ImportOptions) -> Result<(CsvRecords, Header)> {
        let mut records = CsvRecords::new(Source::open(&self.path)?, self.format);
        let name = records.name().to_owned();
        let fields = match &self.header {
            HeaderPlace::FirstLine => records.read_header()?.ok_or_else(|| {
                Error::invalid(format!("{name}: is empty: a header is wanted, such as id:ID,name,born:int"))
            })?,
            HeaderPlace::Given(text) => self.format.split(text)?,
            HeaderPlace::Replaced(text) => {
                let replaced = records.read_header()?.map_or(0, |fields| fields.len());
                let fields = self.format.split(text)?;
                if replaced != 0 && replaced != fields.len() {
                    return Err(Error::invalid(format!(
                        "{name}: its first line has {replaced} columns, the header that replaces it has {}",
                        fields.len()
                    )));
                }
                fields
            }
        };
        let header = Header::parse(&name, &fields, options.array_delimiter)?;
        Ok((records, header))
    }
}

const KNOWN_ENDINGS: &str = "known are .csv .tsv .v .e .edges .el .txt, each also with .gz or .zst";

enum Guess {
    Is(Role),
    /// The header tells.
    Csv,
}

fn role_by_name(path: &Path) -> Option<Guess> {
    let name = path.file_name()?.to_str()?;
    let (_, ending) = unpacked_name(name).rsplit_once('.')?;
    match ending.to_ascii_lowercase().as_str() {
        "v" => Some(Guess::Is(Role::VertexList)),
        "e" | "edges" | "el" | "txt" => Some(Guess::Is(Role::EdgeList)),
        "csv" | "tsv" => Some(Guess::Csv),
        _ => None,
    }
}

fn csv_file(input: InputFile, options: &ImportOptions) -> CsvFile {
    let is_tsv = stem_and_ending(&input.path).1 == "tsv";
    let delimiter = options.delimiter.unwrap_or(if is_tsv { b'\t' } else { b',' });
    CsvFile {
        format: CsvFormat { delimiter, quote: options.quote },
        path: input.path,
        header: input.header,
        name: input.name,
    }
}

/// The file's name without its endings, and the ending before `.gz`.
fn stem_and_ending(path: &Path) -> (String, String) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = unpacked_name(&name);
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    (stem.to_owned(), ending.to_ascii_lowercase())
}

fn stem(path: &Path) -> String {
    stem_and_ending(path).0
}

fn is_edge(first_line: &Option<Vec<String>>) -> bool {
    let Some([source, target, ..]) = first_line.as_deref() else { return false };
    [source, target].iter().all(|field| parse_i64(field.trim().as_bytes()).is_ok())
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::EdgeList => "a list of edges",
        Role::VertexList => "a list of vertices",
        Role::Nodes => "vertices",
        Role::Relationships => "edges",
    }
}

/// Files below `folder`, hidden ones left out.
fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).map_err(|error| open_error(folder, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| open_error(folder, error))?;
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if entry.file_type().map_err(|error| open_error(&path, error))?.is_dir() {
            walk(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}
