//! File: what each file of an import is, one after the other, and then those that need the others.

use crate::import::csv_records::{CsvFormat, CsvRecords};
use crate::import::integer::parse_i64;
use crate::import::mapping::rule::{FileFormat, FileRule};
use crate::import::options::{HeaderPlace, ImportOptions, InputFile, Role};
use crate::import::parquet::file::look_at_start;
use crate::import::recognise::elements::{looks_like_graphml, looks_like_graphson};
use crate::import::recognise::ldbc;
use crate::import::recognise::plain::{KnownLabel, PlainCsv, Settled};
use crate::import::recognise::sample::{Sample, detect_delimiter, detect_in};
use crate::import::source::{Source, display_name, unpacked_name};
use evergraph_graph::error::{Error, Result};
use std::path::Path;

/// The endings that tell what a file holds.
pub const KNOWN_ENDINGS: &str = "known are .csv .tsv .v .e .edges .el .txt .gr .mtx .json .graphson .xml .graphml, each also with .gz or .zst, and \
     .parquet";

/// Rows of a Parquet file that are looked at.
const PARQUET_ROWS: usize = 4096;

/// What a file was found to be.
#[derive(Debug)]
pub struct Recognised {
    /// How it is read.
    pub rule: FileRule,
    /// What was guessed.
    pub notes: Vec<String>,
    /// Why it can't be read by that.
    pub problem: Option<String>,
}

/// What one look at a file shows.
enum Look {
    /// It tells everything; its vertices' label as well, if it has some.
    Rule(FileRule, Option<KnownLabel>),
    /// It has to be settled beside the others; what is known is how it is split into fields.
    Plain(PlainCsv, FileRule),
    /// Its name tells nothing.
    Stranger,
}

/// Finds out what `files` are, in their order; `None` for those whose names don't tell. Those with true
/// beside them are streams, which can be read once only, and aren't looked at.
///
/// # Errors
/// As reading; `invalid` for a CSV file that is empty, or whose header is not UTF-8.
pub fn recognise(files: &[(InputFile, bool)], options: &ImportOptions) -> Result<Vec<Option<Recognised>>> {
    let mut looks = Vec::with_capacity(files.len());
    for (file, is_stream) in files {
        let look =
            if *is_stream { Look::Rule(stream_rule(file, options)?, None) } else { look(file, options)? };
        looks.push(look);
    }
    let labels: Vec<KnownLabel> = looks
        .iter()
        .filter_map(|look| match look {
            Look::Rule(_, label) => label.clone(),
            Look::Plain(plain, _) => plain.obvious_label(),
            Look::Stranger => None,
        })
        .collect();
    let settle = |(look, (file, _)): (Look, &(InputFile, bool))| match look {
        Look::Stranger => None,
        Look::Rule(rule, _) => Some(Recognised { rule: named(rule, file), notes: Vec::new(), problem: None }),
        Look::Plain(plain, dialect) => {
            let Settled { rule, notes, problem } = plain.settle(&labels);
            let FileRule { format, delimiter, quote, .. } = dialect;
            let mut rule = FileRule { format, delimiter, quote, ..rule };
            if format == FileFormat::Parquet {
                // Its schema states them.
                (rule.header, rule.columns) = (true, None);
                rule.types.clear();
                [&mut rule.id, &mut rule.start, &mut rule.end]
                    .into_iter()
                    .flatten()
                    .for_each(|end| end.id_type = None);
            }
            Some(Recognised { rule: named(rule, file), notes, problem })
        }
    };
    Ok(looks.into_iter().zip(files).map(settle).collect())
}

/// The file's name without its endings.
#[must_use]
pub fn stem(path: &Path) -> String {
    stem_and_ending(path).0
}

/// The file's name without its endings, and the ending before that of a packer, in small letters.
#[must_use]
pub fn stem_and_ending(path: &Path) -> (String, String) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (stem, ending) = unpacked_name(&name).rsplit_once('.').unwrap_or((unpacked_name(&name), ""));
    (stem.to_owned(), ending.to_ascii_lowercase())
}

/// `rule` with the names that somebody gave the file's label or type.
fn named(rule: FileRule, file: &InputFile) -> FileRule {
    let FileRule { label, edge_type, id, .. } = rule;
    // Where the label is the space as well, edges may be waiting for it.
    let id = id.map(|mut id| {
        if file.label.is_some() && id.space.is_none() {
            id.space.clone_from(&label);
        }
        id
    });
    let has_columns = matches!(rule.format, FileFormat::Csv | FileFormat::Parquet);
    let has_edges = edge_type.is_some() || !has_columns;
    let has_vertices = label.is_some() || !has_columns;
    FileRule {
        label: file.label.clone().filter(|_| has_vertices).or(label),
        edge_type: file.edge_type.clone().filter(|_| has_edges).or(edge_type),
        id,
        ..rule
    }
}

