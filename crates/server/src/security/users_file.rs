//! Users file: users on disk, as one JSON document that only its owner can read.
//!
//! ```text
//! { "version": 1,
//!   "users": [ { "name": "ann", "password": "$argon2id$...", "roles": [ { "database": "social", "role": "reader" } ] } ] }
//! ```
//!
//! It is replaced as a whole: a new file beside it, synced, then renamed. A document that is cut off is no JSON, so half of
//! the users is never taken for all of them. Whoever edits it holds a lock on its folder.

use crate::security::role::Role;
use crate::security::user::Users;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::planted::{Bug, planted};
use serde::{Deserialize, Serialize};
use serde_json::error::Category;
use std::fs::{File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::SystemTime;

/// The version of the document.
const VERSION: u32 = 1;
/// Bytes of the file: some ten thousand users.
const BYTES_MAX: u64 = 16 << 20;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    users: Vec<UserEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UserEntry {
    name: String,
    password: String,
    roles: Vec<RoleEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleEntry {
    database: String,
    role: String,
}

/// Which state of the file was read: another one has another stamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileStamp {
    inode: u64,
    modified: Option<SystemTime>,
    size_bytes: u64,
}

impl FileStamp {
    /// The stamp of the file at `path`; `None` if it can't be looked at.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|metadata| Self::from(&metadata))
    }
}

impl From<&Metadata> for FileStamp {
    fn from(metadata: &Metadata) -> Self {
        Self { inode: metadata.ino(), modified: metadata.modified().ok(), size_bytes: metadata.len() }
    }
}

/// Reads the users in the file at `path`.
///
/// # Errors
/// `not_found` without a file; `invalid` for one that others can read, and for one that is cut off or otherwise no such
/// document.
pub fn read(path: &Path) -> Result<(Users, FileStamp)> {
    let mut file = File::open(path).map_err(|error| failed("read", path, error))?;
    let metadata = file.metadata().map_err(|error| failed("read", path, error))?;
    check_private(path, &metadata)?;
    if metadata.len() > BYTES_MAX {
        return Err(broken(
            path,
            &format!("it has {} bytes, and at most {BYTES_MAX} are expected", metadata.len()),
        ));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|error| failed("read", path, error))?;
    let users = parse(&text).map_err(|why| broken(path, &why))?;
    Ok((users, FileStamp::from(&metadata)))
}

/// Changes the users in the file at `path`. If there is none and `create` says so, it is made.
///
/// # Errors
/// Those of reading, of `change`, and of the operating system. The file is then as it was.
pub fn edit<T>(path: &Path, create: Create, change: impl FnOnce(&mut Users) -> Result<T>) -> Result<T> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let folder_file = File::open(folder).map_err(|error| failed("open the folder of", path, error))?;
    // Two commands at once: the second one reads what the first one wrote.
    folder_file.lock().map_err(|error| failed("lock the folder of", path, error))?;
    let mut users = match read(path) {
        Ok((users, _)) => users,
        Err(error) if error.kind() == ErrorKind::NotFound && create == Create::IfMissing => Users::default(),
        Err(error) => return Err(error),
    };
    let changed = change(&mut users)?;
    let write = || {
        // Made with permissions 0600.
        let mut file = tempfile::Builder::new().prefix(".users-").tempfile_in(folder)?;
        file.write_all(to_text(&users).as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        folder_file.sync_all()
    };
    write().map_err(|error| failed("write", path, error))?;
    Ok(changed)
}

/// Whether a missing file is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Create {
    /// It is, as one without users.
    IfMissing,
    /// A missing file is an error.
    Never,
}

/// Refuses a file that others than its owner can read or write.
///
/// # Errors
/// `invalid`, with what to do.
pub fn check_private(path: &Path, metadata: &Metadata) -> Result<()> {
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 == 0 || planted(Bug::PrivateFilesOpen) {
        return Ok(());
    }
    let path = path.display();
    Err(Error::invalid(format!(
        "{path} can be read or written by other users of this machine (its mode is {mode:03o}): chmod 600 {path}"
    )))
}

