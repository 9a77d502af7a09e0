//! Importing: files of an upload, or of a folder of the server, go into a database that is open.
//!
//! ```text
//! read         commits go on; edges find the vertices of a snapshot by their unique keys
//! build        reads go on, commits are refused as busy
//! write        the same, until it is durable; this is not cancelled any more
//! ```
//!
//! It is one commit: readers see all of it or nothing, and after an error or a crash the database is as before.

use crate::jobs::job::{JobControl, WorkResult};
use crate::jobs::registry::Work;
use crate::jobs::resources::JobResources;
use crate::random_id::RandomId;
use crate::spool::job_folder::JobFolder;
use crate::spool::relative_path;
use crate::spool::upload::Upload;
use evergraph::database::{ImportProgress, ImportReport};
use evergraph::import::mapping::document::Mapping;
use evergraph::import::options::{ImportOptions, InputFile, Role};
use evergraph::import::setting::SettingValue;
use evergraph::{EngineKind, Error, ErrorKind, Result};
use evergraph_graph::budget::Budget as _;
use evergraph_graph::cancel::CancelFlag;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// What the file with all bad rows is called.
const REPORT_NAME: &str = "bad_rows.csv";

/// What is asked of an import.
#[derive(Clone, Debug)]
pub struct ImportRequest {
    upload: Option<String>,
    /// Files and folders; of an upload all of it by default.
    from: Vec<FileRequest>,
    mapping: Option<String>,
    /// Whether all bad rows are written to a file that is fetched.
    report: bool,
    settings: Vec<(String, SettingValue)>,
}

/// A file or a folder, and what it holds.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FileRequest {
    path: String,
    holds: Option<String>,
    label: Option<String>,
    #[serde(rename = "type")]
    edge_type: Option<String>,
}