fn stream_rule(file: &InputFile, options: &ImportOptions) -> Result<FileRule> {
    Ok(match file.role {
        None | Some(Role::EdgeList | Role::Edges) => FileRule::new(FileFormat::EdgeList),
        Some(Role::VertexList) => FileRule::new(FileFormat::VertexList),
        Some(Role::GraphSon) => FileRule::new(FileFormat::GraphSon),
        Some(Role::GraphMl) => FileRule::new(FileFormat::GraphMl),
        Some(Role::Nodes | Role::Relationships) => with_header(csv_rule(file), file, options)?,
    })
}

/// The rule of a CSV file of which nothing is known but its name.
fn csv_rule(file: &InputFile) -> FileRule {
    let (stem, ending) = stem_and_ending(&file.path);
    let delimiter = (ending == "tsv").then_some(b'\t');
    let name = |is_it: fn(Role) -> bool| file.role.is_none_or(is_it).then(|| stem.clone());
    FileRule {
        label: name(|role| role == Role::Nodes),
        edge_type: name(|role| role != Role::Nodes),
        delimiter,
        ..FileRule::new(FileFormat::Csv)
    }
}

/// `rule` with the header that somebody gave the file.
fn with_header(rule: FileRule, file: &InputFile, options: &ImportOptions) -> Result<FileRule> {
    let (text, header) = match &file.header {
        HeaderPlace::FirstLine => return Ok(rule),
        HeaderPlace::Replaced(text) => (text, true),
        HeaderPlace::Given(text) => (text, false),
    };
    let delimiter = rule.delimiter.or(options.delimiter).unwrap_or_else(|| detect_delimiter(text.as_bytes()));
    let columns = CsvFormat { delimiter, quote: options.quote, escape: options.escape }.split(text)?;
    Ok(FileRule { header, columns: Some(columns), delimiter: Some(delimiter), ..rule })
}

fn look(file: &InputFile, options: &ImportOptions) -> Result<Look> {
    let list = |format| Ok(Look::Rule(FileRule::new(format), None));
    let (_, ending) = stem_and_ending(&file.path);
    match (file.role, ending.as_str()) {
        (Some(Role::VertexList), _) | (None, "v") => list(FileFormat::VertexList),
        (None | Some(Role::Edges | Role::EdgeList), "gr") => list(FileFormat::Dimacs),
        (None | Some(Role::Edges | Role::EdgeList), "mtx") => list(FileFormat::MatrixMarket),
        (None | Some(Role::Nodes | Role::Relationships | Role::Edges), "parquet") => look_at_parquet(file),
        (Some(Role::GraphSon), _) | (None, "graphson") => list(FileFormat::GraphSon),
        (Some(Role::GraphMl), _) | (None, "graphml") => list(FileFormat::GraphMl),
        (None, "json") if looks_like_graphson(&file.path)? => list(FileFormat::GraphSon),
        (None, "xml") if looks_like_graphml(&file.path)? => list(FileFormat::GraphMl),
        (None, "e" | "edges" | "el" | "txt") | (Some(Role::EdgeList), _) => list(FileFormat::EdgeList),
        (Some(Role::Nodes | Role::Relationships), _) | (None | Some(Role::Edges), "csv" | "tsv") => {
            look_at_csv(file, options)
        }
        (Some(Role::Edges), _) => list(FileFormat::EdgeList),
        (None, _) => Ok(Look::Stranger),
    }
}

