//! Edge list: pairs of ids, an edge a line, for tools that read nothing else.
//!
//! ```text
//! a folder    vertices.v      1             an id a line, and the properties that were chosen
//!             KNOWS.e         1 2 0.5       source, target, properties: a file a type
//!             import.toml                   what the columns are called, for an import
//! a file      edges of all types, without vertices; `-` the same to standard output
//! ```
//!
//! Ids are whole numbers: the unique key of the only label, if it is one of 64 bits or less that every vertex
//! has (an import makes it a `long`); otherwise the numbers of vertices in the database. A blank stands
//! between fields, as other tools expect it; in a file where a value is missing a comma, so that there is an
//! empty field.

use crate::export::cell_form::CellForm;
use crate::export::facts::Facts;
use crate::export::file_names::FileNames;
use crate::export::identity::Identity;
use crate::export::meter::Meter;
use crate::export::options::{ExportOptions, ExportedFile, Packing};
use crate::export::packed_file::PackedFile;
use crate::export::pages;
use crate::export::survey::{JoinSurvey, Survey};
use crate::export::target::{FileTarget, FolderTarget, write_failed};
use crate::import::mapping::propose::{Proposal, mapping_text};
use crate::import::mapping::rule::{FileFormat, FileRule};
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{KeyId, TypeId};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// The label that lists of vertices get if there are several in them: the default of an import.
const MIXED_LABEL: &str = "Vertex";
const VERTICES_FILE: &str = "vertices.v";
const MAPPING_FILE: &str = "import.toml";

/// A property in a list.
struct ListColumn {
    key: KeyId,
    form: CellForm,
}

/// Writes lines of ids and values.
struct Lines<W> {
    bytes: W,
    separator: char,
    line: String,
}

/// What vertices are called in lists: whole numbers.
#[must_use]
pub fn identity(survey: &Survey) -> Identity {
    match survey.labels.as_slice() {
        [only] => match Identity::of_label(survey, only) {
            identity @ Identity::Key(_, ValueType::I8 | ValueType::I16 | ValueType::I32 | ValueType::I64) => {
                identity
            }
            _ => Identity::Number,
        },
        _ => Identity::Number,
    }
}

/// Writes lists of everything that `survey` found in `view`, each type in a file of a folder.
///
/// # Errors
/// Errors of reading; `invalid` or `not_found` for a property that lists can't have; `invalid`,
/// `io` or `limit` from the target; `cancelled`.
pub fn write_folder(
    view: &dyn GraphView,
    survey: &Survey,
    options: &ExportOptions,
    meter: &Meter<'_>,
) -> Result<Vec<ExportedFile>> {
    let identity = identity(survey);
    let all_vertex_facts = survey.labels.iter().flat_map(|label| &label.facts);
    let vertex_columns = columns(survey, &options.vertex_columns, all_vertex_facts.collect(), "vertices")?;
    let edge_columns = edge_columns(survey, options)?;
    let mut target = FolderTarget::create(options)?;
    let label = match survey.labels.as_slice() {
        [only] => survey.catalogue.label_name(only.label).to_string(),
        _ => MIXED_LABEL.to_owned(),
    };
    let mut proposals = Vec::new();
    let (name, packed) = target.file(VERTICES_FILE, options.packing())?;
    proposals.push(proposal(survey, &name, FileFormat::VertexList, &label, None, &vertex_columns));
    let values = |column: &ListColumn| {
        let facts = survey.labels.iter().filter_map(|label| label.facts.get(&column.key));
        facts.map(|facts| facts.count).sum()
    };
    let mut lines = Lines::new(packed, separator(&vertex_columns, survey.vertices_count(), values));
    for label in &survey.labels {
        pages::vertices(view, label.label, |page| {
            let ids = identity.column(view, Some(label.label), page)?;
            let cells = vertex_columns
                .iter()
                .map(|column| Ok((column.form, pages::vertex_column(view, label.label, page, column.key)?)))
                .collect::<Result<Vec<_>>>()?;
            for row in 0..page.len() {
                lines.write(&[&ids], &cells, row).map_err(|error| target.failed(&name, error))?;
            }
            meter.tick(&name, page.len())
        })?;
    }
    target.finish_file(name, lines.bytes, survey.vertices_count())?;
    let mut names = FileNames::default();
    names.name("vertices");
    for joins in survey.joins.chunk_by(|left, right| left.edge_type == right.edge_type) {
        let edge_type = joins[0].edge_type;
        let type_name = survey.catalogue.edge_type_name(edge_type);
        let (name, packed) = target.file(&format!("{}.e", names.name(&type_name)), options.packing())?;
        let columns = edge_columns_of(&edge_columns, survey, edge_type);
        proposals.push(proposal(survey, &name, FileFormat::EdgeList, &label, Some(&type_name), &columns));
        let edges = joins.iter().map(|join| join.count).sum();
        let values = |column: &ListColumn| values_count(survey, edge_type, column);
        let mut lines = Lines::new(packed, separator(&columns, edges, values));
        write_edges(view, joins, identity, &columns, &mut lines, (&name, meter), |error| {
            target.failed(&name, error)
        })?;
        target.finish_file(name, lines.bytes, edges)?;
    }
    let (name, mut packed) = target.file(MAPPING_FILE, Packing::None)?;
    packed
        .write_all(mapping_text(&proposals, &[]).as_bytes())
        .map_err(|error| target.failed(&name, error))?;
    target.finish_file(name, packed, 0)?;
    target.finish()
}

