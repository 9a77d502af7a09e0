//! Import: files into a database, by the library's importer.

use crate::bulk::told;
use crate::error::invalid;
use crate::work::Watch;
use evergraph::database::ImportReport;
use evergraph::import::faults::OnBadRow;
use evergraph::import::id_type::IdType;
use evergraph::import::mapping::document::Mapping;
use evergraph::import::options::{HeaderPlace, ImportOptions, InputFile, Role};
use evergraph::import::policy::{OnDuplicate, OnUnknown};
use evergraph::{Database, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// A file: its path, what it holds, its label, its edge type.
#[derive(Debug, FromPyObject)]
pub struct FileName(PathBuf, Option<String>, Option<String>, Option<String>);

/// What is imported, and how.
pub struct Wanted {
    options: ImportOptions,
    mapping: Option<PathBuf>,
}

impl Wanted {
    /// `files` with `settings` by the names of [`ImportOptions`].
    ///
    /// # Errors
    /// `InvalidError` for a setting that can't be meant.
    pub fn new(py: Python<'_>, files: Vec<FileName>, settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        let header = match (text(settings, "header")?, text(settings, "replace_header")?) {
            (Some(header), None) => HeaderPlace::Given(header),
            (None, Some(header)) => HeaderPlace::Replaced(header),
            (None, None) => HeaderPlace::FirstLine,
            _ => return Err(invalid(py, "header and replace_header: give one of the two")),
        };
        let files = files.into_iter().map(|FileName(path, role, label, edge_type)| {
            let role = role.map(|role| match role.as_str() {
                "vertices" => Ok(Role::Nodes),
                "edges" => Ok(Role::Edges),
                _ => Err(invalid(py, format!("a file holds \"vertices\" or \"edges\", not {role:?}"))),
            });
            Ok(InputFile {
                role: role.transpose()?,
                label,
                edge_type,
                ..InputFile::new(path).header(header.clone())
            })
        });
        let mut options = ImportOptions::new(files.collect::<PyResult<Vec<_>>>()?);
        options.delimiter = byte(settings, "delimiter")?;
        options.escape = byte(settings, "escape")?;
        options.null = text(settings, "null")?;
        if let Some(quote) = text(settings, "quote")? {
            options.quote = if quote.is_empty() { None } else { byte(settings, "quote")? };
        }
        if let Some(delimiter) = byte(settings, "array_delimiter")? {
            options.array_delimiter = delimiter;
        }
        if let Some(name) = text(settings, "id_type")? {
            let parsed = IdType::parse(&name);
            options.id_type = parsed.map_err(|error| invalid(py, format!("id_type: {error}")))?;
        }
        options.on_bad_row =
            match (choice(settings, "on_bad_row", &["stop", "skip"])?, number(settings, "bad_rows_max")?) {
                (_, Some(most)) => OnBadRow::Skip { at_most: Some(most) },
                (1, None) => OnBadRow::Skip { at_most: None },
                _ => OnBadRow::Stop,
            };
        options.on_duplicate = match choice(settings, "on_duplicate", &["fail", "first", "last"])? {
            1 => OnDuplicate::First,
            2 => OnDuplicate::Last,
            _ => OnDuplicate::Fail,
        };
        options.on_unknown = match choice(settings, "on_unknown", &["fail", "skip", "create"])? {
            1 => OnUnknown::Skip,
            2 => OnUnknown::Create,
            _ => OnUnknown::Fail,
        };
        options.bad_rows_report = text(settings, "bad_rows_report")?.map(PathBuf::from);
        options.memory = number(settings, "memory")?;
        let mapping = text(settings, "mapping")?.map(PathBuf::from);
        Ok(Self { options, mapping })
    }

    /// Imports it.
    ///
    /// # Errors
    /// Those of [`Database::import`].
    pub fn import(mut self, database: &Database, watch: &Watch) -> Result<ImportReport> {
        self.options.cancel = watch.cancel.clone();
        self.options.mapping = self.mapping.as_deref().map(Mapping::read).transpose()?;
        database.import(&self.options, &|now| told(watch, now))
    }
}

fn text(settings: &Bound<'_, PyDict>, name: &str) -> PyResult<Option<String>> {
    settings.get_item(name)?.map_or(Ok(None), |value| value.extract())
}

fn number(settings: &Bound<'_, PyDict>, name: &str) -> PyResult<Option<u64>> {
    settings.get_item(name)?.map_or(Ok(None), |value| value.extract())
}

/// One ASCII character.
fn byte(settings: &Bound<'_, PyDict>, name: &str) -> PyResult<Option<u8>> {
    let Some(text) = text(settings, name)? else { return Ok(None) };
    match text.as_bytes() {
        [byte] => Ok(Some(*byte)),
        _ => Err(invalid(settings.py(), format!("{name}: one ASCII character is wanted, not {text:?}"))),
    }
}

/// Which of `choices` it is; the first if nothing is said.
fn choice(settings: &Bound<'_, PyDict>, name: &str, choices: &[&str]) -> PyResult<usize> {
    let Some(text) = text(settings, name)? else { return Ok(0) };
    choices.iter().position(|choice| *choice == text).ok_or_else(|| {
        let text = format!("{name}: one of {} is wanted, not {text:?}", choices.join(", "));
        invalid(settings.py(), text)
    })
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
    found.set_item("edges_left_out", report.files.settled.unknown)?;
    found.set_item(
        "vertices_created",
        report.files.settled.created.iter().map(|entry| entry.1).sum::<u64>(),
    )?;
    found.set_item("notes", &report.files.notes)?;
    let shown = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    found.set_item("ignored_files", shown(&report.files.ignored_files))?;
    found.set_item("guessed_files", shown(&report.files.guessed_files))?;
    Ok(found)
}