/// Reads the document.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str) -> std::result::Result<Users, String> {
    let document: Document = serde_json::from_str(text).map_err(|error| match error.classify() {
        Category::Eof => format!("it is cut off: {error}"),
        // The text of the error would show a value, which may be the hash of a password in a wrong place.
        Category::Data => format!(
            "it is damaged: a member is unknown, missing, there twice or of a wrong type at line {} column {}",
            error.line(),
            error.column()
        ),
        Category::Syntax | Category::Io => format!("it is damaged: {error}"),
    })?;
    if document.version != VERSION {
        return Err(format!("it has version {}, and {VERSION} is expected", document.version));
    }
    let mut users = Users::default();
    for UserEntry { name, password, roles } in document.users {
        users.add(&name, password).map_err(|error| error.to_string())?;
        for RoleEntry { database, role } in roles {
            let known = Role::from_name(&role);
            let role = known.ok_or_else(|| format!("the user {name:?} has an unknown role {role:?}"))?;
            if users.get(&name).is_some_and(|user| user.roles.contains_key(&*database)) {
                return Err(format!("the user {name:?} has two roles on the database {database:?}"));
            }
            users.grant(&name, &database, role).map_err(|error| error.to_string())?;
        }
    }
    Ok(users)
}

/// The document of `users`.
///
/// # Panics
/// Never: names, hashes and roles can be written as JSON.
#[must_use]
pub fn to_text(users: &Users) -> String {
    let entry = |(name, user): (&str, &crate::security::user::User)| UserEntry {
        name: name.to_owned(),
        password: user.password_hash.to_string(),
        roles: user
            .roles
            .iter()
            .map(|(database, role)| RoleEntry {
                database: database.to_string(),
                role: role.name().to_owned(),
            })
            .collect(),
    };
    let document = Document { version: VERSION, users: users.iter().map(entry).collect() };
    let mut text = serde_json::to_string_pretty(&document).expect("texts and numbers can be written as JSON");
    text.push('\n');
    text
}

fn broken(path: &Path, why: &str) -> Error {
    Error::invalid(format!(
        "the users file {} cannot be used: {why}; restore it from a backup, or remove it and add users anew",
        path.display()
    ))
}

fn failed(what: &str, path: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::InvalidData => ErrorKind::Invalid,
        _ => ErrorKind::Io,
    };
    let hint = match kind {
        ErrorKind::NotFound => format!("; evergraph user add {} NAME makes it", path.display()),
        _ => String::new(),
    };
    Error::new(kind, format!("{what} the users file {}: {error}{hint}", path.display())).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str =
        "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    fn with_ann(path: &Path) {
        edit(path, Create::IfMissing, |users| {
            users.add("ann", HASH.to_owned())?;
            users.grant("ann", "social", Role::Reader)
        })
        .unwrap();
    }

    #[test]
    fn users_are_read_as_they_were_written_by_their_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.json");
        assert_eq!(read(&path).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(edit(&path, Create::Never, |_| Ok(())).unwrap_err().kind(), ErrorKind::NotFound);
        with_ann(&path);
        let (users, stamp) = read(&path).unwrap();
        assert_eq!(users.get("ann").unwrap().roles.get("social"), Some(&Role::Reader));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        edit(&path, Create::Never, |users| users.grant("ann", "bank", Role::Admin)).unwrap();
        assert_ne!(FileStamp::of(&path), Some(stamp));
        assert!(edit(&path, Create::Never, |users| users.remove("bob")).is_err());
        assert_eq!(read(&path).unwrap().0.get("ann").unwrap().roles.len(), 2);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no file is left behind");
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.json");
        with_ann(&path);
        for mode in [0o640, 0o604, 0o620] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains("chmod 600"), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_cut_off_anywhere_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.json");
        with_ann(&path);
        let text = std::fs::read_to_string(&path).unwrap();
        let document = text.trim_end();
        for end in 0..document.len() {
            let error = parse(&document[..end]).unwrap_err();
            assert!(error.contains("cut off"), "{end}: {error}");
        }
        for wrong in [
            text.replace("\"version\": 1", "\"version\": 2"),
            text.replace("reader", "owner"),
            text.replace("argon2id", "argon2i"),
            text.replace("\"ann\"", "\"../ann\""),
            text.replace("\"roles\"", "\"rules\""),
            format!("{text}{text}"),
        ] {
            assert!(parse(&wrong).is_err(), "{wrong}");
        }
    }
    #[test]
    fn what_is_wrong_with_a_file_is_told_without_its_hashes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.json");
        with_ann(&path);
        let text = std::fs::read_to_string(&path).unwrap();
        let misplaced = format!("\"version\": \"{HASH}\"");
        let unknown = format!("\"{HASH}\"");
        for wrong in [text.replace("\"version\": 1", &misplaced), text.replace("\"password\"", &unknown)] {
            let error = parse(&wrong).unwrap_err();
            assert!(error.contains("line ") && !error.contains("argon2"), "{error}");
        }
    }
}
