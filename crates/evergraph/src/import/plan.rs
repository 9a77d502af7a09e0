//! Plan: which files there are, how each is read, and in which order.
//!
//! ```text
//! files, folders ──> candidates ──> a rule each: of the mapping file, or recognised ──> plan
//! ```
//!
//! A folder may have a mapping of its own in a file `import.toml`, as exports of edge lists have: it counts if
//! no other was named.
//!
//! Headers are looked at before anything is loaded, so that a typing error in the last file is told
//! first and not after an hour. What can be read once only (standard input, a pipe) is not looked at:
//! it is a list of edges unless its role is told.

use crate::import::csv_file::CsvFile;
use crate::import::edge_list_file::{ListFile, ListKind};
use crate::import::elements::element_graph::{ElementFile, ElementFormat};
use crate::import::mapping::document::Mapping;
use crate::import::mapping::propose::{Proposal, mapping_text};
use crate::import::mapping::rule::{FileFormat, FileRule};
use crate::import::options::{HeaderPlace, ImportOptions, InputFile, Role};
use crate::import::parquet::file::ParquetFile;
use crate::import::recognise::file::{KNOWN_ENDINGS, Recognised, recognise};
use crate::import::source::{display_name, is_standard_input, open_error};
use evergraph_graph::error::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The mapping that a folder has for its own files.
const FOLDER_MAPPING: &str = "import.toml";

/// What is to be read.
#[derive(Debug, Default)]
pub struct Plan {
    /// Lists of vertices, then of edges.
    pub lists: Vec<ListFile>,
    /// CSV files of vertices.
    pub nodes: Vec<CsvFile>,
    /// CSV files of edges.
    pub relationships: Vec<CsvFile>,
    /// Files of vertices and edges together.
    pub elements: Vec<ElementFile>,
    /// Parquet files, of vertices or of edges.
    pub parquet: Vec<ParquetFile>,
    /// Files in folders that nothing tells how to read.
    pub ignored_files: Vec<PathBuf>,
    /// Files of which something was guessed.
    pub guessed_files: Vec<PathBuf>,
    /// What the plan follows that nobody named: a sentence each.
    pub notes: Vec<String>,
    /// Bytes of all files, if each tells its size.
    pub bytes_total: Option<u64>,
}

/// A file that may be read.
struct Candidate {
    input: InputFile,
    /// Its path below the folder that was named; its name, if it was named itself.
    relative: String,
    is_in_folder: bool,
    /// `None` for a stream.
    bytes: Option<u64>,
}

impl Plan {
    /// Finds all files of `options`, and how each is read.
    ///
    /// # Errors
    /// `not_found` or `io` for a file that can't be opened; `invalid` for one of which nobody tells how
    /// it is read, or whose header is wrong.
    pub fn new(options: &ImportOptions) -> Result<Self> {
        let mut plan = Self { bytes_total: Some(0), ..Self::default() };
        match &options.mapping {
            Some(mapping) => plan.add_mapped(candidates(options)?, mapping, options)?,
            None => {
                let mut others = Vec::new();
                for input in &options.files {
                    let candidates = candidates_of(input, options)?;
                    match mapping_of(input)? {
                        Some(mapping) => plan.add_by_folder(candidates, &mapping, options)?,
                        None => others.extend(candidates),
                    }
                }
                plan.add_recognised(others, options)?;
            }
        }
        plan.lists.sort_by_key(|list| list.kind != ListKind::Vertices);
        Ok(plan)
    }

    fn add_mapped(
        &mut self,
        candidates: Vec<Candidate>,
        mapping: &Mapping,
        options: &ImportOptions,
    ) -> Result<()> {
        let mut used = vec![false; mapping.rules.len()];
        for candidate in candidates {
            match mapping.find(&candidate.relative) {
                Some(index) => {
                    used[index] = true;
                    self.add(candidate, mapping.rules[index].rule.clone(), options)?;
                }
                None if candidate.is_in_folder => self.ignored_files.push(candidate.input.path),
                None => {
                    return Err(Error::invalid(format!(
                        "{}: the mapping has no rule for {:?}",
                        display_name(&candidate.input.path),
                        candidate.relative
                    )));
                }
            }
        }
        mapping.check_used(&used)
    }

    /// Adds the files of a folder as its own `mapping` says.
    fn add_by_folder(
        &mut self,
        mut candidates: Vec<Candidate>,
        mapping: &Mapping,
        options: &ImportOptions,
    ) -> Result<()> {
        candidates.retain(|candidate| candidate.relative != FOLDER_MAPPING);
        self.notes.push(format!(
            "{}: read as its {FOLDER_MAPPING} says (--mapping FILE takes another one)",
            display_name(&mapping.folder)
        ));
        self.add_mapped(candidates, mapping, options)
    }

