//! Job folder: the files that a job made to be fetched.
//!
//! ```text
//! the job writes ──> now and then all of it is measured ──> fits beside uploads and other jobs? ── no: the job fails
//! ```

use crate::disk_error::failed;
use crate::spool::relative_path::existing;
use crate::spool::upload::SpoolSpace;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::planted::{Bug, planted};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often a folder is measured while it is written, at most.
const MEASURE_EVERY: Duration = Duration::from_millis(100);

/// The folder of a job's files, which are removed with it.
///
/// Concurrency: one lock around what was measured, held while it is measured again.
#[derive(Debug)]
pub struct JobFolder {
    path: PathBuf,
    space: Arc<SpoolSpace>,
    measured: Mutex<Measured>,
}

/// What is counted of a folder.
#[derive(Debug, Default)]
struct Measured {
    bytes: u64,
    at: Option<Instant>,
}

/// A file of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobFile {
    /// Its path below the folder, with slashes.
    pub path: String,
    /// Its size.
    pub bytes: u64,
}

impl JobFolder {
    pub(crate) fn new(path: PathBuf, space: Arc<SpoolSpace>) -> Self {
        Self { path, space, measured: Mutex::default() }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Counts what was written so far, unless that was done in the last 100 ms. Whoever writes calls this while it does.
    ///
    /// # Errors
    /// As [`JobFolder::count`].
    pub fn count_now_and_then(&self) -> Result<()> {
        let is_fresh = self.measured().at.is_some_and(|at| at.elapsed() < MEASURE_EVERY);
        if is_fresh { Ok(()) } else { self.count() }
    }

    /// Counts what was written so far. Cost: a look at each file.
    ///
    /// # Errors
    /// `limit` if that does not fit beside uploads and what other jobs made: what was counted before still is.
    pub fn count(&self) -> Result<()> {
        if planted(Bug::JobFilesUncounted) {
            return Ok(());
        }
        let mut measured = self.measured();
        let bytes = bytes_below(&self.path);
        if bytes > measured.bytes {
            self.space.take(bytes - measured.bytes)?;
        } else {
            self.space.give_back(measured.bytes - bytes);
        }
        *measured = Measured { bytes, at: Some(Instant::now()) };
        Ok(())
    }

    /// Counts all of it, whether it fits or not: what it belongs to is done, and is not undone.
    pub fn count_anyway(&self) {
        let mut measured = self.measured();
        let bytes = bytes_below(&self.path);
        self.space.take_anyway(bytes);
        self.space.give_back(measured.bytes);
        *measured = Measured { bytes, at: Some(Instant::now()) };
    }

    fn measured(&self) -> MutexGuard<'_, Measured> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All files in it, by path. Cost: a look at each.
    ///
    /// # Errors
    /// `io`.
    pub fn files(&self) -> Result<Vec<JobFile>> {
        let mut files = Vec::new();
        list(&self.path, "", &mut files)?;
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(files)
    }

    /// Opens the file `relative`, and tells its size.
    ///
    /// # Errors
    /// `not_found`, also for what is no file; `invalid` for a path that leaves the folder; `io`.
    pub fn open(&self, relative: &str) -> Result<(File, u64)> {
        let path = existing(&self.path, relative)?;
        let file = File::open(&path).map_err(|error| failed("open", Path::new(relative), error))?;
        let found = file.metadata().map_err(|error| failed("look at", Path::new(relative), error))?;
        match found.is_file() {
            true => Ok((file, found.len())),
            false => {
                Err(Error::new(ErrorKind::NotFound, format!("{relative:?} is a folder: name a file in it")))
            }
        }
    }
}

impl Drop for JobFolder {
    fn drop(&mut self) {
        // Nobody can do more about it than the next start, which tries again.
        let _ = fs::remove_dir_all(&self.path);
        self.space.give_back(self.measured().bytes);
    }
}

/// Bytes of all files below `folder`. One that goes meanwhile takes none.
fn bytes_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_below(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    bytes.sum()
}

fn list(folder: &Path, relative: &str, files: &mut Vec<JobFile>) -> Result<()> {
    let entries = fs::read_dir(folder).map_err(|error| failed("read", folder, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| failed("read", folder, error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let relative = if relative.is_empty() { name } else { format!("{relative}/{name}") };
        let found = entry.metadata().map_err(|error| failed("look at", &entry.path(), error))?;
        if found.is_dir() {
            list(&entry.path(), &relative, files)?;
        } else {
            files.push(JobFile { path: relative, bytes: found.len() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn files_are_listed_with_their_folders_and_go_with_the_job() {
        let all = tempfile::tempdir().unwrap();
        let path = all.path().join("job");
        fs::create_dir_all(path.join("export")).unwrap();
        fs::write(path.join("export/people.csv"), "id\n1\n").unwrap();
        fs::write(path.join("bad_rows.csv"), "").unwrap();
        let folder = JobFolder::new(path.clone(), Arc::new(SpoolSpace::new(100)));
        let listed = folder.files().unwrap();
        let expected = [("bad_rows.csv", 0), ("export/people.csv", 5)]
            .map(|(path, bytes)| JobFile { path: path.to_owned(), bytes });
        assert_eq!(listed, expected);
        let mut text = String::new();
        folder.open("export/people.csv").unwrap().0.read_to_string(&mut text).unwrap();
        assert_eq!(text, "id\n1\n");
        assert_eq!(folder.open("export").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(folder.open("../job/bad_rows.csv").unwrap_err().kind(), ErrorKind::Invalid);
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn what_jobs_write_is_counted_beside_uploads_until_it_is_removed() {
        let all = tempfile::tempdir().unwrap();
        let space = Arc::new(SpoolSpace::new(10));
        let folder = |name: &str| {
            let path = all.path().join(name);
            fs::create_dir_all(path.join("export")).unwrap();
            JobFolder::new(path, Arc::clone(&space))
        };
        let (first, second) = (folder("first"), folder("second"));
        fs::write(first.path().join("export/a.csv"), "123456").unwrap();
        first.count_now_and_then().unwrap();
        assert_eq!(space.bytes(), 6);
        fs::write(second.path().join("b.csv"), "12345").unwrap();
        let error = second.count().unwrap_err();
        assert_eq!((error.kind(), space.bytes()), (ErrorKind::Limit, 6));
        // It was measured a moment ago, and what is smaller now is given back the next time.
        fs::write(first.path().join("export/a.csv"), "1").unwrap();
        first.count_now_and_then().unwrap();
        assert_eq!(space.bytes(), 6);
        first.count().unwrap();
        second.count().unwrap();
        assert_eq!(space.bytes(), 6);
        fs::write(second.path().join("b.csv"), "1234567890").unwrap();
        second.count_anyway();
        assert_eq!(space.bytes(), 11);
        drop((first, second));
        assert_eq!(space.bytes(), 0);
    }
}
