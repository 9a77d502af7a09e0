//! File: what each file of an import is, one after the other, and then those that need the others.

use crate::import::csv_records::{CsvFormat, CsvRecords};
use crate::import::input::Input;
use crate::import::integer::parse_i64;
use crate::import::known::Known;
use crate::import::mapping::rule::{FileFormat, FileRule};
use crate::import::mapping::words::header_words;
use crate::import::options::{HeaderPlace, ImportOptions, InputFile, Role};
use crate::import::parquet::file::{look_at_start, refuse_stream};
use crate::import::recognise::delimiter::{check_delimiter, detect_delimiter, detect_in};
use crate::import::recognise::elements::{ELEMENT_ENDINGS, format_of_elements};
use crate::import::recognise::known_types::yield_to_known;
use crate::import::recognise::ldbc;
use crate::import::recognise::list::{ListLook, look_at_list};
use crate::import::recognise::plain::{KnownLabel, KnownLabels, PlainCsv, Settled};
use crate::import::recognise::sample::Sample;
use crate::import::recognise::stream::ending_by_content;
use crate::import::source::unpacked_name;
use evergraph_graph::error::{Error, Result};
use std::path::Path;

/// The endings that tell what a file holds.
pub const KNOWN_ENDINGS: &str = "known are .csv .tsv .v .e .edges .el .txt .gr .mtx .json .graphson .xml .graphml .gexf .gml .net .paj .cyjs, each \
     also with .gz or .zst, and .parquet";

/// Rows of a Parquet file that are looked at.
const PARQUET_ROWS: usize = 4096;

/// What a file was found to be.
#[derive(Debug)]
pub struct Recognised {
    /// How it is read.
    pub rule: FileRule,
    /// What was guessed.
    pub notes: Vec<String>,
    /// What one may want to say of it.
    pub advice: Option<String>,
    /// Why it can't be read by that.
    pub problem: Option<String>,
}

/// What one look at a file shows.
enum Look {
    /// It tells everything; its vertices' label as well, if it has some.
    Rule(FileRule, Option<KnownLabel>),
    /// It is a list.
    List(FileRule, ListLook),
    /// It has to be settled beside the others; what is known is how it is split into fields.
    Plain(PlainCsv, FileRule),
    /// Its name tells nothing.
    Stranger,
}

/// Finds out what `files` are, in their order, beside a database that has `known`; `None` for those whose
/// names don't tell.
///
/// # Errors
/// As reading; `invalid` for a CSV file that is empty, whose header is not UTF-8, or that has one column with
/// the delimiter that was told and more with another one.
pub fn recognise(
    files: &[(InputFile, Input)],
    options: &ImportOptions,
    known: &Known,
) -> Result<Vec<Option<Recognised>>> {
    let looks = files.iter().map(|(file, input)| look(file, input, options)).collect::<Result<Vec<_>>>()?;
    let of_file = |look: &Look| match look {
        Look::Rule(_, label) => label.clone(),
        Look::Plain(plain, _) => plain.obvious_label(),
        Look::List(..) | Look::Stranger => None,
    };
    let of_database = known.labels().into_iter().map(|label| KnownLabel { space: label.clone(), label });
    let labels = KnownLabels {
        of_files: looks.iter().filter_map(of_file).collect(),
        of_database: of_database.collect(),
    };
    let found = |rule| Recognised { rule, notes: Vec::new(), advice: None, problem: None };
    let settle = |(look, (file, input)): (Look, &(InputFile, Input))| match look {
        Look::Stranger => None,
        Look::Rule(rule, _) => Some(found(named(rule, file))),
        Look::List(rule, ListLook { advice, problem }) => {
            Some(Recognised { advice, problem, ..found(named(rule, file)) })
        }
        Look::Plain(plain, dialect) => {
            let Settled { rule, notes, problem } = plain.settle(&labels);
            let FileRule { format, delimiter, quote, .. } = dialect;
            let mut rule = FileRule { format, delimiter, quote, ..rule };
            if input.is_nameless() {
                rule.edge_type = rule.edge_type.map(|_| options.edge_type.clone());
            }
            rule = named(rule, file);
            let mut remedy = None;
            if format == FileFormat::Parquet {
                // Its schema states them.
                (rule.header, rule.columns) = (true, None);
                rule.types.clear();
                [&mut rule.id, &mut rule.start, &mut rule.end]
                    .into_iter()
                    .flatten()
                    .for_each(|end| end.id_type = None);
            } else {
                yield_to_known(&mut rule, &plain.sample.first, known);
                remedy = if labels.is_empty() { None } else { header_to_say(&rule, &plain, options) };
            }
            let problem = problem.map(|problem| match remedy {
                Some(header) => format!("{problem}; say which ones, as in {header}"),
                None => problem,
            });
            Some(Recognised { notes, problem, ..found(rule) })
        }
    };
    Ok(looks.into_iter().zip(files).map(settle).collect())
}

