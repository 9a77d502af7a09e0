//! Target: the file or folder of an export, which appears whole or not at all.
//!
//! ```text
//! out/   ──> .evergraph-x7Gd2k/  written, synced  ──> renamed to out/
//! a.json ──> .evergraph-x7Gd2k   written, synced  ──> renamed to a.json
//! ```
//!
//! Nothing is replaced unless the options say so, and a folder only if every file in it looks like one
//! of an export: whoever mistypes a path should not lose a home. Its old content is moved away, the new
//! one takes its name, and then the old one is removed. Pipes, devices and standard output are written
//! directly.

use crate::export::options::{ExportOptions, ExportedFile, Packing};
use crate::export::packed_file::PackedFile;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::planted::{Bug, planted};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempDir};

/// What a temporary name begins with.
const PREFIX: &str = ".evergraph-";
/// What names in a folder of an export end with.
const ENDINGS: [&str; 6] = [".csv", ".parquet", ".v", ".e", ".toml", ".json"];

/// A folder that is being written. Dropped unfinished, it leaves nothing behind.
#[derive(Debug)]
pub struct FolderTarget {
    path: PathBuf,
    temporary: TempDir,
    overwrite: bool,
    files: Vec<ExportedFile>,
}

/// A file that is being written. Dropped unfinished, it leaves nothing behind.
#[derive(Debug)]
pub struct FileTarget {
    path: PathBuf,
    place: FileDestination,
}

#[derive(Debug)]
enum FileDestination {
    StandardOutput(io::Stdout),
    Direct(File),
    Replace(NamedTempFile),
}

impl FolderTarget {
    /// Begins the folder at the options' output.
    ///
    /// # Errors
    /// `invalid` if there is something that isn't to be replaced; `not_found` if the folder above isn't
    /// there; `io`.
    pub fn create(options: &ExportOptions) -> Result<Self> {
        let path = resolved(&options.output);
        let name = path.display();
        match fs::read_dir(&path) {
            Ok(entries) => check_replaceable(&path, entries, options.overwrite)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => check_parent(&path)?,
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(Error::invalid(format!(
                    "{name} is a file: name a folder for {}",
                    options.format.name()
                )));
            }
            Err(error) => return Err(failed("look at", &path, error)),
        }
        let temporary = tempfile::Builder::new()
            .prefix(PREFIX)
            .disable_cleanup(planted(Bug::DownloadsLeaveFolders))
            .permissions(Permissions::from_mode(0o777))
            .tempdir_in(parent(&path))
            .map_err(|error| failed("create", &path, io::Error::from(error.kind())))?;
        Ok(Self { path, temporary, overwrite: options.overwrite, files: Vec::new() })
    }

    /// Begins a file called `name` and packed by `packing`, whose ending comes behind it.
    ///
    /// # Errors
    /// `io`, `limit`.
    pub fn file(&self, name: &str, packing: Packing) -> Result<(String, PackedFile<File>)> {
        let name = format!("{name}{}", packing.ending());
        let path = self.temporary.path().join(&name);
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let packed = file.and_then(|file| PackedFile::new(file, packing));
        let packed = packed.map_err(|error| self.failed(&name, error))?;
        Ok((name, packed))
    }

    /// Completes a file that [`FolderTarget::file`] began, with `rows` vertices or edges in it.
    ///
    /// # Errors
    /// `io`, `limit`.
    pub fn finish_file(&mut self, name: String, file: PackedFile<File>, rows: u64) -> Result<()> {
        let (file, bytes) = file.finish().map_err(|error| self.failed(&name, error))?;
        file.sync_all().map_err(|error| self.failed(&name, error))?;
        self.files.push(ExportedFile { name, rows, bytes });
        Ok(())
    }

    /// What a write to the file `name` that failed with `error` means.
    #[must_use]
    pub fn failed(&self, name: &str, error: io::Error) -> Error {
        write_failed(&self.path.join(name), error)
    }

    /// Gives the folder its name.
    ///
    /// # Errors
    /// `io`: what was there before is there still.
    pub fn finish(self) -> Result<Vec<ExportedFile>> {
        let Self { path, temporary, overwrite, files } = self;
        let error = |error| write_failed(&path, error);
        File::open(temporary.path()).and_then(|folder| folder.sync_all()).map_err(error)?;
        match fs::read_dir(&path) {
            // Somebody may have put files there in the meantime.
            Ok(entries) => {
                check_replaceable(&path, entries, overwrite)?;
                let old = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent(&path)).map_err(error)?;
                let old_path = old.path().join("old");
                fs::rename(&path, &old_path).map_err(error)?;
                if let Err(why) = fs::rename(temporary.path(), &path) {
                    fs::rename(&old_path, &path).map_err(error)?;
                    return Err(error(why));
                }
            }
            Err(_) => fs::rename(temporary.path(), &path).map_err(error)?,
        }
        // What it was to remove has another name now.
        let _ = temporary.keep();
        sync_folder(parent(&path)).map_err(error)?;
        Ok(files)
    }
}

