//! Import: reads files into a database, with the library's importer.

use crate::bulk::told;
use crate::error::invalid;
use crate::long_call::ProgressWatch;
use evergraph::database::ImportReport;
use evergraph::import::existing_graph::ExistingGraph;
use evergraph::import::faults::OnBadRow;
use evergraph::import::id_type::IdType;
use evergraph::import::mapping::document::Mapping;
use evergraph::import::mapping::rule::FileFormat;
use evergraph::import::options::{FirstLine, HeaderPlace, ImportOptions, InputFile, Role};
use evergraph::import::plan::propose;
use evergraph::import::policy::{OnDuplicate, OnUnknown};
use evergraph::{Database, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// A file: its path, what it holds, its label, its edge type.
#[derive(Debug, FromPyObject)]
pub struct FileName(PathBuf, Option<String>, Option<String>, Option<String>);

/// What is imported, and how.
pub struct ImportRequest {
    options: ImportOptions,
    mapping: Option<PathBuf>,
}

fn role(py: Python<'_>, name: &str) -> PyResult<Role> {
    match name {
        "vertices" => Ok(Role::Nodes),
        "edges" => Ok(Role::Edges),
        "vertex-list" => Ok(Role::VertexList),
        "edge-list" => Ok(Role::EdgeList),
        "graphson" => Ok(Role::GraphSon),
        "graphml" => Ok(Role::GraphMl),
        _ => Err(invalid(py, format!("a file holds \"vertices\" or \"edges\", not {name:?}"))),
    }
}

fn format(py: Python<'_>, name: &str) -> PyResult<FileFormat> {
    let known = FileFormat::ALL.into_iter().find(|format| format.name() == name);
    known.ok_or_else(|| invalid(py, format!("there is no format {name:?}")))
}

impl ImportRequest {
    /// `files` with `settings` by the names of [`ImportOptions`].
    ///
    /// # Errors
    /// `InvalidError` for a setting that can't be meant.
    pub fn new(py: Python<'_>, files: Vec<FileName>, settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        let given = Settings(settings);
        let header = match (given.text("header")?, given.text("replace_header")?) {
            (Some(header), None) => HeaderPlace::Given(header),
            (None, Some(header)) => HeaderPlace::Replaced(header),
            (None, None) => HeaderPlace::FirstLine,
            _ => return Err(invalid(py, "header and replace_header: give one of the two")),
        };
        let files = files.into_iter().map(|FileName(path, held, label, edge_type)| {
            Ok(InputFile {
                role: held.map(|name| role(py, &name)).transpose()?,
                label,
                edge_type,
                ..InputFile::new(path).header(header.clone())
            })
        });
        let mut options = ImportOptions::new(files.collect::<PyResult<Vec<_>>>()?);
        let formats: Vec<String> = given.value("formats")?.unwrap_or_default();
        options.formats = formats.iter().map(|name| format(py, name)).collect::<PyResult<_>>()?;
        given.columns_of_text(&mut options)?;
        given.lists(&mut options)?;
        options.ids.vertex_key = given.text("vertex_id")?;
        options.ids.edge_key = given.text("edge_id")?;
        options.bad_rows.on_bad_row =
            match (given.choice("on_bad_row", &["stop", "skip"])?, given.value("bad_rows_max")?) {
                (_, Some(most)) => OnBadRow::Skip { at_most: Some(most) },
                (1, None) => OnBadRow::Skip { at_most: None },
                _ => OnBadRow::Stop,
            };
        options.ids.on_duplicate = match given.choice("on_duplicate", &["fail", "first", "last"])? {
            1 => OnDuplicate::First,
            2 => OnDuplicate::Last,
            _ => OnDuplicate::Fail,
        };
        options.ids.on_unknown = match given.choice("on_unknown", &["fail", "skip", "create"])? {
            1 => OnUnknown::Skip,
            2 => OnUnknown::Create,
            _ => OnUnknown::Fail,
        };
        options.bad_rows.report = given.value("bad_rows_report")?;
        options.memory = given.value("memory")?;
        options.temporary = given.value("temporary")?;
        options.threads = given.value("threads")?.unwrap_or(0);
        Ok(Self { options, mapping: given.value("mapping")? })
    }

    /// Imports it.
    ///
    /// # Errors
    /// Those of [`Database::import`].
    pub fn import(mut self, database: &Database, watch: &ProgressWatch) -> Result<ImportReport> {
        self.options.cancel = watch.cancel.clone();
        self.options.mapping = self.mapping.as_deref().map(Mapping::read).transpose()?;
        database.import(&self.options, &|now| told(watch, now))
    }

    /// The mapping file that says how it would be imported.
    ///
    /// # Errors
    /// Those of [`propose`].
    pub fn propose(&self, database: &Database) -> Result<String> {
        propose(&self.options, &ExistingGraph::of(database.snapshot()))
    }
}

/// What Python says of an import, by name.
struct Settings<'a, 'py>(&'a Bound<'py, PyDict>);

impl<'py> Settings<'_, 'py> {
    fn value<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
    {
        self.0.get_item(name)?.map(|value| value.extract()).transpose()
    }

    fn text(&self, name: &str) -> PyResult<Option<String>> {
        self.value(name)
    }

    /// One ASCII character.
    fn byte(&self, name: &str) -> PyResult<Option<u8>> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        match text.as_bytes() {
            [byte] => Ok(Some(*byte)),
            _ => Err(invalid(self.0.py(), format!("{name}: expected one ASCII character, not {text:?}"))),
        }
    }

    /// Which of `choices` it is; the first if nothing is said.
    fn choice(&self, name: &str, choices: &[&str]) -> PyResult<usize> {
        let Some(text) = self.text(name)? else { return Ok(0) };
        choices.iter().position(|choice| *choice == text).ok_or_else(|| {
            let text = format!("{name}: expected one of {}, not {text:?}", choices.join(", "));
            invalid(self.0.py(), text)
        })
    }

    /// Takes what is said of text files.
    fn columns_of_text(&self, options: &mut ImportOptions) -> PyResult<()> {
        options.csv.first_line =
            match (self.text("first_line")?, self.choice("first_line", &["header", "data"])?) {
                (None, _) => None,
                (Some(_), 0) => Some(FirstLine::Header),
                (Some(_), _) => Some(FirstLine::Data),
            };
        options.csv.delimiter = self.byte("delimiter")?;
        options.csv.escape = self.byte("escape")?;
        options.csv.null = self.text("null")?;
        if let Some(quote) = self.text("quote")? {
            options.csv.quote = if quote.is_empty() { None } else { self.byte("quote")? };
        }
        if let Some(delimiter) = self.byte("array_delimiter")? {
            options.csv.array_delimiter = delimiter;
        }
        if let Some(name) = self.text("id_type")? {
            let parsed = IdType::parse(&name);
            options.ids.id_type =
                parsed.map_err(|error| invalid(self.0.py(), format!("id_type: {error}")))?;
        }
        Ok(())
    }

    /// Takes what is said of lists.
    fn lists(&self, options: &mut ImportOptions) -> PyResult<()> {
        if let Some(label) = self.text("vertex_label")? {
            options.lists.vertex_label = label;
        }
        if let Some(edge_type) = self.text("edge_type")? {
            options.lists.edge_type = edge_type;
        }
        options.lists.vertices = self.value::<(i64, i64)>("vertex_ids")?.map(|(from, to)| from..to);
        options.lists.edge_columns = self.text("edge_columns")?;
        options.lists.vertex_columns = self.text("vertex_columns")?;
        Ok(())
    }
}

/// What an import did, by name.
///
/// # Errors
/// If Python has no memory for it.
pub fn report<'py>(py: Python<'py>, report: &ImportReport) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("vertices", report.vertices_count)?;
    found.set_item("edges", report.edges_count)?;
    let bad = &report.files.bad_rows;
    found.set_item("bad_rows", bad.count)?;
    let described: Vec<String> =
        bad.first.iter().map(|row| format!("{}:{}: {}", row.file, row.line, row.fault.reason)).collect();
    found.set_item("bad_rows_first", described)?;
    found.set_item("duplicates", report.files.settled.duplicates)?;
    found.set_item("repeated_pairs", report.files.settled.repeated_pairs)?;
    found.set_item("edges_left_out", report.files.settled.unknown)?;
    found.set_item(
        "vertices_created",
        report.files.settled.created.iter().map(|entry| entry.1).sum::<u64>(),
    )?;
    found.set_item("spilled_bytes", report.files.spilled_bytes)?;
    found.set_item("notes", &report.files.notes)?;
    let shown = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    found.set_item("ignored_files", shown(&report.files.ignored_files))?;
    found.set_item("guessed_files", shown(&report.files.guessed_files))?;
    Ok(found)
}