    fn add_recognised(&mut self, candidates: Vec<Candidate>, options: &ImportOptions) -> Result<()> {
        let found = recognise_all(&candidates, options)?;
        let in_folders = candidates.iter().any(|candidate| candidate.is_in_folder);
        for (candidate, found) in candidates.into_iter().zip(found) {
            let name = display_name(&candidate.input.path);
            match found {
                None if candidate.is_in_folder => self.ignored_files.push(candidate.input.path),
                None => {
                    return Err(Error::invalid(format!(
                        "{name}: its name doesn't tell what it holds ({KNOWN_ENDINGS}): state its role"
                    )));
                }
                Some(Recognised { problem: Some(problem), .. }) => {
                    return Err(Error::invalid(format!(
                        "{name}: {problem}; a mapping file can say how it is read, `evergraph import --propose` \
                         writes one to begin with"
                    )));
                }
                Some(Recognised { rule, notes, problem: None }) => {
                    if !notes.is_empty() {
                        self.guessed_files.push(candidate.input.path.clone());
                    }
                    self.add(candidate, rule, options)?;
                }
            }
        }
        if in_folders && self.is_empty() {
            let folders = options.files.iter().map(|file| display_name(&file.path));
            return Err(Error::invalid(format!(
                "{}: no file in this folder has a name that tells what it holds: {KNOWN_ENDINGS}",
                folders.collect::<Vec<_>>().join(", ")
            )));
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        let Self { lists, nodes, relationships, elements, parquet, .. } = self;
        let no_csv = nodes.is_empty() && relationships.is_empty();
        no_csv && lists.is_empty() && elements.is_empty() && parquet.is_empty()
    }

    fn add(&mut self, candidate: Candidate, rule: FileRule, options: &ImportOptions) -> Result<()> {
        let Candidate { input, bytes, .. } = candidate;
        if rule.format == FileFormat::Ignore {
            self.ignored_files.push(input.path);
            return Ok(());
        }
        self.bytes_total = self.bytes_total.zip(bytes).map(|(total, bytes)| total + bytes);
        let mut add_list = |kind| {
            self.lists.push(ListFile { path: input.path.clone(), kind, rule: rule.clone() });
            Ok(())
        };
        let mut add_elements = |format| {
            self.elements.push(ElementFile { path: input.path.clone(), format, rule: rule.clone() });
            Ok(())
        };
        match rule.format {
            FileFormat::VertexList => return add_list(ListKind::Vertices),
            FileFormat::EdgeList => return add_list(ListKind::Edges),
            FileFormat::Dimacs => return add_list(ListKind::Dimacs),
            FileFormat::MatrixMarket => return add_list(ListKind::MatrixMarket),
            FileFormat::GraphSon => return add_elements(ElementFormat::GraphSon),
            FileFormat::GraphMl => return add_elements(ElementFormat::GraphMl),
            FileFormat::Parquet => {
                let file = ParquetFile { path: input.path, rule };
                let found = file.open()?.role;
                check_role(&file.path, found, input.role)?;
                self.parquet.push(file);
                return Ok(());
            }
            FileFormat::Csv | FileFormat::Ignore => {}
        }
        let is_stream = bytes.is_none();
        let file = CsvFile { path: input.path, rule };
        // A stream is opened once: what it holds has to be believed.
        let found = match (is_stream, input.role.map(csv_role)) {
            (true, Some(role)) => role,
            (true, None) if file.rule.edge_type.is_some() || file.rule.start.is_some() => Role::Relationships,
            (true, None) => Role::Nodes,
            (false, _) => file.open(options)?.header.role,
        };
        check_role(&file.path, found, input.role)?;
        if found == Role::Nodes {
            self.nodes.push(file)
        } else {
            self.relationships.push(file)
        }
        Ok(())
    }
}

/// The mapping file that says how the files of `options` are read as far as it shows: importing them
/// with it is importing them without.
///
/// # Errors
/// As [`Plan::new`], but for files of which it doesn't show: there the text says so.
pub fn propose(options: &ImportOptions) -> Result<String> {
    let candidates = candidates(options)?;
    let found = recognise_all(&candidates, options)?;
    let mut proposals = Vec::new();
    let mut strangers = Vec::new();
    for (candidate, found) in candidates.into_iter().zip(found) {
        match found {
            Some(Recognised { rule, mut notes, problem }) => {
                notes.extend(problem.map(|problem| format!("TO BE COMPLETED: {problem}")));
                proposals.push(Proposal { path: candidate.relative, rule, notes });
            }
            None => strangers.push(candidate.relative),
        }
    }
    if proposals.is_empty() {
        return Err(Error::invalid(format!(
            "nothing to propose: no file has a name that tells what it holds: {KNOWN_ENDINGS}"
        )));
    }
    Ok(mapping_text(&proposals, &strangers))
}

fn recognise_all(candidates: &[Candidate], options: &ImportOptions) -> Result<Vec<Option<Recognised>>> {
    let inputs: Vec<(InputFile, bool)> =
        candidates.iter().map(|candidate| (candidate.input.clone(), candidate.bytes.is_none())).collect();
    recognise(&inputs, options)
}

/// All files of `options`, those of a folder by their paths.
fn candidates(options: &ImportOptions) -> Result<Vec<Candidate>> {
    let of_each = options.files.iter().map(|input| candidates_of(input, options));
    Ok(of_each.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// The file `input`, or all in the folder that it is.
fn candidates_of(input: &InputFile, options: &ImportOptions) -> Result<Vec<Candidate>> {
    let relative = input.path.file_name().unwrap_or(input.path.as_os_str()).to_string_lossy().into_owned();
    let alone = |bytes| vec![Candidate { input: input.clone(), relative, is_in_folder: false, bytes }];
    if is_standard_input(&input.path) {
        return Ok(alone(None));
    }
    let metadata = fs::metadata(&input.path).map_err(|error| open_error(&input.path, error))?;
    if metadata.is_dir() {
        return in_folder(input, options);
    }
    check_report(&input.path, options)?;
    Ok(alone(metadata.is_file().then_some(metadata.len())))
}

/// The mapping that the folder `input` has for its own files, if it is a folder that has one.
///
/// # Errors
/// As [`Mapping::read`]; `invalid` if `input` says something of the files as well.
fn mapping_of(input: &InputFile) -> Result<Option<Mapping>> {
    let path = input.path.join(FOLDER_MAPPING);
    if is_standard_input(&input.path) || !path.is_file() {
        return Ok(None);
    }
    let InputFile { role, label, edge_type, header, .. } = input;
    let is_told = role.is_some() || label.is_some() || edge_type.is_some();
    if is_told || *header != HeaderPlace::FirstLine {
        return Err(Error::invalid(format!(
            "{}: says how the files beside it are read, and so does what was told of the folder (a header, a \
             role, a name): name the files themselves, or tell nothing",
            display_name(&path)
        )));
    }
    Mapping::read(&path).map(Some)
}

fn in_folder(folder: &InputFile, options: &ImportOptions) -> Result<Vec<Candidate>> {
    let mut found = Vec::new();
    walk(&folder.path, &mut found)?;
    found.sort();
    let mut candidates = Vec::with_capacity(found.len());
    for path in found {
        // The report of an import before is no input of this one.
        if is_report(&path, options) {
            continue;
        }
        let metadata = fs::metadata(&path).map_err(|error| open_error(&path, error))?;
        let relative = path.strip_prefix(&folder.path).unwrap_or(&path);
        let names: Vec<_> = relative.components().map(|name| name.as_os_str().to_string_lossy()).collect();
        candidates.push(Candidate {
            relative: names.join("/"),
            is_in_folder: true,
            bytes: metadata.is_file().then_some(metadata.len()),
            input: InputFile { path, ..folder.clone() },
        });
    }
    Ok(candidates)
}

fn is_report(path: &Path, options: &ImportOptions) -> bool {
    options.bad_rows_report.as_ref().is_some_and(|report| {
        let files = (fs::canonicalize(report), fs::canonicalize(path));
        matches!(files, (Ok(report), Ok(file)) if report == file)
    })
}

fn check_report(path: &Path, options: &ImportOptions) -> Result<()> {
    if is_report(path, options) {
        return Err(Error::invalid(format!(
            "{}: is to be read, and overwritten by the report of bad rows: name another report",
            path.display()
        )));
    }
    Ok(())
}

/// The role that `role` is of a file with columns.
fn csv_role(role: Role) -> Role {
    if role == Role::Edges { Role::Relationships } else { role }
}

/// Complains if somebody told another role than the columns show.
fn check_role(path: &Path, found: Role, told: Option<Role>) -> Result<()> {
    match told.map(csv_role).filter(|told| *told != found) {
        None => Ok(()),
        Some(told) => Err(Error::invalid(format!(
            "{}: the header is that of {}, not of {}",
            path.display(),
            role_name(found),
            role_name(told)
        ))),
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::EdgeList => "a list of edges",
        Role::VertexList => "a list of vertices",
        Role::Nodes => "vertices",
        Role::Relationships | Role::Edges => "edges",
        Role::GraphSon => "GraphSON",
        Role::GraphMl => "GraphML",
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
