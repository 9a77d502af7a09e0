//! Copying: backups and exports, to be fetched or into a folder of the server.

use crate::jobs::job::{JobControl, WorkResult};
use crate::jobs::registry::Work;
use crate::jobs::resources::JobResources;
use crate::spool::job_folder::JobFolder;
use crate::spool::relative_path;
use evergraph::Options;
use evergraph::export::options::{ExportFormat, ExportOptions, ExportProgress, Packing};
use evergraph::{Database, Error, ErrorKind, Result};
use serde::Deserialize;
use serde_json::json;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is asked of a backup.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BackupRequest {
    /// The folder below that of the server; without it the files are to be fetched.
    to: Option<String>,
    /// Whether the copy is read back.
    #[serde(default)]
    check: bool,
}

/// What is asked of an export.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExportRequest {
    /// The folder or file below that of the server; without it the files are to be fetched.
    to: Option<String>,
    format: Option<String>,
    packing: Option<String>,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    types: Vec<String>,
    #[serde(default)]
    edge_columns: Vec<String>,
    #[serde(default)]
    vertex_columns: Vec<String>,
    #[serde(default)]
    overwrite: bool,
}

impl BackupRequest {
    /// What does it.
    ///
    /// # Errors
    /// `invalid` for a path that leaves its folder, and if there is no place for the copy.
    pub fn work(self, database: &str, resources: &Arc<JobResources>) -> Result<Work> {
        let place = Place::new(self.to, resources)?;
        let name = format!("{database}{}", crate::databases::name::ENDING);
        Ok(Box::new(move |control| {
            let output = place.open(control, &name)?;
            let mut report = output.ended(back_up(control, &output, self.check))?;
            report["to"] = place.to.clone().into();
            Ok(WorkResult { report, folder: output.folder })
        }))
    }
}

fn back_up(control: &JobControl<'_>, output: &Output, is_checked: bool) -> Result<serde_json::Value> {
    let (database, path) = (control.database(), &*output.path);
    let made = database.backup(path, &mut |now| {
        if !output.may_grow() {
            return ControlFlow::Break(());
        }
        control.tell_on("copy", now.bytes_done, Some(now.bytes_total), "bytes")
    })?;
    if is_checked {
        let memory_limit_bytes = database.store().budget().limit_bytes();
        let options = Options { create: false, memory_limit_bytes, ..Options::default() };
        let found = Database::check_copy(path, &options, &mut |part, done, total| {
            control.tell_on(part, done, (total > 0).then_some(total), "groups")
        })
        .inspect_err(|_| {
            // A copy of which nobody knows whether it is whole is none; one that is damaged stays, to be looked at.
            let _ = std::fs::remove_dir_all(path);
        })?;
        if let Some(first) = found.findings.first() {
            let text =
                format!("the backup was written, but reads back damaged: {}: {}", first.place, first.problem);
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
    }
    Ok(json!({
        "through": made.through.0,
        "vertices": made.vertices_count,
        "edges": made.edges_count,
        "bytesWritten": made.bytes_written,
        "checked": is_checked,
    }))
}

impl ExportRequest {
    /// What does it.
    ///
    /// # Errors
    /// `invalid` for a format or a packing that there isn't, a path that leaves its folder, and if there is no place for
    /// the files.
    pub fn work(self, database: &str, resources: &Arc<JobResources>) -> Result<Work> {
        let packing = self.packing.as_deref().map(Packing::from_name).transpose()?;
        let format = match (self.format.as_deref(), &self.to) {
            (Some(name), _) => ExportFormat::from_name(name)?,
            (None, Some(to)) => ExportFormat::of_path(Path::new(to)).ok_or_else(|| {
                let known = ExportFormat::ALL.map(ExportFormat::name).join(", ");
                Error::invalid(format!("{to:?} does not tell the format: `format` is one of {known}"))
            })?,
            (None, None) => ExportFormat::Csv,
        };
        let ending = match format {
            ExportFormat::GraphSon => ".json",
            ExportFormat::GraphMl => ".graphml",
            _ => "",
        };
        let packed = packing.filter(|_| format.is_one_file()).unwrap_or_default().ending();
        let name = format!("{database}{ending}{packed}");
        let place = Place::new(self.to.clone(), resources)?;
        Ok(Box::new(move |control| {
            let output = place.open(control, &name)?;
            let options = ExportOptions {
                overwrite: self.overwrite,
                packing,
                labels: self.labels,
                types: self.types,
                edge_columns: self.edge_columns,
                vertex_columns: self.vertex_columns,
                cancel: control.cancel().clone(),
                ..ExportOptions::new(format, &output.path)
            };
            let tell = |now: &ExportProgress<'_>| {
                control.tell(now.phase.name(), now.rows, Some(now.rows_total), "rows");
                if !output.may_grow() {
                    control.cancel().cancel();
                }
            };
            let made = output.ended(control.database().export(&options, &tell))?;
            let file = |file: &evergraph::export::options::ExportedFile| json!({"name": file.name, "rows": file.rows, "bytes": file.bytes});
            let report = json!({
                "to": place.to,
                "format": format.name(),
                "files": made.files.iter().map(file).collect::<Vec<_>>(),
                "vertices": made.vertices_count,
                "edges": made.edges_count,
                "notCarried": made.losses,
            });
            Ok(WorkResult { report, folder: output.folder })
        }))
    }
}

