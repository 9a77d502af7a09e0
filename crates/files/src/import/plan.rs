//! Plan: the files of an import, how each is read, and in which order.
//!
//! ```text
//! files, folders ──> candidates ──> a rule each: of the mapping file, or recognised ──> plan
//! ```
//!
//! A folder may have a mapping of its own in a file `import.toml`, as exports of edge lists have: it counts if
//! no other was named.
//!
//! Headers are looked at before anything is loaded, so that a typing error in the last file is told
//! first and not after an hour. Of what can be read once only (standard input, a pipe) the beginning is kept
//! for that.

use crate::import::bytes::input::Input;
use crate::import::bytes::source::{display_name, is_standard_input, open_error};
use crate::import::csv::file::CsvFile;
use crate::import::elements::element_file::{ElementFile, ElementFormat};
use crate::import::existing_graph::ExistingGraph;
use crate::import::file_name::stem_and_ending;
use crate::import::list::file::{ListFile, ListKind};
use crate::import::mapping::document::Mapping;
use crate::import::mapping::propose::{Proposal, mapping_text};
use crate::import::mapping::rule::{FileFormat, FileRule};
use crate::import::options::{HeaderPlace, ImportOptions, InputFile};
use crate::import::parquet::file::{ParquetFile, refuse_stream};
use crate::import::recognise::cross_file::RecognisedFile;
use crate::import::recognise::file::{KNOWN_ENDINGS, UnrecognisedFile, recognise};
use crate::import::role::Role;
use evergraph_graph::error::{Error, Result};
use evergraph_storage::checkpoint::manifest;
use evergraph_storage::unfinished_directory::LOCK_NAME;
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
    /// Files about which something was guessed.
    pub guessed_files: Vec<PathBuf>,
    /// What the plan follows that nobody named, and what one may want to say of files: a sentence each.
    pub notes: Vec<String>,
    /// Bytes of all files, if each tells its size.
    pub bytes_total: Option<u64>,
}

/// A file that may be read.
struct Candidate {
    file: InputFile,
    input: Input,
    /// Its path below the folder that was named; its name, if it was named itself.
    relative: String,
    is_in_folder: bool,
    /// `None` for a stream.
    bytes: Option<u64>,
}