impl FileTarget {
    /// Begins the file at the options' output; `-` is standard output.
    ///
    /// # Errors
    /// `invalid` if there is something that isn't to be replaced; `not_found` if the folder isn't there;
    /// `io`.
    pub fn create(options: &ExportOptions) -> Result<Self> {
        let path = resolved(&options.output);
        if path == Path::new("-") {
            return Ok(Self { path, place: FileDestination::StandardOutput(io::stdout()) });
        }
        let place = match fs::metadata(&path) {
            Ok(found) if found.is_dir() => {
                return Err(Error::invalid(format!("{} is a folder: name a file in it", path.display())));
            }
            Ok(found) if !found.is_file() => {
                let file = OpenOptions::new().write(true).open(&path);
                FileDestination::Direct(file.map_err(|error| failed("open", &path, error))?)
            }
            Ok(_) if !options.overwrite => return Err(exists(&path, "a file")),
            Ok(_) => replace(&path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                check_parent(&path)?;
                replace(&path)?
            }
            Err(error) => return Err(failed("look at", &path, error)),
        };
        Ok(Self { path, place })
    }

    /// The file's name for reports; empty for standard output.
    #[must_use]
    pub fn name(&self) -> String {
        match self.place {
            FileDestination::StandardOutput(_) => String::new(),
            _ => self.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// `io`: what was there before is there still.
    pub fn finish(self, overwrite: bool) -> Result<()> {
        let Self { path, place } = self;
        let FileDestination::Replace(temporary) = place else { return Ok(()) };
        let error = |error| write_failed(&path, error);
        temporary.as_file().sync_all().map_err(error)?;
        if overwrite {
            temporary.persist(&path).map_err(|failure| error(failure.error))?;
        } else {
            temporary.persist_noclobber(&path).map_err(|failure| match failure.error.kind() {
                io::ErrorKind::AlreadyExists => exists(&path, "a file"),
                _ => error(failure.error),
            })?;
        }
        sync_folder(parent(&path)).map_err(error)
    }
}

impl Write for FileTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.place {
            FileDestination::StandardOutput(out) => out.write(bytes),
            FileDestination::Direct(file) => file.write(bytes),
            // The file itself, whose errors don't speak of the temporary name.
            FileDestination::Replace(file) => file.as_file_mut().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.place {
            FileDestination::StandardOutput(out) => out.flush(),
            FileDestination::Direct(file) => file.flush(),
            FileDestination::Replace(file) => file.as_file_mut().flush(),
        }
    }
}

/// What a write to the file at `path` that failed with `error` means; `error` is its source.
#[must_use]
pub fn write_failed(path: &Path, error: io::Error) -> Error {
    failed("write", path, error)
}

/// Through a symbolic link its target is replaced, not the link.
fn resolved(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn replace(path: &Path) -> Result<FileDestination> {
    let temporary = tempfile::Builder::new()
        .prefix(PREFIX)
        // Readable by whom the user's mask allows, as any file that a program writes.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(parent(path))
        // Its text names the temporary file, which nobody asked for.
        .map_err(|error| failed("create", path, io::Error::from(error.kind())))?;
    Ok(FileDestination::Replace(temporary))
}

/// Refuses a folder with content, unless it may be overwritten and has files of exports only.
fn check_replaceable(path: &Path, entries: fs::ReadDir, overwrite: bool) -> Result<()> {
    for entry in entries {
        let entry = entry.map_err(|error| failed("look at", path, error))?;
        if !overwrite {
            return Err(exists(path, "a folder with content"));
        }
        let is_file = entry.file_type().map_err(|error| failed("look at", path, error))?.is_file();
        let name = entry.file_name().to_string_lossy().into_owned();
        let unpacked = [".gz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
        if !is_file || !ENDINGS.iter().any(|ending| unpacked.ends_with(ending)) {
            return Err(Error::invalid(format!(
                "{} holds {name:?}, which no export wrote: it isn't overwritten; remove it by hand, or name \
                 another folder",
                path.display()
            )));
        }
    }
    Ok(())
}

fn exists(path: &Path, what: &str) -> Error {
    Error::invalid(format!(
        "{} already exists, {what}: name another place, or overwrite it (--overwrite)",
        path.display()
    ))
}

/// Says which folder is missing: "create: not found" would seem to speak of what is to be made.
fn check_parent(path: &Path) -> Result<()> {
    let folder = parent(path);
    if folder.is_dir() {
        return Ok(());
    }
    let text = format!("create {}: there is no folder {}", path.display(), folder.display());
    Err(Error::new(ErrorKind::NotFound, text))
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn failed(doing: &str, path: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::Limit,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("{doing} {}: {error}", path.display())).because(error)
}
