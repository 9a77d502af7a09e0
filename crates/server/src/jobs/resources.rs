//! Resources: what jobs may use beside their database: folders of the server, threads.

use crate::jobs::job::Job;
use crate::spool::folder::Spool;
use crate::spool::job_folder::JobFolder;
use crate::spool::options::FileOptions;
use crate::spool::upload::Upload;
use evergraph_graph::error::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The folder of uploads below a root of databases.
const ROOT_SPOOL_NAME: &str = ".evergraph-spool";
/// How long an upload may be unused.
const UPLOAD_UNUSED_MAX: Duration = Duration::from_secs(3600);

/// What jobs may use.
pub struct JobResources {
    spool: Option<Arc<Spool>>,
    import_folder: Option<PathBuf>,
    export_folder: Option<PathBuf>,
    /// Threads that one job may use: half of the machine's.
    pub threads: usize,
}

impl JobResources {
    /// Opens the folders that `options` name; `root` is that of the databases.
    ///
    /// # Errors
    /// `not_found` and `invalid` without a folder that is named; `busy` if another server has the spool; `io`.
    pub fn open(options: &FileOptions, root: Option<&Path>) -> Result<Self> {
        let spool = options.spool.clone().or_else(|| Some(root?.join(ROOT_SPOOL_NAME)));
        let spool = spool.map(|path| Spool::open(&path, options.upload_bytes_max)).transpose()?;
        let named = |option: &str, folder: &Option<PathBuf>| {
            folder.as_deref().map(|folder| existing_folder(option, folder)).transpose()
        };
        Ok(Self {
            spool: spool.map(Arc::new),
            import_folder: named("--import-folder", &options.import_folder)?,
            export_folder: named("--export-folder", &options.export_folder)?,
            threads: thread::available_parallelism().map_or(1, |count| count.get().div_ceil(2)),
        })
    }

    /// Where uploads lie, and files to be fetched.
    ///
    /// # Errors
    /// `invalid` if the server has no place for them.
    pub fn spool(&self) -> Result<&Arc<Spool>> {
        self.spool.as_ref().ok_or_else(|| {
            Error::invalid(
                "this server has no place for uploads and for files to be fetched: start it with --spool FOLDER, or with \
                 --root",
            )
        })
    }

    /// The folder below which imports read.
    ///
    /// # Errors
    /// `invalid` if there is none.
    pub fn import_folder(&self) -> Result<&Path> {
        self.import_folder.as_deref().ok_or_else(|| {
            let text =
                "this server reads no files of its own: start it with --import-folder FOLDER, or upload them";
            Error::invalid(text)
        })
    }

    /// The folder below which exports and backups write.
    ///
    /// # Errors
    /// `invalid` if there is none.
    pub fn export_folder(&self) -> Result<&Path> {
        self.export_folder.as_deref().ok_or_else(|| {
            let text = "this server writes no files of its own: start it with --export-folder FOLDER, or leave `to` out \
                        and fetch them";
            Error::invalid(text)
        })
    }

    /// A folder for what `job` makes.
    ///
    /// # Errors
    /// As [`JobResources::spool`]; `io`; `limit` on a full disk.
    pub(crate) fn create_job_folder(&self, job: crate::random_id::RandomId) -> Result<JobFolder> {
        self.spool()?.create_job_folder(job)
    }

    /// Bytes of all uploads, and of all files to be fetched.
    #[must_use]
    pub fn upload_bytes(&self) -> u64 {
        self.spool.as_ref().map_or(0, |spool| spool.space().bytes())
    }

    /// Takes what nobody has used for an hour from the list. Dropping what is returned removes files.
    #[must_use]
    pub fn take_unused(&self) -> Vec<Arc<Upload>> {
        self.spool.as_ref().map_or_else(Vec::new, |spool| spool.take_unused(UPLOAD_UNUSED_MAX))
    }

    /// Takes all uploads from the list, at the end of the server.
    #[must_use]
    pub fn take_all(&self) -> Vec<Arc<Upload>> {
        self.spool.as_ref().map_or_else(Vec::new, |spool| spool.take_all())
    }
}

/// What is to be dropped where nobody waits for it, since files go with it.
#[derive(Default)]
pub struct Forgotten {
    /// Jobs that ended long ago.
    pub jobs: Vec<Arc<Job>>,
    /// Uploads that nobody used.
    pub uploads: Vec<Arc<Upload>>,
}

impl Forgotten {
    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.uploads.is_empty()
    }
}

fn existing_folder(option: &str, folder: &Path) -> Result<PathBuf> {
    let shown = folder.display();
    let found = folder.canonicalize().map_err(|error| {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => evergraph_graph::error::ErrorKind::NotFound,
            _ => evergraph_graph::error::ErrorKind::Io,
        };
        Error::new(kind, format!("{option} {shown}: {error}")).because(error)
    })?;
    match found.is_dir() {
        true => Ok(found),
        false => Err(Error::invalid(format!("{option} {shown} is no folder"))),
    }
}
