//! Imports: whether crates and modules import from lower floors only, and from the file that defines what they import.

use std::collections::BTreeSet;

use crate::floors::Floors;
use crate::rust_text::{RustText, is_word, line_of, words};
use crate::tree::Finding;

/// Checks the dependencies of one `Cargo.toml`, those for tests and builds included.
pub fn crates(path: &str, text: &str, floors: Floors) -> Vec<Finding> {
    let Some(name) = package_name(text) else { return Vec::new() };
    let Some(own) = crate_floor(name, floors) else {
        let message = format!("`{name}` stands on no floor: add it to CRATES (tests/tests/tidy/floors.rs)");
        return vec![Finding::new(path, 1, message)];
    };
    let mut findings = Vec::new();
    for (line, dependency) in dependencies(text) {
        let Some(floor) = crate_floor(dependency, floors) else { continue };
        // Its tests may ask for features of its own.
        if floor >= own && dependency != name {
            let message = format!("`{name}` (floor {own}) may not depend on `{dependency}` (floor {floor})");
            findings.push(Finding::new(path, line, message));
        }
    }
    findings
}

fn crate_floor(name: &str, floors: Floors) -> Option<usize> {
    floors.iter().position(|floor| floor.contains(&name))
}

fn package_name(manifest: &str) -> Option<&str> {
    let package = manifest.split("[package]").nth(1)?;
    let line =
        package.lines().take_while(|line| !line.starts_with('[')).find(|line| line.starts_with("name"))?;
    line.split('"').nth(1)
}

/// Line and package of every dependency, whatever its section's form and its local name.
fn dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_section = false;
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            in_section = section.ends_with("dependencies") && section != "workspace.dependencies";
            if let Some((kind, name)) = section.rsplit_once('.')
                && kind.ends_with("dependencies")
            {
                found.push((index + 1, name.trim_matches('"')));
            }
        } else if in_section && !line.starts_with('#') {
            let key = line.split(['.', '=', ' ']).next().unwrap_or("");
            let renamed = line.split_once("package").and_then(|(_, rest)| rest.split('"').nth(1));
            found.extend(renamed.or(Some(key)).filter(|name| !name.is_empty()).map(|name| (index + 1, name)));
        }
    }
    found
}

/// The modules of every crate, as the files say.
pub struct Modules {
    /// Folder of sources and module path, for example `("crates/storage/src", "io::disk")`.
    files: BTreeSet<(String, String)>,
    /// The same for modules that only list others: a `mod.rs`.
    lists: BTreeSet<(String, String)>,
}

impl Modules {
    /// Reads them off the paths of Rust files.
    pub fn of<'a>(paths: impl Iterator<Item = &'a str>) -> Self {
        let mut modules = Self { files: BTreeSet::new(), lists: BTreeSet::new() };
        for path in paths {
            let Some((source, module)) = module_of(path) else { continue };
            let kind = if path.ends_with("/mod.rs") { &mut modules.lists } else { &mut modules.files };
            kind.insert((source.to_owned(), module.join("::")));
        }
        modules
    }

    /// The first name of `import` that stands where a module's name should, if there is one.
    fn first_stranger(&self, source: &str, import: &[&str]) -> Option<usize> {
        for names in 1..=import.len() {
            let module = (source.to_owned(), import[..names].join("::"));
            if self.files.contains(&module) {
                return None;
            }
            if !self.lists.contains(&module) {
                return Some(names - 1);
            }
        }
        None
    }
}

/// `use crate::…` names the file that defines the thing, never a list that hands it on.
pub fn defining_file(path: &str, text: &str, modules: &Modules) -> Vec<Finding> {
    let Some((source, module)) = module_of(path) else { return Vec::new() };
    let code = RustText::of(text).code;
    let mut findings = Vec::new();
    for (at, import) in imports(&code, &module) {
        if let Some(stranger) = modules.first_stranger(source, &import) {
            let import = import.join("::");
            let list = if stranger == 0 { "the crate's root" } else { "a mod.rs" };
            let message =
                format!("`crate::{import}` goes through {list}: import it from the file that defines it");
            findings.push(Finding::new(path, line_of(&code, at), message));
        }
    }
    findings
}

/// No module of a crate with floors imports from a higher one; its unit tests may.
pub fn modules(path: &str, text: &str, crates: &[(&str, Floors)]) -> Vec<Finding> {
    let counts = |module: &[&str]| !module.is_empty() && !module.contains(&"tests");
    let Some((source, module)) = module_of(path).filter(|(_, module)| counts(module)) else {
        return Vec::new();
    };
    let Some(&(_, floors)) = crates.iter().find(|(of, _)| *of == source) else { return Vec::new() };
    let name = module.join("::");
    let Some((own, _)) = module_floor(&module, floors) else {
        let message = format!("`{name}` stands on no floor: add it to MODULES (tests/tests/tidy/floors.rs)");
        return vec![Finding::new(path, 1, message)];
    };
    let text = RustText::of(text);
    let code = text.code_above_tests();
    let mut findings = Vec::new();
    for (at, import) in imports(code, &module) {
        let Some((floor, entry)) = module_floor(&import, floors) else { continue };
        if floor > own {
            let message = format!("`{name}` (floor {own}) may not import from `{entry}` (floor {floor})");
            findings.push(Finding::new(path, line_of(code, at), message));
        }
    }
    findings
}

