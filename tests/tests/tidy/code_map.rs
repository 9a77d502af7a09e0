//! Code map: ARCHITECTURE.md has a line for every folder and every module, and for nothing that is not there.
//!
//! Below the heading `## Code map` stands first a table of folders: a row for each folder of the project and each
//! crate, whose last cell names the folders inside the crate's sources. Then follows a section for each crate, headed
//! by the crate's folder in backticks. The first cell of its rows names modules: the first one from the sources on,
//! a later one perhaps from a folder that the row has named before; `x/*` stands for every module below `x`.

use std::collections::BTreeSet;

use crate::tree::Finding;

/// The page that holds the map.
pub const PAGE: &str = "ARCHITECTURE.md";
/// The heading above the map.
const HEADING: &str = "Code map";
/// The package whose modules the map names beside those of the crates.
const PACKAGE: &str = "python/evergraph";

/// What the map in `page` lacks of the files in `paths`, and what it names that is not there.
pub fn differences(page: &str, paths: &BTreeSet<String>) -> Vec<Finding> {
    let (folders, modules) = (folders(paths), modules(paths));
    let (mut new_folders, mut new_modules) = (folders.clone(), modules.clone());
    let mut findings = Vec::new();
    let (mut is_map, mut section) = (false, None);
    for (index, line) in page.lines().enumerate() {
        let mut strange = |name: &str| {
            findings.push(Finding::new(PAGE, index + 1, format!("`{name}` of the code map is not there")));
        };
        if let Some(heading) = line.strip_prefix("## ") {
            (is_map, section) = (heading == HEADING, None);
        } else if let Some(heading) = line.strip_prefix("### ") {
            section = Some(quoted(heading).next().map_or(String::new(), root));
        } else if let Some(row) = line.strip_prefix('|').filter(|_| is_map) {
            let cells: Vec<&str> = row.split('|').collect();
            match &section {
                None => {
                    for (at, name) in folder_names(&cells) {
                        if !folders.contains(&name) {
                            strange(at);
                        }
                        new_folders.remove(&name);
                    }
                }
                Some(root) if modules.iter().any(|(of, _)| of == root) => {
                    let mut known = BTreeSet::from([String::new()]);
                    for name in quoted(cells[0]) {
                        let named = resolve(name, root, &known, &modules);
                        match named.first() {
                            None => strange(name),
                            Some((_, path)) => known.extend(ancestors(path)),
                        }
                        for module in &named {
                            new_modules.remove(module);
                        }
                    }
                }
                Some(_) => {}
            }
        }
    }
    let new_folders = new_folders.into_iter();
    findings.extend(new_folders.map(|folder| {
        Finding::new(PAGE, 1, format!("say in the table of folders which question `{folder}` answers"))
    }));
    findings.extend(new_modules.into_iter().map(|(root, module)| {
        Finding::new(PAGE, 1, format!("say in the code map which question `{module}` of {root} answers"))
    }));
    findings
}

/// The project's folders, those of crates, and those right below a crate's sources.
fn folders(paths: &BTreeSet<String>) -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for path in paths.iter().filter(|path| !path.starts_with('.')) {
        let parts: Vec<&str> = path.split('/').collect();
        match parts[..] {
            ["crates", name, "src", folder, _, ..] => {
                folders.extend([format!("crates/{name}"), format!("crates/{name}/src/{folder}")]);
            }
            ["crates", ..] | [_] => {}
            [folder, ..] => folders.extend([folder.to_owned()]),
            [] => {}
        }
        if let ["crates", name, "src", _] = parts[..] {
            folders.insert(format!("crates/{name}"));
        }
    }
    folders
}

/// Root of the sources and path below it of every module of a crate or the package; those of tests are left out.
fn modules(paths: &BTreeSet<String>) -> BTreeSet<(String, String)> {
    let mut modules = BTreeSet::new();
    for path in paths {
        let Some((path, extension)) = path.rsplit_once('.') else { continue };
        let (root, module) = match extension {
            "rs" if path.starts_with("crates/") => {
                let Some((name, module)) = path.split_once("/src/") else { continue };
                (format!("{name}/src"), module)
            }
            "py" => {
                let Some(module) = path.strip_prefix(PACKAGE).and_then(|path| path.strip_prefix('/')) else {
                    continue;
                };
                (PACKAGE.to_owned(), module)
            }
            _ => continue,
        };
        let last = module.rsplit('/').next().unwrap_or(module);
        let lists = matches!(last, "lib" | "mod" | "__init__");
        if !lists && module.split('/').all(|part| part != "tests") {
            modules.insert((root, module.to_owned()));
        }
    }
    modules
}

