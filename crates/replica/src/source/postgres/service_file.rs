//! Service files of PostgreSQL's clients: parameters under the name of a service.
//!
//! ```text
//! [shop]                    the name
//! host=db.example           a parameter a line; `#` begins a line of comment
//! user=graph
//! ```
//!
//! The user's file ranks above the system's: PGSERVICEFILE or `~/.pg_service.conf`, then `pg_service.conf` in PGSYSCONFDIR or where
//! distributions have it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folders in which distributions' clients look for the system's file.
const SYSTEM_FOLDERS: [&str; 2] = ["/etc/postgresql-common", "/etc"];

/// A parameter of a service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServiceLine {
    /// The file and the line, for messages.
    pub at: String,
    /// The parameter.
    pub name: String,
    /// What it is.
    pub value: String,
}

/// The files in which a service may be, the first one first.
pub fn paths(variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let of_user =
        folder("PGSERVICEFILE").or_else(|| folder("HOME").map(|home| home.join(".pg_service.conf")));
    let of_system = match folder("PGSYSCONFDIR") {
        Some(folder) => vec![folder],
        None => SYSTEM_FOLDERS.iter().map(PathBuf::from).collect(),
    };
    of_user.into_iter().chain(of_system.into_iter().map(|folder| folder.join("pg_service.conf"))).collect()
}

/// The parameters of `service` in the first of `paths` that has it.
///
/// # Errors
/// What to do if none has it, or a file cannot be read.
pub fn find(paths: &[PathBuf], service: &str) -> Result<Vec<ServiceLine>, String> {
    for path in paths {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                continue;
            }
            Err(error) => return Err(format!("read the service file {}: {error}", path.display())),
        };
        if let Some(lines) = section(&text, path, service)? {
            return Ok(lines);
        }
    }
    let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    Err(format!("there is no service {service:?} in {}", paths.join(", ")))
}

/// The lines below `[service]` in `text`; `None` if it is not there.
fn section(text: &str, path: &Path, service: &str) -> Result<Option<Vec<ServiceLine>>, String> {
    let mut found: Option<Vec<ServiceLine>> = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            // The first one of a name counts.
            if found.is_some() {
                break;
            }
            found = (name.strip_suffix(']') == Some(service)).then(Vec::new);
            continue;
        }
        let Some(lines) = &mut found else { continue };
        let at = format!("the service file {}, line {}", path.display(), number + 1);
        if line.starts_with("ldap") {
            return Err(format!("{at}: services in a directory (LDAP) are not supported"));
        }
        let (name, value) = line.split_once('=').ok_or_else(|| format!("{at}: `name=value` expected"))?;
        lines.push(ServiceLine { at, name: name.to_owned(), value: value.to_owned() });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_found_in_the_first_file_that_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let [user, system] = ["user.conf", "system.conf"].map(|name| folder.path().join(name));
        fs::write(
            &user,
            "# mine\n[a]\n  host=h=1 \n\n[b]\nport=1\n[a]\nport=2\n[broken]\nport\n[l]\nldap://h\n",
        )
        .unwrap();
        fs::write(&system, "[a]\nport=3\n[c]\n").unwrap();
        let missing = folder.path().join("none");
        let paths = [missing, user, system];
        let found = |service: &str| {
            let lines = find(&paths, service)?;
            let lines: Vec<_> =
                lines.into_iter().map(|line| format!("{}: {}", line.name, line.value)).collect();
            Ok::<_, String>(lines.join(", "))
        };
        assert_eq!(found("a").as_deref(), Ok("host: h=1"));
        assert_eq!(found("b").as_deref(), Ok("port: 1"));
        assert_eq!(found("c").as_deref(), Ok(""));
        for (service, why) in [
            ("d", "no service \"d\" in "),
            ("broken", "user.conf, line 10: `name=value`"),
            ("l", "line 12: services in a directory"),
        ] {
            let error = found(service).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn files_are_looked_for_where_libpq_does() {
        let of = |variables: &[(&str, &str)]| {
            let find = |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
            };
            paths(&find).iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        let system = ["/etc/postgresql-common/pg_service.conf", "/etc/pg_service.conf"];
        assert_eq!(of(&[("HOME", "/home/a")]), [&["/home/a/.pg_service.conf"], &system[..]].concat());
        assert_eq!(
            of(&[("PGSERVICEFILE", "/s"), ("PGSYSCONFDIR", "/c"), ("HOME", "/h")]),
            ["/s", "/c/pg_service.conf"]
        );
    }
}
