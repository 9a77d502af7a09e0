//! TinkerPop's scenarios: the Gherkin features of the jar `gremlin-test`, which nobody commits.
//!
//! The jar lies where `EVERGRAPH_GREMLIN_TEST` points, else where Maven puts it:
//! `make test` fetches it with Maven where there is one. Without it its tests say so and pass; with `CI` set they fail if
//! there is Maven.

use crate::data::{skip, tell_skipped};
use std::env;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use zip::ZipArchive;

/// The release whose scenarios the tests know.
pub const RELEASE: &str = "3.8.1";

/// A feature: its path in the jar, and its text.
pub type Feature = (String, String);

/// All features, sorted by path, or `None` where nobody has the jar.
///
/// # Panics
/// If the jar is missing though there is Maven and the environment has `CI`, or if it can't be read.
#[must_use]
pub fn features() -> Option<Vec<Feature>> {
    let Some(path) = jar().filter(|path| path.is_file()) else {
        let why = format!("there is no gremlin-test-{RELEASE}.jar: see tests/src/tinkerpop.rs");
        if has_maven() {
            skip(&why)
        } else {
            tell_skipped(&why)
        }
        return None;
    };
    let mut archive = ZipArchive::new(File::open(&path).unwrap()).unwrap();
    let names = archive.file_names().map(|name| name.unwrap().into_owned());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".feature")).collect();
    names.sort();
    let read = names.into_iter().map(|name| {
        let mut text = String::new();
        archive.by_name(&name).unwrap().read_to_string(&mut text).unwrap();
        (name, text)
    });
    Some(read.collect())
}

fn has_maven() -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|folder| folder.join("mvn").is_file()))
}

fn jar() -> Option<PathBuf> {
    if let Some(path) = env::var_os("EVERGRAPH_GREMLIN_TEST") {
        return Some(path.into());
    }
    let repository = env::home_dir()?.join(".m2/repository/org/apache/tinkerpop/gremlin-test");
    Some(repository.join(RELEASE).join(format!("gremlin-test-{RELEASE}.jar")))
}

/// A text of Gremlin in a feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traversal {
    /// The scenario that it is of.
    pub scenario: String,
    /// The query, or several.
    pub text: String,
}

/// The traversals of a feature and the initializers of its graphs, in order.
///
/// # Panics
/// If a text between triple quotes has no end.
#[must_use]
pub fn traversals(feature: &str) -> Vec<Traversal> {
    let mut found = Vec::new();
    let mut scenario = "";
    let mut lines = feature.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("Scenario: ") {
            scenario = name;
        } else if line.ends_with("the traversal of") || line.ends_with("the graph initializer of") {
            assert_eq!(lines.next(), Some("\"\"\""), "{scenario}");
            let text: Vec<_> = lines.by_ref().take_while(|line| *line != "\"\"\"").collect();
            found.push(Traversal { scenario: scenario.to_owned(), text: text.join("\n") });
        }
    }
    found
}

/// The names of the parameters that the scenarios of a feature have.
#[must_use]
pub fn parameters(feature: &str) -> Vec<&str> {
    let lines = feature.lines().filter_map(|line| line.split_once("using the parameter "));
    lines.filter_map(|(_, rest)| rest.split(' ').next()).collect()
}

/// How many vertices or edges a query is to find afterwards: the queries that say so.
#[must_use]
pub fn counted(feature: &str) -> Vec<String> {
    let lines = feature.lines().filter_map(|line| line.split_once(" for count of \""));
    lines.map(|(_, rest)| rest.trim_end().trim_end_matches('"').replace("\\\"", "\"")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_parameters_are_found() {
        let feature = "Feature: F\n\n  Scenario: one\n    Given the empty graph\n    And the graph initializer of\n      \
            \"\"\"\n      g.addV().\n        addV()\n      \"\"\"\n    And using the parameter xx1 defined as \"d[1].i\"\n    \
            And the traversal of\n      \"\"\"\n      g.V(xx1)\n      \"\"\"\n    \
            And the graph should return 1 for count of \"g.V().has(\\\"a\\\")\"\n  Scenario: two\n    #  And the traversal of\n";
        let text = |text: &str| Traversal { scenario: "one".to_owned(), text: text.to_owned() };
        assert_eq!(traversals(feature), [text("g.addV().\naddV()"), text("g.V(xx1)")]);
        assert_eq!(parameters(feature), ["xx1"]);
        assert_eq!(counted(feature), ["g.V().has(\"a\")"]);
    }
}
