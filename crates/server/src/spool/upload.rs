//! Upload: files of a client, for an import into one database.
//!
//! ```text
//! create ──> file: begin, write, finish ──> used by an import ──> removed when nobody has it
//!                     └── dropped before: nothing is left
//! ```

use crate::disk_error::failed;
use crate::random_id::RandomId;
use crate::spool::relative_path::check_file_name;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::planted::{Bug, planted};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a file is called until it is whole; no file of a client can be called so.
const PART_PREFIX: &str = ".part-";
/// Files of an upload.
const FILES_MAX: usize = 10_000;

/// How much of the disk uploads, and files of jobs to be fetched, take together.
#[derive(Debug)]
pub struct SpoolSpace {
    bytes_max: u64,
    /// Relaxed: nothing is published by it.
    bytes: AtomicU64,
}

impl SpoolSpace {
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self { bytes_max, bytes: AtomicU64::new(0) }
    }

    /// Bytes of all of them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether `more` bytes fit.
    ///
    /// # Errors
    /// `limit`, with what there is.
    pub fn check(&self, more: u64) -> Result<()> {
        if self.bytes().saturating_add(more) <= self.bytes_max || planted(Bug::UploadsUnlimited) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Limit,
            format!(
                "all uploads and files to be fetched together have at most {} bytes, of which {} are taken: import or delete \
                 some, or start the server with another --upload-limit",
                self.bytes_max,
                self.bytes()
            ),
        ))
    }

    /// Takes `more` bytes.
    ///
    /// # Errors
    /// As [`SpoolSpace::check`]; nothing is taken then.
    pub(crate) fn take(&self, more: u64) -> Result<()> {
        // Two that take at once may pass the limit by what they take, which is little.
        self.check(more)?;
        self.take_anyway(more);
        Ok(())
    }

    /// Takes `more` bytes, whether they fit or not: they are on the disk already.
    pub(crate) fn take_anyway(&self, more: u64) {
        self.bytes.fetch_add(more, Ordering::Relaxed);
    }

    /// Gives `bytes` back that were taken.
    pub(crate) fn give_back(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Files of a client.
///
/// Concurrency: one lock around the list of files; several are written side by side.
#[derive(Debug)]
pub struct Upload {
    id: RandomId,
    database: Box<str>,
    folder: PathBuf,
    space: Arc<SpoolSpace>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    bytes: u64,
    files_count: usize,
    used: Instant,
}

impl Upload {
    pub(crate) fn new(id: RandomId, database: &str, folder: PathBuf, space: Arc<SpoolSpace>) -> Self {
        let state = Mutex::new(State { bytes: 0, files_count: 0, used: Instant::now() });
        Self { id, database: database.into(), folder, space, state }
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> RandomId {
        self.id
    }

    /// The database that it is for.
    #[must_use]
    pub fn database(&self) -> &str {
        &self.database
    }

    /// Where its files are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How long nobody has used it.
    #[must_use]
    pub fn unused_for(&self) -> Duration {
        self.state().used.elapsed()
    }

    /// Notes that somebody uses it.
    pub fn touch(&self) {
        self.state().used = Instant::now();
    }

    /// Begins the file `name`.
    ///
    /// # Errors
    /// `invalid` for what cannot be a name, and for one that is taken; `limit` for too many files, and on a full disk;
    /// `io`.
    pub fn begin_file(self: &Arc<Self>, name: &str) -> Result<UploadFile> {
        check_file_name(name)?;
        if fs::symlink_metadata(self.folder.join(name)).is_ok() {
            return Err(taken(name));
        }
        {
            let mut state = self.state();
            state.used = Instant::now();
            if state.files_count >= FILES_MAX {
                let text = format!(
                    "an upload has at most {FILES_MAX} files: put them into an archive, or into another one"
                );
                return Err(Error::new(ErrorKind::Limit, text));
            }
        }
        let path = self.folder.join(format!("{PART_PREFIX}{}", RandomId::new()?));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(|error| failed("begin", Path::new(name), error))?;
        Ok(UploadFile {
            upload: Arc::clone(self),
            name: name.to_owned(),
            path,
            file,
            bytes: 0,
            is_whole: false,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let bytes = self.state().bytes;
        // Nobody can do more about it than the next start, which tries again.
        let _ = fs::remove_dir_all(&self.folder);
        self.space.give_back(bytes);
    }
}

/// A file that is being written. Dropped before its end, it leaves nothing.
#[derive(Debug)]
pub struct UploadFile {
    upload: Arc<Upload>,
    name: String,
    path: PathBuf,
    file: File,
    bytes: u64,
    is_whole: bool,
}

impl UploadFile {
    /// Appends `bytes`.
    ///
    /// # Errors
    /// `limit` if all uploads take too much, or if the disk is full; `io`.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let length = bytes.len() as u64;
        self.upload.space.take(length)?;
        self.bytes += length;
        self.upload.touch();
        self.file.write_all(bytes).map_err(|error| failed("write", Path::new(&self.name), error))
    }

    /// Gives the file its name; returns its size.
    ///
    /// # Errors
    /// `invalid` if the name was taken meanwhile; `io`.
    pub fn finish(mut self) -> Result<u64> {
        let path = self.upload.folder.join(&self.name);
        fs::hard_link(&self.path, &path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => taken(&self.name),
            _ => failed("finish", Path::new(&self.name), error),
        })?;
        let mut state = self.upload.state();
        state.bytes += self.bytes;
        state.files_count += 1;
        state.used = Instant::now();
        drop(state);
        self.is_whole = true;
        Ok(self.bytes)
    }
}

impl Drop for UploadFile {
    fn drop(&mut self) {
        // Of a whole file, this is its other name.
        let _ = fs::remove_file(&self.path);
        if !self.is_whole {
            self.upload.space.give_back(self.bytes);
        }
    }
}

fn taken(name: &str) -> Error {
    Error::invalid(format!("the upload has a file {name:?} already: name it otherwise, or delete the upload"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::folder::Spool;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_file_is_there_as_a_whole_or_not_at_all_within_the_limit_of_all() {
        let all = tempfile::tempdir().unwrap();
        let spool = Spool::open(all.path(), 10).unwrap();
        let upload = spool.create_upload("social").unwrap();
        let mut file = upload.begin_file("a.csv").unwrap();
        file.write(b"12345").unwrap();
        assert!(!upload.folder().join("a.csv").exists() && spool.space().bytes() == 5);
        drop(file);
        assert_eq!(fs::read_dir(upload.folder()).unwrap().count(), 0);
        let mut file = upload.begin_file("a.csv").unwrap();
        file.write(b"12345678").unwrap();
        assert_eq!(file.finish().unwrap(), 8);
        let path = upload.folder().join("a.csv");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(upload.begin_file("a.csv").unwrap_err().kind(), ErrorKind::Invalid);
        // Another upload shares the limit.
        let other = spool.create_upload("bank").unwrap();
        let mut file = other.begin_file("b.csv").unwrap();
        let error = file.write(b"123").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("--upload-limit"), "{error}");
        drop((file, upload, spool.take_all()));
        assert!(spool.space().bytes() == 0 && !path.exists());
        for hostile in ["../a", "/a", ".a", "a/b", ""] {
            assert_eq!(other.begin_file(hostile).unwrap_err().kind(), ErrorKind::Invalid, "{hostile:?}");
        }
    }
}