/// Floor of a path and the entry of the table that decides it.
fn module_floor(path: &[&str], floors: Floors) -> Option<(usize, &'static str)> {
    let entries =
        floors.iter().enumerate().flat_map(|(floor, names)| names.iter().map(move |name| (floor, *name)));
    entries
        .filter(|(_, entry)| entry.split("::").enumerate().all(|(at, name)| path.get(at) == Some(&name)))
        .max_by_key(|(_, entry)| entry.len())
}

/// Folder of sources and module path of a crate's file; the crate's root has an empty path.
pub fn module_of(path: &str) -> Option<(&str, Vec<&str>)> {
    let rest = path.strip_prefix("crates/")?.strip_suffix(".rs")?;
    let (_, module) = rest.split_once("/src/")?;
    let source = path.get(..path.len() - module.len() - "/.rs".len())?;
    let module = module.strip_suffix("/mod").unwrap_or(module);
    let root = matches!(module, "lib" | "main");
    Some((source, if root { Vec::new() } else { module.split('/').collect() }))
}

/// Offset and path, from the crate's root, of all that the code of `module` names by `crate::`
/// anywhere, or by `super::` in a declaration at the file's own level.
pub fn imports<'a>(code: &'a str, module: &[&'a str]) -> Vec<(usize, Vec<&'a str>)> {
    let mut found = Vec::new();
    for at in words(code, "crate") {
        leaves(&code[at + "crate".len()..], Vec::new(), &mut |path| found.push((at, path)));
    }
    let mut start = 0;
    for line in code.split_inclusive('\n') {
        if let Some(at) = line.find("use super::").filter(|&at| at == 0 || line.starts_with("pub")) {
            let (mut path, mut rest) = (module.to_vec(), &code[start + at + "use ".len()..]);
            while let Some(above) = rest.strip_prefix("super") {
                path.pop();
                rest = above;
                rest = if rest.starts_with("::super::") { &rest["::".len()..] } else { rest };
            }
            leaves(rest, path, &mut |path| found.push((start + at, path)));
        }
        start += line.len();
    }
    found
}

/// Calls `found` with every path of the tree that `rest` starts with, each begun by `stem`:
/// `::a::{b, c::D as E}` gives `a b` and `a c D`. Returns what follows the tree.
pub fn leaves<'a>(rest: &'a str, stem: Vec<&'a str>, found: &mut dyn FnMut(Vec<&'a str>)) -> &'a str {
    let Some(after) = rest.trim_start().strip_prefix("::") else {
        if !stem.is_empty() {
            found(stem);
        }
        return rest;
    };
    branch(after.trim_start(), stem, found)
}