impl ImportRequest {
    /// What `members` ask for.
    ///
    /// # Errors
    /// `invalid` for unknown members and wrong values, by name.
    pub fn read(mut members: Map<String, Value>) -> Result<Self> {
        let text = |name: &str, value: Option<Value>| match value {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Error::invalid(format!("{name}: expected a text"))),
        };
        let upload = text("upload", members.remove("upload"))?;
        let mapping = text("mapping", members.remove("mapping"))?;
        let from = match members.remove("from") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(files)) => files.into_iter().map(file).collect::<Result<_>>()?,
            Some(one) => vec![file(one)?],
        };
        let report = match members.remove("report") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(report)) => report,
            Some(_) => return Err(Error::invalid("report: expected true or false")),
        };
        if upload.is_none() && from.is_empty() {
            return Err(Error::invalid(
                "an import reads files: `upload` is the id of an upload, `from` a path, or several, below the folder of the \
                 server for imports",
            ));
        }
        let settings = members
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| Ok((snake_case(&name), setting(&name, value)?)))
            .collect::<Result<Vec<_>>>()?;
        let request = Self { upload, from, mapping, report, settings };
        // What is wrong with names and values is told before the job begins.
        request.options(Vec::new())?;
        Ok(request)
    }

    /// What does it into `database`.
    ///
    /// # Errors
    /// `not_found` for an upload or files that are not there; `invalid` for paths that leave their folder, and if the
    /// server has no such folder.
    pub fn work(self, database: &str, resources: &Arc<JobResources>) -> Result<Work> {
        let source = self.source(database, resources)?;
        self.inputs(source.folder())?;
        if self.report {
            resources.spool()?;
        }
        let resources = Arc::clone(resources);
        Ok(Box::new(move |control| {
            let folder = match self.report {
                true => Some(resources.create_job_folder(control.id())?),
                false => None,
            };
            let imported = self.import(control, &source, folder.as_ref(), resources.threads);
            let report = imported.map_err(|error| {
                let text = relative_path::without_folder(&error.to_string(), source.folder());
                Error::new(error.kind(), text).because(error)
            })?;
            if let (Source::Upload(upload), Ok(spool)) = (&source, resources.spool()) {
                // It has gone where it was meant for.
                drop(spool.take_upload(upload.id()));
            }
            let report = report_of(&report, source.folder());
            Ok(WorkResult { report, folder: folder.map(Arc::new) })
        }))
    }

    fn source(&self, database: &str, resources: &JobResources) -> Result<Source> {
        let Some(id) = &self.upload else {
            return Ok(Source::Folder(resources.import_folder()?.to_owned()));
        };
        let spool = resources.spool()?;
        let upload = RandomId::parse(id).and_then(|id| spool.upload(id));
        let upload = upload.filter(|upload| upload.database() == database).ok_or_else(|| {
            let text = format!(
                "there is no upload {id:?} into this database; unused ones are removed after an hour"
            );
            Error::new(ErrorKind::NotFound, text)
        })?;
        upload.touch();
        Ok(Source::Upload(upload))
    }

    /// The files that are read, all below `folder`.
    fn inputs(&self, folder: &Path) -> Result<Vec<InputFile>> {
        if self.from.is_empty() {
            return Ok(vec![InputFile::new(folder)]);
        }
        let input = |file: &FileRequest| {
            Ok(InputFile {
                role: file.holds.as_deref().map(Role::from_name).transpose()?,
                label: file.label.clone(),
                edge_type: file.edge_type.clone(),
                ..InputFile::new(relative_path::existing(folder, &file.path)?)
            })
        };
        self.from.iter().map(input).collect()
    }

    fn options(&self, files: Vec<InputFile>) -> Result<ImportOptions> {
        let mut options = ImportOptions::new(files);
        for (name, value) in &self.settings {
            options.set(name, value.clone())?;
        }
        Ok(options)
    }

    fn import(
        &self,
        control: &JobControl<'_>,
        source: &Source,
        report: Option<&JobFolder>,
        threads: usize,
    ) -> Result<ImportReport> {
        let database = control.database();
        let mut options = self.options(self.inputs(source.folder())?)?;
        let mapping = self.mapping.as_deref().map(|path| relative_path::existing(source.folder(), path));
        options.mapping = mapping.transpose()?.as_deref().map(Mapping::read).transpose()?;
        options.bad_rows.report = report.map(|folder| folder.path().join(REPORT_NAME));
        options.threads = threads;
        // Half of what the database may take, as the disk engine has it by itself.
        let limit_bytes = database.store().budget().limit_bytes();
        options.memory =
            database.import_memory_bytes().or((limit_bytes != u64::MAX).then_some(limit_bytes / 2));
        let reserves_itself = database.engine() == EngineKind::Disk;
        let _memory = match options.memory.filter(|_| !reserves_itself) {
            Some(bytes) => Some(database.store().budget().reserve("import", bytes)?),
            None => None,
        };
        // A load that is stopped while it is made durable leaves a database that has to be opened again. So its flag is set
        // only before that: both other phases look at it right after they have told how far they are.
        let cancel = CancelFlag::default();
        options.cancel = cancel.clone();
        let excess = OnceLock::new();
        let imported = database.import(&options, &|now| {
            let may_stop = !matches!(now, ImportProgress::Writing(_));
            if may_stop && control.cancel().is_cancelled() {
                cancel.cancel();
            }
            // The report of bad rows is written while files are read.
            let counted = report.map_or(Ok(()), JobFolder::count_now_and_then);
            if let (true, Err(error)) = (may_stop, counted) {
                let _ = excess.set(error);
                cancel.cancel();
            }
            tell(control, now);
        });
        let imported = match (imported, excess.into_inner()) {
            (Err(_), Some(excess)) => Err(excess),
            (imported, _) => imported,
        };
        if let Some(folder) = report {
            folder.count_anyway();
        }
        if let Source::Upload(upload) = source {
            upload.touch();
        }
        imported
    }
}

/// Where the files are.
enum Source {
    Folder(PathBuf),
    Upload(Arc<Upload>),
}

impl Source {
    fn folder(&self) -> &Path {
        match self {
            Self::Folder(folder) => folder,
            Self::Upload(upload) => upload.folder(),
        }
    }
}