/// Writes one list of the edges of all types that `survey` found in `view`.
///
/// # Errors
/// As [`write_folder`].
pub fn write_file(
    view: &dyn GraphView,
    survey: &Survey,
    options: &ExportOptions,
    meter: &Meter<'_>,
) -> Result<Vec<ExportedFile>> {
    if !options.vertex_columns.is_empty() {
        return Err(Error::invalid(
            "properties of vertices go to a list of vertices: name a folder as output",
        ));
    }
    let edge_columns = edge_columns(survey, options)?;
    let target = FileTarget::create(options)?;
    let name = target.name();
    let failed = |error: io::Error| write_failed(&options.output, error);
    let by_type = || survey.joins.chunk_by(|left, right| left.edge_type == right.edge_type);
    let values =
        |column: &ListColumn| by_type().map(|joins| values_count(survey, joins[0].edge_type, column)).sum();
    let separator = separator(&edge_columns, survey.edges_count(), values);
    let mut lines = Lines::new(PackedFile::new(target, options.packing()).map_err(failed)?, separator);
    for joins in by_type() {
        write_edges(view, joins, identity(survey), &edge_columns, &mut lines, (&name, meter), failed)?;
    }
    let (target, bytes) = lines.bytes.finish().map_err(failed)?;
    target.finish(options.overwrite)?;
    Ok(vec![ExportedFile { name, rows: survey.edges_count(), bytes }])
}