fn look_at_csv(file: &InputFile, options: &ImportOptions) -> Result<Look> {
    let mut rule = csv_rule(file);
    if file.header != HeaderPlace::FirstLine {
        let rule = with_header(rule, file, options)?;
        let label = known_label(&rule, rule.columns.as_deref().unwrap_or_default());
        return Ok(Look::Rule(rule, label));
    }
    let bars = CsvFormat { delimiter: b'|', quote: None, escape: None };
    let first_line = first_record(&file.path, bars)?.unwrap_or_default().join("|");
    if let Some(rule) = ldbc::recognise(&file.path, &first_line) {
        let label = known_label(&rule, rule.columns.as_deref().unwrap_or_default());
        return Ok(Look::Rule(rule, label));
    }
    let delimiter = match rule.delimiter.or(options.delimiter) {
        Some(delimiter) => delimiter,
        None => detect_in(&mut Source::open(&file.path)?)?,
    };
    rule.delimiter = (delimiter != b',' || rule.delimiter.is_some()).then_some(delimiter);
    let format = CsvFormat { delimiter, quote: options.quote, escape: options.escape };
    let Some(first) = first_record(&file.path, format)? else {
        let name = display_name(&file.path);
        return Err(Error::invalid(format!(
            "{name}: is empty: a header is wanted, such as id:ID,name,born:int"
        )));
    };
    if first.iter().any(|word| is_role_word(word)) {
        let rule = neo4j_rule(rule, &first);
        let label = known_label(&rule, &first);
        return Ok(Look::Rule(rule, label));
    }
    if is_edge(&first) && file.role.is_none_or(|role| role == Role::Edges) {
        return Ok(Look::Rule(FileRule::new(FileFormat::EdgeList), None));
    }
    let Some(sample) = Sample::of(&file.path, format)? else {
        return Err(Error::invalid(format!("{}: was emptied meanwhile", display_name(&file.path))));
    };
    // Edges, of either form: a list would have begun with two numbers.
    let role = file.role.map(|role| if role == Role::Edges { Role::Relationships } else { role });
    Ok(Look::Plain(PlainCsv { stem: stem(&file.path), role, sample }, rule))
}

fn look_at_parquet(file: &InputFile) -> Result<Look> {
    let rule = FileRule { format: FileFormat::Parquet, delimiter: None, ..csv_rule(file) };
    let start = look_at_start(&file.path, PARQUET_ROWS)?;
    if start.names.iter().any(|name| is_role_word(name)) {
        let rule = neo4j_rule(rule, &start.names);
        let label = known_label(&rule, &start.names);
        return Ok(Look::Rule(rule, label));
    }
    let role = file.role.map(|role| if role == Role::Edges { Role::Relationships } else { role });
    Ok(Look::Plain(PlainCsv { stem: stem(&file.path), role, sample: Sample::of_columns(&start) }, rule))
}

fn first_record(path: &Path, format: CsvFormat) -> Result<Option<Vec<String>>> {
    CsvRecords::new(Source::open(path)?, format).read_header()
}

/// Whether `word` is one of a header in Neo4j's conventions, and not just a name with a type.
#[must_use]
pub fn is_role_word(word: &str) -> bool {
    let kind = word.split_once(['(', '{']).map_or(word, |(kind, _)| kind);
    let kind = kind.rsplit_once(':').map_or("", |(_, kind)| kind.trim()).to_ascii_uppercase();
    matches!(kind.as_str(), "ID" | "START_ID" | "END_ID" | "LABEL" | "TYPE")
}

/// The rule of a file with a header in Neo4j's conventions; LDBC's names tell a type.
fn neo4j_rule(rule: FileRule, header: &[String]) -> FileRule {
    let is_nodes = header.iter().any(|word| kind_is(word, "ID"));
    if is_nodes {
        return FileRule { edge_type: None, ..rule };
    }
    let (edge_type, mut undirected) = (rule.edge_type, false);
    let space = |kind: &str| header.iter().find(|word| kind_is(word, kind)).map(|word| space_of(word));
    // LDBC's files have no column of types; ours have one, and mean what it says.
    let has_types = header.iter().any(|word| kind_is(word, "TYPE"));
    let name = edge_type.as_deref().filter(|_| !has_types);
    let named = name.and_then(ldbc::type_in_name).filter(|(source, _, target)| {
        space("START_ID") == Some(source.as_str()) && space("END_ID") == Some(target.as_str())
    });
    let edge_type = named.map_or(edge_type, |(source, edge_type, target)| {
        undirected = edge_type == "KNOWS" && source == target;
        Some(edge_type)
    });
    FileRule { label: None, edge_type, undirected, ..rule }
}

fn kind_is(word: &str, wanted: &str) -> bool {
    let kind = word.split_once(['(', '{']).map_or(word, |(kind, _)| kind);
    kind.rsplit_once(':').is_some_and(|(_, kind)| kind.trim().eq_ignore_ascii_case(wanted))
}

/// The id space in a word of a header; empty if it names none.
fn space_of(word: &str) -> &str {
    word.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(space, _)| space.trim())
}

/// The label of the vertices in a file with `header`, and their space.
fn known_label(rule: &FileRule, header: &[String]) -> Option<KnownLabel> {
    let id = header.iter().find(|word| kind_is(word, "ID"))?;
    Some(KnownLabel { label: rule.label.clone()?, space: space_of(id).to_owned() })
}

fn is_edge(first_line: &[String]) -> bool {
    let [source, target, ..] = first_line else { return false };
    [source, target].iter().all(|field| parse_i64(field.trim().as_bytes()).is_ok())
}