/// The option that says what the columns of edges are, but for the label.
fn header_to_say(rule: &FileRule, plain: &PlainCsv, options: &ImportOptions) -> Option<String> {
    let mut rule = rule.clone();
    rule.start.as_ref()?;
    for end in [&mut rule.start, &mut rule.end].into_iter().flatten() {
        end.space.get_or_insert_with(|| "LABEL".to_owned());
    }
    let option = if rule.header { "--replace-header" } else { "--header" };
    let words = rule.columns.clone().unwrap_or_else(|| plain.sample.first.clone());
    let delimiter = char::from(rule.delimiter.or(options.delimiter).unwrap_or(b','));
    let words = header_words(&words, &rule).ok()?;
    Some(format!("{option} '{}'", words.join(&delimiter.to_string())))
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

/// The rule of a CSV file of which nothing is known but its name.
fn csv_rule(file: &InputFile, input: &Input, options: &ImportOptions) -> FileRule {
    let (_, ending) = stem_and_ending(&file.path);
    let delimiter = (ending == "tsv" && options.delimiter.is_none()).then_some(b'\t');
    let (label, edge_type) = names_of(file, input, options);
    FileRule {
        label: file.role.is_none_or(|role| role == Role::Nodes).then_some(label),
        edge_type: file.role.is_none_or(|role| role != Role::Nodes).then_some(edge_type),
        delimiter,
        ..FileRule::new(FileFormat::Csv)
    }
}

/// The label and the type of what is in the file, if nothing in it tells.
fn names_of(file: &InputFile, input: &Input, options: &ImportOptions) -> (String, String) {
    if input.is_nameless() {
        return (options.vertex_label.clone(), options.edge_type.clone());
    }
    let stem = stem(&file.path);
    (stem.clone(), stem)
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

fn look(file: &InputFile, input: &Input, options: &ImportOptions) -> Result<Look> {
    let rule = |format| Ok(Look::Rule(FileRule::new(format), None));
    let list = |format, ids| Ok(Look::List(FileRule::new(format), look_at_list(input, ids, options)?));
    let ending = match file.role {
        // It needs no ending.
        Some(Role::VertexList | Role::GraphSon | Role::GraphMl) => String::new(),
        _ if input.is_nameless() => ending_by_content(input)?.to_owned(),
        _ => stem_and_ending(&file.path).1,
    };
    match (file.role, ending.as_str()) {
        (Some(Role::VertexList), _) | (None, "v") => list(FileFormat::VertexList, 1),
        (None | Some(Role::Edges | Role::EdgeList), "gr") => rule(FileFormat::Dimacs),
        (None | Some(Role::Edges | Role::EdgeList), "mtx") => rule(FileFormat::MatrixMarket),
        (None | Some(Role::Nodes | Role::Relationships | Role::Edges), "parquet") => {
            look_at_parquet(file, input, options)
        }
        (Some(Role::GraphSon), _) => rule(FileFormat::GraphSon),
        (Some(Role::GraphMl), _) => rule(FileFormat::GraphMl),
        (None, ending) if ELEMENT_ENDINGS.contains(&ending) => {
            format_of_elements(ending, input)?.map_or(Ok(Look::Stranger), rule)
        }
        (None, "e" | "edges" | "el" | "txt") | (Some(Role::EdgeList), _) => list(FileFormat::EdgeList, 2),
        (Some(Role::Nodes | Role::Relationships), _) | (None | Some(Role::Edges), "csv" | "tsv") => {
            look_at_csv(file, input, options)
        }
        (Some(Role::Edges), _) => list(FileFormat::EdgeList, 2),
        (None, _) => Ok(Look::Stranger),
    }
}

fn look_at_csv(file: &InputFile, input: &Input, options: &ImportOptions) -> Result<Look> {
    let mut rule = csv_rule(file, input, options);
    if file.header != HeaderPlace::FirstLine {
        let rule = with_header(rule, file, options)?;
        let label = known_label(&rule, rule.columns.as_deref().unwrap_or_default());
        return Ok(Look::Rule(rule, label));
    }
    let bars = CsvFormat { delimiter: b'|', quote: None, escape: None };
    let first_line = first_record(input, bars)?.unwrap_or_default().join("|");
    if let Some(rule) = ldbc::recognise(&file.path, &first_line) {
        let label = known_label(&rule, rule.columns.as_deref().unwrap_or_default());
        return Ok(Look::Rule(rule, label));
    }
    let mut source = input.look()?;
    let delimiter = match rule.delimiter.or(options.delimiter) {
        Some(delimiter) => {
            check_delimiter(&mut source, delimiter)?;
            delimiter
        }
        None => detect_in(&mut source)?,
    };
    rule.delimiter = (delimiter != b',' || rule.delimiter.is_some()).then_some(delimiter);
    let format = CsvFormat { delimiter, quote: options.quote, escape: options.escape };
    let Some(first) = CsvRecords::new(source, format).read_header()? else {
        let name = input.name();
        return Err(Error::invalid(format!(
            "{name}: is empty: a header is wanted, such as id:ID,name,born:int"
        )));
    };
    if first.iter().all(|word| word.trim().is_empty()) {
        let name = input.name();
        return Err(Error::invalid(format!(
            "{name}: its first line has no names: a header is wanted, such as id:ID,name,born:int"
        )));
    }
    if first.iter().any(|word| is_role_word(word)) {
        let rule = neo4j_rule(rule, &first);
        let label = known_label(&rule, &first);
        return Ok(Look::Rule(rule, label));
    }
    if is_edge(&first) && file.role.is_none_or(|role| role == Role::Edges) {
        return Ok(Look::List(FileRule::new(FileFormat::EdgeList), look_at_list(input, 2, options)?));
    }
    let Some(sample) = Sample::of(input, format)? else {
        return Err(Error::invalid(format!("{}: was emptied meanwhile", input.name())));
    };
    Ok(Look::Plain(plain(file, input, options, sample), rule))
}

fn look_at_parquet(file: &InputFile, input: &Input, options: &ImportOptions) -> Result<Look> {
    refuse_stream(input)?;
    let rule = FileRule { format: FileFormat::Parquet, delimiter: None, ..csv_rule(file, input, options) };
    let start = look_at_start(&file.path, PARQUET_ROWS)?;
    if start.names.iter().any(|name| is_role_word(name)) {
        let rule = neo4j_rule(rule, &start.names);
        let label = known_label(&rule, &start.names);
        return Ok(Look::Rule(rule, label));
    }
    Ok(Look::Plain(plain(file, input, options, Sample::of_columns(&start)), rule))
}

/// A file with columns that nobody declared.
fn plain(file: &InputFile, input: &Input, options: &ImportOptions, sample: Sample) -> PlainCsv {
    // Edges, of either form: a list would have begun with two numbers.
    let role = file.role.map(|role| if role == Role::Edges { Role::Relationships } else { role });
    PlainCsv { stem: names_of(file, input, options).0, role, sample }
}

fn first_record(input: &Input, format: CsvFormat) -> Result<Option<Vec<String>>> {
    CsvRecords::new(input.look()?, format).read_header()
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
