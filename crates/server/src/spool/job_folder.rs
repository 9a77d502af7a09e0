//! Job folder: the files that a job made to be fetched.

use crate::disk_error::failed;
use crate::spool::relative_path::existing;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The folder of a job's files, which are removed with it.
#[derive(Debug)]
pub struct JobFolder {
    path: PathBuf,
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
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
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
    }
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
        let folder = JobFolder::new(path.clone());
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
}