/// Where files are to go.
struct Place {
    /// Below the folder of the server.
    to: Option<String>,
    resources: Arc<JobResources>,
}

/// Where files go.
struct Output {
    path: PathBuf,
    /// The folder that clients know the path by.
    base: PathBuf,
    /// `None` for files that are not fetched.
    folder: Option<Arc<JobFolder>>,
    /// Why no more may be written.
    excess: Mutex<Option<Error>>,
}

impl Place {
    fn new(to: Option<String>, resources: &Arc<JobResources>) -> Result<Self> {
        match &to {
            // What is wrong is told before the job begins.
            Some(to) => drop(relative_path::new(resources.export_folder()?, to)?),
            None => drop(Arc::clone(resources.spool()?)),
        }
        Ok(Self { to, resources: Arc::clone(resources) })
    }

    fn open(&self, control: &JobControl<'_>, name: &str) -> Result<Output> {
        match &self.to {
            Some(to) => {
                let base = self.resources.export_folder()?;
                let path = relative_path::new(base, to)?;
                Ok(Output { path, base: base.to_owned(), folder: None, excess: Mutex::default() })
            }
            None => {
                let folder = self.resources.create_job_folder(control.id())?;
                let (path, base) = (folder.path().join(name), folder.path().to_owned());
                Ok(Output { path, base, folder: Some(Arc::new(folder)), excess: Mutex::default() })
            }
        }
    }
}

impl Output {
    /// Whether there is room for what was written so far. The folder of the server has no limit but its disk.
    fn may_grow(&self) -> bool {
        let Some(folder) = &self.folder else { return true };
        match folder.count_now_and_then() {
            Ok(()) => true,
            Err(error) => {
                *self.excess() = Some(error);
                false
            }
        }
    }

    /// What came of writing, or why that was stopped; without folders of the server.
    fn ended<T>(&self, outcome: Result<T>) -> Result<T> {
        if let Some(excess) = self.excess().take() {
            return Err(excess);
        }
        let made = outcome.map_err(|error| self.shown(error))?;
        self.folder.as_ref().map_or(Ok(()), |folder| folder.count())?;
        Ok(made)
    }

    fn excess(&self) -> MutexGuard<'_, Option<Error>> {
        self.excess.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `error` without folders of the server.
    fn shown(&self, error: Error) -> Error {
        let text = relative_path::without_folder(&error.to_string(), &self.base);
        Error::new(error.kind(), text).because(error)
    }
}