fn tell(control: &JobControl<'_>, now: &ImportProgress<'_>) {
    match now {
        ImportProgress::Reading(now) => control.tell("read", now.bytes_read, now.bytes_total, "bytes"),
        ImportProgress::Building(now) => control.tell("build", now.edges, Some(now.edges_total), "edges"),
        ImportProgress::Writing(now) => {
            control.tell("write", now.groups_done, Some(now.groups_count), "groups");
        }
        _ => {}
    }
}

fn file(value: Value) -> Result<FileRequest> {
    match value {
        Value::String(path) => Ok(FileRequest { path, holds: None, label: None, edge_type: None }),
        value => serde_json::from_value(value).map_err(|error| Error::invalid(format!("from: {error}"))),
    }
}

/// `vertexLabel` as `vertex_label`, which names are called where options are set.
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

fn setting(name: &str, value: Value) -> Result<SettingValue> {
    let wrong = || Error::invalid(format!("{name}: expected a text, a whole number, or several"));
    match value {
        Value::String(text) => Ok(SettingValue::Text(text)),
        Value::Number(number) => number.as_u64().map(SettingValue::Whole).ok_or_else(wrong),
        Value::Array(values) => match &values[..] {
            [Value::Number(from), Value::Number(to)] => {
                let range = from.as_i64().zip(to.as_i64());
                range.map(|(from, to)| SettingValue::Range(from, to)).ok_or_else(wrong)
            }
            texts => {
                let texts = texts.iter().map(|text| text.as_str().map(str::to_owned));
                texts.collect::<Option<_>>().map(SettingValue::Texts).ok_or_else(wrong)
            }
        },
        _ => Err(wrong()),
    }
}

/// What an import did, with files as their client knows them.
fn report_of(report: &ImportReport, folder: &Path) -> Value {
    let shown = |text: &str| relative_path::without_folder(text, folder);
    let paths = |paths: &[PathBuf]| -> Vec<String> {
        paths.iter().map(|path| shown(&path.display().to_string())).collect()
    };
    let files = &report.files;
    let created: Vec<_> = files
        .settled
        .created
        .iter()
        .map(|(label, vertices)| json!({"label": label, "vertices": vertices}))
        .collect();
    json!({
        "commit": report.loaded.timestamp.0,
        "vertices": report.vertices_count,
        "edges": report.edges_count,
        "badRows": files.bad_rows.count,
        "firstBadRows": files.bad_rows.first.iter().map(|row| shown(&row.to_string())).collect::<Vec<_>>(),
        "duplicates": files.settled.duplicates,
        "repeatedPairs": files.settled.repeated_pairs,
        "edgesLeftOut": files.settled.unknown,
        "verticesCreated": created,
        "spilledBytes": files.spilled_bytes,
        "notes": files.notes.iter().map(|note| shown(note)).collect::<Vec<_>>(),
        "ignoredFiles": paths(&files.ignored_files),
        "guessedFiles": paths(&files.guessed_files),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(request: Value) -> Result<ImportRequest> {
        let Value::Object(members) = request else { unreachable!("an object") };
        ImportRequest::read(members)
    }

    #[test]
    fn members_are_read_by_their_names_and_what_is_wrong_is_named() {
        let request = read(json!({
            "from": ["people.csv", {"path": "knows.csv", "holds": "edges", "type": "KNOWS"}],
            "onUnknown": "skip", "badRowsMax": 3, "vertexIds": [0, 9], "formats": ["csv"], "report": true,
            "delimiter": null,
        }))
        .unwrap();
        assert_eq!((request.from.len(), request.settings.len()), (2, 4));
        for (wrong, said) in [
            (json!({}), "upload"),
            (json!({"from": 7}), "from"),
            (json!({"from": "a", "onUnknwon": "skip"}), "on_unknown"),
            (json!({"from": "a", "onUnknown": "maybe"}), "create"),
            (json!({"from": "a", "temporary": "/tmp"}), "temporary"),
            (json!({"from": "a", "threads": 4}), "threads"),
            (json!({"from": {"path": "a", "role": "edges"}}), "role"),
            (json!({"from": "a", "delimiter": {"a": 1}}), "delimiter"),
        ] {
            let error = read(wrong.clone()).unwrap_err().to_string();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }
}
