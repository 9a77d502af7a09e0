//! Relative paths: which names clients may give files, and where these lie below a folder of the server.
//!
//! ```text
//! "a/people.csv"                      below the folder
//! "../a", "/etc/a", ".a", "a\\b"      refused before anything is looked at
//! a symbolic link, a pipe, a device   refused, wherever it is on the way
//! ```
//!
//! A client makes neither links nor folders in these, so what was looked at stays so, unless whoever runs the server
//! changes it meanwhile.

use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::planted::{Bug, planted};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of a name: file systems take no more.
const NAME_BYTES_MAX: usize = 255;
/// Bytes of a path.
const PATH_BYTES_MAX: usize = 1024;

/// Refuses what cannot be the name of a file that a client uploads.
///
/// # Errors
/// `invalid`, with what a name is.
pub fn check_file_name(name: &str) -> Result<()> {
    let is_name = !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.starts_with('.');
    let is_one = !name.contains(['/', '\\']) && !name.chars().any(char::is_control);
    if is_name && is_one {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{name:?} cannot be the name of a file here: it is one name, such as people.csv, of at most {NAME_BYTES_MAX} \
         bytes, and does not begin with a dot"
    )))
}

/// What `relative` names below `folder`, which is there: a file or a folder.
///
/// # Errors
/// `invalid` for a path that leaves the folder, and for links, pipes and devices; `not_found`; `io`.
pub fn existing(folder: &Path, relative: &str) -> Result<PathBuf> {
    let path = look_along(folder, relative, Last::IsThere)?;
    check_content(&path, relative)?;
    Ok(path)
}

/// Where `relative` names something new below `folder`; the folders on the way are there.
///
/// # Errors
/// As [`existing`].
pub fn new(folder: &Path, relative: &str) -> Result<PathBuf> {
    look_along(folder, relative, Last::MayBeThere)
}

/// Whether the last name of a path must be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Last {
    IsThere,
    MayBeThere,
}

fn look_along(folder: &Path, relative: &str, last: Last) -> Result<PathBuf> {
    let names: Vec<&str> = relative.strip_suffix('/').unwrap_or(relative).split('/').collect();
    let is_wrong = relative.len() > PATH_BYTES_MAX || names.iter().any(|name| check_file_name(name).is_err());
    if is_wrong && !planted(Bug::JobPathsUnchecked) {
        return Err(Error::invalid(format!(
            "{relative:?} cannot be a path here: it names a file or a folder below that of the server, such as \
             2026/people.csv, without `..`, names that begin with a dot, or a / in front"
        )));
    }
    let mut path = folder.to_owned();
    for (at, name) in names.iter().enumerate() {
        path.push(name);
        let is_last = at + 1 == names.len();
        match fs::symlink_metadata(&path) {
            Ok(found) => check_type(&found, relative)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_last && last == Last::MayBeThere => {}
            Err(error) => return Err(failed(relative, &error)),
        }
    }
    Ok(path)
}

/// Refuses a folder that has links, pipes or devices in it, which whoever reads it would follow.
fn check_content(path: &Path, relative: &str) -> Result<()> {
    if !path.is_dir() {
        return Ok(());
    }
    let entries = fs::read_dir(path).map_err(|error| failed(relative, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| failed(relative, &error))?;
        let inner = format!("{}/{}", relative.trim_end_matches('/'), entry.file_name().to_string_lossy());
        let found = entry.path().symlink_metadata().map_err(|error| failed(&inner, &error))?;
        check_type(&found, &inner)?;
        check_content(&entry.path(), &inner)?;
    }
    Ok(())
}

fn check_type(found: &Metadata, relative: &str) -> Result<()> {
    let file_type = found.file_type();
    if file_type.is_symlink() && planted(Bug::JobLinksFollowed) {
        return Ok(());
    }
    if file_type.is_symlink() {
        return Err(Error::invalid(format!(
            "{relative:?} is a symbolic link, and these are not followed here"
        )));
    }
    if !file_type.is_file() && !file_type.is_dir() {
        return Err(Error::invalid(format!("{relative:?} is neither a file nor a folder")));
    }
    Ok(())
}

fn failed(relative: &str, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => {
            Error::new(ErrorKind::NotFound, format!("there is no file or folder {relative:?}"))
        }
        io::ErrorKind::NotADirectory => {
            Error::new(ErrorKind::NotFound, format!("there is no {relative:?}: a part of it is a file"))
        }
        kind => Error::new(ErrorKind::Io, format!("look at {relative:?}: {kind}")),
    }
}

/// `text` without the names of folders of the server: a client knows files by their paths below `folder`.
#[must_use]
pub fn without_folder(text: &str, folder: &Path) -> String {
    text.replace(&format!("{}/", folder.display()), "").replace(&folder.display().to_string(), ".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_path_leaves_its_folder_and_no_link_is_followed() {
        let all = tempfile::tempdir().unwrap();
        let (folder, secret) = (all.path().join("in"), all.path().join("secret.csv"));
        fs::create_dir_all(folder.join("a/b")).unwrap();
        fs::create_dir_all(folder.join("linked")).unwrap();
        fs::write(&secret, "secret").unwrap();
        fs::write(folder.join("a/people.csv"), "id").unwrap();
        symlink(&secret, folder.join("link.csv")).unwrap();
        symlink(all.path(), folder.join("up")).unwrap();
        symlink(&secret, folder.join("linked/link.csv")).unwrap();
        assert_eq!(existing(&folder, "a/people.csv").unwrap(), folder.join("a/people.csv"));
        assert_eq!(existing(&folder, "a/").unwrap(), folder.join("a/"));
        assert_eq!(new(&folder, "a/new").unwrap(), folder.join("a/new"));
        for hostile in [
            "",
            "/",
            ".",
            "..",
            "../secret.csv",
            "a/../../secret.csv",
            "/etc/passwd",
            "a//people.csv",
            "./a",
            ".hidden",
            "a\\people.csv",
            "a\0",
            "link.csv",
            "up/secret.csv",
            "linked",
            "linked/link.csv",
            &"a".repeat(300),
            &"a/".repeat(600),
        ] {
            let error = existing(&folder, hostile).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{hostile:?}: {error}");
            assert!(!error.to_string().contains(&all.path().display().to_string()), "{error}");
        }
        for hostile in ["../new", "/tmp/new", "up/new", "link.csv", ".new"] {
            assert_eq!(new(&folder, hostile).unwrap_err().kind(), ErrorKind::Invalid, "{hostile:?}");
        }
        for missing in ["b", "a/people.csv/c", "b/c"] {
            assert_eq!(existing(&folder, missing).unwrap_err().kind(), ErrorKind::NotFound, "{missing:?}");
        }
        assert!(new(&folder, "b/c").is_err(), "folders on the way are there");
    }

    #[test]
    fn a_file_name_is_one_name() {
        for name in ["people.csv", "Größe 2.csv.gz", "a..b", "-"] {
            check_file_name(name).unwrap();
        }
        for name in ["", ".", "..", ".a", "a/b", "/", "a\\b", "a\nb", "a\0", &"a".repeat(256)] {
            assert!(check_file_name(name).is_err(), "{name:?}");
        }
    }
}