impl Plan {
    /// Finds all files of `options`, and how each is read into a database that has `known`.
    ///
    /// # Errors
    /// `not_found` or `io` for a file that can't be opened; `invalid` for one of which nobody tells how
    /// it is read, that is named twice, or whose header is wrong, and if there is none.
    pub fn new(options: &ImportOptions, known: &ExistingGraph) -> Result<Self> {
        refuse_repeated(&options.files)?;
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
                plan.add_recognised(others, options, known)?;
                plan.check_not_empty(options)?;
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
        mapping.expect_files()?;
        let mut used = vec![false; mapping.rules.len()];
        for candidate in candidates {
            match mapping.find(&candidate.relative) {
                Some(index) => {
                    used[index] = true;
                    self.add(candidate, mapping.rules[index].rule.clone(), options)?;
                }
                None if candidate.is_in_folder => self.ignored_files.push(candidate.file.path),
                None => {
                    return Err(Error::invalid(format!(
                        "{}: the mapping has no rule for {:?}",
                        candidate.input.name(),
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
        candidates: Vec<Candidate>,
        mapping: &Mapping,
        options: &ImportOptions,
    ) -> Result<()> {
        self.notes.push(format!(
            "{}: read as its {FOLDER_MAPPING} says (--mapping FILE takes another one)",
            display_name(&mapping.folder)
        ));
        self.add_mapped(candidates, mapping, options)
    }

    fn add_recognised(
        &mut self,
        candidates: Vec<Candidate>,
        options: &ImportOptions,
        known: &ExistingGraph,
    ) -> Result<()> {
        let found = recognise_all(&candidates, options, known)?;
        for (candidate, found) in candidates.into_iter().zip(found) {
            let name = candidate.input.name();
            match found {
                None if candidate.is_in_folder => self.ignored_files.push(candidate.file.path),
                None => return Err(stranger(&candidate)),
                Some(RecognisedFile { problem: Some(problem), .. }) => {
                    return Err(Error::invalid(format!(
                        "{name}: {problem}; a mapping file can say how it is read, `evergraph import --propose` \
                         writes one to begin with"
                    )));
                }
                Some(RecognisedFile { rule, notes, advice, problem: None }) => {
                    if !notes.is_empty() {
                        self.guessed_files.push(candidate.file.path.clone());
                        self.notes.push(format!("{name}: {}", notes.join("; ")));
                    }
                    self.notes.extend(advice.map(|advice| format!("{name}: {advice}")));
                    self.add(candidate, rule, options)?;
                }
            }
        }
        Ok(())
    }

    /// Complains if the folders of `options` hold nothing.
    fn check_not_empty(&self, options: &ImportOptions) -> Result<()> {
        let Self { lists, nodes, relationships, elements, parquet, .. } = self;
        let no_csv = nodes.is_empty() && relationships.is_empty();
        if !no_csv || !lists.is_empty() || !elements.is_empty() || !parquet.is_empty() {
            return Ok(());
        }
        let folders = options.files.iter().map(|file| display_name(&file.path));
        let what = if self.ignored_files.is_empty() {
            "there is no file in it"
        } else if !options.formats.is_empty() {
            "no file in it is of a format that is read here"
        } else {
            "no file in it has a name that tells what it holds"
        };
        let folders = folders.collect::<Vec<_>>().join(", ");
        Err(Error::invalid(format!("{folders}: {what}: {KNOWN_ENDINGS}")))
    }

    fn add(&mut self, candidate: Candidate, rule: FileRule, options: &ImportOptions) -> Result<()> {
        let Candidate { file: InputFile { path, role, .. }, input, bytes, is_in_folder, .. } = candidate;
        let is_asked_for = options.formats.is_empty() || options.formats.contains(&rule.format);
        if rule.format == FileFormat::Ignore || is_in_folder && !is_asked_for {
            self.ignored_files.push(path);
            return Ok(());
        }
        if !is_asked_for {
            let asked: Vec<&str> = options.formats.iter().map(|format| format.name()).collect();
            return Err(Error::invalid(format!(
                "{}: its format is {}, and what is read here is {}: import it by what reads that, or all formats",
                input.name(),
                rule.format.name(),
                asked.join(", ")
            )));
        }
        self.bytes_total = self.bytes_total.zip(bytes).map(|(total, bytes)| total + bytes);
        let mut add_list = |kind| {
            self.lists.push(ListFile { input: input.clone(), kind, rule: rule.clone() });
            Ok(())
        };
        let mut add_elements = |format| {
            self.elements.push(ElementFile { input: input.clone(), format, rule: rule.clone() });
            Ok(())
        };
        match rule.format {
            FileFormat::VertexList => return add_list(ListKind::Vertices),
            FileFormat::EdgeList => return add_list(ListKind::Edges),
            FileFormat::Dimacs => return add_list(ListKind::Dimacs),
            FileFormat::MatrixMarket => return add_list(ListKind::MatrixMarket),
            FileFormat::GraphSon => return add_elements(ElementFormat::GraphSon),
            FileFormat::GraphMl => return add_elements(ElementFormat::GraphMl),
            FileFormat::Gexf => return add_elements(ElementFormat::Gexf),
            FileFormat::Gml => return add_elements(ElementFormat::Gml),
            FileFormat::Pajek => return add_elements(ElementFormat::Pajek),
            FileFormat::NodeLink => return add_elements(ElementFormat::NodeLink),
            FileFormat::Parquet => {
                refuse_stream(&input)?;
                let file = ParquetFile { path, rule };
                let found = file.open()?.role;
                check_role(&file.path, found, role)?;
                self.parquet.push(file);
                return Ok(());
            }
            FileFormat::Csv | FileFormat::Ignore => {}
        }
        let file = CsvFile { input, rule };
        let found = file.look(options)?;
        check_role(&path, found, role)?;
        if found == Role::Nodes {
            self.nodes.push(file)
        } else {
            self.relationships.push(file)
        }
        Ok(())
    }
}

/// The mapping file that says how the files of `options` are read into a database that has `known`, as far as
/// it shows: importing them with it is importing them without.
///
/// # Errors
/// As [`Plan::new`], but for files of which it doesn't show: there the text says so.
pub fn propose(options: &ImportOptions, known: &ExistingGraph) -> Result<String> {
    refuse_repeated(&options.files)?;
    let candidates = candidates(options)?;
    let found = recognise_all(&candidates, options, known)?;
    let mut proposals = Vec::new();
    let mut strangers = Vec::new();
    for (candidate, found) in candidates.into_iter().zip(found) {
        match found {
            Some(RecognisedFile { rule, mut notes, advice, problem }) => {
                notes.extend(advice);
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

fn recognise_all(
    candidates: &[Candidate],
    options: &ImportOptions,
    known: &ExistingGraph,
) -> Result<Vec<Option<RecognisedFile>>> {
    let files = candidates.iter().map(|Candidate { file, input, is_in_folder, .. }| UnrecognisedFile {
        file: file.clone(),
        input: input.clone(),
        is_in_folder: *is_in_folder,
    });
    recognise(&files.collect::<Vec<_>>(), options, known)
}

/// What to do about a named file whose content is not recognised.
fn stranger(candidate: &Candidate) -> Error {
    let name = candidate.input.name();
    let (_, ending) = stem_and_ending(&candidate.file.path);
    Error::invalid(match ending.as_str() {
        _ if candidate.bytes == Some(0) => format!("{name}: is empty"),
        "json" | "cyjs" => format!(
            "{name}: it doesn't begin with a vertex of GraphSON, nor with {{\"vertices\": [, and has no \"nodes\", \
             \"links\", \"edges\" or \"elements\" in its beginning; if it is GraphSON all the same, say --graphson \
             {name}; if it is a graph of nodes and links, a mapping file can say so (format = \"node-link\")"
        ),
        "xml" => format!(
            "{name}: there is no <graphml> or <gexf> in its beginning; if it is GraphML all the same, say --graphml \
             {name}"
        ),
        "gml" => format!(
            "{name}: there is no `graph [` in its beginning, as GML has it, the Graph Modelling Language (that of \
             geography holds no graph); if it is one all the same, a mapping file can say so (format = \"gml\")"
        ),
        "net" | "paj" => format!(
            "{name}: there is no line *Vertices in its beginning, as a network of Pajek has one; if it is one all the \
             same, a mapping file can say so (format = \"pajek\")"
        ),
        "txt" | "dat" | "data" => format!(
            "{name}: its lines are neither pairs of numbers nor of one width, so it is no list of edges and no table; if \
             it is one all the same, --delimiter CHARACTER says what stands between its fields"
        ),
        _ => format!(
            "{name}: its name doesn't tell what it holds ({KNOWN_ENDINGS}); say it by --nodes LABEL=FILE, --edges \
             TYPE=FILE, --vertex-list FILE, --graphson FILE or --graphml FILE"
        ),
    })
}

/// Complains about a file that is named twice, itself or by its folder: what it holds would be there twice.
fn refuse_repeated(files: &[InputFile]) -> Result<()> {
    let whole = |file: &InputFile| fs::canonicalize(&file.path).unwrap_or_else(|_| file.path.clone());
    let paths: Vec<PathBuf> = files.iter().map(whole).collect();
    for (at, path) in paths.iter().enumerate() {
        let name = display_name(&files[at].path);
        if paths[..at].contains(path) {
            return Err(Error::invalid(format!("{name}: is named twice")));
        }
        let folder = paths.iter().position(|other| other != path && path.starts_with(other));
        if let Some(folder) = folder {
            let folder = display_name(&files[folder].path);
            return Err(Error::invalid(format!("{name}: is in {folder}, which is named as well")));
        }
    }
    Ok(())
}

/// All files of `options`, those of a folder by their paths.
fn candidates(options: &ImportOptions) -> Result<Vec<Candidate>> {
    let of_each = options.files.iter().map(|input| candidates_of(input, options));
    Ok(of_each.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// The file `file`, or all in the folder that it is.
fn candidates_of(file: &InputFile, options: &ImportOptions) -> Result<Vec<Candidate>> {
    let is_standard_input = is_standard_input(&file.path);
    if !is_standard_input && file.path.is_dir() {
        return in_folder(file, options);
    }
    let input = Input::new(&file.path)?;
    if !is_standard_input {
        check_report(&file.path, options)?;
    }
    let relative = file.path.file_name().unwrap_or(file.path.as_os_str()).to_string_lossy().into_owned();
    let bytes = input.bytes()?;
    Ok(vec![Candidate { file: file.clone(), input, relative, is_in_folder: false, bytes }])
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
    if is_database(&folder.path) {
        return Err(Error::invalid(format!(
            "{}: is a database, and no folder of files: `evergraph export` makes files of it",
            folder.path.display()
        )));
    }
    let mut found = Vec::new();
    walk(&folder.path, &mut found)?;
    found.sort();
    let mut candidates = Vec::with_capacity(found.len());
    for path in found {
        let relative = path.strip_prefix(&folder.path).unwrap_or(&path);
        let is_mapping = relative == Path::new(FOLDER_MAPPING)
            || options
                .mapping
                .as_ref()
                .and_then(|mapping| mapping.file.as_ref())
                .is_some_and(|file| is_same(file, &path));
        // Nor is the report of an import before an input of this one.
        if is_mapping || is_report(&path, options) {
            continue;
        }
        let names: Vec<_> = relative.components().map(|name| name.as_os_str().to_string_lossy()).collect();
        let (relative, input) = (names.join("/"), Input::new(&path)?);
        let bytes = input.bytes()?;
        let file = InputFile { path, ..folder.clone() };
        candidates.push(Candidate { file, input, relative, is_in_folder: true, bytes });
    }
    Ok(candidates)
}

fn is_report(path: &Path, options: &ImportOptions) -> bool {
    options.bad_rows.report.as_ref().is_some_and(|report| is_same(report, path))
}

fn is_same(one: &Path, other: &Path) -> bool {
    let files = (fs::canonicalize(one), fs::canonicalize(other));
    matches!(files, (Ok(one), Ok(other)) if one == other)
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

/// Returns an error if the stated role differs from that of the columns.
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

/// Whether `folder` is a database.
#[must_use]
pub fn is_database(folder: &Path) -> bool {
    folder.join(manifest::FILE_NAME).is_file() && folder.join(LOCK_NAME).is_file()
}

/// Files below `folder`; hidden ones and those of databases are left out.
fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).map_err(|error| open_error(folder, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| open_error(folder, error))?;
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if entry.file_type().map_err(|error| open_error(&path, error))?.is_dir() {
            if !is_database(&path) {
                walk(&path, found)?;
            }
        } else {
            found.push(path);
        }
    }
    Ok(())
}
