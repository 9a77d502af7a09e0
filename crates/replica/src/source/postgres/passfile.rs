//! The password file of PostgreSQL's clients: `~/.pgpass`, or the file that `PGPASSFILE` names.
//!
//! ```text
//! host:port:database:user:password      `*` matches all; `\:` and `\\` stand for themselves; the first line that matches counts
//! ```

use std::fs;
use std::io;
use std::path::Path;

use crate::source::error::{SourceError, SourceResult};
use crate::wire::startup::Password;

/// Longer files are no password files.
const BYTES_MAX: u64 = 1 << 20;

/// Whom a password is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Login<'a> {
    /// The host as it was given; `localhost` for a socket in the file system.
    pub host: &'a str,
    /// The port.
    pub port: u16,
    /// The database.
    pub database: &'a str,
    /// The user.
    pub user: &'a str,
}

/// The password of the file at `path` for `login`; `None` without a file or a line for it.
///
/// # Errors
/// If the file cannot be read, or other users of the machine can read it: a password that everybody knows is none.
pub fn find(path: &Path, login: Login<'_>) -> SourceResult<Option<Password>> {
    let shown = path.display();
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(SourceError::Io { doing: format!("read the password file {shown}"), error });
        }
    };
    if !metadata.is_file() {
        return Ok(None);
    }
    check_mode(path, &metadata)?;
    if metadata.len() > BYTES_MAX {
        return Err(SourceError::Invalid(format!(
            "the password file {shown} has more than {BYTES_MAX} bytes"
        )));
    }
    let bytes = fs::read(path)
        .map_err(|error| SourceError::Io { doing: format!("read the password file {shown}"), error })?;
    Ok(find_in(&bytes, login))
}

#[cfg(unix)]
fn check_mode(path: &Path, metadata: &fs::Metadata) -> SourceResult<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let path = path.display();
    Err(SourceError::Invalid(format!(
        "the password file {path} can be read or written by other users of this machine (its mode is {mode:03o}): chmod 600 \
         {path}"
    )))
}

#[cfg(not(unix))]
fn check_mode(_: &Path, _: &fs::Metadata) -> SourceResult<()> {
    Ok(())
}

fn find_in(bytes: &[u8], login: Login<'_>) -> Option<Password> {
    let port = login.port.to_string();
    let wanted = [login.host, &port, login.database, login.user];
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.starts_with(b"#") {
            continue;
        }
        let mut rest = line;
        let is_match = wanted.iter().all(|wanted| match split_field(rest) {
            Some((field, after)) => {
                rest = after;
                field == b"*" || unescaped(field) == wanted.as_bytes()
            }
            None => false,
        });
        if is_match {
            let password = unescaped(split_field(rest).map_or(rest, |(field, _)| field));
            return Some(Password::new(password));
        }
    }
    None
}

/// The text before the next colon that is not escaped, and what follows it.
fn split_field(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut is_escaped = false;
    let at = text.iter().position(|byte| {
        let is_end = *byte == b':' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    })?;
    Some((&text[..at], &text[at + 1..]))
}

fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(field.len());
    let mut bytes = field.iter();
    while let Some(byte) = bytes.next() {
        text.push(match byte {
            b'\\' => *bytes.next().unwrap_or(byte),
            _ => *byte,
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGIN: Login<'_> = Login { host: "db.example", port: 5432, database: "shop", user: "a:b" };

    #[test]
    fn the_first_line_that_matches_counts() {
        let file = b"# db.example:5432:shop:a\\:b:no\nother:*:*:*:no\ndb.example:5433:*:*:no\ndb.example:*:shop:a\\:b:s\\:e\\\\c\r\n*:*:*:*:no\n";
        assert_eq!(find_in(file, LOGIN), Some(Password::new(&b"s:e\\c"[..])));
        assert_eq!(find_in(b"*:*:*:*:all", LOGIN), Some(Password::new(&b"all"[..])));
        assert_eq!(find_in(b"*:*:*:*", LOGIN), None);
        assert_eq!(find_in(b"", LOGIN), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pgpass");
        assert_eq!(find(&path, LOGIN).unwrap(), None);
        fs::write(&path, "*:*:*:*:secret").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(find(&path, LOGIN).unwrap_err().to_string().contains("chmod 600"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let password = find(&path, LOGIN).unwrap().unwrap();
        assert_eq!(format!("{password:?}"), "Password(...)");
    }
}
