//! Cycles: files of a crate that import each other in a circle, which nobody can read one at a time.
//!
//! Rust allows such circles between modules. Each one found is either in `KNOTS`, with its files and the number of
//! its imports, or a finding that names the imports that close it. The list may only shrink: an entry that claims
//! more than the tree has is a finding, too. Unit tests and lists (`mod.rs`, `lib.rs`) don't count.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::imports::{imports, module_of};
use crate::rust_text::{RustText, line_of};
use crate::tree::Finding;

/// Files that all reach each other by imports: a strongly connected component of more than one file.
#[derive(Debug, Clone, Copy)]
pub struct Knot {
    /// The crate's folder.
    pub source: &'static str,
    /// Module paths, sorted.
    pub modules: &'static [&'static str],
    /// Pairs of files among them, of which one imports from the other.
    pub imports: usize,
}

/// Circles that are there today. Cut one, and its entry goes; nothing is ever added.
pub const KNOTS: &[Knot] = &[
    Knot { source: "crates/graph/src", modules: &["value", "value::collection"], imports: 2 },
    Knot {
        source: "crates/query/src",
        modules: &[
            "plan::algorithm",
            "plan::call",
            "plan::function",
            "plan::merge",
            "plan::operator",
            "plan::pattern",
            "plan::scalar",
        ],
        imports: 13,
    },
    Knot { source: "crates/bodies/src", modules: &["edge_body", "newest"], imports: 2 },
];

/// A crate's files and what each imports from which other one.
#[derive(Default)]
struct Crate {
    /// Importing module, imported module: file, line and path of the first such import.
    imports: BTreeMap<String, BTreeMap<String, Import>>,
}

#[derive(Debug, Clone)]
struct Import {
    file: String,
    line: usize,
    path: String,
}

/// Compares the circles of all crates, whose files are pairs of path and text, with a list of known ones.
pub fn circles<'a>(files: impl Iterator<Item = (&'a str, &'a str)>, known: &[Knot]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut unmet: Vec<&Knot> = known.iter().collect();
    for (source, one) in crates(files) {
        for knot in one.knots() {
            let imports = one.imports_within(&knot);
            let same = |known: &&Knot| known.source == source && knot.iter().eq(known.modules.iter());
            match unmet.iter().position(same) {
                Some(at) if unmet[at].imports == imports => {
                    unmet.remove(at);
                }
                Some(at) => {
                    let known = unmet.remove(at);
                    let message = format!(
                        "{imports} imports tie {}; `KNOTS` (tests/tests/tidy/cycles.rs) says {}, which may only shrink",
                        listed(&knot),
                        known.imports
                    );
                    findings.push(Finding::new(&one.file_of(&knot[0]), 1, message));
                }
                None => findings.extend(one.shortest_circle(&knot, &source, known)),
            }
        }
    }
    findings.extend(unmet.into_iter().map(|knot| {
        let modules: Vec<String> = knot.modules.iter().map(|&module| module.to_owned()).collect();
        let message =
            format!("{} no longer form this circle: shorten its entry in `KNOTS`", listed(&modules));
        Finding::new(knot.source, 1, message)
    }));
    findings
}

/// The crates that the files belong to, by their folder of sources.
fn crates<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<String, Crate> {
    let files: Vec<_> =
        files.filter_map(|(path, text)| file(path).map(|(of, module)| (path, of, module, text))).collect();
    let mut crates: BTreeMap<String, Crate> = BTreeMap::new();
    let known: BTreeSet<(&str, String)> =
        files.iter().map(|(_, of, module, _)| (*of, module.join("::"))).collect();
    for (path, source, module, text) in files {
        let text = RustText::of(text);
        let code = text.code_above_tests();
        let name = module.join("::");
        let found = crates.entry(source.to_owned()).or_default().imports.entry(name.clone()).or_default();
        for (at, import) in imports(code, &module) {
            let defined = (1..=import.len()).rev().map(|length| import[..length].join("::"));
            let Some(target) = defined.into_iter().find(|target| known.contains(&(source, target.clone())))
            else {
                continue;
            };
            if target != name {
                let import =
                    Import { file: path.to_owned(), line: line_of(code, at), path: import.join("::") };
                found.entry(target).or_insert(import);
            }
        }
    }
    crates
}

/// Folder of sources and module path of a file with code of its own, outside tests.
fn file(path: &str) -> Option<(&str, Vec<&str>)> {
    let (source, module) = module_of(path)?;
    let counts = !path.ends_with("/mod.rs") && !module.is_empty() && !module.contains(&"tests");
    counts.then_some((source, module))
}

impl Crate {
    fn file_of(&self, module: &str) -> String {
        let imports = self.imports.get(module).and_then(|imports| imports.values().next());
        imports.map_or_else(|| module.to_owned(), |import| import.file.clone())
    }

    fn imports_within(&self, knot: &[String]) -> usize {
        let within =
            |module: &String| self.imports[module].keys().filter(|target| knot.contains(target)).count();
        knot.iter().map(within).sum()
    }