/// Where the sources of the folder that a heading names begin.
fn root(folder: &str) -> String {
    if folder.starts_with("crates/") { format!("{folder}/src") } else { folder.to_owned() }
}

/// As written and in full: the folders that a row of the first table names, and those inside its crate.
fn folder_names<'a>(cells: &[&'a str]) -> Vec<(&'a str, String)> {
    let outer: Vec<&str> = quoted(cells[0]).collect();
    let inner = cells.get(2).into_iter().flat_map(|cell| quoted(cell));
    let inner =
        inner.map(|name| (name, outer.first().map_or(String::new(), |of| format!("{}/{name}", root(of)))));
    outer.iter().map(|&name| (name, name.to_owned())).chain(inner).collect()
}

/// The modules below `root` that `name` means, from the deepest folder of `known` where there are some.
fn resolve(
    name: &str,
    root: &str,
    known: &BTreeSet<String>,
    modules: &BTreeSet<(String, String)>,
) -> Vec<(String, String)> {
    let mut known: Vec<&String> = known.iter().collect();
    known.sort_by_key(|folder| std::cmp::Reverse(folder.len()));
    for folder in known {
        let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        let meant = |module: &str| match path.strip_suffix('*') {
            Some(below) => module.starts_with(below),
            None => module == path,
        };
        let named: Vec<_> =
            modules.iter().filter(|(of, module)| of == root && meant(module)).cloned().collect();
        if !named.is_empty() {
            return named;
        }
    }
    Vec::new()
}

/// A path and the folders around it: later names may begin in any of them.
fn ancestors(path: &str) -> impl Iterator<Item = String> {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    ends.map(|end| path[..end].to_owned())
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: &[&str] = &[
        ".ci/run",
        "Cargo.toml",
        "crates/query/Cargo.toml",
        "crates/query/src/lib.rs",
        "crates/query/src/plan/mod.rs",
        "crates/query/src/plan/facts.rs",
        "crates/query/src/plan/parts/visit.rs",
        "crates/query/src/note.rs",
        "crates/query/src/plan/tests/random.rs",
        "crates/query/tests/plans.rs",
        "python/evergraph/__init__.py",
        "python/evergraph/pyg/stores.py",
    ];
    const PAGE_OF_THEM: &str = "# A\n## Code map\n\n| folder | question | inside |\n|---|---|---|\n\
        | `crates/query` | What is a `plan`? | `plan` |\n| `python` | What is it? | |\n\
        ### `crates/query`: queries\n| module | question |\n| `plan/facts`, `parts/visit`, `note` | What of `it`? |\n\
        ### `python/evergraph`\n| `pyg/*` | What? |\n### Tests\n| `anything` | What? |\n## Paths\n| `x` | no map |\n";

    fn found(page: &str) -> Vec<String> {
        let paths = PATHS.iter().map(|&path| path.to_owned()).collect();
        differences(page, &paths).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_map_of_all_folders_and_modules_is_complete() {
        assert_eq!(found(PAGE_OF_THEM), Vec::<String>::new());
    }

    #[test]
    fn a_folder_or_module_without_a_line_is_found() {
        assert_eq!(
            found(
                &PAGE_OF_THEM.replace("| `python` | What is it? | |\n", "").replace("| `plan` |\n", "| |\n")
            ),
            [
                "ARCHITECTURE.md:1: say in the table of folders which question `crates/query/src/plan` answers",
                "ARCHITECTURE.md:1: say in the table of folders which question `python` answers",
            ]
        );
        assert_eq!(
            found(&PAGE_OF_THEM.replace(", `note`", "").replace("`pyg/*`", "nothing")),
            [
                "ARCHITECTURE.md:1: say in the code map which question `note` of crates/query/src answers",
                "ARCHITECTURE.md:1: say in the code map which question `pyg/stores` of python/evergraph answers",
            ]
        );
    }

    #[test]
    fn a_name_of_nothing_is_found_where_it_stands() {
        assert_eq!(
            found(
                &PAGE_OF_THEM
                    .replace("`note`", "`note`, `gone`")
                    .replace("| `plan` |\n", "| `plan`, `step` |\n")
            ),
            [
                "ARCHITECTURE.md:6: `step` of the code map is not there",
                "ARCHITECTURE.md:10: `gone` of the code map is not there",
            ]
        );
    }
}
