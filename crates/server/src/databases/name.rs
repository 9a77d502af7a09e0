//! Name: which names a served database can have, in aliases, in roles and on disk.

use evergraph::path::DatabasePath;
use evergraph_graph::error::{Error, Result};
use std::fmt;
use std::path::Path;

/// The ending of a database's folder.
pub const ENDING: &str = ".eg";
/// Stands for every database in roles, those that are created later included.
pub const EVERY_DATABASE: &str = "*";
/// The alias that names the database that is used by default.
pub const DEFAULT_ALIAS: &str = "g";
/// An alias of a database is its name behind this.
pub const ALIAS_PREFIX: &str = "g_";

/// Characters and bytes of a name: file systems take 255 bytes.
const LENGTH_MAX: usize = 64;
const BYTES_MAX: usize = 240;

/// The cause of an error: there is a database of this name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameIsTaken;

impl fmt::Display for NameIsTaken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name is taken")
    }
}

impl std::error::Error for NameIsTaken {}

/// A name that a client sent, for a message: without control characters, and cut if it is long.
#[must_use]
pub fn shown(name: &str) -> String {
    match name.char_indices().nth(LENGTH_MAX) {
        Some((end, _)) => format!("{:?}…", &name[..end]),
        None => format!("{name:?}"),
    }
}

/// Refuses what cannot be the name of a database: paths, names that would be hidden, and those of aliases.
///
/// # Errors
/// `invalid`, with what a name is.
pub fn check_database_name(name: &str) -> Result<()> {
    let is_path = name.contains(['/', '\\']) || name.starts_with('.');
    let is_shown = !name.chars().any(char::is_control) && !name.is_empty();
    let is_short = name.chars().count() <= LENGTH_MAX && name.len() <= BYTES_MAX;
    if !is_shown || is_path || !is_short {
        return Err(Error::invalid(format!(
            "{} cannot be the name of a database: it is that of the folder without the ending, such as social for \
             social{ENDING}, of at most {LENGTH_MAX} characters, and does not begin with a dot",
            shown(name)
        )));
    }
    if name == EVERY_DATABASE {
        return Err(Error::invalid(format!(
            "{EVERY_DATABASE:?} cannot be the name of a database: it stands for all of them"
        )));
    }
    if name == DEFAULT_ALIAS || name.starts_with(ALIAS_PREFIX) {
        return Err(Error::invalid(format!(
            "{name:?} cannot be the name of a database that is served: {DEFAULT_ALIAS} and {ALIAS_PREFIX}NAME are aliases; \
             rename its folder"
        )));
    }
    Ok(())
}

/// The name of the database in the folder `path`: that of the folder, without the ending.
///
/// # Errors
/// `invalid` for a folder whose name cannot be that of a database, and for the folder of a cluster's node.
pub fn name_of(path: &Path) -> Result<Box<str>> {
    if let DatabasePath::Node(folder) = DatabasePath::of(path)? {
        let (path, folder) = (path.display(), folder.display());
        return Err(Error::invalid(format!(
            "{path} is a node of a cluster: `evergraph cluster serve {folder}` serves it"
        )));
    }
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = whole.file_name().and_then(|name| name.to_str()).ok_or_else(|| {
        Error::invalid(format!("{} has no name that a database can be served under", path.display()))
    })?;
    let name = folder.strip_suffix(ENDING).unwrap_or(folder);
    check_database_name(name)?;
    Ok(name.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_folders_and_never_paths_aliases_or_hidden() {
        for name in ["social", "Größe 2", "a.b", "G", "graph", &"a".repeat(64)] {
            check_database_name(name).unwrap();
        }
        let long = ["a".repeat(65), "😀".repeat(64)];
        let refused = ["", ".", "..", ".a", "../a", "a/b", "a\\b", "a\nb", "a\u{7f}", "a\0", "*", "g", "g_a"];
        for name in refused.into_iter().chain(long.iter().map(String::as_str)) {
            assert!(check_database_name(name).is_err(), "{name:?}");
        }
        assert_eq!(&*name_of(Path::new("some/social.eg")).unwrap(), "social");
        assert_eq!(&*name_of(Path::new("some/social")).unwrap(), "social");
        assert!(name_of(Path::new("/")).is_err() && name_of(Path::new("some/.eg")).is_err());
        let node = name_of(Path::new("cluster:shop/node-1")).unwrap_err().to_string();
        assert!(node.contains("`evergraph cluster serve shop/node-1`"), "{node}");
    }
}
