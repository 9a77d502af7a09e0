//! CSV: a folder with a file for each label, and one for each edge type and pair of labels that it joins.
//!
//! ```text
//! Person.csv               id:ID(Person){id-type:long},name:string,tags:string[]
//!                          1,Ada,math;poetry
//! Person-KNOWS-Person.csv  :START_ID(Person),:TYPE,:END_ID(Person),since:date
//!                          1,KNOWS,2,1833-06-05
//! ```
//!
//! Headers are Neo4j's, so each file tells what it holds, and a folder is imported without another word.
//! A label's unique key is the id and stays a unique key. Vertices without one are called by their
//! numbers in the database (`:ID(Person)`, without a name), which an import doesn't keep. A name that
//! isn't that of its file stands in a column `:LABEL`; edges always have `:TYPE`.

use crate::export::cell_form::CellForm;
use crate::export::file_names::FileNames;
use crate::export::identity::Identity;
use crate::export::meter::Meter;
use crate::export::options::{ExportOptions, ExportedFile};
use crate::export::packed_file::PackedFile;
use crate::export::pages;
use crate::export::survey::{JoinSurvey, LabelSurvey, Survey};
use crate::export::target::FolderTarget;
use crate::import::csv::quoted_name;
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{KeyId, LabelId};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;
use std::fs::File;

/// What a label's vertices are called in the files.
#[derive(Clone, Debug)]
pub struct Space {
    /// The label.
    pub label: LabelId,
    /// The id space, and the name of the label's file without its ending.
    pub name: String,
    /// What its ids are.
    pub identity: Identity,
}

/// A file that gets rows, and how many it has got.
struct CsvFile {
    name: String,
    writer: csv::Writer<PackedFile<File>>,
    rows: u64,
    /// The text of one cell.
    cell: String,
}

/// Writes everything that `survey` found in `view`.
///
/// # Errors
/// Errors of reading; `invalid`, `io` or `limit` from the target; `cancelled`.
pub fn write(
    view: &dyn GraphView,
    survey: &Survey,
    options: &ExportOptions,
    meter: &Meter<'_>,
) -> Result<Vec<ExportedFile>> {
    let mut target = FolderTarget::create(options)?;
    let mut names = FileNames::default();
    let spaces = spaces(survey, &mut names);
    for (space, label) in spaces.iter().zip(&survey.labels) {
        write_vertices(view, survey, (space, label), options, meter, &mut target)?;
    }
    for joins in survey.joins_by_source() {
        write_edges(view, survey, &spaces, joins, &mut names, options, meter, &mut target)?;
    }
    target.finish()
}

/// The id space of each label that has vertices, in the survey's order.
#[must_use]
pub fn spaces(survey: &Survey, names: &mut FileNames) -> Vec<Space> {
    let space = |label: &LabelSurvey| Space {
        label: label.label,
        name: names.name(&survey.catalogue.label_name(label.label)),
        identity: Identity::of_label(survey, label),
    };
    survey.labels.iter().map(space).collect()
}

/// The name of the file of `join` without its ending.
#[must_use]
pub fn edge_file_name(survey: &Survey, spaces: &[Space], join: &JoinSurvey, names: &mut FileNames) -> String {
    let edge_type = survey.catalogue.edge_type_name(join.edge_type);
    let (source, target) = (space_of(spaces, join.source), space_of(spaces, join.target));
    // The parts are cut, so that the end of a long name doesn't go missing.
    let part = |name: &str| name.chars().take(36).collect::<String>();
    names.name(&format!("{}-{}-{}", part(&source.name), part(&edge_type), part(&target.name)))
}

/// The space of `label`.
///
/// # Panics
/// If the survey found no vertices of it: edges have ends.
#[must_use]
pub fn space_of(spaces: &[Space], label: LabelId) -> &Space {
    spaces.iter().find(|space| space.label == label).expect("an edge's ends are in the same snapshot")
}

/// The word of a header for ids in `space`, where they stand as `role`: `ID`, `START_ID` or `END_ID`.
#[must_use]
pub fn id_word(survey: &Survey, space: &Space, role: &str) -> String {
    let key = match space.identity.key().filter(|_| role == "ID") {
        Some(key) => quoted_name::write(&survey.catalogue.key_name(key)).into_owned(),
        None => String::new(),
    };
    let id_type = match space.identity.value_type() {
        ValueType::String => String::new(), // what ids are by themselves
        other => format!("{{id-type:{other}}}"),
    };
    format!("{key}:{role}({}){id_type}", space.name)
}

fn write_vertices(
    view: &dyn GraphView,
    survey: &Survey,
    (space, label): (&Space, &LabelSurvey),
    options: &ExportOptions,
    meter: &Meter<'_>,
    target: &mut FolderTarget,
) -> Result<()> {
    let label_name = survey.catalogue.label_name(label.label);
    let stated = (*label_name != *space.name).then(|| quoted_name::write(&label_name));
    let columns: Vec<(KeyId, CellForm)> = label
        .facts
        .iter()
        .filter(|(key, _)| space.identity.key() != Some(**key))
        .map(|(key, facts)| (*key, CellForm::of(facts)))
        .collect();
    let mut file = CsvFile::create(&space.name, options, target)?;
    let words = columns.iter().map(|(key, form)| form.header_word(&survey.catalogue.key_name(*key)));
    let label_word = stated.as_ref().map(|_| ":LABEL".to_owned());
    let header: Vec<String> =
        [id_word(survey, space, "ID")].into_iter().chain(label_word).chain(words).collect();
    file.header(target, &header)?;
    pages::vertices(view, label.label, |page| {
        let ids = space.identity.column(view, Some(label.label), page)?;
        let cells: Vec<(CellForm, Column)> = columns
            .iter()
            .map(|(key, form)| Ok((*form, pages::vertex_column(view, label.label, page, *key)?)))
            .collect::<Result<_>>()?;
        for row in 0..page.len() {
            file.id(target, &ids, row)?;
            if let Some(name) = &stated {
                file.text(target, name)?;
            }
            file.cells(target, &cells, row)?;
        }
        meter.tick(&file.name, page.len())
    })?;
    file.finish(target)
}