fn branch<'a>(rest: &'a str, mut stem: Vec<&'a str>, found: &mut dyn FnMut(Vec<&'a str>)) -> &'a str {
    if let Some(mut rest) = rest.strip_prefix('{') {
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix('}') {
                return after;
            }
            rest = branch(rest, stem.clone(), found);
            // A new name (`as E`) says nothing about where the thing is from.
            let Some(end) = rest.find([',', '}']) else { return "" };
            rest = rest[end..].strip_prefix(',').unwrap_or(&rest[end..]);
        }
    }
    let length =
        if rest.starts_with('*') { 1 } else { rest.bytes().take_while(|&byte| is_word(byte)).count() };
    let (name, rest) = rest.split_at(length);
    if !matches!(name, "" | "self") {
        stem.push(name);
    }
    leaves(rest, stem, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floors::CRATES;

    const SAMPLE_CRATES: Floors = &[&["graph"], &["storage", "algorithms"], &["database"]];
    const SAMPLE_MODULES: &[(&str, Floors)] = &[
        ("crates/query/src", &[&["store"], &["io"]]),
        ("crates/storage/src", &[&["io"], &["log", "segment"], &["segment::merge", "store"]]),
    ];

    fn messages(findings: Vec<Finding>) -> Vec<String> {
        findings.into_iter().map(|finding| finding.to_string()).collect()
    }

    fn paths(code: &str, module: &[&'static str]) -> Vec<String> {
        imports(code, module).into_iter().map(|(_, path)| path.join("::")).collect()
    }

    #[test]
    fn a_dependency_on_a_neighbour_or_upward_is_found_in_every_section() {
        let manifest = "[package]\nname = \"algorithms\"\n\n[dependencies]\ngraph.workspace = true\n\
            storage.workspace = true\nrayon = \"1\"\n[dev-dependencies.database]\npath = \"x\"\n\
            [target.'cfg(shuttle)'.dependencies]\nother = { package = \"storage\", path = \"x\" }\n";
        assert_eq!(
            messages(crates("Cargo.toml", manifest, SAMPLE_CRATES)),
            [
                "Cargo.toml:6: `algorithms` (floor 1) may not depend on `storage` (floor 1)",
                "Cargo.toml:8: `algorithms` (floor 1) may not depend on `database` (floor 2)",
                "Cargo.toml:11: `algorithms` (floor 1) may not depend on `storage` (floor 1)",
            ]
        );
    }

    #[test]
    fn a_crate_without_a_floor_is_found_and_the_workspace_is_no_crate() {
        let found = |text| messages(crates("Cargo.toml", text, SAMPLE_CRATES));
        assert!(found("[package]\nname = \"new\"\n")[0].contains("`new` stands on no floor"));
        assert!(found("[workspace.dependencies]\ndatabase = { path = \"x\" }\n").is_empty());
    }

    #[test]
    fn algorithms_may_not_depend_on_storage() {
        let manifest = "[package]\nname = \"evergraph-algorithms\"\n[dependencies]\nevergraph-storage.workspace = true\n";
        assert_eq!(crates("Cargo.toml", manifest, CRATES).len(), 1);
    }

    #[test]
    fn imports_are_read_from_trees_from_expressions_and_from_super() {
        assert_eq!(
            paths("use crate::a::{self, b::{C as D, E}, f::*};", &[]),
            ["a", "a::b::C", "a::b::E", "a::f::*"]
        );
        assert_eq!(paths("use {crate::a::B, std::c};\nfn f() { crate::d::e::<G>() }", &[]), ["a::B", "d::e"]);
        assert_eq!(paths("pub(crate) fn f() {}", &[]), Vec::<String>::new());
        assert_eq!(
            paths("use super::run::Run;\npub use super::super::b::C;", &["a", "tail"]),
            ["a::run::Run", "b::C"]
        );
        assert_eq!(paths("mod a {\n    use super::B;\n}", &["c"]), Vec::<String>::new());
    }

    #[test]
    fn an_import_through_a_root_or_a_list_is_found() {
        let files = ["lib.rs", "store.rs", "sync.rs", "segment/mod.rs", "segment/tail.rs"];
        let files = files.map(|file| format!("crates/storage/src/{file}"));
        let tree = Modules::of(files.iter().map(String::as_str));
        let found = |text| messages(defining_file("crates/storage/src/store.rs", text, &tree));
        let good = "use crate::sync::atomic::AtomicU64;\nuse crate::segment::{self, tail::Tail};\nuse crate::sync;\n";
        assert_eq!(found(good), Vec::<String>::new());
        assert_eq!(
            found("use crate::Store;\nuse crate::segment::{Tail, tail};\n"),
            [
                "crates/storage/src/store.rs:1: `crate::Store` goes through the crate's root: \
                 import it from the file that defines it",
                "crates/storage/src/store.rs:2: `crate::segment::Tail` goes through a mod.rs: \
                 import it from the file that defines it",
            ]
        );
        assert_eq!(found("use crate::*;\n").len(), 1);
    }

    #[test]
    fn an_import_from_a_higher_floor_is_found_above_the_tests() {
        let text = "//! Tail.\nuse crate::io::disk::Disk;\nuse crate::store::Store;\n\
            #[cfg(test)]\nmod tests {\n    use crate::store::Store;\n}\n";
        let found = |path, text| messages(modules(path, text, SAMPLE_MODULES));
        assert_eq!(
            found("crates/storage/src/segment/tail.rs", text),
            [
                "crates/storage/src/segment/tail.rs:3: `segment::tail` (floor 1) may not import from `store` (floor 2)"
            ]
        );
        assert!(found("crates/storage/src/segment/merge.rs", text).is_empty());
        assert!(found("crates/storage/src/segment/tests/tail.rs", text).is_empty());
        assert_eq!(found("crates/storage/src/io.rs", "use super::log::writer::Log;\n").len(), 1);
        assert_eq!(found("crates/storage/src/log/mod.rs", "use crate::segment::merge::Merge;\n").len(), 1);
        assert!(found("crates/algorithms/src/io.rs", text).is_empty());
        assert!(found("crates/query/src/io.rs", text).is_empty());
        assert_eq!(found("crates/query/src/store.rs", "use crate::io::disk::Disk;\n").len(), 1);
    }

    #[test]
    fn a_module_without_a_floor_is_found() {
        let found = |path, text| messages(modules(path, text, SAMPLE_MODULES));
        assert!(
            found("crates/storage/src/old/a.rs", "//! Old.\n")[0].contains(":1: `old::a` stands on no floor")
        );
        assert!(found("crates/storage/src/lib.rs", "//! All.\nuse crate::store::Store;\n").is_empty());
    }
}
