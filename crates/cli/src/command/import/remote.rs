//! Remote: files are sent to a server, which imports them as a job.
//!
//! ```text
//! files ──> upload, part by part ──> job: read, build, write, in one commit ──> report
//!              └ whatever fails: the upload is removed, and the database is as before
//! ```

use crate::command::import::arguments::{
    FirstLineArgument, IdTypeArgument, ImportArguments, OnDuplicateArgument, OnError, OnUnknownArgument,
};
use crate::command::import::report::{BadRowsReport, ImportReport, PolicyReport};
use crate::context::Context;
use crate::download::{Download, result_of};
use crate::loading::LabelRow;
use crate::remote_job::tell;
use crate::target::UncheckedUrl;
use evergraph::export::options::{ExportFormat, ExportOptions};
use evergraph::import::options::{HeaderPlace, ImportOptions, InputFile};
use evergraph_client::admin::jobs::JobRequest;
use evergraph_graph::error::{Error, Result};
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::{counted, size, time};
use evergraph_terminal::result_file::failure;
use evergraph_terminal::table::visible;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What a folder says of its files itself.
const FOLDER_MAPPING: &str = "import.toml";

/// Sends the files, imports them, and reports.
///
/// # Errors
/// `invalid` for options that a server has no use for; those of reading, sending, and of the job.
pub(super) fn execute(
    arguments: &ImportArguments,
    url: &UncheckedUrl,
    options: &ImportOptions,
    context: &Context,
) -> std::result::Result<(), Failure> {
    arguments.refuse_with_url()?;
    let files = Files::new(arguments, options)?;
    let report_options = arguments.report.as_ref().map(|path| {
        // It is replaced, as that of a folder is.
        ExportOptions { overwrite: true, ..ExportOptions::new(ExportFormat::GraphSon, path) }
    });
    let meter = context.console.meter();
    let began = Instant::now();
    let admin = arguments.access.admin(url, context)?;
    let upload = admin.begin_upload()?;
    let (mut sent, all) = (0, files.bytes);
    for (name, path) in &files.uploaded {
        let opened = File::open(path).map_err(|error| failure(&format!("read {}", path.display()), error))?;
        let length = opened.metadata().ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len());
        upload.send(name, &mut &opened, length, &mut |bytes| {
            let share = (sent + bytes) as f64 / all.max(1) as f64;
            meter.tell("upload", Some(share.min(1.0)), || {
                format!("{}, {}", visible(name), size(sent + bytes))
            });
        })?;
        sent += length.unwrap_or_default();
    }
    let upload_seconds = began.elapsed().as_secs_f64();
    let request = arguments.request(options, &files)?.with("upload", upload.id());
    let made: RemoteImport = match report_options {
        Some(options) => {
            let request = request.with("report", true);
            Download::file(&options)?.run(&admin, &request, &options, &meter)?
        }
        None => {
            let job = admin.start_job(&request)?;
            let job = admin.follow_job(&job.id, &mut |progress| tell(&meter, progress))?;
            result_of(&job)?
        }
    };
    drop(meter);
    let report = arguments.report.as_ref().map(|path| path.display().to_string());
    context.console.summary(&ImportReport {
        load: RemoteLoad {
            database: admin.client().url().to_string(),
            commit: made.commit,
            vertices_count: made.vertices,
            edges_count: made.edges,
            uploaded_bytes: sent,
            upload_seconds,
            load_seconds: began.elapsed().as_secs_f64() - upload_seconds,
        },
        bad_rows: BadRowsReport { count: made.bad_rows, first: made.first_bad_rows, report },
        settled: PolicyReport {
            duplicates: made.duplicates,
            unknown: made.edges_left_out,
            repeated_pairs: made.repeated_pairs,
            created: made.vertices_created,
        },
        memory_bytes: None,
        spilled_bytes: made.spilled_bytes,
        notes: made.notes,
        ignored_files: made.ignored_files,
        guessed_files: made.guessed_files,
    })
}

/// What a job of a server did.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RemoteImport {
    commit: u64,
    vertices: u64,
    edges: u64,
    bad_rows: u64,
    first_bad_rows: Vec<String>,
    duplicates: u64,
    repeated_pairs: u64,
    edges_left_out: u64,
    vertices_created: Vec<LabelRow>,
    spilled_bytes: u64,
    notes: Vec<String>,
    ignored_files: Vec<String>,
    guessed_files: Vec<String>,
}