#[allow(clippy::too_many_arguments, reason = "one caller, and each is a thing of its own")]
fn write_edges(
    view: &dyn GraphView,
    survey: &Survey,
    spaces: &[Space],
    joins: &[JoinSurvey],
    names: &mut FileNames,
    options: &ExportOptions,
    meter: &Meter<'_>,
    target: &mut FolderTarget,
) -> Result<()> {
    let (edge_type, source) = (joins[0].edge_type, joins[0].source);
    let type_name = survey.catalogue.edge_type_name(edge_type);
    let type_text = quoted_name::write(&type_name);
    let source_space = space_of(spaces, source);
    let mut files = Vec::with_capacity(joins.len());
    for join in joins {
        let target_space = space_of(spaces, join.target);
        let columns: Vec<(KeyId, CellForm)> = join
            .keys
            .iter()
            .filter_map(|key| Some((*key, CellForm::of(survey.edge_facts(edge_type, *key)?))))
            .collect();
        let ends = [
            id_word(survey, source_space, "START_ID"),
            ":TYPE".into(),
            id_word(survey, target_space, "END_ID"),
        ];
        let words = columns.iter().map(|(key, form)| form.header_word(&survey.catalogue.key_name(*key)));
        let header: Vec<String> = ends.into_iter().chain(words).collect();
        let mut file = CsvFile::create(&edge_file_name(survey, spaces, join, names), options, target)?;
        file.header(target, &header)?;
        files.push((join.target, target_space, columns, file));
    }
    pages::edges(view, source, edge_type, |label, page| {
        let Some((_, target_space, columns, file)) = files.iter_mut().find(|(known, ..)| *known == label)
        else {
            return Ok(()); // its end is outside the scope
        };
        let sources = source_space.identity.column(view, Some(source), &page.sources())?;
        let targets = target_space.identity.column(view, Some(label), &page.targets())?;
        let cells: Vec<(CellForm, Column)> = columns
            .iter()
            .map(|(key, form)| Ok((*form, pages::edge_column(view, edge_type, &page.edges, *key)?)))
            .collect::<Result<_>>()?;
        for row in 0..page.edges.len() {
            file.id(target, &sources, row)?;
            file.text(target, &type_text)?;
            file.id(target, &targets, row)?;
            file.cells(target, &cells, row)?;
        }
        meter.tick(&file.name, page.edges.len())
    })?;
    files.into_iter().try_for_each(|(.., file)| file.finish(target))
}

impl CsvFile {
    fn create(stem: &str, options: &ExportOptions, target: &FolderTarget) -> Result<Self> {
        let (name, packed) = target.file(&format!("{stem}.csv"), options.packing())?;
        Ok(Self { name, writer: csv::Writer::from_writer(packed), rows: 0, cell: String::new() })
    }

    fn header(&mut self, target: &FolderTarget, words: &[String]) -> Result<()> {
        self.writer.write_record(words).map_err(|error| failed(target, &self.name, error))
    }

    /// Writes an id, which each row has.
    fn id(&mut self, target: &FolderTarget, ids: &Column, row: usize) -> Result<()> {
        self.cell(target, CellForm::Scalar(ids.value_type), ids.get(row))
    }

    fn text(&mut self, target: &FolderTarget, text: &str) -> Result<()> {
        self.writer.write_field(text).map_err(|error| failed(target, &self.name, error))
    }

    /// Writes the other cells of a row, and ends it.
    fn cells(&mut self, target: &FolderTarget, cells: &[(CellForm, Column)], row: usize) -> Result<()> {
        for (form, column) in cells {
            self.cell(target, *form, column.get(row))?;
        }
        self.rows += 1;
        let end: [&[u8]; 0] = [];
        self.writer.write_record(end).map_err(|error| failed(target, &self.name, error))
    }

    fn cell(&mut self, target: &FolderTarget, form: CellForm, value: Option<Value>) -> Result<()> {
        self.cell.clear();
        if let Some(value) = value {
            form.write(&mut self.cell, &value);
        }
        self.writer.write_field(&self.cell).map_err(|error| failed(target, &self.name, error))
    }

    fn finish(self, target: &mut FolderTarget) -> Result<()> {
        let packed =
            self.writer.into_inner().map_err(|error| target.failed(&self.name, error.into_error()))?;
        target.finish_file(self.name, packed, self.rows)
    }
}

fn failed(target: &FolderTarget, name: &str, error: csv::Error) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => target.failed(name, error),
        kind => Error::invalid(format!("{name}: a row can't be written: {kind:?}")),
    }
}
