//! Result file: a file that is there in whole or not at all.
//!
//! It is written under another name in the same folder, synced, and renamed in the end, so that nobody
//! ever reads half a result, and an older result stays until the new one is complete. What cannot be
//! replaced is written directly: standard output, pipes, devices. Nothing is replaced unless that was asked
//! for: who mistypes a name should not lose a file.

use crate::failure::Failure;
use evergraph_graph::error::{Error, ErrorKind};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Stdout, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file that is being written. Dropped unfinished, it leaves nothing behind.
#[derive(Debug)]
pub struct ResultFile {
    name: String,
    target: Target,
}

#[derive(Debug)]
enum Target {
    StandardOutput(BufWriter<Stdout>),
    Direct(BufWriter<File>),
    Named { path: PathBuf, temporary: BufWriter<Temporary>, overwrite: bool },
}

/// Writes by the file itself, whose errors don't speak of the temporary name.
#[derive(Debug)]
struct Temporary(NamedTempFile);

impl ResultFile {
    /// Begins the file at `path`; `-` is standard output. A file that is there is replaced in the end if
    /// `overwrite` says so.
    ///
    /// # Errors
    /// `not_found` if the folder isn't there; `invalid` if `path` is a folder, or a file that isn't to be
    /// replaced; `io` if the system refuses.
    pub fn create(path: &Path, overwrite: bool) -> Result<Self, Failure> {
        let name = path.display().to_string();
        if path == Path::new("-") {
            return Ok(Self { name, target: Target::StandardOutput(BufWriter::new(io::stdout())) });
        }
        let failed = |error| failure(&format!("create {name}"), error);
        let target = match fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                return Err(Error::invalid(format!("{name} is a folder: name a file in it")).into());
            }
            Ok(found) if !found.is_file() => {
                Target::Direct(BufWriter::new(OpenOptions::new().write(true).open(path).map_err(failed)?))
            }
            Ok(_) if !overwrite => return Err(exists(&name)),
            // Through a symbolic link the file is replaced, not the link.
            Ok(_) => named(fs::canonicalize(path).map_err(failed)?, overwrite).map_err(failed)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = folder_of(path);
                if !folder.is_dir() {
                    return Err(no_folder(&name, folder));
                }
                named(path.to_owned(), overwrite).map_err(failed)?
            }
            Err(error) => return Err(failed(error)),
        };
        Ok(Self { name, target })
    }

    /// What the user calls the file; `-` is standard output.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// `limit` if the disk is full, `io` if the system refuses otherwise; `invalid` if there is a file by
    /// now that isn't to be replaced. The older file stays then.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.flush().map_err(|error| self.failed(error))?;
        let Self { name, target } = self;
        let failed = |error| failure(&format!("write {name}"), error);
        if let Target::Named { path, temporary, overwrite } = target {
            let temporary = temporary.into_inner().map_err(|error| failed(error.into_error()))?;
            let Temporary(temporary) = temporary;
            temporary.as_file().sync_all().map_err(failed)?;
            if overwrite {
                temporary.persist(&path).map_err(|error| failed(error.error))?;
            } else {
                temporary.persist_noclobber(&path).map_err(|error| match error.error.kind() {
                    io::ErrorKind::AlreadyExists => exists(&name),
                    _ => failed(error.error),
                })?;
            }
        }
        Ok(())
    }

    /// What a write that failed with `error` means.
    #[must_use]
    pub fn failed(&self, error: io::Error) -> Failure {
        match self.target {
            Target::StandardOutput(_) => Failure::of_output(error),
            _ => failure(&format!("write {}", self.name), error),
        }
    }
}

impl Write for ResultFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::StandardOutput(out) => out.write(bytes),
            Target::Direct(out) => out.write(bytes),
            Target::Named { temporary, .. } => temporary.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::StandardOutput(out) => out.flush(),
            Target::Direct(out) => out.flush(),
            Target::Named { temporary, .. } => temporary.flush(),
        }
    }
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_file_mut().flush()
    }
}

