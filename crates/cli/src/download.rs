//! Download: files that a job of a server made become a local folder or file, which appears as a whole or not at all.
//!
//! ```text
//! job is done ──> list of its files ──> parts, one after another ──> temporary name ──> name
//!                                          └ whatever fails: nothing is left, here and on the server
//! ```

use crate::remote_job::tell;
use evergraph::export::options::{ExportOptions, Packing};
use evergraph::export::target::{FileTarget, FolderTarget, write_failed};
use evergraph_client::admin::call::Admin;
use evergraph_client::admin::job_files::RemoteFile;
use evergraph_client::admin::jobs::{JobRequest, RemoteJob};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_terminal::meter::Meter;
use evergraph_terminal::number::size;
use serde::de::DeserializeOwned;
use std::io::Write;
use std::path::Path;

/// What a server's files become.
pub enum Download {
    /// A folder of files.
    Folder(FolderTarget),
    /// One file, or standard output.
    File(FileTarget),
}

/// A job whose files are on the server. Dropped, it is forgotten there, with them.
struct DoneJob<'a> {
    admin: &'a Admin,
    job: RemoteJob,
}

impl Download {
    /// A folder at the output of `options`, which nothing is at yet, or what may be replaced.
    ///
    /// # Errors
    /// Those of [`FolderTarget::create`].
    pub fn folder(options: &ExportOptions) -> Result<Self> {
        FolderTarget::create(options).map(Self::Folder)
    }

    /// The same of a file.
    ///
    /// # Errors
    /// Those of [`FileTarget::create`].
    pub fn file(options: &ExportOptions) -> Result<Self> {
        FileTarget::create(options).map(Self::File)
    }

    /// Does `request` on the server, and fetches what it made; returns the job's result.
    ///
    /// # Errors
    /// Those of the job and of fetching; `cancelled`. Nothing is left then.
    pub fn run<T: DeserializeOwned>(
        self,
        admin: &Admin,
        request: &JobRequest,
        options: &ExportOptions,
        meter: &Meter,
    ) -> Result<T> {
        let started = admin.start_job(request)?;
        let job = admin.follow_job(&started.id, &mut |progress| tell(meter, progress))?;
        let done = DoneJob { admin, job };
        let result = result_of(&done.job)?;
        let files = admin.job_files(&done.job.id)?;
        let mut fetched =
            Fetching { done: &done, bytes_all: files.iter().map(|file| file.bytes).sum(), bytes: 0, meter };
        match self {
            Self::Folder(mut folder) => {
                fetched.folder(&mut folder, &files, &options.output)?;
                folder.finish()?;
            }
            Self::File(mut target) => {
                let [file] = &files[..] else {
                    return Err(Error::new(
                        ErrorKind::Io,
                        "the server made several files where one was meant",
                    ));
                };
                fetched.copy(file, &mut |part| {
                    target.write_all(part).map_err(|error| write_failed(&options.output, error))
                })?;
                target.flush().map_err(|error| write_failed(&options.output, error))?;
                target.finish(options.overwrite)?;
            }
        }
        Ok(result)
    }
}

/// The result of a job that is done.
///
/// # Errors
/// `io` if it has none of this form.
pub fn result_of<T: DeserializeOwned>(job: &RemoteJob) -> Result<T> {
    serde_json::from_value(job.result.clone().unwrap_or_default()).map_err(|error| {
        let text = format!(
            "the result of the server's job {} cannot be read ({error}): its version of Evergraph may be another one",
            job.id
        );
        Error::new(ErrorKind::Io, text)
    })
}

/// Files on their way.
struct Fetching<'a> {
    done: &'a DoneJob<'a>,
    bytes_all: u64,
    bytes: u64,
    meter: &'a Meter,
}

impl Fetching<'_> {
    fn folder(&mut self, folder: &mut FolderTarget, files: &[RemoteFile], output: &Path) -> Result<()> {
        for remote in files {
            // The job's folder has one folder, whose name is another one here.
            let name = remote.path.split_once('/').map_or(&*remote.path, |(_, name)| name);
            if name.contains('/') {
                let text = format!("the server made a folder in a folder, {name:?}, which nothing here has");
                return Err(Error::new(ErrorKind::Io, text));
            }
            let (name, mut file) = folder.file(name, Packing::None)?;
            self.copy(remote, &mut |part| {
                file.write_all(part).map_err(|error| write_failed(&output.join(&name), error))
            })?;
            folder.finish_file(name, file, 0)?;
        }
        Ok(())
    }

    fn copy(&mut self, file: &RemoteFile, write: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut reader = self.done.admin.job_file(&self.done.job.id, file)?;
        while let Some(part) = reader.next_part()? {
            write(part)?;
            self.bytes += part.len() as u64;
            let share = self.bytes as f64 / self.bytes_all.max(1) as f64;
            self.meter.tell("download", Some(share), || size(self.bytes));
        }
        Ok(())
    }
}

impl Drop for DoneJob<'_> {
    fn drop(&mut self) {
        self.admin.forget_job(&self.job.id);
    }
}
