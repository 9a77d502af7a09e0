//! Jar: TinkerPop's scenarios and graphs, in the archive that Maven keeps.
//!
//! It lies where `EVERGRAPH_GREMLIN_TEST` points, else where Maven puts it: `make gremlin-test` fetches it where there is one.

use std::env;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use zip::ZipArchive;

/// The release whose scenarios the tests know.
pub const RELEASE: &str = "3.8.1";

const FEATURES: &str = "org/apache/tinkerpop/gremlin/test/features/";
const GRAPHS: &str = "org/apache/tinkerpop/gremlin/structure/io/";

/// A feature's file.
pub struct FeatureFile {
    /// Where it is below the folder of all features, without its ending: `map/AddEdge`.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Where the jar should be; nobody says that it is there.
///
/// # Errors
/// Where no variable names it and the user has no folder.
pub fn path() -> Result<PathBuf, String> {
    if let Some(path) = env::var_os("EVERGRAPH_GREMLIN_TEST") {
        return Ok(path.into());
    }
    let home = env::home_dir().ok_or("EVERGRAPH_GREMLIN_TEST isn't set, and there is no home folder")?;
    let repository = home.join(".m2/repository/org/apache/tinkerpop/gremlin-test");
    Ok(repository.join(RELEASE).join(format!("gremlin-test-{RELEASE}.jar")))
}

/// The jar of this machine, or `None` where nobody has it: then it says so.
///
/// # Errors
/// Where nobody has it with `CI` set: there nothing is skipped.
pub fn or_skip() -> Result<Option<PathBuf>, String> {
    let why = match path() {
        Ok(path) if path.is_file() => return Ok(Some(path)),
        Ok(path) => format!("there is no {}: `make gremlin-test` fetches it", path.display()),
        Err(why) => why,
    };
    if std::env::var_os("CI").is_some() {
        return Err(format!("{why}; with CI set TinkerPop's scenarios aren't skipped"));
    }
    // Not by `eprintln!`, which a passing test keeps to itself.
    let line = format!("skipped: TinkerPop's scenarios: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).map_err(|error| error.to_string())?;
    Ok(None)
}

/// All features, sorted by name.
///
/// # Errors
/// If the file is no such jar.
pub fn features(jar: &Path) -> Result<Vec<FeatureFile>, String> {
    let mut archive = open(jar)?;
    let names: Result<Vec<String>, _> = archive.file_names().map(|name| name.map(String::from)).collect();
    let mut names = names.map_err(|error| unreadable(jar, &error))?;
    names.retain(|name| name.starts_with(FEATURES) && name.ends_with(".feature"));
    names.sort();
    let feature = |path: String| {
        let bytes = entry(&mut archive, &path).map_err(|error| unreadable(jar, &error))?;
        let text = String::from_utf8(bytes).map_err(|error| format!("{path}: {error}"))?;
        let name = path.trim_start_matches(FEATURES).trim_end_matches(".feature").to_owned();
        Ok(FeatureFile { name, text })
    };
    names.into_iter().map(feature).collect()
}

/// The bytes of a graph in GraphSON 3: `tinkerpop-modern`, `grateful-dead`.
///
/// # Errors
/// If the jar has no such graph.
pub fn graph(jar: &Path, name: &str) -> Result<Vec<u8>, String> {
    file(jar, &format!("{GRAPHS}graphson/{name}-v3.json"))
}

/// The bytes of a graph in GraphML.
///
/// # Errors
/// If the jar has no such graph.
pub fn graphml(jar: &Path, name: &str) -> Result<Vec<u8>, String> {
    file(jar, &format!("{GRAPHS}graphml/{name}.xml"))
}

fn file(jar: &Path, path: &str) -> Result<Vec<u8>, String> {
    entry(&mut open(jar)?, path).map_err(|error| format!("{}: {path}: {error}", jar.display()))
}

fn open(jar: &Path) -> Result<ZipArchive<File>, String> {
    let file = File::open(jar).map_err(|error| unreadable(jar, &error))?;
    ZipArchive::new(file).map_err(|error| unreadable(jar, &error))
}

fn entry(archive: &mut ZipArchive<File>, path: &str) -> Result<Vec<u8>, zip::result::ZipError> {
    let mut bytes = Vec::new();
    archive.by_name(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(jar: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", jar.display())
}
