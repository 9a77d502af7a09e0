//! Spool folder: where uploads lie, and files to be fetched, for one server at a time.

use crate::disk_error::failed;
use crate::random_id::RandomId;
use crate::spool::job_folder::JobFolder;
use crate::spool::upload::{SpoolSpace, Upload};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::planted::{Bug, planted};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Locked by the server that has the spool.
const LOCK_NAME: &str = "lock";
const UPLOADS: &str = "uploads";
const JOBS: &str = "jobs";
/// Uploads that are there at once.
const UPLOADS_MAX: usize = 64;

/// The folder of uploads and of files to be fetched.
///
/// Concurrency: one lock around the list of uploads. Everything here waits for the disk, so no network thread calls it.
pub struct Spool {
    path: PathBuf,
    _lock: File,
    space: Arc<SpoolSpace>,
    uploads: Mutex<BTreeMap<RandomId, Arc<Upload>>>,
}

impl Spool {
    /// Takes the folder `path`, which is made if it is not there, and removes what another server left in it.
    ///
    /// # Errors
    /// `busy` if another server has it; `io`.
    pub fn open(path: &Path, upload_bytes_max: u64) -> Result<Self> {
        let failed = |error| failed("open the spool", path, error);
        make_folder(path).map_err(failed)?;
        let path = path.canonicalize().map_err(failed)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path.join(LOCK_NAME))
            .map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let text = format!(
                    "another server has the spool {}: stop it, or name another folder by --spool",
                    path.display()
                );
                return Err(Error::new(ErrorKind::Busy, text));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        for folder in [UPLOADS, JOBS] {
            let folder = path.join(folder);
            make_folder(&folder).map_err(failed)?;
            if !planted(Bug::SpoolNotSwept) {
                remove_leftovers(&folder).map_err(failed)?;
            }
        }
        let space = Arc::new(SpoolSpace::new(upload_bytes_max));
        Ok(Self { path, _lock: lock, space, uploads: Mutex::default() })
    }

    /// Bytes of uploads and of files to be fetched, and how many there may be.
    #[must_use]
    pub fn space(&self) -> &Arc<SpoolSpace> {
        &self.space
    }

    /// Makes an upload into `database`.
    ///
    /// # Errors
    /// `busy` if there are too many; `io`; `limit` on a full disk.
    pub fn create_upload(&self, database: &str) -> Result<Arc<Upload>> {
        let mut uploads = self.uploads();
        if uploads.len() >= UPLOADS_MAX {
            let text = format!(
                "there are {UPLOADS_MAX} uploads already: import or delete some; those that are not used go by themselves"
            );
            return Err(Error::new(ErrorKind::Busy, text));
        }
        let id = RandomId::new()?;
        let folder = self.path.join(UPLOADS).join(id.to_string());
        make_folder(&folder).map_err(|error| failed("make an upload", &folder, error))?;
        let upload = Arc::new(Upload::new(id, database, folder, Arc::clone(&self.space)));
        uploads.insert(id, Arc::clone(&upload));
        Ok(upload)
    }

    /// The upload with this id.
    #[must_use]
    pub fn upload(&self, id: RandomId) -> Option<Arc<Upload>> {
        self.uploads().get(&id).cloned()
    }

    /// Takes an upload from the list: its files are removed when nobody uses it any more, which is when what this returns is
    /// dropped at the earliest.
    pub fn take_upload(&self, id: RandomId) -> Option<Arc<Upload>> {
        self.uploads().remove(&id)
    }

    /// Takes those from the list that nobody has used for `time`.
    #[must_use]
    pub fn take_unused(&self, time: Duration) -> Vec<Arc<Upload>> {
        let mut uploads = self.uploads();
        let is_unused = |upload: &Arc<Upload>| Arc::strong_count(upload) == 1 && upload.unused_for() >= time;
        let ids: Vec<RandomId> =
            uploads.iter().filter(|(_, upload)| is_unused(upload)).map(|(id, _)| *id).collect();
        ids.iter().filter_map(|id| uploads.remove(id)).collect()
    }

    /// Takes all from the list, at the end of the server.
    #[must_use]
    pub fn take_all(&self) -> Vec<Arc<Upload>> {
        std::mem::take(&mut *self.uploads()).into_values().collect()
    }

    /// Makes the folder of the job `id`.
    ///
    /// # Errors
    /// `io`; `limit` on a full disk.
    pub fn create_job_folder(&self, id: RandomId) -> Result<JobFolder> {
        let folder = self.path.join(JOBS).join(id.to_string());
        make_folder(&folder).map_err(|error| failed("make a folder for files", &folder, error))?;
        Ok(JobFolder::new(folder, Arc::clone(&self.space)))
    }

    fn uploads(&self) -> MutexGuard<'_, BTreeMap<RandomId, Arc<Upload>>> {
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a folder that the server alone reads; nothing if it is there.
fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(path)
}

/// Removes what another server left: nothing else is called like a job or an upload.
fn remove_leftovers(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_ours = entry.file_name().to_str().and_then(RandomId::parse).is_some();
        if is_ours && entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn one_server_has_a_spool_and_removes_what_another_left_and_nothing_else() {
        let all = tempfile::tempdir().unwrap();
        let path = all.path().join("spool");
        let spool = Spool::open(&path, 100).unwrap();
        assert_eq!(Spool::open(&path, 100).err().unwrap().kind(), ErrorKind::Busy);
        let (upload, folder) = (
            spool.create_upload("social").unwrap(),
            spool.create_job_folder(RandomId::new().unwrap()).unwrap(),
        );
        assert_eq!((mode(&path), mode(upload.folder()), mode(folder.path())), (0o700, 0o700, 0o700));
        // As a server that is killed leaves it.
        let (left_upload, left_job) = (upload.folder().to_owned(), folder.path().to_owned());
        fs::write(left_job.join("a"), "a").unwrap();
        for forgotten in [spool.take_all().pop().unwrap(), upload] {
            std::mem::forget(forgotten);
        }
        std::mem::forget(folder);
        drop(spool);
        fs::write(path.join("uploads/notes"), "mine").unwrap();
        let _spool = Spool::open(&path, 100).unwrap();
        assert!(!left_upload.exists() && !left_job.exists());
        assert!(path.join("uploads/notes").exists());
    }

    #[test]
    fn uploads_go_when_nobody_has_used_them() {
        let all = tempfile::tempdir().unwrap();
        let spool = Spool::open(all.path(), 100).unwrap();
        let upload = spool.create_upload("social").unwrap();
        let folder = upload.folder().to_owned();
        assert!(spool.take_unused(Duration::ZERO).is_empty(), "somebody has it");
        drop(upload);
        assert!(spool.take_unused(Duration::from_secs(3600)).is_empty());
        assert_eq!(spool.take_unused(Duration::ZERO).len(), 1);
        assert!(!folder.exists());
        let many: Vec<_> = (0..UPLOADS_MAX).map(|_| spool.create_upload("social").unwrap()).collect();
        assert_eq!(spool.create_upload("social").err().unwrap().kind(), ErrorKind::Busy);
        assert!(spool.take_upload(many[0].id()).is_some() && spool.create_upload("social").is_ok());
    }
}