fn write_edges<W: Write>(
    view: &dyn GraphView,
    joins: &[JoinSurvey],
    identity: Identity,
    columns: &[ListColumn],
    lines: &mut Lines<W>,
    (name, meter): (&str, &Meter<'_>),
    failed: impl Fn(io::Error) -> Error,
) -> Result<()> {
    for joins in joins.chunk_by(|left, right| left.source == right.source) {
        let (edge_type, source) = (joins[0].edge_type, joins[0].source);
        pages::edges(view, source, edge_type, |label, page| {
            if !joins.iter().any(|join| join.target == label) {
                return Ok(()); // its end is outside the scope
            }
            let sources = identity.column(view, Some(source), &page.sources())?;
            let targets = identity.column(view, Some(label), &page.targets())?;
            let cells = columns
                .iter()
                .map(|column| {
                    Ok((column.form, pages::edge_column(view, edge_type, &page.edges, column.key)?))
                })
                .collect::<Result<Vec<_>>>()?;
            for row in 0..page.edges.len() {
                lines.write(&[&sources, &targets], &cells, row).map_err(&failed)?;
            }
            meter.tick(name, page.edges.len())
        })?;
    }
    Ok(())
}

fn edge_columns(survey: &Survey, options: &ExportOptions) -> Result<Vec<ListColumn>> {
    columns(survey, &options.edge_columns, survey.edge_facts.values().flatten().collect(), "edges")
}

/// What stands between the fields of a file of `rows`, whose column has so many `values`.
fn separator(columns: &[ListColumn], rows: u64, values: impl Fn(&ListColumn) -> u64) -> char {
    if columns.iter().all(|column| values(column) == rows) { ' ' } else { ',' }
}

/// How many edges of `edge_type` have a value in `column`.
fn values_count(survey: &Survey, edge_type: TypeId, column: &ListColumn) -> u64 {
    survey.edge_facts(edge_type, column.key).map_or(0, |facts| facts.count)
}

/// Those of `columns` that edges of `edge_type` have.
fn edge_columns_of(columns: &[ListColumn], survey: &Survey, edge_type: TypeId) -> Vec<ListColumn> {
    let has = |column: &&ListColumn| survey.edge_facts(edge_type, column.key).is_some();
    columns.iter().filter(has).map(|column| ListColumn { key: column.key, form: column.form }).collect()
}

/// The columns called `names`, which some of `facts` know.
fn columns(
    survey: &Survey,
    names: &[String],
    facts: Vec<(&KeyId, &Facts)>,
    of: &str,
) -> Result<Vec<ListColumn>> {
    let column = |name: &String| {
        let key = survey.catalogue.key(name);
        let found =
            facts.iter().filter(|(known, _)| Some(**known) == key).map(|(_, facts)| facts.value_type());
        let types: BTreeSet<ValueType> = found.collect();
        let mut types = types.into_iter();
        match (key, types.next(), types.next()) {
            (Some(key), Some(value_type), None) if fits_lists(value_type) => {
                Ok(ListColumn { key, form: CellForm::Scalar(value_type) })
            }
            (_, Some(value_type), other) => {
                let value_type = if other.is_some() { ValueType::Any } else { value_type };
                Err(Error::invalid(format!(
                    "{name:?} of {of} is of type {value_type}: lists have numbers, bools, dates, datetimes, \
                     durations and uuids"
                )))
            }
            _ => {
                let known: BTreeSet<_> =
                    facts.iter().map(|(key, _)| survey.catalogue.key_name(**key)).collect();
                let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
                let text = format!("no {of} that are written have {name:?}; there are: {}", known.join(", "));
                Err(Error::new(ErrorKind::NotFound, text))
            }
        }
    };
    names.iter().map(column).collect()
}

/// Whether texts of `value_type` have no separators, blanks or line ends in them.
fn fits_lists(value_type: ValueType) -> bool {
    !matches!(
        value_type,
        ValueType::String
            | ValueType::Char
            | ValueType::List
            | ValueType::Set
            | ValueType::Map
            | ValueType::Bytes
            | ValueType::Any
    )
}

fn proposal(
    survey: &Survey,
    name: &str,
    format: FileFormat,
    label: &str,
    edge_type: Option<&str>,
    columns: &[ListColumn],
) -> Proposal {
    let words = columns.iter().map(|column| column.form.header_word(&survey.catalogue.key_name(column.key)));
    let rule = FileRule {
        label: Some(label.to_owned()),
        edge_type: edge_type.map(ToOwned::to_owned),
        columns: (!columns.is_empty()).then(|| words.collect()),
        ..FileRule::new(format)
    };
    Proposal { path: name.to_owned(), rule, notes: Vec::new() }
}

impl<W: Write> Lines<W> {
    fn new(bytes: W, separator: char) -> Self {
        Self { bytes, separator, line: String::new() }
    }

    fn write(&mut self, ids: &[&Column], cells: &[(CellForm, Column)], row: usize) -> io::Result<()> {
        self.line.clear();
        for id in ids {
            self.push(CellForm::Scalar(ValueType::I64), id.get(row));
        }
        for (form, column) in cells {
            self.push(*form, column.get(row));
        }
        self.line.push('\n');
        self.bytes.write_all(self.line.as_bytes())
    }

    fn push(&mut self, form: CellForm, value: Option<Value>) {
        if !self.line.is_empty() {
            self.line.push(self.separator);
        }
        if let Some(value) = value {
            form.write(&mut self.line, &value);
        }
    }
}