fn named(path: PathBuf, overwrite: bool) -> io::Result<Target> {
    // Readable by whom the user's mask allows, as any file that a program writes.
    let temporary = tempfile::Builder::new()
        .prefix(".evergraph-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder_of(&path))
        // Its text names the temporary file, which nobody asked for.
        .map_err(|error| io::Error::from(error.kind()))?;
    let temporary = BufWriter::with_capacity(1 << 16, Temporary(temporary));
    Ok(Target::Named { path, temporary, overwrite })
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn exists(name: &str) -> Failure {
    let text = format!("{name} already exists: name another file, or overwrite it (--overwrite)");
    Error::invalid(text).into()
}

fn no_folder(name: &str, folder: &Path) -> Failure {
    let text = format!("create {name}: there is no folder {}", folder.display());
    Error::new(ErrorKind::NotFound, text).into()
}

/// What it means that the system answered `doing` with `error`: which kind, and both in a text.
#[must_use]
pub fn failure(doing: &str, error: io::Error) -> Failure {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::Limit,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("{doing}: {error}")).because(error).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileTypeExt, symlink};

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn kind_and_text(failure: Failure) -> (ErrorKind, String) {
        match failure {
            Failure::Error(error) => (error.kind(), error.to_string()),
            Failure::ClosedPipe => panic!("nothing is closed"),
        }
    }

    #[test]
    fn a_file_is_replaced_only_where_that_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let (there, comes) = (folder.path().join("a.csv"), folder.path().join("b.csv"));
        fs::write(&there, "old").unwrap();
        let (kind, text) = kind_and_text(ResultFile::create(&there, false).unwrap_err());
        assert!(kind == ErrorKind::Invalid && text.ends_with("overwrite it (--overwrite)"), "{text}");
        // Somebody else may be faster.
        let mut file = ResultFile::create(&comes, false).unwrap();
        file.write_all(b"new").unwrap();
        fs::write(&comes, "old").unwrap();
        assert_eq!(kind_and_text(file.finish().unwrap_err()).0, ErrorKind::Invalid);
        assert!([there, comes].iter().all(|path| fs::read_to_string(path).unwrap() == "old"));
        assert_eq!(names(folder.path()), ["a.csv", "b.csv"]);
    }

    #[test]
    fn an_older_result_stays_until_the_new_one_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        fs::write(&path, "old").unwrap();
        let mut file = ResultFile::create(&path, true).unwrap();
        file.write_all(b"new").unwrap();
        file.flush().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        drop(file);
        assert_eq!(
            (fs::read_to_string(&path).unwrap(), names(folder.path())),
            ("old".into(), vec!["a.csv".into()])
        );
        let mut file = ResultFile::create(&path, true).unwrap();
        file.write_all(b"new").unwrap();
        file.finish().unwrap();
        assert_eq!(
            (fs::read_to_string(&path).unwrap(), names(folder.path())),
            ("new".into(), vec!["a.csv".into()])
        );
    }

    #[test]
    fn a_link_stays_a_link_and_a_device_a_device() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a.csv"), folder.path().join("link.csv"));
        fs::write(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        let mut result = ResultFile::create(&link, true).unwrap();
        result.write_all(b"new").unwrap();
        result.finish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");

        let mut result = ResultFile::create(Path::new("/dev/null"), false).unwrap();
        result.write_all(b"new").unwrap();
        result.finish().unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }

    #[test]
    fn a_missing_folder_and_a_folder_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let create = |path: &Path| kind_and_text(ResultFile::create(path, true).unwrap_err());
        let (kind, text) = create(&folder.path().join("no/a.csv"));
        assert_eq!(kind, ErrorKind::NotFound);
        assert!(text.contains("no/a.csv: there is no folder ") && text.ends_with("/no"), "{text}");
        let (kind, text) = create(folder.path());
        assert!(kind == ErrorKind::Invalid && text.contains("is a folder"), "{text}");
    }
}