/// What was added to a database of a server.
#[derive(Debug, Serialize)]
struct RemoteLoad {
    database: String,
    commit: u64,
    vertices_count: u64,
    edges_count: u64,
    uploaded_bytes: u64,
    upload_seconds: f64,
    load_seconds: f64,
}

impl fmt::Display for RemoteLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |seconds: f64| time(Duration::try_from_secs_f64(seconds).unwrap_or_default());
        writeln!(
            f,
            "{}: {} and {} added; {} uploaded in {}, imported in {}",
            visible(&self.database),
            counted(self.vertices_count, "vertex", "vertices"),
            counted(self.edges_count, "edge", "edges"),
            size(self.uploaded_bytes),
            seconds(self.upload_seconds),
            seconds(self.load_seconds),
        )
    }
}

/// The files that are sent, and what is said of each.
struct Files {
    /// By the names that they get.
    uploaded: BTreeMap<String, PathBuf>,
    bytes: u64,
    /// What the job is told of them; `None` if they are all that is in a folder.
    from: Option<Vec<Value>>,
    mapping: Option<String>,
}

impl Files {
    fn new(arguments: &ImportArguments, options: &ImportOptions) -> Result<Self> {
        let mut files = Self { uploaded: BTreeMap::new(), bytes: 0, from: None, mapping: None };
        let folder = options.files.iter().find(|file| file.path.is_dir());
        match (folder, &options.files[..]) {
            (Some(folder), [_]) => files.add_folder(&folder.path)?,
            (Some(folder), _) => {
                let folder = folder.path.display();
                return Err(Error::invalid(format!(
                    "with a URL name files, or one folder and nothing else: {folder} is a folder"
                )));
            }
            (None, named) => {
                let from = named.iter().map(|file| files.add_named(file)).collect::<Result<_>>()?;
                files.from = Some(from);
            }
        }
        if let Some(path) = &arguments.mapping {
            let name = name_of(path)?;
            if files.uploaded.get(&name).is_none_or(|known| known != path) {
                files.add(path)?;
            }
            files.mapping = Some(name);
        }
        Ok(files)
    }

    fn add_named(&mut self, file: &InputFile) -> Result<Value> {
        if file.path == Path::new("-") {
            let text = "with a URL files are read by their names, which tell their formats, and standard input has none: \
                        write it to a file";
            return Err(Error::invalid(text));
        }
        let mut entry = Map::new();
        entry.insert("path".to_owned(), self.add(&file.path)?.into());
        if let Some(role) = file.role {
            entry.insert("holds".to_owned(), role.name().ok_or_else(no_relationships)?.into());
        }
        for (member, value) in [("label", &file.label), ("type", &file.edge_type)] {
            if let Some(value) = value {
                entry.insert(member.to_owned(), value.as_str().into());
            }
        }
        Ok(Value::Object(entry))
    }

    /// Adds all files below a folder, as an import of the folder itself would read them.
    fn add_folder(&mut self, folder: &Path) -> Result<()> {
        let entries = fs::read_dir(folder).map_err(|error| unread(folder, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unread(folder, error))?;
            let path = entry.path();
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if entry.file_type().map_err(|error| unread(&path, error))?.is_dir() {
                if folder.join(FOLDER_MAPPING).exists() {
                    return Err(Error::invalid(format!(
                        "{} has a mapping and a folder, {}: with a URL all files of a mapping lie beside it",
                        folder.display(),
                        path.display()
                    )));
                }
                self.add_folder(&path)?;
            } else {
                self.add(&path)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &Path) -> Result<String> {
        let name = name_of(path)?;
        if let Some(other) = self.uploaded.insert(name.clone(), path.to_owned()) {
            return Err(Error::invalid(format!(
                "{} and {} have the same name, and a server keeps the files of an import in one folder: rename one",
                other.display(),
                path.display()
            )));
        }
        self.bytes += fs::metadata(path).map_err(|error| unread(path, error))?.len();
        Ok(name)
    }
}

fn name_of(path: &Path) -> Result<String> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| {
        Error::invalid(format!("{}: a file for a server has a name, and one that is text", path.display()))
    })
}