    /// Components of more than one file: those that a file reaches and that reach it.
    fn knots(&self) -> Vec<Vec<String>> {
        let reached: BTreeMap<&String, BTreeSet<&String>> =
            self.imports.keys().map(|module| (module, self.reached_from(module))).collect();
        let mut placed = BTreeSet::new();
        let mut knots = Vec::new();
        for (module, targets) in &reached {
            if placed.contains(module) {
                continue;
            }
            let knot: Vec<String> = targets
                .iter()
                .filter(|target| reached[*target].contains(module))
                .map(|&other| other.clone())
                .collect();
            if knot.len() > 1 {
                placed.extend(targets.iter().filter(|target| reached[*target].contains(module)).copied());
                knots.push(knot);
            }
        }
        knots
    }

    /// What `module` imports, and what that imports, and so on; itself only by a circle.
    fn reached_from<'a>(&'a self, module: &str) -> BTreeSet<&'a String> {
        let mut reached = BTreeSet::new();
        let mut ahead: Vec<&String> = self.imports[module].keys().collect();
        while let Some(next) = ahead.pop() {
            if reached.insert(next) {
                ahead.extend(self.imports[next].keys());
            }
        }
        reached
    }

    /// A finding for each import of a shortest circle within `knot`: through a file that no known circle has, if there
    /// is one.
    fn shortest_circle(&self, knot: &[String], source: &str, known: &[Knot]) -> Vec<Finding> {
        let listed = |module: &&String| {
            known.iter().any(|known| known.source == source && known.modules.contains(&module.as_str()))
        };
        let new: Vec<&String> = knot.iter().filter(|module| !listed(module)).collect();
        let starts = if new.is_empty() { knot.iter().collect() } else { new };
        let circles = starts.into_iter().filter_map(|start| self.circle_through(start));
        let Some(circle) = circles.min_by_key(Vec::len) else { return Vec::new() };
        let names = circle.iter().map(|(module, _)| format!("`{module}`")).collect::<Vec<_>>().join(" -> ");
        let finding = |(module, target): &(String, String)| {
            let import = &self.imports[module][target];
            let message = format!("`crate::{}` closes a circle of imports: {names}, and back", import.path);
            Finding::new(&import.file, import.line, message)
        };
        circle.iter().map(finding).collect()
    }

    /// Importing and imported module of each step of a shortest circle through `start`.
    fn circle_through(&self, start: &String) -> Option<Vec<(String, String)>> {
        let mut came_from: BTreeMap<&String, &String> = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(module) = queue.pop_front() {
            for target in self.imports[module].keys() {
                if target == start {
                    let mut circle = vec![(module.clone(), start.clone())];
                    let mut at = module;
                    while let Some(&before) = came_from.get(at) {
                        circle.push((before.clone(), at.clone()));
                        at = before;
                    }
                    circle.reverse();
                    return Some(circle);
                }
                if !came_from.contains_key(target) {
                    came_from.insert(target, module);
                    queue.push_back(target);
                }
            }
        }
        None
    }
}

fn listed(modules: &[String]) -> String {
    modules.iter().map(|module| format!("`{module}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [(&str, &str); 5] = [
        ("crates/a/src/lib.rs", "pub mod top;\nuse crate::top::Top;\n"),
        ("crates/a/src/top.rs", "use crate::left::Left;\n\nuse crate::right::Right;\n"),
        ("crates/a/src/left.rs", "use crate::right::Right;\n"),
        (
            "crates/a/src/right.rs",
            "fn f() {\n    crate::left::f()\n}\n#[cfg(test)]\nmod tests {\n    use crate::top::Top;\n}\n",
        ),
        ("crates/a/src/other/mod.rs", "pub mod inner;\nuse crate::top::Top;\n"),
    ];
    const KNOWN: Knot = Knot { source: "crates/a/src", modules: &["left", "right"], imports: 2 };

    fn messages(files: &[(&str, &str)], known: &[Knot]) -> Vec<String> {
        circles(files.iter().copied(), known).into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn a_circle_is_found_with_the_imports_that_close_it() {
        assert_eq!(
            messages(&FILES, &[]),
            [
                "crates/a/src/left.rs:1: `crate::right::Right` closes a circle of imports: `left` -> `right`, and back",
                "crates/a/src/right.rs:2: `crate::left::f` closes a circle of imports: `left` -> `right`, and back",
            ]
        );
    }

    #[test]
    fn a_known_circle_is_none_as_long_as_it_is_the_same() {
        assert_eq!(messages(&FILES, &[KNOWN]), Vec::<String>::new());
        let fewer = Knot { imports: 1, ..KNOWN };
        assert!(messages(&FILES, &[fewer])[0].contains("2 imports tie `left`, `right`"), "it may not grow");
        let more = Knot { imports: 3, ..KNOWN };
        assert_eq!(messages(&FILES, &[more]).len(), 1, "what was cut leaves the list");
        let gone = messages(&FILES[..3], &[KNOWN]);
        assert!(gone[0].contains("no longer form this circle"), "{gone:?}");
    }

    #[test]
    fn a_file_that_joins_a_known_circle_is_named() {
        let mut files = FILES;
        files[3] = ("crates/a/src/right.rs", "use crate::left::f;\nuse super::top::Top;\n");
        let found = messages(&files, &[KNOWN]);
        assert!(found.iter().any(|line| line.contains("right.rs:2: `crate::top::Top` closes")), "{found:?}");
        assert!(found.iter().any(|line| line.contains("no longer form")), "its entry is wrong: {found:?}");
    }
}
