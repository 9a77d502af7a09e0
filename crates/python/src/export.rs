//! Export: writes a database to files, with the library's exporter.

use crate::error::invalid;
use crate::long_call::ProgressWatch;
use evergraph::export::options::{ExportFormat, ExportOptions, ExportProgress, ExportSummary, Packing};
use evergraph::{Database, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// What is exported, and how; what is `None` is as it is by default.
#[derive(FromPyObject)]
pub struct ExportSettings {
    #[pyo3(item)]
    path: PathBuf,
    #[pyo3(item)]
    format: Option<String>,
    #[pyo3(item)]
    packing: Option<String>,
    #[pyo3(item)]
    overwrite: bool,
    #[pyo3(item)]
    labels: Vec<String>,
    #[pyo3(item)]
    types: Vec<String>,
    #[pyo3(item)]
    edge_columns: Vec<String>,
    #[pyo3(item)]
    vertex_columns: Vec<String>,
}

impl ExportSettings {
    /// The same as the library has it.
    ///
    /// # Errors
    /// `InvalidError` for a format or a packing that there isn't, and where the path doesn't tell the format.
    pub fn options(self, py: Python<'_>) -> PyResult<ExportOptions> {
        let Self { path, format, packing, overwrite, labels, types, edge_columns, vertex_columns } = self;
        if path.as_os_str() == "-" {
            return Err(invalid(py, "expected a path: \"-\" would bypass Python's standard output"));
        }
        let formats = || ExportFormat::ALL.map(ExportFormat::name).join(", ");
        let format = match format {
            Some(name) => {
                let known = ExportFormat::ALL.into_iter().find(|format| format.name() == name);
                known.ok_or_else(|| invalid(py, format!("format {name:?}: expected one of {}", formats())))?
            }
            None => {
                let known =
                    ExportFormat::of_path(&path).or_else(|| path.is_dir().then_some(ExportFormat::Csv));
                known.ok_or_else(|| {
                    let text = format!(
                        "{}: the name doesn't tell the format; give it as format=, one of {} (CSV and Parquet are \
                         folders of files)",
                        path.display(),
                        formats()
                    );
                    invalid(py, text)
                })?
            }
        };
        let packing = packing.map(|name| match name.as_str() {
            "none" => Ok(Packing::None),
            "gzip" => Ok(Packing::Gzip),
            "zstd" => Ok(Packing::Zstd),
            _ => Err(invalid(py, format!("packing {name:?}: expected \"none\", \"gzip\" or \"zstd\""))),
        });
        Ok(ExportOptions {
            overwrite,
            packing: packing.transpose()?,
            labels,
            types,
            edge_columns,
            vertex_columns,
            ..ExportOptions::new(format, path)
        })
    }
}

/// Writes what `options` say.
///
/// # Errors
/// Those of [`Database::export`].
pub fn export(
    database: &Database,
    mut options: ExportOptions,
    watch: &ProgressWatch,
) -> Result<ExportSummary> {
    options.cancel = watch.cancel.clone();
    database.export(&options, &|now: &ExportProgress<'_>| {
        watch.tell(now.phase.name(), Some(now.fraction()), || now.file.to_owned());
    })
}

/// What was written, by name.
///
/// # Errors
/// If Python has no memory for it.
pub fn report<'py>(py: Python<'py>, exported: &ExportSummary) -> PyResult<Bound<'py, PyDict>> {
    let report = PyDict::new(py);
    report.set_item("vertices", exported.vertices_count)?;
    report.set_item("edges", exported.edges_count)?;
    let files = exported.files.iter().map(|file| {
        let row = PyDict::new(py);
        row.set_item("name", &file.name)?;
        row.set_item("rows", file.rows)?;
        row.set_item("bytes", file.bytes)?;
        Ok(row)
    });
    report.set_item("files", files.collect::<PyResult<Vec<_>>>()?)?;
    report.set_item("losses", &exported.losses)?;
    Ok(report)
}
