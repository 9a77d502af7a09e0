//! `Password`: a secret that no message and no log shows.

use evergraph_graph::error::{Error, ErrorKind, Result};
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

/// The variable that holds a password.
pub const PASSWORD_VARIABLE: &str = "EVERGRAPH_PASSWORD";

/// A password of a file is its first line, of at most so many bytes.
const BYTES_MAX: u64 = 4096;

/// A password.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Box<str>);

impl Password {
    /// A password.
    #[must_use]
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// That of the variable `EVERGRAPH_PASSWORD`; an empty one is none.
    #[must_use]
    pub fn from_variable() -> Option<Self> {
        std::env::var(PASSWORD_VARIABLE).ok().filter(|text| !text.is_empty()).map(Self::new)
    }

    /// The first line of the file at `path`.
    ///
    /// # Errors
    /// `invalid` for a file that other users of this machine can read, and for one without a password; `not_found`, `io`.
    pub fn from_file(path: &Path) -> Result<Self> {
        let shown = path.display();
        let failed = |error: io::Error| {
            let kind = match error.kind() {
                io::ErrorKind::NotFound => ErrorKind::NotFound,
                _ => ErrorKind::Io,
            };
            Error::new(kind, format!("read the password file {shown}: {error}")).because(error)
        };
        let metadata = fs::metadata(path).map_err(failed)?;
        check_mode(path, &metadata, "password file")?;
        if metadata.len() > BYTES_MAX {
            return Err(Error::invalid(format!("the password file {shown} has more than {BYTES_MAX} bytes")));
        }
        let bytes = fs::read(path).map_err(failed)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::invalid(format!("the password file {shown} is not UTF-8 text")))?;
        match text.lines().next() {
            Some(line) if !line.is_empty() => Ok(Self::new(line)),
            _ => Err(Error::invalid(format!("the first line of the password file {shown} is empty"))),
        }
    }

    /// The password itself.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(...)")
    }
}

/// Refuses a file with a secret that other users of this machine can read.
#[cfg(unix)]
pub(crate) fn check_mode(path: &Path, metadata: &fs::Metadata, what: &str) -> Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let mode = metadata.permissions().mode() & 0o777;
    // What root owns, a group may read: so services get their secrets.
    let allowed = if metadata.uid() == 0 { 0o740 } else { 0o700 };
    if !metadata.is_file() || mode & !allowed == 0 {
        return Ok(());
    }
    let path = path.display();
    Err(Error::invalid(format!(
        "the {what} {path} can be read or written by other users of this machine (its mode is {mode:03o}): chmod 600 \
         {path}"
    )))
}

/// Elsewhere files have no mode.
#[cfg(not(unix))]
pub(crate) fn check_mode(_: &Path, _: &fs::Metadata, _: &str) -> Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_password_is_the_first_line_of_a_file_that_nobody_else_reads() {
        let folder = tempfile::tempdir().unwrap();
        let file = |content: &str, mode| {
            let path = folder.path().join("password");
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            Password::from_file(&path)
        };
        assert_eq!(file("correct horse\r\nrest", 0o600).unwrap().reveal(), "correct horse");
        for (content, mode, why) in [
            ("a", 0o644, "chmod 600"),
            ("", 0o600, "empty"),
            ("\na", 0o600, "empty"),
            (&"a".repeat(5000), 0o600, "4096"),
        ] {
            let told = file(content, mode).unwrap_err().to_string();
            assert!(told.contains(why), "{told}");
        }
        let missing = Password::from_file(&folder.path().join("none")).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_password_is_not_shown() {
        assert!(!format!("{:?}", Password::new("secret")).contains("secret"));
    }
}