fn unread(path: &Path, error: std::io::Error) -> Error {
    let kind = match error.kind() {
        std::io::ErrorKind::NotFound => evergraph_graph::error::ErrorKind::NotFound,
        _ => evergraph_graph::error::ErrorKind::Io,
    };
    Error::new(kind, format!("read {}: {error}", path.display())).because(error)
}

fn no_relationships() -> Error {
    Error::invalid(
        "--relationships cannot be sent to a server: use --edges, which reads CSV, Parquet and lists",
    )
}

impl ImportArguments {
    /// Refuses options that are about a folder.
    fn refuse_with_url(&self) -> Result<()> {
        let of_server = "the server has its own";
        let given = [
            ("--engine", self.engine.is_some(), "the database is there"),
            ("--memory", self.memory.is_some(), of_server),
            ("--temporary", self.temporary.is_some(), of_server),
        ];
        if let Some((option, _, why)) = given.into_iter().find(|(_, is_given, _)| *is_given) {
            return Err(Error::invalid(format!("{option} has no effect on a server: {why}; leave it out")));
        }
        if !self.relationships.is_empty() {
            return Err(no_relationships());
        }
        Ok(())
    }

    /// What the job is asked to do, but for the upload.
    fn request(&self, options: &ImportOptions, files: &Files) -> Result<JobRequest> {
        let character = |byte: u8| char::from(byte).to_string();
        let header = options.files.first().map_or(&HeaderPlace::FirstLine, |file| &file.header);
        if options.files.iter().any(|file| file.header != *header) {
            let text = "with a URL files after a comma, which share the header of the first, cannot be sent: give each file \
                        its header, or all --header";
            return Err(Error::invalid(text));
        }
        let (header, replaced) = match header {
            HeaderPlace::FirstLine => (None, None),
            HeaderPlace::Given(text) => (Some(text.as_str()), None),
            HeaderPlace::Replaced(text) => (None, Some(text.as_str())),
        };
        let quote = self.quote.map(|quote| quote.0.map_or_else(String::new, character));
        let array_delimiter = (self.array_delimiter != b';').then(|| character(self.array_delimiter));
        let skips = self.on_error == OnError::Skip || self.max_bad.is_some();
        let on_duplicate = match self.on_duplicate {
            OnDuplicateArgument::Fail => None,
            OnDuplicateArgument::First => Some("first"),
            OnDuplicateArgument::Last => Some("last"),
        };
        let on_unknown = match self.on_unknown {
            OnUnknownArgument::Fail => None,
            OnUnknownArgument::Skip => Some("skip"),
            OnUnknownArgument::Create => Some("create"),
        };
        let first_line = self.first_line.map(|first_line| match first_line {
            FirstLineArgument::Header => "header",
            FirstLineArgument::Data => "data",
        });
        Ok(JobRequest::new("import")
            .with_some("from", files.from.clone())
            .with_some("mapping", files.mapping.clone())
            .with_some("delimiter", self.delimiter.map(character))
            .with_some("quote", quote)
            .with_some("arrayDelimiter", array_delimiter)
            .with_some("escape", self.escape.map(character))
            .with_some("null", self.null.clone())
            .with_some("header", header)
            .with_some("replaceHeader", replaced)
            .with_some("firstLine", first_line)
            .with_some("idType", (self.id_type == IdTypeArgument::Integer).then_some("integer"))
            .with_some("vertexLabel", self.label.clone())
            .with_some("edgeType", self.edge_type.clone())
            .with_some("vertexIds", self.vertices.as_ref().map(|ids| json!([ids.start, ids.end])))
            .with_some("edgeColumns", self.columns.clone())
            .with_some("vertexColumns", self.vertex_columns.clone())
            .with_some("vertexId", self.vertex_id.clone())
            .with_some("edgeId", self.edge_id.clone())
            .with_some("onDuplicate", on_duplicate)
            .with_some("onUnknown", on_unknown)
            .with_some("onBadRow", skips.then_some("skip"))
            .with_some("badRowsMax", self.max_bad))
    }
}
